//! Causal attention: over the batch's own keys, or over KV blocks.

use std::sync::Arc;

use candle_core::backend::BackendStorage;
use candle_core::{
    CpuStorage, CustomOp3, DType, Error, InplaceOp1, InplaceOp2, Layout, Shape, Tensor,
};

use super::storage::{Held, f32s};
use crate::batch::Paging;
use crate::error::{ModelError, Result};
use crate::kernels::attention::{
    Blocks, Geometry, KvLane, KvType, Operands, Packed as Rows, Queries, backward, forward, packed,
};
use crate::kernels::kv_block::BlockCopy;
use crate::kernels::kv_block::{BLOCK, BlockId};
use crate::kernels::simd::Isa;
use crate::kv::LayerKv;

struct Packed {
    cu_seqlens_q: Arc<[u32]>,
    cu_seqlens_k: Arc<[u32]>,
    geometry: Geometry,
    kv_type: KvType,
}

/// Attention within each packed sequence. `q [Tq, heads, head_dim]`, `k`,
/// `v [Tk, kv_heads, head_dim]` to `[Tq, heads, head_dim]`, all f32 and contiguous. `spans` are
/// `cu_seqlens_q` and `cu_seqlens_k`: the queries of a sequence are its last positions; there may
/// be none. Keys and values are multiplied in this type; f32 has gradients for all three.
///
/// # Errors
/// Shapes, geometry and spans that do not fit each other.
pub fn attend(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    spans: (&Arc<[u32]>, &Arc<[u32]>),
    (geometry, kv_type): (Geometry, KvType),
) -> Result<Tensor> {
    let op =
        Packed { cu_seqlens_q: spans.0.clone(), cu_seqlens_k: spans.1.clone(), geometry, kv_type };
    Ok(q.apply_op3(k, v, op)?)
}

/// Writes the batch's keys and values `[T, kv_heads, head_dim]` to their slots.
///
/// # Errors
/// An operand that tracks gradients, a slot outside the cache, or shapes that do not fit.
pub fn write_kv(kv: &LayerKv, k: &Tensor, v: &Tensor, slot_mapping: &[u32]) -> Result<()> {
    refuse_gradients(&[k, v])?;
    kv.keys.inplace_op2(k, &WriteSlots { slots: slot_mapping, part: KvPart::Keys })?;
    kv.values.inplace_op2(v, &WriteSlots { slots: slot_mapping, part: KvPart::Values })?;
    Ok(())
}

/// Attention over KV blocks, which already hold the batch's own keys and values.
/// `q [T, heads, head_dim]`; `spans` are `cu_seqlens_q` and `cu_seqlens_k`.
///
/// # Errors
/// An operand that tracks gradients, a block outside the cache, or shapes, spans and blocks that do
/// not fit each other.
pub fn attend_paged(
    q: &Tensor,
    kv: &LayerKv,
    spans: (&[u32], &[u32]),
    paging: &Paging,
    geometry: Geometry,
) -> Result<Tensor> {
    refuse_gradients(&[q])?;
    let op = Paged {
        cu_seqlens_q: spans.0.into(),
        cu_seqlens_k: spans.1.into(),
        block_table: paging.block_table.clone(),
        geometry,
    };
    Ok(q.apply_op3(&kv.keys, &kv.values, op)?)
}

fn refuse_gradients(tensors: &[&Tensor]) -> Result<()> {
    if tensors.iter().any(|tensor| tensor.track_op()) {
        return Err(ModelError::Batch(
            "a forward over KV blocks records no gradient: weights must not be variables".into(),
        ));
    }
    Ok(())
}

struct Paged {
    cu_seqlens_q: Arc<[u32]>,
    cu_seqlens_k: Arc<[u32]>,
    block_table: Vec<Vec<BlockId>>,
    geometry: Geometry,
}

impl CustomOp3 for Packed {
    fn name(&self) -> &'static str {
        "attention"
    }

    fn cpu_fwd(
        &self,
        q: &CpuStorage,
        ql: &Layout,
        k: &CpuStorage,
        kl: &Layout,
        v: &CpuStorage,
        vl: &Layout,
    ) -> candle_core::Result<(CpuStorage, Shape)> {
        let g = self.geometry;
        check_queries(ql, &self.cu_seqlens_q, g)?;
        let keys = self.check_keys()?;
        for layout in [kl, vl] {
            let dims = [keys, g.num_kv_heads, g.head_dim];
            check_dims("keys and values", layout, &dims)?;
        }
        let rows = Rows {
            q: f32s(q, ql)?,
            k: f32s(k, kl)?,
            v: f32s(v, vl)?,
            cu_seqlens_q: &self.cu_seqlens_q,
            cu_seqlens_k: &self.cu_seqlens_k,
        };
        let mut out = vec![0.0; rows.q.len()];
        match self.kv_type {
            KvType::F32 => packed::<f32>(Isa::best(), rows, g, &mut out),
            KvType::Bf16 => packed::<u32>(Isa::best(), rows, g, &mut out),
        }
        Ok((CpuStorage::F32(out), ql.shape().clone()))
    }

    fn bwd(
        &self,
        q: &Tensor,
        k: &Tensor,
        v: &Tensor,
        out: &Tensor,
        grad: &Tensor,
    ) -> candle_core::Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        if self.kv_type != KvType::F32 {
            return refuse("keys and values in bf16 have no gradient");
        }
        let grad = grad.contiguous()?;
        let held = [q, k, v, out, &grad].map(Held::new);
        let operands = Operands {
            rows: Rows {
                q: held[0].f32s()?,
                k: held[1].f32s()?,
                v: held[2].f32s()?,
                cu_seqlens_q: &self.cu_seqlens_q,
                cu_seqlens_k: &self.cu_seqlens_k,
            },
            out: held[3].f32s()?,
            grad: held[4].f32s()?,
        };
        let gradients = backward(Isa::best(), operands, self.geometry);
        let of = |like: &Tensor, numbers| Tensor::from_vec(numbers, like.shape(), like.device());
        Ok((Some(of(q, gradients.q)?), Some(of(k, gradients.k)?), Some(of(v, gradients.v)?)))
    }
}

impl Packed {
    /// Checks that every sequence has at least as many keys as queries; returns the number of keys.
    fn check_keys(&self) -> candle_core::Result<usize> {
        let sums = &self.cu_seqlens_k;
        if sums.len() != self.cu_seqlens_q.len() || sums.first() != Some(&0) || !sums.is_sorted() {
            return refuse(
                "there must be a span of keys for each sequence, which follow each other from 0",
            );
        }
        let mut spans = self.cu_seqlens_q.windows(2).zip(sums.windows(2));
        if let Some((q, k)) = spans.find(|(q, k)| k[1] - k[0] < q[1] - q[0]) {
            return refuse(format!("{} queries over {} keys", q[1] - q[0], k[1] - k[0]));
        }
        Ok(sums.last().map_or(0, |end| *end as usize))
    }
}

impl CustomOp3 for Paged {
    fn name(&self) -> &'static str {
        "paged attention"
    }

    fn cpu_fwd(
        &self,
        q: &CpuStorage,
        ql: &Layout,
        k: &CpuStorage,
        kl: &Layout,
        v: &CpuStorage,
        vl: &Layout,
    ) -> candle_core::Result<(CpuStorage, Shape)> {
        let g = self.geometry;
        check_queries(ql, &self.cu_seqlens_q, g)?;
        let n_blocks = kl.dims().first().copied().unwrap_or(0);
        let (heads, dim) = (g.num_kv_heads, g.head_dim);
        let [of_keys, of_values] = kv_type_of(k)?.lanes(dim);
        check_dims("key blocks", kl, &[n_blocks, heads, of_keys])?;
        check_dims("value blocks", vl, &[n_blocks, heads, of_values])?;
        self.check_table(n_blocks)?;
        let queries = Queries {
            q: f32s(q, ql)?,
            cu_seqlens_q: &self.cu_seqlens_q,
            cu_seqlens_k: &self.cu_seqlens_k,
        };
        let table = &self.block_table;
        let mut out = vec![0.0; queries.q.len()];
        match (lanes(k, kl)?, lanes(v, vl)?) {
            (Lanes::F32(keys), Lanes::F32(values)) => {
                forward(Isa::best(), queries, Blocks { keys, values, table }, g, &mut out);
            }
            (Lanes::Bf16(keys), Lanes::Bf16(values)) => {
                forward(Isa::best(), queries, Blocks { keys, values, table }, g, &mut out);
            }
            (Lanes::F32(_), Lanes::Bf16(_)) | (Lanes::Bf16(_), Lanes::F32(_)) => {
                return refuse("keys and values are of two types");
            }
        }
        Ok((CpuStorage::F32(out), ql.shape().clone()))
    }
}

impl Paged {
    /// Checks that every sequence has at least as many keys as queries, and blocks of the cache for
    /// them.
    fn check_table(&self, n_blocks: usize) -> candle_core::Result<()> {
        let spans = (self.cu_seqlens_q.windows(2)).zip(self.cu_seqlens_k.windows(2));
        let counts = [self.cu_seqlens_k.len(), self.block_table.len() + 1];
        if counts != [self.cu_seqlens_q.len(); 2] || self.cu_seqlens_k.first() != Some(&0) {
            return refuse("there must be a span of keys and a list of blocks for each sequence");
        }
        for ((q, k), blocks) in spans.zip(&self.block_table) {
            let (queries, keys) = (q[1] - q[0], k[1].saturating_sub(k[0]));
            if keys < queries || blocks.len() * BLOCK < keys as usize {
                return refuse(format!(
                    "{queries} queries over {keys} keys in {} blocks of {BLOCK}",
                    blocks.len()
                ));
            }
            if let Some(block) = blocks.iter().find(|block| block.0 as usize >= n_blocks) {
                return refuse(format!("block {} of a cache of {n_blocks}", block.0));
            }
        }
        Ok(())
    }
}

/// Checks queries `[T, heads, head_dim]` against geometry and spans; returns `T`.
fn check_queries(
    layout: &Layout,
    cu_seqlens: &[u32],
    geometry: Geometry,
) -> candle_core::Result<usize> {
    let Geometry { num_heads, num_kv_heads, head_dim, .. } = geometry;
    let is_even = num_kv_heads > 0 && num_heads > 0 && num_heads.is_multiple_of(num_kv_heads);
    if !is_even || head_dim == 0 || geometry.window == Some(0) {
        return refuse(format!("no attention has the geometry {geometry:?}"));
    }
    let rows = cu_seqlens.last().map_or(0, |end| *end as usize);
    if cu_seqlens.first() != Some(&0) || !cu_seqlens.is_sorted() {
        return refuse("the spans of the sequences do not follow each other from 0");
    }
    check_dims("queries", layout, &[rows, num_heads, head_dim])?;
    Ok(rows)
}

fn check_dims(what: &str, layout: &Layout, want: &[usize]) -> candle_core::Result<()> {
    if layout.dims() != want {
        return refuse(format!("{what} are {:?} and not {want:?}", layout.dims()));
    }
    Ok(())
}

fn refuse<T>(what: impl Into<String>) -> candle_core::Result<T> {
    Err(Error::Msg(format!("attention: {}", what.into())))
}

/// Copies blocks within a layer's keys and values, in the order of `copies`.
///
/// # Errors
/// A block outside the cache.
pub fn copy_blocks(kv: &LayerKv, copies: &[BlockCopy]) -> Result<()> {
    for pool in [&kv.keys, &kv.values] {
        pool.inplace_op1(&CopyBlocks(copies))?;
    }
    Ok(())
}

struct CopyBlocks<'a>(&'a [BlockCopy]);

impl InplaceOp1 for CopyBlocks<'_> {
    fn name(&self) -> &'static str {
        "copy blocks"
    }

    fn cpu_fwd(&self, pool: &mut CpuStorage, pl: &Layout) -> candle_core::Result<()> {
        let (n_blocks, heads, lanes) = pl.shape().dims3()?;
        match lanes_mut(pool, pl)? {
            LanesMut::F32(pool) => self.copy(pool, n_blocks, heads * lanes),
            LanesMut::Bf16(pool) => self.copy(pool, n_blocks, heads * lanes),
        }
    }
}

impl CopyBlocks<'_> {
    fn copy<T: KvLane>(
        &self,
        pool: &mut [T],
        n_blocks: usize,
        size: usize,
    ) -> candle_core::Result<()> {
        for BlockCopy { from, to } in self.0 {
            let (from, to) = (from.0 as usize, to.0 as usize);
            if from.max(to) >= n_blocks {
                return refuse(format!("block {} of a cache of {n_blocks}", from.max(to)));
            }
            pool.copy_within(from * size..(from + 1) * size, to * size);
        }
        Ok(())
    }
}

/// One of the two pools of a layer.
#[derive(Clone, Copy)]
enum KvPart {
    Keys,
    Values,
}

struct WriteSlots<'a> {
    slots: &'a [u32],
    part: KvPart,
}

impl InplaceOp2 for WriteSlots<'_> {
    fn name(&self) -> &'static str {
        "write keys and values"
    }

    fn cpu_fwd(
        &self,
        pool: &mut CpuStorage,
        pl: &Layout,
        rows: &CpuStorage,
        rl: &Layout,
    ) -> candle_core::Result<()> {
        let (n_blocks, heads, size) = pl.shape().dims3()?;
        let dim = rl.dims().last().copied().unwrap_or(0);
        check_slots(self.slots, n_blocks, rl, (heads, dim))?;
        let [of_keys, of_values] = kv_type_of(pool)?.lanes(dim);
        let (name, lanes) = match self.part {
            KvPart::Keys => ("key blocks", of_keys),
            KvPart::Values => ("value blocks", of_values),
        };
        check_dims(name, pl, &[n_blocks, heads, lanes])?;
        let rows = f32s(rows, rl)?;
        match lanes_mut(pool, pl)? {
            LanesMut::F32(pool) => self.write(pool, [heads, size], rows),
            LanesMut::Bf16(pool) => self.write(pool, [heads, size], rows),
        }
        Ok(())
    }
}

impl WriteSlots<'_> {
    /// Writes rows `[heads, dim]` to blocks `[heads, size]` of a pool.
    fn write<T: KvLane>(&self, pool: &mut [T], [heads, size]: [usize; 2], rows: &[f32]) {
        let dim = rows.len() / (self.slots.len() * heads).max(1);
        for (row, slot) in rows.chunks_exact((heads * dim).max(1)).zip(self.slots) {
            let (block, offset) = (*slot as usize / BLOCK, *slot as usize % BLOCK);
            let blocks = pool[block * heads * size..][..heads * size].chunks_exact_mut(size);
            for (block, numbers) in blocks.zip(row.chunks_exact(dim)) {
                match self.part {
                    KvPart::Keys => T::write_key(block, BLOCK, offset, numbers),
                    KvPart::Values => T::write_value(block, offset, numbers),
                }
            }
        }
    }
}

fn check_slots(
    slots: &[u32],
    n_blocks: usize,
    rows: &Layout,
    (heads, dim): (usize, usize),
) -> candle_core::Result<()> {
    check_dims("keys and values", rows, &[slots.len(), heads, dim])?;
    match slots.iter().max() {
        Some(slot) if *slot as usize >= n_blocks * BLOCK => {
            refuse(format!("slot {slot} of a cache of {n_blocks} blocks"))
        }
        Some(_) | None => Ok(()),
    }
}

/// The lanes of a pool.
enum Lanes<'a> {
    F32(&'a [f32]),
    Bf16(&'a [u32]),
}

/// The lanes of a pool that is written to.
enum LanesMut<'a> {
    F32(&'a mut [f32]),
    Bf16(&'a mut [u32]),
}

const NO_LANES: &str = "KV blocks are contiguous, of f32 or of pairs of bf16";

fn kv_type_of(pool: &CpuStorage) -> candle_core::Result<KvType> {
    let dtype = pool.dtype();
    if dtype == DType::F32 {
        Ok(KvType::F32)
    } else if dtype == DType::U32 {
        Ok(KvType::Bf16)
    } else {
        refuse(NO_LANES)
    }
}

fn lanes<'a>(storage: &'a CpuStorage, layout: &Layout) -> candle_core::Result<Lanes<'a>> {
    match (storage, layout.contiguous_offsets()) {
        (CpuStorage::F32(data), Some((start, end))) => Ok(Lanes::F32(&data[start..end])),
        (CpuStorage::U32(data), Some((start, end))) => Ok(Lanes::Bf16(&data[start..end])),
        _ => refuse(NO_LANES),
    }
}

fn lanes_mut<'a>(
    storage: &'a mut CpuStorage,
    layout: &Layout,
) -> candle_core::Result<LanesMut<'a>> {
    match (storage, layout.contiguous_offsets()) {
        (CpuStorage::F32(data), Some((start, end))) => Ok(LanesMut::F32(&mut data[start..end])),
        (CpuStorage::U32(data), Some((start, end))) => Ok(LanesMut::Bf16(&mut data[start..end])),
        _ => refuse(NO_LANES),
    }
}

#[cfg(test)]
mod tests;

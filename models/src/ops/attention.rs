//! Causal attention: over the batch's own keys, or over KV blocks.

use std::sync::Arc;

use candle_core::{CpuStorage, CustomOp3, InplaceOp2, Layout, Shape, Tensor};

use super::storage::f32s;
use crate::batch::Paging;
use crate::error::{ModelError, Result};
use crate::kernels::attention::{Blocks, Geometry, forward};
use crate::kv::{BLOCK, LayerKv};

struct Packed {
    cu_seqlens: Arc<[u32]>,
    geometry: Geometry,
}

/// Attention within each packed sequence. `q [T, heads, head_dim]`, `k`, `v [T, kv_heads, head_dim]`
/// to `[T, heads, head_dim]`.
pub fn attend(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    cu_seqlens: &Arc<[u32]>,
    geometry: Geometry,
) -> Result<Tensor> {
    Ok(q.apply_op3(
        k,
        v,
        Packed {
            cu_seqlens: cu_seqlens.clone(),
            geometry,
        },
    )?)
}

/// Writes the batch's keys and values `[T, kv_heads, head_dim]` to their slots.
pub fn write_kv(kv: &LayerKv, k: &Tensor, v: &Tensor, slot_mapping: &[u32]) -> Result<()> {
    if k.track_op() || v.track_op() {
        return Err(ModelError::Batch(
            "a forward over KV blocks records no gradient: weights must not be variables".into(),
        ));
    }
    kv.keys.inplace_op2(k, &WriteKeys(slot_mapping))?;
    kv.values.inplace_op2(v, &WriteValues(slot_mapping))?;
    Ok(())
}

/// Attention over KV blocks, which already hold the batch's own keys and values.
pub fn attend_paged(
    q: &Tensor,
    kv: &LayerKv,
    spans: (&[u32], &[u32]),
    paging: &Paging,
    geometry: Geometry,
) -> Result<Tensor> {
    let op = Paged {
        cu_seqlens_q: spans.0.into(),
        cu_seqlens_k: spans.1.into(),
        block_table: paging.block_table.clone(),
        geometry,
    };
    Ok(q.apply_op3(&kv.keys, &kv.values, op)?)
}

struct Paged {
    cu_seqlens_q: Arc<[u32]>,
    cu_seqlens_k: Arc<[u32]>,
    block_table: Vec<Vec<crate::kv::BlockId>>,
    geometry: Geometry,
}

struct Pool<'a> {
    keys: &'a [f32],
    values: &'a [f32],
    table: &'a [Vec<crate::kv::BlockId>],
    geometry: Geometry,
}

impl Blocks for Pool<'_> {
    fn keys(&self, sequence: usize, block: usize, kv_head: usize) -> &[f32] {
        slab(
            self.keys,
            self.table[sequence][block].0 as usize,
            kv_head,
            self.geometry,
        )
    }

    fn values(&self, sequence: usize, block: usize, kv_head: usize) -> &[f32] {
        slab(
            self.values,
            self.table[sequence][block].0 as usize,
            kv_head,
            self.geometry,
        )
    }
}

fn slab(pool: &[f32], block: usize, kv_head: usize, geometry: Geometry) -> &[f32] {
    let len = geometry.head_dim * BLOCK;
    &pool[(block * geometry.num_kv_heads + kv_head) * len..][..len]
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
        let (q, k, v) = (f32s(q, ql)?, f32s(k, kl)?, f32s(v, vl)?);
        let g = self.geometry;
        let mut table = Vec::new();
        let mut slots = Vec::new();
        let mut next = 0;
        for w in self.cu_seqlens.windows(2) {
            let n = (w[1] - w[0]) as usize;
            let blocks = n.div_ceil(BLOCK);
            table.push(
                (next..next + blocks)
                    .map(|b| crate::kv::BlockId(b as u32))
                    .collect(),
            );
            slots.extend((0..n).map(|p| (next * BLOCK + p) as u32));
            next += blocks;
        }
        let mut keys = vec![0.0; next * BLOCK * g.num_kv_heads * g.head_dim];
        let mut values = keys.clone();
        scatter_keys(k, &slots, g.num_kv_heads, g.head_dim, &mut keys);
        scatter_values(v, &slots, g.num_kv_heads, g.head_dim, &mut values);
        let mut out = vec![0.0; q.len()];
        let pool = Pool {
            keys: &keys,
            values: &values,
            table: &table,
            geometry: g,
        };
        forward(q, &self.cu_seqlens, &self.cu_seqlens, &pool, g, &mut out);
        Ok((CpuStorage::F32(out), ql.shape().clone()))
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
        let q = f32s(q, ql)?;
        let pool = Pool {
            keys: f32s(k, kl)?,
            values: f32s(v, vl)?,
            table: &self.block_table,
            geometry: self.geometry,
        };
        let mut out = vec![0.0; q.len()];
        forward(
            q,
            &self.cu_seqlens_q,
            &self.cu_seqlens_k,
            &pool,
            self.geometry,
            &mut out,
        );
        Ok((CpuStorage::F32(out), ql.shape().clone()))
    }
}

struct WriteKeys<'a>(&'a [u32]);
struct WriteValues<'a>(&'a [u32]);

impl InplaceOp2 for WriteKeys<'_> {
    fn name(&self) -> &'static str {
        "write keys"
    }

    fn cpu_fwd(
        &self,
        pool: &mut CpuStorage,
        pl: &Layout,
        k: &CpuStorage,
        kl: &Layout,
    ) -> candle_core::Result<()> {
        let (_, heads, dim, _) = pl.shape().dims4()?;
        scatter_keys(f32s(k, kl)?, self.0, heads, dim, f32s_mut(pool)?);
        Ok(())
    }
}

impl InplaceOp2 for WriteValues<'_> {
    fn name(&self) -> &'static str {
        "write values"
    }

    fn cpu_fwd(
        &self,
        pool: &mut CpuStorage,
        pl: &Layout,
        v: &CpuStorage,
        vl: &Layout,
    ) -> candle_core::Result<()> {
        let (_, heads, _, dim) = pl.shape().dims4()?;
        scatter_values(f32s(v, vl)?, self.0, heads, dim, f32s_mut(pool)?);
        Ok(())
    }
}

fn f32s_mut(storage: &mut CpuStorage) -> candle_core::Result<&mut [f32]> {
    let CpuStorage::F32(data) = storage else {
        return Err(candle_core::Error::Msg("KV blocks are f32".into()));
    };
    Ok(data)
}

fn scatter_keys(k: &[f32], slots: &[u32], heads: usize, dim: usize, pool: &mut [f32]) {
    for (row, slot) in k.chunks_exact(heads * dim).zip(slots) {
        let (block, offset) = (*slot as usize / BLOCK, *slot as usize % BLOCK);
        for (i, value) in row.iter().enumerate() {
            pool[(block * heads * dim + i) * BLOCK + offset] = *value;
        }
    }
}

fn scatter_values(v: &[f32], slots: &[u32], heads: usize, dim: usize, pool: &mut [f32]) {
    for (row, slot) in v.chunks_exact(heads * dim).zip(slots) {
        let (block, offset) = (*slot as usize / BLOCK, *slot as usize % BLOCK);
        for (head, values) in row.chunks_exact(dim).enumerate() {
            let at = ((block * heads + head) * BLOCK + offset) * dim;
            pool[at..at + dim].copy_from_slice(values);
        }
    }
}

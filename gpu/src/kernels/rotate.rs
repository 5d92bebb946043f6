//! Queries, keys and values of a step: norms, rotation, and their places.

use half::bf16;

use super::{Address, HeadShape, KvLayer, argument, count, fits, row_a_warp};
use crate::error::Result;
use crate::memory::DeviceSlice;
use crate::open::Gpu;

/// Norms of queries and keys before rotation: of each head, or of all heads together.
#[derive(Clone, Debug)]
pub struct HeadNorms {
    /// `[dim]`, or `[heads · dim]`.
    pub q: DeviceSlice<f32>,
    /// `[dim]`, or `[kv_heads · dim]`.
    pub k: DeviceSlice<f32>,
    /// Added to the mean square.
    pub eps: f32,
    /// Added to the weight.
    pub offset: f32,
}

/// Cosines and sines of every position, `[positions, half]` each.
#[derive(Clone, Debug)]
pub struct Rotation {
    /// Cosines.
    pub cosines: DeviceSlice<f32>,
    /// Sines.
    pub sines: DeviceSlice<f32>,
    /// Half of the leading dimensions of a head that turn; dimension i turns with `i + half`.
    pub half: usize,
}

/// Where a step's rows go.
#[derive(Clone, Debug)]
pub struct QueryRooms {
    /// `[rows]`: positions, each below those of the rotation's tables.
    pub positions: DeviceSlice<u32>,
    /// `[rows]`: `block · 16 + offset` of keys and values, each below those of the pool.
    pub slots: DeviceSlice<u32>,
    /// `[rows, heads · dim]`.
    pub q: DeviceSlice<bf16>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct RawRotate {
    qkv: Address,
    q_norm: Address,
    k_norm: Address,
    cosines: Address,
    sines: Address,
    positions: Address,
    slots: Address,
    q: Address,
    keys: Address,
    values: Address,
    rows: u32,
    heads: u32,
    kv_heads: u32,
    dim: u32,
    half: u32,
    whole: u32,
    eps: f32,
    offset: f32,
}

/// From `qkv [rows, (heads + 2 kv_heads) · dim]` to queries, keys and values in their places.
///
/// # Errors
/// [`crate::GpuError::Argument`] for operands that do not fit.
pub fn rotate_store(
    gpu: &Gpu,
    qkv: &DeviceSlice<f32>,
    shape: HeadShape,
    (norms, rotation): (Option<&HeadNorms>, Option<&Rotation>),
    (rooms, kv): (&QueryRooms, &KvLayer),
) -> Result<()> {
    const NAME: &str = "rotate_store";
    let HeadShape { heads, kv_heads, dim } = shape;
    let rows = rooms.positions.len();
    fits(NAME, "qkv", qkv, rows * (heads + 2 * kv_heads) * dim)?;
    fits(NAME, "slots", &rooms.slots, rows)?;
    fits(NAME, "q", &rooms.q, rows * heads * dim)?;
    kv.check(NAME, shape)?;
    let whole = norms.is_some_and(|norms| norms.q.len() != dim);
    if let Some(norms) = norms {
        let (q, k) = if whole { (heads * dim, kv_heads * dim) } else { (dim, dim) };
        fits(NAME, "the norm of queries", &norms.q, q)?;
        fits(NAME, "the norm of keys", &norms.k, k)?;
    }
    if let Some(rotation) = rotation {
        fits(NAME, "sines", &rotation.sines, rotation.cosines.len())?;
        if 2 * rotation.half > dim || rotation.half == 0 {
            return Err(argument(NAME, format!("{} of {dim} dimensions turn", 2 * rotation.half)));
        }
    }
    let params = RawRotate {
        qkv: qkv.into(),
        q_norm: norms.map(|norms| &norms.q).into(),
        k_norm: norms.map(|norms| &norms.k).into(),
        cosines: rotation.map(|rotation| &rotation.cosines).into(),
        sines: rotation.map(|rotation| &rotation.sines).into(),
        positions: (&rooms.positions).into(),
        slots: (&rooms.slots).into(),
        q: (&rooms.q).into(),
        keys: (&kv.keys).into(),
        values: (&kv.values).into(),
        rows: count(NAME, rows)?,
        heads: count(NAME, heads)?,
        kv_heads: count(NAME, kv_heads)?,
        dim: count(NAME, dim)?,
        half: count(NAME, rotation.map_or(0, |rotation| rotation.half))?,
        whole: u32::from(whole),
        eps: norms.map_or(0.0, |norms| norms.eps),
        offset: norms.map_or(0.0, |norms| norms.offset),
    };
    gpu.launch(NAME, row_a_warp(NAME, rows * (heads + 2 * kv_heads))?, &params)
}

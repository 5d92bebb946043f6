//! Heads, and where their keys and values lie.

use half::bf16;

use super::{argument, fits, in_eights};
use crate::error::Result;
use crate::memory::DeviceSlice;

/// Tokens of a block of keys and values.
const BLOCK: usize = 16;
/// Heads of an attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadShape {
    /// Query heads.
    pub heads: usize,
    /// Key and value heads; divides `heads`.
    pub kv_heads: usize,
    /// Numbers of a head, a multiple of 8.
    pub dim: usize,
}

/// Keys and values of one layer, `[block][kv_head][16][dim]` each.
#[derive(Clone, Debug)]
pub struct KvLayer {
    /// Keys after rotation.
    pub keys: DeviceSlice<bf16>,
    /// Values.
    pub values: DeviceSlice<bf16>,
}

impl KvLayer {
    pub(super) fn check(&self, kernel: &'static str, shape: HeadShape) -> Result<()> {
        let HeadShape { heads, kv_heads, dim } = shape;
        in_eights(kernel, "the head dimension", dim)?;
        if kv_heads == 0 || !heads.is_multiple_of(kv_heads) {
            return Err(argument(kernel, format!("{heads} query heads over {kv_heads}")));
        }
        fits(kernel, "values", &self.values, self.keys.len())?;
        if !self.keys.len().is_multiple_of(kv_heads * BLOCK * dim) {
            return Err(argument(
                kernel,
                format!("{} numbers are no whole blocks", self.keys.len()),
            ));
        }
        Ok(())
    }
}

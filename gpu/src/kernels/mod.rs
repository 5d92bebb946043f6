//! The kernels as functions: each checks its operands, starts its launches and returns before they have run. Structures
//! here mirror those of the sources, field by field.

mod attend;
mod draw;
mod epilogue;
mod experts;
mod grouped;
mod heads;
mod logprobs;
mod norm;
mod product;
mod rotate;
mod rows;

pub use attend::{Attention, AttentionShape, QuerySpan, attend, most_group};
pub use draw::{Draws, NO_TOKEN, RowDraw, draw};
pub use epilogue::{Activation, Epilogue, Store};
pub use experts::{ExpertShape, NO_ADAPTER, Routed, RoutedAdapters, combine, route, route_adapted};
pub use grouped::{Factor, Factors, Piece, Pieces, expand, grouped, grouped_sums, shrink};
pub use heads::{HeadShape, KvLayer};
pub use logprobs::{LogprobRooms, logprobs, logprobs_of};
pub use norm::{NormOutput, RowNorm, norm};
pub use product::{ProductTile, finish, product, product_by};
pub use rotate::{HeadNorms, QueryRooms, Rotation, rotate_store};
pub use rows::{
    BlockPair, BlockPairs, Floats, cast, copy_blocks, embed, embed_grouped, fill_random, gather,
};

use crate::error::{GpuError, Result};
use crate::launch::Launch;
use crate::memory::{DeviceNumber, DeviceSlice};

/// An address on the card, 0 for none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(transparent)]
pub(crate) struct Address(u64);

impl<T: DeviceNumber> From<&DeviceSlice<T>> for Address {
    fn from(slice: &DeviceSlice<T>) -> Address {
        Address(slice.address())
    }
}

impl<T: DeviceNumber> From<Option<&DeviceSlice<T>>> for Address {
    fn from(slice: Option<&DeviceSlice<T>>) -> Address {
        slice.map_or(Address(0), Address::from)
    }
}

/// A count as the kernels take it.
pub(crate) fn count(kernel: &'static str, n: usize) -> Result<u32> {
    u32::try_from(n).map_err(|_| argument(kernel, format!("{n} do not fit into 32 bits")))
}

pub(crate) fn argument(kernel: &'static str, what: impl Into<String>) -> GpuError {
    GpuError::Argument { kernel, what: what.into() }
}

/// An operand has the length that the others give it.
pub(crate) fn fits<T: DeviceNumber>(
    kernel: &'static str,
    name: &str,
    slice: &DeviceSlice<T>,
    len: usize,
) -> Result<()> {
    if slice.len() == len {
        return Ok(());
    }
    Err(argument(kernel, format!("{name} has {} numbers, and {len} are needed", slice.len())))
}

/// A length that is read in pieces of 16 bytes.
fn in_eights(kernel: &'static str, name: &str, n: usize) -> Result<()> {
    if n.is_multiple_of(8) {
        return Ok(());
    }
    Err(argument(kernel, format!("{name} is {n}, which is no multiple of 8")))
}

/// Most blocks of a kernel whose threads go over their elements in turn.
const MAX_BLOCKS: usize = 4096;

/// Blocks of 256 threads over `n` elements.
fn over(n: usize) -> Launch {
    let blocks = n.div_ceil(256).min(MAX_BLOCKS);
    Launch { blocks: [u32::try_from(blocks).unwrap_or(u32::MAX), 1, 1], threads: 256, shared: 0 }
}

/// Blocks of four warps, a row each.
fn row_a_warp(kernel: &'static str, rows: usize) -> Result<Launch> {
    Ok(Launch { blocks: [count(kernel, rows.div_ceil(4))?, 1, 1], threads: 128, shared: 0 })
}

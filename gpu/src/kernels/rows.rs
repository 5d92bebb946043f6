//! Rows from one place to another.

use half::{bf16, f16};

use super::{Address, Factors, Pieces, argument, count, fits, over};
use crate::error::Result;
use crate::launch::Launch;
use crate::memory::DeviceSlice;
use crate::open::Gpu;
use crate::staging::Staging;

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct RawEmbed {
    table: Address,
    ids: Address,
    y: Address,
    rows: u32,
    n: u32,
    scale: f32,
}

/// `y [rows, n] = scale · table[ids]`, ids below the table's rows.
///
/// # Errors
/// [`crate::GpuError::Argument`] for operands that do not fit.
pub fn embed(
    gpu: &Gpu,
    (table, ids): (&DeviceSlice<bf16>, &DeviceSlice<u32>),
    scale: f32,
    y: &DeviceSlice<f32>,
) -> Result<()> {
    const NAME: &str = "embed";
    let n = y.len().checked_div(ids.len()).unwrap_or(0);
    fits(NAME, "y", y, ids.len() * n)?;
    let (rows, n) = (count(NAME, ids.len())?, count(NAME, n)?);
    let params = RawEmbed { table: table.into(), ids: ids.into(), y: y.into(), rows, n, scale };
    gpu.launch(NAME, over(y.len()), &params)
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct RawGather {
    x: Address,
    index: Address,
    y: Address,
    rows: u32,
    words: u32,
}

/// Numbers of a type that is known when the program runs.
#[derive(Clone, Debug)]
pub enum Floats {
    /// 32 bits of any kind, which only [`gather`] takes.
    Words(DeviceSlice<u32>),
    /// f32.
    F32(DeviceSlice<f32>),
    /// f16, which only [`cast`] takes.
    F16(DeviceSlice<f16>),
    /// bf16.
    Bf16(DeviceSlice<bf16>),
}

/// `y [R, n] = x[index]`, for an index below the rows of `x`.
///
/// # Errors
/// [`crate::GpuError::Argument`] for operands that do not fit, or of different types.
pub fn gather(gpu: &Gpu, x: &Floats, index: &DeviceSlice<u32>, y: &Floats) -> Result<()> {
    const NAME: &str = "gather";
    let rows = index.len();
    let (x, to, words) = match (x, y) {
        (Floats::F32(x), Floats::F32(y)) => (x.into(), y.into(), y.len()),
        (Floats::Words(x), Floats::Words(y)) => (x.into(), y.into(), y.len()),
        (Floats::Bf16(x), Floats::Bf16(y)) if (y.len() / rows.max(1)).is_multiple_of(2) => {
            (x.into(), y.into(), y.len() / 2)
        }
        _ => return Err(argument(NAME, "rows of f32, or of an even number of bf16")),
    };
    let each = words.checked_div(rows).unwrap_or(0);
    if each * rows != words {
        return Err(argument(NAME, format!("{words} words for {rows} rows")));
    }
    let params = RawGather {
        x,
        index: index.into(),
        y: to,
        rows: count(NAME, rows)?,
        words: count(NAME, each)?,
    };
    gpu.launch(NAME, over(words), &params)
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct RawEmbedGrouped {
    pieces: Address,
    factors: Address,
    rows: Address,
    ids: Address,
    y: Address,
    stride: u32,
}

/// The rows of adapters' embedding factors, `[vocabulary, r]` each: `t [places, stride] = A[ids[row]]` of each place.
///
/// # Errors
/// [`crate::GpuError::Argument`] for operands that do not fit.
pub fn embed_grouped(
    gpu: &Gpu,
    ids: &DeviceSlice<u32>,
    (pieces, factors): (&Pieces, &Factors),
    (t, stride): (&DeviceSlice<bf16>, usize),
) -> Result<()> {
    const NAME: &str = "embed_grouped";
    fits(NAME, "t", t, pieces.rows.len() * stride)?;
    if factors.deepest() > stride {
        return Err(argument(NAME, format!("rank {} in rows of {stride}", factors.deepest())));
    }
    let params = RawEmbedGrouped {
        pieces: (&pieces.list).into(),
        factors: factors.address(),
        rows: (&pieces.rows).into(),
        ids: ids.into(),
        y: t.into(),
        stride: count(NAME, stride)?,
    };
    let blocks = [count(NAME, pieces.list.len() / 3)?, 1, 1];
    gpu.launch(NAME, Launch { blocks, threads: 128, shared: 0 }, &params)
}

/// A block of keys and values that becomes a copy of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockPair {
    /// The block that is read.
    pub from: u32,
    /// The block that is written; of all pairs, none is read that is written.
    pub to: u32,
}

/// A step's copies of blocks.
#[derive(Clone, Debug)]
pub struct BlockPairs {
    list: DeviceSlice<u32>,
    /// The largest block of all.
    last: u32,
}

impl BlockPairs {
    /// Stages the copies.
    ///
    /// # Errors
    /// [`crate::GpuError::OutOfMemory`] where the room is full.
    pub fn stage(pairs: &[BlockPair], staging: &mut Staging) -> Result<BlockPairs> {
        let list: Vec<u32> = pairs.iter().flat_map(|pair| [pair.from, pair.to]).collect();
        let last = list.iter().copied().max().unwrap_or(0);
        Ok(BlockPairs { list: staging.put(&list)?, last })
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct RawCopyBlocks {
    pool: Address,
    pairs: Address,
    n_pairs: u32,
    layers: u32,
    blocks: u32,
    words: u32,
}

/// Copies blocks within all layers of a pool `[layer][block]`, of `layers` and blocks of `each` numbers.
///
/// # Errors
/// [`crate::GpuError::Argument`] for a block past the pool, and sizes that do not fit.
pub fn copy_blocks(
    gpu: &Gpu,
    pool: &DeviceSlice<bf16>,
    (layers, each): (usize, usize),
    pairs: &BlockPairs,
) -> Result<()> {
    const NAME: &str = "copy_blocks";
    let blocks = pool.len().checked_div(layers * each).unwrap_or(0);
    fits(NAME, "the pool", pool, layers * blocks * each)?;
    super::in_eights(NAME, "a block", each)?;
    if pairs.last as usize >= blocks && !pairs.list.is_empty() {
        return Err(argument(NAME, format!("block {} in a pool of {blocks}", pairs.last)));
    }
    let params = RawCopyBlocks {
        pool: pool.into(),
        pairs: (&pairs.list).into(),
        n_pairs: count(NAME, pairs.list.len() / 2)?,
        layers: count(NAME, layers)?,
        blocks: count(NAME, blocks)?,
        words: count(NAME, each / 8)?,
    };
    let grid = Launch { blocks: [params.n_pairs, params.layers, 1], threads: 256, shared: 0 };
    gpu.launch(NAME, grid, &params)
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct RawCast {
    x: Address,
    y: Address,
    flags: Address,
    rows: u32,
    n: u32,
    y_stride: u32,
    source: u32,
}

/// `y [rows, y_stride]` in bf16 from `x [rows, n]`, rounded to the nearest, zeros from `n` on. Sets bit 0 of `flags [1]` if
/// a number of `x` is not finite.
///
/// # Errors
/// [`crate::GpuError::Argument`] for operands that do not fit.
pub fn cast(
    gpu: &Gpu,
    (x, n): (&Floats, usize),
    (y, y_stride): (&DeviceSlice<bf16>, usize),
    flags: &DeviceSlice<u32>,
) -> Result<()> {
    const NAME: &str = "cast";
    let (x, len, source) = match x {
        Floats::Words(_) => return Err(argument(NAME, "words are no floats")),
        Floats::F32(x) => (x.into(), x.len(), 0),
        Floats::F16(x) => (x.into(), x.len(), 1),
        Floats::Bf16(x) => (x.into(), x.len(), 2),
    };
    let rows = len.checked_div(n).unwrap_or(0);
    if rows * n != len || y_stride < n {
        return Err(argument(NAME, format!("{len} numbers in rows of {n}, to rows of {y_stride}")));
    }
    fits(NAME, "y", y, rows * y_stride)?;
    fits(NAME, "flags", flags, 1)?;
    let params = RawCast {
        x,
        y: y.into(),
        flags: flags.into(),
        rows: count(NAME, rows)?,
        n: count(NAME, n)?,
        y_stride: count(NAME, y_stride)?,
        source,
    };
    gpu.launch(NAME, over(y.len()), &params)
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct RawFill {
    y: Address,
    n: u64,
    seed: u64,
    scale: f32,
}

/// Fills with uniform numbers in `[-scale, scale)`, each a function of its index and the seed (SplitMix64: Steele et al.,
/// 2014).
///
/// # Errors
/// Those of a launch.
pub fn fill_random(gpu: &Gpu, y: &DeviceSlice<bf16>, seed: u64, scale: f32) -> Result<()> {
    let params = RawFill { y: y.into(), n: y.len() as u64, seed, scale };
    gpu.launch("fill_random", over(y.len()), &params)
}

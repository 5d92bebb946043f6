//! Log-probabilities, without a matrix of logits and from one.

use half::bf16;

use super::{Address, argument, count, fits, in_eights};
use crate::error::Result;
use crate::launch::Launch;
use crate::memory::DeviceSlice;
use crate::open::Gpu;

/// Columns of a tile: the order of sums is that of the vocabulary's tiles.
const COLUMNS: usize = 256;

/// Rooms for what tiles give: of `R` rows over a vocabulary of `n`, `[⌈n / 256⌉ · R · 3]` and `[R]`.
#[derive(Clone, Debug)]
pub struct LogprobRooms {
    /// What each tile gives.
    pub parts: DeviceSlice<f32>,
    /// Logits of the targets.
    pub targets: DeviceSlice<f32>,
}

impl LogprobRooms {
    /// Numbers of `parts`.
    pub fn parts(rows: usize, vocabulary: usize) -> usize {
        vocabulary.div_ceil(COLUMNS) * rows * 3
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct RawLogprobs {
    x: Address,
    w: Address,
    targets: Address,
    parts: Address,
    target_logits: Address,
    rows: u32,
    n: u32,
    k: u32,
    cap: f32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct RawMergeLogprobs {
    parts: Address,
    target_logits: Address,
    y: Address,
    rows: u32,
    tiles: u32,
}

/// `y [R, 3]`: the log-probability of `targets [R]` (each below `n`), the entropy, and log Σ exp of the logits
/// `x [R, k] · w [n, k]ᵀ`, capped by `cap · tanh(x / cap)` unless `cap` is 0; in nats.
///
/// # Errors
/// [`crate::GpuError::Argument`] for operands that do not fit.
pub fn logprobs(
    gpu: &Gpu,
    (x, w, k): (&DeviceSlice<bf16>, &DeviceSlice<bf16>, usize),
    (targets, cap): (&DeviceSlice<u32>, f32),
    rooms: &LogprobRooms,
    y: &DeviceSlice<f32>,
) -> Result<()> {
    const NAME: &str = "logprobs";
    in_eights(NAME, "k", k)?;
    let (rows, n) = (targets.len(), w.len().checked_div(k).unwrap_or(0));
    if n == 0 {
        return Err(argument(NAME, "the vocabulary is empty"));
    }
    fits(NAME, "x", x, rows * k)?;
    fits(NAME, "w", w, n * k)?;
    fits(NAME, "parts", &rooms.parts, LogprobRooms::parts(rows, n))?;
    fits(NAME, "logits of targets", &rooms.targets, rows)?;
    fits(NAME, "y", y, rows * 3)?;
    let params = RawLogprobs {
        x: x.into(),
        w: w.into(),
        targets: targets.into(),
        parts: (&rooms.parts).into(),
        target_logits: (&rooms.targets).into(),
        rows: count(NAME, rows)?,
        n: count(NAME, n)?,
        k: count(NAME, k)?,
        cap,
    };
    let tiles = count(NAME, n.div_ceil(COLUMNS))?;
    let blocks = [tiles, count(NAME, rows.div_ceil(64))?, 1];
    gpu.launch("logprobs_tiles", Launch { blocks, threads: 256, shared: 61_440 }, &params)?;
    merge(gpu, rooms, y)
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct RawLogitsTiles {
    logits: Address,
    parts: Address,
    rows: u32,
    n: u32,
}

/// [`logprobs`], with its bits, of `logits [R, n]` that were computed before; the logits of the targets lie in `rooms`.
///
/// # Errors
/// [`crate::GpuError::Argument`] for operands that do not fit.
pub fn logprobs_of(
    gpu: &Gpu,
    logits: &DeviceSlice<f32>,
    rooms: &LogprobRooms,
    y: &DeviceSlice<f32>,
) -> Result<()> {
    const NAME: &str = "logits_tiles";
    let rows = rooms.targets.len();
    let n = logits.len().checked_div(rows).unwrap_or(0);
    fits(NAME, "logits", logits, rows * n)?;
    fits(NAME, "parts", &rooms.parts, LogprobRooms::parts(rows, n))?;
    fits(NAME, "y", y, rows * 3)?;
    let params = RawLogitsTiles {
        logits: logits.into(),
        parts: (&rooms.parts).into(),
        rows: count(NAME, rows)?,
        n: count(NAME, n)?,
    };
    // Sixteen tiles a block.
    let blocks = [count(NAME, n.div_ceil(16 * COLUMNS))?, params.rows, 1];
    gpu.launch(NAME, Launch { blocks, threads: 256, shared: 768 }, &params)?;
    merge(gpu, rooms, y)
}

/// Merges what tiles gave, in ascending order.
fn merge(gpu: &Gpu, rooms: &LogprobRooms, y: &DeviceSlice<f32>) -> Result<()> {
    const NAME: &str = "logprobs_merge";
    let rows = rooms.targets.len();
    let params = RawMergeLogprobs {
        parts: (&rooms.parts).into(),
        target_logits: (&rooms.targets).into(),
        y: y.into(),
        rows: count(NAME, rows)?,
        tiles: count(NAME, rooms.parts.len() / 3 / rows.max(1))?,
    };
    let blocks = [count(NAME, rows.div_ceil(128))?, 1, 1];
    gpu.launch(NAME, Launch { blocks, threads: 128, shared: 0 }, &params)
}

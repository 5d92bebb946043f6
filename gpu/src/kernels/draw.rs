//! Tokens drawn on the card.

use super::{Address, argument, count, fits};
use crate::error::Result;
use crate::launch::Launch;
use crate::memory::DeviceSlice;
use crate::open::Gpu;
use crate::staging::Staging;

/// What [`draw`] gives for a row of which a logit is not finite, or no token may be drawn.
pub const NO_TOKEN: u32 = u32::MAX;

/// How a row's token is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RowDraw {
    /// The most likely, the first of equal ones.
    Greedy,
    /// By weight.
    Weighted {
        /// Positive.
        temperature: f32,
        /// Tokens that are kept, by logit.
        top_k: Option<u32>,
        /// In (0, 1]: the fewest tokens that make up this share of the weights.
        top_p: f32,
        /// The least weight of a kept token, in units of 2^-40 of the most likely one's.
        least: u64,
        /// Sixty-four uniform bits.
        random: u64,
    },
}

/// The draws of a step.
#[derive(Clone, Debug)]
pub struct Draws {
    words: DeviceSlice<u32>,
    rows: usize,
}

/// 32-bit words of a row.
const WORDS: usize = 8;

impl Draws {
    /// Stages one draw for each row.
    ///
    /// # Errors
    /// [`crate::GpuError::OutOfMemory`] where the room is full; [`crate::GpuError::Argument`] for a temperature or a
    /// share out of range.
    pub fn stage(draws: &[RowDraw], staging: &mut Staging) -> Result<Draws> {
        let mut words = Vec::with_capacity(draws.len() * WORDS);
        for draw in draws {
            words.extend(raw(draw)?);
        }
        Ok(Draws { words: staging.put(&words)?, rows: draws.len() })
    }
}

/// The structure of the source: two floats, two integers, two integers of 64 bits, low half first.
fn raw(draw: &RowDraw) -> Result<[u32; WORDS]> {
    let RowDraw::Weighted { temperature, top_k, top_p, least, random } = *draw else {
        return Ok([0, 0, 0, 1, 0, 0, 0, 0]);
    };
    let inverse = 1.0 / temperature;
    if !(inverse.is_finite() && inverse > 0.0 && top_p > 0.0 && top_p <= 1.0) {
        return Err(argument("draw", format!("temperature {temperature}, top_p {top_p}")));
    }
    let [least, random] = [least.max(1), random].map(halves);
    let top_k = top_k.unwrap_or(0);
    Ok([inverse.to_bits(), top_p.to_bits(), top_k, 0, least[0], least[1], random[0], random[1]])
}

#[expect(clippy::cast_possible_truncation, reason = "the halves are meant")]
fn halves(x: u64) -> [u32; 2] {
    [x as u32, (x >> 32) as u32]
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct RawDraw {
    logits: Address,
    allowed: Address,
    rows: Address,
    tokens: Address,
    values: Address,
    n: u32,
}

/// A token of each row of `logits [rows, n]` into `tokens [rows]`, and its logit into `values [rows]`. `allowed [rows, ⌈n / 32⌉]`
/// has a bit for each token that may be drawn. A row with a logit that is not finite gives [`NO_TOKEN`] and the first of them;
/// one of which no token may be drawn, [`NO_TOKEN`] and 0.
///
/// # Errors
/// [`crate::GpuError::Argument`] for operands that do not fit.
pub fn draw(
    gpu: &Gpu,
    logits: &DeviceSlice<f32>,
    (draws, allowed): (&Draws, Option<&DeviceSlice<u32>>),
    (tokens, values): (&DeviceSlice<u32>, &DeviceSlice<f32>),
) -> Result<()> {
    const NAME: &str = "draw";
    let n = logits.len().checked_div(draws.rows).unwrap_or(0);
    fits(NAME, "logits", logits, draws.rows * n)?;
    fits(NAME, "tokens", tokens, draws.rows)?;
    fits(NAME, "values", values, draws.rows)?;
    if let Some(allowed) = allowed {
        fits(NAME, "allowed", allowed, draws.rows * n.div_ceil(32))?;
    }
    let params = RawDraw {
        logits: logits.into(),
        allowed: allowed.into(),
        rows: (&draws.words).into(),
        tokens: tokens.into(),
        values: values.into(),
        n: count(NAME, n)?,
    };
    let blocks = [count(NAME, draws.rows)?, 1, 1];
    gpu.launch(NAME, Launch { blocks, threads: 256, shared: 3088 }, &params)
}

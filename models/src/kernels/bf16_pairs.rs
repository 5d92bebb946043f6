//! Matrices and rows of bf16 in pairs of columns, the operands of [`super::bf16_dot`].

#![expect(
    clippy::inline_always,
    reason = "a function that is not inlined into a lane kernel is compiled without its instructions"
)]

use std::sync::OnceLock;

use half::bf16;
use rayon::prelude::*;

use super::gemm::PanelRow;
use super::panels::PANEL;
use super::simd::{F32x16, Isa, Kernel, LANES};
use crate::error::{ModelError, Result};

/// Adjacent columns of `k`, the operand of one lane.
const PAIR: usize = 2;

/// Below this number of values one thread rounds.
const SMALLEST_SHARED: usize = 1 << 15;

/// A pair of columns of sixteen output channels: one cache line. Each f32 holds the bits of two
/// bf16, the first column in the lower half, and is never computed with as an f32.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct PairRow([f32; PANEL]);

impl PanelRow for PairRow {
    const NARROW: bool = false;
    const PAIRS: bool = true;

    #[inline(always)]
    fn load<L: F32x16>(&self) -> L {
        L::load(&self.0)
    }

    #[inline(always)]
    fn mul_add<L: F32x16, const NORMAL: bool>(x: L, w: L, sum: L) -> L {
        if NORMAL { x.dot_normal_pairs(w, sum) } else { x.dot_pairs(w, sum) }
    }
}

/// A matrix `[n, k]` of bf16 in panels of pairs: `[n.div_ceil(16), k.div_ceil(2), 16, 2]`, padded
/// with zeros.
#[derive(Clone, Debug)]
pub struct Bf16Matrix {
    rows: Vec<PairRow>,
    /// [`least_exponent`] of the rows, for CPUs without the instruction.
    least: OnceLock<u32>,
    n: usize,
    k: usize,
}

impl Bf16Matrix {
    /// Packs a row-major matrix `rows [n, k]`.
    ///
    /// # Errors
    /// [`ModelError::Batch`] if there are not `n · k` numbers.
    pub fn pack(rows: &[bf16], n: usize, k: usize) -> Result<Bf16Matrix> {
        if rows.len() != n * k {
            let what = format!("{} numbers are not a [{n}, {k}] matrix", rows.len());
            return Err(ModelError::Batch(what));
        }
        let depth = pair_rows(k);
        let mut packed = vec![PairRow::default(); n.div_ceil(PANEL) * depth];
        let panels = packed.chunks_exact_mut(depth.max(1));
        for (rows, panel) in rows.chunks(PANEL * k.max(1)).zip(panels) {
            pack_panel(rows, k, panel);
        }
        Ok(Bf16Matrix { rows: packed, least: OnceLock::new(), n, k })
    }

    /// A matrix over panels that [`pack_panel`] filled, [`pair_rows`] each.
    pub(crate) fn from_panels(rows: Vec<PairRow>, n: usize, k: usize) -> Bf16Matrix {
        assert_eq!(rows.len(), n.div_ceil(PANEL) * pair_rows(k), "panels of a [{n}, {k}] matrix");
        Bf16Matrix { rows, least: OnceLock::new(), n, k }
    }

    /// Whether no sum by `x [_, k]` can be subnormal, on the way or at its end.
    ///
    /// Numbers are multiples of 2⁻⁷ times their power of two. So if the least powers of both sides
    /// multiply to 2⁻¹¹² or more, all products are multiples of 2⁻¹²⁶, and rounded sums of multiples
    /// are multiples: zero, or normal.
    pub(super) fn keeps_normal(&self, x: &[f32]) -> bool {
        /// Of the two exponents' sum: twice the bias, less 112.
        const LEAST: u32 = 2 * 127 - 112;
        let of_rows = || self.rows.iter().map(|row| least_exponent(&row.0)).min();
        let w = *self.least.get_or_init(|| of_rows().unwrap_or(NO_EXPONENT));
        let x = least_exponent(x);
        x.min(w) > 0 && x + w >= LEAST
    }

    /// The rows of all panels.
    pub(super) fn panels(&self) -> &[PairRow] {
        &self.rows
    }

    /// Output columns.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Input columns.
    pub fn k(&self) -> usize {
        self.k
    }

    /// The matrix's memory in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.rows)
    }
}

/// Rows of one panel of a matrix with `k` input columns.
pub(crate) fn pair_rows(k: usize) -> usize {
    k.div_ceil(PAIR)
}

/// Packs up to [`PANEL`] rows of `k` numbers into `panel`, which holds zeros.
pub(crate) fn pack_panel(rows: &[bf16], k: usize, panel: &mut [PairRow]) {
    for (channel, row) in rows.chunks_exact(k).enumerate() {
        for (to, columns) in panel.iter_mut().zip(row.chunks(PAIR)) {
            let second = columns.get(1).map_or(0, |x| x.to_bits());
            to.0[channel] = pair(columns[0].to_bits(), second);
        }
    }
}

/// A lane of two bf16.
#[inline(always)]
fn pair(first: u16, second: u16) -> f32 {
    f32::from_bits(u32::from(first) | u32::from(second) << 16)
}

/// More than the exponent field of any number.
const NO_EXPONENT: u32 = 511;

/// The least exponent field of the numbers in `pairs` that are not zero, 0 for a subnormal one;
/// [`NO_EXPONENT`] if there are none.
fn least_exponent(pairs: &[f32]) -> u32 {
    // A zero wraps to the largest number.
    let before = |half: u32| ((half & 0x7fff) as u16).wrapping_sub(1);
    let least = pairs
        .iter()
        .map(|pair| pair.to_bits())
        .fold(u16::MAX, |least, bits| least.min(before(bits)).min(before(bits >> 16)));
    u32::from(least.saturating_add(1)) >> 7
}

/// Rounds `x [m, k]` to pairs `[m, k.div_ceil(2)]`.
pub(super) fn round_rows(isa: Isa, x: &[f32], m: usize, k: usize) -> Vec<f32> {
    let depth = pair_rows(k);
    let mut pairs = vec![0.0; m * depth];
    if k == 0 {
        return pairs;
    }
    let round = |(x, pairs): (&[f32], &mut [f32])| isa.run(RoundRow { x, pairs });
    if x.len() < SMALLEST_SHARED {
        x.chunks_exact(k).zip(pairs.chunks_exact_mut(depth)).for_each(round);
    } else {
        x.par_chunks_exact(k).zip(pairs.par_chunks_exact_mut(depth)).for_each(round);
    }
    pairs
}

/// Rounds rows of `k` numbers to `pairs`, on this thread.
pub(super) fn round_into(isa: Isa, x: &[f32], k: usize, pairs: &mut [f32]) {
    let depth = pair_rows(k).max(1);
    for (x, pairs) in x.chunks_exact(k.max(1)).zip(pairs.chunks_exact_mut(depth)) {
        isa.run(RoundRow { x, pairs });
    }
}

/// Rounds one row to pairs; the last is filled up with zero.
struct RoundRow<'a> {
    x: &'a [f32],
    pairs: &'a mut [f32],
}

impl Kernel for RoundRow<'_> {
    type Output = ();
    const DOTS_PAIRS: bool = true;

    #[inline(always)]
    fn run<L: F32x16>(self) {
        let (both, rest) = {
            let (both, _) = self.x.as_chunks::<LANES>().0.as_chunks::<PAIR>();
            (both, &self.x[both.len() * PAIR * LANES..])
        };
        let (pairs, pairs_rest) = self.pairs.split_at_mut(both.len() * LANES);
        for ([first, second], pairs) in both.iter().zip(pairs.as_chunks_mut::<LANES>().0) {
            L::load(first).to_pairs(L::load(second)).store(pairs);
        }
        if !rest.is_empty() {
            let (first, second) = rest.split_at(rest.len().min(LANES));
            let last = L::load_part(first, 0.0).to_pairs(L::load_part(second, 0.0));
            last.store_part(pairs_rest);
        }
    }
}

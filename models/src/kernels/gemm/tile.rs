//! The register tile: some rows by some panels, walked along `k`.

#![expect(
    unsafe_code,
    reason = "tiles of different tasks write disjoint parts of one output at once"
)]
#![expect(
    clippy::inline_always,
    reason = "what is not inlined into a lane kernel is compiled without its instructions"
)]
#![expect(
    clippy::needless_range_loop,
    reason = "several arrays in step: an index says it once"
)]

use half::{bf16, f16};

use crate::kernels::lanes::{Isa, Kernel, Lanes};
use crate::kernels::threads::Shared;
use crate::packed::PANEL;

/// Most rows of any tile.
const MOST_ROWS: usize = 12;

/// A storage type of weights.
pub(super) trait Element: Copy + Default + Send + Sync {
    /// Whether [`Element::widen`] is more than a load.
    const NARROW: bool;
    /// One row of a panel as f32; exact.
    fn widen<L: Lanes>(row: &[Self; PANEL]) -> L;
}

impl Element for f32 {
    const NARROW: bool = false;

    #[inline(always)]
    fn widen<L: Lanes>(row: &[f32; PANEL]) -> L {
        L::load(row)
    }
}

impl Element for f16 {
    const NARROW: bool = true;

    #[inline(always)]
    fn widen<L: Lanes>(row: &[f16; PANEL]) -> L {
        L::load_f16(row)
    }
}

impl Element for bf16 {
    const NARROW: bool = true;

    #[inline(always)]
    fn widen<L: Lanes>(row: &[bf16; PANEL]) -> L {
        L::load_bf16(row)
    }
}

/// Where the sums of a tile begin, and what becomes of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass<'a> {
    /// Sums go on from what an earlier block of `k` left in `out`, instead of from zero.
    pub(super) resume: bool,
    /// What is done at the end.
    pub(super) finish: Finish<'a>,
}

/// What becomes of a tile's sums.
#[derive(Clone, Copy, Debug)]
pub(super) enum Finish<'a> {
    /// They are the output.
    Store,
    /// The output is the sum plus the bias `[n]`.
    Bias(&'a [f32]),
    /// `out = scale · sum + out`, rounded once.
    Add(f32),
}

/// The operands of one tile over one block of `k`.
pub(super) struct Strip<'a, E> {
    /// `[k, rows]`.
    pub(super) x: &'a [f32],
    /// The first panel's rows of this block, then whatever lies up to the next panel's.
    pub(super) w: &'a [[E; PANEL]],
    /// From a panel's row to the same row of the next panel.
    pub(super) panel_stride: usize,
    /// Length of the block.
    pub(super) k: usize,
    /// The first row of the output.
    pub(super) row: usize,
    /// The first column of the output.
    pub(super) column: usize,
    /// Columns of the output, without padding.
    pub(super) width: usize,
    /// Beginning and end of the sums.
    pub(super) pass: Pass<'a>,
    /// The whole output; this tile's part of it is in no other use.
    pub(super) out: &'a Shared<'a>,
}

/// The largest tile that these instructions hold in registers, for products with many rows.
pub(super) fn tile_rows(isa: Isa) -> usize {
    if isa.accumulators() >= 2 * MOST_ROWS {
        MOST_ROWS
    } else {
        6
    }
}

/// Panels that tiles of so many rows take at once: enough sums in flight to hide the latency of
/// the multiply-add, as far as there are registers.
pub(super) fn panels_at_once(isa: Isa, rows: usize) -> usize {
    [4, 2]
        .into_iter()
        .find(|panels| panels * rows <= isa.accumulators())
        .unwrap_or(1)
}

/// A tile of `MR` rows and `NP` panels.
struct Tile<'a, E, const MR: usize, const NP: usize>(Strip<'a, E>);

impl<E: Element, const MR: usize, const NP: usize> Kernel for Tile<'_, E, MR, NP> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        // Never called so; the condition is constant and spares the code of impossible tiles.
        if MR * NP > L::ACCUMULATORS {
            unreachable!("{MR} rows by {NP} panels do not fit the registers");
        }
        let strip = self.0;
        let x = &strip.x.as_chunks::<MR>().0[..strip.k];
        let k = x.len();
        let mut w: [&[[E; PANEL]]; NP] = [&[]; NP];
        for (panel, w) in w.iter_mut().enumerate() {
            *w = &strip.w[panel * strip.panel_stride..][..k];
        }
        let mut sums = if strip.pass.resume {
            begin::<L, E, MR, NP>(&strip)
        } else {
            [[L::splat(0.0); NP]; MR]
        };
        for i in 0..k {
            let mut row = [L::splat(0.0); NP];
            for panel in 0..NP {
                row[panel] = E::widen(&w[panel][i]);
            }
            for r in 0..MR {
                let x = L::splat(x[i][r]);
                for panel in 0..NP {
                    sums[r][panel] = x.mul_add(row[panel], sums[r][panel]);
                }
            }
        }
        end(&strip, &sums);
    }
}

/// Columns of a strip's panel, first and number.
#[inline(always)]
fn columns<E>(strip: &Strip<'_, E>, panel: usize) -> (usize, usize) {
    let left = panel * PANEL;
    (strip.column + left, (strip.width - left).min(PANEL))
}

#[inline(always)]
fn begin<L: Lanes, E, const MR: usize, const NP: usize>(strip: &Strip<'_, E>) -> [[L; NP]; MR] {
    let mut sums = [[L::splat(0.0); NP]; MR];
    for (r, sums) in sums.iter_mut().enumerate() {
        for (panel, sum) in sums.iter_mut().enumerate() {
            let (column, width) = columns(strip, panel);
            // SAFETY: the part belongs to this tile, and no other borrow of it lives.
            *sum = load(unsafe { strip.out.part(strip.row + r, column, width) });
        }
    }
    sums
}

#[inline(always)]
fn end<L: Lanes, E, const MR: usize, const NP: usize>(strip: &Strip<'_, E>, sums: &[[L; NP]; MR]) {
    for panel in 0..NP {
        let (column, width) = columns(strip, panel);
        let bias: L = match strip.pass.finish {
            Finish::Bias(bias) => load(&bias[column..column + width]),
            Finish::Store | Finish::Add(_) => L::splat(0.0),
        };
        for (r, sums) in sums.iter().enumerate() {
            // SAFETY: the part belongs to this tile, and no other borrow of it lives.
            let out = unsafe { strip.out.part(strip.row + r, column, width) };
            let sum = match strip.pass.finish {
                Finish::Store => sums[panel],
                Finish::Bias(_) => sums[panel].add(bias),
                Finish::Add(scale) => L::splat(scale).mul_add(sums[panel], load(out)),
            };
            store(sum, out);
        }
    }
}

/// Up to a panel's width of numbers.
#[inline(always)]
fn load<L: Lanes>(from: &[f32]) -> L {
    match from.try_into() {
        Ok(whole) => L::load(whole),
        Err(_) => L::load_part(from, 0.0),
    }
}

#[inline(always)]
fn store<L: Lanes>(sum: L, to: &mut [f32]) {
    if let Ok(whole) = <&mut [f32; PANEL]>::try_from(&mut *to) {
        sum.store(whole);
    } else {
        sum.store_part(to);
    }
}

/// Computes a tile of `rows` rows and `panels` panels.
pub(super) fn run<E: Element>(isa: Isa, rows: usize, panels: usize, strip: Strip<'_, E>) {
    macro_rules! tiles {
        ($($rows:literal)*) => {
            match (rows, panels) {
                $(
                    ($rows, 1) => isa.run(Tile::<E, $rows, 1>(strip)),
                    ($rows, 2) => isa.run(Tile::<E, $rows, 2>(strip)),
                    ($rows, 4) => isa.run(Tile::<E, $rows, 4>(strip)),
                )*
                _ => unreachable!("no tile of {rows} rows and {panels} panels"),
            }
        };
    }
    tiles!(1 2 3 4 5 6 7 8 9 10 11 12);
}

/// Widens rows of panels.
pub(super) struct Widen<'a, E> {
    /// The rows.
    pub(super) from: &'a [[E; PANEL]],
    /// As many rows.
    pub(super) to: &'a mut [[f32; PANEL]],
}

impl<E: Element> Kernel for Widen<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        for (from, to) in self.from.iter().zip(self.to) {
            E::widen::<L>(from).store(to);
        }
    }
}

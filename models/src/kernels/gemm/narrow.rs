//! Products with few output columns: rows of `x` are read where they are, because packing them
//! takes longer than multiplying them.

#![expect(
    unsafe_code,
    reason = "tiles of different tasks write disjoint parts of one output at once"
)]
#![expect(
    clippy::inline_always,
    reason = "a function that is not inlined into a lane kernel is compiled without its instructions"
)]
#![expect(clippy::needless_range_loop, reason = "several arrays in step: an index says it once")]

use std::ops::Range;

use super::tile::{self, PanelRow};
use crate::kernels::bf16_pairs::{Bf16Matrix, round_into};
use crate::kernels::panels::PANEL;
use crate::kernels::simd::{F32x16, Isa, Kernel};
use crate::kernels::threads::{Shared, Size, TileTask, Tiles, each, tasks};

/// Maximum panels of such a product.
const MOST_PANELS: usize = 4;

/// Whether packing `m` rows would take longer than multiplying them to `n` columns.
pub(in crate::kernels) fn is_narrow(m: usize, n: usize) -> bool {
    m > 1 && n <= MOST_PANELS * PANEL
}

/// Maximum rows of a tile: as many lines of `x`, which may lie a power of two apart, are in the
/// first cache at once.
const MOST_ROWS: usize = 8;

/// `out [m, n] = x [m, k] · Wᵀ` by rows of panels.
pub(super) struct NarrowProduct<'a, W> {
    pub(super) isa: Isa,
    pub(super) x: &'a [f32],
    /// `n.div_ceil(PANEL)` panels of `k` rows.
    pub(super) w: &'a [W],
    pub(super) n: usize,
    /// Lanes of a row.
    pub(super) k: usize,
    /// The matrix of `w` where a lane is a pair of bf16: rows of `x` are then rounded tile by tile, since
    /// reading them once takes as long as multiplying them.
    pub(super) pairs: Option<&'a Bf16Matrix>,
}

impl<W: PanelRow> NarrowProduct<'_, W> {
    /// Computes `out [m, n]`, which is not empty.
    pub(super) fn run(&self, out: &mut [f32]) {
        const MULTIPLY_ADDS_A_NANO: usize = 40;
        let m = out.len() / self.n;
        let panels = self.n.div_ceil(PANEL);
        assert_eq!(out.len(), m * self.n, "the output has complete rows");
        assert_eq!(self.x.len(), m * self.width(), "x has as many rows as the output");
        assert_eq!(self.w.len(), panels * self.k, "panels of a [{}, {}] matrix", self.n, self.k);
        let tiles = Tiles::new(m, tile::tile_rows::<W>(self.isa).min(MOST_ROWS));
        let nanos = self.w.len() * PANEL * m / MULTIPLY_ADDS_A_NANO;
        let size = Size { tiles: tiles.count(), panels, group: panels, nanos };
        let out = Shared::new(out, self.n);
        each(&tasks(size), |task| self.task(task, tiles, &out));
    }

    /// Numbers of a row of `x`.
    fn width(&self) -> usize {
        self.pairs.map_or(self.k, Bf16Matrix::k)
    }

    fn task(&self, task: &TileTask, tiles: Tiles, out: &Shared<'_>) {
        let width = self.width();
        let mut rounded = Vec::new();
        for tile in task.tiles.clone() {
            let rows = tiles.rows(tile);
            let mut x = &self.x[rows.start * width..rows.end * width];
            let mut normal = false;
            if let Some(matrix) = self.pairs {
                rounded.resize(rows.len() * self.k, 0.0);
                round_into(self.isa, x, width, &mut rounded);
                normal = !self.isa.has_bf16_dots() && matrix.keeps_normal(&rounded);
                x = &rounded;
            }
            for panel in task.panels.clone() {
                let column = panel * PANEL;
                self.tile(&NarrowStrip {
                    x,
                    w: &self.w[panel * self.k..][..self.k],
                    rows: rows.clone(),
                    columns: column..(column + PANEL).min(self.n),
                    normal,
                    out,
                });
            }
        }
    }

    fn tile(&self, strip: &NarrowStrip<'_, W>) {
        macro_rules! tiles {
            ($($rows:literal)*) => {
                match strip.rows.len() {
                    $($rows => self.isa.run(NarrowTile::<W, $rows>(strip)),)*
                    rows => unreachable!("no tile of {rows} rows"),
                }
            };
        }
        tiles!(1 2 3 4 5 6 7 8);
    }
}

/// The operands of one tile: some rows by one panel.
struct NarrowStrip<'a, W> {
    /// Row-major.
    x: &'a [f32],
    w: &'a [W],
    rows: Range<usize>,
    columns: Range<usize>,
    /// [`Product::normal`](super::Product::normal).
    normal: bool,
    /// The output; no other code uses this tile's part of it at the same time.
    out: &'a Shared<'a>,
}

struct NarrowTile<'a, W, const MR: usize>(&'a NarrowStrip<'a, W>);

impl<W: PanelRow, const MR: usize> Kernel for NarrowTile<'_, W, MR> {
    type Output = ();
    const DOTS_PAIRS: bool = W::PAIRS;

    #[inline(always)]
    fn run<L: F32x16>(self) {
        // Never taken; the constant condition removes the code of impossible tiles.
        if MR > L::ACCUMULATORS {
            unreachable!("{MR} rows do not fit the registers");
        }
        let strip = self.0;
        let sums =
            if W::PAIRS && strip.normal { self.sums::<L, true>() } else { self.sums::<L, false>() };
        // SAFETY: the part belongs to this tile, which takes it once.
        let mut out = unsafe { strip.out.part(strip.rows.clone(), strip.columns.clone()) };
        for r in 0..MR {
            sums[r].store_part(out.row(r));
        }
    }
}

impl<W: PanelRow, const MR: usize> NarrowTile<'_, W, MR> {
    #[inline(always)]
    fn sums<L: F32x16, const NORMAL: bool>(&self) -> [L; MR] {
        let strip = self.0;
        let (w, k) = (strip.w, strip.w.len());
        let mut x: [&[f32]; MR] = [&[]; MR];
        for (r, x) in x.iter_mut().enumerate() {
            *x = &strip.x[r * k..][..k];
        }
        let mut sums = [L::splat(0.0); MR];
        for i in 0..k {
            let row: L = w[i].load();
            for r in 0..MR {
                sums[r] = W::mul_add::<L, NORMAL>(L::splat(x[r][i]), row, sums[r]);
            }
        }
        sums
    }
}

//! Low-rank updates of a product's output, tile by tile: the outputs of a tile are still in the
//! first cache when its updates are added.

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

use super::tile::{self, MOST_ROWS, PanelRow};
use crate::kernels::bf16_pairs::{Bf16Matrix, PairRow, pair_rows, round_rows};
use crate::kernels::panels::{PANEL, PanelData, Panels};
use crate::kernels::simd::{F32x16, Isa, Kernel};
use crate::kernels::threads::{Shared, Size, TileTask, Tiles, each, tasks};

/// `y += scale · inner · Bᵀ` on some rows of an output `y [m, n]`.
///
/// Each value is one chain of multiply-adds along the rank, or of pairs of them
/// ([`F32x16::dot_pairs`]), from zero, then one fused multiply-add with the scale.
#[derive(Clone, Debug)]
pub struct LowRank<'a> {
    rows: Range<usize>,
    /// `[rows, lanes of the factor]`.
    inner: Vec<f32>,
    b: SecondFactor<'a>,
    scale: f32,
}

/// The second factor of an update, `[n, r]`.
#[derive(Clone, Copy, Debug)]
pub enum SecondFactor<'a> {
    /// Numbers of a float storage, multiplied in f32.
    Panels(Panels<'a>),
    /// Pairs of bf16: what is multiplied with them is rounded to bf16.
    Pairs(&'a Bf16Matrix),
}

impl SecondFactor<'_> {
    /// Output columns.
    fn n(&self) -> usize {
        match self {
            SecondFactor::Panels(b) => b.n,
            SecondFactor::Pairs(b) => b.n(),
        }
    }

    /// The rank.
    fn rank(&self) -> usize {
        match self {
            SecondFactor::Panels(b) => b.k,
            SecondFactor::Pairs(b) => b.k(),
        }
    }

    /// Rows of a panel, and numbers of a row that is multiplied with it.
    fn depth(&self) -> usize {
        match self {
            SecondFactor::Panels(b) => b.k,
            SecondFactor::Pairs(b) => pair_rows(b.k()),
        }
    }

    /// Rows of a tile at most.
    fn tile_rows(&self, isa: Isa) -> usize {
        match self {
            SecondFactor::Panels(_) => tile::tile_rows::<[f32; PANEL]>(isa),
            SecondFactor::Pairs(_) => tile::tile_rows::<PairRow>(isa),
        }
    }
}

impl<'a> LowRank<'a> {
    /// The update of the rows `rows` of the output with `inner [rows, r]`.
    pub fn new(
        isa: Isa,
        rows: Range<usize>,
        inner: Vec<f32>,
        b: SecondFactor<'a>,
        scale: f32,
    ) -> LowRank<'a> {
        assert_eq!(inner.len(), rows.len() * b.rank(), "an inner row for every row");
        let inner = match b {
            SecondFactor::Panels(_) => inner,
            SecondFactor::Pairs(b) => round_rows(isa, &inner, rows.len(), b.k()),
        };
        LowRank { rows, inner, b, scale }
    }
}

/// What a product adds to its sums: first the bias, then the updates.
#[derive(Clone, Copy, Debug, Default)]
pub struct Addends<'a> {
    /// `[n]`.
    pub bias: Option<&'a [f32]>,
    /// Updates of rows, in ascending order and without overlap.
    pub updates: &'a [LowRank<'a>],
}

impl<'a> Addends<'a> {
    /// A bias `[n]`, if there is one, and no updates.
    pub fn bias(bias: Option<&'a [f32]>) -> Addends<'a> {
        Addends { bias, updates: &[] }
    }
}

/// Adds updates, in ascending order of rows and without overlap, to `out [m, n]`.
pub fn add_updates(updates: &[LowRank<'_>], n: usize, out: &mut [f32]) {
    /// Panels whose numbers stay in the first cache while the tiles pass.
    const CHUNK_PANELS: usize = 8;
    const MULTIPLY_ADDS_A_NANO: usize = 40;
    if n == 0 || out.is_empty() {
        return;
    }
    let isa = Isa::best();
    let tiles = Tiles::new(out.len() / n, tile::tile_rows::<[f32; PANEL]>(isa));
    let cut = TileUpdates::new(isa, updates, 0, tiles);
    let size = Size {
        tiles: tiles.count(),
        panels: n.div_ceil(PANEL),
        group: CHUNK_PANELS,
        nanos: cut.inner.len() * n / MULTIPLY_ADDS_A_NANO,
    };
    let out = Shared::new(out, n);
    each(&tasks(size), |TileTask { tiles, panels }| {
        for first in panels.clone().step_by(CHUNK_PANELS) {
            let chunk = first..(first + CHUNK_PANELS).min(panels.end);
            cut.add(tiles.clone(), &chunk, &out);
        }
    });
}

/// The updates of a slab of rows, cut into tiles as the slab is.
pub(in crate::kernels) struct TileUpdates<'a> {
    isa: Isa,
    /// The inner rows of each piece, `[lanes, rows]`.
    inner: Vec<f32>,
    pieces: Vec<UpdatedRows<'a>>,
    /// The first piece of each tile, and the number of pieces; empty without updates.
    first: Vec<usize>,
}

/// Rows of one tile that share factors.
struct UpdatedRows<'a> {
    /// Rows of the slab.
    rows: Range<usize>,
    /// The beginning of the piece's inner rows.
    inner: usize,
    b: SecondFactor<'a>,
    scale: f32,
    /// [`Product::normal`](super::Product::normal).
    normal: bool,
    /// Panels that the registers hold the sums of.
    most_panels: usize,
}

impl<'a> TileUpdates<'a> {
    /// Cuts the updates of the slab whose first row is `first_row` of the output.
    pub(in crate::kernels) fn new(
        isa: Isa,
        updates: &[LowRank<'a>],
        first_row: usize,
        tiles: Tiles,
    ) -> Self {
        let mut all = TileUpdates { isa, inner: Vec::new(), pieces: Vec::new(), first: Vec::new() };
        if updates.is_empty() {
            return all;
        }
        let is_normal = |update: &LowRank<'_>| match update.b {
            SecondFactor::Pairs(b) => !isa.has_bf16_dots() && b.keeps_normal(&update.inner),
            SecondFactor::Panels(_) => false,
        };
        let normal: Vec<bool> = updates.iter().map(is_normal).collect();
        for tile in 0..tiles.count() {
            all.first.push(all.pieces.len());
            let rows = tiles.rows(tile);
            let rows = first_row + rows.start..first_row + rows.end;
            let before = updates.partition_point(|update| update.rows.end <= rows.start);
            for (update, normal) in updates.iter().zip(&normal).skip(before) {
                if update.rows.start >= rows.end {
                    break;
                }
                let part = update.rows.start.max(rows.start)..update.rows.end.min(rows.end);
                all.push((update, *normal), part, first_row);
            }
        }
        all.first.push(all.pieces.len());
        all
    }

    /// Adds a part of an update, in as many pieces as registers require.
    fn push(
        &mut self,
        (update, normal): (&LowRank<'a>, bool),
        part: Range<usize>,
        first_row: usize,
    ) {
        let depth = update.b.depth();
        let runs = Tiles::new(part.len(), update.b.tile_rows(self.isa));
        for run in 0..runs.count() {
            let run = runs.rows(run);
            let rows = part.start + run.start..part.start + run.end;
            let from = (rows.start - update.rows.start) * depth;
            let inner = self.inner.len();
            for i in 0..depth {
                let column = update.inner[from + i..].iter().step_by(depth);
                self.inner.extend(column.take(rows.len()));
            }
            self.pieces.push(UpdatedRows {
                most_panels: tile::panels_at_once(self.isa, rows.len()),
                rows: rows.start - first_row..rows.end - first_row,
                inner,
                b: update.b,
                scale: update.scale,
                normal,
            });
        }
    }

    /// Adds the updates of tiles in some panels to the product's values in `out`, of which no other
    /// code uses this part at the same time.
    pub(in crate::kernels) fn add(
        &self,
        tiles: Range<usize>,
        panels: &Range<usize>,
        out: &Shared<'_>,
    ) {
        if self.first.is_empty() {
            return;
        }
        for piece in &self.pieces[self.first[tiles.start]..self.first[tiles.end]] {
            let panels = panels.clone();
            match piece.b {
                SecondFactor::Pairs(b) => self.add_piece(piece, b.panels(), panels, out),
                SecondFactor::Panels(b) => match b.data {
                    PanelData::F32(w) => {
                        self.add_piece(piece, w.as_chunks::<PANEL>().0, panels, out);
                    }
                    PanelData::F16(w) => {
                        self.add_piece(piece, w.as_chunks::<PANEL>().0, panels, out);
                    }
                    PanelData::Bf16(w) => {
                        self.add_piece(piece, w.as_chunks::<PANEL>().0, panels, out);
                    }
                },
            }
        }
    }

    fn add_piece<W: PanelRow>(
        &self,
        piece: &UpdatedRows<'_>,
        w: &[W],
        panels: Range<usize>,
        out: &Shared<'_>,
    ) {
        let (depth, n) = (piece.b.depth(), piece.b.n());
        let strip = |first: usize, columns: usize| UpdateStrip {
            x: &self.inner[piece.inner..][..depth * piece.rows.len()],
            w: &w[first * depth..],
            depth,
            scale: piece.scale,
            normal: piece.normal,
            rows: piece.rows.clone(),
            columns: first * PANEL..(first * PANEL + columns),
            out,
        };
        let full = panels.end.min(n / PANEL);
        let mut first = panels.start;
        while first < full {
            // Full groups, or the largest power of two that the remaining panels fill.
            let count = piece.most_panels.min(1 << (full - first).ilog2());
            let groups = (full - first) / count;
            strip(first, groups * count * PANEL).full_panels(self.isa, count);
            first += groups * count;
        }
        if first < panels.end {
            strip(first, n - first * PANEL).ragged(self.isa);
        }
    }
}

/// The operands of an update of one tile.
struct UpdateStrip<'a, W> {
    /// `[depth, rows]`.
    x: &'a [f32],
    /// Panels of `depth` rows.
    w: &'a [W],
    depth: usize,
    scale: f32,
    /// [`Product::normal`](super::Product::normal).
    normal: bool,
    rows: Range<usize>,
    columns: Range<usize>,
    /// The output; no other code uses this tile's part of it at the same time.
    out: &'a Shared<'a>,
}

impl<W: PanelRow> UpdateStrip<'_, W> {
    /// One panel that is not full: computed on a copy with full panels.
    #[cold]
    fn ragged(&self, isa: Isa) {
        let mut copy = [0.0; MOST_ROWS * PANEL];
        let copy = &mut copy[..self.rows.len() * PANEL];
        // SAFETY: the part belongs to this tile, which takes it once at a time: here, until the end.
        let mut part = unsafe { self.out.part(self.rows.clone(), self.columns.clone()) };
        for (r, copy) in copy.chunks_exact_mut(PANEL).enumerate() {
            copy[..self.columns.len()].copy_from_slice(part.row(r));
        }
        let (rows, out) = (0..self.rows.len(), &Shared::new(copy, PANEL));
        UpdateStrip { rows, columns: 0..PANEL, out, ..*self }.full_panels(isa, 1);
        for (r, copy) in copy.chunks_exact(PANEL).enumerate() {
            part.row(r).copy_from_slice(&copy[..self.columns.len()]);
        }
    }

    /// All columns, this number of panels at a time.
    fn full_panels(&self, isa: Isa, panels: usize) {
        macro_rules! tiles {
            ($($rows:literal)*) => {
                match (self.rows.len(), panels) {
                    $(
                        ($rows, 1) => isa.run(UpdateTile::<W, $rows, 1>(self)),
                        ($rows, 2) => isa.run(UpdateTile::<W, $rows, 2>(self)),
                        ($rows, 4) => isa.run(UpdateTile::<W, $rows, 4>(self)),
                    )*
                    (rows, panels) => unreachable!("no tile of {rows} rows and {panels} panels"),
                }
            };
        }
        tiles!(1 2 3 4 5 6 7 8 9 10 11 12);
    }
}

/// Updates of `MR` rows, `NP` panels at a time.
struct UpdateTile<'a, W, const MR: usize, const NP: usize>(&'a UpdateStrip<'a, W>);

impl<W: PanelRow, const MR: usize, const NP: usize> Kernel for UpdateTile<'_, W, MR, NP> {
    type Output = ();
    const DOTS_PAIRS: bool = W::PAIRS;

    #[inline(always)]
    fn run<L: F32x16>(self) {
        // Never taken; the constant condition removes the code of impossible tiles.
        if MR * NP > L::ACCUMULATORS {
            unreachable!("{MR} rows by {NP} panels do not fit the registers");
        }
        let strip = self.0;
        for group in 0..strip.columns.len() / (NP * PANEL) {
            let sums = if W::PAIRS && strip.normal {
                self.sums::<L, true>(group)
            } else {
                self.sums::<L, false>(group)
            };
            self.end(group, &sums);
        }
    }
}

impl<W: PanelRow, const MR: usize, const NP: usize> UpdateTile<'_, W, MR, NP> {
    #[inline(always)]
    fn sums<L: F32x16, const NORMAL: bool>(&self, group: usize) -> [[L; NP]; MR] {
        let strip = self.0;
        let x = strip.x.as_chunks::<MR>().0;
        let mut w: [&[W]; NP] = [&[]; NP];
        for panel in 0..NP {
            w[panel] = &strip.w[(group * NP + panel) * strip.depth..][..x.len()];
        }
        let mut soon = w;
        for panel in 0..NP {
            let after = (group + 1) * NP + panel;
            if let Some(rows) = strip.w.get(after * strip.depth..(after + 1) * strip.depth) {
                soon[panel] = &rows[..x.len()];
            }
        }
        let mut sums = [[L::splat(0.0); NP]; MR];
        for i in 0..x.len() {
            let mut row = [L::splat(0.0); NP];
            for panel in 0..NP {
                row[panel] = w[panel][i].load();
                L::prefetch_line(&soon[panel][i]);
            }
            for r in 0..MR {
                let x = L::splat(x[i][r]);
                for panel in 0..NP {
                    sums[r][panel] = W::mul_add::<L, NORMAL>(x, row[panel], sums[r][panel]);
                }
            }
        }
        sums
    }

    #[inline(always)]
    fn end<L: F32x16>(&self, group: usize, sums: &[[L; NP]; MR]) {
        let strip = self.0;
        let (row, column) = (strip.rows.start, strip.columns.start + group * NP * PANEL);
        // SAFETY: the part belongs to this tile, which takes it once at a time.
        let mut out = unsafe { strip.out.part(row..row + MR, column..column + NP * PANEL) };
        let scale = L::splat(strip.scale);
        for r in 0..MR {
            let row = out.row(r).as_chunks_mut::<PANEL>().0;
            for panel in 0..NP {
                let sum = scale.mul_add(sums[r][panel], L::load(&row[panel]));
                sum.store(&mut row[panel]);
            }
        }
    }
}

//! The loops around the tile: slabs of rows, tasks, blocks of `k`, groups of panels.

use std::ops::Range;

use super::narrow::{self, NarrowProduct};
use super::rows::PackedRows;
use super::tile::{self, Finish, PanelRow, Pass, Strip, Widen};
use super::updates::{LowRank, TileUpdates};
use crate::kernels::panels::PANEL;
use crate::kernels::simd::Isa;
use crate::kernels::threads::{Shared, Size, TileTask, Tiles, each, tasks};

/// Rows of `x` packed at once.
pub(in crate::kernels) const SLAB_ROWS: usize = 256;

/// Panels whose part of the output stays in the second cache while the blocks of `k` pass.
const CHUNK_PANELS: usize = 8;

/// Up to this number of tiles of rows, a panel is read from storage along all of `k` at once.
const FEW_TILES: usize = 2;

/// Columns of `x` in one block: a tile's part of the block and that of its panels stay in the
/// first two caches while the other tiles pass over them.
const BLOCK: usize = 512;

/// One product, ready to run.
pub(in crate::kernels) struct Product<'a, W> {
    isa: Isa,
    x: &'a [f32],
    w: &'a [W],
    n: usize,
    k: usize,
    finish: Finish<'a>,
    normal: bool,
    updates: &'a [LowRank<'a>],
    /// The row of the updates' output that is this one's first.
    first_row: usize,
}

impl<'a, W: PanelRow> Product<'a, W> {
    /// `x [m, k]` by rows of panels of a matrix `[n, k]`, where `k` counts lanes of a row.
    pub(in crate::kernels) fn new(
        isa: Isa,
        x: &'a [f32],
        w: &'a [W],
        [n, k]: [usize; 2],
        finish: Finish<'a>,
    ) -> Self {
        assert_eq!(w.len(), n.div_ceil(PANEL) * k, "panels of a [{n}, {k}] matrix");
        Product { isa, x, w, n, k, finish, normal: false, updates: &[], first_row: 0 }
    }

    /// Whether no operand and no sum on the way is subnormal, as the caller knows; of use where a lane
    /// is a pair of bf16.
    pub(in crate::kernels) fn normal(self, normal: bool) -> Self {
        Product { normal, ..self }
    }

    /// Adds updates to the output, whose first row is `first_row` of theirs.
    pub(in crate::kernels) fn updates(self, updates: &'a [LowRank<'a>], first_row: usize) -> Self {
        Product { updates, first_row, ..self }
    }

    /// Computes `out [m, n]`.
    pub(in crate::kernels) fn run(&self, out: &mut [f32]) {
        let m = out.len() / self.n;
        assert_eq!(out.len(), m * self.n, "the output has complete rows");
        assert_eq!(self.x.len(), m * self.k, "x has as many rows as the output");
        let is_plain = self.updates.is_empty() && matches!(self.finish, Finish::Store);
        if !W::PAIRS && is_plain && narrow::is_narrow(m, self.n) {
            let &Product { isa, x, w, n, k, .. } = self;
            NarrowProduct { isa, x, w, n, k, pairs: None }.run(out);
            return;
        }
        let slabs = Tiles::new(m, SLAB_ROWS);
        for slab in 0..slabs.count() {
            let rows = slabs.rows(slab);
            let x = &self.x[rows.start * self.k..rows.end * self.k];
            self.slab(x, rows.start, &mut out[rows.start * self.n..rows.end * self.n]);
        }
    }

    fn slab(&self, x: &[f32], first_row: usize, out: &mut [f32]) {
        let m = out.len() / self.n;
        let tiles = Tiles::new(m, tile::tile_rows::<W>(self.isa));
        let blocks = self.blocks(tiles);
        let rows = PackedRows::new(x, m, &blocks, tiles);
        let group = tile::panels_at_once(self.isa, tiles.rows(tiles.count() - 1).len());
        let size = Size {
            tiles: tiles.count(),
            panels: self.n.div_ceil(PANEL),
            group,
            nanos: self.nanos(m),
        };
        let first_row = self.first_row + first_row;
        let slab = Slab {
            product: self,
            out: Shared::new(out, self.n),
            rows,
            tiles,
            blocks,
            group,
            updates: TileUpdates::new(self.isa, self.updates, first_row, tiles),
        };
        each(&tasks(size), |task| slab.task(task));
    }

    /// Blocks of `k`, at least one. A few tiles gain more from reading a panel in one go than from
    /// finding it in the first cache.
    fn blocks(&self, tiles: Tiles) -> Vec<Range<usize>> {
        let longest = if tiles.count() <= FEW_TILES { self.k.max(1) } else { BLOCK };
        let blocks = Tiles::new(self.k, longest);
        // A product over nothing still has an output: one block, which is empty.
        let count = blocks.count().max(1);
        (0..count).map(|block| blocks.rows(block)).collect()
    }

    /// Estimated time on one core: of the arithmetic or of streaming the weights, whichever is
    /// longer.
    fn nanos(&self, m: usize) -> usize {
        const MULTIPLY_ADDS_A_NANO: usize = 50;
        const BYTES_A_NANO: usize = 20;
        let elements = self.w.len() * PANEL;
        (elements * m / MULTIPLY_ADDS_A_NANO).max(size_of_val(self.w) / BYTES_A_NANO)
    }
}

/// A few hundred rows of a product, packed.
struct Slab<'a, 'p, W> {
    product: &'a Product<'p, W>,
    out: Shared<'a>,
    rows: PackedRows<'a>,
    tiles: Tiles,
    blocks: Vec<Range<usize>>,
    group: usize,
    updates: TileUpdates<'p>,
}

impl<R: PanelRow> Slab<'_, '_, R> {
    fn task(&self, task: &TileTask) {
        let many = self.tiles.count() > FEW_TILES;
        let longest = self.blocks.iter().map(Range::len).max().unwrap_or(0);
        let length = if many && R::NARROW { longest * self.group } else { 0 };
        let mut scratch = vec![0.0; (length + 1) * PANEL];
        let wide = aligned(&mut scratch, length);
        let mut panels = task.panels.clone();
        while !panels.is_empty() {
            let chunk = panels.start..(panels.start + CHUNK_PANELS).min(panels.end);
            for at in 0..self.blocks.len() {
                self.chunk(task.tiles.clone(), chunk.clone(), at, wide);
            }
            panels.start = chunk.end;
        }
    }

    /// Tiles of some panels over one block.
    fn chunk(
        &self,
        tiles: Range<usize>,
        mut panels: Range<usize>,
        at: usize,
        wide: &mut [[f32; PANEL]],
    ) {
        let last = at + 1 == self.blocks.len();
        let pass =
            Pass { resume: at > 0, finish: if last { self.product.finish } else { Finish::Store } };
        while !panels.is_empty() {
            // A full group, or the largest power of two that the remaining panels fill.
            let count = self.group.min(1 << panels.len().ilog2());
            let group = Group {
                tiles: tiles.clone(),
                panels: panels.start..panels.start + count,
                block: self.blocks[at].clone(),
                pass,
                last,
            };
            self.group(&group, wide);
            panels.start += count;
        }
    }

    /// Widens the panels if many tiles read them, and computes the tiles.
    fn group(&self, group: &Group<'_>, wide: &mut [[f32; PANEL]]) {
        let (k, length) = (self.product.k, group.block.len());
        let w = &self.product.w[group.panels.start * k + group.block.start..];
        if wide.is_empty() {
            self.tiles(group, w, k);
        } else {
            for (panel, to) in wide.chunks_exact_mut(length).take(group.panels.len()).enumerate() {
                let from = &w[panel * k..][..length];
                self.product.isa.run(Widen { from, to });
            }
            self.tiles(group, wide, length);
        }
    }

    /// Computes all tiles of a group; `w` starts with its panels' rows, `panel_stride` apart.
    fn tiles<W: PanelRow>(&self, group: &Group<'_>, w: &[W], panel_stride: usize) {
        let column = group.panels.start * PANEL;
        for tile in group.tiles.clone() {
            let strip = Strip {
                x: self.rows.tile(&group.block, tile),
                w,
                panel_stride,
                k: group.block.len(),
                rows: self.tiles.rows(tile),
                panels: group.panels.len(),
                column,
                width: (group.panels.len() * PANEL).min(self.product.n - column),
                normal: self.product.normal,
                pass: group.pass,
                out: &self.out,
            };
            tile::run_tile(self.product.isa, &strip);
        }
        if group.last {
            self.updates.add(group.tiles.clone(), &group.panels, &self.out);
        }
    }
}

/// Panels that tiles take at once, over one block of `k`.
struct Group<'a> {
    tiles: Range<usize>,
    panels: Range<usize>,
    block: Range<usize>,
    pass: Pass<'a>,
    /// Whether no other block follows.
    last: bool,
}

/// Rows aligned to cache lines, within a buffer that is one row longer.
fn aligned(scratch: &mut [f32], rows: usize) -> &mut [[f32; PANEL]] {
    let start = scratch.as_ptr().align_offset(PANEL * size_of::<f32>());
    &mut scratch[start.min(PANEL)..].as_chunks_mut().0[..rows]
}

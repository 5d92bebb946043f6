//! Rows of queries: the statistics of their softmax, and dQ.

#![expect(
    unsafe_code,
    reason = "tasks write disjoint parts of one output at once"
)]

use std::ops::Range;

use super::{Pass, Room, Task, slopes, tiles_of};
use crate::kernels::attention::forward::scores_of;
use crate::kernels::attention::tasks::even_runs;
use crate::kernels::attention::tile::{
    MAX_ROWS, Summands, TILE_BLOCKS, TileRow, blocks_of, dots_within, most_rows, spans_in,
};
use crate::kernels::exp::exp;
use crate::kernels::lanes::{Kernel, Lanes};
use crate::kernels::threads::Shared;
use crate::kv::BLOCK;

/// Some tasks, whose blocks are of query rows.
pub(super) struct ByQuery<'a> {
    pub(super) pass: &'a Pass<'a>,
    pub(super) tasks: &'a [Task],
    /// [`Statistics`](super::Statistics), a row for each block and key head.
    pub(super) max: &'a Shared<'a>,
    pub(super) inverse: &'a Shared<'a>,
    /// `[T, heads · head_dim]`.
    pub(super) grad_q: &'a Shared<'a>,
}

/// Some rows of one block, and the keys that each sees.
struct Rows<'a> {
    task: &'a Task,
    /// The block, counted in the sequence.
    block: usize,
    /// Rows of it.
    run: Range<usize>,
    whole: &'a [Range<usize>],
}

impl Kernel for ByQuery<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        let (g, layout) = (&self.pass.geometry, &self.pass.queries);
        let (mut room, mut sums) = (Room::default(), Vec::new());
        for task in self.tasks {
            for block in task.blocks.clone() {
                for run in even_runs(layout.rows_in(task.sequence, block), most_rows::<L>()) {
                    let mut whole = [const { 0..0 }; MAX_ROWS];
                    for (row, whole) in run.clone().zip(&mut whole) {
                        let position = (block * BLOCK + row) / g.group();
                        *whole = g.first_key(position)..position + 1;
                    }
                    let rows = Rows {
                        task,
                        block,
                        whole: &whole[..run.len()],
                        run,
                    };
                    self.rows::<L>(&rows, &mut room, &mut sums);
                    self.store(&rows, &sums);
                }
            }
        }
    }
}

impl ByQuery<'_> {
    /// The rows of dQ, and the statistics.
    #[inline(always)]
    fn rows<L: Lanes>(&self, rows: &Rows<'_>, room: &mut Room, sums: &mut Vec<f32>) {
        let pass = self.pass;
        let n = rows.whole.len();
        let (scores, grads) = room.of(tiles_of(rows.whole).len() * n);
        self.products::<L>(rows, [&pass.query_panels, &pass.key_panels], scores);
        let (max, inverse) = self.softmax::<L>(rows, scores);
        self.products::<L>(rows, [&pass.grad_panels, &pass.value_panels], grads);
        let of = |strip: &[f32], row: usize| strip[rows.run.start + row];
        let delta = pass.queries(&pass.delta, rows.task).block(rows.block);
        sums.clear();
        sums.resize(n * Summands::stride(pass.geometry.head_dim), 0.0);
        let tiles = scores.chunks_exact_mut(n).zip(grads.chunks_exact(n));
        for (tile, (scores, grads)) in tiles_of(rows.whole).zip(tiles) {
            let spans = &spans_in(tile, rows.whole)[..n];
            for (row, (scores, grads)) in scores.iter_mut().zip(grads).enumerate() {
                let of_row = [max[row], inverse[row], of(delta, row)].map(L::splat);
                for block in blocks_of(spans) {
                    let (score, grad) = (scores.block::<L>(block), grads.block(block));
                    let (_, slope) = slopes(score, grad, of_row, &pass.geometry);
                    scores.set_block(block, slope);
                }
            }
            Summands {
                strip: pass.keys(&pass.key_rows, rows.task),
                tile,
                dim: pass.geometry.head_dim,
            }
            .add::<L>(scores, spans, sums);
        }
    }

    /// Products of the rows, which are in the first panels, with the second panels, tile by tile.
    #[inline(always)]
    fn products<L: Lanes>(&self, rows: &Rows<'_>, panels: [&[f32]; 2], to: &mut [TileRow]) {
        let left = self.pass.queries(panels[0], rows.task).block(rows.block);
        let right = self.pass.keys(panels[1], rows.task);
        let n = rows.whole.len();
        for (tile, to) in tiles_of(rows.whole).zip(to.chunks_exact_mut(n)) {
            for block in blocks_of(&spans_in(tile, rows.whole)[..n]) {
                let panel = right.block(tile * TILE_BLOCKS + block);
                dots_within::<L>((left, rows.run.start), panel, block, to);
            }
        }
    }

    /// Products to scores; each row's maximum and inverse sum of exponentials.
    #[inline(always)]
    fn softmax<L: Lanes>(
        &self,
        rows: &Rows<'_>,
        scores: &mut [TileRow],
    ) -> ([f32; MAX_ROWS], [f32; MAX_ROWS]) {
        let n = rows.whole.len();
        let mut max = [f32::NEG_INFINITY; MAX_ROWS];
        for (tile, scores) in tiles_of(rows.whole).zip(scores.chunks_exact_mut(n)) {
            let spans = &spans_in(tile, rows.whole)[..n];
            let blocks = blocks_of(spans);
            for ((scores, span), max) in scores.iter_mut().zip(spans).zip(&mut max) {
                let largest = scores_of::<L>(scores, (span, &blocks), &self.pass.geometry);
                *max = if largest > *max { largest } else { *max };
            }
        }
        let mut sums = [L::splat(0.0); MAX_ROWS];
        for (tile, scores) in tiles_of(rows.whole).zip(scores.chunks_exact(n)) {
            let blocks = blocks_of(&spans_in(tile, rows.whole)[..n]);
            for ((scores, max), sum) in scores.iter().zip(&max).zip(&mut sums) {
                for block in blocks.clone() {
                    *sum = sum.add(exp(scores.block::<L>(block).sub(L::splat(*max))));
                }
            }
        }
        let mut inverse = [0.0; MAX_ROWS];
        for (inverse, sum) in inverse.iter_mut().zip(sums).take(n) {
            *inverse = 1.0 / sum.sum();
        }
        self.keep(rows, (&max, &inverse));
        (max, inverse)
    }

    fn keep(&self, rows: &Rows<'_>, (max, inverse): (&[f32; MAX_ROWS], &[f32; MAX_ROWS])) {
        let task = rows.task;
        let layout = &self.pass.queries;
        let place = layout.place(task.sequence, rows.block, task.kv_head);
        for (of, values) in [(self.max, max), (self.inverse, inverse)] {
            // SAFETY: a block and key head are those of one task, which runs on one thread.
            let mut block = unsafe { of.part(place..place + 1, 0..BLOCK) };
            block.row(0)[rows.run.clone()].copy_from_slice(&values[..rows.run.len()]);
        }
    }

    /// Puts rows of dQ where they belong.
    #[inline(always)]
    fn store(&self, rows: &Rows<'_>, sums: &[f32]) {
        let (pass, task) = (self.pass, rows.task);
        let (group, dim) = (pass.geometry.group(), pass.geometry.head_dim);
        for (row, sums) in (rows.run.clone()).zip(sums.chunks_exact(Summands::stride(dim))) {
            let row = rows.block * BLOCK + row;
            let (at, head) = (
                pass.first_row(task) + row / group,
                task.kv_head * group + row % group,
            );
            // SAFETY: a row and head are of one block, and that of one task.
            let mut out = unsafe { self.grad_q.part(at..at + 1, head * dim..(head + 1) * dim) };
            out.row(0).copy_from_slice(&sums[..dim]);
        }
    }
}

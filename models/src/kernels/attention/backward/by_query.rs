//! Rows of queries: the statistics of their softmax, and dQ.

#![expect(unsafe_code, reason = "tasks write disjoint parts of one output at once")]

use super::pass::{BackwardTask, BlockRows, Pass, ScoreTile, Scratch, slopes, tiles_of};
use crate::kernels::attention::forward::scores_of;
use crate::kernels::attention::row::TILE_BLOCKS;
use crate::kernels::attention::tasks::even_runs;
use crate::kernels::attention::tile::{MAX_ROWS, Summands, dots_within, most_rows, sums_stride};
use crate::kernels::exp::exp;
use crate::kernels::kv_block::BLOCK;
use crate::kernels::simd::{F32x16, Kernel};
use crate::kernels::threads::Shared;

/// Tasks whose blocks are of query rows.
pub(super) struct ByQuery<'a> {
    pub(super) pass: &'a Pass<'a>,
    pub(super) tasks: &'a [BackwardTask],
    /// [`Statistics`](super::pass::Statistics), a row for each block and key head.
    pub(super) max: &'a Shared<'a>,
    pub(super) inverse: &'a Shared<'a>,
    /// `[Tq, heads · head_dim]`.
    pub(super) grad_q: &'a Shared<'a>,
}

impl Kernel for ByQuery<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: F32x16>(self) {
        let (g, layout) = (&self.pass.geometry, &self.pass.queries);
        let (mut scratch, mut tiles, mut sums) = (Scratch::default(), Vec::new(), Vec::new());
        for task in self.tasks {
            let unasked = self.pass.unasked(task);
            for block in task.blocks.clone() {
                for run in even_runs(layout.rows_in(task.sequence, block), most_rows::<L>()) {
                    let mut spans = [const { 0..0 }; MAX_ROWS];
                    for (row, spans) in run.clone().zip(&mut spans) {
                        let position = unasked + (block * BLOCK + row) / g.group();
                        *spans = g.first_key(position)..position + 1;
                    }
                    let rows = BlockRows { task, block, run, spans };
                    tiles.clear();
                    for tile in tiles_of(rows.spans()) {
                        tiles.push(ScoreTile::new(tile, rows.spans()));
                    }
                    self.rows::<L>(&rows, &tiles, &mut scratch, &mut sums);
                    self.store(&rows, &sums);
                }
            }
        }
    }
}

impl ByQuery<'_> {
    /// The rows of dQ, and the statistics.
    #[inline(always)]
    fn rows<L: F32x16>(
        &self,
        rows: &BlockRows<'_>,
        tiles: &[ScoreTile],
        scratch: &mut Scratch,
        sums: &mut Vec<f32>,
    ) {
        let (pass, n) = (self.pass, rows.run.len());
        sums.clear();
        sums.resize(n * sums_stride(pass.geometry.head_dim), 0.0);
        let (scores, grads) = scratch.of(tiles.len() * n);
        let products = [
            (&pass.query_panels, &pass.key_panels, &mut *scores),
            (&pass.grad_panels, &pass.value_panels, &mut *grads),
        ];
        for (left, right, to) in products {
            let left = pass.queries(left, rows.task).block(rows.block);
            let right = pass.keys(right, rows.task);
            for (tile, to) in tiles.iter().zip(to.chunks_exact_mut(n)) {
                for block in tile.blocks.clone() {
                    let panel = right.block(tile.index * TILE_BLOCKS + block);
                    dots_within::<L>((left, rows.run.start), panel, block, to);
                }
            }
        }
        let mut max = [f32::NEG_INFINITY; MAX_ROWS];
        for (tile, scores) in tiles.iter().zip(scores.chunks_exact_mut(n)) {
            for r in 0..n {
                let reach = (&tile.spans[r], &tile.blocks);
                let largest = scores_of::<L>(&mut scores[r], reach, &pass.geometry);
                max[r] = if largest > max[r] { largest } else { max[r] };
            }
        }
        let mut inverse = [0.0; MAX_ROWS];
        for r in 0..n {
            let mut sum = L::splat(0.0);
            for (tile, scores) in tiles.iter().zip(scores.chunks_exact(n)) {
                for block in tile.blocks.clone() {
                    sum = sum.add(exp(scores[r].block::<L>(block).sub(L::splat(max[r]))));
                }
            }
            inverse[r] = 1.0 / sum.sum();
        }
        self.keep(rows, (&max, &inverse));
        let delta = &pass.queries(&pass.delta, rows.task).block(rows.block)[rows.run.clone()];
        let chunks = scores.chunks_exact_mut(n).zip(grads.chunks_exact(n));
        for (tile, (scores, grads)) in tiles.iter().zip(chunks) {
            for r in 0..n {
                let of_row = [max[r], inverse[r], delta[r]].map(L::splat);
                for block in tile.blocks.clone() {
                    let (score, grad) = (scores[r].block::<L>(block), grads[r].block(block));
                    let (_, slope) = slopes(score, grad, of_row, &pass.geometry);
                    scores[r].set_block(block, slope);
                }
            }
            Summands {
                strip: pass.keys(&pass.key_rows, rows.task),
                tile: tile.index,
                dim: pass.geometry.head_dim,
            }
            .add::<L>(scores, &tile.spans[..n], sums);
        }
    }

    fn keep(&self, rows: &BlockRows<'_>, (max, inverse): (&[f32; MAX_ROWS], &[f32; MAX_ROWS])) {
        let task = rows.task;
        let layout = &self.pass.queries;
        let place = layout.place(task.sequence, rows.block, task.kv_head);
        for (of, values) in [(self.max, max), (self.inverse, inverse)] {
            // SAFETY: a block and key head belong to one task, which runs on one thread.
            let mut block = unsafe { of.part(place..place + 1, 0..BLOCK) };
            block.row(0)[rows.run.clone()].copy_from_slice(&values[..rows.run.len()]);
        }
    }

    /// Writes rows of dQ to their places.
    #[inline(always)]
    fn store(&self, rows: &BlockRows<'_>, sums: &[f32]) {
        let (pass, task) = (self.pass, rows.task);
        let (group, dim) = (pass.geometry.group(), pass.geometry.head_dim);
        for (row, sums) in (rows.run.clone()).zip(sums.chunks_exact(sums_stride(dim))) {
            let row = rows.block * BLOCK + row;
            let (at, head) =
                (pass.queries_of(task).start + row / group, task.kv_head * group + row % group);
            // SAFETY: a row and head belong to one block, and the block to one task.
            let mut out = unsafe { self.grad_q.part(at..at + 1, head * dim..(head + 1) * dim) };
            out.row(0).copy_from_slice(&sums[..dim]);
        }
    }
}

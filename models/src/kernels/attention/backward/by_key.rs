//! Rows of keys: dK and dV.

#![expect(unsafe_code, reason = "tasks write disjoint parts of one output at once")]

use std::ops::Range;

use super::pass::{
    BackwardTask, BlockRows, Pass, ScoreTile, Scratch, Statistics, slopes, tiles_of,
};
use crate::kernels::attention::row::TILE_BLOCKS;
use crate::kernels::attention::tasks::even_runs;
use crate::kernels::attention::tile::{
    MAX_ROWS, Summands, dots_within, most_rows, scaled_score, sums_stride,
};
use crate::kernels::kv_block::BLOCK;
use crate::kernels::norm::load_or_zero;
use crate::kernels::simd::{F32x16, Kernel};
use crate::kernels::threads::Shared;

/// Tasks whose blocks are of key rows.
pub(super) struct ByKey<'a> {
    pub(super) pass: &'a Pass<'a>,
    pub(super) tasks: &'a [BackwardTask],
    pub(super) statistics: &'a Statistics,
    /// `[Tk, kv_heads · head_dim]`.
    pub(super) grad_k: &'a Shared<'a>,
    /// `[Tk, kv_heads · head_dim]`.
    pub(super) grad_v: &'a Shared<'a>,
}

impl Kernel for ByKey<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: F32x16>(self) {
        let layout = &self.pass.keys;
        let (mut scratch, mut sums) = (Scratch::default(), [Vec::new(), Vec::new()]);
        for task in self.tasks {
            for block in task.blocks.clone() {
                for run in even_runs(layout.rows_in(task.sequence, block), most_rows::<L>()) {
                    let mut spans = [const { 0..0 }; MAX_ROWS];
                    for (row, spans) in run.clone().zip(&mut spans) {
                        *spans = self.queries_of(task, block * BLOCK + row);
                    }
                    let rows = BlockRows { task, block, run, spans };
                    self.rows::<L>(&rows, &mut scratch, &mut sums);
                    self.store(&rows, &sums);
                }
            }
        }
    }
}

impl ByKey<'_> {
    /// The query rows that see a key, in the sequence.
    #[inline(always)]
    fn queries_of(&self, task: &BackwardTask, key: usize) -> Range<usize> {
        let (pass, g) = (self.pass, &self.pass.geometry);
        let (n, unasked) = (pass.queries_of(task).len(), pass.unasked(task));
        let end = match g.window {
            None => n,
            Some(window) => n.min(key.saturating_add(window).saturating_sub(unasked)),
        };
        let start = key.saturating_sub(unasked).min(end);
        start * g.group()..end * g.group()
    }

    #[inline(always)]
    fn rows<L: F32x16>(
        &self,
        rows: &BlockRows<'_>,
        scratch: &mut Scratch,
        sums: &mut [Vec<f32>; 2],
    ) {
        let n = rows.run.len();
        let stride = sums_stride(self.pass.geometry.head_dim);
        for sums in sums.iter_mut() {
            sums.clear();
            sums.resize(n * stride, 0.0);
        }
        for tile in tiles_of(rows.spans()) {
            self.step::<L>(rows, (&ScoreTile::new(tile, rows.spans()), n), scratch, sums);
        }
    }

    /// Adds the contribution of one tile of query rows to dK and dV.
    #[inline(always)]
    fn step<L: F32x16>(
        &self,
        rows: &BlockRows<'_>,
        (tile, n): (&ScoreTile, usize),
        scratch: &mut Scratch,
        sums: &mut [Vec<f32>; 2],
    ) {
        let (pass, task) = (self.pass, rows.task);
        let (of_queries, of_grads) = scratch.of(n);
        let [of_k, of_v] = sums;
        let lefts = [&pass.key_panels, &pass.value_panels];
        let [keys, values] = lefts.map(|left| pass.keys(left, task).block(rows.block));
        let rights = [&pass.query_panels, &pass.grad_panels];
        let [queries, grads] = rights.map(|right| pass.queries(right, task));
        let s = self.statistics;
        let statistics = [&s.max, &s.inverse, &pass.delta].map(|of| pass.queries(of, task));
        for block in tile.blocks.clone() {
            // Products of keys and queries, of values and output gradients; then dS and P.
            let at = tile.index * TILE_BLOCKS + block;
            let products = [(keys, queries, &mut *of_queries), (values, grads, &mut *of_grads)];
            for (left, right, to) in products {
                dots_within::<L>((left, rows.run.start), right.block(at), block, to);
            }
            let of_rows = statistics.map(|of| load_or_zero::<L>(of.block(at), 0));
            for (of_query, of_grad) in of_queries.iter_mut().zip(of_grads.iter_mut()) {
                let score = scaled_score(of_query.block::<L>(block), &pass.geometry);
                let grad = of_grad.block(block);
                let (p, slope) = slopes(score, grad, of_rows, &pass.geometry);
                of_query.set_block(block, slope);
                of_grad.set_block(block, p);
            }
        }
        let products = [(of_queries, &pass.query_rows, of_k), (of_grads, &pass.grad_rows, of_v)];
        for (weights, summands, sums) in products {
            Summands {
                strip: pass.queries(summands, task),
                tile: tile.index,
                dim: pass.geometry.head_dim,
            }
            .add::<L>(weights, &tile.spans[..n], sums);
        }
    }

    /// Writes rows of dK and dV to their places.
    #[inline(always)]
    fn store(&self, rows: &BlockRows<'_>, sums: &[Vec<f32>; 2]) {
        let (pass, task) = (self.pass, rows.task);
        let dim = pass.geometry.head_dim;
        let columns = task.kv_head * dim..(task.kv_head + 1) * dim;
        let first = pass.keys_of(task).start + rows.block * BLOCK;
        for (out, sums) in [self.grad_k, self.grad_v].into_iter().zip(sums) {
            let run = first + rows.run.start..first + rows.run.end;
            // SAFETY: a key's row and head belong to one block, and the block to one task.
            let mut out = unsafe { out.part(run, columns.clone()) };
            for (row, sums) in sums.chunks_exact(sums_stride(dim)).enumerate() {
                out.row(row).copy_from_slice(&sums[..dim]);
            }
        }
    }
}

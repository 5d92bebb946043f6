//! The backward pass of packed attention, with the scores computed anew.
//!
//! With `P` the softmax of the scores `S` and `D = Σ dO · O` by row (Dao et al., 2022):
//! `dV = Pᵀ dO`, `dP = dO Vᵀ`, `dS = P ∘ (dP − D) ∘ S′`, `dQ = dS K`, `dK = dSᵀ Q`, where `S′` is
//! the slope of scale and cap. Sums go over positions in order, so a sequence's gradients do not
//! depend on what is packed beside it, nor on threads.

use std::ops::Range;

use rayon::prelude::*;

use super::Geometry;
use super::forward::{PARALLEL_WORK, TASK_ROWS, scores_of};
use super::layout::{Layout, Strip};
use super::tasks::{Task, deal, even_runs, tasks};
use super::tile::{
    MAX_ROWS, Summands, TILE, TILE_BLOCKS, TileRow, blocks_of, dots, interleave, most_rows, score,
    score_slope, span_in,
};
use crate::kernels::exp::exp;
use crate::kernels::lanes::{Isa, Kernel, Lanes};
use crate::kernels::norm::part;
use crate::kv::BLOCK;

/// Keys that one task takes.
const TASK_KEYS: usize = 32;

/// What the forward took and gave, and the gradient of what it gave.
#[derive(Clone, Copy, Debug)]
pub struct Operands<'a> {
    /// `[T, heads, head_dim]`.
    pub q: &'a [f32],
    /// `[T, kv_heads, head_dim]`.
    pub k: &'a [f32],
    /// `[T, kv_heads, head_dim]`.
    pub v: &'a [f32],
    /// `[T, heads, head_dim]`: the forward's result.
    pub out: &'a [f32],
    /// `[T, heads, head_dim]`: its gradient.
    pub grad: &'a [f32],
    /// `[B + 1]` running sums of rows.
    pub cu_seqlens: &'a [u32],
}

/// Gradients of queries, keys and values, in their shapes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gradients {
    /// `[T, heads, head_dim]`.
    pub q: Vec<f32>,
    /// `[T, kv_heads, head_dim]`.
    pub k: Vec<f32>,
    /// `[T, kv_heads, head_dim]`.
    pub v: Vec<f32>,
}

/// The gradients of packed attention.
pub fn backward(isa: Isa, operands: Operands<'_>, geometry: Geometry) -> Gradients {
    let pass = Pass::new(isa, operands, geometry);
    let mut gradients = Gradients {
        q: vec![0.0; operands.q.len()],
        k: vec![0.0; operands.k.len()],
        v: vec![0.0; operands.v.len()],
    };
    let statistics = pass.by_query(&mut gradients.q);
    pass.by_key(&statistics, &mut gradients.k, &mut gradients.v);
    gradients
}

/// What both passes share: the operands, and their copies in blocks. Rows of queries (and of the
/// output's gradient) are positions times heads of a group.
struct Pass<'a> {
    isa: Isa,
    operands: Operands<'a>,
    geometry: Geometry,
    parallel: bool,
    key_layout: Layout,
    query_layout: Layout,
    key_panels: Vec<f32>,
    key_rows: Vec<f32>,
    value_panels: Vec<f32>,
    query_panels: Vec<f32>,
    query_rows: Vec<f32>,
    grad_panels: Vec<f32>,
    grad_rows: Vec<f32>,
}

/// A task's rows of one output.
type Hand<'a> = Vec<&'a mut [f32]>;

/// Of every query row, as blocks of [`BLOCK`] rows for each key head.
struct Statistics {
    /// Largest score.
    max: Vec<f32>,
    /// 1 over the sum of exponentials.
    inverse: Vec<f32>,
    /// `D`.
    delta: Vec<f32>,
}

/// The same of one row.
#[derive(Clone, Copy, Default)]
struct RowStatistics {
    max: f32,
    inverse: f32,
    delta: f32,
}

impl<'a> Pass<'a> {
    fn new(isa: Isa, operands: Operands<'a>, geometry: Geometry) -> Pass<'a> {
        let (heads, dim) = (geometry.num_kv_heads, geometry.head_dim);
        let key_layout = Layout::new(operands.cu_seqlens, heads, 1, dim);
        let query_layout = Layout::new(operands.cu_seqlens, heads, geometry.group(), dim);
        let lengths = operands.cu_seqlens.windows(2);
        let pairs: usize = lengths.map(|w| ((w[1] - w[0]) as usize).pow(2)).sum();
        Pass {
            isa,
            operands,
            geometry,
            parallel: pairs.saturating_mul(geometry.num_heads * dim) >= PARALLEL_WORK,
            key_panels: key_layout.panels(operands.k),
            key_rows: key_layout.rows(operands.k),
            value_panels: key_layout.panels(operands.v),
            query_panels: query_layout.panels(operands.q),
            query_rows: query_layout.rows(operands.q),
            grad_panels: query_layout.panels(operands.grad),
            grad_rows: query_layout.rows(operands.grad),
            key_layout,
            query_layout,
        }
    }

    fn by_query(&self, grad_q: &mut [f32]) -> Statistics {
        let g = self.geometry;
        let rows = (TASK_ROWS / g.group()).max(1);
        let tasks = tasks(self.operands.cu_seqlens, g.num_kv_heads, rows);
        let hands = deal(&tasks, g.num_kv_heads, g.group() * g.head_dim, grad_q);
        let run = |(task, out): (&Task, Vec<&mut [f32]>)| {
            self.isa.run(ByQuery {
                pass: self,
                task,
                out,
            })
        };
        let all: Vec<Vec<RowStatistics>> = if self.parallel {
            tasks.par_iter().zip(hands).map(run).collect()
        } else {
            tasks.iter().zip(hands).map(run).collect()
        };
        self.gather(&tasks, &all)
    }

    /// Lays the tasks' statistics into blocks.
    fn gather(&self, tasks: &[Task], all: &[Vec<RowStatistics>]) -> Statistics {
        let (heads, group) = (self.geometry.num_kv_heads, self.geometry.group());
        let zeros = vec![0.0; self.query_rows.len() / self.geometry.head_dim];
        let mut statistics = Statistics {
            max: zeros.clone(),
            inverse: zeros.clone(),
            delta: zeros,
        };
        for (task, rows) in tasks.iter().zip(all) {
            let first = task.rows.start - self.operands.cu_seqlens[task.sequence] as usize;
            for (row, of_row) in (first * group..).zip(rows) {
                let block = self.query_layout.table[task.sequence][row / BLOCK].0 as usize;
                let at = (block * heads + task.kv_head) * BLOCK + row % BLOCK;
                statistics.max[at] = of_row.max;
                statistics.inverse[at] = of_row.inverse;
                statistics.delta[at] = of_row.delta;
            }
        }
        statistics
    }

    fn by_key(&self, statistics: &Statistics, grad_k: &mut [f32], grad_v: &mut [f32]) {
        let g = self.geometry;
        let tasks = tasks(self.operands.cu_seqlens, g.num_kv_heads, TASK_KEYS);
        let hands = deal(&tasks, g.num_kv_heads, g.head_dim, grad_k)
            .into_iter()
            .zip(deal(&tasks, g.num_kv_heads, g.head_dim, grad_v))
            .collect::<Vec<_>>();
        let run = |(task, (grad_k, grad_v)): (&Task, (Hand<'_>, Hand<'_>))| {
            self.isa.run(ByKey {
                pass: self,
                statistics,
                task,
                grad_k,
                grad_v,
            });
        };
        if self.parallel {
            tasks.par_iter().zip(hands).for_each(run);
        } else {
            tasks.iter().zip(hands).for_each(run);
        }
    }

    /// A task's blocks of keys (or values).
    fn keys<'s>(&'s self, pool: &'s [f32], task: &Task) -> Strip<'s> {
        self.key_layout.strip(pool, task.sequence, task.kv_head)
    }

    /// A task's blocks of queries (or of the output's gradient, or of statistics).
    fn queries<'s>(&'s self, pool: &'s [f32], task: &Task) -> Strip<'s> {
        self.query_layout.strip(pool, task.sequence, task.kv_head)
    }

    /// A query row of the task: positions times heads of a group, from the task's first on.
    fn query_row<'s>(&self, x: &'s [f32], task: &Task, row: usize) -> &'s [f32] {
        let (group, dim) = (self.geometry.group(), self.geometry.head_dim);
        let head = task.kv_head * group + row % group;
        let row = task.rows.start + row / group;
        &x[(row * self.geometry.num_heads + head) * dim..][..dim]
    }

    /// A key row of the task, from the task's first on.
    fn key_row<'s>(&self, x: &'s [f32], task: &Task, row: usize) -> &'s [f32] {
        let dim = self.geometry.head_dim;
        let row = (task.rows.start + row) * self.geometry.num_kv_heads + task.kv_head;
        &x[row * dim..][..dim]
    }

    /// Position of the task's first row.
    fn first_position(&self, task: &Task) -> usize {
        task.rows.start - self.operands.cu_seqlens[task.sequence] as usize
    }
}

/// Tiles that any of the spans reaches into.
fn tiles_of(spans: &[Range<usize>]) -> Range<usize> {
    let start = spans.iter().map(|span| span.start).min().unwrap_or(0);
    let end = spans.iter().map(|span| span.end).max().unwrap_or(0);
    start / TILE..end.div_ceil(TILE)
}

fn spans_in(tile: usize, whole: &[Range<usize>]) -> Vec<Range<usize>> {
    whole.iter().map(|span| span_in(tile, span)).collect()
}

/// A run of rows as [`dots`] takes them.
fn interleaved<'r>(rows: impl ExactSizeIterator<Item = &'r [f32]>, dim: usize) -> Vec<f32> {
    let mut left = vec![0.0; rows.len() * dim];
    interleave(rows, &mut left);
    left
}

/// Rows of queries: the statistics and dQ.
struct ByQuery<'a, 'o> {
    pass: &'a Pass<'a>,
    task: &'a Task,
    /// For each row of the task, the group's heads.
    out: Vec<&'o mut [f32]>,
}

impl Kernel for ByQuery<'_, '_> {
    type Output = Vec<RowStatistics>;

    #[inline(always)]
    fn run<L: Lanes>(mut self) -> Vec<RowStatistics> {
        let g = &self.pass.geometry;
        let n_rows = self.task.rows.len() * g.group();
        let mut statistics = vec![RowStatistics::default(); n_rows];
        for run in even_runs(n_rows, most_rows::<L>()) {
            let sums = self.rows::<L>(&run, &mut statistics[run.clone()]);
            for (row, sums) in run.zip(sums.chunks_exact(Summands::stride(g.head_dim))) {
                let out = &mut self.out[row / g.group()][row % g.group() * g.head_dim..];
                out[..g.head_dim].copy_from_slice(&sums[..g.head_dim]);
            }
        }
        statistics
    }
}

impl ByQuery<'_, '_> {
    /// The rows of dQ, and the statistics.
    #[inline(always)]
    fn rows<L: Lanes>(&self, run: &Range<usize>, statistics: &mut [RowStatistics]) -> Vec<f32> {
        let (pass, task) = (self.pass, self.task);
        let (g, operands) = (&pass.geometry, &pass.operands);
        let rows = |x| run.clone().map(move |row| pass.query_row(x, task, row));
        let position = |row: usize| pass.first_position(task) + row / g.group();
        let whole: Vec<Range<usize>> = run
            .clone()
            .map(|row| g.first_key(position(row))..position(row) + 1)
            .collect();
        let left = interleaved(rows(operands.q), g.head_dim);
        let mut scores = vec![TileRow::ZERO; tiles_of(&whole).len() * run.len()];
        self.products::<L>(&left, &pass.key_panels, &whole, &mut scores);
        softmax::<L>(&mut scores, &whole, statistics, g);
        for ((of_row, grad), out) in statistics
            .iter_mut()
            .zip(rows(operands.grad))
            .zip(rows(operands.out))
        {
            of_row.delta = chain(grad, out);
        }
        let left = interleaved(rows(operands.grad), g.head_dim);
        let mut grads = vec![TileRow::ZERO; scores.len()];
        self.products::<L>(&left, &pass.value_panels, &whole, &mut grads);
        self.weigh::<L>(&mut scores, &grads, &whole, statistics)
    }

    /// Products of the rows with the panels, tile by tile.
    #[inline(always)]
    fn products<L: Lanes>(
        &self,
        left: &[f32],
        panels: &[f32],
        whole: &[Range<usize>],
        to: &mut [TileRow],
    ) {
        let panels = self.pass.keys(panels, self.task);
        for (tile, to) in tiles_of(whole).zip(to.chunks_exact_mut(whole.len())) {
            for block in blocks_of(&spans_in(tile, whole)) {
                dots::<L>(left, panels.block(tile * TILE_BLOCKS + block), block, to);
            }
        }
    }

    /// `dS K`, from scores and the products of dO and V.
    #[inline(always)]
    fn weigh<L: Lanes>(
        &self,
        scores: &mut [TileRow],
        grads: &[TileRow],
        whole: &[Range<usize>],
        statistics: &[RowStatistics],
    ) -> Vec<f32> {
        let (pass, n, dim) = (self.pass, whole.len(), self.pass.geometry.head_dim);
        let mut sums = vec![0.0; n * Summands::stride(dim)];
        let tiles = scores.chunks_exact_mut(n).zip(grads.chunks_exact(n));
        for (tile, (scores, grads)) in tiles_of(whole).zip(tiles) {
            for ((scores, grads), of_row) in scores.iter_mut().zip(grads).zip(statistics) {
                let of_row = [of_row.max, of_row.inverse, of_row.delta].map(L::splat);
                for block in 0..TILE_BLOCKS {
                    let (score, grad) = (scores.block::<L>(block), grads.block(block));
                    let (_, slope) = slopes(score, grad, of_row, &pass.geometry);
                    scores.set_block(block, slope);
                }
            }
            Summands {
                strip: pass.keys(&pass.key_rows, self.task),
                tile,
                dim,
            }
            .add::<L>(scores, &spans_in(tile, whole), &mut sums);
        }
        sums
    }
}

/// `Σ a · b` in order, as [`dots`] sums: where a query sees one key only, `dP` and `D` are then the
/// same number, and its gradient is exactly 0.
#[inline(always)]
fn chain(a: &[f32], b: &[f32]) -> f32 {
    let mut sum = 0.0_f32;
    for (a, b) in a.iter().zip(b) {
        sum = a.mul_add(*b, sum);
    }
    sum
}

/// Products to scores, and each row's maximum and inverse sum of exponentials.
#[inline(always)]
fn softmax<L: Lanes>(
    scores: &mut [TileRow],
    whole: &[Range<usize>],
    statistics: &mut [RowStatistics],
    geometry: &Geometry,
) {
    let n = whole.len();
    for (r, of_row) in statistics.iter_mut().enumerate() {
        let mut max = f32::NEG_INFINITY;
        for (tile, scores) in tiles_of(whole).zip(scores.chunks_exact_mut(n)) {
            let span = span_in(tile, &whole[r]);
            let largest = scores_of::<L>(&mut scores[r], &span, geometry);
            max = if largest > max { largest } else { max };
        }
        let mut sum = L::splat(0.0);
        for scores in scores.chunks_exact(n) {
            for block in 0..TILE_BLOCKS {
                sum = sum.add(exp(scores[r].block::<L>(block).sub(L::splat(max))));
            }
        }
        of_row.max = max;
        of_row.inverse = 1.0 / sum.sum();
    }
}

/// `P` and `dS` from a score, `dP` and the row's maximum, inverse sum and `D`.
#[inline(always)]
fn slopes<L: Lanes>(score: L, grad: L, of_row: [L; 3], geometry: &Geometry) -> (L, L) {
    let [max, inverse, delta] = of_row;
    let p = exp(score.sub(max)).mul(inverse);
    let slope = p.mul(grad.sub(delta));
    (p, slope.mul(score_slope(score, geometry)))
}

/// Rows of keys: dK and dV.
struct ByKey<'a, 'o> {
    pass: &'a Pass<'a>,
    statistics: &'a Statistics,
    task: &'a Task,
    grad_k: Vec<&'o mut [f32]>,
    grad_v: Vec<&'o mut [f32]>,
}

impl Kernel for ByKey<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(mut self) {
        for run in even_runs(self.task.rows.len(), most_rows::<L>()) {
            self.rows::<L>(&run);
        }
    }
}

impl ByKey<'_, '_> {
    /// The query rows that see a key, in the sequence.
    fn queries_of(&self, row: usize) -> Range<usize> {
        let (pass, g) = (self.pass, &self.pass.geometry);
        let ends = &pass.operands.cu_seqlens[self.task.sequence..];
        let n = (ends[1] - ends[0]) as usize;
        let key = pass.first_position(self.task) + row;
        let end = g
            .window
            .map_or(n, |window| n.min(key.saturating_add(window)));
        key * g.group()..end * g.group()
    }

    #[inline(always)]
    fn rows<L: Lanes>(&mut self, run: &Range<usize>) {
        let (pass, task) = (self.pass, self.task);
        let dim = pass.geometry.head_dim;
        let whole: Vec<Range<usize>> = run.clone().map(|row| self.queries_of(row)).collect();
        let rows = |x| run.clone().map(move |row| pass.key_row(x, task, row));
        let left = [pass.operands.k, pass.operands.v].map(|x| interleaved(rows(x), dim));
        let stride = Summands::stride(dim);
        let mut sums = [(); 2].map(|()| vec![0.0; run.len() * stride]);
        for tile in tiles_of(&whole) {
            self.step::<L>(tile, &spans_in(tile, &whole), &left, &mut sums);
        }
        for (r, row) in run.clone().enumerate() {
            let [of_k, of_v] = sums.each_ref().map(|sums| &sums[r * stride..][..dim]);
            self.grad_k[row].copy_from_slice(of_k);
            self.grad_v[row].copy_from_slice(of_v);
        }
    }

    /// Adds what the query rows of one tile bring to dK and dV.
    #[inline(always)]
    fn step<L: Lanes>(
        &self,
        tile: usize,
        spans: &[Range<usize>],
        left: &[Vec<f32>; 2],
        sums: &mut [Vec<f32>; 2],
    ) {
        let (pass, task, n) = (self.pass, self.task, spans.len());
        // Products of keys and queries, of values and output gradients; then dS and P.
        let mut rows = [[TileRow::ZERO; MAX_ROWS]; 2];
        let panels = [&pass.query_panels, &pass.grad_panels];
        for ((left, panels), rows) in left.iter().zip(panels).zip(&mut rows) {
            let panels = pass.queries(panels, task);
            for block in blocks_of(spans) {
                dots::<L>(
                    left,
                    panels.block(tile * TILE_BLOCKS + block),
                    block,
                    &mut rows[..n],
                );
            }
        }
        for block in blocks_of(spans) {
            let s = self.statistics;
            let of_rows = [&s.max, &s.inverse, &s.delta]
                .map(|of| part::<L>(pass.queries(of, task).block(tile * TILE_BLOCKS + block), 0));
            let [of_queries, of_grads] = &mut rows;
            for (of_query, of_grad) in of_queries.iter_mut().zip(of_grads).take(n) {
                let score = score(of_query.block::<L>(block), &pass.geometry);
                let grad = of_grad.block(block);
                let (p, slope) = slopes(score, grad, of_rows, &pass.geometry);
                of_query.set_block(block, slope);
                of_grad.set_block(block, p);
            }
        }
        let summands = [&pass.query_rows, &pass.grad_rows];
        for ((weights, summands), sums) in rows.iter().zip(summands).zip(sums) {
            Summands {
                strip: pass.queries(summands, task),
                tile,
                dim: pass.geometry.head_dim,
            }
            .add::<L>(&weights[..n], spans, sums);
        }
    }
}

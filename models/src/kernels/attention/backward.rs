//! The backward pass of packed attention, with the scores computed anew.
//!
//! With `P` the softmax of the scores `S` and `D = Σ dO · O` by row (Dao et al., 2022):
//! `dV = Pᵀ dO`, `dP = dO Vᵀ`, `dS = P ∘ (dP − D) ∘ S′`, `dQ = dS K`, `dK = dSᵀ Q`, where `S′` is
//! the slope of scale and cap. Sums go over positions in order, so a sequence's gradients do not
//! depend on what is packed beside it, nor on threads.

use std::ops::Range;

use rayon::prelude::*;

use super::Geometry;
use super::forward::{PARALLEL_WORK, TASK_ROWS, mask_and_largest};
use super::layout::{Layout, Strip};
use super::tasks::{Task, deal, even_runs, tasks};
use super::tile::{
    MAX_ROWS, Summands, TILE, TILE_BLOCKS, TileRow, blocks_of, dots, interleave, most_rows, score,
    score_slope, span_in, with_rows,
};
use crate::kernels::exp::exp;
use crate::kernels::lanes::{Isa, Kernel, Lanes};
use crate::kernels::norm::{dot, part};
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
        let run = |(task, (grad_k, grad_v)): (&Task, (Vec<&mut [f32]>, Vec<&mut [f32]>))| {
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
fn tiles_of<const R: usize>(spans: &[Range<usize>; R]) -> Range<usize> {
    let start = spans.iter().map(|span| span.start).min().unwrap_or(0);
    let end = spans.iter().map(|span| span.end).max().unwrap_or(0);
    start / TILE..end.div_ceil(TILE)
}

#[inline(always)]
fn spans_in<const R: usize>(tile: usize, whole: &[Range<usize>; R]) -> [Range<usize>; R] {
    let mut spans = [const { 0..0 }; R];
    for r in 0..R {
        spans[r] = span_in(tile, &whole[r]);
    }
    spans
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
        let n_rows = self.task.rows.len() * self.pass.geometry.group();
        let mut statistics = vec![RowStatistics::default(); n_rows];
        for run in even_runs(n_rows, most_rows::<L>()) {
            let statistics = &mut statistics[run.clone()];
            with_rows!(run.len(), L, self.rows(run.start, statistics));
        }
        statistics
    }
}

impl ByQuery<'_, '_> {
    #[inline(always)]
    fn rows<L: Lanes, const R: usize>(&mut self, first: usize, statistics: &mut [RowStatistics]) {
        let (pass, task) = (self.pass, self.task);
        let (g, operands) = (&pass.geometry, &pass.operands);
        let position = |row: usize| pass.first_position(task) + row / g.group();
        let mut whole = [const { 0..0 }; R];
        for (row, span) in (first..).zip(&mut whole) {
            *span = g.first_key(position(row))..position(row) + 1;
        }
        let mut scores = vec![[TileRow::ZERO; R]; tiles_of(&whole).len()];
        let rows = |x| (first..first + R).map(move |row| pass.query_row(x, task, row));
        let mut left = vec![0.0; R * g.head_dim];
        interleave(rows(operands.q), &mut left);
        self.score::<L, R>(&left, &whole, &mut scores);
        softmax::<L, R>(&mut scores, &whole, statistics);
        for ((of_row, grad), out) in statistics
            .iter_mut()
            .zip(rows(operands.grad))
            .zip(rows(operands.out))
        {
            of_row.delta = dot::<L>(grad, out);
        }
        interleave(rows(operands.grad), &mut left);
        let sums = self.weigh::<L, R>(&left, &whole, &mut scores, statistics);
        let dim = g.head_dim;
        for (row, sums) in (first..).zip(sums.chunks_exact(Summands::stride(dim))) {
            self.out[row / g.group()][row % g.group() * dim..][..dim].copy_from_slice(&sums[..dim]);
        }
    }

    #[inline(always)]
    fn score<L: Lanes, const R: usize>(
        &self,
        left: &[f32],
        whole: &[Range<usize>; R],
        scores: &mut [[TileRow; R]],
    ) {
        let keys = self.pass.keys(&self.pass.key_panels, self.task);
        for (tile, scores) in tiles_of(whole).zip(scores) {
            for block in blocks_of(&spans_in(tile, whole)) {
                let dots = dots::<L, R>(left, keys.block(tile * TILE_BLOCKS + block));
                for r in 0..R {
                    scores[r].set_block(block, score(dots[r], &self.pass.geometry));
                }
            }
        }
    }

    /// The rows of dQ, from the scores and the rows of dO.
    #[inline(always)]
    fn weigh<L: Lanes, const R: usize>(
        &self,
        left: &[f32],
        whole: &[Range<usize>; R],
        scores: &mut [[TileRow; R]],
        statistics: &[RowStatistics],
    ) -> Vec<f32> {
        let (pass, g) = (self.pass, &self.pass.geometry);
        let values = pass.keys(&pass.value_panels, self.task);
        let mut sums = vec![0.0; R * Summands::stride(g.head_dim)];
        for (tile, scores) in tiles_of(whole).zip(scores) {
            let spans = spans_in(tile, whole);
            for block in blocks_of(&spans) {
                let dots = dots::<L, R>(left, values.block(tile * TILE_BLOCKS + block));
                for r in 0..R {
                    let of_row = &statistics[r];
                    let of_row = [of_row.max, of_row.inverse, of_row.delta].map(L::splat);
                    let (_, slope) = slopes(scores[r].block::<L>(block), dots[r], of_row, g);
                    scores[r].set_block(block, slope);
                }
            }
            Summands {
                strip: pass.keys(&pass.key_rows, self.task),
                tile,
                dim: g.head_dim,
            }
            .add::<L, R>(scores, &spans, &mut sums);
        }
        sums
    }
}

/// Maximum and inverse sum of each row's scores; masks the scores.
#[inline(always)]
fn softmax<L: Lanes, const R: usize>(
    scores: &mut [[TileRow; R]],
    whole: &[Range<usize>; R],
    statistics: &mut [RowStatistics],
) {
    for (r, of_row) in statistics.iter_mut().enumerate() {
        let mut max = f32::NEG_INFINITY;
        for (tile, scores) in tiles_of(whole).zip(scores.iter_mut()) {
            let largest = mask_and_largest::<L>(&mut scores[r], &span_in(tile, &whole[r]));
            max = if largest > max { largest } else { max };
        }
        let mut sum = L::splat(0.0);
        for scores in scores.iter() {
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
            with_rows!(run.len(), L, self.rows(run.start));
        }
    }
}

impl ByKey<'_, '_> {
    #[inline(always)]
    fn rows<L: Lanes, const R: usize>(&mut self, first: usize) {
        let (pass, task) = (self.pass, self.task);
        let g = &pass.geometry;
        let n = pass.operands.cu_seqlens[task.sequence + 1] as usize - task.rows.start;
        let n = pass.first_position(task) + n;
        let mut whole = [const { 0..0 }; R];
        for (row, span) in (first..).zip(&mut whole) {
            let key = pass.first_position(task) + row;
            let end = g
                .window
                .map_or(n, |window| n.min(key.saturating_add(window)));
            *span = key * g.group()..end * g.group();
        }
        let rows = |x| (first..first + R).map(move |row| pass.key_row(x, task, row));
        let mut left = [vec![0.0; R * g.head_dim], vec![0.0; R * g.head_dim]];
        interleave(rows(pass.operands.k), &mut left[0]);
        interleave(rows(pass.operands.v), &mut left[1]);
        let stride = Summands::stride(g.head_dim);
        let mut sums = [vec![0.0; R * stride], vec![0.0; R * stride]];
        for tile in tiles_of(&whole) {
            self.step::<L, R>(tile, &spans_in(tile, &whole), &left, &mut sums);
        }
        for r in 0..R {
            let sums = sums.each_ref().map(|s| &s[r * stride..][..g.head_dim]);
            self.grad_k[first + r].copy_from_slice(sums[0]);
            self.grad_v[first + r].copy_from_slice(sums[1]);
        }
    }

    /// Adds what the query rows of one tile bring to dK and dV.
    #[inline(always)]
    fn step<L: Lanes, const R: usize>(
        &self,
        tile: usize,
        spans: &[Range<usize>; R],
        left: &[Vec<f32>; 2],
        sums: &mut [Vec<f32>; 2],
    ) {
        let (pass, task, g) = (self.pass, self.task, &self.pass.geometry);
        let (mut weights, mut slopes_of) = ([TileRow::ZERO; R], [TileRow::ZERO; R]);
        for block in blocks_of(spans) {
            let at = tile * TILE_BLOCKS + block;
            let of = |pool| pass.queries(pool, task).block(at);
            let dots_q = dots::<L, R>(&left[0], of(&pass.query_panels));
            let dots_g = dots::<L, R>(&left[1], of(&pass.grad_panels));
            let of_rows = [
                part(of(&self.statistics.max), 0),
                part(of(&self.statistics.inverse), 0),
                part(of(&self.statistics.delta), 0),
            ];
            for r in 0..R {
                let (p, slope) = slopes(score(dots_q[r], g), dots_g[r], of_rows, g);
                weights[r].set_block(block, p);
                slopes_of[r].set_block(block, slope);
            }
        }
        let summands = |pool| Summands {
            strip: pass.queries(pool, task),
            tile,
            dim: g.head_dim,
        };
        summands(&pass.query_rows).add::<L, R>(&slopes_of, spans, &mut sums[0]);
        summands(&pass.grad_rows).add::<L, R>(&weights, spans, &mut sums[1]);
    }
}

const _: () = assert!(MAX_ROWS <= TASK_KEYS, "a task of keys fills a micro-tile");

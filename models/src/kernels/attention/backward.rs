//! The backward pass of packed attention, with the scores computed anew.
//!
//! With `P` the softmax of the scores `S` and `D = Σ dO · O` by row (Dao et al., 2022):
//! `dV = Pᵀ dO`, `dP = dO Vᵀ`, `dS = P ∘ (dP − D) ∘ S′`, `dQ = dS K`, `dK = dSᵀ Q`, where `S′` is
//! the slope of scale and cap. Sums go over positions in order, so a sequence's gradients do not
//! depend on what is packed beside it, nor on threads.

mod by_key;
mod by_query;

use std::ops::Range;

use rayon::prelude::*;

use super::Geometry;
use super::layout::{Layout, Strip};
use super::packed::{Packed, Run, runs};
use super::tasks::tasks_a_job;
use super::tile::{MAX_ROWS, TILE, TileRow, blocks_of, score_slope, spans_in};
use crate::kernels::exp::exp;
use crate::kernels::lanes::{Isa, Kernel, Lanes};
use crate::kernels::norm::{part, put};
use crate::kernels::threads::Shared;
use crate::kv::BLOCK;
use by_key::ByKey;
use by_query::ByQuery;

/// Multiplications below which one thread does a run of sequences.
const PARALLEL_WORK: usize = 1 << 21;

/// Blocks of rows that one task takes.
const TASK_BLOCKS: usize = 2;

/// What the forward took and gave, and the gradient of what it gave.
#[derive(Clone, Copy, Debug)]
pub struct Operands<'a> {
    /// Queries, keys and values.
    pub rows: Packed<'a>,
    /// `[Tq, heads, head_dim]`: the forward's result.
    pub out: &'a [f32],
    /// `[Tq, heads, head_dim]`: its gradient.
    pub grad: &'a [f32],
}

/// Gradients of queries, keys and values, in their shapes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gradients {
    /// `[Tq, heads, head_dim]`.
    pub q: Vec<f32>,
    /// `[Tk, kv_heads, head_dim]`.
    pub k: Vec<f32>,
    /// `[Tk, kv_heads, head_dim]`.
    pub v: Vec<f32>,
}

/// The gradients of packed attention.
pub fn backward(isa: Isa, operands: Operands<'_>, geometry: Geometry) -> Gradients {
    let rows = operands.rows;
    let mut gradients = Gradients {
        q: vec![0.0; rows.q.len()],
        k: vec![0.0; rows.k.len()],
        v: vec![0.0; rows.v.len()],
    };
    let runs = runs(rows.cu_seqlens_q, rows.cu_seqlens_k);
    let parts = Part::of_runs(&runs, &mut gradients, geometry);
    let one = |(run, part): (&Run, Part<'_>)| {
        let operands = Operands {
            rows: run.of(rows, geometry),
            out: run.of_queries(operands.out, geometry),
            grad: run.of_queries(operands.grad, geometry),
        };
        Pass::new(isa, operands, geometry).run(part);
    };
    runs.par_iter().zip(parts).for_each(one);
    gradients
}

/// The gradients of a run of sequences.
struct Part<'a> {
    q: &'a mut [f32],
    k: &'a mut [f32],
    v: &'a mut [f32],
}

impl<'a> Part<'a> {
    fn of_runs(runs: &[Run], whole: &'a mut Gradients, geometry: Geometry) -> Vec<Part<'a>> {
        let (mut q, mut k, mut v) = (&mut whole.q[..], &mut whole.k[..], &mut whole.v[..]);
        let mut parts = Vec::with_capacity(runs.len());
        for run in runs {
            let of_queries = run.queries.len() * geometry.num_heads * geometry.head_dim;
            let own = run.keys.len() * geometry.num_kv_heads * geometry.head_dim;
            let part = Part {
                q: q.split_off_mut(..of_queries).expect("rows of the run"),
                k: k.split_off_mut(..own).expect("rows of the run"),
                v: v.split_off_mut(..own).expect("rows of the run"),
            };
            parts.push(part);
        }
        parts
    }
}

/// What both passes share: the operands in blocks. Rows of queries (and of the output and its
/// gradient) are positions times heads of a group.
struct Pass<'a> {
    isa: Isa,
    cu_seqlens_q: &'a [u32],
    cu_seqlens_k: &'a [u32],
    geometry: Geometry,
    parallel: bool,
    keys: Layout,
    queries: Layout,
    key_panels: Vec<f32>,
    key_rows: Vec<f32>,
    value_panels: Vec<f32>,
    query_panels: Vec<f32>,
    query_rows: Vec<f32>,
    grad_panels: Vec<f32>,
    grad_rows: Vec<f32>,
    /// `D` of every query row, as blocks of [`BLOCK`] rows for each key head.
    delta: Vec<f32>,
}

/// Of every query row, as blocks of [`BLOCK`] rows for each key head.
struct Statistics {
    /// Largest score.
    max: Vec<f32>,
    /// 1 over the sum of exponentials.
    inverse: Vec<f32>,
}

/// Blocks of rows of one sequence and key head.
#[derive(Clone, Debug)]
struct Task {
    sequence: usize,
    kv_head: usize,
    blocks: Range<usize>,
}

/// Some rows of one block, and what each sees of the other side.
struct Rows<'a> {
    task: &'a Task,
    /// The block, counted in the sequence.
    block: usize,
    /// Rows of it.
    run: Range<usize>,
    whole: [Range<usize>; MAX_ROWS],
}

impl Rows<'_> {
    #[inline(always)]
    fn whole(&self) -> &[Range<usize>] {
        &self.whole[..self.run.len()]
    }
}

/// A tile, and what of it each of some rows reaches into.
struct Tile {
    index: usize,
    spans: [Range<usize>; MAX_ROWS],
    /// The blocks of the tile that any of them reaches into.
    blocks: Range<usize>,
}

impl Tile {
    #[inline(always)]
    fn new(index: usize, whole: &[Range<usize>]) -> Tile {
        let spans = spans_in(index, whole);
        let blocks = blocks_of(&spans[..whole.len()]);
        Tile { index, spans, blocks }
    }
}

/// Scratch space of a thread.
#[derive(Default)]
struct Room {
    /// Scores and what becomes of them, `[tiles, rows]`.
    scores: Vec<TileRow>,
    /// `dP` and what becomes of it, `[tiles, rows]`.
    grads: Vec<TileRow>,
}

impl Room {
    /// Room for so many rows of a tile; what is in it is left from before.
    #[inline(always)]
    fn of(&mut self, rows: usize) -> (&mut [TileRow], &mut [TileRow]) {
        if self.scores.len() < rows {
            self.scores.resize(rows, TileRow::ZERO);
            self.grads.resize(rows, TileRow::ZERO);
        }
        (&mut self.scores[..rows], &mut self.grads[..rows])
    }
}

impl<'a> Pass<'a> {
    fn new(isa: Isa, operands: Operands<'a>, geometry: Geometry) -> Pass<'a> {
        let (heads, dim) = (geometry.num_kv_heads, geometry.head_dim);
        let Packed { q, k, v, cu_seqlens_q, cu_seqlens_k } = operands.rows;
        let keys = Layout::new(cu_seqlens_k, heads, 1, dim);
        let queries = Layout::new(cu_seqlens_q, heads, geometry.group(), dim);
        let lengths = |sums: &'a [u32]| sums.windows(2).map(|w| (w[1] - w[0]) as usize);
        let pairs = lengths(cu_seqlens_q).zip(lengths(cu_seqlens_k));
        let pairs: usize = pairs.map(|(queries, keys)| queries * keys).sum();
        let grad_panels = queries.panels(operands.grad);
        let delta = isa.run(Delta { grad: &grad_panels, out: &queries.panels(operands.out), dim });
        Pass {
            isa,
            cu_seqlens_q,
            cu_seqlens_k,
            geometry,
            parallel: pairs.saturating_mul(geometry.num_heads * dim) >= PARALLEL_WORK,
            key_panels: keys.panels(k),
            key_rows: keys.rows(k),
            value_panels: keys.panels(v),
            query_panels: queries.panels(q),
            query_rows: queries.rows(q),
            grad_panels,
            grad_rows: queries.rows(operands.grad),
            delta,
            keys,
            queries,
        }
    }

    fn run(&self, to: Part<'_>) {
        let g = self.geometry;
        let (dim, zeros) = (g.head_dim, vec![0.0; self.delta.len()]);
        let mut statistics = Statistics { max: zeros.clone(), inverse: zeros };
        let (max, inverse) = (&mut statistics.max, &mut statistics.inverse);
        let [max, inverse] = [max, inverse].map(|of| Shared::new(of, BLOCK));
        let grad_q = Shared::new(to.q, g.num_heads * dim);
        self.each(&self.queries, |tasks| {
            self.isa.run(ByQuery {
                pass: self,
                tasks,
                max: &max,
                inverse: &inverse,
                grad_q: &grad_q,
            });
        });
        let [grad_k, grad_v] = [to.k, to.v].map(|of| Shared::new(of, g.num_kv_heads * dim));
        self.each(&self.keys, |tasks| {
            self.isa.run(ByKey {
                pass: self,
                tasks,
                statistics: &statistics,
                grad_k: &grad_k,
                grad_v: &grad_v,
            });
        });
    }

    /// Gives all blocks of these rows to `run`, in tasks.
    fn each(&self, rows: &Layout, run: impl Fn(&[Task]) + Send + Sync) {
        let mut tasks = Vec::new();
        for (sequence, blocks) in rows.table.iter().enumerate() {
            for first in (0..blocks.len()).step_by(TASK_BLOCKS) {
                let blocks = first..blocks.len().min(first + TASK_BLOCKS);
                tasks.extend((0..self.geometry.num_kv_heads).map(|kv_head| Task {
                    sequence,
                    kv_head,
                    blocks: blocks.clone(),
                }));
            }
        }
        if self.parallel {
            tasks.par_chunks(tasks_a_job(tasks.len())).for_each(run);
        } else {
            run(&tasks);
        }
    }

    /// The blocks of a task's keys (or values).
    #[inline(always)]
    fn keys<'s>(&'s self, pool: &'s [f32], task: &Task) -> Strip<'s> {
        self.keys.strip(pool, task.sequence, task.kv_head)
    }

    /// The blocks of a task's queries (or of the output's gradient, or of statistics).
    #[inline(always)]
    fn queries<'s>(&'s self, pool: &'s [f32], task: &Task) -> Strip<'s> {
        self.queries.strip(pool, task.sequence, task.kv_head)
    }

    /// Rows of the run's queries that are of a task's sequence.
    #[inline(always)]
    fn queries_of(&self, task: &Task) -> Range<usize> {
        let ends = &self.cu_seqlens_q[task.sequence..];
        ends[0] as usize..ends[1] as usize
    }

    /// Rows of the run's keys that are of a task's sequence.
    #[inline(always)]
    fn keys_of(&self, task: &Task) -> Range<usize> {
        let ends = &self.cu_seqlens_k[task.sequence..];
        ends[0] as usize..ends[1] as usize
    }

    /// Positions of a task's sequence before its first query.
    #[inline(always)]
    fn unasked(&self, task: &Task) -> usize {
        self.keys_of(task).len() - self.queries_of(task).len()
    }
}

/// Tiles that any of the spans reaches into.
#[inline(always)]
fn tiles_of(spans: &[Range<usize>]) -> Range<usize> {
    let (mut start, mut end) = (usize::MAX, 0);
    for span in spans {
        start = start.min(span.start);
        end = end.max(span.end);
    }
    start / TILE..end.div_ceil(TILE)
}

/// `D`, as chains like those of [`dots`](super::tile::dots): where a query sees one key only, `dP`
/// and `D` are then the same number, and its gradient is exactly 0.
struct Delta<'a> {
    /// Panels of the output's gradient.
    grad: &'a [f32],
    /// Panels of the output.
    out: &'a [f32],
    dim: usize,
}

impl Kernel for Delta<'_> {
    type Output = Vec<f32>;

    #[inline(always)]
    fn run<L: Lanes>(self) -> Vec<f32> {
        let mut delta = vec![0.0; self.grad.len() / self.dim];
        let panels = self.grad.chunks_exact(self.dim * BLOCK);
        let panels = panels.zip(self.out.chunks_exact(self.dim * BLOCK));
        for ((grad, out), delta) in panels.zip(delta.chunks_exact_mut(BLOCK)) {
            let mut sum = L::splat(0.0);
            for at in (0..self.dim * BLOCK).step_by(BLOCK) {
                sum = part::<L>(grad, at).mul_add(part(out, at), sum);
            }
            put(sum, delta, 0);
        }
        delta
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

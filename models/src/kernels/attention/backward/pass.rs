//! Common parts of the two backward passes: operands in blocks, tasks, tiles and scratch space.

use std::ops::Range;

use rayon::prelude::*;

use crate::kernels::attention::geometry::Geometry;
use crate::kernels::attention::layout::{BlockLayout, Strip};
use crate::kernels::attention::packed::Packed;
use crate::kernels::attention::row::{TILE, TileRow};
use crate::kernels::attention::tasks::tasks_a_job;
use crate::kernels::attention::tile::{MAX_ROWS, blocks_of, score_slope, spans_in};
use crate::kernels::exp::exp;
use crate::kernels::kv_block::BLOCK;
use crate::kernels::norm::{load_or_zero, put};
use crate::kernels::simd::{F32x16, Isa, Kernel};

/// Below this number of multiplications one thread computes a run of sequences.
const PARALLEL_WORK: usize = 1 << 21;

/// Blocks of rows that one task takes.
const TASK_BLOCKS: usize = 2;

/// The forward's operands and result, and the gradient of the result.
#[derive(Clone, Copy, Debug)]
pub struct Operands<'a> {
    /// Queries, keys and values.
    pub rows: Packed<'a>,
    /// `[Tq, heads, head_dim]`: the forward's result.
    pub out: &'a [f32],
    /// `[Tq, heads, head_dim]`: its gradient.
    pub grad: &'a [f32],
}

/// The operands in blocks, shared by both passes. Rows of queries (and of the output and its
/// gradient) are positions times heads of a group.
pub(super) struct Pass<'a> {
    pub(super) isa: Isa,
    pub(super) cu_seqlens_q: &'a [u32],
    pub(super) cu_seqlens_k: &'a [u32],
    pub(super) geometry: Geometry,
    pub(super) parallel: bool,
    pub(super) keys: BlockLayout,
    pub(super) queries: BlockLayout,
    pub(super) key_panels: Vec<f32>,
    pub(super) key_rows: Vec<f32>,
    pub(super) value_panels: Vec<f32>,
    pub(super) query_panels: Vec<f32>,
    pub(super) query_rows: Vec<f32>,
    pub(super) grad_panels: Vec<f32>,
    pub(super) grad_rows: Vec<f32>,
    /// `D` of every query row, as blocks of [`BLOCK`] rows for each key head.
    pub(super) delta: Vec<f32>,
}

/// Statistics of every query row, as blocks of [`BLOCK`] rows for each key head.
pub(super) struct Statistics {
    /// Largest score.
    pub(super) max: Vec<f32>,
    /// 1 over the sum of exponentials.
    pub(super) inverse: Vec<f32>,
}

/// Blocks of rows of one sequence and key head.
#[derive(Clone, Debug)]
pub(super) struct BackwardTask {
    pub(super) sequence: usize,
    pub(super) kv_head: usize,
    pub(super) blocks: Range<usize>,
}

/// Rows of one block, and the span that each sees of the other side.
pub(super) struct BlockRows<'a> {
    pub(super) task: &'a BackwardTask,
    /// The block, counted in the sequence.
    pub(super) block: usize,
    /// Rows of it.
    pub(super) run: Range<usize>,
    /// The positions of the other side that each row sees.
    pub(super) spans: [Range<usize>; MAX_ROWS],
}

impl BlockRows<'_> {
    #[inline(always)]
    pub(super) fn spans(&self) -> &[Range<usize>] {
        &self.spans[..self.run.len()]
    }
}

/// A tile, and the part that each row sees of it.
pub(super) struct ScoreTile {
    pub(super) index: usize,
    /// The positions of the tile that each row sees.
    pub(super) spans: [Range<usize>; MAX_ROWS],
    /// The blocks of the tile that at least one row sees.
    pub(super) blocks: Range<usize>,
}

impl ScoreTile {
    #[inline(always)]
    pub(super) fn new(index: usize, spans: &[Range<usize>]) -> ScoreTile {
        let in_tile = spans_in(index, spans);
        let blocks = blocks_of(&in_tile[..spans.len()]);
        ScoreTile { index, spans: in_tile, blocks }
    }
}

/// Scratch space of a thread.
#[derive(Default)]
pub(super) struct Scratch {
    /// Scores, then `P`, `[tiles, rows]`.
    pub(super) scores: Vec<TileRow>,
    /// `dP`, then `dS`, `[tiles, rows]`.
    pub(super) grads: Vec<TileRow>,
}

impl Scratch {
    /// Scratch for this many rows of a tile; holds old content.
    #[inline(always)]
    pub(super) fn of(&mut self, rows: usize) -> (&mut [TileRow], &mut [TileRow]) {
        if self.scores.len() < rows {
            self.scores.resize(rows, TileRow::ZERO);
            self.grads.resize(rows, TileRow::ZERO);
        }
        (&mut self.scores[..rows], &mut self.grads[..rows])
    }
}

impl<'a> Pass<'a> {
    pub(super) fn new(isa: Isa, operands: Operands<'a>, geometry: Geometry) -> Pass<'a> {
        let (heads, dim) = (geometry.num_kv_heads, geometry.head_dim);
        let Packed { q, k, v, cu_seqlens_q, cu_seqlens_k } = operands.rows;
        let keys = BlockLayout::new(cu_seqlens_k, heads, 1, dim);
        let queries = BlockLayout::new(cu_seqlens_q, heads, geometry.group(), dim);
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

    /// Passes all blocks of these rows to `run`, in tasks.
    pub(super) fn each(&self, rows: &BlockLayout, run: impl Fn(&[BackwardTask]) + Send + Sync) {
        let mut tasks = Vec::new();
        for (sequence, blocks) in rows.table.iter().enumerate() {
            for first in (0..blocks.len()).step_by(TASK_BLOCKS) {
                let blocks = first..blocks.len().min(first + TASK_BLOCKS);
                tasks.extend((0..self.geometry.num_kv_heads).map(|kv_head| BackwardTask {
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
    pub(super) fn keys<'s>(&'s self, pool: &'s [f32], task: &BackwardTask) -> Strip<'s> {
        self.keys.strip(pool, task.sequence, task.kv_head)
    }

    /// The blocks of a task's queries (or of the output's gradient, or of statistics).
    #[inline(always)]
    pub(super) fn queries<'s>(&'s self, pool: &'s [f32], task: &BackwardTask) -> Strip<'s> {
        self.queries.strip(pool, task.sequence, task.kv_head)
    }

    /// Rows of the run's queries that belong to a task's sequence.
    #[inline(always)]
    pub(super) fn queries_of(&self, task: &BackwardTask) -> Range<usize> {
        let ends = &self.cu_seqlens_q[task.sequence..];
        ends[0] as usize..ends[1] as usize
    }

    /// Rows of the run's keys that belong to a task's sequence.
    #[inline(always)]
    pub(super) fn keys_of(&self, task: &BackwardTask) -> Range<usize> {
        let ends = &self.cu_seqlens_k[task.sequence..];
        ends[0] as usize..ends[1] as usize
    }

    /// Positions of a task's sequence before its first query.
    #[inline(always)]
    pub(super) fn unasked(&self, task: &BackwardTask) -> usize {
        self.keys_of(task).len() - self.queries_of(task).len()
    }
}

/// Tiles that at least one of the spans reaches into.
#[inline(always)]
pub(super) fn tiles_of(spans: &[Range<usize>]) -> Range<usize> {
    let (mut start, mut end) = (usize::MAX, 0);
    for span in spans {
        start = start.min(span.start);
        end = end.max(span.end);
    }
    start / TILE..end.div_ceil(TILE)
}

/// `D`, as chains like those of [`dots`](crate::kernels::attention::tile::dots): if a query sees
/// only one key, `dP` and `D` are then the same number, and its gradient is exactly 0.
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
    fn run<L: F32x16>(self) -> Vec<f32> {
        let mut delta = vec![0.0; self.grad.len() / self.dim];
        let panels = self.grad.chunks_exact(self.dim * BLOCK);
        let panels = panels.zip(self.out.chunks_exact(self.dim * BLOCK));
        for ((grad, out), delta) in panels.zip(delta.chunks_exact_mut(BLOCK)) {
            let mut sum = L::splat(0.0);
            for at in (0..self.dim * BLOCK).step_by(BLOCK) {
                sum = load_or_zero::<L>(grad, at).mul_add(load_or_zero(out, at), sum);
            }
            put(sum, delta, 0);
        }
        delta
    }
}

/// `P` and `dS` from a score, `dP` and the row's maximum, inverse sum and `D`.
#[inline(always)]
pub(super) fn slopes<L: F32x16>(score: L, grad: L, of_row: [L; 3], geometry: &Geometry) -> (L, L) {
    let [max, inverse, delta] = of_row;
    let p = exp(score.sub(max)).mul(inverse);
    let slope = p.mul(grad.sub(delta));
    (p, slope.mul(score_slope(score, geometry)))
}

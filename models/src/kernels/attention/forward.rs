//! The forward pass: an online softmax over tiles of keys.

#![expect(unsafe_code, reason = "tasks write disjoint parts of one output at once")]

use std::ops::Range;

use rayon::prelude::*;

use super::geometry::Geometry;
use super::lane::{KvLane, key_lanes, prefetch_lanes, value_lanes};
use super::layout::{Blocks, Strip};
use super::row::{TILE, TILE_BLOCKS, TileRow};
use super::tasks::{HeadTask, even_runs, tasks, tasks_a_job};
use super::tile::{
    MAX_ROWS, Summands, blocks_of, dots, interleave, mask_outside, most_rows, scaled_score,
    span_in, sums_stride,
};
use crate::kernels::exp::exp;
use crate::kernels::norm::{load_or_zero, put};
use crate::kernels::simd::{F32x16, Isa, Kernel, LANES};
use crate::kernels::threads::Shared;

/// Query rows (positions times heads of a group) that one task takes: seven micro-tiles of eight,
/// so that a group of seven heads (Qwen2.5) fills them.
pub(super) const TASK_ROWS: usize = 56;

/// Below this number of multiplications one thread computes everything.
pub(super) const PARALLEL_WORK: usize = 1 << 18;

/// Queries, and the numbers of queries and keys of each sequence.
#[derive(Clone, Copy, Debug)]
pub struct Queries<'a> {
    /// `[T, heads, head_dim]`. Queries of a sequence are its last positions: query `i` of `n`, with
    /// `m` keys, is at `m - n + i`.
    pub q: &'a [f32],
    /// `[B + 1]` running sums of queries.
    pub cu_seqlens_q: &'a [u32],
    /// `[B + 1]` running sums of keys.
    pub cu_seqlens_k: &'a [u32],
}

impl Queries<'_> {
    /// Offset from a row of the sequence to its position.
    fn position(&self, sequence: usize, row: usize) -> usize {
        let keys = (self.cu_seqlens_k[sequence + 1] - self.cu_seqlens_k[sequence]) as usize;
        keys - (self.cu_seqlens_q[sequence + 1] as usize - row)
    }

    /// Approximate number of multiplications of a product with all keys.
    fn work(&self, width: usize) -> usize {
        let pairs = self.cu_seqlens_q.windows(2).zip(self.cu_seqlens_k.windows(2));
        let pairs = pairs.map(|(q, k)| (q[1] - q[0]) as usize * (k[1] - k[0]) as usize);
        pairs.sum::<usize>().saturating_mul(width)
    }
}

/// `out [T, heads, head_dim]`: the attention of every query over the keys at or before its
/// position.
pub fn forward<T: KvLane>(
    isa: Isa,
    queries: Queries<'_>,
    blocks: Blocks<'_, T>,
    geometry: Geometry,
    out: &mut [f32],
) {
    let heads = geometry.num_kv_heads;
    let rows = (TASK_ROWS / geometry.group()).max(1);
    let tasks = tasks(queries.cu_seqlens_q, heads, rows);
    let out = &Shared::new(out, geometry.num_heads * geometry.head_dim);
    let run = |tasks: &[HeadTask]| {
        isa.run(AttentionForward { queries, blocks, geometry, tasks, out });
    };
    if queries.work(geometry.num_heads * geometry.head_dim) < PARALLEL_WORK {
        run(&tasks);
    } else {
        tasks.par_chunks(tasks_a_job(tasks.len())).for_each(run);
    }
}

/// Tasks, computed one after the other.
struct AttentionForward<'a, T> {
    queries: Queries<'a>,
    blocks: Blocks<'a, T>,
    geometry: Geometry,
    tasks: &'a [HeadTask],
    /// `[T, heads · head_dim]`.
    out: &'a Shared<'a>,
}

impl<T: KvLane> AttentionForward<'_, T> {
    fn keys(&self, task: &HeadTask) -> Strip<'_, T> {
        self.strip(self.blocks.keys, task, key_lanes::<T>(self.geometry.head_dim))
    }

    fn values(&self, task: &HeadTask) -> Strip<'_, T> {
        self.strip(self.blocks.values, task, value_lanes::<T>(self.geometry.head_dim))
    }

    fn strip<'a>(&'a self, pool: &'a [T], task: &HeadTask, size: usize) -> Strip<'a, T> {
        Strip {
            pool,
            table: &self.blocks.table[task.sequence],
            num_heads: self.geometry.num_kv_heads,
            head: task.kv_head,
            size,
        }
    }

    /// Copies the queries of a range of rows into the order of [`dots`].
    #[inline(always)]
    fn interleave(&self, task: &HeadTask, run: Range<usize>, to: &mut [T]) {
        let (group, dim) = (self.geometry.group(), self.geometry.head_dim);
        let row = |i: usize| {
            let (row, head) = (task.rows.start + i / group, i % group);
            let head = task.kv_head * group + head;
            &self.queries.q[(row * self.geometry.num_heads + head) * dim..][..dim]
        };
        interleave(run.map(row), to);
    }

    #[inline(always)]
    fn task<L: F32x16>(&self, task: &HeadTask, scratch: &mut Scratch<T>) {
        let (group, dim) = (self.geometry.group(), self.geometry.head_dim);
        let depth = dim.div_ceil(T::NUMBERS);
        let n_rows = task.rows.len() * group;
        let runs = || even_runs(n_rows, most_rows::<L>());
        scratch.begin(n_rows, dim);
        for run in runs() {
            let left = &mut scratch.queries[run.start * depth..run.end * depth];
            self.interleave(task, run, left);
        }
        let first_position = self.queries.position(task.sequence, task.rows.start);
        let mut state = SoftmaxState {
            geometry: &self.geometry,
            keys: self.keys(task),
            values: self.values(task),
            first_position,
            scratch: &mut *scratch,
        };
        let last_position = first_position + task.rows.len() - 1;
        let first_key = self.geometry.first_key(first_position);
        for tile in first_key / TILE..=last_position / TILE {
            for run in runs() {
                state.step::<L>(tile, &run);
            }
        }
        let columns = task.kv_head * group * dim..(task.kv_head + 1) * group * dim;
        // SAFETY: a task's rows and key head belong to no other task.
        let mut out = unsafe { self.out.part(task.rows.clone(), columns) };
        for (i, sums) in scratch.sums.chunks_exact(sums_stride(dim)).enumerate() {
            let total = L::splat(scratch.total[i]);
            let out = &mut out.row(i / group)[i % group * dim..][..dim];
            for at in (0..dim).step_by(LANES) {
                put(load_or_zero::<L>(sums, at).div(total), out, at);
            }
        }
    }
}

impl<T: KvLane> Kernel for AttentionForward<'_, T> {
    type Output = ();
    const DOTS_PAIRS: bool = T::NUMBERS > 1;

    #[inline(always)]
    fn run<L: F32x16>(self) {
        let mut scratch = Scratch::<T>::new();
        for (at, task) in self.tasks.iter().enumerate() {
            // A short sequence gives no other time to prefetch the next one's keys.
            if let Some(next) = self.tasks.get(at + 1) {
                let keys = self.keys(next);
                for block in 0..keys.table.len().min(TILE_BLOCKS) {
                    prefetch_lanes::<T, L>(keys.block(block));
                }
            }
            self.task::<L>(task, &mut scratch);
        }
    }
}

/// Scratch space of a task.
struct Scratch<T: KvLane> {
    /// The queries, run by run.
    queries: Vec<T>,
    /// Largest score so far, of each row.
    max: Vec<f32>,
    /// Sum of exponentials so far.
    total: Vec<f32>,
    /// Weighted values so far, `[rows, stride]`.
    sums: Vec<f32>,
    /// Products, then scores, of a micro-tile's rows. Only blocks that were written are read.
    scores: [TileRow; MAX_ROWS],
    /// Their weights, likewise.
    weights: [T::Weights; MAX_ROWS],
}

impl<T: KvLane> Scratch<T> {
    fn new() -> Scratch<T> {
        Scratch {
            queries: Vec::new(),
            max: Vec::new(),
            total: Vec::new(),
            sums: Vec::new(),
            scores: [TileRow::ZERO; MAX_ROWS],
            weights: [T::NONE; MAX_ROWS],
        }
    }

    fn begin(&mut self, n_rows: usize, dim: usize) {
        // Old content of `queries` is overwritten.
        self.queries.resize(n_rows * dim.div_ceil(T::NUMBERS), T::default());
        let begin = |numbers: &mut Vec<f32>, n: usize, first: f32| {
            numbers.clear();
            numbers.resize(n, first);
        };
        begin(&mut self.max, n_rows, f32::NEG_INFINITY);
        begin(&mut self.total, n_rows, 0.0);
        begin(&mut self.sums, n_rows * sums_stride(dim), 0.0);
    }
}

/// The state of a task's rows between tiles.
struct SoftmaxState<'a, T: KvLane> {
    geometry: &'a Geometry,
    keys: Strip<'a, T>,
    values: Strip<'a, T>,
    /// Position of row 0.
    first_position: usize,
    scratch: &'a mut Scratch<T>,
}

impl<T: KvLane> SoftmaxState<'_, T> {
    /// The keys that a row sees.
    fn keys_of(&self, row: usize) -> Range<usize> {
        let position = self.first_position + row / self.geometry.group();
        self.geometry.first_key(position)..position + 1
    }

    /// Processes a range of rows over one tile.
    #[inline(always)]
    fn step<L: F32x16>(&mut self, tile: usize, run: &Range<usize>) {
        let (n, dim) = (run.len(), self.geometry.head_dim);
        let mut spans = [const { 0..0 }; MAX_ROWS];
        let spans = &mut spans[..n];
        for (row, span) in run.clone().zip(spans.iter_mut()) {
            *span = span_in(tile, &self.keys_of(row));
        }
        let depth = dim.div_ceil(T::NUMBERS);
        let left = &self.scratch.queries[run.start * depth..run.end * depth];
        let blocks = blocks_of(spans);
        if run.start == 0 {
            for block in blocks.clone() {
                prefetch_lanes::<T, L>(self.values.block(tile * TILE_BLOCKS + block));
            }
        }
        for block in blocks.clone() {
            let panel = self.keys.block(tile * TILE_BLOCKS + block);
            dots::<T, L>(left, panel, block, &mut self.scratch.scores[..n]);
        }
        self.online_softmax::<L>((spans, &blocks), run.start);
        let stride = sums_stride(dim);
        let Scratch { sums, weights, .. } = &mut *self.scratch;
        let sums = &mut sums[run.start * stride..run.end * stride];
        Summands { strip: self.values, tile, dim }.add::<L>(&weights[..n], spans, sums);
    }

    /// Turns products into weights under the running maximum, and rescales the sums under an older
    /// one.
    #[inline(always)]
    fn online_softmax<L: F32x16>(
        &mut self,
        (spans, blocks): (&[Range<usize>], &Range<usize>),
        first: usize,
    ) {
        let (mut old, mut new) = ([0.0; LANES], [0.0; LANES]);
        let n = spans.len().min(MAX_ROWS);
        for r in 0..n {
            let span = &spans[r];
            if !span.is_empty() {
                let scores = &mut self.scratch.scores[r];
                let largest = scores_of::<L>(scores, (span, blocks), self.geometry);
                old[r] = self.scratch.max[first + r];
                new[r] = if largest > old[r] { largest } else { old[r] };
            }
        }
        let factors = exp(L::load(&old).sub(L::load(&new))).to_array();
        for r in 0..n {
            if !spans[r].is_empty() {
                let Scratch { scores, weights, .. } = &mut *self.scratch;
                let sum = T::weigh::<L>(&scores[r], blocks, new[r], &mut weights[r]);
                self.scratch.max[first + r] = new[r];
                let total = &mut self.scratch.total[first + r];
                *total = total.mul_add(factors[r], sum);
                self.rescale::<L>(first + r, factors[r]);
            }
        }
    }

    #[inline(always)]
    fn rescale<L: F32x16>(&mut self, row: usize, factor: f32) {
        // Multiplying by 1 has no effect, and most tiles bring no new maximum.
        if factor.to_bits() != 1.0_f32.to_bits() {
            let stride = sums_stride(self.geometry.head_dim);
            let sums = &mut self.scratch.sums[row * stride..(row + 1) * stride];
            for at in (0..stride).step_by(LANES) {
                let lanes = load_or_zero::<L>(sums, at).mul(L::splat(factor));
                put(T::rescaled(lanes), sums, at);
            }
        }
    }
}

/// Products to scores, −∞ outside the span; returns the largest. Only the blocks that hold the span
/// are computed.
#[inline(always)]
pub(super) fn scores_of<L: F32x16>(
    products: &mut TileRow,
    (span, blocks): (&Range<usize>, &Range<usize>),
    geometry: &Geometry,
) -> f32 {
    let mut largest = L::splat(f32::NEG_INFINITY);
    for block in blocks.clone() {
        let mut scores = scaled_score(products.block::<L>(block), geometry);
        if span.len() < TILE {
            scores = mask_outside(scores, block, span);
        }
        products.set_block(block, scores);
        largest = scores.max(largest);
    }
    largest.largest()
}

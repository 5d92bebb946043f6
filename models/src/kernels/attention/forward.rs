//! The forward pass: an online softmax over tiles of keys.

use std::ops::Range;

use rayon::prelude::*;

use super::Geometry;
use super::layout::{Blocks, Strip};
use super::tasks::{Task, deal, even_runs, tasks};
use super::tile::{
    MAX_ROWS, Summands, TILE, TILE_BLOCKS, TileRow, blocks_of, dots, interleave, most_rows, score,
    span_in, within,
};
use crate::kernels::exp::exp;
use crate::kernels::lanes::{Isa, Kernel, LANES, Lanes};
use crate::kernels::norm::{part, put};
use crate::kv::BLOCK;

/// Query rows (positions times heads of a group) that one task takes: seven micro-tiles of eight,
/// so that a group of seven heads (Qwen2.5) fills them.
pub(super) const TASK_ROWS: usize = 56;

/// Multiplications below which one thread does it all.
pub(super) const PARALLEL_WORK: usize = 1 << 18;

/// What is asked: queries, and how many of them and of the keys each sequence has.
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
    /// Position of the sequence's first query, less its row: what is added to a row.
    fn position(&self, sequence: usize, row: usize) -> usize {
        let keys = (self.cu_seqlens_k[sequence + 1] - self.cu_seqlens_k[sequence]) as usize;
        keys - (self.cu_seqlens_q[sequence + 1] as usize - row)
    }

    /// About how many multiplications a product with all keys takes.
    fn work(&self, width: usize) -> usize {
        let pairs = self
            .cu_seqlens_q
            .windows(2)
            .zip(self.cu_seqlens_k.windows(2));
        let pairs = pairs.map(|(q, k)| (q[1] - q[0]) as usize * (k[1] - k[0]) as usize);
        pairs.sum::<usize>().saturating_mul(width)
    }
}

/// `out [T, heads, head_dim]`: the attention of every query over the keys at or before its
/// position.
pub fn forward(
    isa: Isa,
    queries: Queries<'_>,
    blocks: Blocks<'_>,
    geometry: Geometry,
    out: &mut [f32],
) {
    let heads = geometry.num_kv_heads;
    let rows = (TASK_ROWS / geometry.group()).max(1);
    let tasks = tasks(queries.cu_seqlens_q, heads, rows);
    let hands = deal(&tasks, heads, geometry.group() * geometry.head_dim, out);
    let run = |(task, out): (&Task, Vec<&mut [f32]>)| {
        isa.run(Forward {
            queries,
            blocks,
            geometry,
            task,
            out,
        });
    };
    if queries.work(geometry.num_heads * geometry.head_dim) < PARALLEL_WORK {
        tasks.iter().zip(hands).for_each(run);
    } else {
        tasks.par_iter().zip(hands).for_each(run);
    }
}

/// One task.
struct Forward<'a, 'o> {
    queries: Queries<'a>,
    blocks: Blocks<'a>,
    geometry: Geometry,
    task: &'a Task,
    /// For each row of the task, the group's heads.
    out: Vec<&'o mut [f32]>,
}

impl Forward<'_, '_> {
    fn strip<'a>(&'a self, pool: &'a [f32]) -> Strip<'a> {
        Strip {
            pool,
            table: &self.blocks.table[self.task.sequence],
            num_heads: self.geometry.num_kv_heads,
            head: self.task.kv_head,
            size: self.geometry.head_dim * BLOCK,
        }
    }

    /// The queries of a run of rows, as [`dots`] takes them.
    fn interleave(&self, run: Range<usize>, to: &mut [f32]) {
        let (group, dim) = (self.geometry.group(), self.geometry.head_dim);
        let row = |i: usize| {
            let (row, head) = (self.task.rows.start + i / group, i % group);
            let head = self.task.kv_head * group + head;
            &self.queries.q[(row * self.geometry.num_heads + head) * dim..][..dim]
        };
        interleave(run.map(row), to);
    }
}

impl Kernel for Forward<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(mut self) {
        let (group, dim) = (self.geometry.group(), self.geometry.head_dim);
        let n_rows = self.task.rows.len() * group;
        let runs: Vec<Range<usize>> = even_runs(n_rows, most_rows::<L>()).collect();
        let mut left = vec![0.0; n_rows * dim];
        for run in &runs {
            self.interleave(run.clone(), &mut left[run.start * dim..run.end * dim]);
        }
        let first_position = self
            .queries
            .position(self.task.sequence, self.task.rows.start);
        let mut state = State {
            geometry: &self.geometry,
            keys: self.strip(self.blocks.keys),
            values: self.strip(self.blocks.values),
            left: &left,
            first_position,
            max: vec![f32::NEG_INFINITY; n_rows],
            total: vec![0.0; n_rows],
            sums: vec![0.0; n_rows * Summands::stride(dim)],
        };
        let last_position = first_position + self.task.rows.len() - 1;
        let first_key = self.geometry.first_key(first_position);
        for tile in first_key / TILE..=last_position / TILE {
            for run in &runs {
                state.step::<L>(tile, run);
            }
        }
        let (sums, total) = (state.sums, state.total);
        for (i, sums) in sums.chunks_exact(Summands::stride(dim)).enumerate() {
            let total = L::splat(total[i]);
            let out = &mut self.out[i / group][i % group * dim..][..dim];
            for at in (0..dim).step_by(LANES) {
                put(part::<L>(sums, at).div(total), out, at);
            }
        }
    }
}

/// The rows of a task on their way through the tiles.
struct State<'a> {
    geometry: &'a Geometry,
    keys: Strip<'a>,
    values: Strip<'a>,
    /// The queries, run by run.
    left: &'a [f32],
    /// Position of row 0.
    first_position: usize,
    /// Largest score so far.
    max: Vec<f32>,
    /// Sum of exponentials so far.
    total: Vec<f32>,
    /// Weighted values so far, `[rows, stride]`.
    sums: Vec<f32>,
}

impl State<'_> {
    /// The keys that a row sees.
    fn keys_of(&self, row: usize) -> Range<usize> {
        let position = self.first_position + row / self.geometry.group();
        self.geometry.first_key(position)..position + 1
    }

    /// Takes a run of rows over one tile.
    #[inline(always)]
    fn step<L: Lanes>(&mut self, tile: usize, run: &Range<usize>) {
        let (n, dim) = (run.len(), self.geometry.head_dim);
        let mut spans = [const { 0..0 }; MAX_ROWS];
        let spans = &mut spans[..n];
        for (row, span) in run.clone().zip(spans.iter_mut()) {
            *span = span_in(tile, &self.keys_of(row));
        }
        let mut weights = [TileRow::ZERO; MAX_ROWS];
        let weights = &mut weights[..n];
        let left = &self.left[run.start * dim..run.end * dim];
        for block in blocks_of(spans) {
            let panel = self.keys.block(tile * TILE_BLOCKS + block);
            dots::<L>(left, panel, block, weights);
        }
        self.soften::<L>(weights, spans, run.start);
        let stride = Summands::stride(dim);
        let sums = &mut self.sums[run.start * stride..run.end * stride];
        Summands {
            strip: self.values,
            tile,
            dim,
        }
        .add::<L>(weights, spans, sums);
    }

    /// Turns products into weights under the running maximum, and rescales what was summed under
    /// an older one.
    #[inline(always)]
    fn soften<L: Lanes>(&mut self, scores: &mut [TileRow], spans: &[Range<usize>], first: usize) {
        let (mut old, mut new) = ([0.0; LANES], [0.0; LANES]);
        for (r, span) in spans.iter().enumerate() {
            if !span.is_empty() {
                let largest = scores_of::<L>(&mut scores[r], span, self.geometry);
                old[r] = self.max[first + r];
                new[r] = if largest > old[r] { largest } else { old[r] };
            }
        }
        let factors = exp(L::load(&old).sub(L::load(&new))).to_array();
        for (r, span) in spans.iter().enumerate() {
            if !span.is_empty() {
                let sum = exponentials::<L>(&mut scores[r], new[r]);
                self.max[first + r] = new[r];
                self.total[first + r] = self.total[first + r].mul_add(factors[r], sum);
                self.rescale::<L>(first + r, factors[r]);
            }
        }
    }

    #[inline(always)]
    fn rescale<L: Lanes>(&mut self, row: usize, factor: f32) {
        // Multiplying by 1 changes nothing, and most tiles bring no new maximum.
        if factor.to_bits() != 1.0_f32.to_bits() {
            let stride = Summands::stride(self.geometry.head_dim);
            let sums = &mut self.sums[row * stride..(row + 1) * stride];
            for at in (0..stride).step_by(LANES) {
                put(part::<L>(sums, at).mul(L::splat(factor)), sums, at);
            }
        }
    }
}

/// Products to scores, −∞ outside the span; gives the largest.
#[inline(always)]
pub(super) fn scores_of<L: Lanes>(
    products: &mut TileRow,
    span: &Range<usize>,
    geometry: &Geometry,
) -> f32 {
    let mut largest = L::splat(f32::NEG_INFINITY);
    for block in 0..TILE_BLOCKS {
        let mut scores = score(products.block::<L>(block), geometry);
        if span.len() < TILE {
            scores = within(scores, block, span);
        }
        products.set_block(block, scores);
        largest = scores.max(largest);
    }
    largest.largest()
}

/// `e^(score − max)` in place; gives their sum. What was masked becomes 0.
#[inline(always)]
fn exponentials<L: Lanes>(scores: &mut TileRow, max: f32) -> f32 {
    let mut sum = L::splat(0.0);
    for block in 0..TILE_BLOCKS {
        let weight = exp(scores.block::<L>(block).sub(L::splat(max)));
        scores.set_block(block, weight);
        sum = sum.add(weight);
    }
    sum.sum()
}

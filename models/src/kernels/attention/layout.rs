//! Rows of packed sequences as blocks of sixteen: panels for products along the head's dimensions,
//! rows for sums along positions.

use rayon::prelude::*;

use super::lane::{KvLane, key_lanes, value_lanes};
use crate::kernels::kv_block::{BLOCK, BlockId};
use crate::kernels::split::is_large;

/// Keys and values in blocks, and the blocks of each sequence.
#[derive(Clone, Copy, Debug)]
pub struct Blocks<'a, T> {
    /// `[n_blocks, kv_heads, head_dim / NUMBERS, BLOCK]`.
    pub keys: &'a [T],
    /// `[n_blocks, kv_heads, BLOCK / NUMBERS, head_dim]`.
    pub values: &'a [T],
    /// The blocks of each sequence in order of position.
    pub table: &'a [Vec<BlockId>],
}

/// The blocks of one sequence and head, in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strip<'a, T = f32> {
    pub(super) pool: &'a [T],
    pub(super) table: &'a [BlockId],
    pub(super) num_heads: usize,
    pub(super) head: usize,
    /// Lanes in one block of one head.
    pub(super) size: usize,
}

impl<'a, T> Strip<'a, T> {
    /// The lanes of one block.
    #[inline(always)]
    pub(super) fn block(&self, index: usize) -> &'a [T] {
        let at = (self.table[index].0 as usize * self.num_heads + self.head) * self.size;
        &self.pool[at..at + self.size]
    }
}

/// Places of the rows of packed sequences in blocks: each sequence starts at a block of its own.
///
/// The source is `[T, heads · group, dim]`. One head of the blocks holds `group` heads of the
/// source: their rows follow each other within a position, positions within a sequence.
#[derive(Clone, Debug)]
pub struct BlockLayout {
    /// The blocks of each sequence.
    pub table: Vec<Vec<BlockId>>,
    /// For each block, the first of its positions in the source (times `group`) and its rows.
    runs: Vec<(usize, usize)>,
    heads: usize,
    group: usize,
    dim: usize,
}

impl BlockLayout {
    /// Lays out sequences that end at `cu_seqlens[1..]`.
    pub fn new(cu_seqlens: &[u32], heads: usize, group: usize, dim: usize) -> BlockLayout {
        let mut layout = BlockLayout { table: Vec::new(), runs: Vec::new(), heads, group, dim };
        for ends in cu_seqlens.windows(2) {
            let (first, end) = (ends[0] as usize * group, ends[1] as usize * group);
            let blocks = (first..end).step_by(BLOCK).map(|row| {
                layout.runs.push((row, BLOCK.min(end - row)));
                BlockId(u32::try_from(layout.runs.len() - 1).expect("fewer blocks than tokens"))
            });
            layout.table.push(blocks.collect());
        }
        layout
    }

    /// `[n_blocks, heads, dim / NUMBERS, BLOCK]`, zeros where a sequence has ended.
    pub fn panels<T: KvLane>(&self, x: &[f32]) -> Vec<T> {
        let size = key_lanes::<T>(self.dim);
        self.fill(x, size, |block, row, from| T::write_key(block, BLOCK, row, from))
    }

    /// `[n_blocks, heads, BLOCK / NUMBERS, dim]`, zeros where a sequence has ended.
    pub fn rows<T: KvLane>(&self, x: &[f32]) -> Vec<T> {
        self.fill(x, value_lanes::<T>(self.dim), T::write_value)
    }

    /// Calls `put(block of one head, row within the block, its numbers)` for every row and head;
    /// `size` is that of the block.
    fn fill<T: KvLane>(
        &self,
        x: &[f32],
        size: usize,
        put: impl Fn(&mut [T], usize, &[f32]) + Sync,
    ) -> Vec<T> {
        let mut out = vec![T::default(); self.runs.len() * self.heads * size];
        let run = |(block, (first, rows)): (&mut [T], &(usize, usize))| {
            for (head, block) in block.chunks_exact_mut(size).enumerate() {
                for row in 0..*rows {
                    put(block, row, self.row(x, first + row, head));
                }
            }
        };
        let all = self.heads * size;
        if is_large(out.len()) {
            let blocks = out.par_chunks_exact_mut(all);
            blocks.zip(self.runs.par_iter()).with_min_len(4).for_each(run);
        } else {
            out.chunks_exact_mut(all).zip(&self.runs).for_each(run);
        }
        out
    }

    /// Rows of a sequence's block before its end.
    pub(super) fn rows_in(&self, sequence: usize, block: usize) -> usize {
        self.runs[self.table[sequence][block].0 as usize].1
    }

    /// Index of a block of a sequence and head among all blocks and heads.
    pub(super) fn place(&self, sequence: usize, block: usize, head: usize) -> usize {
        self.table[sequence][block].0 as usize * self.heads + head
    }

    /// Row `row` (position times group, plus the head within the group) of a head.
    fn row<'a>(&self, x: &'a [f32], row: usize, head: usize) -> &'a [f32] {
        let (position, member) = (row / self.group, row % self.group);
        let at = ((position * self.heads + head) * self.group + member) * self.dim;
        &x[at..at + self.dim]
    }

    /// The blocks of one sequence and head in a pool that this layout made.
    pub(super) fn strip<'a>(&'a self, pool: &'a [f32], sequence: usize, head: usize) -> Strip<'a> {
        Strip {
            pool,
            table: &self.table[sequence],
            num_heads: self.heads,
            head,
            size: pool.len() / (self.runs.len() * self.heads).max(1),
        }
    }
}

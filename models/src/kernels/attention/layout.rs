//! Rows of packed sequences as blocks of sixteen: panels for products along the head's dimensions,
//! rows for sums along positions.

use rayon::prelude::*;

use crate::kernels::kv_block::{BLOCK, BlockId};
use crate::kernels::split::is_large;

/// Keys and values in blocks, and the blocks of each sequence.
#[derive(Clone, Copy, Debug)]
pub struct Blocks<'a> {
    /// `[n_blocks, kv_heads, head_dim, BLOCK]`.
    pub keys: &'a [f32],
    /// `[n_blocks, kv_heads, BLOCK, head_dim]`.
    pub values: &'a [f32],
    /// The blocks of each sequence in order of position.
    pub table: &'a [Vec<BlockId>],
}

/// The blocks of one sequence and head, in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strip<'a> {
    pub(super) pool: &'a [f32],
    pub(super) table: &'a [BlockId],
    pub(super) num_heads: usize,
    pub(super) head: usize,
    /// Numbers in one block of one head.
    pub(super) size: usize,
}

impl<'a> Strip<'a> {
    /// The numbers of one block.
    #[inline(always)]
    pub(super) fn block(&self, index: usize) -> &'a [f32] {
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

    /// `[n_blocks, heads, dim, BLOCK]`, zeros where a sequence has ended.
    pub fn panels(&self, x: &[f32]) -> Vec<f32> {
        self.fill(x, |row, from, block| {
            for (to, value) in block.chunks_exact_mut(BLOCK).zip(from) {
                to[row] = *value;
            }
        })
    }

    /// `[n_blocks, heads, BLOCK, dim]`, zeros where a sequence has ended.
    pub fn rows(&self, x: &[f32]) -> Vec<f32> {
        self.fill(x, |row, from, block| {
            block[row * self.dim..(row + 1) * self.dim].copy_from_slice(from);
        })
    }

    /// Calls `put(row within the block, its numbers, block of one head)` for every row and head.
    fn fill(&self, x: &[f32], put: impl Fn(usize, &[f32], &mut [f32]) + Sync) -> Vec<f32> {
        let mut out = vec![0.0; self.runs.len() * self.heads * BLOCK * self.dim];
        let size = self.heads * BLOCK * self.dim;
        let run = |(block, (first, rows)): (&mut [f32], &(usize, usize))| {
            for (head, block) in block.chunks_exact_mut(BLOCK * self.dim).enumerate() {
                for row in 0..*rows {
                    put(row, self.row(x, first + row, head), block);
                }
            }
        };
        if is_large(out.len()) {
            let blocks = out.par_chunks_exact_mut(size);
            blocks.zip(self.runs.par_iter()).with_min_len(4).for_each(run);
        } else {
            out.chunks_exact_mut(size).zip(&self.runs).for_each(run);
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

//! Parts of a batch in parallel.
//!
//! The kernels of a small model are too short to be split between threads, which would synchronise
//! after each of them. A batch of several sequences is split instead, and every part runs through
//! the model on a thread of its own. No row's bits depend on its neighbours, so the split cannot
//! change them.

use std::ops::Range;
use std::sync::OnceLock;

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::batch::{Paging, RaggedBatch};
use crate::config::ModelConfig;
use crate::kernels::kv_block::BLOCK;

/// Models of fewer parameters are small: their weights fit in a cache that the cores share, so that
/// reading them in every shard costs little.
const SMALL: u64 = 32 << 20;

/// Minimum tokens of a shard.
const TOKENS: usize = 16;

/// One thread for each part.
#[derive(Debug)]
pub(super) struct BatchShards {
    is_small: bool,
    /// Created at first use: empty if the current pool has one thread, or the system refuses
    /// threads.
    pools: OnceLock<Vec<ThreadPool>>,
}

impl BatchShards {
    pub(super) fn new(config: &ModelConfig) -> BatchShards {
        BatchShards {
            is_small: config.parameters().is_some_and(|n| n < SMALL),
            pools: OnceLock::new(),
        }
    }

    /// Splits the batch into independent parts; `None` if it is not worth splitting, or cannot be
    /// split.
    pub(super) fn parts(&self, batch: &RaggedBatch) -> Option<Vec<RaggedBatch>> {
        let most = batch.n_sequences().min(batch.n_tokens() / TOKENS);
        if !self.is_small || most < 2 || batch.sharing.is_some() {
            return None;
        }
        let pools = self.pools.get_or_init(one_each);
        let cuts = cut(&batch.cu_seqlens_q, most.min(pools.len()))?;
        let apart = batch.paging.as_ref().is_none_or(|paging| {
            let spans = cuts.iter().map(|cut| (cut.clone(), token_range(batch, cut)));
            are_apart(paging, spans)
        });
        apart.then(|| cuts.iter().map(|cut| sub_batch(batch, cut)).collect())
    }

    /// The results of `run` for every part, in order.
    pub(super) fn run<R: Send>(
        &self,
        parts: &[RaggedBatch],
        run: impl Fn(&RaggedBatch) -> R + Sync,
    ) -> Vec<R> {
        let mut done: Vec<(&RaggedBatch, Option<R>)> =
            parts.iter().map(|part| (part, None)).collect();
        let pools = self.pools.get_or_init(one_each);
        side_by_side(pools, &mut done, &run);
        let done = done.into_iter();
        done.map(|(_, done)| done.expect("a pool for every part")).collect()
    }
}

/// One pool of one thread for each thread of the current pool.
fn one_each() -> Vec<ThreadPool> {
    let threads = rayon::current_num_threads();
    if threads < 2 {
        return Vec::new();
    }
    let pool = |_| ThreadPoolBuilder::new().num_threads(1).build();
    let pools: Result<_, _> = (0..threads).map(pool).collect();
    // Without shards, kernels share the current pool's threads.
    pools.unwrap_or_default()
}

fn side_by_side<R: Send>(
    pools: &[ThreadPool],
    parts: &mut [(&RaggedBatch, Option<R>)],
    run: &(impl Fn(&RaggedBatch) -> R + Sync),
) {
    if let (Some((pool, pools)), Some(((part, done), parts))) =
        (pools.split_first(), parts.split_first_mut())
    {
        pool.in_place_scope(|scope| {
            scope.spawn(|_| *done = Some(run(part)));
            side_by_side(pools, parts, run);
        });
    }
}

/// Splits sequences into `parts` runs of about equally many tokens; `None` if the longest run would
/// take more than a quarter longer than an equal share.
fn cut(cu_seqlens: &[u32], parts: usize) -> Option<Vec<Range<usize>>> {
    let (last, total) = (cu_seqlens.len() - 1, *cu_seqlens.last()? as usize);
    let edge = |part: usize| {
        let at = |start: &u32| (*start as usize) * parts < total * part;
        cu_seqlens.partition_point(at).min(last)
    };
    let runs: Vec<Range<usize>> = (0..parts).map(|part| edge(part)..edge(part + 1)).collect();
    let tokens = |run: &Range<usize>| (cu_seqlens[run.end] - cu_seqlens[run.start]) as usize;
    let fair = |run: &Range<usize>| !run.is_empty() && 4 * parts * tokens(run) <= 5 * total;
    (parts > 1 && runs.iter().all(fair)).then_some(runs)
}

/// Rows of a range of sequences.
fn token_range(batch: &RaggedBatch, sequences: &Range<usize>) -> Range<usize> {
    let at = |sequence: usize| batch.cu_seqlens_q[sequence] as usize;
    at(sequences.start)..at(sequences.end)
}

/// Whether no part reads a block that another one writes.
fn are_apart(
    paging: &Paging,
    parts: impl Iterator<Item = (Range<usize>, Range<usize>)> + Clone,
) -> bool {
    let block = |slot: &u32| *slot as usize / BLOCK;
    let end = paging.slot_mapping.iter().map(block).max();
    let mut writers = vec![None; end.map_or(0, |last| last + 1)];
    for (part, (_, rows)) in parts.clone().enumerate() {
        for slot in &paging.slot_mapping[rows] {
            let writer = &mut writers[block(slot)];
            if writer.is_some_and(|other| other != part) {
                return false;
            }
            *writer = Some(part);
        }
    }
    let mut parts = parts.enumerate();
    parts.all(|(part, (sequences, _))| {
        let mut read = paging.block_table[sequences].iter().flatten();
        read.all(|block| {
            let writer = writers.get(block.0 as usize).copied().flatten();
            writer.is_none_or(|writer| writer == part)
        })
    })
}

/// A range of a batch's sequences as a batch, whose blocks are copied already.
fn sub_batch(batch: &RaggedBatch, sequences: &Range<usize>) -> RaggedBatch {
    let rows = token_range(batch, sequences);
    let from_zero = |sums: &[u32]| {
        let sums = &sums[sequences.start..=sequences.end];
        sums.iter().map(|sum| sum - sums[0]).collect()
    };
    let first = |n: usize| u32::try_from(n).expect("a batch has fewer than 2^32 tokens");
    let (first_row, first_sequence) = (first(rows.start), first(sequences.start));
    let read = batch.rows.iter();
    let read = read.filter(|row| sequences.contains(&(row.sequence as usize)));
    RaggedBatch {
        token_ids: batch.token_ids[rows.clone()].to_vec(),
        positions: batch.positions[rows.clone()].to_vec(),
        cu_seqlens_q: from_zero(&batch.cu_seqlens_q),
        cu_seqlens_k: from_zero(&batch.cu_seqlens_k),
        rows: read
            .map(|row| crate::batch::OutputRow {
                index: row.index - first_row,
                sequence: row.sequence - first_sequence,
                output: row.output.clone(),
            })
            .collect(),
        adapters: batch.adapters[sequences.clone()].to_vec(),
        paging: batch.paging.as_ref().map(|paging| Paging {
            block_table: paging.block_table[sequences.clone()].to_vec(),
            slot_mapping: paging.slot_mapping[rows].to_vec(),
            copies: Vec::new(),
        }),
        sharing: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::kv_block::BlockId;

    #[test]
    fn parts_have_about_the_same_length() {
        for (lengths, parts, expected) in [
            (&[1, 1, 1, 1][..], 2, Some(&[0..2, 2..4][..])),
            (&[1, 1, 1], 2, None),
            (&[1; 9], 2, Some(&[0..5, 5..9])),
            (&[10, 1, 1, 1], 2, None),
            (&[1, 1, 1, 10], 2, None),
            (&[5, 5, 5, 5, 5, 5], 3, Some(&[0..2, 2..4, 4..6])),
            (&[20], 2, None),
            (&[20, 20], 1, None),
            (&[20, 20], 0, None),
        ] {
            let mut sums = vec![0];
            sums.extend(lengths.iter().scan(0, |sum, length: &u32| {
                *sum += length;
                Some(*sum)
            }));
            assert_eq!(cut(&sums, parts).as_deref(), expected, "{lengths:?}");
        }
    }

    #[test]
    fn parts_may_share_blocks_that_none_writes() {
        let slot = |block: usize| u32::try_from(block * BLOCK).expect("a few blocks");
        for (tables, written, expected) in [
            ([&[0, 1][..], &[0, 2]], [1, 2], true),
            ([&[0, 1], &[0, 2]], [0, 2], false),
            ([&[0, 1], &[0, 2]], [1, 0], false),
            ([&[0, 1], &[1, 2]], [1, 2], false),
            ([&[0], &[0]], [0, 0], false),
        ] {
            let paging = Paging {
                block_table: tables.map(|of| of.iter().copied().map(BlockId).collect()).into(),
                slot_mapping: written.map(slot).into(),
                copies: Vec::new(),
            };
            let parts = [(0..1, 0..1), (1..2, 1..2)];
            assert_eq!(are_apart(&paging, parts.into_iter()), expected, "{tables:?} {written:?}");
        }
    }
}

//! Attention over the batch's own keys, in runs of a few sequences: the blocks of a run are still
//! in the core's cache when they are read.

use std::ops::Range;

use rayon::prelude::*;

use super::forward::{Queries, forward};
use super::geometry::Geometry;
use super::lane::KvLane;
use super::layout::{BlockLayout, Blocks};
use crate::kernels::simd::Isa;

/// Rows after which a run ends, at the end of the current sequence.
const RUN_ROWS: usize = 64;

/// Queries, keys and values of packed sequences. The queries of a sequence are its last positions.
#[derive(Clone, Copy, Debug)]
pub struct Packed<'a> {
    /// `[Tq, heads, head_dim]`.
    pub q: &'a [f32],
    /// `[Tk, kv_heads, head_dim]`.
    pub k: &'a [f32],
    /// `[Tk, kv_heads, head_dim]`.
    pub v: &'a [f32],
    /// `[B + 1]` running sums of queries.
    pub cu_seqlens_q: &'a [u32],
    /// `[B + 1]` running sums of keys.
    pub cu_seqlens_k: &'a [u32],
}

/// `out [Tq, heads, head_dim]`: the attention of every query over the keys of its sequence up to
/// its own position; keys and values in lanes of `T`.
pub fn packed<T: KvLane>(isa: Isa, rows: Packed<'_>, geometry: Geometry, out: &mut [f32]) {
    let runs = runs(rows.cu_seqlens_q, rows.cu_seqlens_k);
    let width = geometry.num_heads * geometry.head_dim;
    let mut parts = Vec::with_capacity(runs.len());
    let mut rest = out;
    for run in &runs {
        let (part, after) = rest.split_at_mut(run.queries.len() * width);
        parts.push((run, part));
        rest = after;
    }
    parts.into_par_iter().for_each(|(run, out)| {
        of_run::<T>(isa, run.of(rows, geometry), geometry, out);
    });
}

fn of_run<T: KvLane>(isa: Isa, rows: Packed<'_>, geometry: Geometry, out: &mut [f32]) {
    let (heads, dim) = (geometry.num_kv_heads, geometry.head_dim);
    let layout = BlockLayout::new(rows.cu_seqlens_k, heads, 1, dim);
    let (keys, values) = (layout.panels::<T>(rows.k), layout.rows(rows.v));
    let blocks = Blocks { keys: &keys, values: &values, table: &layout.table };
    let queries =
        Queries { q: rows.q, cu_seqlens_q: rows.cu_seqlens_q, cu_seqlens_k: rows.cu_seqlens_k };
    forward(isa, queries, blocks, geometry, out);
}

/// Consecutive sequences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SequenceRun {
    /// Rows of the batch's queries.
    pub(super) queries: Range<usize>,
    /// Rows of the batch's keys.
    pub(super) keys: Range<usize>,
    /// Running sums of their own.
    cu_seqlens_q: Vec<u32>,
    cu_seqlens_k: Vec<u32>,
}

impl SequenceRun {
    /// The run's part of the batch.
    pub(super) fn of<'a>(&'a self, batch: Packed<'a>, geometry: Geometry) -> Packed<'a> {
        let keys = |x: &'a [f32]| {
            let width = geometry.num_kv_heads * geometry.head_dim;
            &x[self.keys.start * width..self.keys.end * width]
        };
        Packed {
            q: self.of_queries(batch.q, geometry),
            k: keys(batch.k),
            v: keys(batch.v),
            cu_seqlens_q: &self.cu_seqlens_q,
            cu_seqlens_k: &self.cu_seqlens_k,
        }
    }

    /// The run's rows of data that exist for each query and head.
    pub(super) fn of_queries<'a>(&self, x: &'a [f32], geometry: Geometry) -> &'a [f32] {
        let width = geometry.num_heads * geometry.head_dim;
        &x[self.queries.start * width..self.queries.end * width]
    }
}

/// Splits the sequences of a batch into runs.
pub(super) fn runs(cu_seqlens_q: &[u32], cu_seqlens_k: &[u32]) -> Vec<SequenceRun> {
    let mut runs = Vec::new();
    let n = cu_seqlens_k.len() - 1;
    let mut first = 0;
    for end in 1..=n {
        let rows = |sums: &[u32]| sums[first] as usize..sums[end] as usize;
        if rows(cu_seqlens_k).len() >= RUN_ROWS || end == n {
            let own = |sums: &[u32]| {
                let sums = &sums[first..=end];
                sums.iter().map(|sum| sum - sums[0]).collect()
            };
            runs.push(SequenceRun {
                queries: rows(cu_seqlens_q),
                keys: rows(cu_seqlens_k),
                cu_seqlens_q: own(cu_seqlens_q),
                cu_seqlens_k: own(cu_seqlens_k),
            });
            first = end;
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::{RUN_ROWS, runs};

    #[test]
    fn every_sequence_is_in_one_run() {
        let long = u32::try_from(RUN_ROWS).expect("it is small");
        for (keys, expected) in [
            (&[][..], &[][..]),
            (&[1], &[&[0, 1][..]]),
            (&[0, 0], &[&[0, 0, 0]]),
            (&[3, 4], &[&[0, 3, 7]]),
            (&[long, 1], &[&[0, long], &[0, 1]]),
            (&[long - 1, 2, 5], &[&[0, long - 1, long + 1], &[0, 5]]),
            (&[2, 0, long, 0], &[&[0, 2, 2, long + 2], &[0, 0]]),
        ] {
            let sums = |of: &dyn Fn(u32) -> u32| {
                let mut sums = vec![0];
                for n in keys {
                    sums.push(sums[sums.len() - 1] + of(*n));
                }
                sums
            };
            let (keys, queries) = (sums(&|n| n), sums(&|n| n.div_ceil(3)));
            let runs = runs(&queries, &keys);
            let found: Vec<&[u32]> = runs.iter().map(|run| &*run.cu_seqlens_k).collect();
            assert_eq!(found, expected, "{keys:?}");
            let rows = |sums: &[u32]| (0..sums[sums.len() - 1] as usize).collect::<Vec<_>>();
            let of_keys = runs.iter().flat_map(|run| run.keys.clone());
            assert_eq!(of_keys.collect::<Vec<_>>(), rows(&keys));
            let of_queries = runs.iter().flat_map(|run| run.queries.clone());
            assert_eq!(of_queries.collect::<Vec<_>>(), rows(&queries));
            for run in &runs {
                assert_eq!(run.cu_seqlens_q.len(), run.cu_seqlens_k.len());
                let end = run.cu_seqlens_q.last().map(|end| *end as usize);
                assert_eq!(end, Some(run.queries.len()), "{keys:?}");
            }
        }
    }
}

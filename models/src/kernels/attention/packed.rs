//! Attention over the batch's own keys, in runs of a few sequences: what a run lays out in blocks is
//! still in the core's cache when it is read.

use std::ops::Range;

use rayon::prelude::*;

use super::Geometry;
use super::forward::{Queries, forward};
use super::layout::{Blocks, Layout};
use crate::kernels::lanes::Isa;

/// Rows after which a run ends with the sequence that they are in.
const RUN_ROWS: usize = 64;

/// Queries, keys and values of packed sequences.
#[derive(Clone, Copy, Debug)]
pub struct Packed<'a> {
    /// `[T, heads, head_dim]`.
    pub q: &'a [f32],
    /// `[T, kv_heads, head_dim]`.
    pub k: &'a [f32],
    /// `[T, kv_heads, head_dim]`.
    pub v: &'a [f32],
    /// `[B + 1]` running sums of rows.
    pub cu_seqlens: &'a [u32],
}

/// `out [T, heads, head_dim]`: the attention of every row over the rows of its sequence up to its
/// own.
pub fn packed(isa: Isa, rows: Packed<'_>, geometry: Geometry, out: &mut [f32]) {
    let runs = runs(rows.cu_seqlens);
    let width = geometry.num_heads * geometry.head_dim;
    let mut parts = Vec::with_capacity(runs.len());
    let mut rest = out;
    for run in &runs {
        let (part, after) = rest.split_at_mut(run.rows.len() * width);
        parts.push((run, part));
        rest = after;
    }
    parts.into_par_iter().for_each(|(run, out)| {
        of_run(isa, run.of(rows, geometry), geometry, out);
    });
}

fn of_run(isa: Isa, rows: Packed<'_>, geometry: Geometry, out: &mut [f32]) {
    let (heads, dim) = (geometry.num_kv_heads, geometry.head_dim);
    let layout = Layout::new(rows.cu_seqlens, heads, 1, dim);
    let (keys, values) = (layout.panels(rows.k), layout.rows(rows.v));
    let blocks = Blocks {
        keys: &keys,
        values: &values,
        table: &layout.table,
    };
    let queries = Queries {
        q: rows.q,
        cu_seqlens_q: rows.cu_seqlens,
        cu_seqlens_k: rows.cu_seqlens,
    };
    forward(isa, queries, blocks, geometry, out);
}

/// Sequences that follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// Rows of the batch.
    pub(super) rows: Range<usize>,
    /// Running sums of their own.
    pub(super) cu_seqlens: Vec<u32>,
}

impl Run {
    /// Its part of the batch.
    pub(super) fn of<'a>(&'a self, whole: Packed<'a>, geometry: Geometry) -> Packed<'a> {
        let (heads, kv_heads) = (geometry.num_heads, geometry.num_kv_heads);
        Packed {
            q: self.part(whole.q, heads * geometry.head_dim),
            k: self.part(whole.k, kv_heads * geometry.head_dim),
            v: self.part(whole.v, kv_heads * geometry.head_dim),
            cu_seqlens: &self.cu_seqlens,
        }
    }

    /// Its rows of so many numbers.
    pub(super) fn part<'a>(&self, x: &'a [f32], width: usize) -> &'a [f32] {
        &x[self.rows.start * width..self.rows.end * width]
    }
}

/// The sequences of a batch in runs.
pub(super) fn runs(cu_seqlens: &[u32]) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut open = vec![0];
    let mut first = 0;
    for end in &cu_seqlens[1..] {
        open.push(end - first);
        let is_last = Some(end) == cu_seqlens.last();
        if (end - first) as usize >= RUN_ROWS || is_last && *end > first {
            runs.push(Run {
                rows: first as usize..*end as usize,
                cu_seqlens: std::mem::replace(&mut open, vec![0]),
            });
            first = *end;
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
        for (lengths, expected) in [
            (&[][..], &[][..]),
            (&[1], &[&[0, 1][..]]),
            (&[0, 0], &[]),
            (&[3, 4], &[&[0, 3, 7]]),
            (&[long, 1], &[&[0, long], &[0, 1]]),
            (&[long - 1, 2, 5], &[&[0, long - 1, long + 1], &[0, 5]]),
            (&[2, 0, long, 0], &[&[0, 2, 2, long + 2]]),
        ] {
            let mut sums = vec![0];
            for length in lengths {
                sums.push(sums[sums.len() - 1] + length);
            }
            let runs = runs(&sums);
            let found: Vec<&[u32]> = runs.iter().map(|run| run.cu_seqlens.as_slice()).collect();
            assert_eq!(found, expected, "{lengths:?}");
            let rows: Vec<usize> = runs.iter().flat_map(|run| run.rows.clone()).collect();
            assert_eq!(
                rows,
                (0..*sums.last().expect("0") as usize).collect::<Vec<_>>()
            );
        }
    }
}

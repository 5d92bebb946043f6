//! Tasks of attention: one sequence, one key head, a range of positions. Outputs are split between
//! tasks, reductions never.

use std::ops::Range;

/// The part of the batch that one task computes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HeadTask {
    pub(super) sequence: usize,
    pub(super) kv_head: usize,
    /// Rows of the batch.
    pub(super) rows: Range<usize>,
}

/// Splits sequences into runs of at most `rows` rows, for each of the heads.
pub(super) fn tasks(cu_seqlens: &[u32], kv_heads: usize, rows: usize) -> Vec<HeadTask> {
    let mut all = Vec::new();
    for (sequence, ends) in cu_seqlens.windows(2).enumerate() {
        let (first, end) = (ends[0] as usize, ends[1] as usize);
        for start in (first..end).step_by(rows.max(1)) {
            all.extend((0..kv_heads).map(|kv_head| HeadTask {
                sequence,
                kv_head,
                rows: start..end.min(start + rows),
            }));
        }
    }
    all
}

/// Number of consecutive tasks per thread and scratch space: few enough that other threads can take
/// over from a delayed one.
pub(super) fn tasks_a_job(tasks: usize) -> usize {
    (tasks / (4 * rayon::current_num_threads())).clamp(1, 16)
}

/// Splits `n` rows into ranges of at most `most` rows, as equal as possible.
pub(super) fn even_runs(n: usize, most: usize) -> impl Iterator<Item = Range<usize>> {
    let runs = n.div_ceil(most).max(1);
    (0..runs).map(move |i| i * n / runs..(i + 1) * n / runs)
}

#[cfg(test)]
mod tests {
    use super::{even_runs, tasks};

    #[test]
    fn every_row_and_head_has_one_task() {
        for (cu, kv_heads, rows) in
            [(vec![0, 1], 1, 4), (vec![0, 5, 6, 13], 2, 4), (vec![0, 3, 40], 3, 8), (vec![0], 2, 8)]
        {
            let mut seen = Vec::new();
            for task in tasks(&cu, kv_heads, rows) {
                assert!(task.rows.len() <= rows, "{task:?}");
                let sequence = cu[task.sequence] as usize..cu[task.sequence + 1] as usize;
                assert!(sequence.start <= task.rows.start && task.rows.end <= sequence.end);
                seen.extend(task.rows.clone().map(|row| (row, task.kv_head)));
            }
            seen.sort_unstable();
            let all = (0..cu[cu.len() - 1] as usize)
                .flat_map(|row| (0..kv_heads).map(move |head| (row, head)));
            assert_eq!(seen, all.collect::<Vec<_>>(), "{cu:?}");
        }
    }

    #[test]
    fn runs_cover_in_order_and_are_even() {
        for (n, most) in [(1, 8), (7, 6), (56, 8), (56, 6), (13, 1)] {
            let runs: Vec<_> = even_runs(n, most).collect();
            let rows: Vec<usize> = runs.iter().cloned().flatten().collect();
            assert_eq!(rows, (0..n).collect::<Vec<_>>());
            let lens = runs.iter().map(ExactSizeIterator::len);
            assert!(lens.clone().max() <= Some(most));
            assert!(lens.clone().max() <= lens.min().map(|m| m + 1));
        }
    }
}

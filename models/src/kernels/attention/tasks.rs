//! Attention in tasks: one sequence, one key head, a run of positions. Outputs are split between
//! tasks, reductions never.

use std::ops::Range;

/// One task's place in the batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Task {
    pub(super) sequence: usize,
    pub(super) kv_head: usize,
    /// Rows of the batch.
    pub(super) rows: Range<usize>,
}

/// Splits sequences into runs of at most `rows` rows, for each of the heads.
pub(super) fn tasks(cu_seqlens: &[u32], kv_heads: usize, rows: usize) -> Vec<Task> {
    let mut all = Vec::new();
    for (sequence, ends) in cu_seqlens.windows(2).enumerate() {
        let (first, end) = (ends[0] as usize, ends[1] as usize);
        for start in (first..end).step_by(rows.max(1)) {
            all.extend((0..kv_heads).map(|kv_head| Task {
                sequence,
                kv_head,
                rows: start..end.min(start + rows),
            }));
        }
    }
    all
}

/// Deals `out [T, kv_heads, width]` to the tasks: to each, the `width` numbers of each of its rows.
pub(super) fn deal<'a>(
    tasks: &[Task],
    kv_heads: usize,
    width: usize,
    out: &'a mut [f32],
) -> Vec<Vec<&'a mut [f32]>> {
    let mut hands: Vec<Vec<&mut [f32]>> = tasks
        .iter()
        .map(|task| Vec::with_capacity(task.rows.len()))
        .collect();
    // Tasks are in order of their rows, `kv_heads` of them for each run of rows.
    let mut first = 0;
    for (row, heads) in out.chunks_exact_mut(kv_heads * width).enumerate() {
        while first < tasks.len() && tasks[first].rows.end <= row {
            first += kv_heads;
        }
        for (head, numbers) in heads.chunks_exact_mut(width).enumerate() {
            hands[first + head].push(numbers);
        }
    }
    hands
}

/// Splits `n` rows into runs of at most `most`, as equal as can be: their ranges.
pub(super) fn even_runs(n: usize, most: usize) -> impl Iterator<Item = Range<usize>> {
    let runs = n.div_ceil(most).max(1);
    (0..runs).map(move |i| i * n / runs..(i + 1) * n / runs)
}

#[cfg(test)]
mod tests {
    use super::{deal, even_runs, tasks};

    #[test]
    fn every_number_is_dealt_once_and_to_its_task() {
        for (cu, kv_heads, rows) in [
            (vec![0, 1], 1, 4),
            (vec![0, 5, 6, 13], 2, 4),
            (vec![0, 3, 40], 3, 8),
            (vec![0], 2, 8),
        ] {
            let total = cu[cu.len() - 1] as usize;
            let width = 3;
            let mut out: Vec<f32> = (0..total * kv_heads * width).map(|i| i as f32).collect();
            let tasks = tasks(&cu, kv_heads, rows);
            for (task, hand) in tasks.iter().zip(deal(&tasks, kv_heads, width, &mut out)) {
                assert_eq!(hand.len(), task.rows.len());
                assert!(task.rows.len() <= rows);
                for (row, numbers) in task.rows.clone().zip(hand) {
                    let first = ((row * kv_heads + task.kv_head) * width) as f32;
                    assert_eq!(numbers, [first, first + 1.0, first + 2.0]);
                }
            }
            let dealt: usize = tasks.iter().map(|task| task.rows.len()).sum();
            assert_eq!(dealt, total * kv_heads);
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

//! Splitting of row-wise work between threads: complete rows, in ranges of a fixed size.
//!
//! The split never changes a row's result; the sizes keep small work on one thread and divide large
//! work into ranges that threads can balance.

/// Numbers per task. Below that, waking a thread costs more than it saves.
const TASK: usize = 1 << 14;

/// Rows of `width` numbers in one task.
pub(super) fn rows_a_task(width: usize) -> usize {
    (TASK / width.max(1)).max(1)
}

/// Whether work on this many numbers is worth more than one task.
pub(super) fn is_large(numbers: usize) -> bool {
    numbers >= 2 * TASK
}

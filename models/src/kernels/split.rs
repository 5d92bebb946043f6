//! How row-wise work is shared between threads: whole rows, in runs of a fixed size.
//!
//! What a row gets never depends on the split; the sizes only keep small work on one thread and
//! large work in pieces that threads can balance.

/// Numbers that one task handles. Below that, waking a thread costs more than it brings.
const TASK: usize = 1 << 14;

/// Rows of `width` numbers in one task.
pub(super) fn rows_a_task(width: usize) -> usize {
    (TASK / width.max(1)).max(1)
}

/// Whether work on this many numbers is worth more than one task.
pub(super) fn is_large(numbers: usize) -> bool {
    numbers >= 2 * TASK
}

//! Splitting of products between the threads of the caller's pool, and the matrix that they write
//! together.
//!
//! Products are split by output: tiles of rows and ranges of panels. A reduction is never split, so
//! the number of threads cannot change bits.

#![expect(unsafe_code, reason = "tasks write disjoint parts of one output at once")]
#![expect(
    clippy::inline_always,
    reason = "parts of the output are taken within lane kernels, whose constants spare the checks"
)]

use std::marker::PhantomData;
use std::ops::Range;

use rayon::prelude::*;

/// Below this a second thread costs more than it saves.
const SMALLEST_TASK_NS: usize = 10_000;

/// Tasks per thread, if there is enough work: other threads can take over from a delayed one.
const TASKS_A_THREAD: usize = 4;

/// Rows cut into tiles that differ by one row at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tiles {
    rows: usize,
    count: usize,
}

impl Tiles {
    /// Splits rows into as few tiles as possible of at most `most` rows.
    pub(super) fn new(rows: usize, most: usize) -> Tiles {
        Tiles { rows, count: rows.div_ceil(most) }
    }

    /// Number of tiles.
    pub(super) fn count(self) -> usize {
        self.count
    }

    /// Rows of one tile. The empty matrix has no rows in any tile.
    pub(super) fn rows(self, tile: usize) -> Range<usize> {
        let count = self.count.max(1);
        self.rows * tile / count..self.rows * (tile + 1) / count
    }
}

/// The part of a product that one task computes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TileTask {
    /// Tiles of rows.
    pub(super) tiles: Range<usize>,
    /// Panels of columns.
    pub(super) panels: Range<usize>,
}

/// The size of a product, as far as splitting needs it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    /// Tiles of rows.
    pub(super) tiles: usize,
    /// Panels of columns.
    pub(super) panels: usize,
    /// Panels that a kernel processes at once.
    pub(super) group: usize,
    /// Estimated time of the product on one core.
    pub(super) nanos: usize,
}

/// Splits a product into tasks for `threads`: by panels first, so that each thread streams its own
/// weights, then by tiles of rows if panels are few.
pub(super) fn split_product(size: Size, threads: usize) -> Vec<TileTask> {
    let most = if threads < 2 { 1 } else { threads * TASKS_A_THREAD };
    let wanted = (size.nanos / SMALLEST_TASK_NS).clamp(1, most);
    let groups = Tiles::new(size.panels, size.group.max(1));
    let across = wanted.min(groups.count()).max(1);
    let down = (wanted / across).clamp(1, size.tiles.max(1));
    let mut tasks = Vec::with_capacity(across * down);
    for column in 0..across {
        let edge = |at: usize| (groups.count() * at / across * size.group).min(size.panels);
        for row in 0..down {
            tasks.push(TileTask {
                tiles: size.tiles * row / down..size.tiles * (row + 1) / down,
                panels: edge(column)..edge(column + 1),
            });
        }
    }
    tasks
}

/// Runs every task, on the current pool if there are several.
pub(super) fn each(tasks: &[TileTask], run: impl Fn(&TileTask) + Send + Sync) {
    match tasks {
        [one] => run(one),
        several => several.par_iter().with_max_len(1).for_each(run),
    }
}

/// Tasks of a product for the current pool.
pub(super) fn tasks(size: Size) -> Vec<TileTask> {
    // Only products worth splitting query the pool: the query may start it.
    let threads = if size.nanos < 2 * SMALLEST_TASK_NS { 1 } else { rayon::current_num_threads() };
    split_product(size, threads)
}

/// A row-major matrix of which several tasks each write their own part.
pub(super) struct Shared<'a> {
    data: *mut f32,
    rows: usize,
    columns: usize,
    borrow: PhantomData<&'a mut [f32]>,
}

// SAFETY: the matrix is exclusively borrowed for the lifetime of a `Shared`, f32 is `Send`, and
// callers of `part` guarantee that parts in use at once do not overlap.
unsafe impl Sync for Shared<'_> {}

impl<'a> Shared<'a> {
    /// A matrix of rows of `columns`.
    pub(super) fn new(data: &'a mut [f32], columns: usize) -> Shared<'a> {
        Shared { rows: data.len() / columns, data: data.as_mut_ptr(), columns, borrow: PhantomData }
    }

    /// The part of some rows within a range of columns.
    ///
    /// # Safety
    /// No other part that overlaps this one is in use at the same time.
    #[inline(always)]
    pub(super) unsafe fn part(&self, rows: Range<usize>, columns: Range<usize>) -> SharedRows<'_> {
        assert!(
            rows.start <= rows.end
                && rows.end <= self.rows
                && columns.start <= columns.end
                && columns.end <= self.columns,
            "a part lies within the matrix"
        );
        SharedRows {
            // In range, or one past the end if the part is empty.
            data: self
                .data
                .wrapping_add(rows.start.wrapping_mul(self.columns).wrapping_add(columns.start)),
            rows: rows.end.wrapping_sub(rows.start),
            width: columns.end.wrapping_sub(columns.start),
            stride: self.columns,
            borrow: PhantomData,
        }
    }
}

/// Rows of a part of a [`Shared`] matrix, for one task.
pub(super) struct SharedRows<'a> {
    data: *mut f32,
    rows: usize,
    width: usize,
    stride: usize,
    borrow: PhantomData<&'a mut [f32]>,
}

impl SharedRows<'_> {
    /// One row.
    #[inline(always)]
    pub(super) fn row(&mut self, row: usize) -> &mut [f32] {
        assert!(row < self.rows, "a row of the part");
        // SAFETY: the part lies within the borrowed matrix and belongs to this `SharedRows` alone
        // (`Shared::part`); the row lies within the part.
        unsafe {
            let start = self.data.add(row.wrapping_mul(self.stride));
            std::slice::from_raw_parts_mut(start, self.width)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{SMALLEST_TASK_NS, Size, Tiles, split_product};

    #[test]
    fn tiles_cover_the_rows_evenly() {
        for (rows, most) in [(1, 12), (12, 12), (13, 12), (100, 12), (512, 12), (7, 6), (0, 6)] {
            let tiles = Tiles::new(rows, most);
            let mut next = 0;
            for tile in 0..tiles.count() {
                let range = tiles.rows(tile);
                assert_eq!(range.start, next, "{rows} rows by {most}");
                assert!((1..=most).contains(&range.len()), "{rows} rows by {most}");
                next = range.end;
            }
            assert_eq!(next, rows, "{rows} rows by {most}");
        }
    }

    /// Checks that every (tile, panel) belongs to one task, and no task is empty.
    fn check(tiles: usize, panels: usize, group: usize, threads: usize, nanos: usize) -> usize {
        let size = Size { tiles, panels, group, nanos };
        let tasks = split_product(size, threads);
        let mut owners = vec![0; tiles * panels];
        for task in &tasks {
            assert!(!task.tiles.is_empty() && !task.panels.is_empty(), "{size:?}");
            for tile in task.tiles.clone() {
                for panel in task.panels.clone() {
                    owners[tile * panels + panel] += 1;
                }
            }
        }
        assert!(owners.iter().all(|n| *n == 1), "{size:?}: {owners:?}");
        tasks.len()
    }

    #[test]
    fn tasks_cover_the_product_once() {
        let (small, large) = (SMALLEST_TASK_NS, 1000 * SMALLEST_TASK_NS);
        assert_eq!(check(1, 56, 4, 2, small), 1, "too small to split");
        assert_eq!(check(43, 304, 2, 1, large), 1, "one thread, one task");
        assert_eq!(check(43, 304, 2, 2, large), 8);
        assert_eq!(check(43, 1, 2, 2, large), 8, "one panel is split by rows");
        assert_eq!(check(1, 3, 4, 2, large), 1, "one group is not split");
        for tiles in [1, 2, 5, 43] {
            for panels in [1, 2, 3, 7, 8, 57] {
                for threads in [1, 2, 3, 16] {
                    check(tiles, panels, 4, threads, large);
                }
            }
        }
    }
}

//! Micro-batches in parallel.
//!
//! The kernels of a small model are too short for many threads: on two cores a model of a million
//! parameters trains 1.2 times as fast as on one. Two micro-batches at once, each with kernels on
//! threads of its own, use both.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::{Result, TrainError};

/// Stack for the graph's recursive backward, one frame per operation.
const STACK_BYTES: usize = 64 << 20;

/// Groups of threads, each of which computes one micro-batch at a time.
#[derive(Debug, Default)]
pub struct Workers {
    /// Empty: the caller is the only worker, on its own threads.
    pools: Vec<ThreadPool>,
    /// Workers that leave their core to others.
    lent: Arc<AtomicUsize>,
}

/// Lends the cores of workers to other threads.
#[derive(Clone, Debug)]
pub struct WorkerLender(Arc<AtomicUsize>);

impl WorkerLender {
    /// Leaves the core of a worker to another thread, which would else have less than a core beside as
    /// many workers as cores, and be waited for at the end.
    pub fn lend(&self) -> LentWorker {
        self.0.fetch_add(1, Ordering::Relaxed);
        LentWorker(self.0.clone())
    }
}

/// The core of one worker, lent until this is dropped.
#[derive(Debug)]
pub struct LentWorker(Arc<AtomicUsize>);

impl Drop for LentWorker {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Workers {
    /// Makes `count` workers that share the threads of the current pool.
    ///
    /// # Errors
    /// [`TrainError::Invalid`] if the system refuses threads.
    pub fn new(count: usize) -> Result<Workers> {
        if count < 2 {
            return Ok(Workers::default());
        }
        let threads = (rayon::current_num_threads() / count).max(1);
        let pool = || {
            let pool = ThreadPoolBuilder::new().num_threads(threads);
            pool.stack_size(STACK_BYTES).build()
        };
        let pools: std::result::Result<_, _> = (0..count).map(|_| pool()).collect();
        let refused = |error| TrainError::Invalid(format!("no threads for workers: {error}"));
        Ok(Workers { pools: pools.map_err(refused)?, lent: Arc::default() })
    }

    /// Number of micro-batches computed at once, which may change while workers are lent.
    pub fn count(&self) -> usize {
        self.pools.len().saturating_sub(self.lent.load(Ordering::Relaxed)).max(1)
    }

    /// Lends the cores of these workers.
    pub(super) fn lender(&self) -> WorkerLender {
        WorkerLender(self.lent.clone())
    }

    /// Runs every item, the first on the first worker and so on; returns the results in the order
    /// of the items.
    pub(super) fn map<T: Send, R: Send>(
        &self,
        items: Vec<T>,
        run: impl Fn(T) -> R + Sync,
    ) -> Vec<R> {
        // One item has the caller's threads, unless those are lent.
        let alone = items.len() < 2 && self.lent.load(Ordering::Relaxed) == 0;
        if alone || self.pools.is_empty() {
            return items.into_iter().map(run).collect();
        }
        let run = &run;
        std::thread::scope(|scope| {
            let work = items.into_iter().zip(self.pools.iter().cycle());
            let work = work.map(|(item, pool)| scope.spawn(move || pool.install(|| run(item))));
            let begun: Vec<_> = work.collect();
            let ended = begun.into_iter().map(|it| match it.join() {
                Ok(done) => done,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            ended.collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_items() {
        for count in [0, 1, 2, 3] {
            let workers = Workers::new(count).expect("threads");
            assert_eq!(workers.count(), count.max(1));
            let squares = workers.map((0..7).collect(), |n: u32| n * n);
            assert_eq!(squares, [0, 1, 4, 9, 16, 25, 36]);
        }
    }

    #[test]
    fn lent_workers_come_back() {
        let workers = Workers::new(2).expect("threads");
        let lender = workers.lender();
        let (first, second) = (lender.lend(), lender.lend());
        assert_eq!(workers.count(), 1, "one is left");
        assert_eq!(workers.map(vec![3], |n: u32| n + 1), [4]);
        drop((first, second));
        assert_eq!(workers.count(), 2);
    }

    #[test]
    #[should_panic(expected = "the third")]
    fn panic_of_a_worker_reaches_the_caller() {
        let workers = Workers::new(2).expect("threads");
        workers.map(vec![1, 2, 3], |n| assert!(n < 3, "the third"));
    }
}

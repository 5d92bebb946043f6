//! Micro-batches in parallel.
//!
//! The kernels of a small model are too short for many threads: on two cores a model of a million
//! parameters trains 1.2 times as fast as on one. Two micro-batches at once, each with kernels on
//! threads of its own, use both.

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::{Result, TrainError};

/// Stack for the graph's recursive backward, one frame per operation.
const STACK_BYTES: usize = 64 << 20;

/// The `nice` value of threads in the background: where another wants the same core, it has nine
/// tenths of the time.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;

/// Groups of threads, each of which computes one micro-batch at a time.
#[derive(Debug, Default)]
pub struct Workers {
    /// Empty: the caller is the only worker, on its own threads.
    pools: Vec<ThreadPool>,
    in_background: bool,
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
        Ok(Workers { pools: pools(count, || ())?, in_background: false })
    }

    /// Makes `count` workers whose threads, on Linux, have a lower priority than others: what the run
    /// will wait for, such as an engine that samples at the same time, has the cores first.
    ///
    /// # Errors
    /// As for [`Workers::new`].
    pub fn in_background(count: usize) -> Result<Workers> {
        Ok(Workers { pools: pools(count.max(1), lower_priority)?, in_background: true })
    }

    /// Number of micro-batches computed at once.
    pub fn count(&self) -> usize {
        self.pools.len().max(1)
    }

    /// Runs every item, the first on the first worker and so on; returns the results in the order
    /// of the items.
    pub(super) fn map<T: Send, R: Send>(
        &self,
        items: Vec<T>,
        run: impl Fn(T) -> R + Sync,
    ) -> Vec<R> {
        // One item has the caller's threads, which are not in the background.
        let alone = items.len() < 2 && !self.in_background;
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

fn pools(count: usize, start: fn()) -> Result<Vec<ThreadPool>> {
    let threads = (rayon::current_num_threads() / count).max(1);
    let pool = || {
        let pool = ThreadPoolBuilder::new().num_threads(threads).stack_size(STACK_BYTES);
        pool.start_handler(move |_| start()).build()
    };
    let pools: std::result::Result<_, _> = (0..count).map(|_| pool()).collect();
    pools.map_err(|error| TrainError::Invalid(format!("no threads for workers: {error}")))
}

#[cfg(target_os = "linux")]
fn lower_priority() {
    // Of this thread alone; elsewhere it would be that of the process. Only a higher one is refused.
    let _ = rustix::process::nice(NICE);
}

#[cfg(not(target_os = "linux"))]
fn lower_priority() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_items() {
        for count in [0, 1, 2, 3] {
            for make in [Workers::new, Workers::in_background] {
                let workers = make(count).expect("threads");
                assert_eq!(workers.count(), count.max(1));
                let squares = workers.map((0..7).collect(), |n: u32| n * n);
                assert_eq!(squares, [0, 1, 4, 9, 16, 25, 36]);
            }
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn threads_in_the_background_are_below_others() {
        let nice = |()| rustix::process::getpriority_process(None).expect("a priority");
        let own = nice(());
        for count in [0, 1, 2] {
            let workers = Workers::in_background(count).expect("threads");
            for items in 1..4 {
                assert_eq!(workers.map(vec![(); items], nice), vec![(own + NICE).min(19); items]);
            }
        }
        let workers = Workers::new(2).expect("threads");
        assert_eq!(workers.map(vec![(); 3], nice), [own; 3]);
        assert_eq!(nice(()), own, "the caller's is as before");
    }

    #[test]
    #[should_panic(expected = "the third")]
    fn panic_of_a_worker_reaches_the_caller() {
        let workers = Workers::new(2).expect("threads");
        workers.map(vec![1, 2, 3], |n| assert!(n < 3, "the third"));
    }
}

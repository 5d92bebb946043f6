//! Threads for I/O of files and batches, separate from those that encode and compute, so that a slow
//! disk does not delay requests that need no disk.

use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use super::StorageError;
use crate::blocking::blocking_on;

/// Greatest number of threads.
const THREADS: usize = 8;

/// How long an idle thread is kept.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// A pool of threads, which start on demand.
#[derive(Debug)]
pub(crate) struct DiskPool {
    /// `None` while it is dropped.
    threads: Option<Runtime>,
}

impl DiskPool {
    /// An idle pool.
    pub(crate) fn new() -> std::io::Result<DiskPool> {
        let threads = Builder::new_current_thread()
            .max_blocking_threads(THREADS)
            .thread_keep_alive(KEEP_ALIVE)
            .thread_name("disk")
            .build()?;
        Ok(DiskPool { threads: Some(threads) })
    }

    /// Runs I/O work. It runs to its end even if the returned future is dropped.
    ///
    /// # Errors
    /// Those of the work, and a panic in it.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, StorageError> + Send + 'static,
    ) -> Result<T, StorageError> {
        let threads = self.threads.as_ref().expect("it is there until it is dropped");
        let done = blocking_on(threads.handle(), work).await;
        done.map_err(|error| StorageError::Database(error.to_string()))?
    }
}

impl Drop for DiskPool {
    fn drop(&mut self) {
        // The drop may happen on an event loop, which must not block.
        if let Some(threads) = self.threads.take() {
            threads.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::task::{Context, Waker};

    use super::*;

    #[tokio::test]
    async fn disk_that_hangs_holds_up_no_other_blocking_work() {
        let pool = DiskPool::new().expect("threads start");
        let hangs = |_| {
            let (release, released) = mpsc::channel::<()>();
            let waiting = pool.run(move || {
                // The sender was dropped: the disk answers again.
                let _ = released.recv();
                Ok(())
            });
            (release, Box::pin(waiting))
        };
        let (releases, mut waiting): (Vec<_>, Vec<_>) = (0..2 * THREADS).map(hangs).unzip();
        for waits in &mut waiting {
            let polled = waits.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(polled.is_pending());
        }
        let other = tokio::task::spawn_blocking(|| 7);
        let other = tokio::time::timeout(Duration::from_secs(30), other).await;
        assert_eq!(other.expect("it does not wait for the disk").expect("no panic"), 7);
        drop(releases);
        for waits in waiting {
            waits.await.expect("the disk answers");
        }
    }

    #[tokio::test]
    async fn panic_in_disk_work_is_an_error_and_the_pool_goes_on() {
        let pool = DiskPool::new().expect("threads start");
        let failed: Result<(), _> = pool.run(|| std::panic::panic_any("a defect")).await;
        assert!(matches!(failed, Err(StorageError::Database(_))), "{failed:?}");
        assert_eq!(pool.run(|| Ok(7)).await.expect("the pool goes on"), 7);
    }
}

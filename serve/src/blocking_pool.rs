//! Threads for one kind of blocking work, so that work that is slow, hangs or panics delays its own
//! kind and no other.

use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinError;

use crate::blocking::blocking_on;

/// How long an idle thread is kept.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// A pool of threads, which start on demand.
#[derive(Debug)]
pub(crate) struct BlockingPool {
    /// `None` while it is dropped.
    threads: Option<Runtime>,
}

impl BlockingPool {
    /// An idle pool of at most `threads`, which are named `name`.
    pub(crate) fn new(name: &str, threads: usize) -> std::io::Result<BlockingPool> {
        let threads = Builder::new_current_thread()
            .max_blocking_threads(threads.max(1))
            .thread_keep_alive(KEEP_ALIVE)
            .thread_name(name)
            .build()?;
        Ok(BlockingPool { threads: Some(threads) })
    }

    /// Runs work. It runs to its end even if the returned future is dropped.
    ///
    /// # Errors
    /// A panic in the work.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        let threads = self.threads.as_ref().expect("it is there until it is dropped");
        blocking_on(threads.handle(), work).await
    }
}

impl Drop for BlockingPool {
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
    async fn work_that_hangs_delays_no_other_kind() {
        let pool = BlockingPool::new("disk", 8).expect("threads start");
        let hangs = |_| {
            let (release, released) = mpsc::channel::<()>();
            let waiting = pool.run(move || {
                // The sender was dropped: the work goes on.
                let _ = released.recv();
            });
            (release, Box::pin(waiting))
        };
        let (releases, mut waiting): (Vec<_>, Vec<_>) = (0..16).map(hangs).unzip();
        for waits in &mut waiting {
            let polled = waits.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(polled.is_pending());
        }
        let encoders = BlockingPool::new("encode", 1).expect("threads start");
        let others = async { (encoders.run(|| 7).await, tokio::task::spawn_blocking(|| 7).await) };
        let others = tokio::time::timeout(Duration::from_secs(30), others).await;
        let (encoded, other) = others.expect("they do not wait");
        assert_eq!((encoded.expect("no panic"), other.expect("no panic")), (7, 7));
        drop(releases);
        for waits in waiting {
            waits.await.expect("the work ends");
        }
    }

    #[tokio::test]
    async fn panic_in_work_is_an_error_and_the_pool_goes_on() {
        let pool = BlockingPool::new("disk", 1).expect("threads start");
        let failed = pool.run(|| std::panic::panic_any("a defect")).await;
        assert!(failed.expect_err("it panics").is_panic());
        assert_eq!(pool.run(|| 7).await.expect("the pool goes on"), 7);
    }
}

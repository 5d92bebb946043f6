//! Work on blocking threads.

use std::future::Future;

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinError;

/// Starts `work` on a blocking thread of the current runtime. It runs to its end even if the returned
/// future is dropped.
///
/// # Errors
/// A panic in the work.
pub(crate) fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> impl Future<Output = Result<T, JoinError>> {
    blocking_on(&Handle::current(), work)
}

/// As [`blocking`], on the threads of `runtime`.
pub(crate) fn blocking_on<T: Send + 'static, F: FnOnce() -> T + Send + 'static>(
    runtime: &Handle,
    work: F,
) -> impl Future<Output = Result<T, JoinError>> + use<T, F> {
    let (done, result) = oneshot::channel();
    // Boxed: the runtime's code for a task is compiled once, and not for each closure.
    let work: Box<dyn FnOnce() + Send> = Box::new(move || {
        // A caller that has left takes no result.
        let _ = done.send(work());
    });
    let ended = runtime.spawn_blocking(work);
    async move {
        ended.await?;
        Ok(result.await.expect("work that has ended has sent its result"))
    }
}

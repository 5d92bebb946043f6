//! Changes the weights of a running engine.
//!
//! The engine's thread pauses between two steps while the weights are written, so that no step runs
//! on a partial update. On a card they are then copied there, into the memory that they have. Then everything computed under the old weights is invalidated: no cached
//! prefix is used again, rows are read anew, and generations continue from their tokens,
//! recomputed. Each update makes a new revision.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tokio::sync::oneshot;

use crate::command::Command;
use crate::engine::Engine;
use crate::error::{WeightUpdateError, panic_message};

/// The result of a weight update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeightUpdate<T> {
    /// The callback's value.
    pub value: T,
    /// The new revision, of everything computed from now on.
    pub revision: u64,
}

impl Engine {
    /// Changes weights in place: tensors of the model or of adapters in service. Runs `change` on
    /// the calling thread while the engine is paused between two steps. Afterwards
    ///
    /// - no result computed before is used again, for any adapter;
    /// - all rows of one output are of one revision ([`crate::RequestOutput::revision`]);
    /// - running generations keep their tokens and continue under the new weights; each token names
    ///   its revision ([`crate::SampledToken::revision`]);
    /// - the revision is one higher, even if `change` failed, because it may have written.
    ///
    /// Deadlines keep running. `change` must not wait for this engine: that would deadlock.
    ///
    /// # Errors
    /// [`WeightUpdateError::Panicked`] if `change` panics; the engine continues under a new
    /// revision with whatever was written. [`WeightUpdateError::ShuttingDown`] if the thread is
    /// gone; then `change` did not run, unless the thread ended during it, or could not copy the
    /// weights to its card, which is lost.
    pub async fn update_weights<T>(
        &self,
        change: impl FnOnce() -> T,
    ) -> Result<WeightUpdate<T>, WeightUpdateError> {
        let (reply, paused) = oneshot::channel();
        let sent = self.commands().send(Command::PauseForWeightUpdate { reply }).await;
        sent.map_err(|_| WeightUpdateError::ShuttingDown)?;
        let guard = paused.await.map_err(|_| WeightUpdateError::ShuttingDown)?;
        let outcome = catch_panic(change);
        let revision = guard.resume().await;
        finished(outcome, revision.ok())
    }

    /// As [`Engine::update_weights`], blocking the thread.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// On a thread of an async runtime.
    pub fn update_weights_blocking<T>(
        &self,
        change: impl FnOnce() -> T,
    ) -> Result<WeightUpdate<T>, WeightUpdateError> {
        let (reply, paused) = oneshot::channel();
        let sent = self.commands().blocking_send(Command::PauseForWeightUpdate { reply });
        sent.map_err(|_| WeightUpdateError::ShuttingDown)?;
        let guard = paused.blocking_recv().map_err(|_| WeightUpdateError::ShuttingDown)?;
        let outcome = catch_panic(change);
        let revision = guard.resume().blocking_recv();
        finished(outcome, revision.ok())
    }
}

fn catch_panic<T>(change: impl FnOnce() -> T) -> Result<T, WeightUpdateError> {
    // Partial writes are the caller's concern; the engine invalidates its cache in any case.
    catch_unwind(AssertUnwindSafe(change))
        .map_err(|panic| WeightUpdateError::Panicked(panic_message(&*panic)))
}

/// A panic is reported before a thread that is gone: it is why there is no value.
fn finished<T>(
    outcome: Result<T, WeightUpdateError>,
    revision: Option<u64>,
) -> Result<WeightUpdate<T>, WeightUpdateError> {
    let value = outcome?;
    let revision = revision.ok_or(WeightUpdateError::ShuttingDown)?;
    Ok(WeightUpdate { value, revision })
}

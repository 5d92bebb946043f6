//! Changing weights under a running engine.
//!
//! The engine's thread stands still between two steps while somebody else writes, so that no step
//! computes with some of a change. Then everything that was computed under the old weights is
//! forgotten: no prefix is used again, rows that were read are read anew, and generations go on
//! from the tokens that they have, computed anew. Each change counts as a revision.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tokio::sync::oneshot;

use crate::error::WeightUpdateError;
use crate::handle::{Command, Engine};
use crate::thread::message_of;

/// What came of a change of the weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeightUpdate<T> {
    /// What the change returned.
    pub value: T,
    /// The revision that it made: what is sampled and read from now on is of it.
    pub revision: u64,
}

/// The thread stands still as long as this is there.
#[derive(Debug)]
pub(crate) struct WeightUpdateGuard {
    /// Where the thread is told where to say the revision. Dropped without a word, it says none.
    end: oneshot::Sender<oneshot::Sender<u64>>,
}

impl WeightUpdateGuard {
    /// A standstill, and what the thread waits on for its end.
    pub(crate) fn new() -> (WeightUpdateGuard, oneshot::Receiver<oneshot::Sender<u64>>) {
        let (end, ended) = oneshot::channel();
        (WeightUpdateGuard { end }, ended)
    }

    /// Lets the thread go on, and gives the place where it says the revision.
    fn end(self) -> oneshot::Receiver<u64> {
        let (reply, revision) = oneshot::channel();
        // A thread that is gone drops the reply, and whoever waits for it hears that.
        let _ = self.end.send(reply);
        revision
    }
}

impl Engine {
    /// Changes weights in place: the tensors that the forward reads, those of adapters in service
    /// among them. `change` is run here while the engine's thread stands still between two steps,
    /// so that nothing is computed meanwhile. After it
    ///
    /// - nothing that was computed before is used again, for any adapter;
    /// - rows of one answer are all of one revision ([`crate::RequestOutput::revision`]);
    /// - generations under way keep their tokens and go on under the new weights, with the
    ///   revision of each token told ([`crate::SampledToken::revision`]);
    /// - the revision is one more, whatever `change` returned: it may have written.
    ///
    /// Deadlines go on meanwhile. `change` must not wait for this engine: it would wait for ever.
    ///
    /// # Errors
    /// [`WeightUpdateError::Panicked`] when `change` does; the engine goes on, under a new revision,
    /// with whatever was written. [`WeightUpdateError::ShuttingDown`] when the thread is gone; `change`
    /// was not run, unless the thread ended meanwhile.
    pub async fn update_weights<T>(
        &self,
        change: impl FnOnce() -> T,
    ) -> Result<WeightUpdate<T>, WeightUpdateError> {
        let (reply, standing) = oneshot::channel();
        let asked = self.commands().send(Command::PauseForWeightUpdate { reply }).await;
        asked.map_err(|_| WeightUpdateError::ShuttingDown)?;
        let standstill = standing.await.map_err(|_| WeightUpdateError::ShuttingDown)?;
        let outcome = run(change);
        let revision = standstill.end().await;
        settled(outcome, revision.ok())
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
        let (reply, standing) = oneshot::channel();
        let asked = self.commands().blocking_send(Command::PauseForWeightUpdate { reply });
        asked.map_err(|_| WeightUpdateError::ShuttingDown)?;
        let standstill = standing.blocking_recv().map_err(|_| WeightUpdateError::ShuttingDown)?;
        let outcome = run(change);
        let revision = standstill.end().blocking_recv();
        settled(outcome, revision.ok())
    }
}

fn run<T>(change: impl FnOnce() -> T) -> Result<T, WeightUpdateError> {
    // What it leaves half done is its own; the engine forgets all that it computed in any case.
    catch_unwind(AssertUnwindSafe(change))
        .map_err(|panic| WeightUpdateError::Panicked(message_of(&*panic)))
}

/// A panic is told before a thread that is gone: it is why there is no value.
fn settled<T>(
    outcome: Result<T, WeightUpdateError>,
    revision: Option<u64>,
) -> Result<WeightUpdate<T>, WeightUpdateError> {
    let value = outcome?;
    let revision = revision.ok_or(WeightUpdateError::ShuttingDown)?;
    Ok(WeightUpdate { value, revision })
}

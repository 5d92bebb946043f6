//! Runs batches: one task each, all on one thread beside the event loops.
//!
//! At most `batches.max_active` batches run at a time, in turns; the others wait as records of the
//! database, without a task, a file or memory of their own.
//!
//! A task takes the step that the state of its batch calls for. Every step can be repeated from its
//! start, as happens after an I/O error or a restart.

mod local_routes;
mod send;
#[cfg(test)]
mod tests;
mod turns;
mod waiting;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use actix_web::rt::task::JoinHandle;
use actix_web::web::Data;
use futures_util::FutureExt as _;
use tokio::sync::Semaphore;
use tokio::task::{JoinError, JoinSet};

use self::local_routes::LocalRoutes;
use self::send::Ended;
use self::turns::Turns;
use self::waiting::stopped;
use crate::batches::ids::BatchId;
use crate::batches::lines::{self, Checked};
use crate::batches::record::BatchRecord;
use crate::batches::status::BatchStatus;
use crate::batches::status::is_over;
use crate::batches::status::{Event, after, name};
use crate::batches::{BatchProgress, Batches, StorageError, output};
use crate::clock::unix_seconds;
use crate::routes::meta::Document;
use crate::state::State;

/// Interval of the sweep for expired files and of the search for batches without a task.
const ROUND: Duration = Duration::from_mins(1);

/// First and longest wait after an I/O error.
const WAITS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(30));

/// Starts the batch runner on the current event loop; `None` without a batch folder. It ends with
/// [`State::drain`].
pub fn start(state: &Data<State>, document: &Data<Document>) -> Option<JoinHandle<()>> {
    let batches = state.batches.clone()?;
    let (state, document) = (state.clone(), document.clone());
    Some(actix_web::rt::spawn(async move {
        let Some(routes) = LocalRoutes::new(state.clone(), document).await else {
            tracing::error!("batches stand still: the routes cannot be called");
            return;
        };
        let permits = Arc::new(Semaphore::new(batches.concurrency));
        let runner = BatchRunner { batches, state, routes, permits };
        runner.run().await;
    }))
}

/// The runner of all batches.
#[derive(Clone)]
struct BatchRunner {
    batches: Arc<Batches>,
    state: Data<State>,
    routes: LocalRoutes,
    /// Permits for the lines of all batches; first come, first served.
    permits: Arc<Semaphore>,
}

impl BatchRunner {
    async fn run(self) {
        let mut stop = self.batches.stop.subscribe();
        let mut tasks = JoinSet::new();
        let mut turns = Turns::default();
        let mut round = tokio::time::interval(ROUND);
        loop {
            if let Err(error) = self.give_turns(&mut turns, &mut tasks).await {
                self.report(&error, "batches could not be looked for");
                tokio::time::sleep(WAITS.0).await;
                self.batches.new_batch.notify_one();
            }
            tokio::select! {
                biased;
                () = stopped(&mut stop) => break,
                () = self.batches.new_batch.notified() => {}
                Some(ended) = tasks.join_next(), if !tasks.is_empty() => {
                    self.note_end(ended, &mut turns);
                }
                () = turns.delay_ends() => {}
                _ = round.tick() => {
                    if let Err(error) = self.batches.run(|batches| batches.sweep()).await {
                        self.report(&error, "old files could not be removed");
                    }
                }
            }
        }
        while tasks.join_next().await.is_some() {}
        if let Err(error) = self.batches.run(|batches| batches.end_well()).await {
            self.report(&error, "the end of this process could not be recorded");
        }
    }

    /// Starts tasks for unfinished batches, up to the limit of running ones.
    async fn give_turns(
        &self,
        turns: &mut Turns,
        tasks: &mut JoinSet<BatchEnd>,
    ) -> Result<(), StorageError> {
        let mut waiting = self.batches.run(|batches| batches.store.unfinished()).await?;
        turns.forget_all_but(&waiting);
        let mut lives = self.batches.lives();
        let (active, now) = (lives.len(), Instant::now());
        let mut owners = turns::Owners::of(&waiting, |batch| lives.contains_key(&batch.id));
        waiting.retain(|batch| !lives.contains_key(&batch.id) && !turns.is_delayed(&batch.id, now));
        for _ in active..self.batches.max_active {
            let Some(next) = turns.next(&waiting, &owners) else {
                break;
            };
            let batch = waiting.swap_remove(next);
            owners.add(&batch);
            turns.begin(&batch.id);
            let progress = Arc::new(BatchProgress::default());
            lives.insert(batch.id.clone(), progress.clone());
            let work = BatchTask { runner: self.clone(), id: batch.id.clone(), progress };
            tasks.spawn_local(async move {
                (batch.id, AssertUnwindSafe(work.run_to_end()).catch_unwind().await)
            });
        }
        self.batches.has_waiting.store(!waiting.is_empty(), Ordering::Relaxed);
        Ok(())
    }

    /// Delays a batch whose turn failed; the others go on.
    fn note_end(&self, ended: Result<BatchEnd, JoinError>, turns: &mut Turns) {
        // No task is aborted, and none panics past its catch.
        let Ok((id, end)) = ended else { return };
        match end {
            Ok(TurnEnd::Done) => return,
            Ok(TurnEnd::Failed) => {}
            Err(_) => {
                tracing::error!(batch = id.as_str(), "a panic ended the work on a batch");
                self.state.metrics.batch_fault();
            }
        }
        turns.delay(id, Instant::now() + WAITS.1);
    }

    fn report(&self, error: &StorageError, what: &str) {
        tracing::error!(%error, "{what}");
        self.state.metrics.batch_fault();
    }
}

/// A batch whose task has ended, with the result of its turn; an error is a panic.
type BatchEnd = (BatchId, std::thread::Result<TurnEnd>);

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TurnEnd {
    /// The batch is finished, the server stops, or the turn is over.
    Done,
    /// The batch waits for the disk, and others wait for their turn.
    Failed,
}

/// The task of one batch.
struct BatchTask {
    runner: BatchRunner,
    id: BatchId,
    progress: Arc<BatchProgress>,
}

impl Drop for BatchTask {
    /// Unregisters the batch, so that a later task may take it up.
    fn drop(&mut self) {
        self.runner.batches.lives().remove(&self.id);
    }
}

/// How a task continues after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// With the next step.
    Step,
    /// Not at all.
    End,
}

impl BatchTask {
    /// Takes steps until the batch is finished, the server stops or the turn ends.
    async fn run_to_end(self) -> TurnEnd {
        let mut stop = self.runner.batches.stop.subscribe();
        let mut wait = WAITS.0;
        loop {
            match self.step().await {
                Ok(Next::Step) => wait = WAITS.0,
                Ok(Next::End) => return TurnEnd::Done,
                Err(error) => {
                    self.runner.report(&error, "a batch waits for the disk");
                    if self.runner.batches.has_waiting.load(Ordering::Relaxed) {
                        return TurnEnd::Failed;
                    }
                    tokio::select! {
                        () = stopped(&mut stop) => return TurnEnd::Done,
                        () = tokio::time::sleep(wait) => wait = (wait * 2).min(WAITS.1),
                    }
                }
            }
        }
    }

    async fn step(&self) -> Result<Next, StorageError> {
        let (batches, id) = (&self.runner.batches, self.id.clone());
        let Some(batch) = batches.run(move |batches| batches.store.batch(&id)).await? else {
            return Ok(Next::End);
        };
        match batch.status {
            BatchStatus::Validating => self.validate(batch).await,
            BatchStatus::InProgress => self.send(batch).await,
            BatchStatus::Finalizing | BatchStatus::Cancelling => self.publish(batch).await,
            BatchStatus::Failed
            | BatchStatus::Completed
            | BatchStatus::Expired
            | BatchStatus::Cancelled => {
                let removing = batches.run(move |batches| {
                    Ok(batches.disk.remove(&batches.disk.journal(&batch.id))?)
                });
                removing.await?;
                Ok(Next::End)
            }
        }
    }

    async fn validate(&self, batch: BatchRecord) -> Result<Next, StorageError> {
        let after_it = self.runner.batches.run(move |batches| {
            let file = batches.content(&batch.input)?;
            let reader = std::io::BufReader::new(file);
            let checked = lines::check(reader, &batch.endpoint, batches.limits)?;
            validated(batches, &batch.id, &checked)
        });
        self.note(after_it.await?);
        Ok(Next::Step)
    }

    async fn send(&self, batch: BatchRecord) -> Result<Next, StorageError> {
        let BatchRunner { batches, state, routes, permits } = &self.runner;
        let sending = send::BatchSender {
            batches,
            state,
            routes,
            permits,
            progress: &self.progress,
            batch: &batch,
        };
        match sending.run().await? {
            Ended::Stopped | Ended::Yielded => Ok(Next::End),
            Ended::Cancelled => Ok(Next::Step),
            Ended::Closed => {
                let now = unix_seconds();
                let closing = batches.run(move |batches| {
                    batches.store.change(&batch.id, &[], |batch| moved(batch, Event::Closed, now))
                });
                self.note(closing.await?);
                Ok(Next::Step)
            }
        }
    }

    async fn publish(&self, batch: BatchRecord) -> Result<Next, StorageError> {
        let publishing = self.runner.batches.run(move |batches| publish(batches, &batch));
        self.note(publishing.await?);
        Ok(Next::Step)
    }

    /// Counts a batch that has finished.
    fn note(&self, changed: Option<(BatchRecord, bool)>) {
        if let Some((batch, true)) = changed
            && is_over(batch.status)
        {
            self.runner.state.metrics.batch_ended(name(batch.status));
        }
    }
}

/// Writes the output files of a closed batch and ends it.
///
/// # Errors
/// I/O errors; no file is left then.
fn publish(
    batches: &Batches,
    batch: &BatchRecord,
) -> Result<Option<(BatchRecord, bool)>, StorageError> {
    let now = unix_seconds();
    let frame = (batches.store.place(), now);
    let made = output::make(&batches.disk, batch, batches.limits, frame)?;
    let records: Vec<_> = [&made.output, &made.error].into_iter().flatten().cloned().collect();
    batches.record(made.files, || {
        batches.store.change(&batch.id, &records, |batch| {
            let unfinished = made.unfinished > 0;
            batch.counts = made.counts;
            batch.output = made.output.as_ref().map(|file| file.id.clone());
            batch.error = made.error.as_ref().map(|file| file.id.clone());
            moved(batch, Event::Published { unfinished }, now)
        })
    })
}

/// Records the result of validation.
fn validated(
    batches: &Batches,
    id: &BatchId,
    checked: &Checked,
) -> Result<Option<(BatchRecord, bool)>, StorageError> {
    let now = unix_seconds();
    let (event, total) = if checked.faults.is_empty() {
        (Event::Valid, checked.requests)
    } else {
        (Event::Invalid, 0)
    };
    batches.store.change(id, &[], |batch| {
        batch.counts.total = total;
        batch.faults.clone_from(&checked.faults);
        moved(batch, event, now)
    })
}

/// Moves a batch to its next state; returns whether the event applied.
fn moved(batch: &mut BatchRecord, event: Event, now: u64) -> bool {
    let next = after(batch.status, event);
    if let Some(next) = next {
        batch.enter(next, now);
    }
    next.is_some()
}

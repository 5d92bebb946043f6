//! Batches: files of requests that are answered as capacity allows and survive restarts.
//!
//! A database ([`store`]) has the records of files and batches; a folder ([`disk`]) has the files
//! and a journal ([`journal`]) for each batch. `batch_runner` moves a batch between its states
//! ([`status`]) by steps that may be repeated: after a crash the record has the state of the batch, and
//! the journal has the answered lines. Each line is sent through the server's own routes, so that
//! nothing here depends on scorers or models.

pub(crate) mod disk;
mod error;
pub(crate) mod ids;
pub(crate) mod journal;
pub(crate) mod lines;
pub(crate) mod output;
pub(crate) mod record;
pub(crate) mod status;
mod store;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};

use crate::batches::record::BatchCounts;

pub(crate) use disk::Writing;
use disk::{Disk, Faults, NoFaults, UnrecordedFile};
pub(crate) use error::StorageError;
use ids::{BatchId, FileId, ProcessId};
use lines::LineLimits;
use record::{BatchRecord, FileRecord};
use status::{Event, after, is_over};
use store::Store;
pub(crate) use store::{BeginOutcome, DeleteOutcome, Page, PageRange, UnfinishedBatch};

use crate::blocking_pool::BlockingPool;
use crate::clock::unix_seconds;
use crate::config::Config;

/// How long a batch runs before it makes room for a waiting one.
const TURN: Duration = Duration::from_mins(1);

/// Most threads for files, separate from those of requests, so that a slow disk delays no request
/// that needs no disk.
const DISK_THREADS: usize = 8;

/// Greatest number of bytes of a line without its body.
const LINE_MARGIN: usize = 64 << 10;

/// How long a finished batch is kept.
const REMEMBERED_SECONDS: u64 = record::MOST_SECONDS;

/// The routes that a line may name.
pub(crate) const ENDPOINTS: [&str; 16] = [
    "/v1/score",
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/responses",
    "/v1/decisions",
    "/v1/systemone",
    "/v1/embeddings",
    "/v1/classify",
    "/v1/rerank",
    "/v1/fine_tuning/alpha/graders/run",
    "/score",
    "/classify",
    "/rerank",
    "/pooling",
    "/get_reward",
    "/verify",
];

/// The progress of a running batch.
#[derive(Debug, Default)]
pub(crate) struct BatchProgress {
    pub(crate) completed: AtomicU32,
    pub(crate) failed: AtomicU32,
    /// Notified when the batch is cancelled.
    pub(crate) cancelled: Notify,
}

/// The store of files and batches.
#[derive(Debug)]
pub struct Batches {
    pub(crate) disk: Arc<Disk>,
    pub(crate) store: Store,
    pool: BlockingPool,
    pub(crate) limits: LineLimits,
    /// Lines that are answered concurrently.
    pub(crate) concurrency: usize,
    /// The number of processes that may die during a line before the line fails.
    pub(crate) max_attempts: usize,
    /// Greatest number of unfinished batches of an owner.
    max_unfinished: usize,
    /// Greatest number of batches that run at a time. A waiting batch has no open journal and no
    /// lines in memory.
    pub(crate) max_active: usize,
    /// How long a batch runs before it makes room for a waiting one.
    pub(crate) turn: Duration,
    /// Whether batches wait for their turn.
    pub(crate) has_waiting: AtomicBool,
    /// Earlier processes that ended in order.
    clean_ends: HashSet<ProcessId>,
    /// The progress of each running batch. A plain lock: it is held for one map operation.
    pub(crate) progress: Mutex<HashMap<BatchId, Arc<BatchProgress>>>,
    /// Notified when a batch is created.
    pub(crate) new_batch: Notify,
    pub(crate) stop: watch::Sender<bool>,
}

impl Batches {
    /// Opens the store in a folder, creating it if needed.
    ///
    /// # Errors
    /// A folder that cannot be used, or that another server uses.
    pub fn open(folder: &Path, config: &Config) -> std::io::Result<Batches> {
        let opened = Self::open_with(folder, config, Arc::new(NoFaults));
        opened.map_err(|error| {
            let message = format!("{}: {error}", folder.display());
            std::io::Error::other(message)
        })
    }

    pub(crate) fn open_with(
        folder: &Path,
        config: &Config,
        faults: Arc<dyn Faults>,
    ) -> Result<Batches, StorageError> {
        let quota = config.batches_quota as u64;
        let disk = Arc::new(Disk::open(folder, quota, faults)?);
        let store = Store::open(disk.clone())?;
        let batches = Batches {
            clean_ends: store.clean_ends()?,
            store,
            disk,
            pool: BlockingPool::new("disk", DISK_THREADS)?,
            limits: LineLimits {
                requests: u32::try_from(config.batches_max_requests).unwrap_or(u32::MAX),
                line_bytes: config.max_body.saturating_add(LINE_MARGIN),
            },
            concurrency: config.batches_concurrency,
            max_attempts: config.batches_max_attempts,
            max_unfinished: config.batches_max_unfinished,
            max_active: config.batches_max_active,
            turn: TURN,
            has_waiting: AtomicBool::new(false),
            progress: Mutex::default(),
            new_batch: Notify::new(),
            stop: watch::Sender::new(false),
        };
        batches.clear()?;
        Ok(batches)
    }

    /// Removes files and journals without a record, left by a crash between writing and recording.
    fn clear(&self) -> Result<(), StorageError> {
        for name in self.disk.file_names()? {
            let id = FileId::parse(&name);
            if let Some(id) = id
                && self.store.file(&id)?.is_none()
            {
                self.disk.remove(&self.disk.file(&id))?;
            }
        }
        for name in self.disk.journal_names()? {
            let Some(id) = BatchId::parse(&name) else {
                continue;
            };
            let batch = self.store.batch(&id)?;
            if batch.is_none_or(|batch| is_over(batch.status)) {
                self.disk.remove(&self.disk.journal(&id))?;
            }
        }
        if !self.clean_ends.is_empty() && self.disk.journal_names()?.is_empty() {
            self.store.clear_clean_ends()?;
        }
        Ok(())
    }

    /// Counts the processes among `attempts` that died: earlier ones without a clean end.
    pub(crate) fn deaths(&self, attempts: impl Iterator<Item = ProcessId>) -> usize {
        let died = |process: &ProcessId| {
            *process != self.disk.process && !self.clean_ends.contains(process)
        };
        attempts.filter(died).count()
    }

    /// Records that this process ended in order.
    pub(crate) fn end_well(&self) -> Result<(), StorageError> {
        self.store.add_clean_end(self.disk.process)
    }

    /// Runs work that waits for the disk on a thread of the pool, and not on an event loop.
    ///
    /// # Errors
    /// Those of the work, and a panic in it.
    pub(crate) async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Arc<Batches>) -> Result<T, StorageError> + Send + 'static,
    ) -> Result<T, StorageError> {
        let batches = self.clone();
        let done = self.pool.run(move || work(&batches)).await;
        done.map_err(|error| StorageError::Database(error.to_string()))?
    }

    /// Stops the runner: no more lines are sent.
    pub(crate) fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Returns the bytes used by files and journals.
    pub(crate) fn bytes(&self) -> u64 {
        self.disk.used()
    }

    /// Counts the running batches.
    pub(crate) fn running(&self) -> usize {
        self.lives().len()
    }

    pub(crate) fn lives(&self) -> std::sync::MutexGuard<'_, HashMap<BatchId, Arc<BatchProgress>>> {
        // The map is valid even after a panic elsewhere.
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates a file under a temporary name.
    pub(crate) fn begin_file(&self) -> Result<Writing, StorageError> {
        Ok(self.disk.begin()?)
    }

    /// Gives a written file its final name and records it.
    pub(crate) fn keep_file(
        &self,
        writing: Writing,
        record: impl FnOnce(FileId, u64, u64) -> FileRecord,
    ) -> Result<FileRecord, StorageError> {
        let id = FileId::new()?;
        let file = record(id, self.store.place(), writing.bytes());
        let kept = writing.keep(&file.id)?;
        self.record([kept], || self.store.add_file(&file))?;
        Ok(file)
    }

    /// Runs a transaction that records files; removes those that have no record afterwards.
    ///
    /// # Errors
    /// Those of the transaction.
    pub(crate) fn record<T>(
        &self,
        files: impl IntoIterator<Item = UnrecordedFile>,
        transaction: impl FnOnce() -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        let done = transaction();
        for file in files {
            // A transaction that reports an error may have been committed, so the database says what
            // is recorded. If it cannot be read, the next start removes files without a record.
            if self.store.file(file.id()).is_ok_and(|record| record.is_none()) {
                drop(file);
            } else {
                file.leave();
            }
        }
        done
    }

    /// Returns a file of this owner; `None` if there is none or it has expired.
    pub(crate) fn file(
        &self,
        id: &FileId,
        owner: &str,
    ) -> Result<Option<FileRecord>, StorageError> {
        let now = unix_seconds();
        let found = self.store.file(id)?;
        Ok(found.filter(|file| file.owner == owner && !file.is_expired(now)))
    }

    /// Reads a page of those unexpired files of this owner that satisfy `passes`; `None` if
    /// `range.after` is not the id of one.
    pub(crate) fn files(
        &self,
        owner: &str,
        range: &PageRange,
        passes: impl Fn(&FileRecord) -> bool,
    ) -> Result<Option<Page<FileRecord>>, StorageError> {
        let now = unix_seconds();
        self.store.page(owner, range, |file: &FileRecord| !file.is_expired(now) && passes(file))
    }

    /// Opens the contents of a file.
    pub(crate) fn content(&self, id: &FileId) -> Result<std::fs::File, StorageError> {
        Ok(std::fs::File::open(self.disk.file(id))?)
    }

    /// Deletes a file of this owner, unless an unfinished batch uses it.
    pub(crate) fn delete_file(
        &self,
        id: &FileId,
        owner: &str,
    ) -> Result<DeleteOutcome, StorageError> {
        let deleting = self.store.delete_file(id, |file| file.owner == owner)?;
        if deleting == DeleteOutcome::Deleted {
            self.disk.remove(&self.disk.file(id))?;
        }
        Ok(deleting)
    }

    /// Creates a batch from its record.
    pub(crate) fn begin(
        &self,
        record: impl FnOnce(BatchId, u64) -> BatchRecord,
    ) -> Result<(BatchRecord, BeginOutcome), StorageError> {
        let batch = record(BatchId::new()?, self.store.place());
        let beginning = self.store.begin(&batch, self.max_unfinished)?;
        if beginning == BeginOutcome::Begun {
            self.new_batch.notify_one();
        }
        Ok((batch, beginning))
    }

    /// Returns a batch of this owner with current counts.
    pub(crate) fn batch(
        &self,
        id: &BatchId,
        owner: &str,
    ) -> Result<Option<BatchRecord>, StorageError> {
        let found = self.store.batch(id)?;
        let own = found.filter(|batch| batch.owner == owner);
        Ok(own.map(|batch| self.current(batch)))
    }

    /// Reads a page of the batches of this owner; `None` if `range.after` is not the id of one.
    pub(crate) fn batches(
        &self,
        owner: &str,
        range: &PageRange,
    ) -> Result<Option<Page<BatchRecord>>, StorageError> {
        let page = self.store.page(owner, range, |_: &BatchRecord| true)?;
        Ok(page.map(|page| Page {
            records: page.records.into_iter().map(|batch| self.current(batch)).collect(),
            has_more: page.has_more,
        }))
    }

    /// Cancels a batch of this owner. Returns its record, and whether it could be cancelled in its
    /// state; `None` if there is no such batch.
    pub(crate) fn cancel(
        &self,
        id: &BatchId,
        owner: &str,
    ) -> Result<Option<(BatchRecord, bool)>, StorageError> {
        let now = unix_seconds();
        let changed = self.store.change(id, &[], |batch| {
            let next = after(batch.status, Event::Cancel).filter(|_| batch.owner == owner);
            if let Some(next) = next {
                batch.enter(next, now);
            }
            next.is_some()
        })?;
        let changed = changed.filter(|(batch, _)| batch.owner == owner);
        if changed.is_some() {
            match self.lives().get(id) {
                Some(progress) => progress.cancelled.notify_one(),
                None => self.new_batch.notify_one(),
            }
        }
        Ok(changed.map(|(batch, done)| (self.current(batch), done)))
    }

    /// Returns a record with the counts of the running batch, which the record has only at the end.
    fn current(&self, batch: BatchRecord) -> BatchRecord {
        if is_over(batch.status) {
            return batch;
        }
        let Some(progress) = self.lives().get(&batch.id).cloned() else {
            return batch;
        };
        BatchRecord {
            counts: BatchCounts {
                completed: progress.completed.load(Ordering::Relaxed),
                failed: progress.failed.load(Ordering::Relaxed),
                ..batch.counts
            },
            ..batch
        }
    }

    /// Removes expired files, and the records of batches that finished long ago.
    pub(crate) fn sweep(&self) -> Result<(), StorageError> {
        let now = unix_seconds();
        let expired = self.store.ids(|file: &FileRecord| file.is_expired(now))?;
        for id in expired.iter().filter_map(|id| FileId::parse(id)) {
            let deleted = self.store.delete_file(&id, |file| file.is_expired(now))?;
            if deleted == DeleteOutcome::Deleted {
                self.disk.remove(&self.disk.file(&id))?;
            }
        }
        let old = self.store.ids(|batch: &BatchRecord| {
            let end = batch.created_at.saturating_add(REMEMBERED_SECONDS);
            end <= now && is_over(batch.status)
        })?;
        for id in old.iter().filter_map(|id| BatchId::parse(id)) {
            self.store.forget(&id)?;
        }
        Ok(())
    }
}

//! Batches: files of requests that are answered as capacity allows and survive restarts.
//!
//! A database ([`store`]) has the records of files and batches; a folder ([`disk`]) has the files
//! and a journal ([`journal`]) for each batch. A batch moves between states ([`status`]) by steps
//! that can be repeated (`batch_runner`): after a crash the record says which state a batch was in,
//! and the journal which lines are answered. Each line goes through the server's own routes.
//! Nothing here knows how anything is judged.

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

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Notify, watch};

use crate::batches::record::BatchCounts;

pub(crate) use disk::Writing;
use disk::{Disk, Faults, NoFaults};
pub(crate) use error::StorageError;
use ids::{BatchId, FileId};
use lines::LineLimits;
use record::{BatchRecord, FileRecord};
use status::{Event, after, is_over};
use store::Store;
pub(crate) use store::{BeginOutcome, DeleteOutcome};

use crate::clock::unix_seconds;
use crate::config::Config;

/// Most unfinished batches.
const MOST_UNFINISHED: usize = 1_000;

/// Most bytes of a line beside its body.
const LINE_MARGIN: usize = 64 << 10;

/// How long a finished batch is kept.
const REMEMBERED_SECONDS: u64 = record::MOST_SECONDS;

/// The routes that a line may name.
pub(crate) const ENDPOINTS: [&str; 15] = [
    "/v1/score",
    "/v1/chat/completions",
    "/v1/completions",
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
    pub(crate) limits: LineLimits,
    /// Lines that are answered concurrently.
    pub(crate) concurrency: usize,
    /// Running batches. A plain lock: it is held for one map operation.
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
        let batches = Batches {
            store: Store::open(disk.clone())?,
            disk,
            limits: LineLimits {
                requests: u32::try_from(config.batches_max_requests).unwrap_or(u32::MAX),
                line_bytes: config.max_body.saturating_add(LINE_MARGIN),
            },
            concurrency: config.batches_concurrency,
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
        Ok(())
    }

    /// Stops sending lines and ends the batch runner.
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
        writing.keep(&file.id)?;
        self.store.add_file(&file)?;
        Ok(file)
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

    /// Lists the files of this owner, newest first.
    pub(crate) fn files(&self, owner: &str) -> Result<Vec<FileRecord>, StorageError> {
        let now = unix_seconds();
        let mut files = self.store.files()?;
        files.retain(|file| file.owner == owner && !file.is_expired(now));
        files.sort_by_key(|file| std::cmp::Reverse((file.created_at, file.place)));
        Ok(files)
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
        let beginning = self.store.begin(&batch, MOST_UNFINISHED)?;
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

    /// Lists the batches of this owner, newest first.
    pub(crate) fn batches(&self, owner: &str) -> Result<Vec<BatchRecord>, StorageError> {
        let mut batches = self.store.batches()?;
        batches.retain(|batch| batch.owner == owner);
        batches.sort_by_key(|batch| std::cmp::Reverse((batch.created_at, batch.place)));
        let current = |batch| self.current(batch);
        Ok(batches.into_iter().map(current).collect())
    }

    /// Cancels a batch of this owner. Returns its record, and whether its state allowed it; `None`
    /// if there is no such batch.
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
        if changed.is_some()
            && let Some(progress) = self.lives().get(id)
        {
            progress.cancelled.notify_one();
        }
        Ok(changed.map(|(batch, done)| (self.current(batch), done)))
    }

    /// Returns a record with the counts of its runner.
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

    /// Removes expired files and forgets old finished batches.
    pub(crate) fn sweep(&self) -> Result<(), StorageError> {
        let now = unix_seconds();
        for file in self.store.files()? {
            if file.is_expired(now)
                && self.store.delete_file(&file.id, |file| file.is_expired(now))?
                    == DeleteOutcome::Deleted
            {
                self.disk.remove(&self.disk.file(&file.id))?;
            }
        }
        for batch in self.store.batches()? {
            let old = batch.created_at.saturating_add(REMEMBERED_SECONDS) <= now;
            if old && is_over(batch.status) {
                self.store.forget(&batch.id)?;
            }
        }
        Ok(())
    }
}

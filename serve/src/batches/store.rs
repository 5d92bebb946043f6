//! The database of file and batch records.
//!
//! A change is one transaction that reads what it depends on, so that concurrent requests cannot
//! undo each other's work. After an I/O error the database is closed, and reopened by the next
//! operation.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use redb::{
    Database, ReadTransaction, ReadableDatabase as _, ReadableTable, Table, TableDefinition,
    WriteTransaction,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::disk::{Disk, DiskStep};
use super::error::StorageError;
use super::ids::{BatchId, FileId};
use super::record::{BatchRecord, FileRecord};
use super::status::is_over;

const FILES: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("files");
const BATCHES: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("batches");

/// Cache size of the database in bytes.
const CACHE_BYTES: usize = 16 << 20;

type StoreResult<T> = Result<T, StorageError>;

/// The database.
#[derive(Debug)]
pub(crate) struct Store {
    path: PathBuf,
    disk: Arc<Disk>,
    /// `None` after an I/O error, until the next operation reopens it. A lock, so that one thread
    /// reopens it for all; held while a handle is taken, never while it is used.
    database: Mutex<Option<Arc<Database>>>,
    /// Sequence number of the next record.
    next: AtomicU64,
}

/// The result of deleting a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DeleteOutcome {
    /// Deleted.
    Deleted,
    /// There is no such file.
    Absent,
    /// This unfinished batch uses it.
    Needed(BatchId),
}

/// The result of creating a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BeginOutcome {
    /// Created.
    Begun,
    /// The input file does not exist.
    NoFile,
    /// The limit of unfinished batches is reached.
    TooMany,
}

impl Store {
    /// Opens or creates the database of a folder.
    pub(crate) fn open(disk: Arc<Disk>) -> StoreResult<Store> {
        let store = Store {
            path: disk.database(),
            disk,
            database: Mutex::new(None),
            next: AtomicU64::new(0),
        };
        store.write(|transaction| {
            transaction.open_table(FILES)?;
            transaction.open_table(BATCHES)?;
            Ok(())
        })?;
        let files = store.files()?.into_iter().map(|file| file.place);
        let batches = store.batches()?.into_iter().map(|batch| batch.place);
        let last = files.chain(batches).max();
        let next = last.map_or(0, |last| last.saturating_add(1));
        store.next.store(next, Ordering::Relaxed);
        Ok(store)
    }

    /// Returns a sequence number higher than all before.
    pub(crate) fn place(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Lists all files.
    pub(crate) fn files(&self) -> StoreResult<Vec<FileRecord>> {
        self.read(|transaction| all(&transaction.open_table(FILES)?))
    }

    /// Returns the record of a file.
    pub(crate) fn file(&self, id: &FileId) -> StoreResult<Option<FileRecord>> {
        self.read(|transaction| get(&transaction.open_table(FILES)?, id.as_str()))
    }

    /// Lists all batches.
    pub(crate) fn batches(&self) -> StoreResult<Vec<BatchRecord>> {
        self.read(|transaction| all(&transaction.open_table(BATCHES)?))
    }

    /// Returns the record of a batch.
    pub(crate) fn batch(&self, id: &BatchId) -> StoreResult<Option<BatchRecord>> {
        self.read(|transaction| get(&transaction.open_table(BATCHES)?, id.as_str()))
    }

    /// Adds the record of a file.
    pub(crate) fn add_file(&self, file: &FileRecord) -> StoreResult<()> {
        self.write(|transaction| put(&mut transaction.open_table(FILES)?, file.id.as_str(), file))
    }

    /// Deletes the record of a file that satisfies `passes`, unless an unfinished batch uses it.
    pub(crate) fn delete_file(
        &self,
        id: &FileId,
        passes: impl Fn(&FileRecord) -> bool,
    ) -> StoreResult<DeleteOutcome> {
        self.write(|transaction| {
            let mut files = transaction.open_table(FILES)?;
            let found: Option<FileRecord> = get(&files, id.as_str())?;
            if !found.is_some_and(|file| passes(&file)) {
                return Ok(DeleteOutcome::Absent);
            }
            let batches: Vec<BatchRecord> = all(&transaction.open_table(BATCHES)?)?;
            let needs = |batch: &&BatchRecord| batch.input == *id && !is_over(batch.status);
            if let Some(batch) = batches.iter().find(needs) {
                return Ok(DeleteOutcome::Needed(batch.id.clone()));
            }
            files.remove(id.as_str())?;
            Ok(DeleteOutcome::Deleted)
        })
    }

    /// Adds a batch if its input file exists and fewer than `most` batches are unfinished.
    pub(crate) fn begin(&self, batch: &BatchRecord, most: usize) -> StoreResult<BeginOutcome> {
        self.write(|transaction| {
            let files = transaction.open_table(FILES)?;
            let mut batches = transaction.open_table(BATCHES)?;
            if files.get(batch.input.as_str())?.is_none() {
                return Ok(BeginOutcome::NoFile);
            }
            let known: Vec<BatchRecord> = all(&batches)?;
            if known.iter().filter(|known| !is_over(known.status)).count() >= most {
                return Ok(BeginOutcome::TooMany);
            }
            put(&mut batches, batch.id.as_str(), batch)?;
            Ok(BeginOutcome::Begun)
        })
    }

    /// Changes the record of a batch and adds those of its output files, in one transaction.
    /// Returns the record and whether `change` returned true; otherwise nothing is changed.
    pub(crate) fn change(
        &self,
        id: &BatchId,
        made: &[FileRecord],
        change: impl Fn(&mut BatchRecord) -> bool,
    ) -> StoreResult<Option<(BatchRecord, bool)>> {
        self.write(|transaction| {
            let mut batches = transaction.open_table(BATCHES)?;
            let Some(mut batch) = get::<BatchRecord>(&batches, id.as_str())? else {
                return Ok(None);
            };
            let before = batch.clone();
            if !change(&mut batch) {
                return Ok(Some((before, false)));
            }
            put(&mut batches, id.as_str(), &batch)?;
            let mut files = transaction.open_table(FILES)?;
            for file in made {
                put(&mut files, file.id.as_str(), file)?;
            }
            Ok(Some((batch, true)))
        })
    }

    /// Deletes the record of a finished batch.
    pub(crate) fn forget(&self, id: &BatchId) -> StoreResult<()> {
        self.write(|transaction| {
            transaction.open_table(BATCHES)?.remove(id.as_str())?;
            Ok(())
        })
    }

    fn read<T>(&self, work: impl Fn(&ReadTransaction) -> Result<T, redb::Error>) -> StoreResult<T> {
        let database = self.database()?;
        let reading = || work(&database.begin_read()?);
        reading().map_err(|error| self.failed(error))
    }

    fn write<T>(
        &self,
        work: impl Fn(&WriteTransaction) -> Result<T, redb::Error>,
    ) -> StoreResult<T> {
        let database = self.database()?;
        let writing = || {
            let transaction = database.begin_write()?;
            let done = work(&transaction)?;
            self.disk.before(DiskStep::Commit)?;
            transaction.commit()?;
            Ok(done)
        };
        writing().map_err(|error: redb::Error| self.failed(error))
    }

    fn database(&self) -> StoreResult<Arc<Database>> {
        // The handle is valid even after a panic elsewhere.
        let mut slot = self.database.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(database) = &*slot {
            return Ok(database.clone());
        }
        let mut builder = Database::builder();
        let opened = builder.set_cache_size(CACHE_BYTES).create(&self.path);
        let opened = opened.map_err(redb::Error::from)?;
        let opened = Arc::new(opened);
        *slot = Some(opened.clone());
        Ok(opened)
    }

    fn failed(&self, error: redb::Error) -> StorageError {
        if matches!(
            error,
            redb::Error::Io(_) | redb::Error::PreviousIo | redb::Error::LockPoisoned(_)
        ) {
            let mut slot = self.database.lock().unwrap_or_else(PoisonError::into_inner);
            *slot = None;
        }
        error.into()
    }
}

type RecordTable<'t> = Table<'t, &'static str, &'static [u8]>;

fn put(rows: &mut RecordTable<'_>, key: &str, record: &impl Serialize) -> Result<(), redb::Error> {
    let bytes = serde_json::to_vec(record).map_err(std::io::Error::other)?;
    rows.insert(key, bytes.as_slice())?;
    Ok(())
}

fn get<T: DeserializeOwned>(
    rows: &impl ReadableTable<&'static str, &'static [u8]>,
    key: &str,
) -> Result<Option<T>, redb::Error> {
    let Some(found) = rows.get(key)? else {
        return Ok(None);
    };
    record(found.value()).map(Some)
}

fn all<T: DeserializeOwned>(
    rows: &impl ReadableTable<&'static str, &'static [u8]>,
) -> Result<Vec<T>, redb::Error> {
    let mut records = Vec::new();
    for row in rows.iter()? {
        records.push(record(row?.1.value())?);
    }
    Ok(records)
}

fn record<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, redb::Error> {
    serde_json::from_slice(bytes).map_err(|error| redb::Error::Corrupted(error.to_string()))
}

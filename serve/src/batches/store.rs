//! The database of file and batch records.
//!
//! Beside the tables of records there are three indexes: files and batches by owner and time of
//! creation, from which pages of lists are read, and the unfinished batches. Every start rebuilds them
//! from the records, so that records written by a version without the indexes are listed too.
//!
//! Each change is one transaction, which also reads the records that it depends on, so that two
//! concurrent requests cannot overwrite each other's changes. After an I/O error redb refuses every
//! operation on the open database; the next operation opens it again.

use std::collections::HashSet;
use std::ops::{Bound, RangeInclusive};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use redb::backends::FileBackend;
use redb::{
    Database, ReadTransaction, ReadableDatabase as _, ReadableTable, TableDefinition,
    WriteTransaction,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::disk::{Disk, DiskStep, open_own};
use super::error::StorageError;
use super::ids::{BatchId, FileId, ProcessId};
use super::record::{BatchRecord, FileRecord};
use super::status::{BatchStatus, is_over};

const FILES: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("files");
const BATCHES: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("batches");
/// Files and batches by owner, time of creation, sequence number and id. The id is part of the key
/// because the two output files of a batch have one sequence number.
const FILES_OF: Index = TableDefinition::new("files_of");
const BATCHES_OF: Index = TableDefinition::new("batches_of");
/// Unfinished batches: (owner, sequence number) -> (id, input file, whether lines are being sent).
const UNFINISHED: TableDefinition<'_, (&str, u64), (&str, &str, bool)> =
    TableDefinition::new("unfinished");
/// Ids of the server processes that ended in order.
const CLEAN_ENDS: TableDefinition<'_, u64, ()> = TableDefinition::new("clean_ends");

/// Cache size of the database in bytes.
const CACHE_BYTES: usize = 16 << 20;

type StoreResult<T> = Result<T, StorageError>;
type IndexKey<'a> = (&'a str, u64, u64, &'a str);
type Index = TableDefinition<'static, IndexKey<'static>, ()>;

/// A record that belongs to an owner.
pub(crate) trait Owned: Serialize + DeserializeOwned {
    /// The table of the records.
    const RECORDS: TableDefinition<'static, &'static str, &'static [u8]>;
    /// The index of the records by owner.
    const BY_OWNER: Index;

    /// The id.
    fn id(&self) -> &str;

    /// The key in the index: owner, time of creation in Unix seconds, sequence number, id.
    fn key(&self) -> IndexKey<'_>;
}

impl Owned for FileRecord {
    const RECORDS: TableDefinition<'static, &'static str, &'static [u8]> = FILES;
    const BY_OWNER: Index = FILES_OF;

    fn id(&self) -> &str {
        self.id.as_str()
    }

    fn key(&self) -> IndexKey<'_> {
        (&self.owner, self.created_at, self.place, self.id.as_str())
    }
}

impl Owned for BatchRecord {
    const RECORDS: TableDefinition<'static, &'static str, &'static [u8]> = BATCHES;
    const BY_OWNER: Index = BATCHES_OF;

    fn id(&self) -> &str {
        self.id.as_str()
    }

    fn key(&self) -> IndexKey<'_> {
        (&self.owner, self.created_at, self.place, self.id.as_str())
    }
}

/// A request for a page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageRange {
    /// The page begins after the record with this id; `None` for the first page.
    pub(crate) after: Option<String>,
    /// Greatest number of records.
    pub(crate) limit: usize,
    /// Whether the oldest record comes first.
    pub(crate) is_ascending: bool,
}

/// A page of a list.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page<T> {
    pub(crate) records: Vec<T>,
    /// Whether more records follow.
    pub(crate) has_more: bool,
}

/// An unfinished batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnfinishedBatch {
    pub(crate) id: BatchId,
    pub(crate) owner: String,
    pub(crate) place: u64,
    /// Whether its lines are being sent. The other states, validation and the writing of the output
    /// files, are short.
    pub(crate) is_sending: bool,
}

/// The database.
#[derive(Debug)]
pub(crate) struct Store {
    path: PathBuf,
    disk: Arc<Disk>,
    /// `None` after an I/O error, until the next operation reopens it. A lock, so that one thread
    /// reopens it for all; held while the handle is cloned or the database is opened, not during
    /// transactions.
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
    /// Opens or creates the database of a folder, and rebuilds the indexes.
    pub(crate) fn open(disk: Arc<Disk>) -> StoreResult<Store> {
        let store = Store {
            path: disk.database(),
            disk,
            database: Mutex::new(None),
            next: AtomicU64::new(0),
        };
        let next = store.write(|transaction| {
            transaction.open_table(CLEAN_ENDS)?;
            transaction.open_table(UNFINISHED)?.retain(|_, _| false)?;
            let files = index_all::<FileRecord>(transaction, |_| Ok(()))?;
            let batches = index_all::<BatchRecord>(transaction, |batch| {
                index_unfinished(transaction, batch)
            })?;
            Ok(files.max(batches))
        })?;
        store.next.store(next, Ordering::Relaxed);
        Ok(store)
    }

    /// Returns the next sequence number.
    pub(crate) fn place(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns the record of a file.
    pub(crate) fn file(&self, id: &FileId) -> StoreResult<Option<FileRecord>> {
        self.read(|transaction| get(&transaction.open_table(FILES)?, id.as_str()))
    }

    /// Reads a page of those records of an owner that satisfy `passes`; `None` if `range.after` is
    /// not the id of one.
    pub(crate) fn page<T: Owned>(
        &self,
        owner: &str,
        range: &PageRange,
        passes: impl Fn(&T) -> bool,
    ) -> StoreResult<Option<Page<T>>> {
        self.read(|transaction| {
            let records = transaction.open_table(T::RECORDS)?;
            let index = transaction.open_table(T::BY_OWNER)?;
            let mut low = Bound::Included((owner, 0, 0, ""));
            let mut high = Bound::Excluded((owner, u64::MAX, 0, ""));
            let before = match &range.after {
                None => None,
                Some(id) => {
                    let found: Option<T> = get(&records, id)?;
                    match found.filter(|record| record.key().0 == owner && passes(record)) {
                        None => return Ok(None),
                        found => found,
                    }
                }
            };
            if let Some(key) = before.as_ref().map(Owned::key) {
                let end = Bound::Excluded(key);
                *(if range.is_ascending { &mut low } else { &mut high }) = end;
            }
            let mut entries = index.range::<IndexKey<'_>>((low, high))?;
            let mut page = Page { records: Vec::new(), has_more: false };
            while let Some(entry) =
                if range.is_ascending { entries.next() } else { entries.next_back() }
            {
                let Some(record) = get::<T>(&records, entry?.0.value().3)?.filter(&passes) else {
                    continue;
                };
                if page.records.len() == range.limit {
                    page.has_more = true;
                    break;
                }
                page.records.push(record);
            }
            Ok(Some(page))
        })
    }

    /// Lists the unfinished batches of all owners.
    pub(crate) fn unfinished(&self) -> StoreResult<Vec<UnfinishedBatch>> {
        self.read(|transaction| {
            let mut batches = Vec::new();
            for entry in transaction.open_table(UNFINISHED)?.iter()? {
                let (key, value) = entry?;
                let ((owner, place), (id, _, is_sending)) = (key.value(), value.value());
                let owner = owner.to_owned();
                batches.extend(BatchId::parse(id).map(|id| UnfinishedBatch {
                    id,
                    owner,
                    place,
                    is_sending,
                }));
            }
            Ok(batches)
        })
    }

    /// Lists the ids of the records that satisfy `passes`. Holds one record in memory at a time.
    pub(crate) fn ids<T: Owned>(&self, passes: impl Fn(&T) -> bool) -> StoreResult<Vec<String>> {
        self.read(|transaction| {
            let mut ids = Vec::new();
            for row in transaction.open_table(T::RECORDS)?.iter()? {
                let found: T = record(row?.1.value())?;
                if passes(&found) {
                    ids.push(found.id().to_owned());
                }
            }
            Ok(ids)
        })
    }

    /// Returns the record of a batch.
    pub(crate) fn batch(&self, id: &BatchId) -> StoreResult<Option<BatchRecord>> {
        self.read(|transaction| get(&transaction.open_table(BATCHES)?, id.as_str()))
    }

    /// Adds the record of a file.
    pub(crate) fn add_file(&self, file: &FileRecord) -> StoreResult<()> {
        self.write(|transaction| put(transaction, file))
    }

    /// Deletes the record of a file that satisfies `passes`, unless an unfinished batch uses it.
    pub(crate) fn delete_file(
        &self,
        id: &FileId,
        passes: impl Fn(&FileRecord) -> bool,
    ) -> StoreResult<DeleteOutcome> {
        self.write(|transaction| {
            let found = get::<FileRecord>(&transaction.open_table(FILES)?, id.as_str())?;
            let Some(file) = found.filter(|file| passes(file)) else {
                return Ok(DeleteOutcome::Absent);
            };
            // The owner of a batch is the owner of its input file.
            let unfinished = transaction.open_table(UNFINISHED)?;
            for entry in unfinished.range(all_of(&file.owner))? {
                let entry = entry?.1;
                let (batch, input, _) = entry.value();
                if input == id.as_str()
                    && let Some(batch) = BatchId::parse(batch)
                {
                    return Ok(DeleteOutcome::Needed(batch));
                }
            }
            remove(transaction, &file)?;
            Ok(DeleteOutcome::Deleted)
        })
    }

    /// Adds the record of a batch, if its input file exists and its owner has fewer than `most`
    /// unfinished batches.
    pub(crate) fn begin(&self, batch: &BatchRecord, most: usize) -> StoreResult<BeginOutcome> {
        self.write(|transaction| {
            if transaction.open_table(FILES)?.get(batch.input.as_str())?.is_none() {
                return Ok(BeginOutcome::NoFile);
            }
            let unfinished = transaction.open_table(UNFINISHED)?;
            let is_full = unfinished.range(all_of(&batch.owner))?.nth(most.saturating_sub(1));
            if is_full.transpose()?.is_some() {
                return Ok(BeginOutcome::TooMany);
            }
            drop(unfinished);
            put(transaction, batch)?;
            index_unfinished(transaction, batch)?;
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
            let found = get::<BatchRecord>(&transaction.open_table(BATCHES)?, id.as_str())?;
            let Some(mut batch) = found else {
                return Ok(None);
            };
            let before = batch.clone();
            if !change(&mut batch) {
                return Ok(Some((before, false)));
            }
            put(transaction, &batch)?;
            index_unfinished(transaction, &batch)?;
            for file in made {
                put(transaction, file)?;
            }
            Ok(Some((batch, true)))
        })
    }

    /// Deletes the record of a finished batch.
    pub(crate) fn forget(&self, id: &BatchId) -> StoreResult<()> {
        self.write(|transaction| {
            let found = get::<BatchRecord>(&transaction.open_table(BATCHES)?, id.as_str())?;
            found.map_or(Ok(()), |batch| remove(transaction, &batch))
        })
    }

    /// Records that a process ended in order, so that its attempts at lines do not count as deaths.
    pub(crate) fn add_clean_end(&self, process: ProcessId) -> StoreResult<()> {
        self.write(|transaction| {
            transaction.open_table(CLEAN_ENDS)?.insert(process.0, ())?;
            Ok(())
        })
    }

    /// Lists the processes that ended in order.
    pub(crate) fn clean_ends(&self) -> StoreResult<HashSet<ProcessId>> {
        self.read(|transaction| {
            let ends = transaction.open_table(CLEAN_ENDS)?;
            ends.iter()?.map(|end| Ok(ProcessId(end?.0.value()))).collect()
        })
    }

    /// Forgets the processes that ended in order; for when no journal has attempts.
    pub(crate) fn clear_clean_ends(&self) -> StoreResult<()> {
        self.write(|transaction| {
            transaction.open_table(CLEAN_ENDS)?.retain(|_, ()| false)?;
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
        let file = FileBackend::new(open_own(&self.path)?).map_err(redb::Error::from)?;
        let opened = builder.set_cache_size(CACHE_BYTES).create_with_backend(file);
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

/// The keys of an owner's unfinished batches.
fn all_of(owner: &str) -> RangeInclusive<(&str, u64)> {
    (owner, 0)..=(owner, u64::MAX)
}

fn put<T: Owned>(transaction: &WriteTransaction, record: &T) -> Result<(), redb::Error> {
    let bytes = serde_json::to_vec(record).map_err(std::io::Error::other)?;
    transaction.open_table(T::RECORDS)?.insert(record.id(), bytes.as_slice())?;
    transaction.open_table(T::BY_OWNER)?.insert(record.key(), ())?;
    Ok(())
}

fn remove<T: Owned>(transaction: &WriteTransaction, record: &T) -> Result<(), redb::Error> {
    transaction.open_table(T::RECORDS)?.remove(record.id())?;
    transaction.open_table(T::BY_OWNER)?.remove(record.key())?;
    Ok(())
}

/// Adds an unfinished batch to the index of unfinished batches, and removes a finished one.
fn index_unfinished(
    transaction: &WriteTransaction,
    batch: &BatchRecord,
) -> Result<(), redb::Error> {
    let mut unfinished = transaction.open_table(UNFINISHED)?;
    let key = (batch.owner.as_str(), batch.place);
    if is_over(batch.status) {
        unfinished.remove(key)?;
    } else {
        let is_sending = batch.status == BatchStatus::InProgress;
        unfinished.insert(key, (batch.id.as_str(), batch.input.as_str(), is_sending))?;
    }
    Ok(())
}

/// Rebuilds the index of a table by owner, calls `each` for every record, and returns the first unused
/// sequence number.
fn index_all<T: Owned>(
    transaction: &WriteTransaction,
    each: impl Fn(&T) -> Result<(), redb::Error>,
) -> Result<u64, redb::Error> {
    let records = transaction.open_table(T::RECORDS)?;
    let mut index = transaction.open_table(T::BY_OWNER)?;
    index.retain(|_, ()| false)?;
    let mut next = 0;
    for row in records.iter()? {
        let found: T = record(row?.1.value())?;
        index.insert(found.key(), ())?;
        next = next.max(found.key().2.saturating_add(1));
        each(&found)?;
    }
    Ok(next)
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

fn record<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, redb::Error> {
    serde_json::from_slice(bytes).map_err(|error| redb::Error::Corrupted(error.to_string()))
}

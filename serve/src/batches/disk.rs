//! The folder of the database, files and journals.
//!
//! One process at a time uses the folder: it takes the lock file before it changes anything. The
//! folders inside are created here; symbolic links in their place are refused. A file is written under
//! a temporary name, synced and then renamed, so that a crash never leaves a part of a file under its
//! final name. All bytes count towards a quota. Before every step that may fail, [`Faults`] is called,
//! by which tests simulate a full disk or the end of the process.

use std::fmt::Debug;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::file::open_regular;

use super::ids::{BatchId, FileId, ProcessId};

/// A disk operation that may fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DiskStep {
    /// Writing bytes.
    Write,
    /// Syncing written bytes.
    Sync,
    /// Renaming a file to its final name.
    Rename,
    /// Removing a file.
    Remove,
    /// Committing a database transaction.
    Commit,
}

/// Faults that tests inject.
pub(crate) trait Faults: Debug + Send + Sync {
    /// Called before a step; the step fails with the error that it returns.
    fn before(&self, step: DiskStep) -> io::Result<()>;
}

/// No injected faults.
#[derive(Debug)]
pub(crate) struct NoFaults;

impl Faults for NoFaults {
    fn before(&self, _step: DiskStep) -> io::Result<()> {
        Ok(())
    }
}

/// The folder with its quota.
#[derive(Debug)]
pub(crate) struct Disk {
    root: PathBuf,
    /// Most bytes of files and journals; 0 for no limit.
    quota: u64,
    used: AtomicU64,
    faults: Arc<dyn Faults>,
    /// The id of this process in journals.
    pub(super) process: ProcessId,
    /// The lock file. The system unlocks it when the process ends.
    _lock: File,
}

impl Disk {
    /// Opens a folder, and creates it if it does not exist. Removes the temporary files of an earlier
    /// process.
    ///
    /// # Errors
    /// A folder that another process uses, in which case nothing is changed; a link or a file in the
    /// place of a folder; I/O errors.
    pub(crate) fn open(root: &Path, quota: u64, faults: Arc<dyn Faults>) -> io::Result<Disk> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(root)?;
        let disk = Disk {
            _lock: lock(&root.join("lock"))?,
            process: ProcessId::new()?,
            root: root.to_owned(),
            quota,
            used: AtomicU64::new(0),
            faults,
        };
        for folder in [disk.files(), disk.journals(), disk.begun()] {
            make_folder(&folder)?;
        }
        for entry in fs::read_dir(disk.begun())? {
            fs::remove_file(entry?.path())?;
        }
        for folder in [disk.files(), disk.journals()] {
            for entry in fs::read_dir(folder)? {
                disk.used.fetch_add(entry?.metadata()?.len(), Ordering::Relaxed);
            }
        }
        Ok(disk)
    }

    fn files(&self) -> PathBuf {
        self.root.join("files")
    }

    fn journals(&self) -> PathBuf {
        self.root.join("journals")
    }

    fn begun(&self) -> PathBuf {
        self.root.join("begun")
    }

    /// Returns the path of the database.
    pub(crate) fn database(&self) -> PathBuf {
        self.root.join("batches.redb")
    }

    /// Returns the path of a file.
    pub(crate) fn file(&self, id: &FileId) -> PathBuf {
        self.files().join(id.as_str())
    }

    /// Returns the path of a batch's journal.
    pub(crate) fn journal(&self, id: &BatchId) -> PathBuf {
        self.journals().join(id.as_str())
    }

    /// Returns the bytes used by files and journals.
    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Lists the names of the files.
    pub(crate) fn file_names(&self) -> io::Result<Vec<String>> {
        names(&self.files())
    }

    /// Lists the names of the journals.
    pub(crate) fn journal_names(&self) -> io::Result<Vec<String>> {
        names(&self.journals())
    }

    /// Fails if a fault is injected for this step.
    pub(crate) fn before(&self, step: DiskStep) -> io::Result<()> {
        self.faults.before(step)
    }

    /// Adds bytes to those in use before they are written.
    ///
    /// # Errors
    /// [`ErrorKind::StorageFull`] above the quota.
    pub(crate) fn reserve(&self, bytes: u64) -> io::Result<()> {
        self.before(DiskStep::Write)?;
        let add = |used: u64| {
            let sum = used.checked_add(bytes)?;
            (self.quota == 0 || sum <= self.quota).then_some(sum)
        };
        let order = Ordering::Relaxed;
        let reserved = self.used.fetch_update(order, order, add);
        let full = |_| io::Error::new(ErrorKind::StorageFull, "batches.quota is used up");
        reserved.map(|_| ()).map_err(full)
    }

    /// Subtracts removed bytes from those in use.
    pub(crate) fn release(&self, bytes: u64) {
        let less = |used: u64| Some(used.saturating_sub(bytes));
        let order = Ordering::Relaxed;
        // The closure returns `Some` for every number, so the update cannot fail.
        let _ = self.used.fetch_update(order, order, less);
    }

    /// Creates a file under a temporary name.
    pub(crate) fn begin(self: &Arc<Self>) -> io::Result<Writing> {
        let path = self.begun().join(FileId::new()?.as_str());
        let file = new_file(&path)?;
        Ok(Writing { disk: Arc::clone(self), file, path, bytes: 0, kept: false })
    }

    /// Removes a file; a missing file is not an error.
    pub(crate) fn remove(&self, path: &Path) -> io::Result<()> {
        self.before(DiskStep::Remove)?;
        let bytes = match fs::metadata(path) {
            Ok(found) => found.len(),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        fs::remove_file(path)?;
        self.release(bytes);
        Ok(())
    }
}

/// A file under a temporary name. If it is dropped before [`Writing::keep`], it is deleted.
#[derive(Debug)]
pub(crate) struct Writing {
    disk: Arc<Disk>,
    file: File,
    path: PathBuf,
    bytes: u64,
    kept: bool,
}

impl Writing {
    /// Appends bytes.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let count = bytes.len() as u64;
        self.disk.reserve(count)?;
        self.bytes += count;
        self.file.write_all(bytes)
    }

    /// Returns the bytes written so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Syncs the file and gives it its final name.
    pub(crate) fn keep(mut self, id: &FileId) -> io::Result<UnrecordedFile> {
        self.disk.before(DiskStep::Sync)?;
        self.file.sync_all()?;
        self.disk.before(DiskStep::Rename)?;
        fs::rename(&self.path, self.disk.file(id))?;
        self.kept = true;
        let unrecorded =
            UnrecordedFile { disk: Arc::clone(&self.disk), id: id.clone(), is_left: false };
        sync_folder(&self.disk.files())?;
        Ok(unrecorded)
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        if !self.kept {
            // If this fails, the next start removes the file.
            let _ = fs::remove_file(&self.path);
            self.disk.release(self.bytes);
        }
    }
}

/// A file under its final name that has no record yet. If it is dropped before
/// [`UnrecordedFile::leave`], it is deleted.
#[derive(Debug)]
pub(crate) struct UnrecordedFile {
    disk: Arc<Disk>,
    id: FileId,
    is_left: bool,
}

impl UnrecordedFile {
    /// Returns its id.
    pub(crate) fn id(&self) -> &FileId {
        &self.id
    }

    /// Leaves the file in the folder.
    pub(crate) fn leave(mut self) {
        self.is_left = true;
    }
}

impl Drop for UnrecordedFile {
    fn drop(&mut self) {
        if !self.is_left {
            // If this fails, the next start removes the file.
            let _ = self.disk.remove(&self.disk.file(&self.id));
        }
    }
}

/// Opens or creates a file with the mode 0600. Fails for a symbolic link.
pub(crate) fn open_own(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file = open_regular(path, options.mode(0o600))?;
    // Earlier versions created files that other users could read.
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

/// Locks a file until it is closed.
fn lock(path: &Path) -> io::Result<File> {
    let file = open_own(path)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            let message = "already open: another server uses this folder";
            Err(io::Error::new(ErrorKind::ResourceBusy, message))
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Syncs the entries of a folder.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

fn new_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Creates a folder with the mode 0700.
///
/// # Errors
/// A link or a file in its place.
fn make_folder(path: &Path) -> io::Result<()> {
    match fs::DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        made => return made,
    }
    if fs::symlink_metadata(path)?.is_dir() {
        return Ok(());
    }
    let message = format!("{} is a link or a file and not a folder", path.display());
    Err(io::Error::new(ErrorKind::NotADirectory, message))
}

fn names(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    Ok(names)
}

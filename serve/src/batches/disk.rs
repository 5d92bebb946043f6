//! The folder that files and journals lie in.
//!
//! A file is written under another name, brought to the disk, and then given its own: there is
//! never half of one. All bytes are counted against a quota, and every step that may fail asks
//! [`Faults`] first, which is how tests fill the disk and pull the plug.

use std::fmt::Debug;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::ids::{BatchId, FileId};

/// A step that may fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Bytes are written.
    Write,
    /// What was written is brought to the disk.
    Sync,
    /// A file gets its name.
    Rename,
    /// A file goes.
    Remove,
    /// The database takes a change over.
    Commit,
}

/// What goes wrong.
pub(crate) trait Faults: Debug + Send + Sync {
    /// Whether this step fails now.
    fn before(&self, step: Step) -> io::Result<()>;
}

/// Nothing, but for what the machine does by itself.
#[derive(Debug)]
pub(crate) struct NoFaults;

impl Faults for NoFaults {
    fn before(&self, _step: Step) -> io::Result<()> {
        Ok(())
    }
}

/// The folder.
#[derive(Debug)]
pub(crate) struct Disk {
    root: PathBuf,
    /// Most bytes of files and journals; 0 for as many as there is room for.
    quota: u64,
    used: AtomicU64,
    faults: Arc<dyn Faults>,
}

impl Disk {
    /// Of a folder, which is made if it is not there. What an earlier process had begun to write is
    /// removed.
    pub(crate) fn open(root: &Path, quota: u64, faults: Arc<dyn Faults>) -> io::Result<Disk> {
        let disk = Disk { root: root.to_owned(), quota, used: AtomicU64::new(0), faults };
        for folder in [root.to_owned(), disk.files(), disk.journals(), disk.begun()] {
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

    /// Where the database lies.
    pub(crate) fn database(&self) -> PathBuf {
        self.root.join("batches.redb")
    }

    /// Where a file lies.
    pub(crate) fn file(&self, id: &FileId) -> PathBuf {
        self.files().join(id.as_str())
    }

    /// Where the journal of a batch lies.
    pub(crate) fn journal(&self, id: &BatchId) -> PathBuf {
        self.journals().join(id.as_str())
    }

    /// Bytes of files and journals.
    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Names of the files that are there.
    pub(crate) fn file_names(&self) -> io::Result<Vec<String>> {
        names(&self.files())
    }

    /// Names of the journals that are there.
    pub(crate) fn journal_names(&self) -> io::Result<Vec<String>> {
        names(&self.journals())
    }

    /// Whether a step fails.
    pub(crate) fn before(&self, step: Step) -> io::Result<()> {
        self.faults.before(step)
    }

    /// Counts bytes that are about to be written.
    pub(crate) fn reserve(&self, bytes: u64) -> io::Result<()> {
        self.before(Step::Write)?;
        let add = |used: u64| {
            let sum = used.checked_add(bytes)?;
            (self.quota == 0 || sum <= self.quota).then_some(sum)
        };
        let order = Ordering::Relaxed;
        let reserved = self.used.fetch_update(order, order, add);
        let full = |_| io::Error::new(ErrorKind::StorageFull, "batches.quota is used up");
        reserved.map(|_| ()).map_err(full)
    }

    /// Counts bytes that are no more.
    pub(crate) fn release(&self, bytes: u64) {
        let less = |used: u64| Some(used.saturating_sub(bytes));
        let order = Ordering::Relaxed;
        // The closure has an answer for every number.
        let _ = self.used.fetch_update(order, order, less);
    }

    /// Begins a file.
    pub(crate) fn begin(self: &Arc<Self>) -> io::Result<Writing> {
        let path = self.begun().join(FileId::new()?.as_str());
        let file = new_file(&path)?;
        Ok(Writing { disk: Arc::clone(self), file, path, bytes: 0, kept: false })
    }

    /// Removes what lies at a path; what is not there is removed.
    pub(crate) fn remove(&self, path: &Path) -> io::Result<()> {
        self.before(Step::Remove)?;
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

/// A file that has no name yet. Dropped without one, it is gone.
#[derive(Debug)]
pub(crate) struct Writing {
    disk: Arc<Disk>,
    file: File,
    path: PathBuf,
    bytes: u64,
    kept: bool,
}

impl Writing {
    /// Adds to it.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let count = bytes.len() as u64;
        self.disk.reserve(count)?;
        self.bytes += count;
        self.file.write_all(bytes)
    }

    /// Bytes so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Gives it the name of a file, all of it on the disk.
    pub(crate) fn keep(mut self, id: &FileId) -> io::Result<()> {
        self.disk.before(Step::Sync)?;
        self.file.sync_all()?;
        self.disk.before(Step::Rename)?;
        fs::rename(&self.path, self.disk.file(id))?;
        self.kept = true;
        sync_folder(&self.disk.files())
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        if !self.kept {
            // What stays behind is removed at the next start.
            let _ = fs::remove_file(&self.path);
            self.disk.release(self.bytes);
        }
    }
}

/// Creates a file that only this user reads, and opens it for both.
pub(crate) fn open_own(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// Brings the names in a folder to the disk.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

fn new_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

fn make_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(path)
}

fn names(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    Ok(names)
}

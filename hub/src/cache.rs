//! The cache on disk, in the layout of `huggingface_hub`:
//!
//! ```text
//! models--org--name/refs/main                      the commit of a branch or tag
//! models--org--name/snapshots/COMMIT/config.json   a link to the content
//! models--org--name/blobs/HASH                     a content
//! models--org--name/blobs/HASH.incomplete          the beginning of one
//! .locks/models--org--name/HASH.lock               held while it is fetched
//! ```
//!
//! `models--org--name/listings/COMMIT.json` is ours: the paths of all files of a commit, written
//! before the first of them comes, so that a fetch that was cut is known as such without a server.

use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::error::HubFault;
use crate::listing::Blob;
use crate::repo::{Repo, is_commit};

/// The part of the cache that belongs to a repository.
pub(crate) struct RepoCache {
    folder: PathBuf,
    locks: PathBuf,
}

impl RepoCache {
    pub(crate) fn new(cache: &Path, repo: &Repo) -> RepoCache {
        let name = repo.folder_name();
        RepoCache { folder: cache.join(&name), locks: cache.join(".locks").join(name) }
    }

    /// Its folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder of a commit's files.
    pub(crate) fn snapshot(&self, commit: &str) -> PathBuf {
        self.folder.join("snapshots").join(commit)
    }

    /// The commit of a revision, as it was when it was last asked for.
    pub(crate) fn commit(&self, revision: &str) -> Option<String> {
        if is_commit(revision) {
            return Some(revision.to_owned());
        }
        let stored = fs::read_to_string(self.folder.join("refs").join(revision)).ok()?;
        let commit = stored.trim();
        is_commit(commit).then(|| commit.to_owned())
    }

    /// Remembers the commit of a branch or a tag.
    pub(crate) fn set_commit(&self, revision: &str, commit: &str) -> Result<(), HubFault> {
        if is_commit(revision) || self.commit(revision).is_some_and(|known| known == commit) {
            return Ok(());
        }
        let path = self.folder.join("refs").join(revision);
        create_parent(&path)?;
        base::file::write_atomic(&path, commit.as_bytes()).map_err(HubFault::io(&path))
    }

    /// The paths of a commit's files, as they were listed when some were fetched by their names.
    pub(crate) fn listed(&self, commit: &str) -> Option<Vec<String>> {
        serde_json::from_slice(&fs::read(self.listing(commit)).ok()?).ok()
    }

    /// Remembers the paths of a commit's files.
    pub(crate) fn set_listed(&self, commit: &str, paths: &[&str]) -> Result<(), HubFault> {
        let path = self.listing(commit);
        create_parent(&path)?;
        let json = serde_json::to_vec(paths).expect("texts are JSON");
        base::file::write_atomic(&path, &json).map_err(HubFault::io(&path))
    }

    fn listing(&self, commit: &str) -> PathBuf {
        self.folder.join("listings").join(format!("{commit}.json"))
    }

    /// The place of a content.
    pub(crate) fn blob(&self, blob: &Blob) -> PathBuf {
        self.folder.join("blobs").join(blob.hash.digits())
    }

    /// The place of its beginning.
    pub(crate) fn partial(&self, blob: &Blob) -> PathBuf {
        self.folder.join("blobs").join(format!("{}.incomplete", blob.hash.digits()))
    }

    /// Bytes of a content that are not on the disk.
    pub(crate) fn missing_bytes(&self, blob: &Blob) -> u64 {
        let length = |path: PathBuf| fs::metadata(path).map_or(0, |found| found.len());
        let there = length(self.blob(blob)).max(length(self.partial(blob)));
        blob.size.saturating_sub(there)
    }

    /// Whether a file of a commit is there in its listed size. Its hash was checked when it came.
    pub(crate) fn has(&self, commit: &str, path: &str, size: u64) -> bool {
        let file = self.snapshot(commit).join(path);
        fs::metadata(file).is_ok_and(|found| found.is_file() && found.len() == size)
    }

    /// Waits until no other process fetches this content.
    pub(crate) fn lock(&self, blob: &Blob, file: &str) -> Result<File, HubFault> {
        let path = self.locks.join(format!("{}.lock", blob.hash.digits()));
        create_parent(&path)?;
        let lock =
            base::file::open_regular(&path, &OpenOptions::new()).map_err(HubFault::io(&path))?;
        if lock.try_lock().is_err() {
            tracing::info!("{file}: waiting for another process that fetches it");
            lock.lock().map_err(HubFault::io(&path))?;
        }
        Ok(lock)
    }

    /// Makes the folder of contents.
    pub(crate) fn prepare(&self) -> Result<(), HubFault> {
        let blobs = self.folder.join("blobs");
        fs::create_dir_all(&blobs).map_err(HubFault::io(&blobs))
    }

    /// Names a content as a file of a commit.
    pub(crate) fn link(&self, commit: &str, path: &str, blob: &Blob) -> Result<(), HubFault> {
        let link = self.snapshot(commit).join(path);
        create_parent(&link)?;
        let up = "../".repeat(2 + path.matches('/').count());
        let target = format!("{up}blobs/{}", blob.hash.digits());
        // A link that is made beside it and renamed is whole at every moment.
        let temporary = link.with_file_name(format!(".{}.tribunal", blob.hash.digits()));
        match fs::remove_file(&temporary) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(HubFault::io(&temporary)(error));
            }
            Ok(()) | Err(_) => {}
        }
        symlink(target, &temporary).map_err(HubFault::io(&temporary))?;
        fs::rename(&temporary, &link).map_err(HubFault::io(&link))
    }

    /// Bytes that are free for contents.
    pub(crate) fn free_bytes(&self) -> Result<u64, HubFault> {
        let found = rustix::fs::statvfs(&self.folder);
        let found = found.map_err(|error| HubFault::io(&self.folder)(error.into()))?;
        Ok(found.f_bavail.saturating_mul(found.f_frsize))
    }
}

fn create_parent(path: &Path) -> Result<(), HubFault> {
    let parent = path.parent().expect("it was joined to a folder");
    fs::create_dir_all(parent).map_err(HubFault::io(parent))
}

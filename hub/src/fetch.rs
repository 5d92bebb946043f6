//! Fetching a repository: list, missing files, links.

use std::path::{Path, PathBuf};

use base::human;

use crate::cache::RepoCache;
use crate::client::Client;
use crate::download::Transfer;
use crate::error::{HubError, HubFault};
use crate::listing::{Blob, Listed, Listing};
use crate::progress::Progress;
use crate::repo::Repo;
use crate::settings::HubSettings;
use crate::wanted::WantedFiles;

/// The Hub, or a server that speaks as it does, and its cache on disk.
#[derive(Debug, Clone)]
pub struct Hub {
    settings: HubSettings,
}

/// The files of a repository at a commit, on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The repository, with the commit as its revision.
    pub repo: Repo,
    /// The folder of its files.
    pub folder: PathBuf,
    /// The files that [`WantedFiles::Matching`] names, in order; empty for models and adapters.
    pub files: Vec<PathBuf>,
}

impl Hub {
    /// Makes no request yet.
    pub fn new(settings: HubSettings) -> Hub {
        Hub { settings }
    }

    /// Brings the wanted files into the cache, as far as they are not there, and returns their
    /// folder. A branch or a tag is resolved to its commit at each call. If the server cannot be
    /// reached or is ill, the commit of the last time is used if all of its files are there.
    ///
    /// # Errors
    /// [`HubError`], with the repository, the revision and the file.
    pub fn fetch(&self, repo: &Repo, wanted: WantedFiles) -> Result<Snapshot, HubError> {
        let whole = |fault: HubFault| fault.at(repo, None);
        let Some(root) = &self.settings.cache else {
            let what = "no folder for the cache is known: set HF_HOME".to_owned();
            return Err(whole(HubFault::Lacks(what)));
        };
        let cache = RepoCache::new(root, repo);
        let found = cached(&cache, repo, wanted);
        if self.settings.offline {
            return found.map_err(whole);
        }
        // Without the server, the cache is as good after one attempt as after five.
        let attempts = if found.is_ok() { 1 } else { self.settings.attempts };
        let client = Client::new(&HubSettings { attempts, ..self.settings.clone() });
        let listed = client.listing(repo);
        let listing = match listed.and_then(|json| Listing::read(repo, &json)) {
            Ok(listing) => listing,
            Err(fault) if fault.may_pass() => match found {
                Ok(snapshot) => {
                    tracing::warn!("{repo}: {fault}; using {} of the cache", snapshot.repo);
                    return Ok(snapshot);
                }
                Err(_) => return Err(whole(fault)),
            },
            Err(fault) => return Err(whole(fault)),
        };
        let client = Client::new(&self.settings);
        let fetch = Fetch { client: &client, cache: &cache, listing: &listing, repo };
        fetch.run(wanted)
    }
}

/// What the cache has of a revision.
fn cached(cache: &RepoCache, repo: &Repo, wanted: WantedFiles) -> Result<Snapshot, HubFault> {
    let lacking = |missing: String| HubFault::Offline { cache: cache.folder().to_owned(), missing };
    let Some(commit) = cache.commit(repo.revision()) else {
        return Err(lacking(format!("revision {}", repo.revision())));
    };
    let folder = cache.snapshot(&commit);
    if !folder.is_dir() {
        return Err(lacking(format!("revision {commit}")));
    }
    let missing = wanted.missing(&folder, cache.listed(&commit).as_deref());
    if missing.is_empty() {
        return Ok(snapshot(repo, &commit, &folder, wanted));
    }
    Err(lacking(format!("{} of revision {commit}", missing.join(", "))))
}

fn snapshot(repo: &Repo, commit: &str, folder: &Path, wanted: WantedFiles) -> Snapshot {
    let files = wanted.paths(folder).into_iter().map(|path| folder.join(path)).collect();
    Snapshot { repo: repo.at(commit), folder: folder.to_owned(), files }
}

/// One fetch of a listed commit.
struct Fetch<'f> {
    client: &'f Client,
    cache: &'f RepoCache,
    listing: &'f Listing,
    /// As it was asked for.
    repo: &'f Repo,
}

impl Fetch<'_> {
    fn run(&self, wanted: WantedFiles) -> Result<Snapshot, HubError> {
        let whole = |fault: HubFault| fault.at(self.repo, None);
        let commit = &self.listing.commit;
        let folder = self.cache.snapshot(commit);
        let mut progress = Progress::start(self.repo.to_string());
        let first = wanted.files(self.listing).map_err(whole)?;
        let missing = self.missing(&first)?;
        if matches!(wanted, WantedFiles::Matching(_)) && !missing.is_empty() {
            let paths = self.listing.files.iter().map(|file| file.path.as_str());
            let paths: Vec<&str> = paths.collect();
            self.cache.set_listed(commit, &paths).map_err(whole)?;
        }
        let mut bytes = self.bring(&missing, &mut progress)?;
        let shards = wanted.shards(self.listing, &first, &folder).map_err(whole)?;
        bytes += self.bring(&self.missing(&shards)?, &mut progress)?;
        drop(progress);
        self.cache.set_commit(self.repo.revision(), commit).map_err(whole)?;
        let snapshot = snapshot(self.repo, commit, &folder, wanted);
        let source = if bytes == 0 {
            "from the cache".to_owned()
        } else {
            format!("{} fetched", human::bytes(bytes))
        };
        tracing::info!("{} is {}: {source}", self.repo, snapshot.repo);
        Ok(snapshot)
    }

    /// The files that are not there.
    fn missing<'l>(&self, files: &[&'l Listed]) -> Result<Vec<(&'l str, Blob)>, HubError> {
        let mut missing = Vec::new();
        for file in files {
            let blob = file.blob().map_err(|fault| fault.at(self.repo, Some(&file.path)))?;
            if !self.cache.has(&self.listing.commit, &file.path, blob.size) {
                missing.push((file.path.as_str(), blob));
            }
        }
        Ok(missing)
    }

    /// Fetches files; returns their bytes.
    fn bring(&self, missing: &[(&str, Blob)], progress: &mut Progress) -> Result<u64, HubError> {
        if missing.is_empty() {
            return Ok(0);
        }
        let sum = |sum: u64, bytes: u64| sum.saturating_add(bytes);
        let needed = missing.iter().map(|(_, blob)| blob.size).fold(0, sum);
        let room = missing.iter().map(|(_, blob)| self.cache.missing_bytes(blob)).fold(0, sum);
        let prepared = self.cache.prepare().and_then(|()| self.check_room(room));
        prepared.map_err(|fault| fault.at(self.repo, None))?;
        progress.expect(needed);
        let commit = self.repo.at(&self.listing.commit);
        for (path, blob) in missing {
            let transfer = Transfer { client: self.client, repo: &commit, file: path, blob };
            let done = self.one(&transfer, progress);
            done.map_err(|fault| fault.at(self.repo, Some(path)))?;
        }
        Ok(needed)
    }

    /// Fetches a content, unless another process or another commit has brought it, and links it.
    fn one(&self, transfer: &Transfer<'_>, progress: &mut Progress) -> Result<(), HubFault> {
        let Transfer { file, blob, .. } = *transfer;
        let target = self.cache.blob(blob);
        let _lock = self.cache.lock(blob, file)?;
        let is_there = std::fs::metadata(&target).is_ok_and(|found| found.len() == blob.size);
        if is_there {
            progress.advance(blob.size);
        } else {
            transfer.run(&self.cache.partial(blob), &target, progress)?;
        }
        self.cache.link(&self.listing.commit, file, blob)
    }

    fn check_room(&self, needed: u64) -> Result<(), HubFault> {
        let free = self.cache.free_bytes()?;
        if needed <= free {
            return Ok(());
        }
        Err(HubFault::NoRoom { needed, free, path: self.cache.folder().to_owned() })
    }
}

//! One content, from a server to a file: resumed where it was cut, bounded by its listed size, and
//! used only if it has its listed hash.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use base::digest::hex;
use sha1::Sha1;
use sha2::{Digest as _, Sha256};
use ureq::Body;
use ureq::http::{HeaderMap, Response, StatusCode, header};

use crate::client::{Attempt, Client};
use crate::error::HubFault;
use crate::listing::{Blob, Hash, shown};
use crate::progress::Progress;
use crate::repo::Repo;

/// Bytes that are read at a time.
const BUFFER: usize = 256 << 10;

/// What is fetched, and from where.
pub(crate) struct Transfer<'t> {
    pub(crate) client: &'t Client,
    /// The repository at its commit.
    pub(crate) repo: &'t Repo,
    pub(crate) file: &'t str,
    pub(crate) blob: &'t Blob,
}

impl Transfer<'_> {
    /// Writes the content to `target`, by way of `partial`, where an earlier transfer may have left
    /// its beginning. The caller holds the content's lock.
    ///
    /// # Errors
    /// [`HubFault`]; what has arrived stays in `partial` unless its hash is wrong.
    pub(crate) fn run(
        &self,
        partial: &Path,
        target: &Path,
        progress: &mut Progress,
    ) -> Result<(), HubFault> {
        let mut part = Partial::open(partial, self.blob)?;
        let resumed = part.len > 0;
        progress.advance(part.len);
        self.fill(&mut part, progress)?;
        let mut found = part.hash();
        // The beginning that was there may be another's: once from the start.
        if found != self.blob.hash.digits() && resumed {
            progress.take_back(part.len);
            part.restart()?;
            self.fill(&mut part, progress)?;
            found = part.hash();
        }
        if found != self.blob.hash.digits() {
            let removed = fs::remove_file(partial);
            removed.map_err(HubFault::io(partial))?;
            let expected = self.blob.hash.digits().to_owned();
            return Err(HubFault::Hash { expected, found });
        }
        part.file.sync_all().map_err(HubFault::io(partial))?;
        fs::rename(partial, target).map_err(HubFault::io(target))
    }

    /// Fetches until all bytes are there; attempts without progress are counted.
    fn fill(&self, part: &mut Partial, progress: &mut Progress) -> Result<(), HubFault> {
        let mut attempts = self.client.attempts();
        while part.len < self.blob.size {
            let before = part.len;
            if let Err(failed) = self.piece(part, progress) {
                if part.len > before {
                    attempts.renew();
                }
                attempts.next(failed)?;
            }
        }
        Ok(())
    }

    /// One request for the rest.
    fn piece(&self, part: &mut Partial, progress: &mut Progress) -> Result<(), Attempt> {
        let response = self.client.file(self.repo, self.file, part.len)?;
        match response.status() {
            StatusCode::OK => {
                // The server does not know ranges: all of it comes.
                progress.take_back(part.len);
                part.restart()?;
                self.check_length(&response)?;
            }
            StatusCode::PARTIAL_CONTENT => self.check_range(response.headers(), part.len)?,
            StatusCode::RANGE_NOT_SATISFIABLE if part.len > 0 => {
                let what = "the server's file is shorter than the list of files says";
                return Err(HubFault::Refused(what.to_owned()).into());
            }
            _ => return Err(self.client.refusal(&response)),
        }
        self.copy(response.into_body(), part, progress)
    }

    fn copy(&self, body: Body, part: &mut Partial, progress: &mut Progress) -> Result<(), Attempt> {
        let mut reader = body.into_reader();
        let mut buffer = vec![0; BUFFER];
        loop {
            let n = reader.read(&mut buffer).map_err(|error| self.client.transport(&error))?;
            if n == 0 && part.len < self.blob.size {
                let what =
                    format!("the reply ended after {} of {} bytes", part.len, self.blob.size);
                return Err(self.client.transport(&std::io::Error::other(what)));
            }
            if n == 0 {
                return Ok(());
            }
            if part.len + n as u64 > self.blob.size {
                let what = format!("more arrives than the {} listed bytes", self.blob.size);
                return Err(HubFault::Refused(what).into());
            }
            part.append(&buffer[..n])?;
            progress.advance(n as u64);
        }
    }

    /// Refuses a length other than the listed one before anything is read.
    fn check_length(&self, response: &Response<Body>) -> Result<(), HubFault> {
        let length = response.headers().get(header::CONTENT_LENGTH);
        match length.and_then(|text| text.to_str().ok()?.parse::<u64>().ok()) {
            Some(length) if length != self.blob.size => Err(HubFault::Refused(format!(
                "{length} bytes come, and the list of files has {}",
                self.blob.size
            ))),
            Some(_) | None => Ok(()),
        }
    }

    fn check_range(&self, headers: &HeaderMap, from: u64) -> Result<(), HubFault> {
        let range = headers.get(header::CONTENT_RANGE).and_then(|text| text.to_str().ok());
        let begins = format!("bytes {from}-");
        let size = self.blob.size.to_string();
        let fits = range.is_some_and(|range| {
            let total = range.rsplit_once('/').map(|(_, total)| total);
            range.starts_with(&begins) && (total == Some("*") || total == Some(&size))
        });
        if fits {
            return Ok(());
        }
        let range = shown(range.unwrap_or("no range"));
        Err(HubFault::Refused(format!("asked for bytes from {from} of {size}, and got {range}")))
    }
}

/// The beginning of a content on the disk, with its hash so far.
struct Partial {
    path: PathBuf,
    file: File,
    len: u64,
    hasher: Hasher,
    /// The hash of nothing yet.
    empty: Hasher,
}

#[derive(Clone)]
enum Hasher {
    Sha256(Sha256),
    GitBlob(Sha1),
}

impl Hasher {
    fn new(blob: &Blob) -> Hasher {
        match blob.hash {
            Hash::Sha256(_) => Hasher::Sha256(Sha256::new()),
            Hash::GitBlob(_) => {
                Hasher::GitBlob(Sha1::new_with_prefix(format!("blob {}\0", blob.size)))
            }
        }
    }

    fn update(&mut self, bytes: &[u8]) {
        match self {
            Hasher::Sha256(hash) => hash.update(bytes),
            Hasher::GitBlob(hash) => hash.update(bytes),
        }
    }
}

impl Partial {
    /// Opens the file, or creates it, and hashes what is there. More bytes than the content has are
    /// thrown away.
    fn open(path: &Path, blob: &Blob) -> Result<Partial, HubFault> {
        let file =
            base::file::open_regular(path, &OpenOptions::new()).map_err(HubFault::io(path))?;
        let mut part = Partial {
            path: path.to_owned(),
            file,
            len: 0,
            hasher: Hasher::new(blob),
            empty: Hasher::new(blob),
        };
        let mut buffer = vec![0; BUFFER];
        loop {
            let n = part.file.read(&mut buffer).map_err(HubFault::io(path))?;
            part.len += n as u64;
            if n == 0 {
                return Ok(part);
            }
            if part.len > blob.size {
                part.restart()?;
                return Ok(part);
            }
            part.hasher.update(&buffer[..n]);
        }
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), HubFault> {
        self.file.write_all(bytes).map_err(HubFault::io(&self.path))?;
        self.hasher.update(bytes);
        self.len += bytes.len() as u64;
        Ok(())
    }

    /// Throws away what is there.
    fn restart(&mut self) -> Result<(), HubFault> {
        let emptied = self.file.set_len(0).and_then(|()| self.file.seek(SeekFrom::Start(0)));
        emptied.map_err(HubFault::io(&self.path))?;
        self.len = 0;
        self.hasher = self.empty.clone();
        Ok(())
    }

    /// The hash of what is there.
    fn hash(&self) -> String {
        match self.hasher.clone() {
            Hasher::Sha256(hash) => hex(&hash.finalize()),
            Hasher::GitBlob(hash) => hex(&hash.finalize()),
        }
    }
}

//! The files of a repository at a commit, as a server lists them, checked.

use std::path::{Component, Path};

use serde::Deserialize;

use crate::error::HubFault;
use crate::repo::{Repo, is_commit, is_hex};

/// Most files of a repository.
const MAX_FILES: usize = 100_000;

/// The files of a repository at a commit.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) commit: String,
    pub(crate) files: Vec<Listed>,
}

/// A file: all of its names are checked, sizes and hashes where they are used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listed {
    /// Its path in the repository.
    pub(crate) path: String,
    size: Option<u64>,
    hash: Option<Hash>,
}

/// The hash by which a content is known, and by which the cache names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Hash {
    /// Of large files, in hexadecimal digits.
    Sha256(String),
    /// Of files in git: SHA-1 of a header and the content.
    GitBlob(String),
}

/// A content to fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Blob {
    pub(crate) size: u64,
    pub(crate) hash: Hash,
}

impl Hash {
    /// The hexadecimal digits.
    pub(crate) fn digits(&self) -> &str {
        match self {
            Hash::Sha256(digits) | Hash::GitBlob(digits) => digits,
        }
    }
}

#[derive(Deserialize)]
struct Wire {
    sha: String,
    #[serde(default)]
    siblings: Vec<WireFile>,
}

#[derive(Deserialize)]
struct WireFile {
    rfilename: String,
    size: Option<u64>,
    #[serde(rename = "blobId")]
    blob_id: Option<String>,
    lfs: Option<WireLfs>,
}

#[derive(Deserialize)]
struct WireLfs {
    #[serde(alias = "oid")]
    sha256: String,
    size: u64,
}

impl Listing {
    /// Reads the reply to [`Repo::listing_path`].
    ///
    /// # Errors
    /// [`HubFault::Refused`] for a reply that is not of this form, a commit that is not one or not the
    /// one that was asked for, and names that could leave the folder.
    pub(crate) fn read(repo: &Repo, json: &[u8]) -> Result<Listing, HubFault> {
        let wire: Wire = serde_json::from_slice(json).map_err(|error| {
            HubFault::Refused(format!("the reply is no list of files: {error}"))
        })?;
        if !is_commit(&wire.sha) {
            return Err(HubFault::Refused(format!("'{}' is no commit", shown(&wire.sha))));
        }
        if is_commit(repo.revision()) && wire.sha != repo.revision() {
            return Err(HubFault::Refused(format!("the list is of another commit, {}", wire.sha)));
        }
        if wire.siblings.len() > MAX_FILES {
            return Err(HubFault::Refused(format!("{} files", wire.siblings.len())));
        }
        let files = wire.siblings.into_iter().map(Listed::read).collect::<Result<_, _>>()?;
        Ok(Listing { commit: wire.sha, files })
    }

    /// The file of this path.
    pub(crate) fn file(&self, path: &str) -> Option<&Listed> {
        self.files.iter().find(|file| file.path == path)
    }
}

impl Listed {
    fn read(wire: WireFile) -> Result<Listed, HubFault> {
        if !is_inside(&wire.rfilename) {
            let name = shown(&wire.rfilename);
            return Err(HubFault::Refused(format!(
                "the file '{name}' would be outside of its folder"
            )));
        }
        let (size, hash) = match wire.lfs {
            Some(lfs) => (Some(lfs.size), Some(Hash::Sha256(lfs.sha256))),
            None => (wire.size, wire.blob_id.map(Hash::GitBlob)),
        };
        Ok(Listed { path: wire.rfilename, size, hash })
    }

    /// Size and hash, without which a file is not fetched.
    ///
    /// # Errors
    /// [`HubFault::Refused`] if the server lists none, or no hash.
    pub(crate) fn blob(&self) -> Result<Blob, HubFault> {
        let (Some(size), Some(hash)) = (self.size, &self.hash) else {
            let what = "the server lists no size or no hash, so that it could not be checked";
            return Err(HubFault::Refused(what.to_owned()));
        };
        let digits = match hash {
            Hash::Sha256(_) => 64,
            Hash::GitBlob(_) => 40,
        };
        if !is_hex(hash.digits(), digits) {
            return Err(HubFault::Refused(format!("'{}' is no hash", shown(hash.digits()))));
        }
        Ok(Blob { size, hash: hash.clone() })
    }
}

/// Whether a path has only folders and a name, on any system.
pub(crate) fn is_inside(path: &str) -> bool {
    let normal = |part: Component<'_>| matches!(part, Component::Normal(_));
    let is_plain = |part: &str| !part.is_empty() && part != "." && part != "..";
    Path::new(path).components().all(normal)
        && path.split('/').all(is_plain)
        && !path.contains('\\')
        && !path.chars().any(char::is_control)
        && path.len() <= 1024
}

/// At most some characters of a server's text, without control characters.
pub(crate) fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::RepoKind;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    /// Lists one file; `expected` is a part of the refusal of the list or of the file.
    #[track_caller]
    fn check(commit: &str, file: &str, expected: Option<&str>) {
        let repo = Repo::parse(RepoKind::Model, "a/b").expect("a name");
        let json = format!(r#"{{"sha": "{commit}", "siblings": [{file}]}}"#);
        let read = Listing::read(&repo, json.as_bytes());
        let blob = read.and_then(|listing| listing.files[0].blob());
        match (blob, expected) {
            (Ok(_), None) => {}
            (Err(fault), Some(part)) => assert!(fault.to_string().contains(part), "{fault}"),
            (found, _) => assert_eq!(format!("{found:?}"), "", "{json}"),
        }
    }

    #[test]
    fn hostile_lists_are_refused() {
        let git = format!(r#""size": 3, "blobId": "{COMMIT}""#);
        let named = |name: &str| format!(r#"{{"rfilename": "{name}", {git}}}"#);
        for name in ["config.json", "a/b.json", "x:y", "a..b"] {
            check(COMMIT, &named(name), None);
        }
        for name in [
            "../x",
            "a/../x",
            "/etc/passwd",
            "",
            "a//b",
            "a/",
            "./a",
            ".",
            "..",
            "a\\\\b",
            "a\\u0000",
        ] {
            check(COMMIT, &named(name), Some("outside of its folder"));
        }
        for commit in ["", "main", "../../x", &COMMIT[1..], &COMMIT.to_uppercase()] {
            check(commit, &named("a"), Some("is no commit"));
        }
        check(COMMIT, r#"{"rfilename": "a"}"#, Some("no size"));
        check(COMMIT, r#"{"rfilename": "a", "size": 3}"#, Some("no hash"));
        check(
            COMMIT,
            r#"{"rfilename": "a", "size": 3, "blobId": "../x"}"#,
            Some("'../x' is no hash"),
        );
        let lfs = r#"{"rfilename": "a", "lfs": {"sha256": "ab", "size": 3}}"#;
        check(COMMIT, lfs, Some("'ab' is no hash"));
        check(COMMIT, r#"{"rfilename": "a", "size": -3}"#, Some("no list of files"));
        check(COMMIT, "[", Some("no list of files"));
    }

    #[test]
    fn a_commit_is_not_exchanged_for_another() {
        let repo = Repo::parse(RepoKind::Model, &format!("a/b@{COMMIT}")).expect("a name");
        let other = COMMIT.replace('0', "f");
        let json = format!(r#"{{"sha": "{other}", "siblings": []}}"#);
        let fault = Listing::read(&repo, json.as_bytes()).expect_err("another commit");
        assert!(fault.to_string().contains("another commit"), "{fault}");
    }
}

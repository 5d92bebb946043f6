//! Names of repositories: `hf:org/name@revision`.

use std::fmt;
use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What is encoded in the name of a revision.
const NAME: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
/// What is encoded in a path.
const PATH: AsciiSet = NAME.remove(b'/');

/// The prefix of a repository's name where a folder could stand.
const SCHEME: &str = "hf:";
/// The revision where none is given.
const DEFAULT_REVISION: &str = "main";
/// Longest name of a repository, as the Hub has it.
const MAX_NAME: usize = 96;
/// Longest revision.
const MAX_REVISION: usize = 255;

/// What a repository holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepoKind {
    /// A model or an adapter.
    Model,
    /// A data set.
    Dataset,
}

/// A repository at a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repo {
    kind: RepoKind,
    name: String,
    revision: String,
}

impl Repo {
    /// Reads `org/name` or `org/name@revision`. A revision is a branch, a tag or a commit.
    ///
    /// # Errors
    /// Why it cannot be the name of a repository.
    pub fn parse(kind: RepoKind, text: &str) -> Result<Repo, String> {
        let (name, revision) = text.split_once('@').unwrap_or((text, DEFAULT_REVISION));
        if !is_name(name) {
            let rule = "the name of a repository is `org/name`, of ASCII letters, digits, '-', '_' and '.'";
            return Err(format!("'{text}' names no repository: {rule}"));
        }
        if !is_revision(revision) {
            let rule = "a revision is a branch, a tag or a commit such as `main`";
            return Err(format!("'{text}' has no revision after the '@': {rule}"));
        }
        Ok(Repo { kind, name: name.to_owned(), revision: revision.to_owned() })
    }

    /// Model or data set.
    pub fn kind(&self) -> RepoKind {
        self.kind
    }

    /// `org/name`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The revision as given: a branch, a tag or a commit.
    pub fn revision(&self) -> &str {
        &self.revision
    }

    /// The same repository at another revision.
    pub(crate) fn at(&self, revision: &str) -> Repo {
        Repo { revision: revision.to_owned(), ..self.clone() }
    }

    /// Its folder in the cache.
    pub(crate) fn folder_name(&self) -> String {
        let kind = match self.kind {
            RepoKind::Model => "models",
            RepoKind::Dataset => "datasets",
        };
        format!("{kind}--{}", self.name.replace('/', "--"))
    }

    /// The path of the request that lists its files.
    pub(crate) fn listing_path(&self) -> String {
        let kind = match self.kind {
            RepoKind::Model => "models",
            RepoKind::Dataset => "datasets",
        };
        format!(
            "api/{kind}/{}/revision/{}?blobs=true",
            self.name,
            utf8_percent_encode(&self.revision, &NAME)
        )
    }

    /// The path of the request for a file of a commit.
    pub(crate) fn file_path(&self, commit: &str, file: &str) -> String {
        let prefix = match self.kind {
            RepoKind::Model => "",
            RepoKind::Dataset => "datasets/",
        };
        format!("{prefix}{}/resolve/{commit}/{}", self.name, utf8_percent_encode(file, &PATH))
    }
}

/// As it is written for `--model`.
impl fmt::Display for Repo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            RepoKind::Model => "",
            RepoKind::Dataset => "datasets/",
        };
        write!(f, "{SCHEME}{kind}{}@{}", self.name, self.revision)
    }
}

/// A place of a model or an adapter, as users write it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelLocation {
    /// A folder.
    Folder(PathBuf),
    /// `hf:org/name@revision`.
    Hub(Repo),
}

impl ModelLocation {
    /// Reads a path, or a model's repository after `hf:`.
    ///
    /// # Errors
    /// Why the text after `hf:` is not the name of a repository.
    pub fn parse(text: &str) -> Result<ModelLocation, String> {
        match text.strip_prefix(SCHEME) {
            None => Ok(ModelLocation::Folder(text.into())),
            Some(name) => Repo::parse(RepoKind::Model, name).map(ModelLocation::Hub),
        }
    }

    /// Whether a text is meant as a repository, right or wrong.
    pub fn is_hub(text: &str) -> bool {
        text.starts_with(SCHEME)
    }

    /// Reads a relative path from this folder on.
    #[must_use]
    pub fn below(self, base: &Path) -> ModelLocation {
        match self {
            ModelLocation::Folder(path) => ModelLocation::Folder(base.join(path)),
            hub @ ModelLocation::Hub(_) => hub,
        }
    }
}

impl From<PathBuf> for ModelLocation {
    fn from(folder: PathBuf) -> ModelLocation {
        ModelLocation::Folder(folder)
    }
}

/// As it is written.
impl fmt::Display for ModelLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModelLocation::Folder(path) => write!(f, "{}", path.display()),
            ModelLocation::Hub(repo) => write!(f, "{repo}"),
        }
    }
}

/// The Hub's rule: one or two parts of `[\w.-]`, without `--` or `..`, that neither begin nor end
/// with `-` or `.`.
fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_part = |part: &str| {
        !part.is_empty()
            && part.bytes().all(fits)
            && !part.starts_with(['-', '.'])
            && !part.ends_with(['-', '.'])
            && !part.contains("--")
            && !part.contains("..")
    };
    name.len() <= MAX_NAME && name.split('/').count() <= 2 && name.split('/').all(is_part)
}

/// Parts between slashes of letters, digits, `-`, `_`, `.` and `+`, that do not begin with a dot: a
/// revision becomes a file's name in the cache.
fn is_revision(revision: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.+".contains(&byte);
    let is_part = |part: &str| !part.is_empty() && part.bytes().all(fits) && !part.starts_with('.');
    revision.len() <= MAX_REVISION && revision.split('/').all(is_part)
}

/// Whether a revision is a commit: 40 hexadecimal digits.
pub(crate) fn is_commit(revision: &str) -> bool {
    is_hex(revision, 40)
}

/// Whether a text has so many lower-case hexadecimal digits and nothing else.
pub(crate) fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `expected` is the repository as it is shown, or a part of the reason.
    #[track_caller]
    fn check(text: &str, expected: Result<&str, &str>) {
        let found = ModelLocation::parse(text).map(|location| location.to_string());
        match (&found, expected) {
            (Ok(shown), Ok(expected)) => assert_eq!(shown, expected),
            (Err(why), Err(part)) => assert!(why.contains(part), "{text}: {why}"),
            (Ok(_), Err(_)) | (Err(_), Ok(_)) => assert!(expected.is_err(), "{text}: {found:?}"),
        }
        assert_eq!(found.is_ok(), expected.is_ok(), "{text}: {found:?}");
    }

    #[test]
    fn names_of_repositories_are_read_and_hostile_ones_refused() {
        check("hf:Qwen/Qwen3-0.6B", Ok("hf:Qwen/Qwen3-0.6B@main"));
        check("hf:gpt2@v1.0", Ok("hf:gpt2@v1.0"));
        check("hf:a/b@refs/pr/1", Ok("hf:a/b@refs/pr/1"));
        check("./hf:a", Ok("./hf:a"));
        check("models/x", Ok("models/x"));
        for text in [
            "hf:",
            "hf:../x",
            "hf:/etc",
            "hf:a/..",
            "hf:a/b/c",
            "hf:a//b",
            "hf:a/b--c",
            "hf:a b/c",
            "hf:a/b?x",
            "hf:a%2f/b",
            "hf:.a/b",
            "hf:a/b.",
            "hf:a\\b/c",
            "hf://a/b",
            "hf:ä/b",
        ] {
            check(text, Err("names no repository"));
        }
        check(&format!("hf:{}/b", "a".repeat(95)), Err("names no repository"));
        for revision in
            ["", "..", "../x", "a/../b", "/a", "a/", "a//b", ".hidden", "a b", "a%2e", "a\0"]
        {
            check(&format!("hf:a/b@{revision}"), Err("no revision"));
        }
    }

    #[test]
    fn addresses_are_encoded() {
        let repo = Repo::parse(RepoKind::Dataset, "a/b@refs/pr/1").expect("a name");
        assert_eq!(repo.listing_path(), "api/datasets/a/b/revision/refs%2Fpr%2F1?blobs=true");
        assert_eq!(repo.file_path("c0", "x/y z?.json"), "datasets/a/b/resolve/c0/x/y%20z%3F.json");
        assert_eq!(repo.folder_name(), "datasets--a--b");
    }
}

//! The files of the checkout, without asking git: the folder is walked and what `.gitignore` names
//! is left out, so that the rules also hold in an unpacked archive.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

/// Paths relative to the root, with `/`. A file that is not UTF-8 has no text.
#[derive(Default)]
pub(crate) struct Tree {
    files: BTreeMap<String, Option<String>>,
}

impl Tree {
    /// Reads everything below `root`. Symbolic links are not followed: they lead out of the tree.
    pub(crate) fn read(root: &Path) -> io::Result<Self> {
        let ignore = Ignore::parse(&fs::read_to_string(root.join(".gitignore"))?)?;
        let mut tree = Self::default();
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(root.join(&folder))? {
                let entry = entry?;
                let name = entry.file_name();
                let name = name.to_str().ok_or(io::ErrorKind::InvalidFilename)?;
                let path =
                    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
                let kind = entry.file_type()?;
                if ignore.matches(&path) {
                    continue;
                }
                if kind.is_dir() {
                    folders.push(path);
                } else if kind.is_file() {
                    let text = String::from_utf8(fs::read(entry.path())?).ok();
                    tree.files.insert(path, text);
                }
            }
        }
        Ok(tree)
    }

    /// Adds a made-up file.
    pub(crate) fn add(&mut self, path: &str, text: &str) {
        self.files.insert(path.to_owned(), Some(text.to_owned()));
    }

    /// Whether `path` is a file or a folder with files in it.
    pub(crate) fn contains(&self, path: &str) -> bool {
        let folder = format!("{}/", path.trim_end_matches('/'));
        self.files.contains_key(path) || self.files.keys().any(|file| file.starts_with(&folder))
    }

    /// The text of a file.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path)?.as_deref()
    }

    /// Every text file.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().filter_map(|(path, text)| Some((path.as_str(), text.as_deref()?)))
    }
}

/// The part of the `.gitignore` language that this repository uses.
struct Ignore {
    /// `/path`: that file or folder below the root.
    rooted: Vec<String>,
    /// `*.journal`: an ending of the name.
    endings: Vec<String>,
    /// `.venv`, `.venv/`: a name at any depth.
    names: Vec<String>,
}

impl Ignore {
    /// Refuses a pattern that it would read differently from git.
    fn parse(text: &str) -> io::Result<Self> {
        let mut ignore = Self {
            rooted: Vec::new(),
            endings: Vec::new(),
            names: [".git", ".venv", "__pycache__"].map(str::to_owned).into(),
        };
        let patterns = text.lines().map(str::trim);
        for pattern in patterns.filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let name = pattern.trim_end_matches('/');
            let (list, rest) = if let Some(ending) = name.strip_prefix('*') {
                (&mut ignore.endings, ending)
            } else if name.contains('/') {
                (&mut ignore.rooted, name.trim_start_matches('/'))
            } else {
                (&mut ignore.names, name)
            };
            if rest.is_empty() || rest.contains(['*', '?', '[', '!', '\\']) {
                return Err(io::Error::other(format!(
                    "tests/tidy/tree.rs cannot read the pattern `{pattern}` of .gitignore"
                )));
            }
            list.push(rest.to_owned());
        }
        Ok(ignore)
    }

    /// `path` is reached by walking down, so that what lies in an ignored folder is never asked.
    fn matches(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        self.rooted.iter().any(|rooted| rooted == path)
            || self.names.iter().any(|n| n == name)
            || self.endings.iter().any(|ending| name.ends_with(ending))
    }
}

#[test]
fn ignored_paths_are_known() {
    let ignore = Ignore::parse("# built\n/target\nbench/results/\n\n*.journal\nlogs\n")
        .expect("plain patterns are understood");
    let check = |path, expected| assert_eq!(ignore.matches(path), expected, "{path}");
    check("target", true);
    check("serve/target", false);
    check("bench/results", true);
    check("results", false);
    check("a/b.journal", true);
    check("a/b.journals", false);
    check("a/logs", true);
    check(".git", true);
    check(".github", false);
    check("bench/.venv", true);
}

#[test]
fn unknown_patterns_are_refused() {
    for pattern in ["!keep", "a*b", "/x/*.rs", "file?", "*"] {
        assert!(Ignore::parse(pattern).is_err(), "{pattern}");
    }
}

#[test]
fn folders_exist_through_their_files() {
    let mut tree = Tree::default();
    tree.add("serve/src/lib.rs", "");
    for path in ["serve/src/lib.rs", "serve", "serve/", "serve/src"] {
        assert!(tree.contains(path), "{path}");
    }
    for path in ["ser", "serve/src/lib", "serve/src/lib.rs/x", "lib.rs"] {
        assert!(!tree.contains(path), "{path}");
    }
}

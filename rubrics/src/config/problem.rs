//! Problems of a configuration, with their places.

use std::fmt::Write as _;

/// One thing that is wrong with a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file, or where else the value came from (`--bind`, `TRIBUNAL_BIND`).
    pub file: String,
    /// Line, from 1, in a file.
    pub line: Option<usize>,
    /// Dotted key, such as `scorer[1].part[0].weight`; empty for the file as a whole.
    pub key: String,
    /// The problem and its remedy.
    pub message: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        write!(f, ": {}", self.message)
    }
}

/// A segment of a path: from a table or a list to an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathSegment {
    /// To the value of a key.
    Key(String),
    /// To an entry, from 0.
    Index(usize),
}

impl PathSegment {
    /// Adds the step to a dotted key.
    pub fn write_to(&self, path: &mut String) {
        match self {
            Self::Key(key) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(key);
            }
            Self::Index(index) => {
                write!(path, "[{index}]").expect("writing to a string cannot fail");
            }
        }
    }
}

/// The rule for names, as an error message.
pub const NAME_RULE: &str = "a name has 1 to 64 ASCII letters, digits, '-', '_', '.' or '/'";

/// Whether a scorer, a model or an adapter may be called so.
pub fn fits_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
    (1..=64).contains(&name.len()) && name.bytes().all(fits)
}

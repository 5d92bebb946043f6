//! Principles: the library that comes with the crate, and lists of them.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

/// Most principles of an input; bounds its cost.
const MOST_PRINCIPLES: usize = 1024;

/// A principle in a prompt.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Principle {
    /// Name in reports.
    pub(super) name: String,
    /// Text of the principle.
    pub(super) text: String,
    /// Weight in the score.
    pub(super) weight: f64,
}

/// Error of a list of principles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flaw {
    /// Only white space.
    Empty(usize),
    /// Equal to an earlier one.
    Duplicate(usize, usize),
    /// Too many.
    TooMany(usize),
}

impl Flaw {
    /// For programs.
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::Empty(_) => "principle_empty",
            Self::Duplicate(..) => "principle_duplicate",
            Self::TooMany(_) => "principles_too_many",
        }
    }
}

impl std::fmt::Display for Flaw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Empty(at) => write!(f, "principle {at} is empty"),
            Self::Duplicate(at, earlier) => {
                write!(f, "principle {at} is the same as principle {earlier}")
            }
            Self::TooMany(count) => {
                write!(f, "{count} principles; at most {MOST_PRINCIPLES} are judged")
            }
        }
    }
}

/// The file of the library.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LibraryFile {
    principle: Vec<LibraryPrinciple>,
}

/// A principle of the library.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LibraryPrinciple {
    /// A word that configurations and requests use.
    pub(super) name: String,
    /// Text for the model.
    pub(super) text: String,
    /// When to use it.
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers of the file"))]
    pub(super) description: String,
}

static LIBRARY: LazyLock<Vec<LibraryPrinciple>> = LazyLock::new(|| {
    let file: LibraryFile = toml::from_str(include_str!("../../../principles.toml"))
        .expect("the principles that come with us are valid");
    file.principle
});

/// The principles that come with the crate.
pub(super) fn library() -> &'static [LibraryPrinciple] {
    &LIBRARY
}

impl Principle {
    /// Resolves the name of a library principle, or takes the text as a principle.
    pub(super) fn of(given: &str, weight: f64) -> Self {
        let known = library().iter().find(|entry| entry.name == given.trim());
        let text = known.map_or(given, |entry| &entry.text);
        Self { name: given.trim().to_owned(), text: text.trim().to_owned(), weight }
    }
}

/// Refuses lists that cannot be judged; indices count from 0.
pub(super) fn check(principles: &[Principle]) -> Result<(), Flaw> {
    if principles.len() > MOST_PRINCIPLES {
        return Err(Flaw::TooMany(principles.len()));
    }
    let mut seen = HashMap::new();
    for (at, principle) in principles.iter().enumerate() {
        let words: Vec<String> = principle.text.split_whitespace().map(str::to_lowercase).collect();
        if words.is_empty() {
            return Err(Flaw::Empty(at));
        }
        if let Some(earlier) = seen.insert(words, at) {
            return Err(Flaw::Duplicate(at, earlier));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn library_principles_are_valid() {
        let principles: Vec<Principle> =
            library().iter().map(|entry| Principle::of(&entry.name, 1.0)).collect();
        assert!(principles.len() >= 30);
        assert_eq!(check(&principles), Ok(()));
        for (entry, principle) in library().iter().zip(&principles) {
            let fits = |c: char| c.is_ascii_lowercase() || c == '_';
            assert!(entry.name.chars().all(fits), "{}", entry.name);
            assert_eq!(principle.text, entry.text, "{}: a name twice", entry.name);
            assert!(!entry.description.trim().is_empty(), "{}", entry.name);
            assert!(!entry.text.contains('\n'), "{}", entry.name);
        }
    }

    #[test]
    fn empty_and_equal_principles_are_flaws() {
        let check = |texts: &[&str], expected| {
            let principles: Vec<Principle> =
                texts.iter().map(|text| Principle::of(text, 1.0)).collect();
            assert_eq!(check(&principles), expected, "{texts:?}");
        };
        check(&["a", "b"], Ok(()));
        check(&[], Ok(()));
        check(&["a", ""], Err(Flaw::Empty(1)));
        check(&[" \n\u{a0}"], Err(Flaw::Empty(0)));
        check(&["Be  brief", "x", "be brief "], Err(Flaw::Duplicate(2, 0)));
        let named = Principle::of("concise", 1.0).text;
        check(&["concise", &named], Err(Flaw::Duplicate(1, 0)));
        let many: Vec<String> = (0..2000).map(|n| n.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        check(&many, Err(Flaw::TooMany(2000)));
    }
}

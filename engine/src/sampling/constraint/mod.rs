//! Texts that must be of some form: JSON of a schema, a regular expression, one of several
//! strings, a grammar.
//!
//! The work is llguidance's: an Earley parser over lexemes that are regular expressions, walked
//! along a trie of the vocabulary's bytes. What is refused before it gets there, and how much it
//! may spend, is ours: see [`Grammar`].

mod guidance;
mod limits;
mod schema;
mod vocabulary;

use std::fmt::Debug;

use serde_json::Value;

pub use vocabulary::Vocabulary;

/// What a text must be, from its first character to its last.
///
/// Sizes are limited, and so is the work of compiling and of each token, by counts and not by
/// time: the same grammar is refused on every machine, or on none. Nothing is ever fetched.
#[derive(Clone, Debug, PartialEq)]
pub enum Grammar {
    /// JSON that a schema allows. Keywords that cannot be held to are refused, and so is `oneOf`
    /// whose branches are not plainly disjoint. White space between tokens is free but short.
    JsonSchema(Value),
    /// Any JSON object.
    JsonObject,
    /// The whole text matches; a `^` at its beginning and a `$` at its end say nothing more. No
    /// look-around, no back references.
    Regex(String),
    /// One of these strings.
    Choice(Vec<String>),
    /// A grammar in llguidance's variant of Lark's language; it begins with `start`.
    Lark(String),
}

/// Why there is no constraint, or no way to go on under one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConstraintError {
    /// The grammar cannot be used: it is not understood, too large, or no text satisfies it.
    #[error("{0}")]
    Grammar(String),
    /// The parser reached its limits.
    #[error("the grammar stopped: {0}")]
    Stopped(String),
    /// The text is not whole, and no token of the vocabulary continues it.
    #[error("no token of the vocabulary can follow")]
    DeadEnd,
}

/// A text on its way that must be of some form.
pub trait Constraint: Send + Debug {
    /// The tokens that may come next: those that continue the text, and those that end it where it
    /// is whole.
    ///
    /// # Errors
    /// [`ConstraintError::Stopped`] and [`ConstraintError::DeadEnd`].
    fn mask(&mut self) -> Result<Mask<'_>, ConstraintError>;

    /// Takes a token, which the mask allows.
    ///
    /// # Errors
    /// [`ConstraintError::Stopped`].
    fn accept(&mut self, token_id: u32) -> Result<(), ConstraintError>;

    /// Whether the text is whole and nothing can follow.
    fn is_complete(&self) -> bool;

    /// One more, at the same place, that shares nothing with this one.
    fn fork(&self) -> Box<dyn Constraint>;
}

/// A set of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mask<'a>(&'a [u32]);

impl<'a> Mask<'a> {
    /// Token `32 i + j` is in it where bit `j` of word `i` is set.
    pub fn new(words: &'a [u32]) -> Mask<'a> {
        Mask(words)
    }

    /// The words; tokens beyond them are not in the set.
    pub fn words(&self) -> &'a [u32] {
        self.0
    }

    /// Whether a token is in it.
    pub fn allows(&self, token_id: u32) -> bool {
        let word = self.0.get(token_id as usize / 32);
        word.is_some_and(|word| word >> (token_id % 32) & 1 == 1)
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(super) use tests::vocabulary_of;

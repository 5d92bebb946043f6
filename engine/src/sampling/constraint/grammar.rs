//! Grammars, and constraints made of them.

use std::fmt::Debug;

use serde_json::Value;

/// A pattern that a complete text must match.
///
/// Size, compilation and the work for each token are limited by counts and not by time, so that a
/// grammar is refused on every machine or on none. References are never fetched.
#[derive(Clone, Debug, PartialEq)]
pub enum Grammar {
    /// JSON that satisfies a schema. Keywords that cannot be enforced are refused, and so is
    /// `oneOf` unless its branches are plainly disjoint. The JSON is compact: no white space between
    /// its tokens.
    JsonSchema(Value),
    /// Any JSON object, compact.
    JsonObject,
    /// A regular expression for all of the text; `^` and `$` at its ends have no effect. No
    /// look-around and no back references.
    Regex(String),
    /// One of these strings.
    Choice(Vec<String>),
    /// A grammar in llguidance's variant of Lark's language; it begins with `start`.
    Lark(String),
}

/// Why a grammar is refused, or a constrained generation fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConstraintError {
    /// The grammar is invalid or too large, or no text satisfies it.
    #[error("{0}")]
    Grammar(String),
    /// The parser reached its limits.
    #[error("the grammar stopped: {0}")]
    Stopped(String),
    /// The text is incomplete and no token of the vocabulary continues it.
    #[error("no token of the vocabulary can follow")]
    DeadEnd,
}

/// A grammar's state after the text so far.
pub trait Constraint: Send + Debug {
    /// The allowed next tokens: those that continue the text, and end tokens if it is complete.
    ///
    /// # Errors
    /// [`ConstraintError::Stopped`] and [`ConstraintError::DeadEnd`].
    fn mask(&mut self) -> Result<Mask<'_>, ConstraintError>;

    /// Advances by a token of the mask.
    ///
    /// # Errors
    /// [`ConstraintError::Stopped`].
    fn accept(&mut self, token_id: u32) -> Result<(), ConstraintError>;

    /// Whether the text is complete and nothing can follow.
    fn is_complete(&self) -> bool;

    /// An independent copy of the state.
    fn fork(&self) -> Box<dyn Constraint>;
}

/// A set of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mask<'a>(&'a [u32]);

impl<'a> Mask<'a> {
    /// The set of tokens `32 i + j` for which bit `j` of word `i` is set.
    pub fn new(words: &'a [u32]) -> Mask<'a> {
        Mask(words)
    }

    /// The words; tokens beyond are not in the set.
    pub fn words(&self) -> &'a [u32] {
        self.0
    }

    /// Whether a token is in the set.
    pub fn allows(&self, token_id: u32) -> bool {
        let word = self.0.get(token_id as usize / 32);
        word.is_some_and(|word| word >> (token_id % 32) & 1 == 1)
    }
}

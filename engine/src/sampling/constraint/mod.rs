//! Constrained generation: JSON of a schema, a regular expression, a choice of strings, a grammar.
//!
//! llguidance does the parsing: an Earley parser over lexemes that are regular expressions, run
//! along a trie of the vocabulary's bytes. The checks before it and its limits are ours: see
//! [`Grammar`].

mod grammar;
mod guidance;
mod limits;
mod schema;
mod vocabulary;

pub use grammar::{Constraint, ConstraintError, Grammar, Mask};
pub use vocabulary::Vocabulary;

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(super) use tests::vocabulary_of;

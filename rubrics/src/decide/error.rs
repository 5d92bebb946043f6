//! Errors of decisions.

use engine::{RequestError, SubmitError};

/// Error of a request for decisions. A failure is never a number.
#[derive(Debug, Clone, thiserror::Error, PartialEq)]
pub enum DecideError {
    /// An invalid question. Nothing was computed.
    #[error("question {question}: {what}")]
    Question {
        /// Its index.
        question: usize,
        /// The place in it.
        place: FieldPath,
        /// What is wrong.
        what: String,
    },
    /// The prompt of a question does not fit. Nothing was computed, and nothing is ever cut off.
    #[error("question {question}: {given} tokens are more than the {max} that {holder} holds")]
    TooLong {
        /// Its index.
        question: usize,
        /// Tokens of the prompt, with those of the longest answer where answers are scored whole.
        given: usize,
        /// The most that fit.
        max: usize,
        /// The limit that was exceeded.
        holder: &'static str,
    },
    /// The input is longer than the model's context can be. Nothing was computed.
    #[error("a text of {given} bytes; at most {max} fit the context")]
    TextTooLong {
        /// Its length in bytes.
        given: usize,
        /// The most that is encoded.
        max: usize,
    },
    /// The model cannot decide: it has no vocabulary head, no chat template, or a template that
    /// refuses the prompt.
    #[error("the model cannot be asked: {0}")]
    Unsupported(String),
    /// The engine did not take the work.
    #[error(transparent)]
    Submit(#[from] SubmitError),
    /// The engine took the work and has no answer.
    #[error(transparent)]
    Failed(#[from] RequestError),
}

/// A place in a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldPath {
    /// The question as a whole.
    Whole,
    /// The instructions.
    Instructions,
    /// The list of options or levels.
    Alternatives,
    /// One option or level, by its index.
    Alternative(usize),
}

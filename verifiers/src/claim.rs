//! Claims: a candidate and the gold answer.

use serde_json::{Map, Value};

/// The gold answer. A type of its own, because comparison is asymmetric by design: symmetric
/// acceptance would reward echoing the question.
#[derive(Debug, Clone, Copy)]
pub enum Gold<'a> {
    /// None was given.
    Missing,
    /// One accepted answer.
    Text(&'a str),
    /// Any of these is accepted.
    AnyOf(&'a [String]),
    /// An object whose fields the verifier defines.
    Object(&'a Map<String, Value>),
}

/// The answer extracted from a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Candidate<'a> {
    /// Extraction found nothing.
    Missing,
    /// The extracted text, possibly empty.
    Text(&'a str),
    /// One sentence gave several answers, each marked as one: `\boxed{1}, \boxed{2}`. Only a
    /// verifier whose gold answer is a list, and one of choices, look at all of them.
    Several {
        /// The last one, which is the answer everywhere else.
        last: &'a str,
        /// All of them, in order.
        all: &'a [&'a str],
        /// Whether an "or" stands between two of them.
        either: bool,
    },
    /// Nothing is marked as the answer, and the last statement may be read in several ways. A
    /// verifier that knows types takes the first reading of the gold answer's type.
    Statement {
        /// The last member of the first reading, which is the answer everywhere else.
        last: &'a str,
        /// The readings in order, each a value or the members of a list; at least one.
        readings: &'a [Vec<&'a str>],
        /// Readings of the last statement; those after them are of sentences before it.
        own: usize,
        /// The reading whose members answer the parts of a question, in order: `(a) … (b) …`.
        parts: Option<usize>,
    },
}

impl<'a> Candidate<'a> {
    /// Returns the text that answers; `None` if there is none.
    pub fn text(self) -> Option<&'a str> {
        match self {
            Self::Missing => None,
            Self::Text(text)
            | Self::Several { last: text, .. }
            | Self::Statement { last: text, .. } => Some(text),
        }
    }
}

/// The claim that `candidate` means the same as `gold`.
#[derive(Debug, Clone, Copy)]
pub struct Claim<'a> {
    /// The gold answer.
    pub gold: Gold<'a>,
    /// The answer of the response.
    pub candidate: Candidate<'a>,
    /// The response that the candidate was extracted from, where it is known. Gold answers in several named parts
    /// are looked for in it.
    pub response: Option<&'a str>,
    /// The question that the response answers, where it is known. Says what the gold answer leaves open.
    pub question: Option<&'a str>,
    /// Whether a verdict should carry its detail. Costs an allocation; never changes the score.
    pub explain: bool,
}

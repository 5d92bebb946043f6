//! From a response to the text that answers.

use std::ops::Range;

/// What extraction found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extracted<'a> {
    /// The answer, a slice of the response.
    pub text: &'a str,
    /// Its half-open byte range in the response.
    pub span: Range<usize>,
    /// Candidates of the same source in the response; the last one is `text`.
    pub count: usize,
    /// Where it was found.
    pub source: &'static str,
    /// What a careful reader should know.
    pub flags: Vec<&'static str>,
}

//! A finished span.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::context::{SpanId, TraceContext};

/// Most characters of a text among the attributes.
const TEXT_CHARS: usize = 256;

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttributeValue {
    /// A text; its first 256 characters are kept.
    Text(Box<str>),
    /// A number.
    Int(i64),
}

impl From<&str> for AttributeValue {
    fn from(text: &str) -> Self {
        let end = text.char_indices().nth(TEXT_CHARS).map_or(text.len(), |(at, _)| at);
        AttributeValue::Text(text[..end].into())
    }
}

impl From<usize> for AttributeValue {
    fn from(number: usize) -> Self {
        AttributeValue::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

/// Names with values.
pub type Attributes = Vec<(&'static str, AttributeValue)>;

/// The side of a call that a span stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanKind {
    /// A request that this process answers.
    Server,
    /// Work within the process.
    Internal,
}

/// A finished span.
#[derive(Debug, Clone)]
pub struct Span {
    /// The trace, the own id, the flags and the state.
    pub context: TraceContext,
    /// The span above it, and whether that is of another process.
    pub parent: Option<(SpanId, bool)>,
    /// Its name, of few values.
    pub name: Box<str>,
    /// Its kind.
    pub kind: SpanKind,
    /// Its beginning and end, in nanoseconds of Unix time.
    pub times: [u64; 2],
    /// Its attributes.
    pub attributes: Attributes,
    /// Whether it failed by a fault of this process.
    pub failed: bool,
}

/// Returns the Unix time in nanoseconds.
pub(crate) fn unix_nanos() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}

//! Errors of rendering a template.

use crate::error::ChatError;

/// Why a render failed, without the line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum RenderErrorKind {
    /// The template refused the conversation by calling `raise_exception`.
    #[error("the template refuses this conversation: {0}")]
    Raised(String),
    /// The language does not define this operation for these values.
    #[error("{0}")]
    Invalid(String),
    /// The render exceeds its number of steps.
    #[error("the template takes more than {0} steps")]
    Steps(u64),
    /// The render exceeds its memory.
    #[error("the template's values take more than {0} bytes")]
    Memory(usize),
    /// The prompt exceeds its length.
    #[error("the rendered prompt is longer than {0} bytes")]
    Output(usize),
    /// Values or calls exceed their depth.
    #[error("values or calls nest more than {0} deep")]
    Depth(u32),
}

/// An error and the line of the template that caused it, once known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RenderError {
    pub(super) fault: RenderErrorKind,
    pub(super) line: Option<u16>,
}

impl RenderError {
    /// Sets the line, unless an inner call has set it.
    pub(super) fn at(mut self, line: u16) -> RenderError {
        self.line.get_or_insert(line);
        self
    }
}

impl From<RenderErrorKind> for RenderError {
    fn from(fault: RenderErrorKind) -> RenderError {
        RenderError { fault, line: None }
    }
}

impl From<RenderError> for ChatError {
    fn from(error: RenderError) -> ChatError {
        match error.line {
            Some(line) => ChatError::Template(format!("line {line}: {}", error.fault)),
            None => ChatError::Template(error.fault.to_string()),
        }
    }
}

/// The error of an undefined operation.
pub(super) fn invalid(what: impl Into<String>) -> RenderError {
    RenderErrorKind::Invalid(what.into()).into()
}

/// The error of an operation that Python does not define for a generator, or for which it writes
/// the generator's address.
pub(super) fn needs_list() -> RenderError {
    invalid("a filter's result must go through `list` first")
}

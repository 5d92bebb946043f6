//! Refusals of schemas.

/// Reason why a schema is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    /// Stable name for programs.
    pub(super) code: &'static str,
    /// Explanation for people.
    pub(super) message: String,
}

impl Refusal {
    pub(super) fn new(code: &'static str, message: String) -> Self {
        Self { code, message }
    }
}

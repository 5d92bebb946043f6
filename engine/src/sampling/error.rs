//! Errors of sampling and detokenization.

/// Why no token can be sampled.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SampleError {
    /// A logit is not finite.
    #[error("{0}")]
    NotFinite(f32),
    /// No token satisfies the constraint.
    #[error("{0}")]
    Constraint(String),
}

/// Why tokens give no text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the tokens cannot be decoded: {0}")]
pub struct TextError(String);

impl From<chat::ChatError> for TextError {
    fn from(error: chat::ChatError) -> TextError {
        TextError(error.to_string())
    }
}

//! Checks signed results.

use openapi::{ScoreInput, Signature};

use super::claims::Claims;
use super::input::input_digest;

/// Why a signature proves nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSignature {
    /// There is none.
    #[error("there is no signature")]
    Unsigned,
    /// The keys do not have the one that is named.
    #[error("the key '{0}' is not among the given ones")]
    UnknownKey(String),
    /// A score beside a failure, or `ok` without a score.
    #[error("a score must be there exactly when the status is ok")]
    ScoreWithoutOk,
    /// The value is not 64 bytes in base64url.
    #[error("the value of the signature is not 64 bytes in base64url")]
    Malformed,
    /// Something that is signed was changed, or another key has signed.
    #[error("the signature is not of this result")]
    Differs,
    /// The input beside the result is not the one that was scored.
    #[error("the input is not the one that was scored")]
    OtherInput,
    /// The result cannot be read.
    #[error("no result: {0}")]
    NotAResult(String),
}

impl Claims<'_> {
    /// Reads a result.
    ///
    /// # Errors
    /// A text that is none.
    pub fn parse(text: &str) -> Result<Claims<'_>, InvalidSignature> {
        serde_json::from_str(text).map_err(|error| InvalidSignature::NotAResult(error.to_string()))
    }

    /// The digest of the scorer.
    pub fn scorer(&self) -> &str {
        &self.digests.scorer
    }

    /// The signature, if there is one.
    pub fn signature(&self) -> Option<&Signature> {
        self.signature.as_ref()
    }

    /// Checks that the signature is of a result of `input`.
    ///
    /// # Errors
    /// [`InvalidSignature::OtherInput`] where it is of another.
    pub fn check_input(&self, input: &ScoreInput) -> Result<(), InvalidSignature> {
        let signed = self.signature.as_ref().ok_or(InvalidSignature::Unsigned)?;
        if signed.input == input_digest(input) { Ok(()) } else { Err(InvalidSignature::OtherInput) }
    }
}

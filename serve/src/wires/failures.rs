//! What routes of other interfaces may answer beside success, for their descriptions.

use openapi::{SglangError, TeiError, VllmError};
use utoipa::IntoResponses;

/// Errors of vLLM's routes.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "it describes replies and is never made")]
pub(crate) enum VllmFailures {
    /// A body that cannot be used, or a text that is too long.
    #[response(status = 400)]
    BadRequest(VllmError),
    /// No valid API key.
    #[response(status = 401)]
    Unauthorized(VllmError),
    /// No such model, or one that cannot do this.
    #[response(status = 404)]
    NotFound(VllmError),
    /// The body did not arrive in time.
    #[response(status = 408)]
    Timeout(VllmError),
    /// The body is too large.
    #[response(status = 413)]
    TooLarge(VllmError),
    /// A scorer could not measure it.
    #[response(status = 422)]
    Unmeasured(VllmError),
    /// A fault of the server.
    #[response(status = 500)]
    Internal(VllmError),
    /// A tool failed.
    #[response(status = 502)]
    Tool(VllmError),
    /// Overloaded or draining; `retry-after` says when to try again.
    #[response(status = 503)]
    Unavailable(VllmError),
    /// The deadline passed.
    #[response(status = 504)]
    Deadline(VllmError),
}

/// Errors of `SGLang`'s routes.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "it describes replies and is never made")]
pub(crate) enum SglangFailures {
    /// A body that cannot be used, or a text that is too long.
    #[response(status = 400)]
    BadRequest(SglangError),
    /// No valid API key.
    #[response(status = 401)]
    Unauthorized(SglangError),
    /// No such model, or one that cannot do this.
    #[response(status = 404)]
    NotFound(SglangError),
    /// The body did not arrive in time.
    #[response(status = 408)]
    Timeout(SglangError),
    /// The body is too large.
    #[response(status = 413)]
    TooLarge(SglangError),
    /// A fault of the server.
    #[response(status = 500)]
    Internal(SglangError),
    /// Overloaded or draining; `retry-after` says when to try again.
    #[response(status = 503)]
    Unavailable(SglangError),
    /// The deadline passed.
    #[response(status = 504)]
    Deadline(SglangError),
}

/// Errors of the routes of Text Embeddings Inference.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "it describes replies and is never made")]
pub(crate) enum TeiFailures {
    /// The body is not JSON, or there is nothing in it.
    #[response(status = 400)]
    BadRequest(TeiError),
    /// No valid API key.
    #[response(status = 401)]
    Unauthorized(TeiError),
    /// No such model.
    #[response(status = 404)]
    NotFound(TeiError),
    /// The body did not arrive in time.
    #[response(status = 408)]
    Timeout(TeiError),
    /// The body is too large.
    #[response(status = 413)]
    TooLarge(TeiError),
    /// A body that cannot be used, or a text that is too long.
    #[response(status = 422)]
    Invalid(TeiError),
    /// The model failed.
    #[response(status = 424)]
    Backend(TeiError),
    /// Overloaded; `retry-after` says when to try again.
    #[response(status = 429)]
    Overloaded(TeiError),
    /// A tool failed.
    #[response(status = 502)]
    Tool(TeiError),
    /// Draining.
    #[response(status = 503)]
    Unavailable(TeiError),
    /// The deadline passed.
    #[response(status = 504)]
    Deadline(TeiError),
}

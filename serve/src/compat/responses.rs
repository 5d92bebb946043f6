//! What routes of other interfaces may answer beside success, for their descriptions.

use utoipa::IntoResponses;

use super::error_bodies::{ClassifyFailure, RerankFailure, SglangError, TeiError, VllmError};

/// The statuses of vLLM's routes, with the shapes that errors may have there.
macro_rules! vllm_failures {
    ($name:ident, $error:ty, $of:literal) => {
        #[doc = $of]
        #[derive(IntoResponses)]
        #[expect(dead_code, reason = "it describes replies and is never made")]
        pub(crate) enum $name {
            /// A body that cannot be used, or a text that is too long.
            #[response(status = 400)]
            BadRequest($error),
            /// No valid API key.
            #[response(status = 401)]
            Unauthorized($error),
            /// No such model, or one that cannot do this.
            #[response(status = 404)]
            NotFound($error),
            /// The body did not arrive in time.
            #[response(status = 408)]
            Timeout($error),
            /// The body is too large.
            #[response(status = 413)]
            TooLarge($error),
            /// A scorer could not measure it.
            #[response(status = 422)]
            Unmeasured($error),
            /// A fault of the server.
            #[response(status = 500)]
            Internal($error),
            /// A tool failed.
            #[response(status = 502)]
            Tool($error),
            /// Overloaded or draining; `retry-after` says when to try again.
            #[response(status = 503)]
            Unavailable($error),
            /// The deadline passed.
            #[response(status = 504)]
            Deadline($error),
        }
    };
}

vllm_failures!(VllmFailures, VllmError, "Errors of vLLM's routes.");
vllm_failures!(
    ClassifyFailures,
    ClassifyFailure,
    "Errors of the route that vLLM shares with `SGLang`."
);
vllm_failures!(
    RerankFailures,
    RerankFailure,
    "Errors of the routes that rerankers share with Text Embeddings Inference."
);

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

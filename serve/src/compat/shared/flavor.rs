//! Error replies of foreign interfaces: body shapes, and statuses that their clients act on.
//!
//! Errors are [`ApiError`]s everywhere; only their rendering differs.

use std::fmt;

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, ResponseError};

use super::error_bodies::{
    DetailError, Details, FieldError, PathPart, SglangError, TeiError, TeiErrorType, VllmError,
    VllmErrorDetail,
};
use crate::error::{ApiError, Code};

/// A family of error replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ApiFlavor {
    /// The native shape, which OpenAI's clients read.
    Own,
    /// The native shape with 429 for overload, which OpenAI's clients retry.
    OpenAi,
    /// `{"detail": …}` of `FastAPI` services: `OpenRLHF`, slime, `NeMo`-Gym.
    FastApi,
    /// `{"error": {…, "code": 400}}`. verl gives up at any 4xx and retries after a 5xx.
    Vllm,
    /// `{"object": "error", …, "code": 400}`.
    Sglang,
    /// `{"error": "…", "error_type": "…"}`.
    Tei,
}

impl ApiFlavor {
    /// Returns the flavor of a path, for errors before its body is parsed, such as a 401.
    ///
    /// A path that is not listed gets the native shape, as unknown routes do. So a new route of a
    /// foreign interface must be listed here; a test holds that every route is.
    pub(crate) fn of(path: &str) -> ApiFlavor {
        Self::listed(path).unwrap_or(ApiFlavor::Own)
    }

    fn listed(path: &str) -> Option<ApiFlavor> {
        Some(match path {
            "/v1/score"
            | "/v1/chat/completions"
            | "/v1/completions"
            | "/v1/responses"
            | "/v1/decisions"
            | "/v1/systemone"
            | "/v1/models"
            | "/v1/keys"
            | "/health"
            | "/healthz"
            | "/livez"
            | "/readyz"
            | "/metrics"
            | "/openapi.json" => ApiFlavor::Own,
            "/get_reward" | "/remote_rm" | "/verify" | "/seed_session" | "/aggregate_metrics"
            | "/reverify_mode" | "/compare" | "/run_code" => ApiFlavor::FastApi,
            "/classify"
            | "/score"
            | "/rerank"
            | "/reranking"
            | "/v1/rerank"
            | "/v1/reranking"
            | "/v2/rerank"
            | "/pooling"
            | "/generative_scoring"
            | "/tokenize"
            | "/detokenize"
            | "/v1/embeddings"
            | "/v1/load_lora_adapter"
            | "/v1/unload_lora_adapter" => ApiFlavor::Vllm,
            "/v1/classify" => ApiFlavor::Sglang,
            "/predict" | "/info" => ApiFlavor::Tei,
            "/v1/fine_tuning/alpha/graders/run"
            | "/v1/fine_tuning/alpha/graders/validate"
            | "/v1/files"
            | "/v1/batches" => ApiFlavor::OpenAi,
            _ if path.starts_with("/ng-rollout/") => ApiFlavor::FastApi,
            _ if path.starts_with("/v1/files/") || path.starts_with("/v1/batches/") => {
                ApiFlavor::OpenAi
            }
            _ => return None,
        })
    }

    /// Renders an error as a reply.
    pub(crate) fn response(self, error: &ApiError) -> HttpResponse {
        let status = self.status(error);
        let mut head = error.head(status);
        match self {
            ApiFlavor::Own | ApiFlavor::OpenAi => head.json(error.wire()),
            ApiFlavor::FastApi => head.json(detail(error)),
            ApiFlavor::Vllm => head.json(VllmError {
                error: VllmErrorDetail {
                    message: error.to_string(),
                    kind: kind(status).to_owned(),
                    param: error.param().map(str::to_owned),
                    code: status.as_u16(),
                },
            }),
            ApiFlavor::Sglang => head.json(SglangError {
                object: "error".to_owned(),
                message: error.to_string(),
                kind: kind(status).to_owned(),
                param: error.param().map(str::to_owned),
                code: status.as_u16(),
            }),
            ApiFlavor::Tei => {
                head.json(TeiError { error: error.to_string(), error_type: tei_type(error.code()) })
            }
        }
    }

    /// Returns a closure for `map_err` that gives an error this flavor.
    pub(crate) fn refusal(self) -> impl Fn(ApiError) -> FlavoredApiError {
        move |error| FlavoredApiError { flavor: self, error }
    }

    fn status(self, error: &ApiError) -> StatusCode {
        match (self, error.code()) {
            (ApiFlavor::FastApi, Code::MalformedJson) => StatusCode::UNPROCESSABLE_ENTITY,
            (ApiFlavor::Vllm | ApiFlavor::Sglang, Code::InvalidBody | Code::ContextLength) => {
                StatusCode::BAD_REQUEST
            }
            // These clients retry only after a 5xx.
            (ApiFlavor::FastApi | ApiFlavor::Vllm | ApiFlavor::Sglang, Code::TooFast) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            (ApiFlavor::Tei | ApiFlavor::OpenAi, Code::Overloaded) => StatusCode::TOO_MANY_REQUESTS,
            (ApiFlavor::Tei, Code::Internal) => StatusCode::FAILED_DEPENDENCY,
            _ => error.status_code(),
        }
    }
}

/// Returns the error type that vLLM and `SGLang` use for a status.
fn kind(status: StatusCode) -> &'static str {
    match status.as_u16() {
        400 | 408 | 413 | 415 => "BadRequestError",
        401 | 403 => "PermissionDeniedError",
        404 | 405 => "NotFoundError",
        422 => "UnprocessableEntityError",
        503 => "ServiceUnavailableError",
        _ => "InternalServerError",
    }
}

fn tei_type(code: Code) -> TeiErrorType {
    match code {
        Code::Overloaded | Code::TooFast | Code::TooManyWrongKeys => TeiErrorType::Overloaded,
        Code::Draining | Code::Loading | Code::DeadlinePassed => TeiErrorType::Unhealthy,
        Code::Internal | Code::ToolFailed | Code::StorageFull | Code::StorageFailed => {
            TeiErrorType::Backend
        }
        Code::ContextLength => TeiErrorType::Tokenizer,
        Code::MalformedJson
        | Code::InvalidApiKey
        | Code::Forbidden
        | Code::MalformedForm
        | Code::NotFound
        | Code::Conflict
        | Code::RouteNotFound
        | Code::MethodNotAllowed
        | Code::ScorerNotFound
        | Code::BodyTimeout
        | Code::BodyTooLarge
        | Code::InvalidBody
        | Code::UnsupportedMediaType
        | Code::Unmeasured => TeiErrorType::Validation,
    }
}

/// An error with the flavor that renders it.
#[derive(Debug)]
pub(crate) struct FlavoredApiError {
    flavor: ApiFlavor,
    error: ApiError,
}

impl fmt::Display for FlavoredApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl ResponseError for FlavoredApiError {
    fn status_code(&self) -> StatusCode {
        self.flavor.status(&self.error)
    }

    fn error_response(&self) -> HttpResponse {
        self.flavor.response(&self.error)
    }
}

/// Renders an error: faults of the body as a list of locations, others as a message.
fn detail(error: &ApiError) -> DetailError {
    let detail = if matches!(error.code(), Code::InvalidBody | Code::MalformedJson) {
        Details::Fields(vec![FieldError {
            kind: error.wire().error.code,
            loc: location(error.param().unwrap_or_default()),
            msg: error.to_string(),
        }])
    } else {
        Details::Text(error.to_string())
    };
    DetailError { detail }
}

/// Parses a JSON path: `inputs[3].response` to `["body", "inputs", 3, "response"]`.
fn location(path: &str) -> Vec<PathPart> {
    let mut parts = vec![PathPart::Name("body".to_owned())];
    let pieces = path.split(['.', '[', ']']).filter(|piece| !piece.is_empty());
    parts.extend(pieces.map(|piece| match piece.parse() {
        Ok(index) => PathPart::Index(index),
        Err(_) => PathPart::Name(piece.to_owned()),
    }));
    parts
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "rows are literals")]
    fn check(path: &str, expected: Value) {
        assert_eq!(json!(location(path)), expected, "{path}");
    }

    #[test]
    fn every_route_has_a_listed_flavor() {
        let routes = crate::app::document().paths.paths;
        let unlisted = routes.keys().filter(|path| ApiFlavor::listed(path).is_none());
        assert_eq!(unlisted.collect::<Vec<_>>(), Vec::<&String>::new());
    }

    #[test]
    fn fastapi_locations_are_parsed() {
        check("", json!(["body"]));
        check("query", json!(["body", "query"]));
        check("a[3].b", json!(["body", "a", 3, "b"]));
        check("a.b[0][1]", json!(["body", "a", "b", 0, 1]));
    }
}

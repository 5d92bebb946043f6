//! All error replies, in one table.

use std::fmt;
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use actix_web::{HttpResponse, HttpResponseBuilder, ResponseError};
use openapi::{BodyError, ErrorBody, ErrorDetail};
use serde::Serialize;

/// An error reply. The client sees code and message; `log` is for the operator alone.
#[derive(Debug, Clone)]
pub struct ApiError {
    code: Code,
    message: String,
    param: Option<String>,
    log: Option<String>,
    retry_after: Option<Duration>,
}

/// Error codes that clients can act on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// The body is not JSON.
    MalformedJson,
    /// No key, or an unknown key.
    InvalidApiKey,
    /// Not allowed by the configuration.
    Forbidden,
    /// The body is not a valid multipart form.
    MalformedForm,
    /// No such file or batch.
    NotFound,
    /// The state of the resource does not allow the operation.
    Conflict,
    /// The disk is full.
    StorageFull,
    /// The storage failed.
    StorageFailed,
    /// No such route.
    RouteNotFound,
    /// The route exists, but not with this method.
    MethodNotAllowed,
    /// No such scorer or model.
    ScorerNotFound,
    /// The body did not arrive in time.
    BodyTimeout,
    /// The body is too large.
    BodyTooLarge,
    /// The body is JSON of the wrong shape.
    InvalidBody,
    /// A sequence is longer than the engine can ever hold.
    ContextLength,
    /// The request was valid, but an input could not be scored.
    Unmeasured,
    /// A tool that a score needs has failed.
    ToolFailed,
    /// A limit of admission is reached.
    Overloaded,
    /// The client exceeds its rate limit.
    TooFast,
    /// This address has sent too many wrong keys.
    TooManyWrongKeys,
    /// The body has a content type that is not taken.
    UnsupportedMediaType,
    /// The server is shutting down.
    Draining,
    /// The models are being loaded.
    Loading,
    /// The deadline passed before any work was completed.
    DeadlinePassed,
    /// An internal error.
    Internal,
}

impl Code {
    /// Returns status, error type and code: the one table of them.
    fn row(self) -> (StatusCode, &'static str, &'static str) {
        const INVALID: &str = "invalid_request_error";
        const SERVER: &str = "server_error";
        match self {
            Self::MalformedJson => (StatusCode::BAD_REQUEST, INVALID, "malformed_json"),
            Self::InvalidApiKey => {
                (StatusCode::UNAUTHORIZED, "authentication_error", "invalid_api_key")
            }
            Self::Forbidden => (StatusCode::FORBIDDEN, "permission_error", "forbidden"),
            Self::MalformedForm => (StatusCode::BAD_REQUEST, INVALID, "malformed_form"),
            Self::NotFound => (StatusCode::NOT_FOUND, INVALID, "not_found"),
            Self::Conflict => (StatusCode::CONFLICT, INVALID, "conflict"),
            Self::StorageFull => (StatusCode::INSUFFICIENT_STORAGE, SERVER, "storage_full"),
            Self::StorageFailed => (StatusCode::INTERNAL_SERVER_ERROR, SERVER, "storage_failed"),
            Self::RouteNotFound => (StatusCode::NOT_FOUND, INVALID, "route_not_found"),
            Self::MethodNotAllowed => {
                (StatusCode::METHOD_NOT_ALLOWED, INVALID, "method_not_allowed")
            }
            Self::ScorerNotFound => (StatusCode::NOT_FOUND, INVALID, "model_not_found"),
            Self::BodyTimeout => (StatusCode::REQUEST_TIMEOUT, INVALID, "body_timeout"),
            Self::BodyTooLarge => (StatusCode::PAYLOAD_TOO_LARGE, INVALID, "body_too_large"),
            Self::InvalidBody => (StatusCode::UNPROCESSABLE_ENTITY, INVALID, "invalid_body"),
            Self::ContextLength => {
                (StatusCode::UNPROCESSABLE_ENTITY, INVALID, "context_length_exceeded")
            }
            Self::Unmeasured => (StatusCode::UNPROCESSABLE_ENTITY, INVALID, "not_measured"),
            Self::ToolFailed => (StatusCode::BAD_GATEWAY, SERVER, "tool_failed"),
            Self::Overloaded => (StatusCode::SERVICE_UNAVAILABLE, "overloaded_error", "overloaded"),
            Self::TooFast => {
                (StatusCode::TOO_MANY_REQUESTS, "rate_limit_error", "rate_limit_exceeded")
            }
            Self::TooManyWrongKeys => {
                (StatusCode::TOO_MANY_REQUESTS, "authentication_error", "too_many_wrong_keys")
            }
            Self::UnsupportedMediaType => {
                (StatusCode::UNSUPPORTED_MEDIA_TYPE, INVALID, "unsupported_media_type")
            }
            Self::Draining => (StatusCode::SERVICE_UNAVAILABLE, "overloaded_error", "draining"),
            Self::Loading => (StatusCode::SERVICE_UNAVAILABLE, "overloaded_error", "loading"),
            Self::DeadlinePassed => (StatusCode::GATEWAY_TIMEOUT, SERVER, "deadline_passed"),
            Self::Internal => (StatusCode::INTERNAL_SERVER_ERROR, SERVER, "internal_error"),
        }
    }

    /// The wait of a refusal for which no better estimate is known: each 503 and 429 has one.
    fn retry_after(self) -> Option<Duration> {
        let passing = [StatusCode::SERVICE_UNAVAILABLE, StatusCode::TOO_MANY_REQUESTS];
        passing.contains(&self.row().0).then_some(SHORT_WAIT)
    }
}

/// The wait for a state of the server that may pass at any time.
const SHORT_WAIT: Duration = Duration::from_secs(1);

/// A 503 reply with `Retry-After` and a body of its own, for routes that report the server's state.
pub(crate) fn unavailable(body: impl Serialize) -> HttpResponse {
    let mut reply = HttpResponse::ServiceUnavailable();
    reply.insert_header((RETRY_AFTER, SHORT_WAIT.as_secs())).json(body)
}

impl ApiError {
    /// Creates an error with a message for the client.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        let retry_after = code.retry_after();
        Self { code, message: shortened(message.into()), param: None, log: None, retry_after }
    }

    /// Creates an internal error; the cause is logged and not sent to the client.
    pub fn internal(cause: impl fmt::Display) -> Self {
        let error = Self::new(Code::Internal, "the server failed; its log has the cause");
        Self { log: Some(cause.to_string()), ..error }
    }

    /// Creates an overload error with the time after which to retry.
    pub fn overloaded(retry_after: Duration) -> Self {
        let error = Self::new(Code::Overloaded, "the server holds as much work as it takes");
        Self { retry_after: Some(retry_after), ..error }
    }

    /// An overload by memory. It lasts as long as the requests that hold the memory, about a second.
    pub fn out_of_memory() -> Self {
        Self::new(Code::Overloaded, "the server is short of memory (limits.memory)")
    }

    /// A request that comes before the models are loaded.
    pub fn loading() -> Self {
        Self::new(Code::Loading, "the models are being loaded")
    }

    /// Creates the error of an exceeded rate limit.
    pub fn too_fast(rate: u32, retry_after: Duration) -> Self {
        let message =
            format!("this client sends more requests than limits.client_requests: {rate} a second");
        Self { retry_after: Some(retry_after), ..Self::new(Code::TooFast, message) }
    }

    /// Creates the error of a limit that a key has reached; `limit` names and gives it.
    pub fn key_limit(limit: impl fmt::Display, retry_after: Duration) -> Self {
        let message = format!("this client has used what it may by {limit}");
        Self { retry_after: Some(retry_after), ..Self::new(Code::TooFast, message) }
    }

    /// An address that has sent more wrong keys than it may.
    pub fn too_many_wrong_keys(rate: u32, retry_after: Duration) -> Self {
        let message = format!(
            "this address has sent more wrong keys than limits.key_failures: {rate} a minute"
        );
        Self { retry_after: Some(retry_after), ..Self::new(Code::TooManyWrongKeys, message) }
    }

    /// Creates the error of a body that cannot be parsed.
    pub fn body(error: BodyError) -> Self {
        match error {
            BodyError::Malformed { line, column, message } => {
                let text = format!("malformed JSON at line {line}, column {column}: {message}");
                Self::new(Code::MalformedJson, text)
            }
            BodyError::Invalid { path, message } => {
                Self::new(Code::InvalidBody, format!("{path}: {message}")).at(path)
            }
        }
    }

    /// Adds the JSON path of the offending value.
    #[must_use]
    pub fn at(self, param: impl Into<String>) -> Self {
        Self { param: Some(shortened(param.into())), ..self }
    }

    /// Renames the path, also where the message begins with it.
    #[must_use]
    pub(crate) fn moved(self, rename: impl FnOnce(&str) -> String) -> Self {
        let Some(old) = &self.param else {
            return self;
        };
        let new = rename(old);
        let rest = self.message.strip_prefix(old.as_str());
        let message = rest.map_or_else(|| self.message.clone(), |rest| format!("{new}{rest}"));
        Self { message, param: Some(new), ..self }
    }

    /// Adds the cause for the log.
    #[must_use]
    pub fn because(self, cause: impl fmt::Display) -> Self {
        Self { log: Some(cause.to_string()), ..self }
    }

    /// Returns the wire form of the error.
    pub fn wire(&self) -> ErrorBody {
        let (_, kind, code) = self.code.row();
        ErrorBody {
            error: ErrorDetail {
                kind: kind.to_owned(),
                code: code.to_owned(),
                message: self.message.clone(),
                param: self.param.clone(),
            },
        }
    }

    /// Starts a reply with this status: `Retry-After` and `WWW-Authenticate` headers where they
    /// apply. Logs the part that the client does not see.
    pub(crate) fn head(&self, status: StatusCode) -> HttpResponseBuilder {
        if let Some(cause) = &self.log {
            tracing::error!(cause, "a request failed");
        }
        let mut response = HttpResponse::build(status);
        if let Some(after) = self.retry_after {
            response.insert_header((RETRY_AFTER, after.as_secs().max(1)));
            let millis = HeaderName::from_static("retry-after-ms");
            response.insert_header((millis, after.as_millis().to_string()));
        }
        if status == StatusCode::UNAUTHORIZED {
            response.insert_header((WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")));
        }
        response
    }

    /// Returns the JSON path of the offending value.
    pub fn param(&self) -> Option<&str> {
        self.param.as_deref()
    }

    /// Returns the code.
    pub fn code(&self) -> Code {
        self.code
    }

    /// Returns the message for the operator.
    pub fn log(&self) -> Option<&str> {
        self.log.as_deref()
    }
}

/// Most bytes of a message or of a place. A client's own text in it may be as long as its body.
const MOST_BYTES: usize = 2048;

/// The text, without its middle where it is too long: the place is at its beginning, the cause
/// often at its end.
fn shortened(text: String) -> String {
    if text.len() <= MOST_BYTES {
        return text;
    }
    let head = text.floor_char_boundary(MOST_BYTES / 4 * 3);
    let tail = text.ceil_char_boundary(text.len() - MOST_BYTES / 4);
    format!("{} ... {}", &text[..head], &text[tail..])
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl ResponseError for ApiError {
    fn status_code(&self) -> StatusCode {
        self.code.row().0
    }

    fn error_response(&self) -> HttpResponse {
        self.head(self.status_code()).json(self.wire())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overload_has_retry_after() {
        for (after, seconds, millis) in [(0, "1", "0"), (1500, "1", "1500"), (4000, "4", "4000")] {
            let reply = ApiError::overloaded(Duration::from_millis(after)).error_response();
            assert_eq!(reply.status(), 503);
            assert_eq!(reply.headers().get("retry-after").expect("set"), seconds);
            assert_eq!(reply.headers().get("retry-after-ms").expect("set"), millis);
        }
    }

    #[test]
    fn refusals_for_a_while_have_retry_after() {
        for (code, expected) in [
            (Code::Overloaded, true),
            (Code::TooFast, true),
            (Code::TooManyWrongKeys, true),
            (Code::Draining, true),
            (Code::Loading, true),
            (Code::DeadlinePassed, false),
            (Code::Internal, false),
            (Code::InvalidBody, false),
        ] {
            let reply = ApiError::new(code, "refused").error_response();
            assert_eq!(reply.headers().contains_key("retry-after"), expected, "{code:?}");
        }
        let reply = unavailable("draining");
        assert_eq!(
            (reply.status().as_u16(), reply.headers().contains_key("retry-after")),
            (503, true)
        );
    }

    #[test]
    fn long_texts_of_clients_are_shortened() {
        let long = "é".repeat(1_000_000);
        let error = ApiError::new(Code::InvalidBody, format!("begin {long} end")).at(long);
        let message = error.to_string();
        assert!(message.len() < MOST_BYTES + 16, "{}", message.len());
        assert!(message.starts_with("begin ") && message.ends_with(" end"));
        assert!(error.param().expect("a place").len() < MOST_BYTES + 16);
    }

    #[test]
    fn cause_of_internal_error_is_not_sent() {
        let error = ApiError::internal("disk /secret failed");
        assert!(!error.to_string().contains("secret"));
        assert_eq!(error.log(), Some("disk /secret failed"));
    }
}

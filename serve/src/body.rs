//! Reads request bodies within the limits of size, time and memory.

use std::time::{Duration, Instant};

use actix_web::HttpRequest;
use actix_web::http::header::CONTENT_LENGTH;
use actix_web::web::{Bytes, BytesMut, Payload};
use futures_util::StreamExt as _;

use crate::admit::Permit;
use crate::clients;
use crate::error::{ApiError, Code};
use crate::extensions::BatchLine;
use crate::state::State;

/// Largest body in bytes that is parsed on an event loop. Parsing megabytes there would delay every
/// other connection of the worker.
pub(crate) const INLINE_BYTES: usize = 64 << 10;

/// Bodies of so many bytes are parsed without counting their values: as many as the server reads at a
/// time parse into little.
const SMALL_BYTES: usize = 4 << 10;

/// Bytes of a value of JSON in memory.
const VALUE_BYTES: usize = size_of::<serde_json::Value>();

/// Bytes of an object, as those of so many values: it has room for four fields from the first on.
const OBJECT_VALUES: usize = 5;

/// Estimates the bytes that JSON takes once it is parsed, beside its text: a value before each comma,
/// as much again for the allocation of each string and array, and [`OBJECT_VALUES`] for each object.
pub(crate) fn value_bytes(json: &[u8]) -> usize {
    if json.len() <= SMALL_BYTES {
        return 0;
    }
    let mut values = 0;
    let mut rest = json;
    while !rest.is_empty() {
        let quote = memchr::memchr(b'"', rest);
        let (outside, string) = rest.split_at(quote.unwrap_or(rest.len()));
        values += outside.iter().filter(|byte| matches!(byte, b',' | b'[')).count();
        values += memchr::memchr_iter(b'{', outside).count() * OBJECT_VALUES;
        values += usize::from(quote.is_some());
        rest = after_string(string);
    }
    values.saturating_mul(VALUE_BYTES)
}

/// The text after the string at the start of `json`.
fn after_string(json: &[u8]) -> &[u8] {
    let mut rest = json.get(1..).unwrap_or_default();
    while let Some(at) = memchr::memchr2(b'"', b'\\', rest) {
        if rest[at] == b'"' {
            return &rest[at + 1..];
        }
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    &[]
}

/// Reads the body of a request; returns it with the permit that covers it.
///
/// # Errors
/// 413 past `server.max_body`; 408 past `server.body_timeout`, so that a client that trickles bytes
/// holds nothing for long; 429 past the client's rate limit; 503 at a limit of admission or while
/// draining; 400 when the connection breaks.
pub(crate) async fn read(
    request: &HttpRequest,
    mut payload: Payload,
    state: &State,
) -> Result<(Bytes, Permit), ApiError> {
    let announced = announced_bytes(request);
    if announced > state.config.max_body {
        return Err(too_large(state));
    }
    let permit = match enter(request, announced, state) {
        Ok(permit) => permit,
        Err(error) => {
            // Reading a small body keeps the connection open, which costs less than a reconnect.
            if announced <= INLINE_BYTES {
                discard(&mut payload, state.config.body_timeout).await;
            }
            return Err(error);
        }
    };
    let reading = collect(&mut payload, &permit, announced, state);
    let limit = state.config.body_timeout;
    let body = tokio::time::timeout(limit, reading).await;
    let late = |_| ApiError::new(Code::BodyTimeout, format!("no whole body within {limit:?}"));
    Ok((body.map_err(late)??, permit))
}

/// Admits a request that holds `bytes` bytes of its body in memory.
///
/// # Errors
/// 429 past the client's rate limit; 503 at a limit of admission or while draining.
pub(crate) fn enter(
    request: &HttpRequest,
    bytes: usize,
    state: &State,
) -> Result<Permit, ApiError> {
    if state.is_draining() {
        return Err(ApiError::new(Code::Draining, "the server is shutting down"));
    }
    let refused = |refused: crate::admit::AtLimit| {
        // A client that does not read its reply keeps its permit. Close the connection that has
        // stalled longest.
        state.connections.end_longest_stall();
        ApiError::overloaded(refused.retry_after)
    };
    let is_batch_line = BatchLine::of(request).is_some();
    if state.memory.refuses(bytes > INLINE_BYTES, is_batch_line) {
        return Err(ApiError::out_of_memory());
    }
    if is_batch_line {
        return state.admission.enter_behind(bytes).map_err(refused);
    }
    if !state.connections.output_fits(state.config.queue_output) {
        return Err(refused(crate::admit::AtLimit {
            retry_after: state.admission.expected_wait(),
        }));
    }
    let taken = state.clients.take(clients::client(request), Instant::now());
    taken.map_err(|wait| ApiError::too_fast(state.config.client_requests, wait))?;
    state.key_limits.check_tokens(clients::client(request), Instant::now()).map_err(|reached| {
        state.metrics.key_refused(reached.limit);
        ApiError::from(reached)
    })?;
    state.admission.enter(bytes).map_err(refused)
}

/// Returns the body length in the `Content-Length` header, 0 without one.
pub(crate) fn announced_bytes(request: &HttpRequest) -> usize {
    let header = request.headers().get(CONTENT_LENGTH);
    let length = header.and_then(|value| value.to_str().ok()).map(str::parse);
    length.and_then(Result::ok).unwrap_or(0)
}

async fn collect(
    payload: &mut Payload,
    permit: &Permit,
    announced: usize,
    state: &State,
) -> Result<Bytes, ApiError> {
    let mut body = BytesMut::with_capacity(announced);
    while let Some(chunk) = payload.next().await {
        let chunk = chunk.map_err(|error| {
            ApiError::new(Code::MalformedJson, format!("the body broke off: {error}"))
        })?;
        let before = body.len().max(announced);
        body.extend_from_slice(&chunk);
        if body.len() > state.config.max_body {
            return Err(too_large(state));
        }
        let beyond = body.len().saturating_sub(before);
        let refused = |refused: crate::admit::AtLimit| ApiError::overloaded(refused.retry_after);
        permit.held().add(beyond).map_err(refused)?;
    }
    Ok(body.freeze())
}

async fn discard(payload: &mut Payload, limit: Duration) {
    let rest = async { while let Some(Ok(_)) = payload.next().await {} };
    // The refusal is sent in either case.
    let _ = tokio::time::timeout(limit, rest).await;
}

fn too_large(state: &State) -> ApiError {
    let limit = state.config.max_body;
    ApiError::new(Code::BodyTooLarge, format!("the body is larger than {limit} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_outside_of_strings() {
        let check = |json: &str, values: usize| {
            let long = " ".repeat(SMALL_BYTES);
            assert_eq!(value_bytes((long + json).as_bytes()), values * VALUE_BYTES, "{json}");
        };
        check("", 0);
        check("[]", 1);
        check("[1, 2, 3]", 3);
        check(r#"["a", "b"]"#, 4);
        check("{}", OBJECT_VALUES);
        check(r#"{"a": [1, {"b,[{": null}]}"#, 4 + 2 * OBJECT_VALUES);
        check(r#""\",[{\\""#, 1);
        check(r#"["a,b, c[", 1]"#, 3);
        // What is not JSON is counted all the same.
        check(r#"["a"#, 2);
        check(r#"["a\"#, 2);
        check("[[[", 3);
    }

    #[test]
    fn a_small_body_is_not_counted() {
        assert_eq!(value_bytes("[".repeat(SMALL_BYTES).as_bytes()), 0);
        assert_ne!(value_bytes("[".repeat(SMALL_BYTES + 1).as_bytes()), 0);
    }
}

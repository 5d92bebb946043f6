//! Foreign interfaces: one folder each, with its types.
//!
//! Each translates its requests into inputs of [`rubrics::score`], questions or token sequences for
//! an engine, and results into its own replies, errors in its own [`ApiFlavor`]. Nothing here
//! judges anything. Shared by several interfaces: routes (`shared_routes`), sequences for a head
//! (`pooling`), splitting of rendered text (`chat_split`), error replies (`flavor`, `error_bodies`,
//! `responses`).
//!
//! verl has no folder: its reward client calls vLLM's `POST /classify`.
//!
//! To add an interface:
//! 1. a folder here with its types and routes, and its `mod` line below;
//! 2. a `.service(…)` per route in `serve/src/app.rs`;
//! 3. its paths in [`ApiFlavor::of`], which gives errors before the body is parsed their shape; for
//!    a new error shape a variant with its `status` and `response`, a body in `error_bodies`, and a
//!    table in `responses`;
//! 4. for a path that another interface has too, its body in `shared_routes/bodies.rs`, detected by
//!    the fields that only it has (`shared_routes/detect.rs`);
//! 5. for a route that a batch line may name, its path in `batches::ENDPOINTS`;
//! 6. a row in `tests/http/compat/refusals.rs` and tests beside it, a row in `docs/compat.md`, and
//!    `cargo xtask openapi` for `openapi/openapi.json`.

mod base64;
mod chat_split;
pub(crate) mod decisions;
pub(crate) mod error_bodies;
mod flavor;
mod gold_label;
pub(crate) mod nemo_gym;
mod next_token;
mod nim;
pub(crate) mod openai_batches;
pub(crate) mod openai_chat;
mod openai_decisions;
pub(crate) mod openai_graders;
pub(crate) mod openrlhf;
mod pairs;
mod pooling;
mod responses;
mod rewards;
pub(crate) mod sglang;
pub(crate) mod shared_routes;
pub(crate) mod slime;
mod systemone;
mod target;
pub(crate) mod tei;
pub(crate) mod vllm;

use actix_web::web::Payload;
use actix_web::{HttpRequest, HttpResponse};
use openapi::{MAX_INPUTS, parse_body};
use serde::de::DeserializeOwned;
use serde_json::Value;

pub(crate) use self::flavor::{ApiFlavor, FlavoredApiError};
use crate::call::Call;
use crate::error::{ApiError, Code};
use crate::state::State;

/// Reads and parses a body and answers it; errors get the flavor.
///
/// # Errors
/// Those of [`Call::begin`], [`Call::parse`] and `answer`.
pub(crate) async fn handle<'r, T: DeserializeOwned + Send + 'static>(
    flavor: ApiFlavor,
    request: &'r HttpRequest,
    payload: Payload,
    state: &'r State,
    answer: impl AsyncFnOnce(Call<'r>, T) -> Result<HttpResponse, ApiError>,
) -> Result<HttpResponse, FlavoredApiError> {
    let answering = async {
        let call = Call::begin(request, payload, state).await?;
        let body = call.parse(parse_body).await?;
        answer(call, body).await
    };
    answering.await.map_err(flavor.refusal())
}

/// A serialised reply.
pub(crate) type Json = serde_json::Result<Vec<u8>>;

/// Creates a 422 error at a JSON path.
pub(crate) fn invalid(path: impl Into<String>, what: impl std::fmt::Display) -> ApiError {
    let path = path.into();
    ApiError::new(Code::InvalidBody, format!("{path}: {what}")).at(path)
}

pub(crate) fn check_count(
    path: &str,
    count: usize,
    range: std::ops::RangeInclusive<usize>,
) -> Result<(), ApiError> {
    if range.contains(&count) {
        return Ok(());
    }
    let (least, most) = (range.start(), range.end());
    Err(invalid(path, format_args!("{count} given; {least} to {most} are taken")))
}

/// Checks the number of samples, which may be 0.
///
/// # Errors
/// 422 above the limit.
pub(crate) fn check_samples(path: &str, count: usize) -> Result<(), ApiError> {
    check_count(path, count, 0..=MAX_INPUTS)
}

/// Refuses fields that are present but have no meaning for this kind of object.
///
/// # Errors
/// 422 at the first such field.
pub(crate) fn refuse(
    path: &str,
    kind: &str,
    fields: impl IntoIterator<Item = (&'static str, bool)>,
) -> Result<(), ApiError> {
    match fields.into_iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((field, _)) => {
            Err(invalid(format!("{path}.{field}"), format_args!("a {kind} has no such field")))
        }
    }
}

pub(crate) fn refuse_images(images: &[Value]) -> Result<(), ApiError> {
    if images.is_empty() {
        return Ok(());
    }
    Err(invalid("images[0]", NO_IMAGES))
}

/// The refusal of an image.
pub(crate) const NO_IMAGES: &str = "images are not read here: the models take text alone";

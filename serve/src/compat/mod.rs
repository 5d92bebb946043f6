//! Interfaces that others have defined: one folder an interface, its types included.
//!
//! Each translates its requests into inputs of [`rubrics::score`], questions or token sequences for
//! an engine, and the results into its own replies, errors in its own [`ApiFlavor`]. Nothing here
//! decides anything. Shared by several: routes of several interfaces (`shared_routes`),
//! sequences for a head (`pooling`), prompt and response of a rendered text (`chat_split`), error
//! replies (`flavor`, `error_bodies`, `responses`).
//!
//! verl has no folder: its reward client speaks vLLM's `POST /classify`.

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

pub(crate) use self::flavor::{ApiFlavor, Refusal};
use crate::call::Call;
use crate::error::{ApiError, Code};
use crate::state::State;

/// Reads a body and answers it; an error has the shape of the flavor.
///
/// # Errors
/// Those of [`Call::begin`], of [`Call::parse`] and of `answer`.
pub(crate) async fn handle<'r, T: DeserializeOwned + Send + 'static>(
    flavor: ApiFlavor,
    request: &'r HttpRequest,
    payload: Payload,
    state: &'r State,
    answer: impl AsyncFnOnce(Call<'r>, T) -> Result<HttpResponse, ApiError>,
) -> Result<HttpResponse, Refusal> {
    let answering = async {
        let call = Call::begin(request, payload, state).await?;
        let body = call.parse(parse_body).await?;
        answer(call, body).await
    };
    answering.await.map_err(flavor.refusal())
}

/// The bytes of a reply.
pub(crate) type Json = serde_json::Result<Vec<u8>>;

/// 422 at a place of the body.
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

/// How many samples a request may have; none is a number too.
pub(crate) fn check_samples(path: &str, count: usize) -> Result<(), ApiError> {
    check_count(path, count, 0..=MAX_INPUTS)
}

/// Refuses fields that are there and have no meaning for this type of object.
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

/// Why an image is refused.
pub(crate) const NO_IMAGES: &str = "images are not read here: the models take text alone";

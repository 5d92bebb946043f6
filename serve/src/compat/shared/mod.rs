//! What several interfaces use: text generation ([`generation`]), token sequences for a head
//! ([`pooling`], [`pairs`], [`next_token`]), typed questions ([`decisions`]), the scorer or model
//! that a URL names ([`target`]), splitting of rendered text ([`chat_split`]), values that are
//! text or a list ([`text_or_list`]), and error replies ([`ApiFlavor`], [`error_bodies`],
//! [`responses`]).

pub(crate) mod base64;
pub(crate) mod chat_split;
pub(crate) mod decisions;
pub(crate) mod error_bodies;
mod flavor;
pub(crate) mod generation;
pub(crate) mod gold_label;
pub(crate) mod next_token;
pub(crate) mod pairs;
pub(crate) mod pooling;
pub(crate) mod responses;
pub(crate) mod rewards;
pub(crate) mod target;
pub(crate) mod text_or_list;

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

//! Routes of paths that several interfaces share. The interface of a body is detected by its
//! fields, and its reply, errors included, has the shape of that interface.

pub(crate) mod bodies;
pub(crate) mod chat;
pub(crate) mod classify;
mod decision_body;
pub(crate) mod decisions;
mod detect;
pub(crate) mod rerank;

use self::bodies::FlavoredBodyError;
use super::shared::{ApiFlavor, FlavoredApiError};
use crate::call::Call;
use crate::error::ApiError;
use crate::routed_path::routed_path;

/// Parses the body of a call; errors have the shape of the detected interface.
///
/// # Errors
/// As [`Call::parse`].
pub(crate) async fn parse<T: Send + 'static>(
    call: &Call<'_>,
    parse: fn(&[u8]) -> Result<T, FlavoredBodyError>,
) -> Result<T, FlavoredApiError> {
    let parsed = call.parse(move |bytes| Ok(parse(bytes))).await;
    let parsed = parsed.map_err(ApiFlavor::of(routed_path(call.request)).refusal())?;
    parsed.map_err(|FlavoredBodyError { flavor, error }| flavor.refusal()(ApiError::body(error)))
}

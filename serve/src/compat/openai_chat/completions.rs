//! `POST /v1/completions`.

use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse, post};
use openapi::{ErrorBody, parse_body};

use super::{GenerationCall, find, reply};
use crate::call::Call;
use crate::compat::shared::generation::types::{CompletionRequest, CompletionResponse};
use crate::compat::shared::generation::{CompletionFormat, completion};
use crate::compat::shared::responses::OpenAiFailures;
use crate::encoding::ClientWaits;
use crate::error::ApiError;
use crate::state::State;

/// Continues prompts as they are, for OpenAI's clients.
///
/// A prompt is text, in which special tokens are plain text, or token ids, which are used as they
/// are. With `stream` the reply is server-sent events.
#[utoipa::path(
    tag = "generation",
    request_body = CompletionRequest,
    responses(
        (status = 200, description = "The continuations.", body = CompletionResponse),
        OpenAiFailures,
        (status = 422, description = "A value that cannot be used, or too many tokens; `param` \
                                      is its path.", body = ErrorBody),
    )
)]
#[post("/v1/completions")]
pub(crate) async fn completions(
    request: HttpRequest,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, ApiError> {
    let call = Call::begin(&request, payload, &state).await?;
    let params = call.parse(parse_body::<CompletionRequest>).await?;
    let mut incoming = GenerationCall::of(call);
    let (served, caller) = (find(&state, &params.model)?, incoming.caller);
    let host = served.host.clone();
    let work = move |waits: &ClientWaits| completion(params, served, caller, waits);
    let params = incoming.encode(&state, &host, work).await?;
    let places = caller.in_time(params.places()).await?;
    let format = CompletionFormat::new(&params, places, &incoming.id);
    let prepared = params.prepared;
    reply(&request, state, incoming, (prepared, format), CompletionFormat::whole).await
}

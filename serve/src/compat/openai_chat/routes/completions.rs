//! `POST /v1/completions`.

use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse, post};
use openapi::{ErrorBody, parse_body};

use super::{Incoming, aside, find, reply};
use crate::call::Call;
use crate::compat::openai_chat::types::{CompletionRequest, CompletionResponse};
use crate::compat::openai_chat::{CompletionWire, completion};
use crate::error::ApiError;
use crate::state::State;

/// Continues prompts as they are, as OpenAI's clients ask for it.
///
/// A prompt is a text, in which special tokens are text, or token ids, which are taken as they
/// are. With `stream` the reply comes as server-sent events.
#[utoipa::path(
    tag = "generation",
    request_body = CompletionRequest,
    responses(
        (status = 200, description = "The continuations.", body = CompletionResponse),
        (status = 400, description = "The body is not JSON.", body = ErrorBody),
        (status = 401, description = "No valid API key.", body = ErrorBody),
        (status = 404, description = "No such model; near names are listed.", body = ErrorBody),
        (status = 408, description = "The body did not arrive in time.", body = ErrorBody),
        (status = 413, description = "The body is too large.", body = ErrorBody),
        (status = 422, description = "A value that cannot be used, or too many tokens; `param` \
                                      is its path.", body = ErrorBody),
        (status = 500, description = "A fault of the server.", body = ErrorBody),
        (status = 503, description = "Overloaded or draining.", body = ErrorBody,
         headers(("retry-after" = u64, description = "Seconds to wait."))),
        (status = 504, description = "The deadline passed.", body = ErrorBody),
    )
)]
#[post("/v1/completions")]
pub(crate) async fn completions(
    request: HttpRequest,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, ApiError> {
    let call = Call::begin(&request, payload, &state).await?;
    let asked = call.parse(parse_body::<CompletionRequest>).await?;
    let incoming = Incoming::of(call);
    let (served, caller) = (find(&state, &asked.model)?, incoming.caller);
    let asked = aside(move || completion(asked, served, caller)).await?;
    let places = caller.in_time(asked.places()).await?;
    let wire = CompletionWire::new(&asked, places, &incoming.id);
    let order = asked.order;
    reply(&request, state, incoming, (order, wire), CompletionWire::whole).await
}

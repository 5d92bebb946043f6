//! `POST /v1/responses`: a chat under OpenAI's newer interface. A request is translated to a chat
//! request ([`input`]) and the chat's reply back ([`output`]).

mod input;
mod output;
mod types;

use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse, post};
use openapi::{ErrorBody, parse_body};

use self::output::ResponsesFormat;
use self::types::{ResponsesReply, ResponsesRequest};
use super::{GenerationCall, find, reply};
use crate::call::Call;
use crate::caller::Caller;
use crate::compat::shared::generation::{PreparedChat, chat};
use crate::compat::shared::responses::OpenAiFailures;
use crate::encoding::ClientWaits;
use crate::error::ApiError;
use crate::hosts::Served;
use crate::state::State;

/// Answers an input, for OpenAI's clients.
///
/// With `stream` the reply is server-sent events, the last of which is `response.completed` or
/// `response.incomplete`; an error after the first is an event named `error`. Nothing is stored:
/// the conversation so far is in `input`. Equal requests give equal texts.
#[utoipa::path(
    tag = "generation",
    request_body = ResponsesRequest,
    responses(
        (status = 200, description = "The reply.", body = ResponsesReply),
        OpenAiFailures,
        (status = 422, description = "A value that cannot be used, or too many tokens; `param` \
                                      is its path.", body = ErrorBody),
    )
)]
#[post("/v1/responses")]
pub(crate) async fn responses(
    request: HttpRequest,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, ApiError> {
    let call = Call::begin(&request, payload, &state).await?;
    let params = call.parse(parse_body::<ResponsesRequest>).await?;
    let mut incoming = GenerationCall::of(call);
    let (served, caller) = (find(&state, &params.model)?, incoming.caller);
    let (host, id) = (served.host.clone(), incoming.id.clone());
    let work = move |_: &ClientWaits| prepare(params, &id, served, caller);
    let (chat, begun) = incoming.encode(&state, &host, work).await?;
    let format = ResponsesFormat::new(&chat, begun, &incoming.id);
    reply(&request, state, incoming, (chat.prepared, format), ResponsesFormat::whole).await
}

/// Prepares a request as a chat; returns it with the reply as it is before the generation.
///
/// # Errors
/// 422 at the first invalid value.
fn prepare(
    request: ResponsesRequest,
    id: &str,
    served: Served,
    caller: Caller,
) -> Result<(PreparedChat, ResponsesReply), ApiError> {
    let begun = output::begun(&request, id);
    let request = input::chat_request(request)?;
    let mut chat = chat(request, served, caller).map_err(input::at_own_field)?;
    chat.prepared.param = "input";
    Ok((chat, begun))
}

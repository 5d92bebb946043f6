//! `POST /v1/chat/completions`, which OpenAI's API and NIM share.

use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse, post};
use openapi::{ErrorBody, parse_body};

use crate::call::Call;
use crate::compat::nim;
use crate::compat::openai_chat::{GenerationCall, find, reply};
use crate::compat::shared::generation::types::{ChatRequest, ChatResponse};
use crate::compat::shared::generation::{ChatFormat, chat};
use crate::compat::shared::responses::OpenAiFailures;
use crate::encoding::ClientWaits;
use crate::error::ApiError;
use crate::state::State;

/// Continues a conversation, for OpenAI's clients.
///
/// With `stream` the reply is server-sent events, the last of which is `[DONE]`; an error after the
/// first is an event named `error`. Equal requests give equal texts.
///
/// A scorer, or a model with a head and no vocabulary, answers with the reward of the last message
/// as `name:number` pairs, also in the log-probabilities, as NIM's reward models do.
#[utoipa::path(
    tag = "generation",
    request_body = ChatRequest,
    responses(
        (status = 200, description = "The continuations.", body = ChatResponse),
        OpenAiFailures,
        (status = 422, description = "A value that cannot be used, or too many tokens; `param` \
                                      is its path.", body = ErrorBody),
        (status = 502, description = "A tool that a scorer needs has failed.", body = ErrorBody),
    )
)]
#[post("/v1/chat/completions")]
pub(crate) async fn chat_completions(
    request: HttpRequest,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, ApiError> {
    let call = Call::begin(&request, payload, &state).await?;
    let params = call.parse(parse_body::<ChatRequest>).await?;
    if let Some(scorer) = nim::scorer(&state, &params)? {
        return nim::reply_with_reward(call, scorer, params).await;
    }
    let mut incoming = GenerationCall::of(call);
    let (served, caller) = (find(&state, &params.model)?, incoming.caller);
    let host = served.host.clone();
    let work = move |_: &ClientWaits| chat(params, served, caller);
    let chat = incoming.encode(&state, &host, work).await?;
    let format = ChatFormat::new(&chat, &incoming.id);
    reply(&request, state, incoming, (chat.prepared, format), ChatFormat::whole).await
}

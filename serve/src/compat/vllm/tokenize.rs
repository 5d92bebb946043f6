//! `POST /tokenize` and `POST /detokenize`.

use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse, post};
use serde::Serialize;

use super::types::{DetokenizeReply, DetokenizeRequest, TokenizeReply, TokenizeRequest};
use crate::blocking::blocking;
use crate::call::{Call, json};
use crate::compat::shared::generation::{Rendering, render_aside};
use crate::compat::shared::pooling::{self, Tokens};
use crate::compat::shared::responses::VllmFailures;
use crate::compat::shared::{ApiFlavor, FlavoredApiError, handle, invalid};
use crate::error::ApiError;
use crate::hosts::Served;
use crate::names;
use crate::state::State;

/// Encodes text or a conversation as tokens.
///
/// Special tokens in text are encoded as such; in a conversation they are plain text, as for chats.
#[utoipa::path(
    tag = "compat",
    request_body = TokenizeRequest,
    responses(
        (status = 200, description = "The tokens.", body = TokenizeReply),
        VllmFailures,
    )
)]
#[post("/tokenize")]
pub(crate) async fn tokenize(
    request: HttpRequest,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, FlavoredApiError> {
    let answer = async |mut call: Call<'_>, params: TokenizeRequest| {
        call.admit(1, call.deadline())?;
        let served = names::model(&state, params.model.as_deref())?;
        let spells = params.return_token_strs.unwrap_or(false);
        let ids = encoded(&mut call, &served, params).await?.ids;
        let spelled = |id: &u32| served.host.tokenizer.token(*id).unwrap_or_default();
        written(&TokenizeReply {
            count: ids.len(),
            max_model_len: served.host.engine.limits().context(),
            token_strs: spells.then(|| ids.iter().map(spelled).collect()),
            tokens: ids,
        })
    };
    handle(ApiFlavor::Vllm, &request, payload, &state, answer).await
}

/// Decodes tokens to text, with special tokens written out.
#[utoipa::path(
    tag = "compat",
    request_body = DetokenizeRequest,
    responses(
        (status = 200, description = "The text.", body = DetokenizeReply),
        VllmFailures,
    )
)]
#[post("/detokenize")]
pub(crate) async fn detokenize(
    request: HttpRequest,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, FlavoredApiError> {
    let answer = async |mut call: Call<'_>, params: DetokenizeRequest| {
        call.admit(1, call.deadline())?;
        let served = names::model(&state, params.model.as_deref())?;
        if params.tokens.is_empty() {
            return written(&DetokenizeReply::default());
        }
        let tokens = pooling::given(&served, "tokens".to_owned(), params.tokens)?;
        let tokenizer = served.host.tokenizer.clone();
        let decoding = blocking(move || tokenizer.decode(&tokens.ids, false)).await;
        let prompt = decoding.map_err(ApiError::internal)?;
        let prompt = prompt.map_err(|error| invalid("tokens", error))?;
        written(&DetokenizeReply { prompt })
    };
    handle(ApiFlavor::Vllm, &request, payload, &state, answer).await
}

async fn encoded(
    call: &mut Call<'_>,
    served: &Served,
    params: TokenizeRequest,
) -> Result<Tokens, ApiError> {
    match (params.prompt, params.messages) {
        (Some(prompt), None) if prompt.is_empty() => {
            Ok(Tokens::new("prompt".to_owned(), Vec::new()))
        }
        (Some(prompt), None) => {
            let encode = if params.add_special_tokens.unwrap_or(true) {
                pooling::as_written
            } else {
                pooling::bare
            };
            let texts = vec![("prompt".to_owned(), prompt)];
            let mut encoded = pooling::encode(call, served, texts, encode).await?;
            encoded.pop().ok_or_else(|| ApiError::internal("one text was encoded and none came"))
        }
        (None, Some(messages)) => {
            let continued = params.continue_final_message.unwrap_or(false);
            let rendering = Rendering {
                opened: params.add_generation_prompt.unwrap_or(!continued),
                continued,
                kwargs: params.chat_template_kwargs.unwrap_or_default(),
                tools: params.tools,
            };
            let prompt = render_aside(call, served, messages, rendering).await?;
            Ok(Tokens::new("messages".to_owned(), prompt.token_ids.to_vec()))
        }
        (Some(_), Some(_)) => Err(invalid("messages", "give either `prompt` or `messages`")),
        (None, None) => Err(invalid("prompt", "it is missing, and so is `messages`")),
    }
}

fn written(body: &impl Serialize) -> Result<HttpResponse, ApiError> {
    serde_json::to_vec(body).map(json).map_err(ApiError::internal)
}

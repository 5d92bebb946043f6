//! Reward models as NVIDIA's NIM serves them: `POST /v1/chat/completions` answers a conversation
//! that ends with the assistant with its reward.
//!
//! The reply is a chat completion whose text has `name:number` pairs and whose log-probabilities
//! carry the same numbers; clients read either.

use std::sync::Arc;

use actix_web::HttpResponse;
use openapi::Options;
use rubrics::{Input, Message, Passage, Score, Scorer, Trace};

use super::shared::{invalid, rewards};
use crate::call::Call;
use crate::clock::unix_seconds;
use crate::compat::shared::generation::types::{
    ChatChoice, ChatLogprobs, ChatMessage, ChatRequest, ChatResponse, GenerationDigests,
    GenerationExtension, GenerationUsage, PromptTokensDetails, ReplyMessage, Role, TokenLogprob,
};
use crate::error::ApiError;
use crate::names;
use crate::state::State;

/// Returns the scorer that a chat request names: a configured scorer, or a model with a head and no
/// vocabulary, where the assistant has the last turn. `None` for other requests.
///
/// # Errors
/// A model without a vocabulary whose head is not a scorer by itself.
pub(crate) fn scorer(
    state: &State,
    request: &ChatRequest,
) -> Result<Option<Arc<Scorer>>, ApiError> {
    let name = request.model.as_str();
    let last = request.messages.last();
    if last.is_none_or(|last| last.role != Role::Assistant) {
        return Ok(None);
    }
    if let Some(scorer) = state.registry.get(name) {
        return Ok(Some(scorer.clone()));
    }
    match state.hosts.get(name) {
        Some(served) if !served.host.engine.limits().has_vocabulary => {
            names::scorer(state, name).map(Some)
        }
        Some(_) | None => Ok(None),
    }
}

/// Scores a conversation; the reply is a chat completion.
///
/// # Errors
/// A conversation that does not end with the assistant, fields that apply to generated text only,
/// and a response that cannot be scored.
pub(crate) async fn reply_with_reward(
    call: Call<'_>,
    scorer: Arc<Scorer>,
    request: ChatRequest,
) -> Result<HttpResponse, ApiError> {
    refuse_generation(&request)?;
    let input = Arc::new(input(request.messages)?);
    let (state, id) = (call.state, call.id());
    let scored = call.score(scorer, &[input], &Options::default()).await?;
    let rewards = rewards::rewards(state, &scored.answers, |_| "messages".to_owned())?;
    let body = reply(state, &id, &scored.scorer, rewards[0]);
    scored.reply(body).await
}

/// Refuses fields that would change generated text, since none is generated.
///
/// # Errors
/// 422 at the first such field.
fn refuse_generation(request: &ChatRequest) -> Result<(), ApiError> {
    let given = [
        ("stream", request.stream == Some(true)),
        ("n", request.n.is_some_and(|n| n != 1)),
        ("tools", request.tools.as_ref().is_some_and(|tools| !tools.is_empty())),
        ("response_format", request.response_format.is_some()),
        ("continue_final_message", request.continue_final_message == Some(true)),
    ];
    match given.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((field, _)) => Err(invalid(*field, "a scorer gives a number and no text")),
    }
}

fn input(messages: Vec<ChatMessage>) -> Result<Input, ApiError> {
    let mut turns = Vec::with_capacity(messages.len());
    for (at, message) in messages.into_iter().enumerate() {
        if message.tool_calls.is_some_and(|calls| !calls.is_empty()) {
            let path = format!("messages[{at}].tool_calls");
            return Err(invalid(path, "a scorer reads texts"));
        }
        let content =
            message.content.map(crate::compat::shared::generation::types::ChatContent::into_text);
        turns.push(Message {
            role: role(message.role).to_owned(),
            content: content.or(message.refusal).unwrap_or_default(),
        });
    }
    let last = turns.pop().filter(|turn| turn.role == "assistant");
    let last = last.ok_or_else(|| {
        invalid("messages", "a scorer judges the last message, which is the assistant's")
    })?;
    Ok(Input {
        prompt: (!turns.is_empty()).then(|| Arc::new(Passage::Messages(turns))),
        ..Input::of(last.content)
    })
}

fn role(role: Role) -> &'static str {
    match role {
        Role::System | Role::Developer => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    }
}

fn reply(state: &State, id: &str, scorer: &Scorer, reward: &Score) -> ChatResponse {
    let is_native = state.registry.get(scorer.name()).is_none();
    let pairs = pairs(reward, is_native);
    let text: Vec<String> = pairs.iter().map(|(name, x)| format!("{name}:{x}")).collect();
    let trace = reward.evidence.trace.as_ref();
    ChatResponse {
        id: format!("chatcmpl-{id}"),
        object: "chat.completion".to_owned(),
        created: unix_seconds(),
        model: scorer.name().to_owned(),
        choices: vec![ChatChoice {
            index: 0,
            message: ReplyMessage {
                role: "assistant".to_owned(),
                content: Some(text.join(",")),
                refusal: None,
                tool_calls: None,
            },
            logprobs: Some(ChatLogprobs {
                content: pairs.into_iter().map(as_logprob).collect(),
                refusal: None,
            }),
            finish_reason: "stop".to_owned(),
        }],
        usage: usage(trace),
        system_fingerprint: fingerprint(scorer),
        tribunal: extension(trace),
    }
}

/// Lists the attributes of a reward, and the reward itself as `reward`: the logit of a model's own
/// head, or the score of a scorer.
fn pairs(reward: &Score, is_native: bool) -> Vec<(String, f64)> {
    let parts = reward.evidence.parts.iter().flatten();
    let mut pairs: Vec<(String, f64)> = parts
        .filter_map(|part| {
            let own = part.outcome.as_ref()?.as_ref().ok()?;
            Some((plain(&part.name), own.raw.unwrap_or(own.score)))
        })
        .collect();
    let whole = reward.raw.filter(|_| is_native).unwrap_or(reward.score);
    pairs.push(("reward".to_owned(), whole));
    pairs
}

/// Replaces the characters of a name at which clients split the text.
fn plain(name: &str) -> String {
    name.replace([',', ':'], "_")
}

fn as_logprob((token, value): (String, f64)) -> TokenLogprob {
    TokenLogprob {
        bytes: Some(token.as_bytes().to_vec()),
        token,
        #[expect(clippy::cast_possible_truncation, reason = "the text has all digits")]
        logprob: value as f32,
        top_logprobs: Vec::new(),
    }
}

fn usage(trace: Option<&Trace>) -> GenerationUsage {
    let usage = trace.map(|trace| trace.usage).unwrap_or_default();
    let (prompt_tokens, completion_tokens) =
        (usage.input_tokens as u64, usage.output_tokens as u64);
    GenerationUsage {
        prompt_tokens,
        completion_tokens,
        total_tokens: prompt_tokens + completion_tokens,
        prompt_tokens_details: PromptTokensDetails { cached_tokens: usage.cached_tokens as u64 },
    }
}

fn extension(trace: Option<&Trace>) -> GenerationExtension {
    let usage = trace.map(|trace| trace.usage).unwrap_or_default();
    let text = |digest: &Option<Arc<str>>| digest.as_deref().map(str::to_owned);
    GenerationExtension {
        computed_tokens: usage.computed_tokens as u64,
        cached_tokens: usage.cached_tokens as u64,
        digests: GenerationDigests {
            model: trace.and_then(|trace| text(&trace.model)).unwrap_or_default(),
            adapter: trace.and_then(|trace| text(&trace.adapter)),
            prompt: trace.and_then(|trace| text(&trace.prompt)),
            revisions: trace.and_then(|trace| trace.revisions).map(crate::convert::revisions),
        },
    }
}

/// Returns a short fingerprint of the scorer's digest.
fn fingerprint(scorer: &Scorer) -> String {
    let digits = scorer.digest().iter().take(6);
    digits.fold("fp_".to_owned(), |all, byte| format!("{all}{byte:02x}"))
}

//! `SGLang`: its routes without generation. verl reads a reward model's logit at `/v1/embeddings`,
//! and retries only after a 5xx, so that these routes never answer 429.

pub(crate) mod decision_types;
pub(crate) mod decisions;
pub(crate) mod types;

use std::time::Instant;

use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse, post};
use engine::{RequestOutput, RequestParams};

use self::types::{
    Embedded, EmbeddingReply, EmbeddingRequest, SglangMeta, SglangReward, SglangRewardRequest,
    SglangRewards, SglangScoreRequest, SglangScores, Vector,
};
use super::shared::next_token::{self, Normalisation, Prompts};
use super::shared::pooling::{self, Tokens};
use super::shared::responses::{SglangFailures, VllmFailures};
use super::shared::{ApiFlavor, FlavoredApiError, base64, handle, invalid};
use crate::call::Call;
use crate::clock::unix_seconds;
use crate::compat::shared::generation::types::{Prompt, Texts};
use crate::compat::shared::pooling::types::{ClassifyReply, Encoding, PooledUsage};
use crate::error::ApiError;
use crate::hosts::Served;
use crate::names;
use crate::state::State;
use base::stats::{softmax, softmax_with_temperature};

/// Reads a model's head in the form of OpenAI's embeddings: the vector of a reward model is its
/// logit.
#[utoipa::path(
    tag = "compat",
    request_body = EmbeddingRequest,
    responses(
        (status = 200, description = "One vector for each text, in order.", body = EmbeddingReply),
        VllmFailures,
    )
)]
#[post("/v1/embeddings")]
pub(crate) async fn embeddings(
    request: HttpRequest,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, FlavoredApiError> {
    handle(ApiFlavor::Vllm, &request, payload, &state, embedded).await
}

/// Classifies texts, as `SGLang` does: the classes of a head with their probabilities.
#[utoipa::path(
    tag = "compat",
    operation_id = "classify_texts",
    request_body = EmbeddingRequest,
    responses(
        (status = 200, description = "One for each text, in order.", body = ClassifyReply),
        SglangFailures,
    )
)]
#[post("/v1/classify")]
pub(crate) async fn classify(
    request: HttpRequest,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, FlavoredApiError> {
    handle(ApiFlavor::Sglang, &request, payload, &state, classes).await
}

/// Texts read by a head.
struct Heads<'r> {
    call: Call<'r>,
    served: Served,
    answers: Vec<RequestOutput>,
    working: Instant,
}

/// Reads the head at the last token of each text.
async fn heads<'r>(
    mut call: Call<'r>,
    model: Option<&str>,
    (path, input): (&str, Prompt),
) -> Result<Heads<'r>, ApiError> {
    let served = names::model(call.state, own(model))?;
    pooling::check_whole(&served)?;
    let tokens = pooling::texts(&mut call, &served, path, input, true).await?;
    let working = Instant::now();
    let sequences = tokens.into_iter().map(Tokens::last).collect();
    let answers = pooling::read(&mut call, &served, sequences, RequestParams::default()).await?;
    Ok(Heads { call, served, answers, working })
}

/// Maps `default`, which `SGLang`'s clients send in place of a model name, to `None`.
fn own(model: Option<&str>) -> Option<&str> {
    model.filter(|name| *name != "default")
}

async fn embedded(call: Call<'_>, params: EmbeddingRequest) -> Result<HttpResponse, ApiError> {
    let encoding = params.encoding_format;
    let heads = heads(call, params.model.as_deref(), ("input", params.input)).await?;
    let data = heads.answers.iter().enumerate().map(|(index, answer)| {
        let logits = pooling::lone(answer)?;
        Ok(Embedded {
            object: "embedding".to_owned(),
            embedding: match encoding {
                Encoding::Float => Vector::Floats(logits),
                Encoding::Base64 => Vector::Base64(base64::floats(logits.into_iter())),
            },
            index,
        })
    });
    let reply = EmbeddingReply {
        object: "list".to_owned(),
        data: data.collect::<Result<_, ApiError>>()?,
        model: heads.served.name().to_string(),
        usage: PooledUsage::of(pooling::tokens(&heads.answers)),
    };
    heads.reply(reply)
}

async fn classes(call: Call<'_>, params: EmbeddingRequest) -> Result<HttpResponse, ApiError> {
    let heads = heads(call, params.model.as_deref(), ("input", params.input)).await?;
    let data = heads.answers.iter().enumerate().map(|(index, answer)| {
        let logits = pooling::lone(answer)?;
        Ok(pooling::classified(&heads.served, index, softmax(&logits)))
    });
    let reply = ClassifyReply {
        id: format!("classify-{}", heads.call.id()),
        object: "list".to_owned(),
        created: unix_seconds(),
        model: heads.served.name().to_string(),
        data: data.collect::<Result<_, ApiError>>()?,
        usage: PooledUsage::of(pooling::tokens(&heads.answers)),
    };
    heads.reply(reply)
}

/// Answers the body of `POST /classify` with `text` or `input_ids`: the raw outputs of a head.
///
/// # Errors
/// Neither or both of them, a model without a head, and errors of reading.
pub(crate) async fn rewards(
    call: Call<'_>,
    params: SglangRewardRequest,
) -> Result<HttpResponse, ApiError> {
    let input = match (params.text, params.input_ids) {
        (Some(Texts::One(text)), None) => ("text", Prompt::Text(text)),
        (Some(Texts::Many(texts)), None) => ("text", Prompt::Texts(texts)),
        (None, Some(ids @ (Prompt::Tokens(_) | Prompt::TokenLists(_)))) => ("input_ids", ids),
        (None, Some(Prompt::Text(_) | Prompt::Texts(_))) => {
            return Err(invalid("input_ids", "expected token ids"));
        }
        (Some(_), Some(_)) => {
            return Err(invalid("input_ids", "give either `text` or `input_ids`"));
        }
        (None, None) => return Err(invalid("text", "it is missing, and so is `input_ids`")),
    };
    let is_one = matches!(input.1, Prompt::Text(_) | Prompt::Tokens(_));
    let heads = heads(call, params.model.as_deref(), input).await?;
    let id = heads.call.id();
    let rewards = heads.answers.iter().enumerate().map(|(at, answer)| {
        Ok(SglangReward {
            embedding: pooling::lone(answer)?,
            meta_info: SglangMeta {
                id: format!("{id}-{at}"),
                finish_reason: None,
                prompt_tokens: answer.usage.input_tokens as u64,
                cached_tokens: answer.usage.cached_tokens as u64,
            },
        })
    });
    let mut rewards: Vec<SglangReward> = rewards.collect::<Result<_, ApiError>>()?;
    let reply = match rewards.pop() {
        Some(one) if is_one => SglangRewards::One(one),
        last => {
            rewards.extend(last);
            SglangRewards::Many(rewards)
        }
    };
    heads.reply(reply)
}

impl Heads<'_> {
    fn reply(&self, body: impl serde::Serialize) -> Result<HttpResponse, ApiError> {
        self.call.read_reply(&self.served, (self.answers.len(), self.working), body)
    }
}

/// Scores each item: label probabilities for a model with a vocabulary, outputs for one with a
/// head.
///
/// # Errors
/// Labels that are missing or outside the vocabulary, and errors of reading.
pub(crate) async fn score(
    mut call: Call<'_>,
    params: SglangScoreRequest,
) -> Result<HttpResponse, ApiError> {
    let served = names::model(call.state, own(params.model.as_deref()))?;
    let temperature = params.temperature.unwrap_or(1.0);
    if temperature <= 0.0 {
        let what = format_args!("{temperature} is not above 0");
        return Err(invalid("temperature", what));
    }
    let scale = if params.apply_softmax {
        Normalisation::Labels { temperature }
    } else {
        Normalisation::Vocabulary
    };
    let prompts = Prompts {
        query: params.query,
        items: params.items,
        item_first: params.item_first,
        special: true,
    };
    let tokens = next_token::sequences(&mut call, &served, prompts).await?;
    let working = Instant::now();
    let (scores, read) = if served.host.engine.limits().has_vocabulary {
        let labels = labels(&served, params.label_token_ids, tokens.len())?;
        let sequences = tokens.into_iter().zip(labels).collect();
        next_token::read(&mut call, &served, sequences, scale).await?
    } else {
        by_head(&mut call, &served, tokens, scale).await?
    };
    let n_items = scores.len();
    let reply = SglangScores {
        scores,
        model: served.name().to_string(),
        usage: PooledUsage::of(read),
        object: "scoring".to_owned(),
    };
    call.read_reply(&served, (n_items, working), reply)
}

async fn by_head(
    call: &mut Call<'_>,
    served: &Served,
    tokens: Vec<Tokens>,
    scale: Normalisation,
) -> Result<(Vec<Vec<f64>>, u64), ApiError> {
    pooling::check_whole(served)?;
    let sequences = tokens.into_iter().map(Tokens::last).collect();
    let answers = pooling::read(call, served, sequences, RequestParams::default()).await?;
    let rows = answers.iter().map(|answer| {
        let logits = pooling::lone(answer)?;
        next_token::finite(match scale {
            Normalisation::Vocabulary => logits,
            Normalisation::Labels { temperature } => softmax_with_temperature(&logits, temperature),
        })
    });
    Ok((rows.collect::<Result<_, ApiError>>()?, pooling::tokens(&answers)))
}

/// Returns the labels of each item.
fn labels(
    served: &Served,
    given: Option<Prompt>,
    n_items: usize,
) -> Result<Vec<std::sync::Arc<[u32]>>, ApiError> {
    const PATH: &str = "label_token_ids";
    match given {
        Some(Prompt::Tokens(ids)) => {
            let labels = next_token::labels(served, PATH, ids)?;
            Ok(vec![labels; n_items])
        }
        Some(Prompt::TokenLists(lists)) if lists.len() == n_items => {
            let lists = lists.into_iter().enumerate();
            let each =
                lists.map(|(at, ids)| next_token::labels(served, &format!("{PATH}[{at}]"), ids));
            each.collect()
        }
        Some(Prompt::TokenLists(lists)) => {
            let what = format_args!("{} lists for {n_items} items", lists.len());
            Err(invalid(PATH, what))
        }
        Some(Prompt::Text(_) | Prompt::Texts(_)) => Err(invalid(PATH, "expected token ids")),
        None => Err(invalid(PATH, "it is missing, and the model has no head")),
    }
}

//! `OpenRLHF`'s remote reward model: `POST /get_reward`.
//!
//! The client posts one sample at a time and retries everything but success; with several servers
//! it posts empty lists to all but the first, and all must succeed.

pub(crate) mod types;

use std::collections::BTreeMap;
use std::sync::Arc;

use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse, post};
use engine::{RequestParams, Text};
use openapi::Options;
use rubrics::{Input, Passage, Scorer};

use self::types::{RewardQuery, RewardReply};
use super::shared::target::{self, Target};
use super::shared::{
    ApiFlavor, FlavoredApiError, chat_split, check_samples, handle, invalid, pooling, rewards,
};
use crate::call::{Call, json};
use crate::compat::shared::gold_label::GoldLabel;
use crate::compat::shared::responses::RewardFailures;
use crate::convert;
use crate::error::ApiError;
use crate::hosts::Served;
use crate::state::State;

/// Scores samples for `OpenRLHF`'s remote reward client.
///
/// `?model=` names the scorer or reward model; without it `compat.scorer` or the only reward model
/// is used. A scorer gets the response, the turns of the prompt and the label. A model by its own
/// name reads the query as it is, like `OpenRLHF`'s own reward server. A sample that cannot be
/// scored fails the request: no number stands for it.
#[utoipa::path(
    tag = "compat",
    params(("model" = Option<String>, Query, description = "A scorer, a model or an adapter.")),
    request_body = RewardQuery,
    responses(
        (status = 200, description = "A reward for each sample.", body = RewardReply),
        RewardFailures,
    )
)]
#[post("/get_reward")]
pub(crate) async fn get_reward(
    request: HttpRequest,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, FlavoredApiError> {
    handle(ApiFlavor::FastApi, &request, payload, &state, score_samples).await
}

async fn score_samples(call: Call<'_>, params: RewardQuery) -> Result<HttpResponse, ApiError> {
    let n_queries = params.query.len();
    let lengths = [
        ("prompts", params.prompts.as_ref().map(Vec::len)),
        ("labels", params.labels.as_ref().map(Vec::len)),
    ];
    for (field, length) in lengths {
        if let Some(length) = length.filter(|length| *length != n_queries) {
            let what = format_args!("{length} given for {n_queries} in query");
            return Err(invalid(field, what));
        }
    }
    check_samples("query", n_queries)?;
    let target = target::of_url(&call)?;
    if n_queries == 0 {
        return reply(&RewardReply::default());
    }
    match target {
        Target::Scorer(scorer) => score_with_scorer(call, scorer, params).await,
        Target::Model(served) => score_with_head(call, &served, params).await,
    }
}

/// Scores samples with a scorer, which gets prompt and response separately.
async fn score_with_scorer(
    call: Call<'_>,
    scorer: Arc<Scorer>,
    params: RewardQuery,
) -> Result<HttpResponse, ApiError> {
    let labels = params.labels.unwrap_or_default().into_iter();
    let mut labels = labels.chain(std::iter::repeat(GoldLabel::default()));
    let mut inputs = Vec::with_capacity(params.query.len());
    for (at, query) in params.query.iter().enumerate() {
        let prompt = params.prompts.as_ref().map(|prompts| &*prompts[at]);
        let GoldLabel(label) = labels.next().expect("it goes on for ever");
        let reference = label.map(convert::reference);
        inputs.push(Arc::new(Input { reference, ..input(&path(at), query, prompt)? }));
    }
    let state = call.state;
    let scored = call.score(scorer, &inputs, &Options::default()).await?;
    let rewards = rewards::rewards(state, &scored.answers, path)?;
    let scores: Vec<f64> = rewards.iter().map(|reward| reward.score).collect();
    let body = with_scores(scores.clone(), scores);
    scored.reply(body).await
}

/// Scores samples with a model's own head, which reads the query as one text.
async fn score_with_head(
    mut call: Call<'_>,
    served: &Served,
    params: RewardQuery,
) -> Result<HttpResponse, ApiError> {
    pooling::check_scalar(served)?;
    let prompts = params.prompts.unwrap_or_default().into_iter().map(Some);
    let prompts = prompts.chain(std::iter::repeat(None));
    let texts = params.query.iter().zip(prompts).enumerate();
    let text = |(at, (query, prompt)): (usize, (&String, Option<String>))| {
        let known = prompt.as_deref();
        let text = match known.and_then(|prompt| Some((prompt, query.strip_prefix(prompt)?))) {
            Some((prompt, response)) => pooling::continued(prompt, response),
            None => Text::template(query.as_str()),
        };
        (path(at), text)
    };
    let texts = texts.map(text).collect();
    let encoded = pooling::encode(&mut call, served, texts, pooling::by_origin).await?;
    let sequences = encoded.into_iter().map(pooling::Tokens::last).collect();
    let answers = pooling::read(&mut call, served, sequences, RequestParams::default()).await?;
    let raws = answers.iter().map(pooling::scalar);
    let raws: Vec<f64> = raws.collect::<Result<_, _>>()?;
    let scores = raws.iter().copied().map(rubrics::calibration::sigmoid);
    let scores = scores.collect();
    reply(&with_scores(raws, scores))
}

/// Splits a query into prompt and response. A query that does not begin with its prompt, as after
/// truncation from the left, is split at its template markers.
///
/// # Errors
/// A query that cannot be split.
fn input(path: &str, query: &str, prompt: Option<&str>) -> Result<Input, ApiError> {
    let known = prompt.and_then(|prompt| Some((prompt, query.strip_prefix(prompt)?)));
    let (prompt, response) = known.or_else(|| chat_split::cut(query)).ok_or_else(|| {
        let what = match prompt {
            Some(_) => {
                "it does not begin with its prompt, and no mark tells where the answer begins"
            }
            None => "without prompts, and without a mark of where the answer begins",
        };
        invalid(path, what)
    })?;
    let prompt = chat_split::prompt(prompt);
    let response = prompt.begun + chat_split::response(response);
    let turns = Some(prompt.turns).filter(|turns| !turns.is_empty());
    Ok(Input {
        prompt: turns.map(|turns| Arc::new(Passage::Messages(turns))),
        ..Input::of(response)
    })
}

fn path(at: usize) -> String {
    format!("query[{at}]")
}

fn with_scores(rewards: Vec<f64>, scores: Vec<f64>) -> RewardReply {
    RewardReply {
        rewards,
        extra_logs: BTreeMap::from([("score".to_owned(), scores.clone())]),
        scores,
    }
}

fn reply(body: &RewardReply) -> Result<HttpResponse, ApiError> {
    serde_json::to_vec(body).map(json).map_err(ApiError::internal)
}

//! Scores pairs of texts, a query with a document, by a scorer or by the head of a reward model.

use std::sync::Arc;
use std::time::Instant;

use actix_web::HttpResponse;
use engine::{RequestParams, Tokenizer};
use openapi::Options;
use rubrics::{Input, Passage, Scorer};
use serde::Serialize;

use super::pooling::{self, TextLength};
use super::target::Target;
use super::{invalid, rewards};
use crate::call::{Call, ScoredCall};
use crate::error::ApiError;
use crate::hosts::Served;

/// Two texts, and the JSON path of the second.
#[derive(Debug)]
pub(crate) struct TextPair {
    pub(crate) path: String,
    /// Shared by all pairs that have it.
    pub(crate) query: Arc<str>,
    pub(crate) document: String,
}

impl TextLength for TextPair {
    fn text_bytes(&self) -> usize {
        self.query.len() + self.document.len()
    }
}

/// Scored pairs.
pub(crate) struct Scored<'r> {
    /// Name of the scorer or model.
    pub(crate) model: String,
    /// One score per pair, in order.
    pub(crate) scores: Vec<f64>,
    /// Number of tokens read.
    pub(crate) tokens: u64,
    done: Done<'r>,
}

/// What the reply still has to count.
enum Done<'r> {
    Scored(ScoredCall<'r>),
    Read { call: Call<'r>, served: Served, working: Instant },
}

/// Scores pairs. A scorer judges the document as the response to the query. A model reads both as
/// one text, the document after the query, as is usual for rerankers that are language models.
///
/// # Errors
/// A pair that cannot be scored, by its path; a model without a head of one output.
pub(crate) async fn score(
    call: Call<'_>,
    target: Target,
    pairs: Vec<TextPair>,
    (activate, params): (bool, RequestParams),
) -> Result<Scored<'_>, ApiError> {
    match target {
        Target::Scorer(scorer) => score_with_scorer(call, scorer, pairs, activate).await,
        Target::Model(served) => read(call, served, pairs, (activate, params)).await,
    }
}

impl Scored<'_> {
    /// Builds and counts the reply.
    ///
    /// # Errors
    /// A reply that cannot be serialised.
    pub(crate) async fn reply(
        self,
        body: impl Serialize + Send + 'static,
    ) -> Result<HttpResponse, ApiError> {
        match self.done {
            Done::Scored(scored) => scored.reply(body).await,
            Done::Read { call, served, working } => {
                call.read_reply(&served, (self.scores.len(), working), body)
            }
        }
    }
}

async fn score_with_scorer(
    call: Call<'_>,
    scorer: Arc<Scorer>,
    pairs: Vec<TextPair>,
    activate: bool,
) -> Result<Scored<'_>, ApiError> {
    let (mut paths, mut inputs) = (Vec::new(), Vec::new());
    let mut last: Option<(Arc<str>, Arc<Passage>)> = None;
    for TextPair { path, query, document } in pairs {
        let known = last.take().filter(|(known, _)| Arc::ptr_eq(known, &query));
        let (query, prompt) = known.unwrap_or_else(|| {
            let prompt = Arc::new(Passage::Text(query.as_ref().to_owned()));
            (query, prompt)
        });
        paths.push(path);
        inputs.push(Arc::new(Input { prompt: Some(prompt.clone()), ..Input::of(document) }));
        last = Some((query, prompt));
    }
    let state = call.state;
    let scored = call.score(scorer, &inputs, &Options::default()).await?;
    let rewards = rewards::rewards(state, &scored.answers, |at| paths[at].clone())?;
    let tokens = rewards.iter().filter_map(|reward| reward.evidence.trace.as_ref());
    let tokens = tokens.map(|trace| trace.usage.input_tokens as u64).sum();
    let score = |reward: &&rubrics::Score| {
        if activate {
            return Ok(reward.score);
        }
        reward.raw.ok_or_else(|| {
            let what = format_args!("'{}' has no raw value", scored.scorer.name());
            invalid("use_activation", what)
        })
    };
    let scores: Vec<f64> = rewards.iter().map(score).collect::<Result<_, _>>()?;
    Ok(Scored {
        model: scored.scorer.name().to_owned(),
        scores,
        tokens,
        done: Done::Scored(scored),
    })
}

async fn read(
    mut call: Call<'_>,
    served: Served,
    pairs: Vec<TextPair>,
    (activate, params): (bool, RequestParams),
) -> Result<Scored<'_>, ApiError> {
    pooling::check_scalar(&served)?;
    let texts = pairs.into_iter().map(|mut pair| (std::mem::take(&mut pair.path), pair));
    let joined = |tokenizer: &Tokenizer, pair: TextPair| {
        pooling::as_written(tokenizer, [&*pair.query, &pair.document].concat())
    };
    let encoded = pooling::encode(&mut call, &served, texts.collect(), joined).await?;
    let sequences = encoded.into_iter().map(pooling::Tokens::last).collect();
    let working = Instant::now();
    let answers = pooling::read(&mut call, &served, sequences, params).await?;
    let score = |answer: &engine::RequestOutput| {
        let logits = pooling::lone(answer)?;
        Ok(if activate { served.labels.activated(&logits)[0] } else { logits[0] })
    };
    let scores = answers.iter().map(score).collect::<Result<_, ApiError>>()?;
    Ok(Scored {
        model: served.name().to_string(),
        tokens: pooling::tokens(&answers),
        scores,
        done: Done::Read { call, served, working },
    })
}

/// Pairs every text with one query.
pub(crate) fn against(path: &str, query: String, texts: &[String]) -> Vec<TextPair> {
    let query: Arc<str> = query.into();
    let texts = texts.iter().enumerate();
    texts
        .map(|(at, text)| TextPair {
            path: format!("{path}[{at}]"),
            query: query.clone(),
            document: text.clone(),
        })
        .collect()
}

/// Returns indexes and scores, best first, ties by index; at most `top_n`, or all.
pub(crate) fn best(scores: &[f64], top_n: Option<u64>) -> impl Iterator<Item = (usize, f64)> {
    let mut ranked: Vec<(usize, f64)> = scores.iter().copied().enumerate().collect();
    ranked.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let most =
        top_n.filter(|n| *n > 0).map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
    ranked.into_iter().take(most)
}

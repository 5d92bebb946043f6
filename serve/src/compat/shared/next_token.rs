//! Next-token probabilities after a query joined with each of many items: vLLM's generative scoring
//! and `SGLang`'s scoring.

use std::sync::Arc;

use engine::{Output, OutputSpec, RequestOutput, RequestParams};

use super::pooling::{self, SharedTokens, Tokens};
use super::{check_count, invalid};
use crate::call::Call;
use crate::compat::shared::generation::types::Prompt;
use crate::error::ApiError;
use crate::hosts::Served;
use crate::names::not_found;
use base::stats::softmax_with_temperature;

/// A query and its items.
#[derive(Debug)]
pub(crate) struct Prompts {
    pub(crate) query: Prompt,
    pub(crate) items: Prompt,
    pub(crate) item_first: bool,
    /// Whether the tokenizer adds its special tokens around the query.
    pub(crate) special: bool,
}

/// The normalisation of logits.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Normalisation {
    /// Softmax over the labels, at a temperature.
    Labels { temperature: f64 },
    /// Softmax over the vocabulary.
    Vocabulary,
}

/// Joins the query with each item as one sequence. The sequences share the query.
///
/// # Errors
/// No items, several queries, a sequence without tokens, ids outside the vocabulary.
pub(crate) async fn sequences(
    call: &mut Call<'_>,
    served: &Served,
    prompts: Prompts,
) -> Result<Vec<Tokens>, ApiError> {
    let query: Vec<u32> = match prompts.query {
        Prompt::Text(text) if text.is_empty() => Vec::new(),
        query @ (Prompt::Text(_) | Prompt::Tokens(_)) => {
            let read = pooling::texts(call, served, "query", query, prompts.special).await?;
            read.into_iter().flat_map(|tokens| tokens.ids).collect()
        }
        Prompt::Texts(list) if list.is_empty() => Vec::new(),
        Prompt::Texts(_) | Prompt::TokenLists(_) => {
            return Err(invalid("query", "expected one text, or the token ids of one"));
        }
    };
    let items = match prompts.items {
        Prompt::Text(text) => Prompt::Texts(vec![text]),
        Prompt::Tokens(ids) => Prompt::TokenLists(vec![ids]),
        items @ (Prompt::Texts(_) | Prompt::TokenLists(_)) => items,
    };
    let items = pooling::texts(call, served, "items", items, false).await?;
    let query: Arc<[u32]> = query.into();
    let shared =
        if prompts.item_first { SharedTokens::After(query) } else { SharedTokens::Before(query) };
    Ok(items.into_iter().map(|item| Tokens { shared: shared.clone(), ..item }).collect())
}

/// Computes the probabilities of each sequence's labels, and the number of tokens read.
///
/// # Errors
/// A model without a vocabulary, labels outside it, and errors of [`pooling::read`].
pub(crate) async fn read(
    call: &mut Call<'_>,
    served: &Served,
    sequences: Vec<(Tokens, Arc<[u32]>)>,
    scale: Normalisation,
) -> Result<(Vec<Vec<f64>>, u64), ApiError> {
    let mass = matches!(scale, Normalisation::Vocabulary);
    let sequences = sequences
        .into_iter()
        .map(|(tokens, columns)| tokens.at_last(OutputSpec::Labels { columns, mass }));
    let answers =
        pooling::read(call, served, sequences.collect(), RequestParams::default()).await?;
    let rows = answers.iter().map(|answer| numbers(answer, scale));
    Ok((rows.collect::<Result<_, _>>()?, pooling::tokens(&answers)))
}

/// Checks label tokens against the vocabulary.
///
/// # Errors
/// None or too many labels, a duplicate, an id outside the vocabulary, a model without a
/// vocabulary.
pub(crate) fn labels(served: &Served, path: &str, ids: Vec<u32>) -> Result<Arc<[u32]>, ApiError> {
    let limits = served.host.engine.limits();
    if !limits.has_vocabulary {
        let message = format!("'{}' has no vocabulary to be read", served.name());
        return Err(not_found(message));
    }
    check_count(path, ids.len(), 1..=MOST_LABELS)?;
    for (at, id) in ids.iter().enumerate() {
        let place = format!("{path}[{at}]");
        if *id as usize >= limits.vocab_size {
            let what = format_args!("the vocabulary has {} tokens", limits.vocab_size);
            return Err(invalid(place, what));
        }
        if ids[..at].contains(id) {
            return Err(invalid(place, "the same token stands earlier in the list"));
        }
    }
    Ok(ids.into())
}

const MOST_LABELS: usize = 1024;

fn numbers(answer: &RequestOutput, scale: Normalisation) -> Result<Vec<f64>, ApiError> {
    let [Output::Labels { logits, log_normalizer }] = pooling::rows(answer)? else {
        return Err(ApiError::internal("labels were read and something else came"));
    };
    let logits: Vec<f64> = logits.iter().copied().map(f64::from).collect();
    let scores = match (scale, log_normalizer) {
        (Normalisation::Labels { temperature }, _) => {
            softmax_with_temperature(&logits, temperature)
        }
        (Normalisation::Vocabulary, Some(normalizer)) => {
            let normalizer = f64::from(*normalizer);
            logits.into_iter().map(|logit| (logit - normalizer).exp()).collect()
        }
        (Normalisation::Vocabulary, None) => {
            return Err(ApiError::internal("labels came without their mass"));
        }
    };
    finite(scores)
}

/// Passes finite scores; JSON would write others as `null`.
///
/// # Errors
/// A score that is not finite, which is an internal error.
pub(crate) fn finite(scores: Vec<f64>) -> Result<Vec<f64>, ApiError> {
    if scores.iter().all(|score| score.is_finite()) {
        return Ok(scores);
    }
    Err(ApiError::internal("a score is not finite"))
}

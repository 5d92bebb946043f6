//! Log-probabilities of a prompt's own tokens.
//!
//! They take a row of logits for every token, with as many numbers as the vocabulary. So rows are
//! computed a few at a time and reduced to the requested numbers; their common prefix is computed
//! once, as any prefix is.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use engine::{Output, OutputSpec, Request, Task, TaskOutput};

use super::logprobs::{bytes_of, text_of};
use super::prepared::{PreparedRequest, PromptTokens};
use super::types::PromptLogprob;
use crate::blocking::blocking;
use crate::compat::shared::invalid;
use crate::engine_errors::engine_failure;
use crate::error::ApiError;

/// Rows computed at a time.
const ROWS: usize = 16;

/// The log-probability of a prompt token after the first.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PromptTokenLogprob {
    pub(super) token_id: u32,
    pub(super) logprob: f32,
    /// Rank, 1 for the most probable.
    pub(super) rank: u64,
    /// The most probable tokens, in order.
    pub(super) top: Vec<(u32, f32)>,
}

/// The log-probabilities of a prompt, and their cost.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct PromptLogprobs {
    /// One entry per token from the second on.
    pub(super) places: Vec<PromptTokenLogprob>,
    pub(super) computed_tokens: u64,
}

/// Computes the log-probabilities of every prompt.
///
/// # Errors
/// Those of a generation.
pub(super) async fn read_prompts(
    prepared: &PreparedRequest,
    n_top: usize,
) -> Result<Vec<PromptLogprobs>, ApiError> {
    let mut all = Vec::new();
    for prompt in &prepared.prompts {
        all.push(read_prompt(prepared, prompt, n_top).await?);
    }
    Ok(all)
}

async fn read_prompt(
    prepared: &PreparedRequest,
    prompt: &PromptTokens,
    n_top: usize,
) -> Result<PromptLogprobs, ApiError> {
    let ids = &prompt.token_ids;
    let mut read = PromptLogprobs::default();
    let ends: Vec<usize> = (1..ids.len()).collect();
    for rows in ends.chunks(ROWS) {
        let (first, last) = (rows[0], rows[rows.len() - 1]);
        let requests = vec![Request {
            token_ids: ids[..last].into(),
            adapter: prepared.served.adapter.clone(),
            task: Task::Rows(rows.iter().map(|at| (at - 1, OutputSpec::Vocab)).collect()),
        }];
        let answer = prepared.enqueue(requests)?.all().await.pop();
        let answer = answer.ok_or_else(|| ApiError::internal("no answer for a work"))?;
        let answer = answer.map_err(|failure| engine_failure(&failure))?;
        read.computed_tokens += answer.usage.computed_tokens as u64;
        let TaskOutput::Rows(outputs) = answer.output else {
            return Err(ApiError::internal("the engine gave tokens for rows"));
        };
        let targets: Vec<u32> = ids[first..=last].to_vec();
        // Reducing a row of a large vocabulary takes too long for an event loop.
        let places = blocking(move || reduce(&outputs, &targets, n_top)).await;
        read.places.extend(places.map_err(ApiError::internal)??);
    }
    Ok(read)
}

fn reduce(
    outputs: &[Output],
    targets: &[u32],
    n_top: usize,
) -> Result<Vec<PromptTokenLogprob>, ApiError> {
    let place = |(output, target): (&Output, &u32)| match output {
        Output::Vocab(logits) => place(logits, *target, n_top)
            .ok_or_else(|| ApiError::internal("a logit of the prompt is not finite")),
        Output::Head(_) | Output::Labels { .. } | Output::Logprob { .. } | Output::Hidden(_) => {
            Err(ApiError::internal("the engine gave no logits"))
        }
    };
    outputs.iter().zip(targets).map(place).collect()
}

/// Reduces the logits at a token; `None` if one of them is not finite.
fn place(logits: &[f32], target: u32, n_top: usize) -> Option<PromptTokenLogprob> {
    let max = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0_f64;
    for logit in logits {
        if !logit.is_finite() {
            return None;
        }
        sum += f64::from(logit - max).exp();
    }
    #[expect(clippy::cast_possible_truncation, reason = "given out as the float it was read as")]
    let logprob = |logit: f32| (f64::from(logit - max) - sum.ln()) as f32;
    let own = *logits.get(target as usize)?;
    // All logits are finite.
    let ahead = |(id, logit): &(u32, &f32)| match logit.total_cmp(&own) {
        Ordering::Greater => true,
        Ordering::Equal => *id < target,
        Ordering::Less => false,
    };
    let n_ahead = (0..).zip(logits).filter(ahead).count();
    Some(PromptTokenLogprob {
        token_id: target,
        logprob: logprob(own),
        rank: n_ahead as u64 + 1,
        top: largest(logits, n_top).into_iter().map(|(id, logit)| (id, logprob(logit))).collect(),
    })
}

/// Returns the largest `n` logits, largest first, ties by id.
fn largest(logits: &[f32], n: usize) -> Vec<(u32, f32)> {
    let mut top: Vec<(u32, f32)> = Vec::with_capacity(n + 1);
    for (id, logit) in (0..).zip(logits.iter().copied()) {
        let full = top.len() == n;
        if full && top.last().is_none_or(|(_, least)| logit <= *least) {
            continue;
        }
        let at = top.partition_point(|(_, other)| *other >= logit);
        top.insert(at, (id, logit));
        top.truncate(n);
    }
    top
}

/// Builds vLLM's table of a prompt: `None` for the first token, then the token itself and the most
/// probable ones by id.
pub(super) fn table(
    tokenizer: &engine::Tokenizer,
    places: &[PromptTokenLogprob],
    n_top: usize,
) -> Vec<Option<BTreeMap<String, PromptLogprob>>> {
    let entry = |id: u32, logprob: f32, rank: u64| {
        let decoded_token = text_of(&bytes_of(tokenizer, id));
        let entry = PromptLogprob { logprob, rank, decoded_token };
        (id.to_string(), entry)
    };
    let row = |place: &PromptTokenLogprob| {
        let top = (1..).zip(&place.top).take(n_top);
        let mut row: BTreeMap<_, _> = top.map(|(rank, (id, p))| entry(*id, *p, rank)).collect();
        row.extend([entry(place.token_id, place.logprob, place.rank)]);
        Some(row)
    };
    std::iter::once(None).chain(places.iter().map(row)).collect()
}

/// Returns the number of most probable tokens that `prompt_logprobs` requests.
///
/// # Errors
/// A number above the limit.
pub(super) fn wanted(given: Option<u64>) -> Result<Option<usize>, ApiError> {
    let top = |given| super::settings::top("prompt_logprobs", given);
    given.map(top).transpose()
}

/// Refuses prompt log-probabilities in streams, which have no field for them.
///
/// # Errors
/// 422 for a stream that requests them.
pub(super) fn refuse_in_stream(wanted: bool, stream: bool) -> Result<(), ApiError> {
    if wanted && stream {
        return Err(invalid("prompt_logprobs", "a stream has no place for them"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_gives_rank_and_logprob() {
        let logits = [1.0, 3.0, 2.0, 3.0, -1.0];
        let found = place(&logits, 3, 3).expect("finite");
        assert_eq!((found.rank, found.token_id), (2, 3));
        let ids: Vec<u32> = found.top.iter().map(|(id, _)| *id).collect();
        assert_eq!(ids, [1, 3, 2]);
        let all = largest(&logits, 9);
        assert_eq!(all.len(), 5);
        let mass: f32 = place(&logits, 0, 5)
            .expect("finite")
            .top
            .iter()
            .map(|(_, logprob)| logprob.exp())
            .sum();
        assert!((mass - 1.0).abs() < 1e-6, "{mass}");
        assert_eq!(place(&logits, 5, 1), None);
        assert_eq!(place(&[0.0, f32::NAN], 0, 1), None);
        assert_eq!(place(&[0.0, f32::INFINITY], 0, 1), None);
        assert!(place(&[0.0], 0, 0).expect("finite").top.is_empty());
    }
}

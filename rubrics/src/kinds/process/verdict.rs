//! Reward from the values of steps.

use std::ops::Range;

use verifiers::Reason;

use super::options::{Aggregate, ProcessOptions};
use crate::combine::steps::{Aggregation, aggregate, first_error, sum_of_logits};
use crate::combine::{CombineError, shaping};
use crate::outcome::{Evidence, Failure, FailureKind, Outcome, Score, SpanNote, StepScore, Trace};
use base::stats::sigmoid;

/// The value of one step; finite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct StepValue {
    /// Log-odds of a right step.
    raw: f64,
    /// Their logistic function.
    score: f64,
}

impl StepValue {
    /// The value of log-odds.
    pub(super) fn of_margin(raw: f64) -> Self {
        Self { raw, score: sigmoid(raw) }
    }

    /// Returns the log-odds of the output at `index` against all others, or the only logit.
    pub(super) fn of_head(logits: &[f32], index: Option<usize>) -> Result<Self, Failure> {
        let index = index.unwrap_or_else(|| logits.len().saturating_sub(1));
        let own = logits.get(index).copied().map(f64::from);
        let own = own.ok_or_else(|| unusable("the head has fewer outputs than it had"))?;
        let others = logits.iter().enumerate().filter(|(at, _)| *at != index);
        let others: Vec<f64> = others.map(|(_, logit)| f64::from(*logit)).collect();
        let raw = if others.is_empty() { own } else { own - base::stats::log_sum_exp(&others) };
        if !raw.is_finite() {
            return Err(unusable("the head gave a number that is not finite"));
        }
        Ok(Self::of_margin(raw))
    }
}

/// Failure of unusable outputs.
pub(super) fn unusable(what: &'static str) -> Failure {
    Failure::new(FailureKind::Internal, Reason::with("head_unusable", what))
}

/// Computes the reward of a response with steps at `spans` and their `values`.
pub(super) fn conclude(
    options: &ProcessOptions,
    spans: &[Range<usize>],
    values: &[StepValue],
    trace: Trace,
) -> Outcome {
    let scores: Vec<f64> = values.iter().map(|value| value.score).collect();
    let failed = |error: CombineError| {
        let reason = Reason::with("steps_not_combined", error.to_string());
        Failure::new(FailureKind::Internal, reason)
    };
    let wrong = first_error(&scores, options.threshold).map_err(failed)?;
    let (score, raw) = overall(options.aggregate, values, &scores, wrong).map_err(failed)?;
    let rewards = match options.shaping {
        None => None,
        Some(how) => Some(shaping::shape(&scores, how).map_err(failed)?),
    };
    let steps = spans.iter().zip(values).enumerate();
    let steps = steps.map(|(index, (span, value))| StepScore {
        reward: rewards.as_ref().map(|rewards| rewards[index]),
        ..step_score(span, *value, options.threshold)
    });
    let reason = match wrong {
        Some(index) => {
            let (number, threshold) = (index + 1, options.threshold);
            let detail = format!(
                "the first step that scores below {threshold} is step {number} (steps[{index}])"
            );
            Reason::with("step_wrong", detail)
        }
        None => Reason::code("steps_right"),
    };
    Ok(Score {
        raw,
        label: Some(label(wrong.is_none()).into()),
        evidence: Evidence {
            steps: Some(steps.collect()),
            spans: rewards.as_ref().map(|rewards| reward_notes(spans, rewards)),
            trace: Some(trace),
            ..Evidence::default()
        },
        ..Score::proven(score, reason)
    })
}

/// Aggregates the response's score, and its log-odds if defined.
fn overall(
    by: Aggregate,
    values: &[StepValue],
    scores: &[f64],
    wrong: Option<usize>,
) -> Result<(f64, Option<f64>), CombineError> {
    let raws: Vec<f64> = values.iter().map(|value| value.raw).collect();
    let how = match by {
        Aggregate::Of(how) => how,
        Aggregate::FirstError => {
            let before: Vec<f64> = (0..scores.len())
                .map(|index| f64::from(u8::from(wrong.is_none_or(|wrong| index < wrong))))
                .collect();
            return Ok((aggregate(&before, Aggregation::Mean)?, None));
        }
    };
    match how {
        Aggregation::SumOfLogits => {
            let sum = sum_of_logits(&raws)?;
            Ok((sum, Some(sum)))
        }
        // The weakest step and the last one are steps, and have log-odds of their own.
        Aggregation::Min | Aggregation::Last => {
            Ok((aggregate(scores, how)?, Some(aggregate(&raws, how)?)))
        }
        Aggregation::Product | Aggregation::Mean => Ok((aggregate(scores, how)?, None)),
    }
}

fn step_score(span: &Range<usize>, value: StepValue, threshold: f64) -> StepScore {
    StepScore {
        span: span.clone(),
        score: Some(value.score),
        raw: Some(value.raw),
        reward: None,
        label: label(value.score >= threshold).into(),
        critique: None,
        equalities: None,
    }
}

fn label(is_right: bool) -> &'static str {
    if is_right { "right" } else { "wrong" }
}

fn reward_notes(spans: &[Range<usize>], rewards: &[f64]) -> Vec<SpanNote> {
    let notes = spans.iter().zip(rewards).map(|(span, reward)| SpanNote {
        span: span.clone(),
        label: "step_reward".into(),
        value: Some(*reward),
    });
    notes.collect()
}

//! One number from many: pure functions over the outcomes of the parts.
//!
//! A pipeline never runs anything. [`Pipeline::next`] says which part to ask given what is known,
//! and [`Pipeline::combine`] makes the outcome once nothing is left to ask, so the same logic
//! serves parts that run here and parts that wait for a model.

use std::borrow::Cow;

use serde::Serialize;
use verifiers::{Reason, Standing};

use crate::group;
use crate::outcome::{Evidence, Failure, FailureKind, Outcome, PartReport, Reward};

/// Parts and the way they make one number.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pipeline {
    /// The way.
    pub combine: Combine,
    /// The parts, in the order in which they are asked. Never empty.
    pub parts: Vec<PartSpec>,
}

/// How parts make one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Combine {
    /// Sum of weight times score over all parts.
    WeightedSum,
    /// The smallest score of all parts.
    Min,
    /// Sum of weight times score over the parts that are reached: a part is asked only when every
    /// part before it scored at least its own threshold.
    Gate,
    /// The first part that decides answers: the next one is asked only where a part abstained, or
    /// gave a 0 by rule and not by proof.
    Cascade,
}

/// One part of a pipeline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartSpec {
    /// Name in reports; the scorer's name unless the configuration gives another.
    pub name: String,
    /// The scorer that answers.
    pub scorer: String,
    /// Factor of the score, finite.
    pub weight: f64,
    /// Least score that lets a gate open the next part.
    pub threshold: Option<f64>,
    /// What a part without a score means. Stated for every part: there is no default.
    pub on_error: OnError,
}

/// What a part without a score means for the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// The whole fails with the part's failure.
    Fail,
    /// The part is left out; in a weighted sum the other weights are scaled up to the same total.
    Skip,
    /// The part counts as 0.
    Floor,
}

impl Pipeline {
    /// The next part to ask, given the outcomes so far (one slot a part).
    pub fn next(&self, outcomes: &[Option<Outcome>]) -> Option<usize> {
        let open = outcomes.iter().position(Option::is_none)?;
        let asked = || self.parts.iter().zip(&outcomes[..open]);
        let fatal = asked().any(|(part, outcome)| self.is_fatal(part, outcome.as_ref()));
        let closed = match self.combine {
            Combine::WeightedSum | Combine::Min => false,
            Combine::Gate => asked().any(|(part, outcome)| !opens(part, outcome.as_ref())),
            Combine::Cascade => asked().any(|(_, outcome)| decides(outcome.as_ref())),
        };
        (!fatal && !closed).then_some(open)
    }

    /// The outcome of the whole. Call it once [`Self::next`] has nothing left to ask.
    pub fn combine(&self, outcomes: Vec<Option<Outcome>>) -> Outcome {
        let fatal = self
            .parts
            .iter()
            .zip(&outcomes)
            .find(|(part, outcome)| self.is_fatal(part, outcome.as_ref()));
        let whole = match (fatal, self.combine) {
            (Some((part, Some(Err(failure)))), _) => Err(part_failure(part, failure)),
            (_, Combine::Cascade) => cascade(&outcomes),
            (_, Combine::Min) => self.smallest(&outcomes),
            (_, Combine::WeightedSum | Combine::Gate) => self.weighted(&outcomes),
        };
        let evidence = Evidence {
            trace: group::trace(outcomes.iter().flatten()),
            parts: Some(self.report(outcomes)),
            ..Evidence::default()
        };
        match whole {
            Ok(reward) => Ok(Reward { evidence, ..reward }),
            Err(failure) => Err(Failure {
                evidence,
                ..failure
            }),
        }
    }

    /// Whether this outcome ends the whole. In a cascade an abstention is an answer to act on.
    fn is_fatal(&self, part: &PartSpec, outcome: Option<&Outcome>) -> bool {
        let Some(Err(failure)) = outcome else {
            return false;
        };
        let hands_on = self.combine == Combine::Cascade && failure.kind == FailureKind::Abstain;
        part.on_error == OnError::Fail && !hands_on
    }

    fn weighted(&self, outcomes: &[Option<Outcome>]) -> Outcome {
        let (mut total, mut counted, mut asked) = (0.0, 0.0, 0.0);
        let mut skipped = false;
        for (part, outcome) in self.parts.iter().zip(outcomes) {
            let Some(outcome) = outcome else { continue };
            asked += part.weight;
            match counted_score(part, outcome) {
                Some(score) => {
                    counted += part.weight;
                    total += part.weight * score;
                }
                None => skipped = true,
            }
        }
        if skipped {
            total *= asked / counted;
        }
        let code = match self.combine {
            Combine::Gate if outcomes.iter().any(Option::is_none) => "gate_closed",
            Combine::Gate => "gate_open",
            Combine::WeightedSum | Combine::Min | Combine::Cascade => "weighted_sum",
        };
        finite(total, code)
    }

    fn smallest(&self, outcomes: &[Option<Outcome>]) -> Outcome {
        let scores = self
            .parts
            .iter()
            .zip(outcomes)
            .filter_map(|(part, outcome)| {
                let score = counted_score(part, outcome.as_ref()?)?;
                Some((score, part))
            });
        match scores.min_by(|a, b| a.0.total_cmp(&b.0)) {
            Some((score, part)) => {
                let reward = finite(score, "minimum")?;
                let label = Some(Cow::Owned(part.name.clone()));
                Ok(Reward { label, ..reward })
            }
            None => Err(nothing_counted()),
        }
    }

    fn report(&self, outcomes: Vec<Option<Outcome>>) -> Vec<PartReport> {
        let reports = self
            .parts
            .iter()
            .zip(outcomes)
            .map(|(part, outcome)| PartReport {
                name: part.name.clone(),
                weight: part.weight,
                outcome,
            });
        reports.collect()
    }
}

/// The first decision; where there is none, the last 0 that was given by rule.
fn cascade(outcomes: &[Option<Outcome>]) -> Outcome {
    let answered = outcomes
        .iter()
        .flatten()
        .rev()
        .find(|outcome| outcome.is_ok());
    let decided = outcomes
        .iter()
        .flatten()
        .find(|outcome| decides(Some(outcome)));
    match decided.or(answered) {
        Some(Ok(reward)) => Ok(reward.clone()),
        _ => Err(Failure::new(
            FailureKind::Abstain,
            Reason::with("no_part_decided", "every part of the cascade abstained"),
        )),
    }
}

/// Whether a gate's part lets the next one be asked.
fn opens(part: &PartSpec, outcome: Option<&Outcome>) -> bool {
    match (outcome, part.on_error) {
        (Some(Ok(reward)), _) => part.threshold.is_none_or(|least| reward.score >= least),
        (Some(Err(_)), OnError::Skip) => true,
        (Some(Err(_)), OnError::Fail | OnError::Floor) => part.threshold.is_none_or(|t| t <= 0.0),
        (None, _) => false,
    }
}

/// Whether a cascade stops at this outcome.
fn decides(outcome: Option<&Outcome>) -> bool {
    matches!(outcome, Some(Ok(reward)) if reward.standing == Standing::Proven)
}

/// The score with which a part counts; `None` where it is left out.
fn counted_score(part: &PartSpec, outcome: &Outcome) -> Option<f64> {
    match (outcome, part.on_error) {
        (Ok(reward), _) => Some(reward.score),
        (Err(_), OnError::Floor) => Some(0.0),
        (Err(_), OnError::Skip | OnError::Fail) => None,
    }
}

fn finite(score: f64, code: &'static str) -> Outcome {
    if !score.is_finite() {
        return Err(nothing_counted());
    }
    Ok(Reward {
        score,
        raw: None,
        label: None,
        reason: Reason::code(code),
        standing: Standing::Proven,
        evidence: Evidence::default(),
    })
}

fn nothing_counted() -> Failure {
    Failure::new(
        FailureKind::Abstain,
        Reason::with("no_part_counted", "no part with a weight has a score"),
    )
}

fn part_failure(part: &PartSpec, failure: &Failure) -> Failure {
    let code = failure.reason.code;
    let detail = failure.reason.detail.as_deref().unwrap_or(code);
    let detail = format!("part '{}': {detail}", part.name);
    Failure::new(failure.kind, Reason::with(code, detail))
}

#[cfg(test)]
mod tests;

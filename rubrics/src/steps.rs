//! The arithmetic step scorer: a report of checked equalities as a process reward.

use std::ops::Range;

use serde::Serialize;
use verifiers::arithmetic::{self, Arithmetic, Equality, Label, Step, StepReport};
use verifiers::math::steps as symbolic;
use verifiers::{Fuel, Reason, UnitScore, Verdict, VerifyError};

use crate::Input;
use crate::outcome::{CodePoints, EqualityReport, Evidence, Failure, Outcome, Reward, StepReward};

/// How checked steps make one number. Steps in which nothing could be checked do not count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Aggregate {
    /// 0 if any checked step is wrong, else 1.
    #[default]
    Min,
    /// The share of checked steps that are right.
    Mean,
}

/// What is checked, and how it makes one number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Checks {
    /// Whether equalities and rewrites with variables are checked too.
    pub(crate) symbolic: bool,
    pub(crate) aggregate: Aggregate,
}

/// Judges the arithmetic of `response`, split by the client's steps where it gave them.
pub(crate) fn judge(
    arithmetic: &Arithmetic,
    checks: Checks,
    fuel: u64,
    input: &Input,
    response: &str,
) -> Outcome {
    let given = match &input.steps {
        None => None,
        Some(steps) => Some(arithmetic::locate(response, steps).ok_or_else(not_in_response)?),
    };
    let mut fuel = Fuel::new(fuel);
    let report = arithmetic.check(response, given.as_deref(), &mut fuel);
    let mut rewards = rewards(&report, response);
    let mut exhausted = report.exhausted;
    if checks.symbolic {
        let spans: Vec<Range<usize>> = report.steps.iter().map(|step| step.span.clone()).collect();
        let symbolic = symbolic::check(response, &spans, &mut fuel);
        exhausted |= symbolic.exhausted;
        add(&symbolic, &report, response, &mut rewards);
    }
    let verdict = conclude(&rewards, exhausted, checks.aggregate);
    let evidence = Evidence { steps: Some(rewards), ..Evidence::default() };
    match verdict {
        Ok(verdict) => Ok(Reward::from_verdict(verdict, evidence)),
        Err(error) => Err(Failure::from_error(error, evidence)),
    }
}

fn conclude(
    rewards: &[StepReward],
    exhausted: bool,
    aggregate: Aggregate,
) -> Result<Verdict, VerifyError> {
    let scores: Vec<f64> = rewards.iter().filter_map(|step| step.score).collect();
    let is_wrong = |step: &StepReward| step.label == Label::Wrong.as_str();
    if let Some(index) = rewards.iter().position(is_wrong) {
        let reason = Reason::with("step_wrong", format!("the first wrong step is steps[{index}]"));
        return Ok(Verdict::proven(aggregate.of(&scores), "wrong", reason));
    }
    if exhausted {
        // Else a text that is too costly to read would be a way around the check.
        let reason = Reason::with("fuel_spent", "the response was too costly to read to its end");
        return Ok(Verdict::presumed_wrong("too_costly", reason));
    }
    if scores.is_empty() {
        let detail = "no step states an equality that can be checked";
        return Err(VerifyError::Undecided(Reason::with("nothing_checked", detail)));
    }
    let reason = Reason::code("checked_steps_right");
    Ok(Verdict::proven(aggregate.of(&scores), "right", reason))
}

/// Adds the claims of a symbolic check to the steps, but for those that arithmetic has judged.
fn add(
    symbolic: &symbolic::StepReport,
    report: &StepReport,
    response: &str,
    rewards: &mut [StepReward],
) {
    let mut points = CodePoints::new(response);
    for ((step, counted), reward) in symbolic.steps.iter().zip(&report.steps).zip(rewards) {
        let is_judged = |claim: &symbolic::Claim| {
            counted.equalities.iter().any(|equality| {
                let overlaps =
                    equality.span.start < claim.span.end && claim.span.start < equality.span.end;
                overlaps && equality.check.label() != Label::Unchecked
            })
        };
        let mut label = counted.label();
        for claim in step.claims.iter().filter(|claim| !is_judged(claim)) {
            label = combined(label, claim.check.label());
            reward.equalities.get_or_insert_default().push(EqualityReport {
                span: points.range(&claim.span),
                text: claim.formula.clone(),
                label: claim.check.label().as_str(),
                detail: claim.check.detail(),
            });
        }
        reward.label = label.as_str().into();
        reward.score = match label {
            Label::Right => Some(1.0),
            Label::Wrong => Some(0.0),
            Label::Unchecked => None,
        };
    }
}

/// One wrong claim makes a step wrong; one right claim, and none that is wrong, makes it right.
fn combined(own: Label, other: Label) -> Label {
    match (own, other) {
        (Label::Wrong, _) | (_, Label::Wrong) => Label::Wrong,
        (Label::Right, _) | (_, Label::Right) => Label::Right,
        (Label::Unchecked, Label::Unchecked) => Label::Unchecked,
    }
}

/// The steps have no places.
pub(crate) fn not_in_response() -> Failure {
    let detail = "the steps do not stand in the response in their order, so they have no places";
    Failure::refused("steps_not_in_response", detail)
}

impl Aggregate {
    /// The number that `scores` make; they are not empty and lie in [0, 1].
    fn of(self, scores: &[f64]) -> UnitScore {
        #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^53 steps")]
        let value = match self {
            Self::Min => scores.iter().copied().fold(1.0, f64::min),
            Self::Mean => scores.iter().sum::<f64>() / scores.len() as f64,
        };
        UnitScore::new(value).expect("the least and the mean of unit scores are unit scores")
    }
}

fn rewards(report: &StepReport, response: &str) -> Vec<StepReward> {
    let mut points = CodePoints::new(response);
    let steps = report.steps.iter();
    steps.map(|step| reward(step, response, &mut points)).collect()
}

fn reward(step: &Step, response: &str, points: &mut CodePoints<'_>) -> StepReward {
    let span = points.range(&step.span);
    let equalities = step.equalities.iter();
    let equalities = equalities.map(|equality| report(equality, response, points)).collect();
    StepReward {
        span,
        score: step.score(),
        raw: None,
        label: step.label().as_str().into(),
        critique: None,
        equalities: Some(equalities),
    }
}

fn report(equality: &Equality, response: &str, points: &mut CodePoints<'_>) -> EqualityReport {
    EqualityReport {
        span: points.range(&equality.span),
        text: response[equality.span.clone()].to_owned(),
        label: equality.check.label().as_str(),
        detail: equality.check.detail(),
    }
}

#[cfg(test)]
mod tests;

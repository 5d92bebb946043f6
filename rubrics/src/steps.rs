//! The arithmetic step scorer: a report of checked equalities as a process reward.

use std::borrow::Cow;
use std::ops::Range;

use serde::Serialize;
use verifiers::arithmetic::{Arithmetic, Equality, Step, StepReport};
use verifiers::{Fuel, Reason, Standing};

use crate::Input;
use crate::outcome::{
    CodePoints, EqualityReport, Evidence, Failure, FailureKind, Outcome, Reward, StepReward,
};

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

/// Judges the arithmetic of `response`, split by the client's steps where it gave them.
pub(crate) fn judge(
    arithmetic: &Arithmetic,
    aggregate: Aggregate,
    fuel: u64,
    input: &Input,
    response: &str,
) -> Outcome {
    let given = match &input.steps {
        None => None,
        Some(steps) => Some(locate(steps, response)?),
    };
    let report = arithmetic.check(response, given.as_deref(), &mut Fuel::new(fuel));
    let rewards = rewards(&report, response);
    let scores: Vec<f64> = rewards.iter().filter_map(|step| step.score).collect();
    let evidence = Evidence {
        steps: Some(rewards),
        ..Evidence::default()
    };
    if scores.is_empty() {
        let reason = Reason::with(
            "nothing_checked",
            "no step states an equality that can be checked",
        );
        return Err(Failure {
            kind: FailureKind::Abstain,
            reason,
            evidence,
        });
    }
    let score = match aggregate {
        Aggregate::Min => scores.iter().copied().fold(1.0, f64::min),
        Aggregate::Mean => mean(&scores),
    };
    let (label, reason) = match report.first_wrong {
        Some(index) => (
            "wrong",
            Reason::with("step_wrong", format!("first wrong step: {index}")),
        ),
        None => ("right", Reason::code("checked_steps_right")),
    };
    Ok(Reward {
        score,
        raw: None,
        label: Some(Cow::Borrowed(label)),
        reason,
        standing: Standing::Proven,
        evidence,
    })
}

fn mean(scores: &[f64]) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^53 steps")]
    let count = scores.len() as f64;
    scores.iter().sum::<f64>() / count
}

/// Where the client's steps stand in the response: each after the one before.
///
/// # Errors
/// A step that is not in the response is refused: its span would be made up.
fn locate(steps: &[String], response: &str) -> Result<Vec<Range<usize>>, Failure> {
    let mut from = 0;
    let mut ranges = Vec::with_capacity(steps.len());
    for (index, step) in steps.iter().enumerate() {
        let Some(offset) = response[from..].find(step.as_str()) else {
            let detail =
                format!("steps[{index}] does not stand in the response after the step before it");
            return Err(Failure::refused("step_not_in_response", detail));
        };
        let start = from + offset;
        from = start + step.len();
        ranges.push(start..from);
    }
    Ok(ranges)
}

fn rewards(report: &StepReport, response: &str) -> Vec<StepReward> {
    let mut points = CodePoints::new(response);
    let steps = report.steps.iter();
    steps
        .map(|step| reward(step, response, &mut points))
        .collect()
}

fn reward(step: &Step, response: &str, points: &mut CodePoints<'_>) -> StepReward {
    let span = points.range(&step.span);
    let equalities = step.equalities.iter();
    let equalities = equalities
        .map(|equality| report(equality, response, points))
        .collect();
    StepReward {
        span,
        score: step.score(),
        label: step.label().as_str(),
        equalities,
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

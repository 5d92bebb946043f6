//! One number of the values of the parts.

use std::borrow::Cow;

use verifiers::{Certainty, Reason};

use super::spec::{Combine, OnError, PartSpec, Pipeline, Role, no_combination};
use crate::combine::product::r1_reward;
use crate::combine::{CombineError, ensemble};
use crate::outcome::{Failure, FailureKind, Outcome, Score};

impl Pipeline {
    /// The combined value, if no failed part ends the pipeline.
    pub(super) fn combined(&self, outcomes: &[Option<Outcome>]) -> Outcome {
        match self.combine {
            Combine::Cascade => cascade(&self.parts, outcomes),
            Combine::Min => self.smallest(outcomes),
            Combine::WeightedSum => self.weighted(outcomes, "weighted_sum"),
            Combine::Gate | Combine::GRa => {
                let is_closed = outcomes.iter().any(Option::is_none);
                let code = if is_closed { "gate_closed" } else { "gate_open" };
                self.weighted(outcomes, code)
            }
            Combine::Mean => self.together(outcomes, "mean", ensemble::mean),
            Combine::Product => {
                self.together(outcomes, "product", |values| Ok(values.iter().product()))
            }
            Combine::Uwo { lambda, variance } => {
                let uwo = |values: &[f64]| ensemble::uncertainty_weighted(values, lambda, variance);
                self.together(outcomes, "uncertainty_weighted", uwo)
            }
            Combine::R1 => self.r1(outcomes),
        }
    }

    /// Parts and values of those that count.
    fn counted<'p>(
        &'p self,
        outcomes: &'p [Option<Outcome>],
    ) -> impl Iterator<Item = (&'p PartSpec, f64)> {
        let counted = |(part, outcome): (&'p PartSpec, &'p Option<Outcome>)| {
            Some((part, part.counted(outcome.as_ref()?)?))
        };
        self.parts.iter().zip(outcomes).filter_map(counted)
    }

    fn together(
        &self,
        outcomes: &[Option<Outcome>],
        code: &'static str,
        combine: impl Fn(&[f64]) -> Result<f64, CombineError>,
    ) -> Outcome {
        let values: Vec<f64> = self.counted(outcomes).map(|(_, value)| value).collect();
        if values.is_empty() {
            return Err(nothing_counted());
        }
        combined_score(combine(&values).map_err(no_combination)?, code)
    }

    fn weighted(&self, outcomes: &[Option<Outcome>], code: &'static str) -> Outcome {
        let evaluated = self.parts.iter().zip(outcomes);
        let evaluated: Vec<f64> =
            evaluated.filter_map(|(part, outcome)| outcome.as_ref().map(|_| part.weight)).collect();
        let (mut total, mut weight, mut n_counted) = (0.0, 0.0, 0);
        for (part, value) in self.counted(outcomes) {
            total += part.weight * value;
            weight += part.weight;
            n_counted += 1;
        }
        if n_counted < evaluated.len() {
            if weight == 0.0 {
                return Err(nothing_counted());
            }
            total *= evaluated.iter().sum::<f64>() / weight;
        }
        combined_score(total, code)
    }

    fn smallest(&self, outcomes: &[Option<Outcome>]) -> Outcome {
        let smallest = self
            .counted(outcomes)
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .ok_or_else(nothing_counted)?;
        let scored = combined_score(smallest.1, "minimum")?;
        let label = Some(Cow::Owned(smallest.0.name.clone()));
        Ok(Score { label, ..scored })
    }

    fn r1(&self, outcomes: &[Option<Outcome>]) -> Outcome {
        let value = |role: Role| {
            let held = self.parts.iter().position(|part| part.role == Some(role));
            let index = held.ok_or_else(nothing_counted)?;
            match &outcomes[index] {
                Some(outcome) => self.parts[index].counted(outcome),
                // It was not evaluated, because the outcome does not depend on it.
                None if role == Role::Consistency => Some(0.0),
                None => None,
            }
            .ok_or_else(nothing_counted)
        };
        let scored =
            r1_reward(value(Role::Format)?, value(Role::Accuracy)?, value(Role::Consistency)?);
        combined_score(scored.map_err(no_combination)?, "r1_reward")
    }
}

/// Returns the first decision; without one, the last 0 by rule, and then the 0 of a part that counts as 0
/// where it fails.
fn cascade(parts: &[PartSpec], outcomes: &[Option<Outcome>]) -> Outcome {
    let answered = outcomes.iter().flatten().rev().find(|outcome| outcome.is_ok());
    let decided = outcomes.iter().flatten().find(|outcome| decides(Some(outcome)));
    let floored = parts
        .iter()
        .zip(outcomes)
        .any(|(part, outcome)| part.on_error == OnError::Floor && matches!(outcome, Some(Err(_))));
    match decided.or(answered) {
        Some(Ok(scored)) => Ok(scored.clone()),
        _ if floored => combined_score(0.0, "floor"),
        _ => Err(Failure::new(
            FailureKind::Abstain,
            Reason::with("no_part_decided", "no part of the cascade has a score"),
        )),
    }
}

/// An outcome that is a number.
pub(super) fn combined_score(score: f64, code: &'static str) -> Outcome {
    if !score.is_finite() {
        return Err(no_combination(CombineError::Overflow));
    }
    Ok(Score::proven(score, Reason::code(code)))
}

fn nothing_counted() -> Failure {
    Failure::new(
        FailureKind::Abstain,
        Reason::with("no_part_counted", "no part with a weight has a score"),
    )
}

/// Whether a cascade stops at this outcome.
pub(super) fn decides(outcome: Option<&Outcome>) -> bool {
    matches!(outcome, Some(Ok(scored)) if scored.certainty == Certainty::Proven)
}

//! One number from many: pure functions over the outcomes of the parts.
//!
//! A pipeline never runs anything. [`Pipeline::next`] says which part to ask given what is known,
//! and [`Pipeline::combine`] makes the outcome once nothing is left to ask, so the same logic
//! serves parts that run here and parts that wait for a model. What a part counts with is in
//! [`value`], how the values become one is in [`whole`].

mod value;
mod whole;

use serde::Serialize;
use verifiers::{Certainty, Reason};

use crate::combine::Variance;
use crate::combine::group::{Normalisation, advantages};
use crate::group;
use crate::outcome::{Evidence, Failure, FailureKind, Outcome, PartReport, Reward};

pub use value::{Adjust, Measured};

/// Parts and the way they make one number.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pipeline {
    /// The way.
    pub combine: Combine,
    /// The parts, in the order in which they are asked. Never empty.
    pub parts: Vec<PartSpec>,
    /// What a group's responses get beside their scores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub normalise: Option<Normalisation>,
}

/// How parts make one number.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Combine {
    /// Sum of weight times score over all parts.
    WeightedSum,
    /// The mean of all parts.
    Mean,
    /// The smallest score of all parts; the worst case of an ensemble (WCO, 2310.02743).
    Min,
    /// The product of all parts.
    Product,
    /// The mean less lambda times the variance between parts (UWO, 2310.02743).
    Uwo {
        /// 0 or more.
        lambda: f64,
        /// Its divisor.
        variance: Variance,
    },
    /// Format, accuracy and consistency (R1-Reward, 2505.02835), told apart by their roles.
    R1,
    /// Sum of weight times score over the parts that are reached: a part is asked only when every
    /// part before it scored at least its own threshold.
    Gate,
    /// The same with every part before it strictly above its threshold, and every part of weight 1
    /// unless it says otherwise (G-RA, 2508.10548).
    GRa,
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
    /// The score by which a gate opens the next part.
    pub threshold: Option<f64>,
    /// What a part without a score means. Stated for every part: there is no default.
    pub on_error: OnError,
    /// What it is to [`Combine::R1`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// What is done to its score first.
    #[serde(flatten)]
    pub adjust: Adjust,
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

/// What a part of [`Combine::R1`] says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Whether the form is right, in [0, 1].
    Format,
    /// Whether the answer is right, in [0, 1].
    Accuracy,
    /// Whether the reasoning leads to the answer, in [-1, 1].
    Consistency,
}

impl Pipeline {
    /// Whether what a part says decides about asking others. Where it does not, parts may be asked
    /// side by side.
    pub fn asks_in_turn(&self) -> bool {
        match self.combine {
            Combine::WeightedSum
            | Combine::Mean
            | Combine::Min
            | Combine::Product
            | Combine::Uwo { .. } => false,
            Combine::R1 | Combine::Gate | Combine::GRa | Combine::Cascade => true,
        }
    }

    /// The next part to ask, given the outcomes so far (one slot a part).
    pub fn next(&self, outcomes: &[Option<Outcome>]) -> Option<usize> {
        let is_open = |index: &usize| outcomes[*index].is_none() && self.matters(*index, outcomes);
        let open = (0..outcomes.len()).find(is_open)?;
        let asked = || self.parts.iter().zip(&outcomes[..open]);
        let fatal = self.fatal(outcomes).is_some();
        let closed = match self.combine {
            Combine::WeightedSum
            | Combine::Mean
            | Combine::Min
            | Combine::Product
            | Combine::Uwo { .. }
            | Combine::R1 => false,
            Combine::Gate | Combine::GRa => {
                asked().any(|(part, outcome)| !self.opens(part, outcome.as_ref()))
            }
            Combine::Cascade => asked().any(|(_, outcome)| decides(outcome.as_ref())),
        };
        (!fatal && !closed).then_some(open)
    }

    /// The outcome of the whole. Call it once [`Self::next`] has nothing left to ask.
    pub fn combine(&self, outcomes: Vec<Option<Outcome>>) -> Outcome {
        let whole = match self.fatal(&outcomes) {
            Some(failure) => Err(failure),
            None => self.whole(&outcomes),
        };
        let evidence = Evidence {
            trace: group::trace(outcomes.iter().flatten()),
            parts: Some(self.report(outcomes)),
            ..Evidence::default()
        };
        match whole {
            Ok(reward) => Ok(Reward { evidence, ..reward }),
            Err(failure) => Err(Failure { evidence, ..failure }),
        }
    }

    /// Gives the responses of a group their scores relative to each other, if that was asked for.
    /// A group in which a response has no score is a failure already: relative to a part of the
    /// group would be another number.
    pub(crate) fn normalise(&self, group: Outcome) -> Outcome {
        let mut reward = group?;
        if let (Some(how), Some(members)) = (self.normalise, &mut reward.evidence.members) {
            let scores: Vec<f64> = members
                .iter()
                .flat_map(|member| &member.outcome)
                .map(|reward| reward.score)
                .collect();
            let normalised = advantages(&scores, how).map_err(whole::no_combination)?;
            for (member, value) in members.iter_mut().zip(normalised) {
                member.normalised = Some(value);
            }
        }
        Ok(reward)
    }

    /// Whether a part can still change the whole: the consistency of a wrong answer earns nothing,
    /// so that nobody needs to be asked for it.
    fn matters(&self, index: usize, outcomes: &[Option<Outcome>]) -> bool {
        if self.combine != Combine::R1 || self.parts[index].role != Some(Role::Consistency) {
            return true;
        }
        let is_wrong = |(part, outcome): (&PartSpec, &Option<Outcome>)| {
            let counted = outcome.as_ref().and_then(|outcome| part.counted(outcome));
            part.role == Some(Role::Accuracy) && counted == Some(0.0)
        };
        !self.parts.iter().zip(outcomes).any(is_wrong)
    }

    /// The failure that ends the whole, if a part has one. In a cascade an abstention is an answer
    /// to act on.
    fn fatal(&self, outcomes: &[Option<Outcome>]) -> Option<Failure> {
        let fatal = |(part, outcome): (&PartSpec, &Option<Outcome>)| {
            let failure = part.value(outcome.as_ref()?).err()?;
            let hands_on = self.combine == Combine::Cascade && failure.kind == FailureKind::Abstain;
            let ends = part.on_error == OnError::Fail && !hands_on;
            ends.then(|| part_failure(part, &failure))
        };
        self.parts.iter().zip(outcomes).find_map(fatal)
    }

    /// Whether a gate's part lets the next one be asked.
    fn opens(&self, part: &PartSpec, outcome: Option<&Outcome>) -> bool {
        let Some(outcome) = outcome else {
            return false;
        };
        let Some(threshold) = part.threshold else {
            return true;
        };
        match part.counted(outcome) {
            Some(value) if self.combine == Combine::GRa => value > threshold,
            Some(value) => value >= threshold,
            None => part.on_error == OnError::Skip,
        }
    }

    fn report(&self, outcomes: Vec<Option<Outcome>>) -> Vec<PartReport> {
        let reports = self.parts.iter().zip(outcomes).map(|(part, outcome)| PartReport {
            name: part.name.clone(),
            weight: part.weight,
            outcome,
        });
        reports.collect()
    }
}

/// Whether a cascade stops at this outcome.
fn decides(outcome: Option<&Outcome>) -> bool {
    matches!(outcome, Some(Ok(reward)) if reward.certainty == Certainty::Proven)
}

fn part_failure(part: &PartSpec, failure: &Failure) -> Failure {
    let code = failure.reason.code;
    let detail = failure.reason.detail.as_deref().unwrap_or(code);
    let detail = format!("part '{}': {detail}", part.name);
    Failure::new(failure.kind, Reason::with(code, detail))
}

#[cfg(test)]
mod tests;

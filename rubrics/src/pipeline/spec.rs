//! A pipeline as it is configured.

use serde::Serialize;
use verifiers::Reason;

use super::value::{Adjust, Measured};
use crate::combine::group::Normalisation;
use crate::combine::{CombineError, Variance};
use crate::outcome::{Failure, FailureKind, Outcome};

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

impl PartSpec {
    /// What the part measured, adjusted.
    ///
    /// # Errors
    /// The part's own failure; an abstention where the number that is wanted does not exist.
    pub(super) fn value(&self, outcome: &Outcome) -> Result<f64, Failure> {
        let reward = outcome.as_ref().map_err(Failure::clone)?;
        let measured = match self.adjust.measured {
            Measured::Score => reward.score,
            Measured::Raw => reward.raw.ok_or_else(|| self.no_raw())?,
        };
        let scaled = match self.adjust.standardise {
            None => measured,
            Some(standard) => standard.apply(measured).map_err(no_combination)?,
        };
        let clipped = match self.adjust.clip {
            None => scaled,
            Some([least, greatest]) => scaled.clamp(least, greatest),
        };
        Ok(match self.adjust.pass {
            None => clipped,
            Some(least) => f64::from(u8::from(clipped >= least)),
        })
    }

    /// The value with which a part counts; `None` where it is left out.
    pub(super) fn counted(&self, outcome: &Outcome) -> Option<f64> {
        match (self.value(outcome), self.on_error) {
            (Ok(value), _) => Some(value),
            (Err(_), OnError::Floor) => Some(0.0),
            (Err(_), OnError::Skip | OnError::Fail) => None,
        }
    }

    fn no_raw(&self) -> Failure {
        let detail = format!("scorer '{}' gives no raw value", self.scorer);
        Failure::new(FailureKind::Abstain, Reason::with("no_raw_value", detail))
    }
}

/// Numbers that the method has no answer to.
pub(super) fn no_combination(error: CombineError) -> Failure {
    let reason = Reason::with("no_combination", error.to_string());
    Failure::new(FailureKind::Abstain, reason)
}

//! A pipeline as it is configured.

use serde::Serialize;
use verifiers::Reason;

use super::value::{Adjust, Measured};
use crate::combine::group::Normalisation;
use crate::combine::{CombineError, Variance};
use crate::outcome::{Failure, FailureKind, Outcome};

/// The parts of a pipeline and how they are combined.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pipeline {
    /// Combination of the parts.
    pub combine: Combine,
    /// The parts, in order of evaluation. Never empty.
    pub parts: Vec<PartSpec>,
    /// Normalisation of a group's scores; `None` for no normalisation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub normalise: Option<Normalisation>,
}

/// A combination of parts.
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
        /// Whether the variance divides by the number of parts or by one less.
        variance: Variance,
    },
    /// Format, accuracy and consistency (R1-Reward, 2505.02835), distinguished by their roles.
    R1,
    /// Sum of weight times score over the evaluated parts: a part is evaluated only if every part
    /// before it scored at least its threshold.
    Gate,
    /// As [`Combine::Gate`], but a part is evaluated only if every part before it scored strictly
    /// more than its threshold; the default weight is 1 (G-RA, 2508.10548).
    GRa,
    /// The outcome of the first part that decides: the next one is evaluated only if a part
    /// abstained, or gave a presumed and not a proven 0.
    Cascade,
}

/// One part of a pipeline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartSpec {
    /// Name in reports; the scorer's name unless the configuration gives another.
    pub name: String,
    /// The scorer.
    pub scorer: String,
    /// Factor of the score, finite.
    pub weight: f64,
    /// Score from which on a gate evaluates the next part; `None` without a gate.
    pub threshold: Option<f64>,
    /// Effect of a failure. There is no default.
    pub on_error: OnError,
    /// Role in [`Combine::R1`]; `None` elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// Rescaling of its score.
    #[serde(flatten)]
    pub adjust: Adjust,
}

/// Effect of a part without a score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// The pipeline fails with the failure of the part.
    Fail,
    /// The part is left out; in a weighted sum the other weights are scaled up to the same total.
    Skip,
    /// The part counts as 0.
    Floor,
}

/// Role of a part in [`Combine::R1`].
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
    /// The rescaled number of the part.
    ///
    /// # Errors
    /// The part's own failure; an abstention where the number that is wanted does not exist.
    pub(super) fn value(&self, outcome: &Outcome) -> Result<f64, Failure> {
        let scored = outcome.as_ref().map_err(Failure::clone)?;
        let measured = match self.adjust.measured {
            Measured::Score => scored.score,
            Measured::Raw => scored.raw.ok_or_else(|| self.no_raw())?,
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

/// The failure of a formula.
pub(super) fn no_combination(error: CombineError) -> Failure {
    let reason = Reason::with("no_combination", error.to_string());
    Failure::new(FailureKind::Abstain, reason)
}

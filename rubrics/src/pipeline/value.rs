//! What a part counts with: its score, on the scale that the pipeline wants.

use serde::Serialize;
use verifiers::Reason;

use super::{OnError, PartSpec};
use crate::combine::ensemble::Standard;
use crate::outcome::{Failure, FailureKind, Outcome};

/// What is done to a part's score before it counts, in the order of the fields.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Adjust {
    /// Which number of the part is taken.
    #[serde(rename = "value", skip_serializing_if = "Measured::is_score")]
    pub measured: Measured,
    /// The scale of a reference set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standardise: Option<Standard>,
    /// The least and the greatest value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clip: Option<[f64; 2]>,
    /// 1 from this value on, and 0 below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass: Option<f64>,
}

/// A number of a reward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measured {
    /// The score.
    #[default]
    Score,
    /// The unbounded value behind it.
    Raw,
}

impl Measured {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_score(&self) -> bool {
        *self == Self::Score
    }
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
            Some(standard) => standard.apply(measured).map_err(super::whole::no_combination)?,
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

//! Rescaling of a part's number.

use serde::Serialize;

use crate::combine::ensemble::Standard;

/// Rescaling of the score of a part, in the order of the fields.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Adjust {
    /// The number of the part that counts.
    #[serde(rename = "value", skip_serializing_if = "Measured::is_score")]
    pub measured: Measured,
    /// Standardisation by a reference set; `None` for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standardise: Option<Standard>,
    /// Minimum and maximum; `None` for no clipping.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clip: Option<[f64; 2]>,
    /// 1 from this value on and 0 below; `None` for no threshold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass: Option<f64>,
}

/// A number of an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measured {
    /// The score.
    #[default]
    Score,
    /// The raw value.
    Raw,
}

impl Measured {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_score(&self) -> bool {
        *self == Self::Score
    }
}

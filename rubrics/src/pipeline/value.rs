//! How a part's number is rescaled before it counts.

use serde::Serialize;

use crate::combine::ensemble::Standard;

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

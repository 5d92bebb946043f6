//! Scoring rules of judgements.

use serde::Serialize;

/// Rules that make a verdict of judgements.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct ScoringRules {
    pub(super) score: GradeChoice,
    pub(super) inconsistent: Inconsistent,
    pub(super) average: Average,
    pub(super) orders: u64,
    pub(super) max_group: usize,
}

/// The grade that becomes the score.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum GradeChoice {
    /// The expected one.
    #[default]
    Expected,
    /// The one that was written.
    Sampled,
}

/// Treatment of a pair whose orders disagree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Inconsistent {
    /// It has no verdict.
    #[default]
    Abstain,
    /// Both orders count as they are.
    Average,
}

/// Quantity that is averaged over the orders.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Average {
    /// The differences of log-probabilities.
    #[default]
    LogOdds,
    /// The probabilities.
    Probability,
}

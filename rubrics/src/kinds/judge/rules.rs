//! How judgements become a score.

use serde::Serialize;

/// How a verdict is made of judgements.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Rules {
    pub(super) score: GradeChoice,
    pub(super) inconsistent: Inconsistent,
    pub(super) average: Average,
    pub(super) orders: u64,
    pub(super) max_group: usize,
}

/// Which grade the score is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum GradeChoice {
    /// The expected one.
    #[default]
    Expected,
    /// The one that was written.
    Sampled,
}

/// What becomes of a pair whose orders disagree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Inconsistent {
    /// It has no verdict.
    #[default]
    Abstain,
    /// Both orders count as they are.
    Average,
}

/// What is averaged over the orders.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Average {
    /// The differences of log-probabilities.
    #[default]
    LogOdds,
    /// The probabilities.
    Probability,
}

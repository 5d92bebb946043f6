//! How a scoring request is to be run.

use std::time::Instant;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Which queue the work waits in.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Somebody waits for the answer.
    #[default]
    Interactive,
    /// Runs where interactive work leaves room, and is never starved.
    Batch,
}

/// How the inputs of one scoring request are run. The same for all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScoreOptions {
    /// Which queue the work waits in.
    pub priority: Priority,
    /// When the work is given up; `None` without a deadline.
    pub deadline: Option<Instant>,
    /// Whether verdicts carry `reason.detail`.
    pub explain: bool,
    /// Seed of every sampled decision.
    pub seed: u64,
}

//! Options of a scoring request.

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
    /// A client waits for the answer.
    #[default]
    Interactive,
    /// Runs in the capacity that interactive work leaves; never starved.
    Batch,
}

/// Options of one scoring request; the same for all of its inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScoreOptions {
    /// Queue of the work.
    pub priority: Priority,
    /// Time at which unfinished work is cancelled; `None` without a deadline.
    pub deadline: Option<Instant>,
    /// Whether verdicts carry `reason.detail`.
    pub explain: bool,
    /// Seed of every sampled decision.
    pub seed: u64,
    /// The client, for fair shares of engines and for counting its tokens.
    pub client: u64,
    /// Units of verifier fuel that all verdicts together may spend; `None` without a bound.
    pub fuel: Option<u64>,
}

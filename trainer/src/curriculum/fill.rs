//! Dynamic sampling: sample problems until enough groups are worth training on.
//!
//! DAPO (arXiv 2503.14476) samples again until the batch is full, and ODF keeps its batches at a
//! constant size in the same way. The bound on rounds and the rule for reaching it are ours.

use serde::{Deserialize, Serialize};

use crate::error::{Result, TrainError};

/// The options of filling a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FillConfig {
    /// Maximum rounds of sampling for one batch; 10. With 1 there is no second round.
    pub rounds: u32,
    /// Groups per round; by default as many as a batch has.
    pub groups: Option<usize>,
    /// The rule for a batch that is not full after the last round.
    pub shortfall: Shortfall,
}

impl Default for FillConfig {
    fn default() -> Self {
        Self { rounds: 10, groups: None, shortfall: Shortfall::Train }
    }
}

impl FillConfig {
    /// Samples once and trains on the result.
    pub(crate) const ONCE: FillConfig =
        FillConfig { rounds: 1, groups: None, shortfall: Shortfall::Train };
}

/// The rule for a batch that is not full after the last round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shortfall {
    /// Train on it as it is; skip the step if it is empty.
    Train,
    /// End the run.
    Fail,
}

/// The next action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Sample this many groups, and report to [`Fill::add`] how many are kept.
    Sample(usize),
    /// Train on this many groups.
    Train(usize),
}

/// A batch that is being filled: a state machine over counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fill {
    config: FillConfig,
    want: usize,
    have: usize,
    rounds: u32,
}

impl Fill {
    /// Starts a batch of `want` groups.
    ///
    /// # Errors
    /// No round, or rounds without groups.
    pub fn new(config: FillConfig, want: usize) -> Result<Self> {
        if config.rounds == 0 || config.groups == Some(0) || want == 0 {
            return Err(TrainError::Invalid(
                "a batch has at least one group, and one round of at least one".to_owned(),
            ));
        }
        Ok(Self { config, want, have: 0, rounds: 0 })
    }

    /// Decides the next action.
    ///
    /// # Errors
    /// [`TrainError::NoProgress`] if the rounds are over, the batch is not full, and the options
    /// end the run in this case.
    pub fn next(&self) -> Result<Next> {
        if self.have >= self.want {
            return Ok(Next::Train(self.want));
        }
        if self.rounds < self.config.rounds {
            return Ok(Next::Sample(self.config.groups.unwrap_or(self.want)));
        }
        match self.config.shortfall {
            Shortfall::Train => Ok(Next::Train(self.have)),
            Shortfall::Fail => Err(TrainError::NoProgress(format!(
                "after {} rounds of sampling only {} of {} groups are worth training on",
                self.rounds, self.have, self.want
            ))),
        }
    }

    /// Checks the options.
    ///
    /// # Errors
    /// As [`Fill::new`].
    pub fn check(config: FillConfig) -> Result<()> {
        Self::new(config, 1).map(|_| ())
    }

    /// Ends a round that kept `kept` groups.
    pub fn add(&mut self, kept: usize) {
        self.have += kept;
        self.rounds += 1;
    }

    /// Number of rounds sampled.
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    /// Groups kept beyond a full batch, which are not trained on.
    pub fn surplus(&self) -> usize {
        self.have.saturating_sub(self.want)
    }
}

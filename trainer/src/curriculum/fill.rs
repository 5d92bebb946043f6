//! Dynamic sampling: answer problems until enough groups are worth training on.
//!
//! DAPO (arXiv 2503.14476) samples again until the batch is full, and ODF keeps its batches at a
//! constant size in the same way. The bound on rounds and what happens there are ours.

use serde::{Deserialize, Serialize};

use crate::error::{Result, TrainError};

/// The options of filling a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FillConfig {
    /// Most rounds of sampling for one batch; 10. With 1 nothing is sampled again.
    pub rounds: u32,
    /// Groups that a round samples; by default as many as a batch has.
    pub groups: Option<usize>,
    /// What happens after the last round.
    pub shortfall: Shortfall,
}

impl Default for FillConfig {
    fn default() -> Self {
        Self { rounds: 10, groups: None, shortfall: Shortfall::Train }
    }
}

impl FillConfig {
    /// Samples once and takes what comes.
    pub(crate) const ONCE: FillConfig =
        FillConfig { rounds: 1, groups: None, shortfall: Shortfall::Train };
}

/// What happens to a batch that is not full after the last round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shortfall {
    /// It is trained on as it is, and the step skipped if it is empty.
    Train,
    /// The run ends.
    Fail,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Sample so many groups, and tell [`Fill::add`] how many of them are kept.
    Sample(usize),
    /// Train on so many.
    Train(usize),
}

/// One batch on its way: a state machine over counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fill {
    config: FillConfig,
    want: usize,
    have: usize,
    rounds: u32,
}

impl Fill {
    /// A batch of `want` groups.
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

    /// What to do next.
    ///
    /// # Errors
    /// [`TrainError::NoProgress`] where the rounds are over, the batch is not full, and the options say
    /// that this ends the run.
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

    /// Ends a round that kept so many groups.
    pub fn add(&mut self, kept: usize) {
        self.have += kept;
        self.rounds += 1;
    }

    /// Rounds that were sampled.
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    /// Groups that are kept beyond a full batch, and not trained on.
    pub fn surplus(&self) -> usize {
        self.have.saturating_sub(self.want)
    }
}

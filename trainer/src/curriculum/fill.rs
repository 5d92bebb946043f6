//! Dynamic sampling: sample problems until enough groups are worth training on.
//!
//! DAPO (arXiv 2503.14476) samples again until the batch is full, and ODF keeps its batches at a
//! constant size in the same way. The bound on rounds and the rule for reaching it are ours.
//!
//! `CodeV-R1` (arXiv 2505.24183) draws as many problems as a batch is expected to need by the discard
//! rate of earlier steps ([`DiscardRate`]); its formula is not known, and ours is METHODS2 I4's.

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
    /// Whether a round samples what the batch still needs by the discard rate of earlier steps
    /// (`CodeV-R1`), in the place of `groups`; not by default.
    pub adaptive: bool,
    /// The rule for a batch that is not full after the last round.
    pub shortfall: Shortfall,
}

impl Default for FillConfig {
    fn default() -> Self {
        Self { rounds: 10, groups: None, adaptive: false, shortfall: Shortfall::Train }
    }
}

impl FillConfig {
    /// Samples once and trains on the result.
    pub(crate) const ONCE: FillConfig =
        FillConfig { rounds: 1, groups: None, adaptive: false, shortfall: Shortfall::Train };
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

/// A running estimate of the share of sampled groups that are not trained on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DiscardRate(#[serde(with = "crate::float_bits")] f64);

impl DiscardRate {
    /// Weight of the newest step.
    const NEWEST: f64 = 0.1;
    /// The highest estimate, at which ten times as many groups are sampled.
    const MOST: f64 = 0.9;

    /// An estimate to start from.
    pub fn new(rate: f64) -> Self {
        Self(rate.clamp(0.0, Self::MOST))
    }

    /// The estimate.
    pub fn rate(self) -> f64 {
        self.0
    }

    /// Updates the estimate with the share of the groups of a step that were discarded.
    pub fn observe(&mut self, discarded: f64) {
        *self = Self::new((1.0 - Self::NEWEST) * self.0 + Self::NEWEST * discarded);
    }

    /// The number of groups to sample so that `missing` are expected to be trained on.
    pub fn needed(self, missing: usize) -> usize {
        let needed = missing as f64 / (1.0 - self.0);
        // 10 / (1 - 0.9) is a little more than 100 in floats.
        let needed = (needed - 1e-9).ceil();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at most ten times a number of groups"
        )]
        let needed = needed as usize;
        needed.max(missing)
    }
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
#[derive(Clone, Debug, PartialEq)]
pub struct Fill {
    config: FillConfig,
    discard: DiscardRate,
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
        if config.adaptive && config.groups.is_some() {
            return Err(TrainError::Invalid(
                "fill: `adaptive` decides how many groups a round has, and `groups` is given as well"
                    .to_owned(),
            ));
        }
        if config.rounds == 0 || config.groups == Some(0) || want == 0 {
            return Err(TrainError::Invalid(
                "a batch has at least one group, and one round of at least one".to_owned(),
            ));
        }
        Ok(Self { config, discard: DiscardRate::default(), want, have: 0, rounds: 0 })
    }

    /// Sets the discard rate of earlier steps.
    #[must_use]
    pub fn with_discard(self, discard: DiscardRate) -> Self {
        Self { discard, ..self }
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
            let groups = if self.config.adaptive {
                self.discard.needed(self.want - self.have)
            } else {
                self.config.groups.unwrap_or(self.want)
            };
            return Ok(Next::Sample(groups));
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

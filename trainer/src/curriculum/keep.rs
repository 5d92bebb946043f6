//! Rules for the groups of rollouts that are trained on.

use serde::{Deserialize, Serialize};

use crate::error::{Result, TrainError};
use crate::item::Group;

/// The rule. A group in which a rollout has a failure instead of a reward is never trained on: its
/// rewards are not known. To train on the other rollouts, remove that one first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case", tag = "keep")]
pub enum Keep {
    /// All groups, also those of zero variance, as in SPARK (arXiv 2509.22624): their advantages
    /// are 0, but a divergence from the reference still has a gradient.
    All,
    /// Groups whose rewards differ, as in DAPO (arXiv 2503.14476) and CRL.
    #[default]
    Varied,
    /// Groups whose pass rate is within a band around one half: online difficulty filtering (ODF,
    /// arXiv 2504.03380). The paper's thresholds are not known; 0.2 and 0.8 are ours. 0 and 1 are
    /// always outside.
    Band {
        /// The least pass rate.
        #[serde(default = "default_low")]
        low: f64,
        /// The greatest pass rate.
        #[serde(default = "default_high")]
        high: f64,
        /// The reward from which a rollout passes: 1.
        #[serde(default = "default_pass")]
        pass: f64,
    },
}

fn default_low() -> f64 {
    0.2
}

fn default_high() -> f64 {
    0.8
}

fn default_pass() -> f64 {
    1.0
}

/// Whether a group is kept; if not, the reason.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    /// Trained on.
    Kept,
    /// A reward is missing.
    Failed,
    /// All rewards are equal to this one.
    Equal(f64),
    /// Too few rollouts pass.
    TooHard,
    /// Too many rollouts pass.
    TooEasy,
}

/// Groups by their fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KeepCounts {
    /// All groups.
    #[serde(rename = "sampled")]
    pub groups: u64,
    /// Trained on.
    pub kept: u64,
    /// Dropped because a reward is missing.
    #[serde(rename = "without_reward")]
    pub failed: u64,
    /// Groups of equal rewards, kept or not.
    pub zero_variance: u64,
    /// Those of them in which every rollout has a reward of 1 or more.
    pub all_right: u64,
    /// Dropped below a band.
    pub too_hard: u64,
    /// Dropped above it.
    pub too_easy: u64,
}

impl KeepCounts {
    /// Adds the counts of another round.
    pub fn add(&mut self, other: Self) {
        self.groups += other.groups;
        self.kept += other.kept;
        self.failed += other.failed;
        self.zero_variance += other.zero_variance;
        self.all_right += other.all_right;
        self.too_hard += other.too_hard;
        self.too_easy += other.too_easy;
    }
}

impl Keep {
    /// Checks the options.
    ///
    /// # Errors
    /// A band that is empty, or that holds 0 or 1.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::All | Self::Varied => Ok(()),
            Self::Band { low, high, pass } => {
                if *low > 0.0 && low <= high && *high < 1.0 && pass.is_finite() {
                    return Ok(());
                }
                Err(TrainError::Invalid(format!(
                    "curriculum: a band has 0 < low <= high < 1 and a finite pass, not {low}, \
                     {high} and {pass}"
                )))
            }
        }
    }

    /// Decides about `group` and counts the decision. A group without rollouts has no reward.
    pub fn judge(&self, group: &Group, counts: &mut KeepCounts) -> Fate {
        counts.groups += 1;
        let rewards = group.rewards().filter(|rewards| !rewards.is_empty());
        let fate = rewards.map_or(Fate::Failed, |rewards| self.fate(&rewards, counts));
        match fate {
            Fate::Kept => counts.kept += 1,
            Fate::Failed => counts.failed += 1,
            Fate::Equal(_) => {}
            Fate::TooHard => counts.too_hard += 1,
            Fate::TooEasy => counts.too_easy += 1,
        }
        fate
    }

    fn fate(&self, rewards: &[f64], counts: &mut KeepCounts) -> Fate {
        if rewards.iter().any(|reward| !reward.is_finite()) {
            return Fate::Failed;
        }
        let equal = rewards.windows(2).all(|pair| pair[0].total_cmp(&pair[1]).is_eq());
        if equal {
            counts.zero_variance += 1;
            counts.all_right += u64::from(rewards[0] >= 1.0);
        }
        match *self {
            Self::Varied | Self::Band { .. } if equal => Fate::Equal(rewards[0]),
            Self::All | Self::Varied => Fate::Kept,
            Self::Band { low, high, pass } => {
                let passed = rewards.iter().filter(|reward| **reward >= pass).count();
                let rate = passed as f64 / rewards.len() as f64;
                if rate < low {
                    Fate::TooHard
                } else if rate > high {
                    Fate::TooEasy
                } else {
                    Fate::Kept
                }
            }
        }
    }
}

/// Ends a run without a learning signal: no group with different rewards for `limit` steps.
/// Serialisable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoProgressRule {
    limit: u64,
    in_a_row: u64,
}

impl NoProgressRule {
    /// Ends a run after `limit` such steps in a row; 0 never does.
    pub fn new(limit: u64) -> Self {
        Self { limit, in_a_row: 0 }
    }

    /// Adds the counts of one step.
    ///
    /// # Errors
    /// [`TrainError::NoProgress`], with the counts of groups by fate.
    pub fn observe(&mut self, counts: &KeepCounts) -> Result<()> {
        let taught = counts.groups > counts.zero_variance + counts.failed;
        self.in_a_row = if taught { 0 } else { self.in_a_row + 1 };
        if self.limit == 0 || self.in_a_row < self.limit {
            return Ok(());
        }
        let wrong = counts.zero_variance - counts.all_right;
        let advice = if counts.failed == counts.groups {
            "look at why the scorer gives no rewards"
        } else if counts.all_right >= wrong {
            "the problems are too easy for this model"
        } else {
            "the problems are too hard for this model, or the scorer cannot read its responses"
        };
        Err(TrainError::NoProgress(format!(
            "for {} steps no group had different rewards, so there is nothing to learn: of the last \
             {} groups {} were all right, {wrong} equal and not right, and {} had a missing reward; \
             {advice}",
            self.in_a_row, counts.groups, counts.all_right, counts.failed
        )))
    }
}

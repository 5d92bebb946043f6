//! Process rewards that more steps do not increase: Clip and Delta (On Designing Effective RL
//! Reward at Training Time for LLM Reasoning, 2410.15115).
//!
//! A policy that is rewarded by the sum of its step scores learns to write many steps. Clip makes
//! every reward 0 or negative, so that more steps never increase the sum. Delta gives differences,
//! so that the rewards from a step on add up to that step's own score, however many steps follow.

use serde::{Deserialize, Serialize};

use super::numbers::{CombineError, finite, results};

/// Rewards of the last two steps under Delta. We do not have these two indices from the paper
/// itself, so they are an option, and neither variant is called the paper's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The last step gets 0, because it carries the reward of success, and the one before keeps its
    /// score. The sum is 0 for one step, and the first score for two steps or more.
    #[default]
    SuccessOnly,
    /// The last step keeps its score; the sum is the first score for every number of steps.
    OwnScore,
}

/// Maps step scores to step rewards.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shaping {
    /// `min(q_k - eta, 0)`.
    Clip {
        /// The score from which on a step gets 0; chosen so that most steps do.
        eta: f64,
    },
    /// `q_k - q_(k+1)`.
    Delta {
        /// Rewards of the last two steps.
        ending: Ending,
    },
    /// Delta of the clipped scores, the best of the three in the paper.
    ClipThenDelta {
        /// As for Clip.
        eta: f64,
        /// As for Delta.
        ending: Ending,
    },
}

/// Computes step rewards from step scores; an empty list gives an empty list.
///
/// # Errors
/// A number that is not finite, or differences that are not.
pub fn shape(scores: &[f64], how: Shaping) -> Result<Vec<f64>, CombineError> {
    finite("step score", scores)?;
    match how {
        Shaping::Clip { eta } => clip(scores, eta),
        Shaping::Delta { ending } => delta(scores, ending),
        Shaping::ClipThenDelta { eta, ending } => delta(&clip(scores, eta)?, ending),
    }
}

fn clip(scores: &[f64], eta: f64) -> Result<Vec<f64>, CombineError> {
    finite("eta", &[eta])?;
    results(scores.iter().map(|score| (score - eta).min(0.0)).collect())
}

fn delta(scores: &[f64], ending: Ending) -> Result<Vec<f64>, CombineError> {
    let counted = match ending {
        Ending::SuccessOnly => scores.len().saturating_sub(1),
        Ending::OwnScore => scores.len(),
    };
    let (paid, unpaid) = scores.split_at(counted);
    let mut rewards: Vec<f64> = paid.windows(2).map(|pair| pair[0] - pair[1]).collect();
    rewards.extend(paid.last());
    rewards.extend(unpaid.iter().map(|_| 0.0));
    results(rewards)
}

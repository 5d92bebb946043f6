//! `ReNorm` of PPR (Hybrid Reward Normalization for Process-supervised Non-verifiable Agentic Tasks,
//! 2509.25598): process and outcome rewards in [0, 1], each less one half.
//!
//! Subtracting one half from both is reported of the paper; the place of the outcome is not, so
//! both readings are here, and neither is called the paper's.

use serde::{Deserialize, Serialize};

use super::numbers::{CombineError, shares, some_finite};

/// Steps whose reward includes the outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeAt {
    /// At every step: `r_t = r_p + r_o - 1`. A good step of a failed episode gets at most 0.
    #[default]
    EveryStep,
    /// At the last step alone: `r_p - 1/2` for each, and `r_o - 1/2` on top for the last.
    LastStep,
}

/// Computes the reward of each step of an episode.
///
/// # Errors
/// No step, or a reward outside [0, 1].
pub fn renorm(process: &[f64], outcome: f64, at: OutcomeAt) -> Result<Vec<f64>, CombineError> {
    some_finite("process reward", process)?;
    shares("process reward", process)?;
    shares("outcome reward", &[outcome])?;
    let last = process.len() - 1;
    let reward = |(index, own): (usize, &f64)| {
        let shared = match at {
            OutcomeAt::EveryStep => true,
            OutcomeAt::LastStep => index == last,
        };
        own - 0.5 + if shared { outcome - 0.5 } else { 0.0 }
    };
    Ok(process.iter().enumerate().map(reward).collect())
}

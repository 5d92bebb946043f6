//! Step rewards, returns, and the mapping of steps to tokens.

use std::ops::Range;

use super::ScoredResponse;
use crate::losses::error::{FormulaError, Result, finite, lengths, setting};

/// The return at each place: its own reward and the discounted ones of all later places.
///
/// # Errors
/// A discount outside [0, 1], or numbers that are not finite or too large.
pub fn token_returns(rewards: &[f64], gamma: f64) -> Result<Vec<f64>> {
    check_gamma(gamma)?;
    finite("reward", rewards)?;
    let mut returns = rewards.to_vec();
    for index in (1..returns.len()).rev() {
        returns[index - 1] += gamma * returns[index];
    }
    finite("return", &returns)?;
    Ok(returns)
}

/// iStar's implicit step rewards (2509.19199): `beta` times the sum over a step's tokens of
/// `log pi_phi - log pi_old`, where `pi_phi` is the process reward model, a policy trained by DPO
/// on ranked trajectories of the group. The paper's beta is 0.05.
///
/// # Errors
/// Lists of different lengths, a step outside them, or numbers that are not finite.
pub fn implicit_rewards(
    logp: &[f64],
    old: &[f64],
    steps: &[Range<usize>],
    beta: f64,
) -> Result<Vec<f64>> {
    lengths("old log-probabilities", old.len(), logp.len())?;
    finite("log-probability", logp)?;
    finite("old log-probability", old)?;
    finite("beta", &[beta])?;
    let mut rewards = Vec::with_capacity(steps.len());
    for (index, step) in steps.iter().enumerate() {
        let (Some(now), Some(old)) = (logp.get(step.clone()), old.get(step.clone())) else {
            return Err(FormulaError::OutOfRange {
                what: "step",
                index,
                range: "within the tokens",
            });
        };
        let sum: f64 = now.iter().zip(old).map(|(now, old)| now - old).sum();
        rewards.push(beta * sum);
    }
    finite("step reward", &rewards)?;
    Ok(rewards)
}

/// SPA-RL's step rewards (2505.20732): a step's contribution to the outcome, by the progress
/// estimator, plus `bonus` if its action could be executed. The published code has a bonus of 0.5;
/// its further changes to these numbers (one leave-one-out value for all steps, steps weighted by
/// how many follow) are not in the paper and not here.
///
/// # Errors
/// Lists of different lengths, or numbers that are not finite.
pub fn grounded_rewards(
    contributions: &[f64],
    executable: &[bool],
    bonus: f64,
) -> Result<Vec<f64>> {
    lengths("executed actions", executable.len(), contributions.len())?;
    finite("contribution", contributions)?;
    finite("bonus", &[bonus])?;
    let reward = |(own, done): (&f64, &bool)| own + if *done { bonus } else { 0.0 };
    let rewards: Vec<f64> = contributions.iter().zip(executable).map(reward).collect();
    finite("step reward", &rewards)?;
    Ok(rewards)
}

/// Spreads numbers of steps over tokens: each step's tokens have its number, all others `outside`.
pub(super) fn over_steps(response: &ScoredResponse<'_>, values: &[f64], outside: f64) -> Vec<f64> {
    let mut tokens = vec![outside; response.n_tokens];
    for (step, value) in response.steps.iter().zip(values) {
        tokens[step.tokens.clone()].fill(*value);
    }
    tokens
}

/// Spreads returns of steps over tokens: a token between steps has the number of the next step, and
/// those behind the last step have that one's. Tokens of a response without steps, beside others that have
/// some, have 0.
pub(super) fn towards_steps(response: &ScoredResponse<'_>, values: &[f64]) -> Vec<f64> {
    let last = values.last().copied().unwrap_or(0.0);
    let mut tokens = vec![last; response.n_tokens];
    let mut start = 0;
    for (step, value) in response.steps.iter().zip(values) {
        tokens[start..step.tokens.end].fill(*value);
        start = step.tokens.end;
    }
    tokens
}

pub(super) fn check_gamma(gamma: f64) -> Result<()> {
    setting("gamma", "from 0 to 1", (0.0..=1.0).contains(&gamma))
}

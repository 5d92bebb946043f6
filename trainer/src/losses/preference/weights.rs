//! Weights of pairs of responses.

use crate::losses::error::{Result, all, finite, lengths};

/// The weight of WPO (2406.11827) for one response; a pair's weight is the product of both: `exp`
/// of the mean over tokens of `log p_t - log sum over v of p_v^2`. Answers that are improbable
/// under the policy count less. It is constant in the loss.
///
/// `log_squares` has `log sum over v of p_v^2` of each token's distribution.
///
/// # Errors
/// Lists of different lengths, or numbers that are not finite.
pub fn wpo(logp: &[f64], log_squares: &[f64]) -> Result<f64> {
    lengths("log-squares", log_squares.len(), logp.len())?;
    finite("log-probability", logp)?;
    finite("log-square", log_squares)?;
    if logp.is_empty() {
        return Ok(1.0);
    }
    let sum: f64 = logp.iter().zip(log_squares).map(|(p, s)| p - s).sum();
    let weight = (sum / logp.len() as f64).exp();
    finite("weight", &[weight])?;
    Ok(weight)
}

/// Weight `|2 p - 1|` of a pair by a judge's probability `p` that the first response is better.
/// Ours.
///
/// # Errors
/// A probability outside [0, 1].
pub fn confidence(p: f64) -> Result<f64> {
    all("probability", &[p], "from 0 to 1", |p| (0.0..=1.0).contains(&p))?;
    Ok((2.0 * p - 1.0).abs())
}

/// A solution with the properties that W-DPO of `StepORLM` (2509.22558) compares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JudgedSolution {
    /// Whether the solver found it right.
    pub is_right: bool,
    /// The share of its steps that are right, from 0 to 1.
    pub right_share: f64,
}

/// The preference of W-DPO between two solutions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preference {
    /// Whether the first is preferred.
    pub prefers_first: bool,
    /// The weight of the pair.
    pub weight: f64,
}

/// Compares two solutions: if outcomes differ, the right one wins with weight 1; otherwise the one
/// with more right steps, with the difference of their shares. `None` if both are equal.
///
/// # Errors
/// A share outside [0, 1].
pub fn step_orlm(first: JudgedSolution, second: JudgedSolution) -> Result<Option<Preference>> {
    let shares = [first.right_share, second.right_share];
    all("share of right steps", &shares, "from 0 to 1", |share| (0.0..=1.0).contains(&share))?;
    let difference = shares[0] - shares[1];
    let (prefers_first, weight) = if first.is_right == second.is_right {
        (difference > 0.0, difference.abs())
    } else {
        (first.is_right, 1.0)
    };
    let preference = Preference { prefers_first, weight };
    Ok((weight > 0.0).then_some(preference))
}

//! Gated reward accumulation (G-RA, 2508.10548): a lower reward counts only if every higher one is
//! above its threshold.

use super::numbers::{CombineError, equally_many, finite, results};

/// Returns `R'(i)`: the rewards in order of priority, each set to 0 unless every reward before it
/// is strictly above its own threshold. The outcome comes first, so that a trajectory without one
/// (an empty patch) earns nothing for its form. The total is the sum.
///
/// `thresholds` has one entry for each reward but the last, which gates nothing.
///
/// # Errors
/// A wrong number of thresholds, or a number that is not finite.
pub fn gated(rewards: &[f64], thresholds: &[f64]) -> Result<Vec<f64>, CombineError> {
    finite("reward", rewards)?;
    finite("threshold", thresholds)?;
    let gates = rewards.len().saturating_sub(1);
    equally_many("thresholds", thresholds.len(), gates)?;
    let mut open = true;
    let mut counted = Vec::with_capacity(rewards.len());
    for (index, reward) in rewards.iter().enumerate() {
        counted.push(if open { *reward } else { 0.0 });
        open = open && thresholds.get(index).is_none_or(|gate| reward > gate);
    }
    results(counted)
}

//! PCL (arXiv 2510.01135): a value model's one forward replaces rollouts as the measure of difficulty.
//!
//! Reported: of k m candidates the m whose value is nearest to a target are answered; the value model
//! is fitted to their mean rewards one step behind, by squared error. The value model is the
//! caller's; this is the choice.

use crate::error::{Result, TrainError};

/// The `count` candidates whose values are nearest to `target`, in their order; of equally near ones
/// the earlier.
///
/// # Errors
/// A value that is not finite, or another number of values than of candidates.
pub fn nearest(candidates: &[u64], values: &[f64], target: f64, count: usize) -> Result<Vec<u64>> {
    if values.len() != candidates.len() {
        return Err(TrainError::Invalid(format!(
            "curriculum: {} values for {} candidates",
            values.len(),
            candidates.len()
        )));
    }
    let broken = values.iter().position(|value| !value.is_finite());
    if let Some(place) = broken {
        return Err(TrainError::Invalid(format!(
            "curriculum: the value of problem {} is not finite",
            candidates[place]
        )));
    }
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    let distance = |place: &usize| (values[*place] - target).abs();
    order.sort_by(|a, b| distance(a).total_cmp(&distance(b)));
    order.truncate(count);
    order.sort_unstable();
    Ok(order.into_iter().map(|place| candidates[place]).collect())
}

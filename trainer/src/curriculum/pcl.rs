//! PCL (arXiv 2510.01135): one forward of a value model replaces rollouts as the measure of
//! difficulty.
//!
//! Reported: of k m candidates the m whose value is nearest to a target are sampled; the value
//! model is fitted to their mean rewards one step behind, by squared error. The caller owns the
//! value model; this module makes the choice.

use crate::error::{Result, TrainError};

/// The `count` candidates whose values are nearest to `target`, in their order; the earlier of
/// equally near ones.
///
/// # Errors
/// A value that is not finite, or a different number of values than of candidates.
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

//! The score of a checklist: `RuscaRL` (2508.16949), as its public code has it.

use super::error::RubricError;

/// The result of a checklist.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Points {
    /// The points of the items that are met.
    pub met: f64,
    /// The positive points of all items.
    pub possible: f64,
    /// The one over the other: at most 1, and below 0 where faults outweigh merits.
    pub unclipped: f64,
    /// The same, cut to `[0, 1]`.
    pub clipped: f64,
}

/// Returns `Σ met_i p_i / Σ_{p_i > 0} p_i` for items given by their points and by how far each is
/// met, in `[0, 1]`. An item without a value is left out of both sums. Without positive points the
/// score is 0, as in the paper's code; parsing refuses such a rubric unless configured.
///
/// # Errors
/// [`RubricError::NothingCounted`] if every item with positive points is left out, and
/// [`RubricError::Overflow`].
pub fn points(items: &[(f64, Option<f64>)]) -> Result<Points, RubricError> {
    let counted = items.iter().filter_map(|(points, met)| Some((points, (*met)?)));
    let met: f64 = counted.clone().map(|(points, met)| points * met).sum();
    let possible: f64 = counted.map(|(points, _)| points.max(0.0)).sum();
    let any_positive = items.iter().any(|(points, _)| *points > 0.0);
    if any_positive && possible == 0.0 {
        return Err(RubricError::NothingCounted);
    }
    let unclipped = if any_positive { met / possible } else { 0.0 };
    if !unclipped.is_finite() {
        return Err(RubricError::Overflow);
    }
    Ok(Points { met, possible, unclipped, clipped: unclipped.clamp(0.0, 1.0) })
}

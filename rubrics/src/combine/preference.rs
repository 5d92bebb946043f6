//! Preference that does not depend on the order of the responses: Pairwise-RL (2504.04950).
//!
//! The paper's formula is not public. Averaging both orders is our reading.

use super::numbers::{CombineError, shares};

/// A judge's answers to a pair in both orders.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Preference {
    /// `p = (P_AB + 1 - P_BA) / 2`: how surely the first response is the better one.
    pub probability: f64,
    /// `P_AB + P_BA - 1`: above 0 if the judge prefers the first position, 0 without bias, below 0
    /// if it prefers the second position.
    pub position_bias: f64,
    /// Whether both orders prefer the same response, or neither order prefers one.
    pub is_consistent: bool,
}

/// Computes the preference for the first response over the second. `in_order` is the judge's
/// probability for the first position with the first response there, `swapped` with the second
/// response there.
///
/// # Errors
/// A probability outside [0, 1].
pub fn preference(in_order: f64, swapped: f64) -> Result<Preference, CombineError> {
    shares("probability", &[in_order, swapped])?;
    let turned = 1.0 - swapped;
    Ok(Preference {
        probability: 0.5 * (in_order + turned),
        position_bias: in_order + swapped - 1.0,
        is_consistent: in_order.total_cmp(&0.5) == 0.5_f64.total_cmp(&swapped),
    })
}

//! A preference that does not depend on which response stands first: Pairwise-RL (2504.04950).
//!
//! No formula of the paper is public. That both orders are averaged is our reading.

use super::numbers::{CombineError, shares};

/// A judge's answers to a pair in both orders.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Preference {
    /// `p = (P_AB + 1 - P_BA) / 2`: how surely the first response is the better one.
    pub probability: f64,
    /// `P_AB + P_BA - 1`: above 0 for a judge that prefers what stands first, 0 for one that does
    /// not care, below 0 for one that prefers what stands second.
    pub position_bias: f64,
    /// Whether both orders prefer the same response, or neither order prefers one.
    pub is_consistent: bool,
}

/// The preference of the first response over the second. `in_order` is the probability that the
/// judge names what stands first where the first response does, `swapped` the same where the
/// second response does.
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

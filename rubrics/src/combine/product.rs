//! Reward of R1-Reward (Training Multimodal Reward Model Through Stable Reinforcement Learning,
//! 2505.02835): format, accuracy, and consistency, which pays only with a right answer.

use super::numbers::{CombineError, finite, result, shares};

/// Returns `R = 0.5 format + accuracy (1 + 0.5 consistency)`.
///
/// `format` and `accuracy` are 0 or 1, or a number between; `consistency` is 1 if a judge finds
/// that the reasoning leads to the answer, -1 if not, and 0 if the judge's output is unreadable. It
/// multiplies accuracy, so that alone it earns nothing.
///
/// # Errors
/// A number outside its range.
pub fn r1_reward(format: f64, accuracy: f64, consistency: f64) -> Result<f64, CombineError> {
    shares("format", &[format])?;
    shares("accuracy", &[accuracy])?;
    finite("consistency", &[consistency])?;
    if consistency.abs() > 1.0 {
        return Err(CombineError::OutOfRange {
            what: "consistency",
            index: 0,
            range: "from -1 to 1",
        });
    }
    result(0.5 * format + accuracy * (1.0 + 0.5 * consistency))
}

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

/// The response of a pair that such a reward model prefers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// `1`.
    First,
    /// `2`.
    Second,
}

/// Returns the text between the answer tags of a well-formed output; `None` if the format is
/// broken.
///
/// It accepts what the authors' expression `^<think>.*?</think><answer>.*?</answer>$`, in which a
/// dot is any character, accepts in Python, a line feed after the end included, in one pass and
/// without backtracking: the output begins and ends with the outer tags, and the inner pair stands
/// somewhere between them.
pub fn answer_text(output: &str) -> Option<&str> {
    let output = output.strip_suffix('\n').unwrap_or(output);
    let inner = output.strip_prefix("<think>")?.strip_suffix("</answer>")?;
    let (_, answer) = inner.split_once("</think><answer>")?;
    Some(answer)
}

/// Returns the choice of a well-formed output: exactly `1` or `2`, apart from white space around
/// it.
pub fn choice(output: &str) -> Option<Choice> {
    match answer_text(output)?.trim() {
        "1" => Some(Choice::First),
        "2" => Some(Choice::Second),
        _ => None,
    }
}

//! Reward of a judge that decides sentence by sentence: TRM (2509.25409).

use serde::Serialize;

use super::numbers::{CombineError, finite, result, shares};

/// Weights of the judgement of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SentenceWeights {
    /// Share of faithfulness; correctness has the rest.
    pub alpha: f64,
    /// Bonus for finding an incorrect sentence. The paper is reported to have one, of unknown
    /// value: the default of 0 is ours.
    pub detection_bonus: f64,
}

impl Default for SentenceWeights {
    /// The paper's alpha of 0.5, and no bonus.
    fn default() -> Self {
        Self { alpha: 0.5, detection_bonus: 0.0 }
    }
}

/// Truth of a sentence and correctness of its judgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentenceVerdict {
    /// Whether the judge was right about its faithfulness to the documents.
    pub faithfulness_right: bool,
    /// Whether the judge was right about its correctness.
    pub correctness_right: bool,
    /// Whether the sentence is incorrect by its labels.
    pub is_incorrect: bool,
}

/// Returns `alpha 1[faithfulness right] + (1 - alpha) 1[correctness right]`, plus the bonus if an
/// incorrect sentence was found to be incorrect.
///
/// # Errors
/// An alpha outside [0, 1], or a bonus that is not finite.
pub fn sentence_reward(
    verdict: SentenceVerdict,
    weights: SentenceWeights,
) -> Result<f64, CombineError> {
    shares("alpha", &[weights.alpha])?;
    finite("bonus", &[weights.detection_bonus])?;
    let one = |holds: bool| f64::from(u8::from(holds));
    let detected = verdict.is_incorrect && verdict.correctness_right;
    result(
        weights.alpha * one(verdict.faithfulness_right)
            + (1.0 - weights.alpha) * one(verdict.correctness_right)
            + weights.detection_bonus * one(detected),
    )
}

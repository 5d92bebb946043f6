//! Log-probabilities that a method reads, and their gradients.

use models::Output;

use crate::error::{Result, TrainError};
use crate::policy::Grad;

/// Takes the log-probabilities of one sequence.
///
/// # Errors
/// [`TrainError::Invalid`] if another output was read.
pub(super) fn logprobs(outputs: &[Output]) -> Result<Vec<f64>> {
    let logprob = |output: &Output| match output {
        Output::Logprob { logprob, .. } => Ok(f64::from(*logprob)),
        Output::Head(_) | Output::Vocab(_) | Output::Labels { .. } | Output::Hidden(_) => {
            Err(TrainError::Invalid("a log-probability was to be read".to_owned()))
        }
    };
    outputs.iter().map(logprob).collect()
}

/// Converts a loss's gradient by log-probabilities for the backward pass.
#[expect(clippy::cast_possible_truncation, reason = "rounded to the type of gradients")]
pub(super) fn output_grads(grad: &[f64]) -> Vec<Grad> {
    let logprob = |grad: &f64| Grad::Logprob { logprob: *grad as f32, entropy: 0.0 };
    grad.iter().map(logprob).collect()
}

/// Gradient by a log-probability of `share` times the mean cross-entropy over `tokens`.
#[expect(clippy::cast_possible_truncation, reason = "rounded to the type of gradients")]
pub(super) fn mean_logprob_grad(tokens: usize, share: f64) -> Grad {
    Grad::Logprob { logprob: (-share / tokens as f64) as f32, entropy: 0.0 }
}

/// The entropy of the distribution that a token was drawn from, in nats; 0 for other outputs.
pub(super) fn entropy(output: &Output) -> f64 {
    match output {
        Output::Logprob { entropy, .. } => f64::from(*entropy),
        Output::Head(_) | Output::Vocab(_) | Output::Labels { .. } | Output::Hidden(_) => 0.0,
    }
}

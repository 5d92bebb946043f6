//! Log-probabilities over the vocabulary, in chunks, without keeping the logits.

use super::gemm;
use crate::packed::Panels;

/// What one row reads off the whole vocabulary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Readout {
    /// log Σ exp(logits).
    pub log_normalizer: f32,
    /// −Σ p log p, in nats.
    pub entropy: f32,
}

/// One [`Readout`] a row of `hidden [R, k]` over the vocabulary `weight [n, k]`, logits soft-capped
/// where a cap is given.
pub fn readout(hidden: &[f32], weight: Panels<'_>, softcap: Option<f32>) -> Vec<Readout> {
    let mut logits = vec![0.0; hidden.len() / weight.k * weight.n];
    gemm::matmul(hidden, weight, None, &mut logits);
    logits
        .chunks_exact_mut(weight.n)
        .map(|row| {
            if let Some(cap) = softcap {
                for x in row.iter_mut() {
                    *x = cap * (*x / cap).tanh();
                }
            }
            let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let sum: f32 = row.iter().map(|x| (x - max).exp()).sum();
            let log_normalizer = max + sum.ln();
            let entropy = row
                .iter()
                .map(|x| (x - log_normalizer).exp() * (log_normalizer - x))
                .sum();
            Readout {
                log_normalizer,
                entropy,
            }
        })
        .collect()
}

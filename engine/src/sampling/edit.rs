//! Logit bias and penalties.
//!
//! The order is that of vLLM and of Hugging Face's generation: bias, repetition, then frequency
//! and presence. Only the logits concerned are touched.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::params::SamplingParams;

/// Bias and penalties of one generation, with its token counts.
#[derive(Debug)]
pub(super) struct Edits {
    /// Shared by the sequences of a request.
    bias: Arc<[(u32, f32)]>,
    /// Factor for tokens in the prompt or the continuation.
    repetition: f32,
    /// Subtracted once for tokens in the continuation.
    presence: f32,
    /// Subtracted for each occurrence in the continuation.
    frequency: f32,
    /// Occurrences of each token in the continuation; 0 for tokens of the prompt alone.
    occurrences: BTreeMap<u32, u32>,
}

impl Edits {
    pub(super) fn new(sampling: &SamplingParams, prompt: &[u32]) -> Edits {
        let mut edits = Edits {
            bias: sampling.logit_bias.clone(),
            repetition: sampling.repetition_penalty,
            presence: sampling.presence_penalty,
            frequency: sampling.frequency_penalty,
            occurrences: BTreeMap::new(),
        };
        if edits.has_repetition_penalty() {
            edits.occurrences = prompt.iter().map(|id| (*id, 0)).collect();
        }
        edits
    }

    #[expect(clippy::float_cmp, reason = "exactly 1 is off")]
    fn has_repetition_penalty(&self) -> bool {
        self.repetition != 1.0
    }

    fn has_count_penalties(&self) -> bool {
        self.presence != 0.0 || self.frequency != 0.0
    }

    /// Whether no logit is ever changed.
    pub(super) fn is_empty(&self) -> bool {
        self.bias.is_empty() && !self.has_repetition_penalty() && !self.has_count_penalties()
    }

    /// Applies bias and penalties; finite logits stay finite.
    #[expect(clippy::cast_precision_loss, reason = "a count of tokens")]
    pub(super) fn apply(&self, logits: &mut [f32]) {
        let mut edit = |id: u32, change: &dyn Fn(f32) -> f32| {
            if let Some(logit) = logits.get_mut(id as usize) {
                *logit = change(*logit).clamp(f32::MIN, f32::MAX);
            }
        };
        for (id, bias) in self.bias.iter() {
            edit(*id, &|x| x + bias);
        }
        let repetition = self.repetition;
        for (id, count) in &self.occurrences {
            let penalty =
                if *count > 0 { *count as f32 * self.frequency + self.presence } else { 0.0 };
            let penalised = |x: f32| {
                if x > 0.0 { x / repetition } else { x * repetition }
            };
            edit(*id, &|x| penalised(x) - penalty);
        }
    }

    /// Counts a generated token.
    pub(super) fn count(&mut self, id: u32) {
        if self.has_repetition_penalty() || self.has_count_penalties() {
            *self.occurrences.entry(id).or_default() += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Edits, SamplingParams};

    /// Bits, with both zeros equal.
    fn bits<const N: usize>(logits: [f32; N]) -> [u32; N] {
        logits.map(|x| (x + 0.0).to_bits())
    }

    fn check(sampling: &SamplingParams, prompt: &[u32], generated: &[u32], expected: [f32; 4]) {
        let mut edits = Edits::new(sampling, prompt);
        assert!(!edits.is_empty());
        for id in generated {
            edits.count(*id);
        }
        let mut logits = [2.0, -2.0, 1.0, 0.0];
        edits.apply(&mut logits);
        assert_eq!(bits(logits), bits(expected), "{sampling:?}");
    }

    #[test]
    fn each_penalty_changes_its_own_tokens() {
        let off = SamplingParams::default;
        let repetition_penalty = 2.0;
        let repetition = SamplingParams { repetition_penalty, ..off() };
        check(&repetition, &[0, 0, 9], &[1], [1.0, -4.0, 1.0, 0.0]);
        let presence = SamplingParams { presence_penalty: 0.5, ..off() };
        check(&presence, &[0], &[2, 2, 3], [2.0, -2.0, 0.5, -0.5]);
        let frequency = SamplingParams { frequency_penalty: 0.5, ..off() };
        check(&frequency, &[0], &[2, 2, 3], [2.0, -2.0, 0.0, -0.5]);
        let bias = SamplingParams { logit_bias: [(1, 3.0), (3, -1.0), (1, 1.0)].into(), ..off() };
        check(&bias, &[], &[], [2.0, 2.0, 1.0, -1.0]);
        // Bias, then the factor, then the subtraction.
        let all = SamplingParams {
            repetition_penalty: 2.0,
            presence_penalty: 1.0,
            frequency_penalty: 0.25,
            logit_bias: [(2, 3.0)].into(),
            ..off()
        };
        check(&all, &[0], &[2, 2], [1.0, -2.0, 0.5, 0.0]);
        assert!(Edits::new(&off(), &[1, 2]).is_empty());
    }

    #[test]
    fn sequences_share_their_bias() {
        let sampling =
            SamplingParams { logit_bias: [(1, 3.0)].into(), ..SamplingParams::default() };
        let edits: Vec<Edits> = (0..2_048).map(|_| Edits::new(&sampling, &[])).collect();
        assert_eq!(Arc::strong_count(&sampling.logit_bias), edits.len() + 1);
    }

    #[test]
    fn huge_logits_stay_finite() {
        let sampling = SamplingParams { repetition_penalty: 1e-3, ..SamplingParams::default() };
        let edits = Edits::new(&sampling, &[0, 1]);
        let mut logits = [f32::MAX, f32::MIN];
        edits.apply(&mut logits);
        assert_eq!(bits(logits), bits([f32::MAX, f32::MIN * 1e-3]));
    }
}

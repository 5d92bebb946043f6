//! What changes logits before a token is chosen: bias and penalties.
//!
//! The order is that of vLLM and of Hugging Face's generation: bias, repetition, then frequency
//! and presence. Only the logits concerned are touched.

use std::collections::BTreeMap;

use super::SamplingParams;

/// The edits of one generation, with the counts they go by.
#[derive(Debug)]
pub(super) struct Edits {
    bias: Vec<(u32, f32)>,
    /// Tokens that occur in prompt or continuation give way by this factor.
    repetition: f32,
    /// Tokens that occur in the continuation lose this once,
    presence: f32,
    /// and this for every time.
    frequency: f32,
    /// How often each token occurs in the continuation; 0 for those of the prompt alone.
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
        if edits.repeats() {
            edits.occurrences = prompt.iter().map(|id| (*id, 0)).collect();
        }
        edits
    }

    #[expect(clippy::float_cmp, reason = "exactly 1 is off")]
    fn repeats(&self) -> bool {
        self.repetition != 1.0
    }

    fn counts(&self) -> bool {
        self.presence != 0.0 || self.frequency != 0.0
    }

    /// Whether no logit is ever changed.
    pub(super) fn none(&self) -> bool {
        self.bias.is_empty() && !self.repeats() && !self.counts()
    }

    /// Changes the logits; finite ones stay finite.
    #[expect(clippy::cast_precision_loss, reason = "a count of tokens")]
    pub(super) fn apply(&self, logits: &mut [f32]) {
        let mut edit = |id: u32, change: &dyn Fn(f32) -> f32| {
            if let Some(logit) = logits.get_mut(id as usize) {
                *logit = change(*logit).clamp(f32::MIN, f32::MAX);
            }
        };
        for (id, bias) in &self.bias {
            edit(*id, &|x| x + bias);
        }
        let repetition = self.repetition;
        for (id, count) in &self.occurrences {
            let lost =
                if *count > 0 { *count as f32 * self.frequency + self.presence } else { 0.0 };
            let penalised = |x: f32| {
                if x > 0.0 { x / repetition } else { x * repetition }
            };
            edit(*id, &|x| penalised(x) - lost);
        }
    }

    /// Takes note of a generated token.
    pub(super) fn count(&mut self, id: u32) {
        if self.repeats() || self.counts() {
            *self.occurrences.entry(id).or_default() += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Edits, SamplingParams};

    /// Without a difference between the zeros.
    fn bits<const N: usize>(logits: [f32; N]) -> [u32; N] {
        logits.map(|x| (x + 0.0).to_bits())
    }

    fn check(sampling: &SamplingParams, prompt: &[u32], generated: &[u32], expected: [f32; 4]) {
        let mut edits = Edits::new(sampling, prompt);
        assert!(!edits.none());
        for id in generated {
            edits.count(*id);
        }
        let mut logits = [2.0, -2.0, 1.0, 0.0];
        edits.apply(&mut logits);
        assert_eq!(bits(logits), bits(expected), "{sampling:?}");
    }

    #[test]
    fn penalties_count_what_they_say() {
        let off = SamplingParams::default;
        let repetition_penalty = 2.0;
        let repetition = SamplingParams { repetition_penalty, ..off() };
        check(&repetition, &[0, 0, 9], &[1], [1.0, -4.0, 1.0, 0.0]);
        let presence = SamplingParams { presence_penalty: 0.5, ..off() };
        check(&presence, &[0], &[2, 2, 3], [2.0, -2.0, 0.5, -0.5]);
        let frequency = SamplingParams { frequency_penalty: 0.5, ..off() };
        check(&frequency, &[0], &[2, 2, 3], [2.0, -2.0, 0.0, -0.5]);
        let bias = SamplingParams { logit_bias: vec![(1, 3.0), (3, -1.0), (1, 1.0)], ..off() };
        check(&bias, &[], &[], [2.0, 2.0, 1.0, -1.0]);
        // Bias before the factor, the factor before what is taken off.
        let all = SamplingParams {
            repetition_penalty: 2.0,
            presence_penalty: 1.0,
            frequency_penalty: 0.25,
            logit_bias: vec![(2, 3.0)],
            ..off()
        };
        check(&all, &[0], &[2, 2], [1.0, -2.0, 0.5, 0.0]);
        assert!(Edits::new(&off(), &[1, 2]).none());
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

//! The action tokens that a policy gradient is taken over.

use super::error::{FormulaError, Result, lengths};
use super::layout::{Layout, LossSequence, Stream};

/// Log-probability differences are limited to this before the exponential, so that one extreme
/// token cannot make a ratio overflow. Beyond it a ratio is constant and has no gradient.
pub const MAX_LOG_RATIO: f64 = 20.0;

/// All action tokens of a batch or micro-batch: one entry per token in each list, log-probabilities
/// in nats. Prompts are not included.
#[derive(Clone, Copy, Debug)]
pub struct Tokens<'a> {
    /// Their layout in sequences.
    pub layout: Layout<'a>,
    /// Under the current weights; gradients are with respect to these.
    pub logp: &'a [f64],
    /// Under the weights at the beginning of the step (verl's `old_log_probs`), the denominators of
    /// ratios. Streams `ce` and `ref_kl` do not read it.
    pub old_logprobs: &'a [f64],
    /// Under the weights that sampled the tokens (verl's `rollout_log_probs`); given if they may
    /// differ from those at the beginning of the step: stale, partial or imported rollouts.
    pub rollout_logprobs: Option<&'a [f64]>,
    /// Under the frozen reference.
    pub reference: Option<&'a [f64]>,
    /// The advantage of each token. Streams `ce` and `ref_kl` do not read it.
    pub advantages: &'a [f64],
    /// Factor of each token's policy term, fixed once for the batch: sample weights, trust in a
    /// self-given score, a mask that depends on the batch. Denominators do not include it.
    pub factors: Option<&'a [f64]>,
    /// The entropy of the distribution that each token was drawn from.
    pub entropies: Option<&'a [f64]>,
    /// A token reward model's probability that the response is right so far. Read by OREAL.
    pub credit: Option<&'a [f64]>,
}

impl<'a> Tokens<'a> {
    /// Tokens with the lists that every policy gradient needs.
    pub fn new(
        layout: Layout<'a>,
        logp: &'a [f64],
        old_logprobs: &'a [f64],
        advantages: &'a [f64],
    ) -> Self {
        Self {
            layout,
            logp,
            old_logprobs,
            rollout_logprobs: None,
            reference: None,
            advantages,
            factors: None,
            entropies: None,
            credit: None,
        }
    }

    /// The sequences; an error if lists differ in length or a number that will be read is not
    /// finite.
    pub(crate) fn checked(&self) -> Result<Vec<LossSequence>> {
        let sequences = self.layout.sequences()?;
        let n = self.layout.mask.len();
        for (what, list) in self.lists() {
            if let Some(list) = list {
                lengths(what, list.len(), n)?;
            }
        }
        for sequence in &sequences {
            for (place, (what, list)) in self.lists().into_iter().enumerate() {
                let read = match sequence.stream {
                    Stream::Policy | Stream::Judge => true,
                    Stream::Ce => place == LOGP,
                    Stream::RefKl => place == LOGP || place == REFERENCE,
                };
                let Some(list) = list.filter(|_| read) else {
                    continue;
                };
                let bad = |at: &usize| self.layout.mask[*at] && !list[*at].is_finite();
                if let Some(index) = sequence.tokens.clone().find(bad) {
                    return Err(FormulaError::NotFinite { what, index });
                }
            }
        }
        Ok(sequences)
    }

    fn lists(&self) -> [(&'static str, Option<&'a [f64]>); 8] {
        [
            ("log-probability", Some(self.logp)),
            ("reference log-probability", self.reference),
            ("old log-probability", Some(self.old_logprobs)),
            ("rollout log-probability", self.rollout_logprobs),
            ("advantage", Some(self.advantages)),
            ("factor", self.factors),
            ("entropy", self.entropies),
            ("credit", self.credit),
        ]
    }

    pub(crate) fn view(&self, sequence: &LossSequence) -> View<'a> {
        let range = &sequence.tokens;
        let part = |list: &'a [f64]| &list[range.clone()];
        View {
            start: range.start,
            counted: sequence.counted,
            positive: sequence.positive,
            pass_rate: sequence.pass_rate,
            mask: &self.layout.mask[range.clone()],
            logp: part(self.logp),
            old_logprobs: part(self.old_logprobs),
            rollout_logprobs: self.rollout_logprobs.map(part),
            reference: self.reference.map(part),
            advantages: part(self.advantages),
            factors: self.factors.map(part),
            entropies: self.entropies.map(part),
            credit: self.credit.map(part),
        }
    }
}

const LOGP: usize = 0;
const REFERENCE: usize = 1;

/// The tokens of one sequence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    /// Its offset among all tokens.
    pub(crate) start: usize,
    pub(crate) counted: usize,
    pub(crate) positive: Option<bool>,
    pub(crate) pass_rate: Option<f64>,
    pub(crate) mask: &'a [bool],
    pub(crate) logp: &'a [f64],
    pub(crate) old_logprobs: &'a [f64],
    pub(crate) rollout_logprobs: Option<&'a [f64]>,
    pub(crate) reference: Option<&'a [f64]>,
    pub(crate) advantages: &'a [f64],
    pub(crate) factors: Option<&'a [f64]>,
    pub(crate) entropies: Option<&'a [f64]>,
    pub(crate) credit: Option<&'a [f64]>,
}

impl<'a> View<'a> {
    /// Under the weights that sampled the tokens: those of the step's beginning unless others are
    /// given.
    pub(crate) fn sampled(&self) -> &'a [f64] {
        self.rollout_logprobs.unwrap_or(self.old_logprobs)
    }

    /// The rollout log-probabilities, for a method that requires them.
    pub(crate) fn needs_rollout_logprobs(&self, method: &'static str) -> Result<&'a [f64]> {
        let what = "rollout log-probabilities";
        self.rollout_logprobs.ok_or(FormulaError::Missing { method, what })
    }

    /// The places of the tokens that count.
    pub(crate) fn places(&self) -> impl Iterator<Item = usize> + use<'a> {
        let mask = self.mask;
        (0..mask.len()).filter(move |at| mask[*at])
    }

    /// The mean over counted tokens of `above - below`; 0 without any.
    pub(crate) fn mean_log_ratio(&self, above: &[f64], below: &[f64]) -> f64 {
        if self.counted == 0 {
            return 0.0;
        }
        let sum: f64 = self.places().map(|at| above[at] - below[at]).sum();
        sum / self.counted as f64
    }

    /// A value for every token; uncounted ones get `absent`.
    pub(crate) fn map<T: Clone>(&self, absent: T, of: impl Fn(usize) -> T) -> Vec<T> {
        let mut values = vec![absent; self.mask.len()];
        for at in self.places() {
            values[at] = of(at);
        }
        values
    }
}

/// A ratio of probabilities and its derivative with respect to the log-probability above.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ratio {
    pub(crate) value: f64,
    pub(crate) slope: f64,
}

impl Ratio {
    /// `exp` of a difference of log-probabilities, limited to [`MAX_LOG_RATIO`].
    pub(crate) fn of(log_ratio: f64) -> Self {
        Self::within(log_ratio, -MAX_LOG_RATIO, MAX_LOG_RATIO)
    }

    /// `exp` of a difference that is limited to bounds, beyond which it is constant.
    pub(crate) fn within(log_ratio: f64, low: f64, high: f64) -> Self {
        let value = log_ratio.clamp(low, high).exp();
        let inside = (low..=high).contains(&log_ratio);
        let slope = if inside { value } else { 0.0 };
        Self { value, slope }
    }
}

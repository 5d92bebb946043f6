//! Denominators of a batch, and the weight of every token in the loss.
//!
//! A loss over a batch is `sum of w_t l_t` over its tokens. The papers' aggregations differ only in
//! the weights `w_t`, which depend on nothing but masks. They are therefore fixed once, from the
//! masks of the batch ([`Denominators::of`]); a micro-batch then adds its share, and the shares add
//! up to the same total for every cut of the batch.

use serde::{Deserialize, Serialize};

use super::error::{FormulaError, Result, setting};
use super::layout::{Layout, LossSequence, Stream};

/// The aggregation of token losses to one number. A sequence without a counted token (because all
/// of it was filtered) does not count as a sequence; trainers differ in this, and the choice is
/// ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aggregation {
    /// Mean over sequences of the mean over tokens: GRPO (2402.03300), GSPO (2507.18071).
    SeqMeanTokenMean,
    /// Mean over all tokens of the batch: DAPO (2503.14476).
    TokenMean,
    /// Mean over the tokens of a micro-batch, then over micro-batches: BNPO as trainers have it.
    /// It is the one aggregation whose total depends on how the batch is cut.
    Bnpo,
    /// Sum over tokens by the number of sequences times the longest response allowed: Dr.GRPO
    /// (2503.20783).
    DrGrpo,
    /// Mean over sequences of the sum over tokens.
    SeqMeanTokenSum,
}

/// Weight of each stream, relative to the others. In a mean, the weights of a stream's tokens add
/// up to its share. Ours; 1 each by default.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Streams {
    /// Answers of the policy.
    #[serde(alias = "player")]
    pub policy: f64,
    /// Answers of a judge.
    pub judge: f64,
    /// Given tokens, by cross-entropy.
    pub ce: f64,
    /// Tokens with only a divergence from the reference.
    pub ref_kl: f64,
}

impl Default for Streams {
    fn default() -> Self {
        Self { policy: 1.0, judge: 1.0, ce: 1.0, ref_kl: 1.0 }
    }
}

impl Streams {
    /// Checks the options.
    ///
    /// # Errors
    /// A share that is negative or not finite.
    pub fn check(&self) -> Result<()> {
        let holds = Stream::ALL.into_iter().all(|stream| {
            let share = self.share(stream);
            share.is_finite() && share >= 0.0
        });
        setting("the share of a stream", "0 or more", holds)
    }

    fn share(&self, stream: Stream) -> f64 {
        match stream {
            Stream::Policy => self.policy,
            Stream::Judge => self.judge,
            Stream::Ce => self.ce,
            Stream::RefKl => self.ref_kl,
        }
    }
}

/// Counts of a stream in the batch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// The stream's share.
    pub share: f64,
    /// Counted tokens.
    pub tokens: usize,
    /// Sequences with a counted token.
    pub sequences: usize,
    /// Counted tokens of sequences with a positive reward.
    pub positive: usize,
    /// Counted tokens of the others.
    pub negative: usize,
}

/// Properties of a batch beside its masks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchLimits {
    /// Maximum length of a response in tokens, the divisor of [`Aggregation::DrGrpo`].
    pub max_tokens: usize,
    /// Number of micro-batches of the batch, the divisor of [`Aggregation::Bnpo`].
    pub micro_batches: usize,
}

/// The counts of a batch, the divisors of every part of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Denominators {
    counts: [Counts; 4],
    limits: BatchLimits,
}

impl Denominators {
    /// Counts a batch.
    ///
    /// # Errors
    /// Lists that do not belong together, a bad share, or a limit of 0.
    pub fn of(layout: &Layout<'_>, streams: &Streams, limits: BatchLimits) -> Result<Self> {
        streams.check()?;
        setting("max_tokens", "at least 1", limits.max_tokens > 0)?;
        setting("micro_batches", "at least 1", limits.micro_batches > 0)?;
        let mut counts =
            Stream::ALL.map(|stream| Counts { share: streams.share(stream), ..Counts::default() });
        for sequence in layout.sequences()? {
            let counts = &mut counts[sequence.stream.index()];
            counts.tokens += sequence.counted;
            counts.sequences += usize::from(sequence.counted > 0);
            match sequence.positive {
                Some(true) => counts.positive += sequence.counted,
                Some(false) => counts.negative += sequence.counted,
                None => {}
            }
        }
        Ok(Self { counts, limits })
    }

    /// The counts of a stream.
    pub fn counts(&self, stream: Stream) -> &Counts {
        &self.counts[stream.index()]
    }

    /// The weight of every token of a part of the batch, 0 for uncounted ones. Streams
    /// [`Stream::Ce`] and [`Stream::RefKl`] are always means over their tokens.
    ///
    /// # Errors
    /// Lists that do not belong together, or counts that exceed those of the batch.
    pub fn weights(&self, how: Aggregation, part: &Layout<'_>) -> Result<Vec<f64>> {
        let sequences = part.sequences()?;
        let mut weights = vec![0.0; part.mask.len()];
        for (sequence, weight) in sequences.iter().zip(self.of_sequences(how, &sequences)?) {
            for at in sequence.tokens.clone().filter(|at| part.mask[*at]) {
                weights[at] = weight;
            }
        }
        Ok(weights)
    }

    /// The weight of each token of each sequence.
    pub(crate) fn of_sequences(&self, how: Aggregation, part: &[LossSequence]) -> Result<Vec<f64>> {
        let mut local = [0; 4];
        for sequence in part {
            local[sequence.stream.index()] += sequence.counted;
        }
        for stream in Stream::ALL {
            if local[stream.index()] > self.counts(stream).tokens {
                return Err(FormulaError::Denominator { what: "tokens" });
            }
        }
        let weight = |sequence: &LossSequence| {
            let how = match sequence.stream {
                Stream::Policy | Stream::Judge => how,
                Stream::Ce | Stream::RefKl => Aggregation::TokenMean,
            };
            if sequence.counted == 0 {
                return 0.0;
            }
            let counts = self.counts(sequence.stream);
            let n = counts.sequences as f64;
            let divisor = match how {
                Aggregation::SeqMeanTokenMean => n * sequence.counted as f64,
                Aggregation::TokenMean => counts.tokens as f64,
                Aggregation::Bnpo => {
                    local[sequence.stream.index()] as f64 * self.limits.micro_batches as f64
                }
                Aggregation::DrGrpo => n * self.limits.max_tokens as f64,
                Aggregation::SeqMeanTokenSum => n,
            };
            counts.share / divisor
        };
        Ok(part.iter().map(weight).collect())
    }
}

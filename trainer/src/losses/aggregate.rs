//! Denominators of a batch, and the weight of every token in the loss.
//!
//! A loss over a batch is `sum of w_t l_t` over its tokens. All that papers call aggregation is in
//! the weights `w_t`, and they depend on nothing but masks. They are therefore fixed once, from the
//! masks of the batch ([`Denominators::of`]); a micro-batch then adds its share, and the
//! shares add up to the same total however the batch was cut.

use serde::{Deserialize, Serialize};

use super::error::{FormulaError, Result, setting};
use super::layout::{Layout, LossSequence, Stream};

/// How token losses become one number. A sequence without a counted token (because all of it was
/// filtered) does not count as a sequence; that is a choice of ours where trainers differ.
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
    /// Sum over tokens by the number of sequences times the longest answer allowed: Dr.GRPO
    /// (2503.20783).
    DrGrpo,
    /// Mean over sequences of the sum over tokens.
    SeqMeanTokenSum,
}

/// Weight of each stream, relative to the others. The weights of a stream's tokens add up
/// to its share where the aggregation is a mean. Ours; 1 each by default.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Streams {
    /// Answers of the policy.
    #[serde(alias = "player")]
    pub policy: f64,
    /// Answers of a judge.
    pub judge: f64,
    /// Given tokens.
    pub ce: f64,
    /// Tokens that are only held to the reference.
    pub ref_kl: f64,
}

impl Default for Streams {
    fn default() -> Self {
        Self { policy: 1.0, judge: 1.0, ce: 1.0, ref_kl: 1.0 }
    }
}

impl Streams {
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
    /// What the stream counts for.
    pub share: f64,
    /// Counted tokens.
    pub tokens: usize,
    /// Sequences with a counted token.
    pub sequences: usize,
    /// Counted tokens of sequences with a positive reward, and of the others.
    pub positive: usize,
    /// The others.
    pub negative: usize,
}

/// Properties of a batch beside its masks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchLimits {
    /// The longest answer allowed, in tokens, which [`Aggregation::DrGrpo`] divides by.
    pub max_tokens: usize,
    /// Into how many micro-batches the batch is cut, which [`Aggregation::Bnpo`] divides by.
    pub micro_batches: usize,
}

/// The counts of a whole batch, which every part of it divides by.
#[derive(Clone, Debug, PartialEq)]
pub struct Denominators {
    counts: [Counts; 4],
    limits: BatchLimits,
}

impl Denominators {
    /// Counts a whole batch.
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

    /// What a stream has.
    pub fn counts(&self, stream: Stream) -> &Counts {
        &self.counts[stream.index()]
    }

    /// The weight of every token of a part of the batch, 0 for what does not count. Streams
    /// [`Stream::Ce`] and [`Stream::RefKl`] are always means over their tokens.
    ///
    /// # Errors
    /// Lists that do not belong together, or counts that cannot be those of the batch.
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

//! From logits to the next token, and whether it is the last.
//!
//! Everything here depends on the sequence alone: its tokens, its parameters and the logits. The
//! random number at a position is a function of (seed, stream, position), so a generation is the
//! same for any batching, and can be replayed.

mod check;
pub mod constraint;
mod draw;
mod edit;
mod random;
mod sampler;
mod scan;
mod stop;
pub mod text;
mod weights;

pub use constraint::{Constraint, ConstraintError, Grammar, Mask, Vocabulary};
pub use sampler::Sampler;
pub use stop::StopStrings;
pub use text::{TextError, TextStream};

/// How to continue a sequence.
///
/// What changes logits does so in the order of vLLM and Hugging Face: `logit_bias`,
/// `repetition_penalty`, `frequency_penalty` and `presence_penalty`, the constraint's mask and that
/// of `min_tokens`; then `temperature`, `top_k`, `top_p` and `min_p`, each on what the one before
/// leaves.
#[derive(Debug)]
pub struct SamplingParams {
    /// At most so many tokens are generated, those that are resumed included; at least 1.
    pub max_tokens: usize,
    /// Before so many tokens no stop token comes, unless nothing else can, and no stop string
    /// counts; at most `max_tokens`.
    pub min_tokens: usize,
    /// Logits are divided by it, up to 100; below 0.00001 the most likely token is taken, of equal
    /// ones that with the smallest id.
    pub temperature: f32,
    /// The most likely tokens that together have this probability are kept: in (0, 1].
    pub top_p: f32,
    /// So many of the most likely tokens are kept, of equal ones those with smaller ids; at least 1.
    pub top_k: Option<usize>,
    /// Tokens are kept that have this share of the largest probability: in [0, 1].
    pub min_p: f32,
    /// Logits of tokens in the prompt or the continuation are divided by it where they are
    /// positive, multiplied where negative: in (0, 100], and 1 for none.
    pub repetition_penalty: f32,
    /// Taken off the logits of tokens in the continuation: in [−2, 2].
    pub presence_penalty: f32,
    /// The same for each time that they occur in it: in [−2, 2].
    pub frequency_penalty: f32,
    /// Added to the logits of these tokens: in [−100, 100].
    pub logit_bias: Vec<(u32, f32)>,
    /// With `stream`, all that chance depends on.
    pub seed: u64,
    /// Which of a request's generations it is.
    pub stream: u64,
    /// Tokens that end the generation. One beyond the vocabulary never comes.
    pub stop_token_ids: Vec<u32>,
    /// How many of the most likely tokens are listed with each; `None` where not even that of the
    /// token itself is wanted.
    pub logprobs: Option<usize>,
    /// What the text must be; see [`Vocabulary::compile`].
    pub constraint: Option<Box<dyn Constraint>>,
    /// Strings that end the generation.
    pub stop: Option<StopStrings>,
    /// How many tokens at the end of the sequence are not of its prompt, but of this very
    /// generation, which was stopped before. They count for everything here as if they had just
    /// been generated (positions of chance, `max_tokens`, `min_tokens`, penalties, stop strings,
    /// constraint), and are not given again. So what was stopped and what resumes it are together,
    /// bit for bit, what would have come without the stop, if the weights are the same. One that
    /// had come to its end, which whoever stopped it did not wait to hear, gives no token more.
    pub resumed: usize,
}

impl SamplingParams {
    /// Whether it can be asked for, of a model of `vocab_size` logits.
    ///
    /// # Errors
    /// What cannot: a sentence that begins with the parameter.
    pub fn check(&self, vocab_size: usize) -> Result<(), String> {
        check::sampling(self, vocab_size)
    }
}

/// Greedy, 16 tokens.
impl Default for SamplingParams {
    fn default() -> SamplingParams {
        SamplingParams {
            max_tokens: 16,
            min_tokens: 0,
            temperature: 0.0,
            top_p: 1.0,
            top_k: None,
            min_p: 0.0,
            repetition_penalty: 1.0,
            presence_penalty: 0.0,
            frequency_penalty: 0.0,
            logit_bias: Vec::new(),
            seed: 0,
            stream: 0,
            stop_token_ids: Vec::new(),
            logprobs: None,
            constraint: None,
            stop: None,
            resumed: 0,
        }
    }
}

/// A generated token.
#[derive(Clone, Debug, PartialEq)]
pub struct SampledToken {
    /// The token.
    pub token_id: u32,
    /// Its log-probability in nats under the model, before temperature, penalties and masks: the
    /// bits that `Read::Logprob` has for it. 0 where [`SamplingParams::logprobs`] did not ask for it.
    pub logprob: f32,
    /// The most likely tokens with theirs, most likely first, as many as were asked for; of equal
    /// ones the smaller id comes first.
    pub top: Vec<(u32, f32)>,
    /// Revision of the weights that it was sampled under: see [`crate::RequestOutput::revision`]. A
    /// [`Sampler`] by itself knows none and says 0.
    pub revision: u64,
}

/// Why a generation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// A stop token came.
    StopToken(u32),
    /// A stop string came.
    StopText(String),
    /// What constrains it can only end here.
    Complete,
    /// As many tokens as were allowed, or as the context holds.
    Length,
}

/// Why no token can be chosen.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SampleError {
    /// A logit that is not finite.
    #[error("{0}")]
    NotFinite(f32),
    /// No token satisfies the constraint.
    #[error("{0}")]
    Constraint(String),
}

/// What became of one position.
#[derive(Clone, Debug, PartialEq)]
pub struct Next {
    /// The token.
    pub sampled: SampledToken,
    /// Whether it is the last one.
    pub finish: Option<FinishReason>,
}

#[cfg(test)]
mod measure;
#[cfg(test)]
mod tests;

//! A generated token, and why a generation ended.

/// A generated token.
#[derive(Clone, Debug, PartialEq)]
pub struct SampledToken {
    /// Its id.
    pub token_id: u32,
    /// Its log-probability in nats under the model, before temperature, penalties and masks: the
    /// bits of [`models::OutputSpec::Logprob`] for it. 0 if [`super::SamplingParams::logprobs`] is
    /// `None`.
    pub logprob: f32,
    /// The most likely tokens with their log-probabilities, most likely first, of equal ones the
    /// smaller id first; as many as [`super::SamplingParams::logprobs`].
    pub top: Vec<(u32, f32)>,
    /// Revision of the weights that it was sampled under: see
    /// [`crate::RequestOutput::revision`]. 0 from a [`super::Sampler`] without an engine.
    pub revision: u64,
}

/// Why a generation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// A stop token.
    StopToken(u32),
    /// A stop string.
    StopText(String),
    /// The constraint allows nothing but the end.
    Complete,
    /// `max_tokens` or the context length.
    Length,
}

/// The result of sampling one position.
#[derive(Clone, Debug, PartialEq)]
pub struct Next {
    /// The token.
    pub sampled: SampledToken,
    /// Why it is the last token; `None` if it is not.
    pub finish: Option<FinishReason>,
}

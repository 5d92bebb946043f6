//! One continuation on its way: tokens in, text that is certain out.

use std::sync::Arc;

use engine::sampling::{SamplingParams, TextStream};
use engine::{FinishReason, RequestOutput, SampledToken, TaskOutput, Tokenizer};

use crate::error::ApiError;

/// What is new of a continuation.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct TextDelta {
    /// Text that nothing which follows can change.
    pub(super) text: String,
    /// The tokens since the last piece, where log-probabilities are wanted.
    pub(super) tokens: Vec<SampledToken>,
}

/// One continuation on its way.
#[derive(Debug)]
pub(crate) struct Continuation {
    /// Until the end has come.
    text: Option<TextStream>,
    wants_logprobs: bool,
    /// Tokens whose text is not certain yet.
    held: Vec<SampledToken>,
    n_tokens: usize,
}

impl Continuation {
    /// Of a sequence that is about to be submitted.
    pub(super) fn new(
        sampling: &SamplingParams,
        tokenizer: &Arc<Tokenizer>,
        skip_special: bool,
    ) -> Continuation {
        let text = TextStream::new(tokenizer.clone(), sampling);
        Continuation {
            text: Some(if skip_special { text } else { text.with_special_tokens() }),
            wants_logprobs: sampling.logprobs.is_some(),
            held: Vec::new(),
            n_tokens: 0,
        }
    }

    /// Takes more tokens and gives what has become certain, if anything has.
    pub(super) fn push(
        &mut self,
        tokens: Vec<SampledToken>,
    ) -> Result<Option<TextDelta>, ApiError> {
        self.n_tokens += tokens.len();
        let mut text = String::new();
        if let Some(stream) = &mut self.text {
            for token in &tokens {
                text += &stream.push(token).map_err(ApiError::internal)?;
            }
        }
        if self.wants_logprobs {
            self.held.extend(tokens);
        }
        if text.is_empty() {
            return Ok(None);
        }
        let tokens = std::mem::take(&mut self.held);
        Ok(Some(TextDelta { text, tokens }))
    }

    /// Takes the end, with the tokens that were not told before, and gives the rest and why it
    /// ended.
    pub(super) fn finish(
        &mut self,
        answer: &RequestOutput,
    ) -> Result<(TextDelta, FinishReason), ApiError> {
        let TaskOutput::Tokens { tokens, finish } = &answer.output else {
            return Err(ApiError::internal("the engine gave rows for a generation"));
        };
        let late = tokens.get(self.n_tokens..).unwrap_or_default().to_vec();
        let mut last = self.push(late)?.unwrap_or_default();
        if let Some(stream) = self.text.take() {
            last.text += &stream.finish(finish).map_err(ApiError::internal)?;
        }
        last.tokens.append(&mut self.held);
        Ok((last, finish.clone()))
    }
}

/// OpenAI's word for an end.
pub(super) fn reason(finish: &FinishReason) -> &'static str {
    match finish {
        FinishReason::StopToken(_) | FinishReason::StopText(_) | FinishReason::Complete => "stop",
        FinishReason::Length => "length",
    }
}

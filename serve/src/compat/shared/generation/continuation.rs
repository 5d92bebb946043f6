//! A continuation in progress: tokens in, final text out.

use std::sync::Arc;

use engine::sampling::{SamplingParams, TextStream};
use engine::{FinishReason, RequestOutput, SampledToken, TaskOutput, Tokenizer};

use crate::error::ApiError;

/// An increment of a continuation.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct TextDelta {
    /// Text that later tokens cannot change.
    pub(super) text: String,
    /// The tokens since the last increment, if log-probabilities are requested.
    pub(super) tokens: Vec<SampledToken>,
}

/// A continuation in progress.
#[derive(Debug)]
pub(crate) struct Continuation {
    /// `None` after the end.
    text: Option<TextStream>,
    wants_logprobs: bool,
    /// Tokens whose text is not final yet.
    held: Vec<SampledToken>,
    n_tokens: usize,
}

impl Continuation {
    /// Creates the continuation of a sequence to submit.
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

    /// Adds tokens; returns the text that has become final, if any.
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

    /// Adds the remaining tokens; returns the last increment and the finish reason.
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

/// Returns OpenAI's name of a finish reason.
pub(super) fn reason(finish: &FinishReason) -> &'static str {
    match finish {
        FinishReason::StopToken(_) | FinishReason::StopText(_) | FinishReason::Complete => "stop",
        FinishReason::Length => "length",
    }
}

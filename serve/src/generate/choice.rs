//! One continuation on its way: tokens in, text that is certain out.

use std::sync::Arc;

use engine::sampling::TextStream;
use engine::{Answer, Finish, Produced, Sampled, Tokenizer};

use super::settings::Settings;
use crate::error::ApiError;

/// What is new of a continuation.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Piece {
    /// Text that nothing which follows can change.
    pub(super) text: String,
    /// The tokens since the last piece, where log-probabilities are wanted.
    pub(super) tokens: Vec<Sampled>,
}

/// One continuation on its way.
#[derive(Debug)]
pub(super) struct Choice {
    text: TextStream,
    wants_logprobs: bool,
    /// Tokens whose text is not certain yet.
    held: Vec<Sampled>,
    n_tokens: usize,
}

impl Choice {
    pub(super) fn new(settings: &Settings, tokenizer: &Arc<Tokenizer>) -> Choice {
        Choice {
            text: TextStream::new(
                tokenizer.clone(),
                settings.stops.clone(),
                settings.include_stop,
                settings.skip_special,
            ),
            wants_logprobs: settings.logprobs.is_some(),
            held: Vec::new(),
            n_tokens: 0,
        }
    }

    /// Takes more tokens and gives what has become certain, if anything has.
    pub(super) fn push(&mut self, tokens: Vec<Sampled>) -> Result<Option<Piece>, ApiError> {
        self.n_tokens += tokens.len();
        let mut text = String::new();
        for token in &tokens {
            text += &self.text.push(token).map_err(ApiError::internal)?;
        }
        if self.wants_logprobs {
            self.held.extend(tokens);
        }
        if text.is_empty() {
            return Ok(None);
        }
        let tokens = std::mem::take(&mut self.held);
        Ok(Some(Piece { text, tokens }))
    }

    /// Takes the end, with the tokens that were not told before, and gives the rest and why it
    /// ended.
    pub(super) fn finish(&mut self, answer: &Answer) -> Result<(Piece, Finish), ApiError> {
        let Produced::Tokens { tokens, finish } = &answer.produced else {
            return Err(ApiError::internal("the engine gave rows for a generation"));
        };
        let late = tokens.get(self.n_tokens..).unwrap_or_default().to_vec();
        let mut last = self.push(late)?.unwrap_or_default();
        last.text += &self.text.finish(finish).map_err(ApiError::internal)?;
        last.tokens.append(&mut self.held);
        Ok((last, finish.clone()))
    }
}

/// OpenAI's word for an end.
pub(super) fn reason(finish: &Finish) -> &'static str {
    match finish {
        Finish::StopToken(_) | Finish::StopText(_) | Finish::Complete => "stop",
        Finish::Length => "length",
    }
}

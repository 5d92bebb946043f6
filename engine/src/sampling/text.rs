//! Incremental detokenization of a generation.

use std::sync::Arc;

use chat::DecodeState;
use chat::Tokenizer;

use super::error::TextError;
use super::params::SamplingParams;
use super::stop::{Search, StopStrings};
use super::token::{FinishReason, SampledToken};

/// Decodes a generation's tokens into text as they arrive. Returned text never changes: bytes that
/// may become part of a character or of a stop string are held back. All pieces together are the
/// generation's text up to the stop string, which is included on request; special tokens and the
/// stop token have no text.
#[derive(Debug)]
pub struct TextStream {
    tokenizer: Arc<Tokenizer>,
    decode: DecodeState,
    search: Option<(Search, bool)>,
    stop_token_ids: Arc<[u32]>,
    min_tokens: usize,
    n_tokens: usize,
    /// Text that may become a stop string.
    held: String,
    /// Whether a stop string came, after which there is no text.
    ended: bool,
}

impl TextStream {
    /// A stream for a generation with these parameters.
    pub fn new(tokenizer: Arc<Tokenizer>, sampling: &SamplingParams) -> TextStream {
        TextStream {
            tokenizer,
            decode: DecodeState::new(true),
            search: sampling.stop.as_ref().map(StopStrings::search),
            stop_token_ids: sampling.stop_token_ids.clone(),
            min_tokens: sampling.min_tokens,
            n_tokens: 0,
            held: String::new(),
            ended: false,
        }
    }

    /// The stream with the text of special tokens. Not for generations with stop strings, which are
    /// searched in text without them.
    #[must_use]
    pub fn with_special_tokens(mut self) -> TextStream {
        self.decode = DecodeState::new(false);
        self
    }

    /// Adds the next token and returns the text that is now final, which may be empty.
    ///
    /// # Errors
    /// [`TextError`] if the tokenizer's decoder fails.
    pub fn push(&mut self, token: &SampledToken) -> Result<String, TextError> {
        self.n_tokens += 1;
        if self.ended || self.stop_token_ids.contains(&token.token_id) {
            return Ok(String::new());
        }
        let text = self.decode.step(&self.tokenizer, token.token_id)?;
        Ok(self.take_final(&text))
    }

    /// Ends the stream and returns the text held back.
    ///
    /// # Errors
    /// [`TextError`] if the tokenizer's decoder fails.
    pub fn finish(self, finish: &FinishReason) -> Result<String, TextError> {
        if self.ended || matches!(finish, FinishReason::StopText(_)) {
            return Ok(String::new());
        }
        Ok(self.held + &self.decode.finish(&self.tokenizer)?)
    }

    /// The text of a finished generation.
    ///
    /// # Errors
    /// [`TextError`] if the tokenizer's decoder fails.
    pub fn full_text(
        mut self,
        tokens: &[SampledToken],
        finish: &FinishReason,
    ) -> Result<String, TextError> {
        let mut text = String::new();
        for token in tokens {
            text += &self.push(token)?;
        }
        Ok(text + &self.finish(finish)?)
    }

    fn take_final(&mut self, text: &str) -> String {
        let Some((search, include)) = &mut self.search else {
            return text.to_owned();
        };
        let before = self.held.len();
        self.held += text;
        // As in the sampler, stop strings that end within `min_tokens` do not count.
        if self.n_tokens <= self.min_tokens {
            return std::mem::take(&mut self.held);
        }
        if let Some(found) = search.feed(text) {
            self.ended = true;
            let end = before + found.end;
            let cut = if *include { end } else { end - search.len(found) };
            self.held.truncate(cut);
            return std::mem::take(&mut self.held);
        }
        let certain = self.held.len() - search.held();
        let rest = self.held.split_off(certain);
        std::mem::replace(&mut self.held, rest)
    }
}

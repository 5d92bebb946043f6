//! The text of a generation, as its tokens arrive.

use std::sync::Arc;

use models::Tokenizer;
use models::tokenizer::DecodeState;

use super::stop::Search;
use super::{FinishReason, SampledToken, SamplingParams};

/// Why tokens give no text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the tokens cannot be decoded: {0}")]
pub struct TextError(String);

impl From<models::ModelError> for TextError {
    fn from(error: models::ModelError) -> TextError {
        TextError(error.to_string())
    }
}

/// Makes text of a generation's tokens. A piece that was given out never changes: what may yet
/// become a character, or a stop string, is held back. All pieces together are the text of the
/// whole generation, cut before the stop string (or after it, where it is to be kept); special
/// tokens and the stop token give no text.
#[derive(Debug)]
pub struct TextStream {
    tokenizer: Arc<Tokenizer>,
    decode: DecodeState,
    search: Option<(Search, bool)>,
    stop_token_ids: Vec<u32>,
    min_tokens: usize,
    n_tokens: usize,
    /// What may become a stop string.
    held: String,
    /// A stop string came: nothing follows.
    ended: bool,
}

impl TextStream {
    /// For a generation with these parameters.
    pub fn new(tokenizer: Arc<Tokenizer>, sampling: &SamplingParams) -> TextStream {
        TextStream {
            tokenizer,
            decode: DecodeState::new(true),
            search: sampling.stop.as_ref().map(super::StopStrings::search),
            stop_token_ids: sampling.stop_token_ids.clone(),
            min_tokens: sampling.min_tokens,
            n_tokens: 0,
            held: String::new(),
            ended: false,
        }
    }

    /// The same, of which special tokens are part. They are no part of what stop strings are sought
    /// in, so that a generation with stop strings has no use for it.
    #[must_use]
    pub fn with_special_tokens(mut self) -> TextStream {
        self.decode = DecodeState::new(false);
        self
    }

    /// Takes the next token and gives the text that has become certain, perhaps none.
    ///
    /// # Errors
    /// [`TextError`] where the tokenizer's decoder fails.
    pub fn push(&mut self, token: &SampledToken) -> Result<String, TextError> {
        self.n_tokens += 1;
        if self.ended || self.stop_token_ids.contains(&token.token_id) {
            return Ok(String::new());
        }
        let text = self.decode.step(&self.tokenizer, token.token_id)?;
        Ok(self.certain(&text))
    }

    /// Ends the text and gives what was held back.
    ///
    /// # Errors
    /// [`TextError`] where the tokenizer's decoder fails.
    pub fn finish(self, finish: &FinishReason) -> Result<String, TextError> {
        if self.ended || matches!(finish, FinishReason::StopText(_)) {
            return Ok(String::new());
        }
        Ok(self.held + &self.decode.finish(&self.tokenizer)?)
    }

    /// The text of a generation that is done.
    ///
    /// # Errors
    /// [`TextError`] where the tokenizer's decoder fails.
    pub fn whole(
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

    fn certain(&mut self, text: &str) -> String {
        let Some((search, include)) = &mut self.search else {
            return text.to_owned();
        };
        let before = self.held.len();
        self.held += text;
        // As the sampler has it: what is complete before so many tokens does not count.
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

//! Decoding of text token by token.

use super::Tokenizer;
use crate::error::Result;

/// Maximum number of tokens held back while no character is complete. The longest character takes
/// four byte tokens; a model that continues with broken ones gets replacement characters.
const MAX_HELD: usize = 32;

/// Decodes a growing sequence. Text that was returned never changes: bytes that may still become a
/// character, and a replacement character that may still become a valid one, are held back.
///
/// All pieces together, with that of [`DecodeStream::finish`], are the text of the sequence.
#[derive(Debug)]
pub struct DecodeStream<'t> {
    tokenizer: &'t Tokenizer,
    state: DecodeState,
}

/// A [`DecodeStream`] without its tokenizer, which is passed to every call: for owners that share a
/// tokenizer and cannot borrow it. It must be the same one throughout.
#[derive(Clone, Debug)]
pub struct DecodeState {
    skip_special: bool,
    /// The tokens since `prefix`; earlier ones are finished.
    token_ids: Vec<u32>,
    /// The number of them that were returned already and only give context (a decoder may drop a
    /// space at the start of its input).
    given: usize,
}

impl Tokenizer {
    /// Starts decoding token by token; with `skip_special`, special tokens give no text.
    pub fn decode_stream(&self, skip_special: bool) -> DecodeStream<'_> {
        DecodeStream { tokenizer: self, state: DecodeState::new(skip_special) }
    }
}

impl DecodeStream<'_> {
    /// Takes the next token and returns the text that has become certain; possibly empty.
    ///
    /// # Errors
    /// As [`Tokenizer::decode`].
    pub fn step(&mut self, id: u32) -> Result<String> {
        self.state.step(self.tokenizer, id)
    }

    /// Ends the sequence and returns the text held back.
    ///
    /// # Errors
    /// As [`Tokenizer::decode`].
    pub fn finish(self) -> Result<String> {
        self.state.finish(self.tokenizer)
    }
}

impl DecodeState {
    /// Starts before the first token; with `skip_special`, special tokens give no text.
    pub fn new(skip_special: bool) -> DecodeState {
        DecodeState { skip_special, token_ids: Vec::new(), given: 0 }
    }

    /// As [`DecodeStream::step`].
    ///
    /// # Errors
    /// As [`Tokenizer::decode`].
    pub fn step(&mut self, tokenizer: &Tokenizer, id: u32) -> Result<String> {
        if self.skip_special && tokenizer.is_special(id) {
            return Ok(String::new());
        }
        self.token_ids.push(id);
        let (given, all) = self.texts(tokenizer)?;
        let held = self.token_ids.len() - self.given;
        if all.ends_with('\u{fffd}') && held < MAX_HELD {
            return Ok(String::new());
        }
        let Some(new) = all.get(given.len()..).filter(|new| !new.is_empty()) else {
            return Ok(String::new());
        };
        self.token_ids.drain(..self.given);
        self.given = self.token_ids.len();
        Ok(new.to_owned())
    }

    /// As [`DecodeStream::finish`].
    ///
    /// # Errors
    /// As [`Tokenizer::decode`].
    pub fn finish(self, tokenizer: &Tokenizer) -> Result<String> {
        let (given, all) = self.texts(tokenizer)?;
        Ok(all.get(given.len()..).unwrap_or_default().to_owned())
    }

    /// The text of the tokens that were returned already, and of all.
    fn texts(&self, tokenizer: &Tokenizer) -> Result<(String, String)> {
        let decode = |ids: &[u32]| tokenizer.decode(ids, self.skip_special);
        Ok((decode(&self.token_ids[..self.given])?, decode(&self.token_ids)?))
    }
}

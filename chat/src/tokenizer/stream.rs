//! Text as its tokens arrive.

use super::Tokenizer;
use crate::error::Result;

/// How many tokens are held back at most while no character is complete. The longest character
/// takes four byte tokens; a model that goes on writing broken ones gets replacement characters.
const MAX_HELD: usize = 32;

/// Decodes a growing sequence. What has been given out never changes: bytes that may still become
/// a character, and a replacement character that may still become a good one, are held back.
///
/// All pieces together, with that of [`DecodeStream::finish`], are the text of the whole sequence.
#[derive(Debug)]
pub struct DecodeStream<'t> {
    tokenizer: &'t Tokenizer,
    state: DecodeState,
}

/// A [`DecodeStream`] without its tokenizer, which every call is given: for whoever shares a
/// tokenizer and cannot borrow it. It must be the same one throughout.
#[derive(Clone, Debug)]
pub struct DecodeState {
    skip_special: bool,
    /// The tokens since `prefix`; the ones before are done with.
    token_ids: Vec<u32>,
    /// How many of them are given out already, and only give context (a decoder may drop a space
    /// at the start of its input).
    given: usize,
}

impl Tokenizer {
    /// Starts decoding token by token; with `skip_special`, special tokens give no text.
    pub fn decode_stream(&self, skip_special: bool) -> DecodeStream<'_> {
        DecodeStream { tokenizer: self, state: DecodeState::new(skip_special) }
    }
}

impl DecodeStream<'_> {
    /// Takes the next token and gives the text that has become certain, perhaps none.
    ///
    /// # Errors
    /// As [`Tokenizer::decode`].
    pub fn step(&mut self, id: u32) -> Result<String> {
        self.state.step(self.tokenizer, id)
    }

    /// Ends the sequence and gives what was held back.
    ///
    /// # Errors
    /// As [`Tokenizer::decode`].
    pub fn finish(self) -> Result<String> {
        self.state.finish(self.tokenizer)
    }
}

impl DecodeState {
    /// Before the first token; with `skip_special`, special tokens give no text.
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
        let (given, whole) = self.texts(tokenizer)?;
        let held = self.token_ids.len() - self.given;
        if whole.ends_with('\u{fffd}') && held < MAX_HELD {
            return Ok(String::new());
        }
        let Some(new) = whole.get(given.len()..).filter(|new| !new.is_empty()) else {
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
        let (given, whole) = self.texts(tokenizer)?;
        Ok(whole.get(given.len()..).unwrap_or_default().to_owned())
    }

    /// The text of the tokens that are given out already, and of all.
    fn texts(&self, tokenizer: &Tokenizer) -> Result<(String, String)> {
        let decode = |ids: &[u32]| tokenizer.decode(ids, self.skip_special);
        Ok((decode(&self.token_ids[..self.given])?, decode(&self.token_ids)?))
    }
}

//! Text as its tokens arrive.

use super::Tokenizer;
use crate::Result;

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
        DecodeStream {
            tokenizer: self,
            skip_special,
            token_ids: Vec::new(),
            given: 0,
        }
    }
}

impl DecodeStream<'_> {
    /// Takes the next token and gives the text that has become certain, perhaps none.
    ///
    /// # Errors
    /// As [`Tokenizer::decode`].
    pub fn step(&mut self, id: u32) -> Result<String> {
        if self.skip_special && self.tokenizer.is_special(id) {
            return Ok(String::new());
        }
        self.token_ids.push(id);
        let (given, whole) = self.texts()?;
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

    /// Ends the sequence and gives what was held back.
    ///
    /// # Errors
    /// As [`Tokenizer::decode`].
    pub fn finish(self) -> Result<String> {
        let (given, whole) = self.texts()?;
        Ok(whole.get(given.len()..).unwrap_or_default().to_owned())
    }

    /// The text of the tokens that are given out already, and of all.
    fn texts(&self) -> Result<(String, String)> {
        let decode = |ids: &[u32]| self.tokenizer.decode(ids, self.skip_special);
        Ok((
            decode(&self.token_ids[..self.given])?,
            decode(&self.token_ids)?,
        ))
    }
}

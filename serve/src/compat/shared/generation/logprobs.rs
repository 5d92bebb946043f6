//! Log-probabilities in the forms of the two routes.

use std::collections::BTreeMap;

use engine::{SampledToken, Tokenizer};

use super::types::{ChatLogprobs, CompletionLogprobs, TokenLogprob, TopLogprob};

/// Returns the text of a token; bytes that are not valid text are spelled out.
pub(super) fn text_of(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => {
            bytes.iter().fold("bytes:".to_owned(), |all, byte| all + &format!("\\x{byte:02x}"))
        }
    }
}

/// Returns the bytes of a token; empty for logits beyond the vocabulary.
pub(super) fn bytes_of(tokenizer: &Tokenizer, id: u32) -> Vec<u8> {
    tokenizer.token_bytes(id).unwrap_or_default()
}

/// Returns the log-probabilities of a chat.
pub(super) fn chat(tokenizer: &Tokenizer, tokens: &[SampledToken]) -> ChatLogprobs {
    let top = |(id, logprob): &(u32, f32)| {
        let bytes = bytes_of(tokenizer, *id);
        TopLogprob { token: text_of(&bytes), logprob: *logprob, bytes: Some(bytes) }
    };
    let entry = |token: &SampledToken| {
        let bytes = bytes_of(tokenizer, token.token_id);
        TokenLogprob {
            token: text_of(&bytes),
            logprob: token.logprob,
            bytes: Some(bytes),
            top_logprobs: token.top.iter().map(top).collect(),
        }
    };
    ChatLogprobs { content: tokens.iter().map(entry).collect(), refusal: None }
}

/// A token with its log-probability, if it has one, and the most probable tokens.
pub(super) struct ListedToken<'t> {
    pub(super) token_id: u32,
    pub(super) logprob: Option<f32>,
    pub(super) top: &'t [(u32, f32)],
}

impl<'t> From<&'t SampledToken> for ListedToken<'t> {
    fn from(token: &'t SampledToken) -> ListedToken<'t> {
        ListedToken { token_id: token.token_id, logprob: Some(token.logprob), top: &token.top }
    }
}

/// The log-probability lists of a completion, over all increments of a choice.
#[derive(Debug, Clone, Default)]
pub(super) struct Lists {
    /// Code points of the text before the next token.
    n_chars: u64,
}

impl Lists {
    /// Returns the lists of the next tokens. With `skip_special`, special tokens have no text.
    pub(super) fn of<'t>(
        &mut self,
        tokenizer: &Tokenizer,
        skip_special: bool,
        entries: impl IntoIterator<Item = ListedToken<'t>>,
    ) -> CompletionLogprobs {
        let mut lists =
            CompletionLogprobs { top_logprobs: Some(Vec::new()), ..CompletionLogprobs::default() };
        for entry in entries {
            let bytes = bytes_of(tokenizer, entry.token_id);
            lists.text_offset.push(self.n_chars);
            if !(skip_special && tokenizer.is_special(entry.token_id)) {
                self.n_chars +=
                    bytes.iter().filter(|byte| begins_a_character(**byte)).count() as u64;
            }
            let token = text_of(&bytes);
            let top = entry.logprob.map(|logprob| {
                let top = entry.top.iter();
                let named = top.map(|(id, p)| (text_of(&bytes_of(tokenizer, *id)), *p));
                // Of two tokens with the same text, the more probable one, which comes first, is
                // kept.
                let mut map = BTreeMap::new();
                for (text, logprob) in named {
                    map.entry(text).or_insert(logprob);
                }
                map.entry(token.clone()).or_insert(logprob);
                map
            });
            lists.top_logprobs.get_or_insert_default().push(top);
            lists.token_logprobs.push(entry.logprob);
            lists.tokens.push(token);
        }
        lists
    }
}

fn begins_a_character(byte: u8) -> bool {
    byte & 0xc0 != 0x80
}

//! Encoding of text with origins.
//!
//! The stages are those of the `tokenizers` library, called one by one: cut at added tokens,
//! normalise, cut at those that match normalised text, pre-tokenise, run the model. The two cuts
//! read the origins; the other stages see the text in one piece, so that a boundary between
//! template and message changes no id by itself.

use std::ops::Range;

use tokenizers::normalizer::Range as OffsetRange;
use tokenizers::{
    Model, NormalizedString, Normalizer, OffsetReferential, OffsetType, Offsets,
    PreTokenizedString, PreTokenizer, Token,
};

use super::added::{Added, Matcher};
use super::{Tokenizer, guarded, library};
use crate::conversation::Conversation;
use crate::error::Result;
use crate::text::{Origin, Text};

/// A conversation as token ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedChat {
    /// The prompt's tokens.
    pub token_ids: Vec<u32>,
    /// SHA-256 of the rendered prompt, in hexadecimal.
    pub digest: String,
}

type Split = (NormalizedString, Option<Vec<Token>>);

impl Tokenizer {
    /// Renders a conversation with the model's template and encodes it. Special tokens come from
    /// the template alone; in messages, tools, documents and switches they are text. No tokens are
    /// added around the prompt: the template has written those that the model expects.
    ///
    /// # Errors
    /// [`crate::ChatError::Template`]: rendering failed, or the prompt cannot be encoded.
    pub fn encode_chat(&self, conversation: &Conversation) -> Result<EncodedChat> {
        let rendered = self.template.render(conversation)?;
        Ok(EncodedChat { token_ids: self.encode_text(&rendered.text)?, digest: rendered.digest })
    }

    /// Encodes text of known origins, without tokens around it.
    ///
    /// # Errors
    /// [`crate::ChatError::Template`]: longer than [`crate::MAX_TEXT_BYTES`], or the tokenizer
    /// itself fails.
    pub fn encode_text(&self, text: &Text) -> Result<Vec<u32>> {
        guarded(|| self.ids(text)).map_err(library)?
    }

    fn ids(&self, text: &Text) -> Result<Vec<u32>> {
        let pieces = self.pieces(text)?;
        let mut ids = Vec::new();
        // Tokens with their texts and places would take several times the memory of the pieces.
        for (piece, original, token) in
            pieces.get_splits(OffsetReferential::Original, OffsetType::Byte)
        {
            if let Some(added) = token {
                ids.extend(added.iter().map(|token| token.id));
            } else {
                let tokens = self.run_model(piece, original, text).map_err(library)?;
                ids.extend(tokens.iter().map(|token| token.id));
            }
        }
        Ok(ids)
    }

    /// Encodes a raw prompt from a request: every added token in it is text. With
    /// `add_special_tokens` the tokenizer puts its own around it, such as the beginning of a
    /// sequence.
    ///
    /// # Errors
    /// As [`Tokenizer::encode_text`].
    pub fn encode_untrusted(&self, text: &str, add_special_tokens: bool) -> Result<Vec<u32>> {
        let text = Text::new(text, Origin::Request);
        if add_special_tokens {
            return guarded(|| self.surrounded_ids(&text)).map_err(library)?;
        }
        self.encode_text(&text)
    }

    fn surrounded_ids(&self, text: &Text) -> Result<Vec<u32>> {
        let mut pieces = self.pieces(text)?;
        let tokenize =
            |piece: &NormalizedString| self.run_model(piece.get(), piece.offsets_original(), text);
        pieces.tokenize(tokenize).map_err(library)?;
        let encoding = pieces.into_encoding(None, 0, OffsetType::Byte).map_err(library)?;
        let whole = self.inner.post_process(encoding, None, true).map_err(library)?;
        Ok(whole.get_ids().to_vec())
    }

    /// The pieces that the model reads one by one; added tokens are tokens already.
    fn pieces(&self, text: &Text) -> Result<PreTokenizedString> {
        self.check_text(text.as_str())?;
        let mut pieces = PreTokenizedString::from(text.as_str());
        pieces.split(|_, piece| Ok(cut(&piece, &self.added.raw, text))).map_err(library)?;
        pieces
            .split(|_, mut piece| {
                if let Some(normalizer) = self.inner.get_normalizer() {
                    normalizer.normalize(&mut piece)?;
                }
                Ok(cut(&piece, &self.added.normalized, text))
            })
            .map_err(library)?;
        if let Some(pre_tokenizer) = self.inner.get_pre_tokenizer() {
            pre_tokenizer.pre_tokenize(&mut pieces).map_err(library)?;
        }
        Ok(pieces)
    }

    /// The model's tokens of one piece, which stands at `original` in the text. Some models know
    /// special tokens as words; a piece that does not come from the template is then encoded
    /// character by character.
    fn run_model(
        &self,
        piece: &str,
        original: Offsets,
        text: &Text,
    ) -> tokenizers::Result<Vec<Token>> {
        let model = self.inner.get_model();
        let tokens = model.tokenize(piece)?;
        let forged = |tokens: &[Token]| tokens.iter().any(|t| self.special_ids.contains(&t.id));
        let (start, end) = original;
        if !forged(&tokens) || text.origin_of(start..end) == Origin::Template {
            return Ok(tokens);
        }
        let mut apart = Vec::new();
        for (at, c) in piece.char_indices() {
            for mut token in model.tokenize(c.encode_utf8(&mut [0; 4]))? {
                token.offsets = (token.offsets.0 + at, token.offsets.1 + at);
                apart.push(token);
            }
        }
        if forged(&apart) {
            return Err("the tokenizer makes a special token of plain text".into());
        }
        Ok(apart)
    }
}

/// Cuts a piece at the added tokens that the origins in `text` allow.
fn cut(piece: &NormalizedString, matcher: &Matcher, text: &Text) -> Vec<Split> {
    let allowed = |token: &Added, range: Range<usize>| {
        let origin = origin_of(piece, &range, text);
        token.allowed_in(origin)
    };
    matcher
        .cut(piece.get(), allowed)
        .into_iter()
        .map(|(range, id)| {
            let slice = piece
                .slice(OffsetRange::Normalized(range.clone()))
                .expect("pieces lie on character boundaries");
            let token = id.map(|id| {
                let value = piece.get()[range].to_owned();
                let offsets = (0, value.len());
                vec![Token::new(id, value, offsets)]
            });
            (slice, token)
        })
        .collect()
}

/// The origin of the text that became `range` of a piece.
fn origin_of(piece: &NormalizedString, range: &Range<usize>, text: &Text) -> Origin {
    let (start, end) = piece.offsets_original();
    match piece.convert_offsets(OffsetRange::Normalized(range.clone())) {
        Some(original) if !original.is_empty() => {
            text.origin_of(start + original.start..start + original.end)
        }
        // Text that the normaliser inserted: as trusted as its surroundings.
        _ => text.origin_of(start..end),
    }
}

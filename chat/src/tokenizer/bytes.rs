//! The bytes of single tokens.
//!
//! A token of a byte-level or byte-fallback vocabulary need not be text: a character may be spread
//! over several. Matching tokens against a grammar needs the bytes themselves, which decoding to
//! text loses.

use tokenizers::{Decoder, DecoderWrapper};

use super::{Tokenizer, guarded};

/// Surrounds a token while it is decoded, because decoders change the ends of a text. No decoder
/// changes the anchor.
const ANCHOR: &str = "x";

impl Tokenizer {
    /// The bytes that a token contributes in the middle of a text, as decoding spells it; for a
    /// special or added token, its content. `None` beyond the vocabulary.
    ///
    /// The bytes of a sequence's tokens in order are its text, except for what a tokenizer does at
    /// the beginning (a leading space) and for bytes that are not UTF-8.
    pub fn token_bytes(&self, id: u32) -> Option<Vec<u8>> {
        let token = self.inner.id_to_token(id)?;
        let decoder = self.inner.get_decoder();
        let has = |kind: fn(&DecoderWrapper) -> bool| decoder.is_some_and(|d| any(d, kind));
        if has(|d| matches!(d, DecoderWrapper::ByteLevel(_))) {
            return Some(byte_level(&token));
        }
        if has(|d| matches!(d, DecoderWrapper::ByteFallback(_)))
            && let Some(byte) = fallback_byte(&token)
        {
            return Some(vec![byte]);
        }
        Some(between_anchors(decoder, token).into_bytes())
    }
}

/// Whether a decoder, or a step of it, is of this kind.
fn any(decoder: &DecoderWrapper, kind: fn(&DecoderWrapper) -> bool) -> bool {
    if let DecoderWrapper::Sequence(steps) = decoder {
        return steps.get_decoders().iter().any(|d| any(d, kind));
    }
    kind(decoder)
}

/// The bytes that the characters represent; a token with any other character is its own text, as in
/// the library.
fn byte_level(token: &str) -> Vec<u8> {
    let bytes: Option<Vec<u8>> = token.chars().map(byte_of).collect();
    bytes.unwrap_or_else(|| token.as_bytes().to_vec())
}

/// The byte that a character represents in byte-level BPE (GPT-2, Radford et al., 2019): printable
/// Latin-1 represents itself, and the other bytes in order have the characters from U+0100 on.
fn byte_of(c: char) -> Option<u8> {
    let code = u32::from(c);
    let byte = match (c, code) {
        ('!'..='~' | '\u{a1}'..='\u{ac}' | '\u{ae}'..='\u{ff}', _) => code,
        (_, 0x100..=0x120) => code - 0x100,
        (_, 0x121..=0x142) => code - 0x121 + 0x7f,
        (_, 0x143) => 0xad,
        _ => return None,
    };
    u8::try_from(byte).ok()
}

/// The byte of `<0x0A>` and its like.
fn fallback_byte(token: &str) -> Option<u8> {
    let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
    let are_hex = digits.len() == 2 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    // The library's parser would accept a sign, too.
    are_hex.then(|| u8::from_str_radix(digits, 16).ok()).flatten()
}

/// The text that a token adds between two anchors.
fn between_anchors(decoder: Option<&DecoderWrapper>, token: String) -> String {
    let decode = |tokens: Vec<String>| match decoder {
        Some(decoder) => guarded(|| decoder.decode(tokens)).flatten().ok(),
        None => Some(tokens.join(" ")),
    };
    let anchor = || ANCHOR.to_owned();
    let inside = || {
        let without = decode(vec![anchor(), anchor()])?;
        let with = decode(vec![anchor(), token.clone(), anchor()])?;
        let after = without.strip_prefix(ANCHOR)?;
        let inside = with.strip_prefix(ANCHOR)?.strip_suffix(after)?;
        Some(inside.to_owned())
    };
    inside().unwrap_or(token)
}

#[cfg(test)]
mod tests {
    use super::{byte_level, byte_of, fallback_byte};

    #[test]
    fn every_byte_has_one_character() {
        let mut seen = [0; 256];
        for byte in ('\0'..='\u{200}').filter_map(byte_of) {
            seen[usize::from(byte)] += 1;
        }
        assert_eq!(seen, [1; 256]);
        assert_eq!(byte_level("Ġthe"), b" the");
        assert_eq!(byte_level("Ċ"), b"\n");
        assert_eq!(byte_level("<｜end｜>"), "<｜end｜>".as_bytes());
    }

    #[test]
    fn fallback_bytes() {
        let check = |token, expected| assert_eq!(fallback_byte(token), expected, "{token}");
        check("<0x0A>", Some(10));
        check("<0xff>", Some(255));
        check("<0x+1>", None);
        check("<0x1>", None);
        check("<0x100>", None);
        check("0x0A", None);
    }
}

//! Numerals with their base: `101_2`, `1A3_{16}`, `101 base 2`, `0xff`.

use crate::answer::Numeral;
use crate::read::token::{Bracket, Lexeme, Token};

use super::{AnswerReader, LexemeRange};

/// The longest numeral, in digits.
const MAX_DIGITS: usize = 4096;

impl AnswerReader<'_, '_, '_> {
    /// Returns the numeral that all of `span` states, if it is one.
    pub(super) fn numeral(&self, span: &LexemeRange) -> Option<Numeral> {
        let items = self.slice(span);
        let (is_negative, items) = match items {
            [sign, rest @ ..] if sign.token == Token::Minus => (true, rest),
            items => (false, items),
        };
        let at = items.iter().rposition(|item| {
            item.token == Token::Underscore || item.token.word() == Some("base")
        })?;
        let is_subscript = items[at].token == Token::Underscore;
        let base = base(&items[at + 1..])?;
        let (digits, is_marked) = digits(&items[..at], base)?;
        // `A_{12}` is a variable.
        if !is_marked && is_subscript {
            return None;
        }
        Some(Numeral { is_negative, digits, base })
    }
}

/// Parses a base from 2 to 36, with or without braces, in digits or letters.
fn base(items: &[Lexeme<'_>]) -> Option<u8> {
    let inner = match items {
        [open, inner @ .., _] if open.token == Token::Open(Bracket::Group) => inner,
        items => items,
    };
    let [item] = inner else {
        return None;
    };
    let base = match item.token {
        Token::Number(literal) if literal.is_digits() => literal.whole.parse().ok()?,
        Token::Word { text, .. } => match text {
            "two" => 2,
            "three" => 3,
            "four" => 4,
            "five" => 5,
            "six" => 6,
            "seven" => 7,
            "eight" => 8,
            "nine" => 9,
            "ten" => 10,
            "twelve" => 12,
            "sixteen" => 16,
            _ => return None,
        },
        _ => return None,
    };
    (2..=36).contains(&base).then_some(base)
}

/// Returns the digits, upper case and without leading zeros, and whether they are more than a
/// letter.
fn digits(items: &[Lexeme<'_>], base: u8) -> Option<(String, bool)> {
    let inner = match items {
        [open, inner @ .., _]
            if matches!(open.token, Token::Open(Bracket::Round | Bracket::Group))
                && items[items.len() - 1].token != open.token
                && inner.iter().all(|item| !matches!(item.token, Token::Open(_))) =>
        {
            inner
        }
        items => items,
    };
    let mut digits = String::new();
    for item in inner {
        match item.token {
            Token::Number(literal) if literal.is_digits() => digits.push_str(literal.whole),
            Token::Number(literal) if literal.fraction.is_none() && literal.repeat.is_none() => {
                // `1E3_{16}`: the digit E was read as a power of ten.
                let exponent = literal.exponent?;
                let is_plain = exponent.bytes().all(|b| b.is_ascii_digit());
                let is_hex = base > 14 && is_plain;
                digits.push_str(literal.whole);
                digits.push_str(is_hex.then_some("E")?);
                digits.push_str(exponent);
            }
            Token::Word { text, .. } => digits.push_str(text),
            _ => return None,
        }
    }
    // `lambda_{23}` is a variable, and so is `A_{12}`; `ff_{16}` is none.
    let has_digit = digits.bytes().any(|b| b.is_ascii_digit());
    let is_upper = digits.len() > 1 && digits.bytes().all(|b| b.is_ascii_uppercase());
    let is_hexadecimal = digits.len() > 1 && base == 16;
    let is_marked = has_digit || is_upper || is_hexadecimal;
    let is_digit = |c: char| c.is_digit(u32::from(base));
    if digits.is_empty() || digits.len() > MAX_DIGITS || !digits.chars().all(is_digit) {
        return None;
    }
    Some((significant(&digits), is_marked))
}

/// Returns `digits` as numerals keep them.
fn significant(digits: &str) -> String {
    let digits = digits.to_ascii_uppercase();
    let significant = digits.trim_start_matches('0');
    if significant.is_empty() { "0".to_owned() } else { significant.to_owned() }
}

/// Returns the numeral that all of `text` states with a prefix of programmers: `0xff`, `0b101`.
/// Without a letter among its digits `0x4` may be a product.
pub(in crate::read) fn prefixed(text: &str) -> Option<Numeral> {
    let (is_negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let rest = text.strip_prefix('0')?;
    let (base, digits) = match rest.split_at_checked(1)? {
        ("x" | "X", digits) if digits.contains(char::is_alphabetic) => (16, digits),
        ("b" | "B", digits) => (2, digits),
        _ => return None,
    };
    let is_short = (2..=MAX_DIGITS).contains(&digits.len());
    let is_numeral = is_short && digits.chars().all(|c| c.is_digit(u32::from(base)));
    is_numeral.then(|| Numeral { is_negative, digits: significant(digits), base })
}

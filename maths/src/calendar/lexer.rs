//! From the text of a date or a time to its tokens.

/// A piece of a date or a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DateToken<'a> {
    /// ASCII digits, at most four, with their number.
    Number(u16, &'a str),
    /// Letters.
    Word(&'a str),
    /// Anything else but white space.
    Mark(char),
    Space,
}

/// The longest text of a date, in bytes, and its pieces at most.
const MAX_BYTES: usize = 64;

/// Returns the tokens of `text`; `None` if it is too long or has a longer number.
pub(super) fn tokens(text: &str) -> Option<Vec<DateToken<'_>>> {
    let text = text.trim();
    let text = text.strip_suffix('.').unwrap_or(text);
    if text.len() > MAX_BYTES || !text.contains(|c: char| c.is_ascii_alphanumeric()) {
        return None;
    }
    let mut tokens = Vec::with_capacity(12);
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_same: fn(char) -> bool = match first {
            '0'..='9' => |c| c.is_ascii_digit(),
            '年' | '月' | '日' | '号' => |_| false,
            _ if first.is_alphabetic() => |c| c.is_alphabetic() && c.is_ascii(),
            _ if first.is_whitespace() => char::is_whitespace,
            _ => |_| false,
        };
        let len = rest[first.len_utf8()..].find(|c| !is_same(c));
        let (run, after) = rest.split_at(len.map_or(rest.len(), |len| first.len_utf8() + len));
        tokens.push(match first {
            '0'..='9' if run.len() <= 4 => DateToken::Number(run.parse().ok()?, run),
            '0'..='9' => return None,
            '年' | '月' | '日' | '号' => DateToken::Mark(first),
            _ if first.is_alphabetic() => DateToken::Word(run),
            _ if first.is_whitespace() => DateToken::Space,
            _ => DateToken::Mark(first),
        });
        rest = after;
    }
    Some(tokens)
}

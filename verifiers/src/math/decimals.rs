//! Decimal points and decimal commas of texts.

/// Returns whether a decimal point between digits stands in `text`.
pub(super) fn holds_decimal(text: &str) -> bool {
    let is_digit = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    memchr::memchr_iter(b'.', text.as_bytes())
        .any(|at| at > 0 && is_digit(at - 1) && is_digit(at + 1))
}

/// Returns whether commas stand in `text`, each between digits, so that they may be decimal points.
pub(super) fn has_decimal_comma(text: &str) -> bool {
    let is_digit = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    let mut commas = memchr::memchr_iter(b',', text.as_bytes()).peekable();
    commas.peek().is_some() && commas.all(|at| at > 0 && is_digit(at - 1) && is_digit(at + 1))
}

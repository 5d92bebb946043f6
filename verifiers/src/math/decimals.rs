//! Decimal points and decimal commas of texts.

use super::question::Question;

impl Question<'_> {
    /// Whether the question writes thousands with points, and has another sign of a language that does:
    /// `25.000 €`. `2.000 kg` alone is a mass to four digits.
    pub(super) fn groups_by_points(&self) -> bool {
        let is_group = |(at, group): (usize, &str)| {
            let before = self.text[..at].bytes().rev().take_while(u8::is_ascii_digit).count();
            let after = self.text[at + group.len()..].bytes().next();
            (1..=3).contains(&before) && after.is_none_or(|b| !b.is_ascii_digit())
        };
        if !self.text.match_indices(".000").any(is_group) {
            return false;
        }
        let has_decimal_comma = self.text.match_indices(',').any(|(at, _)| {
            let digits = self.text[at + 1..].bytes().take_while(u8::is_ascii_digit).count();
            self.text[..at].ends_with(|c: char| c.is_ascii_digit()) && (1..=2).contains(&digits)
        });
        let is_accented = |c: char| c.is_alphabetic() && ('\u{c0}'..'\u{250}').contains(&c);
        has_decimal_comma || self.says(&["€", "euro", "r$"]) || self.text.contains(is_accented)
    }
}

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

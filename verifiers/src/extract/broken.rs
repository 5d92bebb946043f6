//! Formulas of a sentence that a line break cuts: `$x =` on one line, `5$` on the next.
//!
//! Such a formula is not joined, and its parts are no answers of their own: who guesses at an
//! answer must not find the `5` in it.

use std::ops::Range;

use memchr::memmem;

use super::unmarked::{self, MAX_FORMULA};

/// Returns whether the last digit of `number` stands in a formula between `$` or `\(` whose ends
/// are on different lines of one paragraph of `part`.
pub(super) fn holds(text: &str, part: &Range<usize>, number: &Range<usize>) -> bool {
    let digit = text[number.clone()].rfind(char::is_numeric);
    let at = number.start + digit.unwrap_or(0);
    let paragraph = paragraph_around(text, part, at);
    [brackets_around, dollars_around]
        .into_iter()
        .filter_map(|around| around(text, &paragraph, at))
        .map(|inner| &text[inner])
        .any(|inner| inner.contains('\n') && unmarked::is_formula(inner))
}

/// Returns what blank lines enclose; no formula goes beyond them.
fn paragraph_around(text: &str, part: &Range<usize>, at: usize) -> Range<usize> {
    let bytes = text.as_bytes();
    let start = memmem::rfind(&bytes[part.start..at], b"\n\n");
    let end = memmem::find(&bytes[at..part.end], b"\n\n");
    start.map_or(part.start, |length| part.start + length)
        ..end.map_or(part.end, |length| at + length)
}

/// Returns what stands between the last `\(` before `at` and the next `\)`.
fn brackets_around(text: &str, paragraph: &Range<usize>, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let before = &bytes[paragraph.start..at];
    let open = memmem::rfind(before, b"\\(")?;
    let is_open = memmem::rfind(before, b"\\)").is_none_or(|shut| shut < open);
    let limit = paragraph.end.min(at + MAX_FORMULA);
    let length = memmem::find(&bytes[at..limit], b"\\)")?;
    is_open.then(|| paragraph.start + open + 2..at + length)
}

/// Returns what stands between the single dollar signs around `at`, where an odd number of them
/// stands before it.
fn dollars_around(text: &str, paragraph: &Range<usize>, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let is_bare = |sign: &usize| *sign == paragraph.start || bytes[sign - 1] != b'\\';
    let signs = || memchr::memchr_iter(b'$', &bytes[paragraph.clone()]);
    let mut signs = signs().map(|sign| paragraph.start + sign).filter(is_bare);
    let mut open = None;
    for sign in signs.by_ref() {
        if sign > at {
            let is_short = sign - at <= MAX_FORMULA;
            return open.filter(|_| is_short).map(|open: usize| open + 1..sign);
        }
        open = match open {
            Some(_) => None,
            None => Some(sign),
        };
    }
    None
}

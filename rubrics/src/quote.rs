//! Approximate search of a quotation in a text.
//!
//! RLBFF (arXiv 2509.21319) keeps a quoted span where `RapidFuzz`'s partial ratio exceeds 60. The
//! ratio here is of the same family: the largest, over all substrings of the text, of `100 · (1 − d
//! / (length of quote + length of substring))`, where `d` counts the characters to insert and
//! delete. `RapidFuzz` considers substrings of about the quote's length only.

use std::ops::Range;

/// Limit of characters of the quote times characters of the text for approximate search, a fraction
/// of a second of one core; above it only exact matches are found.
const MOST_CELLS: usize = 1 << 26;

/// A match of a quotation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct QuoteMatch {
    /// Code points of the text.
    pub(crate) span: Range<usize>,
    /// From 0 to 100.
    pub(crate) ratio: f64,
}

/// Finds the substring of `text` with the highest ratio to `quote`, the first of equal ones; white
/// space around the quote is ignored. `None` if no substring has a ratio above `least`.
pub(crate) fn locate(quote: &str, text: &str, least: f64) -> Option<QuoteMatch> {
    let quote = quote.trim();
    if quote.is_empty() {
        return None;
    }
    let quoted: Vec<char> = quote.chars().collect();
    if let Some(byte) = text.find(quote) {
        let start = text[..byte].chars().count();
        return Some(QuoteMatch { span: start..start + quoted.len(), ratio: 100.0 });
    }
    let text: Vec<char> = text.chars().collect();
    if quoted.len().saturating_mul(text.len()) > MOST_CELLS {
        return None;
    }
    let best = nearest(&quoted, &text)?;
    (best.ratio > least).then_some(best)
}

/// An alignment of a prefix of the quote with a substring that ends at the current column.
#[derive(Clone, Copy)]
struct Cell {
    edits: usize,
    start: usize,
}

/// Finds the best substring by Sellers' alignment: one column for each character of the text, in
/// which row `i` has the fewest insertions and deletions between the first `i` characters of the
/// quote and a substring that ends there. A substring may begin anywhere, so row 0 costs nothing.
fn nearest(quote: &[char], text: &[char]) -> Option<QuoteMatch> {
    let mut column: Vec<Cell> = (0..=quote.len()).map(|edits| Cell { edits, start: 0 }).collect();
    let mut best: Option<QuoteMatch> = None;
    for (end, c) in (1..).zip(text) {
        let mut diagonal = column[0];
        column[0].start = end;
        for (row, quoted) in (1..).zip(quote) {
            let above = column[row - 1];
            let left = column[row];
            let more = |cell: Cell| Cell { edits: cell.edits + 1, ..cell };
            let cell = if quoted == c {
                diagonal
            } else if above.edits <= left.edits {
                more(above)
            } else {
                more(left)
            };
            (diagonal, column[row]) = (left, cell);
        }
        let last = column[quote.len()];
        let ratio = ratio(last.edits, quote.len() + end - last.start);
        if last.start < end && best.as_ref().is_none_or(|best| ratio > best.ratio) {
            let span = last.start..end;
            best = Some(QuoteMatch { span, ratio });
        }
    }
    best
}

fn ratio(edits: usize, length: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "texts have far fewer than 2^53 characters")]
    let share = edits as f64 / length as f64;
    100.0 * (1.0 - share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locates_exact_and_approximate_quotes() {
        let check = |quote: &str, text: &str, expected: Option<Range<usize>>| {
            let place = locate(quote, text, 60.0);
            assert_eq!(place.map(|p| p.span), expected, "{quote:?} in {text:?}");
        };
        check("the sum", "so the sum is 3", Some(3..10));
        check("  the sum\n", "so the sum is 3", Some(3..10));
        check("a", "b a a", Some(2..3));
        check("größer", "x ist größer als y", Some(6..12));
        // One wrong letter.
        check("the sun is", "so the sum is 3", Some(3..13));
        check("completely different", "zzzzz 12345", None);
        check("", "text", None);
        check("  ", "text", None);
        check("text", "", None);
    }

    #[test]
    fn a1_rlbff_partial_ratio() {
        // Six of seven characters agree: one deletion and one insertion over 7 + 7.
        let place = locate("the sum", "..the sun..", 60.0).expect("found");
        assert!((place.ratio - 100.0 * (1.0 - 1.0 / 13.0)).abs() < 1e-9, "{place:?}");
        // The ratio must exceed the threshold.
        assert_eq!(locate("ab", "ax", 66.7), None);
        let place = locate("ab", "ax", 66.6).expect("2/3 of the characters agree");
        assert_eq!(place.span, 0..1);
    }

    #[test]
    fn text_too_long_to_align_is_searched_exactly() {
        let text = "ab ".repeat(1 << 14);
        let quote = "ba ".repeat(1 << 12);
        assert_eq!(locate(&quote, &text, 60.0), None);
        assert!(locate("b a", &text, 60.0).is_some());
    }
}

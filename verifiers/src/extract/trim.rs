//! Spans without white space, enclosing delimiters and the final full stop.

use std::ops::Range;

use maths::unwrapped;

/// Returns `span` without white space at its ends.
pub(super) fn space(text: &str, span: Range<usize>) -> Range<usize> {
    let inner = text[span.clone()].trim_start();
    let start = span.end - inner.len();
    start..start + inner.trim_end().len()
}

/// Returns `span` without white space, enclosing delimiters and a final full stop.
pub(super) fn clean(text: &str, span: Range<usize>) -> Range<usize> {
    let inner = unwrapped(&text[span]);
    range_in(text, inner)
}

/// Returns the range of `inner`, a slice of `text`.
pub(super) fn range_in(text: &str, inner: &str) -> Range<usize> {
    let start = inner.as_ptr().addr() - text.as_ptr().addr();
    start..start + inner.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cleaned_spans_lie_in_the_text() {
        for (text, expected) in
            [(" 5 ", "5"), ("**$\\frac{1}{2}$**.", "\\frac{1}{2}"), ("“5”", "5")]
        {
            let padded = format!("é {text} é");
            let span = clean(&padded, 2..padded.len() - 2);
            assert_eq!(&padded[span], expected, "{text}");
        }
    }
}

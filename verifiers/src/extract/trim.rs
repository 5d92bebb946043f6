//! Taking marks off a span: white space, math and Markdown delimiters, the final full stop.

use std::ops::Range;

/// Delimiters that may enclose an answer. `$` must not occur inside `$…$`, and so on: else
/// `$1$ or $2$` would lose its outer signs.
const WRAPPERS: [(&str, &str); 9] = [
    ("$$", "$$"),
    ("$", "$"),
    ("\\(", "\\)"),
    ("\\[", "\\]"),
    ("**", "**"),
    ("__", "__"),
    ("`", "`"),
    ("\"", "\""),
    ("“", "”"),
];

/// Layers taken off at most. A bound, so that a text of nothing but delimiters costs linear time.
pub(super) const MAX_LAYERS: usize = 8;

/// `span` without white space at its ends.
pub(super) fn space(text: &str, span: Range<usize>) -> Range<usize> {
    let inner = text[span.clone()].trim_start();
    let start = span.end - inner.len();
    start..start + inner.trim_end().len()
}

/// `span` without white space, enclosing delimiters and a final full stop.
pub(super) fn clean(text: &str, span: Range<usize>) -> Range<usize> {
    let inner = unwrapped(&text[span]);
    range_in(text, inner)
}

/// Where `inner`, a slice of `text`, stands in it.
pub(super) fn range_in(text: &str, inner: &str) -> Range<usize> {
    let start = inner.as_ptr().addr() - text.as_ptr().addr();
    start..start + inner.len()
}

/// `text` without white space, enclosing delimiters and a final full stop, layer by layer.
pub(crate) fn unwrapped(text: &str) -> &str {
    let mut inner = text.trim();
    for _ in 0..MAX_LAYERS {
        let peeled = peel(inner).trim();
        if peeled.len() == inner.len() {
            break;
        }
        inner = peeled;
    }
    inner
}

/// One layer less, or the same text.
fn peel(text: &str) -> &str {
    if let Some(rest) = text.strip_suffix('.') {
        // `3...` is an unfinished decimal and not a sentence.
        return if rest.ends_with('.') { text } else { rest };
    }
    for (open, close) in WRAPPERS {
        let inner = text.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
        match inner {
            Some(inner) if !opens(inner, open) && !ends_escaped(inner) => return inner,
            Some(_) | None => {}
        }
    }
    text
}

/// Whether `open` stands in `inner`. A backslash escapes it: `\\[2pt]` is a line break, `\$` a dollar.
fn opens(inner: &str, open: &str) -> bool {
    inner.match_indices(open).any(|(at, _)| !inner[..at].ends_with('\\'))
}

/// Whether what follows `text` is escaped: `$5\$` ends with a dollar sign and not with a delimiter.
fn ends_escaped(text: &str) -> bool {
    let slashes = text.bytes().rev().take_while(|b| *b == b'\\').count();
    slashes % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(unwrapped(text), expected, "{text}");
        let padded = format!("é {text} é");
        let span = clean(&padded, 2..padded.len() - 2);
        assert_eq!(&padded[span], expected, "{text}");
    }

    #[test]
    fn wrappers_come_off() {
        check(" 5 ", "5");
        check("5.", "5");
        check("5...", "5...");
        check("$5$.", "5");
        check("$5.$", "5");
        check("$$ 5 $$", "5");
        check("**$\\frac{1}{2}$**.", "\\frac{1}{2}");
        check("\\(5\\)", "5");
        check("\\[ 5. \\]", "5");
        check("`5`", "5");
        check("“5”", "5");
        check("\\[ 1 \\\\[2pt] 2 \\]", "1 \\\\[2pt] 2");
        check("$1 \\$ = 2$", "1 \\$ = 2");
    }

    #[test]
    fn what_is_not_a_wrapper_stays() {
        check("$5", "$5");
        check("$5\\$", "$5\\$");
        check("$1$ or $2$", "$1$ or $2$");
        check("**1** or **2**", "**1** or **2**");
        check("$", "$");
        check("", "");
        check(".", "");
    }
}

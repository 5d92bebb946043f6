//! Delimiters around an answer: white space, signs of mathematics and Markdown, the final full
//! stop.

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
pub const MAX_LAYERS: usize = 8;

/// Returns `text` without white space, enclosing delimiters and a final full stop, layer by layer.
pub fn unwrapped(text: &str) -> &str {
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

/// Removes one layer of delimiters, if there is one.
fn peel(text: &str) -> &str {
    let (Some(first), Some(last)) = (text.bytes().next(), text.bytes().next_back()) else {
        return text;
    };
    if first.is_ascii_alphanumeric() && last.is_ascii_alphanumeric() {
        return text;
    }
    if let Some(rest) = text.strip_suffix('.') {
        // `3...` is an unfinished decimal and not a sentence.
        let is_delimiter = rest.ends_with("\\right") || rest.ends_with("\\left");
        return if rest.ends_with('.') || is_delimiter { text } else { rest };
    }
    if let Some(rest) = text.strip_suffix(['。', '।']) {
        return rest;
    }
    if let Some(rest) = text.strip_suffix([',', ';']) {
        return if rest.ends_with('\\') { text } else { rest };
    }
    for (open, close) in WRAPPERS.iter().filter(|(open, _)| open.as_bytes()[0] == first) {
        let inner = text.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
        match inner {
            Some(inner) if !opens(inner, open) && !ends_escaped(inner) => return inner,
            Some(_) | None => {}
        }
    }
    text
}

/// Returns whether `open` stands in `inner`. A backslash escapes it: `\\[2pt]` is a line break,
/// `\$` a dollar.
fn opens(inner: &str, open: &str) -> bool {
    inner.match_indices(open).any(|(at, _)| !inner[..at].ends_with('\\'))
}

/// Returns whether what follows `text` is escaped: `$5\$` ends with a dollar sign and not with a
/// delimiter.
fn ends_escaped(text: &str) -> bool {
    let slashes = text.bytes().rev().take_while(|b| *b == b'\\').count();
    slashes % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(unwrapped(text), expected, "{text}");
    }

    #[test]
    fn delimiters_are_removed() {
        check(" 5 ", "5");
        check("5.", "5");
        check("5...", "5...");
        check("$5$.", "5");
        check("$5.$", "5");
        check("$$ 5 $$", "5");
        check("**$\\frac{1}{2}$**.", "\\frac{1}{2}");
        check("$5$。", "5");
        check("\\(5\\)", "5");
        check("\\[ 5. \\]", "5");
        check("`5`", "5");
        check("“5”", "5");
        check("\\[ 1 \\\\[2pt] 2 \\]", "1 \\\\[2pt] 2");
        check("$1 \\$ = 2$", "1 \\$ = 2");
    }

    #[test]
    fn unpaired_delimiters_stay() {
        check("$5", "$5");
        check("$5\\$", "$5\\$");
        check("$1$ or $2$", "$1$ or $2$");
        check("**1** or **2**", "**1** or **2**");
        check("$", "$");
        check("", "");
        check(".", "");
    }
}

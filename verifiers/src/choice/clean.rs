//! Takes the typesetting off an answer: Markdown emphasis, mathematics delimiters and the LaTeX
//! commands that only set a font or a space.

use unicode_normalization::UnicodeNormalization;

/// Commands whose braces go with them: `\text{B}` is `B`.
const WRAPPERS: [&str; 16] = [
    "text",
    "textbf",
    "textit",
    "textrm",
    "textsf",
    "texttt",
    "textnormal",
    "mathrm",
    "mathbf",
    "mathit",
    "mathsf",
    "mathtt",
    "mbox",
    "boxed",
    "fbox",
    "operatorname",
];

/// Returns `text` in NFKC, without typesetting and without white space at the ends.
///
/// One pass; braces are matched through a stack, so that a wrapper takes its own closing brace and
/// no other.
pub(super) fn clean(text: &str) -> String {
    let text: String = text.nfkc().collect();
    let mut out = String::with_capacity(text.len());
    // One entry for each open brace: whether its closing brace is dropped.
    let mut dropped = Vec::new();
    let mut rest = text.as_str();
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '\\' => rest = command(rest, &mut out, &mut dropped),
            '*' | '`' | '$' => {}
            '~' => out.push(' '),
            '{' => {
                dropped.push(false);
                out.push(c);
            }
            '}' => {
                if dropped.pop() != Some(true) {
                    out.push(c);
                }
            }
            _ => out.push(c),
        }
    }
    out.trim().to_owned()
}

/// Handles the text after a backslash and returns the rest.
fn command<'a>(rest: &'a str, out: &mut String, dropped: &mut Vec<bool>) -> &'a str {
    let name_len = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
    if name_len == 0 {
        return symbol(rest, out);
    }
    let (name, after) = rest.split_at(name_len);
    if matches!(name, "quad" | "qquad") {
        out.push(' ');
        return after;
    }
    if WRAPPERS.contains(&name)
        && let Some(inner) = after.trim_start().strip_prefix('{')
    {
        dropped.push(true);
        return inner;
    }
    out.push('\\');
    out.push_str(name);
    after
}

/// Handles a backslash before something that is not a letter.
fn symbol<'a>(rest: &'a str, out: &mut String) -> &'a str {
    let Some(c) = rest.chars().next() else {
        out.push('\\');
        return rest;
    };
    match c {
        '(' | ')' | '[' | ']' => {}
        ' ' | ',' | ';' | ':' | '!' => out.push(' '),
        '{' | '}' | '$' | '%' | '&' | '#' | '_' => out.push(c),
        _ => {
            out.push('\\');
            out.push(c);
        }
    }
    &rest[c.len_utf8()..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typesetting_is_removed_and_content_kept() {
        for (text, expected) in [
            ("**B**", "B"),
            (r"\text{B}", "B"),
            (r"\textbf{(B)}\ 12", "(B) 12"),
            (r"$\text{B}$", "B"),
            (r"\(B\)", "B"),
            (r"\text{A} and \text{B}", "A and B"),
            (r"\frac{1}{2}", r"\frac{1}{2}"),
            (r"\text{a {b} c}", "a {b} c"),
            (r"\textbf {B}", "B"),
            (r"\mathrm B", r"\mathrm B"),
            ("}}}\\text{", "}}}"),
            ("\\", "\\"),
            ("\\\u{e9}", "\\\u{e9}"),
            ("\u{ff22}\u{ff09}", "B)"),
            ("`B`", "B"),
        ] {
            assert_eq!(clean(text), expected, "{text}");
        }
    }

    #[test]
    fn deep_nesting_is_one_pass() {
        let text = format!("{}B{}", r"\text{".repeat(100_000), "}".repeat(100_000));
        assert_eq!(clean(&text), "B");
    }
}

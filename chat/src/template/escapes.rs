//! Escapes of string literals that minijinja reads otherwise than Python. A template that holds one
//! is an error when it is loaded, since its prompts would differ in silence.

use minijinja::machinery::{Token, tokenize};

use super::nesting::syntax;

/// Checks the string literals of `source`, whose lines end as Jinja ends them.
///
/// # Errors
/// The escape, and the line of its literal.
pub(super) fn check_escapes(source: &str) -> Result<(), String> {
    // The parser stops where its lexer fails, and has the message.
    for (token, span) in tokenize(source, false, syntax()).map_while(Result::ok) {
        // A literal without escapes is `Token::Str`.
        if !matches!(token, Token::String(_)) {
            continue;
        }
        let literal = source.get(span.start_offset as usize..span.end_offset as usize);
        let what = match literal.and_then(other_escape) {
            Some('\n') => "a backslash at the end of a line".to_owned(),
            Some(c) => format!("the escape `\\{c}`"),
            None => continue,
        };
        return Err(format!("line {}: {what} is not supported in a string", span.start_line));
    }
    Ok(())
}

/// The character behind the first backslash with which minijinja gives another text than Python:
/// `/`, from which it drops the backslash; what it does not know (BEL, VT, names, long code points,
/// joined lines); and letters beyond ASCII, which Jinja spells out.
fn other_escape(literal: &str) -> Option<char> {
    let mut chars = literal.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            continue;
        }
        let escaped = chars.next()?;
        if matches!(escaped, '/' | 'a' | 'v' | 'N' | 'U' | '\n') || !escaped.is_ascii() {
            return Some(escaped);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::check_escapes;

    #[test]
    fn escapes_that_are_read_otherwise_are_refused() {
        let check = |source: &str, expected: Result<(), &str>| {
            let found = check_escapes(source);
            assert_eq!(found, expected.map_err(str::to_owned), "{source}");
        };
        let refused = |source: &str, what: &str| {
            check(source, Err(&format!("{what} is not supported in a string")));
        };
        refused(r"{{ '<\/a>' }}", r"line 1: the escape `\/`");
        refused("a\n{% if x == \"\\a\" %}{% endif %}", r"line 2: the escape `\a`");
        refused(r"{{ 'a' ~ '\n\v' }}", r"line 1: the escape `\v`");
        refused(r"{{ '\N{BULLET}' }}", r"line 1: the escape `\N`");
        refused(r"{{ '\U0001F600' }}", r"line 1: the escape `\U`");
        refused(r"{{ '\é' }}", r"line 1: the escape `\é`");
        refused("{{ 'é\\\nb' }}", "line 1: a backslash at the end of a line");
        // What both read alike, and what is no literal.
        check(r#"{{ '\\/ \\a \' \" \n\r\t\b\f \x41 \101 \u00e9 \d \. \8 é' }}"#, Ok(()));
        check(r"\/ {# '\/' #}{% raw %}{{ '\/' }}{% endraw %}", Ok(()));
        check(r"{{ '/' }}", Ok(()));
        check(r"{{ '\/", Ok(()));
    }
}

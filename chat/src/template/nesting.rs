//! Bounds on the operators of one tag, beside the parser's own bound on nesting.
//!
//! minijinja's parser bounds parentheses and blocks at 150 levels, but it recurses for every unary
//! operator, and a long chain of other operators makes a tree that overflows the stack when it is
//! dropped. Such a template is an error before it is parsed.

/// Most `not` and `-` in one tag: the parser recurses for each.
const MAX_UNARY: usize = 128;
/// Most operators, attributes, filters and brackets in one tag: each may nest the tree by one.
const MAX_OPERATORS: usize = 1024;

/// Checks that no tag of `source` has more operators than the parser and the evaluator can nest.
///
/// # Errors
/// Which bound a tag exceeds.
pub(super) fn check_nesting(source: &str) -> Result<(), String> {
    let mut rest = source;
    while let Some(at) = rest.find('{') {
        let tag = &rest[at..];
        let end = match tag.as_bytes().get(1) {
            Some(b'#') => tag.find("#}").unwrap_or(tag.len()),
            Some(b'{') => check_tag(tag, "}}")?,
            Some(b'%') => check_tag(tag, "%}")?,
            _ => 1,
        };
        rest = &tag[end..];
    }
    Ok(())
}

/// Counts the operators of a tag and returns where it ends: at `close` outside of quotes and
/// brackets, as the parser's lexer has it.
fn check_tag(tag: &str, close: &str) -> Result<usize, String> {
    let (mut unary, mut operators, mut balance) = (0, 0, 0_usize);
    let (mut quote, mut escaped, mut word) = (None, false, 2);
    for (at, c) in tag.char_indices().skip(2) {
        if let Some(q) = quote {
            (quote, escaped) = (Some(q).filter(|_| escaped || c != q), !escaped && c == '\\');
            continue;
        }
        if balance == 0 && tag[at..].starts_with(close) {
            return Ok(at);
        }
        if !c.is_alphanumeric() && c != '_' {
            match &tag[word..at] {
                "not" => unary += 1,
                "and" | "or" | "in" | "is" | "if" | "else" => operators += 1,
                _ => {}
            }
            word = at + c.len_utf8();
        }
        match c {
            '"' | '\'' => quote = Some(c),
            '-' => unary += 1,
            '(' | '[' | '{' => (balance, operators) = (balance + 1, operators + 1),
            ')' | ']' | '}' => balance = balance.saturating_sub(1),
            '+' | '*' | '/' | '~' | '|' | '.' | '%' => operators += 1,
            _ => {}
        }
        if unary > MAX_UNARY || operators > MAX_OPERATORS {
            return Err(format!(
                "a tag has more than {MAX_UNARY} negations or {MAX_OPERATORS} operators"
            ));
        }
    }
    Ok(tag.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_with_too_many_operators_are_refused() {
        let repeat = |part: &str, n: usize| part.repeat(n);
        for (source, is_accepted) in [
            (String::new(), true),
            ("{".to_owned(), true),
            ("{{".to_owned(), true),
            ("{{ a.b[0] | trim ~ 'c' }}{% if not x %}{% endif %}".to_owned(), true),
            (format!("{{{{ {}x }}}}", repeat("not ", MAX_UNARY)), true),
            (format!("{{{{ {}x }}}}", repeat("not ", MAX_UNARY + 1)), false),
            (format!("{{{{ {}1 }}}}", repeat("- ", MAX_UNARY + 1)), false),
            (format!("{{{{ 1{} }}}}", repeat("+1", MAX_OPERATORS)), true),
            (format!("{{{{ 1{} }}}}", repeat("+1", MAX_OPERATORS + 1)), false),
            (format!("{{% if x{} %}}", repeat(" or x", MAX_OPERATORS + 1)), false),
            (format!("{{{{ x{} }}}}", repeat(".a", MAX_OPERATORS + 1)), false),
            // Each tag has its own count; texts, comments and literals have none.
            (repeat("{{ - x }}", 10 * MAX_UNARY), true),
            (repeat("not - + ", MAX_OPERATORS), true),
            (format!("{{# {} #}}", repeat("not ", MAX_OPERATORS)), true),
            (format!("{{{{ '{}' }}}}", repeat("not -", MAX_OPERATORS)), true),
            (format!("{{{{ '\\'{}' }}}}", repeat("-", MAX_OPERATORS)), true),
            (format!("{{{{ 'é' ~ \"}}}}\" {} }}}}", repeat("-", MAX_UNARY + 1)), false),
        ] {
            let shown: String = source.chars().take(40).collect();
            assert_eq!(check_nesting(&source).is_ok(), is_accepted, "{shown}");
        }
    }
}

//! Bounds on the operators of one tag and on chains of `elif`, beside the parser's own bound on
//! nesting.
//!
//! minijinja's parser bounds parentheses and blocks at 150 levels, but it recurses for every unary
//! operator, every `else` of a conditional expression and every `elif`, and a long chain of other
//! operators makes a tree that overflows the stack when it is dropped. Such a template is an error
//! before it is parsed.

/// Most `not` and `-` in one tag: the parser recurses for each.
const MAX_UNARY: usize = 128;
/// Most operators, attributes, filters and brackets in one tag: each may nest the tree by one.
const MAX_OPERATORS: usize = 1024;
/// Most `elif` of the `if` blocks that are open at a place: each nests the tree by one.
const MAX_ELIFS: usize = 256;

/// Checks that `source` nests no deeper than the parser and the evaluator can.
///
/// # Errors
/// The bound that is exceeded, and the line.
pub(super) fn check_nesting(source: &str) -> Result<(), String> {
    let mut rest = source;
    let mut blocks = OpenBlocks::default();
    while let Some(at) = rest.find('{') {
        let tag = &rest[at..];
        let at_line = |what: String| {
            let line = 1 + source[..source.len() - tag.len()].matches('\n').count();
            format!("line {line}: {what}")
        };
        let end = match tag.as_bytes().get(1) {
            Some(b'#') => tag.find("#}").unwrap_or(tag.len()),
            Some(b'{') => check_tag(tag, "}}").map_err(at_line)?,
            Some(b'%') => {
                blocks.enter(tag).map_err(at_line)?;
                check_tag(tag, "%}").map_err(at_line)?
            }
            _ => 1,
        };
        rest = &tag[end..];
    }
    Ok(())
}

/// The `if` blocks that are open at a place.
#[derive(Default)]
struct OpenBlocks {
    /// The number of `elif` of each.
    elifs: Vec<usize>,
    total: usize,
}

impl OpenBlocks {
    fn enter(&mut self, tag: &str) -> Result<(), String> {
        let name = tag[2..].trim_start_matches(['-', '+']).trim_start();
        let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
        match &name[..end] {
            "if" => self.elifs.push(0),
            "endif" => self.total -= self.elifs.pop().unwrap_or(0),
            "elif" => {
                // Without an `if` the parser refuses it.
                if let Some(last) = self.elifs.last_mut() {
                    *last += 1;
                    self.total += 1;
                }
            }
            _ => {}
        }
        if self.total > MAX_ELIFS {
            return Err(format!("more than {MAX_ELIFS} `elif` one behind or within the other"));
        }
        Ok(())
    }
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
            (format!("{{% if x %}}{}{{% endif %}}", repeat("{% elif x %}", MAX_ELIFS)), true),
            (format!("{{% if x %}}{}{{% endif %}}", repeat("{%- elif x %}", MAX_ELIFS + 1)), false),
            // Chains one behind the other do not nest, chains within each other do.
            (repeat("{% if x %}{% elif y %}{% endif %}", 2 * MAX_ELIFS), true),
            (repeat("{% if x %}{% elif y %}", MAX_ELIFS + 1), false),
            (
                format!("{{% if x %}}{}", repeat("{%elif x%}{%if y%}{%endif%}", MAX_ELIFS + 1)),
                false,
            ),
            (format!("{{{{ 'é' ~ \"}}}}\" {} }}}}", repeat("-", MAX_UNARY + 1)), false),
        ] {
            let shown: String = source.chars().take(40).collect();
            assert_eq!(check_nesting(&source).is_ok(), is_accepted, "{shown}");
        }
    }
}

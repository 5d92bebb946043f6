//! Bounds on the operators of one tag and on chains of `elif`, beside the parser's own bound on
//! nesting.
//!
//! minijinja's parser bounds parentheses and blocks at 150 levels, but it recurses for every unary
//! operator, every `else` of a conditional expression and every `elif`, and a long chain of other
//! operators makes a tree that overflows the stack when it is dropped. Such a template is an error
//! before it is parsed.

use minijinja::machinery::{Token, tokenize};
use minijinja::syntax::SyntaxConfig;

/// Most `not` and `-` in one tag: the parser recurses for each.
const MAX_UNARY: usize = 128;
/// Most operators, attributes, filters and brackets in one tag: each may nest the tree by one.
const MAX_OPERATORS: usize = 1024;
/// Most `elif` of the `if` blocks that are open at a place: each nests the tree by one.
const MAX_ELIFS: usize = 256;

/// The settings of Jinja that Hugging Face uses.
pub(super) fn syntax() -> SyntaxConfig {
    SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .build()
        .expect("the default delimiters are valid")
}

/// Checks that `source` nests no deeper than the parser and the evaluator can. The tokens are those of
/// the parser's own lexer, so that nothing counts for one and not for the other.
///
/// # Errors
/// The bound that is exceeded, and the line.
pub(super) fn check_nesting(source: &str) -> Result<(), String> {
    let (mut unary, mut operators) = (0, 0);
    let mut blocks = OpenBlocks::default();
    let mut begins_block = false;
    // The parser stops where its lexer fails, and has the message.
    for (token, span) in tokenize(source, false, syntax()).map_while(Result::ok) {
        if matches!(token, Token::VariableStart | Token::BlockStart) {
            (unary, operators) = (0, 0);
        }
        if let Token::Ident(name) = token
            && begins_block
        {
            blocks.enter(name);
        }
        begins_block = matches!(token, Token::BlockStart);
        unary += usize::from(matches!(token, Token::Minus | Token::Ident("not")));
        operators += usize::from(is_operator(&token));
        let what = if unary > MAX_UNARY || operators > MAX_OPERATORS {
            format!("a tag has more than {MAX_UNARY} negations or {MAX_OPERATORS} operators")
        } else if blocks.elifs > MAX_ELIFS {
            format!("more than {MAX_ELIFS} `elif` one behind or within the other")
        } else {
            continue;
        };
        return Err(format!("line {}: {what}", span.start_line));
    }
    Ok(())
}

/// Whether a token may nest the tree by one.
fn is_operator(token: &Token<'_>) -> bool {
    matches!(
        token,
        Token::Ident("and" | "or" | "in" | "is" | "if" | "else")
            | Token::Plus
            | Token::Mul
            | Token::Div
            | Token::FloorDiv
            | Token::Pow
            | Token::Mod
            | Token::Tilde
            | Token::Pipe
            | Token::Dot
            | Token::BracketOpen
            | Token::ParenOpen
            | Token::BraceOpen
    )
}

/// The `if` blocks that are open at a place.
#[derive(Default)]
struct OpenBlocks {
    /// The number of `elif` of each.
    of_each: Vec<usize>,
    /// The number of `elif` of all.
    elifs: usize,
}

impl OpenBlocks {
    fn enter(&mut self, name: &str) {
        match name {
            "if" => self.of_each.push(0),
            "endif" => self.elifs -= self.of_each.pop().unwrap_or(0),
            "elif" => {
                // Without an `if` the parser refuses it.
                if let Some(last) = self.of_each.last_mut() {
                    *last += 1;
                    self.elifs += 1;
                }
            }
            _ => {}
        }
    }
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
            // A word may follow a literal at once.
            (format!("{{{{ 'a'{} }}}}", repeat("and'a'", MAX_OPERATORS + 1)), false),
            (format!("{{{{ 1{} }}}}", repeat("and 1", MAX_OPERATORS + 1)), false),
            // What a raw block or a comment leaves open is open in neither.
            (format!("{{% raw %}}{{{{ '{{% endraw %}}{{{{ {}x }}}}", repeat("not ", 129)), false),
            (format!("{{% raw %}}{{#{{% endraw %}}{{{{ {}x }}}}", repeat("not ", 129)), false),
            (format!("{{% raw %}}{{{{ {} }}}}{{% endraw %}}", repeat("not ", 129)), true),
        ] {
            let shown: String = source.chars().take(40).collect();
            assert_eq!(check_nesting(&source).is_ok(), is_accepted, "{shown}");
        }
    }
}

//! Bounds on SQL texts, beside the parser's own bound on nesting.
//!
//! The parser makes a chain of operators into a tree as deep as the chain is long, which what follows
//! walks by recursion and in time that grows with the square of the length. Such a text is an error
//! before it is parsed. Lists do not nest: a set of many values is an `IN` list.

use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use super::SqlOption;
use datasets::Result;

/// Most bytes of a text.
const MAX_BYTES: usize = 1 << 20;

/// Most operators that nest at any place of a text.
const MAX_OPERATORS: usize = 500;

/// Checks the length of a text and how deep its operators nest.
///
/// # Errors
/// The bound that is exceeded, and the line and character.
pub(super) fn check(text: &str, option: SqlOption) -> Result<()> {
    if text.len() > MAX_BYTES {
        let problem = format!("{} bytes of SQL; at most {MAX_BYTES} are accepted", text.len());
        return Err(option.error(problem));
    }
    let mut depth = Depth { open: vec![0], total: 0 };
    // What is no token either, the parser explains.
    let tokens = Tokenizer::new(&GenericDialect {}, text).tokenize_with_location();
    let mut before = Token::Comma;
    for found in tokens.unwrap_or_default() {
        if matches!(found.token, Token::Whitespace(_)) {
            continue;
        }
        depth.add(&before, &found.token);
        if depth.total > MAX_OPERATORS {
            let at = found.span.start;
            return Err(option.error(format!(
                "more than {MAX_OPERATORS} operators in a chain or within each other at line {}, \
                 character {}; for many values write a list: column IN (…)",
                at.line, at.column
            )));
        }
        before = found.token;
    }
    Ok(())
}

/// The operators that are open at a place.
struct Depth {
    /// Those of each open bracket or CASE.
    open: Vec<usize>,
    total: usize,
}

impl Depth {
    #[expect(clippy::wildcard_enum_match_arm, reason = "every other token is an operator")]
    fn add(&mut self, before: &Token, token: &Token) {
        match token {
            Token::LParen | Token::LBracket | Token::LBrace => self.open.push(0),
            Token::RParen | Token::RBracket | Token::RBrace => self.close(),
            Token::Comma => self.restart(),
            // The sign of a value in a list.
            Token::Minus | Token::Plus if matches!(before, Token::Comma | Token::LParen) => {}
            Token::Word(word) => match word.keyword {
                Keyword::CASE => self.open.push(0),
                Keyword::END => self.close(),
                Keyword::WHEN | Keyword::THEN | Keyword::ELSE => self.restart(),
                Keyword::AND
                | Keyword::OR
                | Keyword::XOR
                | Keyword::NOT
                | Keyword::IS
                | Keyword::IN
                | Keyword::BETWEEN
                | Keyword::LIKE
                | Keyword::ILIKE
                | Keyword::COLLATE
                | Keyword::UNION
                | Keyword::EXCEPT
                | Keyword::INTERSECT
                | Keyword::JOIN => self.count(),
                _ => {}
            },
            Token::Number(..)
            | Token::SingleQuotedString(_)
            | Token::DoubleQuotedString(_)
            | Token::SemiColon
            | Token::EOF => {}
            _ => self.count(),
        }
    }

    fn count(&mut self) {
        self.total += 1;
        if let Some(last) = self.open.last_mut() {
            *last += 1;
        }
    }

    fn close(&mut self) {
        // The last one is the text itself, which closes nothing.
        if self.open.len() > 1 {
            self.total -= self.open.pop().unwrap_or(0);
        }
    }

    fn restart(&mut self) {
        if let Some(last) = self.open.last_mut() {
            self.total -= std::mem::take(last);
        }
    }
}

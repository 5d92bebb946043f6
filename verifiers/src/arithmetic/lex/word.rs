//! Words, variables, and the letter that is a multiplication sign.

use super::Lexer;
use crate::arithmetic::report::Why;
use crate::arithmetic::token::{Op, Relation, TokenKind, WordClass};

impl Lexer<'_, '_> {
    /// The word that starts here.
    pub(super) fn word(&mut self) {
        let (len, has_digit) = self.word_len();
        let word = &self.text[self.at..self.at + len];
        if has_digit {
            return self.push(len, TokenKind::Variable { coefficient: false });
        }
        if len == 1 {
            return self.letter(word);
        }
        match word {
            "is" | "Is" => return self.push(len, TokenKind::Relation(Relation::Is)),
            "equals" | "equal" => return self.equal(len),
            "percent" | "Percent" => return self.push(len, TokenKind::Percent),
            "to" if self.follows_equal() => return self.at += len,
            "by" if self.follows_divided() => return self.at += len,
            _ => {}
        }
        let is_greek = word.chars().all(|c| matches!(c, '\u{370}'..='\u{3ff}'));
        if is_greek && word.chars().count() == 1 {
            return self.push(len, TokenKind::Variable { coefficient: false });
        }
        let class = self.vocabulary.classify(word);
        self.out.approximate |= class == WordClass::Approximate || self.is_left_over(word);
        self.out.cautious |= class == WordClass::Caution;
        self.push(len, TokenKind::Word(class));
    }

    /// Returns whether `word` belongs to `left over`: a division has a remainder.
    fn is_left_over(&self, word: &str) -> bool {
        let last = self.out.tokens.last();
        word == "over" && last.is_some_and(|token| &self.text[token.start..token.end] == "left")
    }

    /// Counts the bytes of the word, and whether digits belong to it.
    fn word_len(&self) -> (usize, bool) {
        let mut has_digit = false;
        let mut letters = 0;
        let mut chars = self.text[self.at..].char_indices().peekable();
        while let Some((offset, c)) = chars.next() {
            let next = chars.peek().map(|&(_, next)| next);
            let belongs = match c {
                '0'..='9' => self.bytes[self.at + offset - 1].is_ascii(),
                '\'' | '\u{2019}' => next.is_some_and(char::is_alphabetic),
                '-' => letters > 1 && !has_digit && next.is_some_and(char::is_alphabetic),
                '_' => true,
                _ => c.is_alphabetic(),
            };
            if !belongs {
                return (offset, has_digit);
            }
            has_digit |= c.is_ascii_digit() || c == '_';
            letters += 1;
        }
        (self.bytes.len() - self.at, has_digit)
    }

    /// Lexes one ASCII letter: a word, a multiplication sign or a variable.
    fn letter(&mut self, letter: &str) {
        let kind = match letter {
            "a" => TokenKind::Word(WordClass::Article),
            "A" | "I" => TokenKind::Word(WordClass::Plain),
            "x" | "X" if self.is_times() => TokenKind::Op(Op::Mul),
            _ => TokenKind::Variable { coefficient: false },
        };
        self.push(1, kind);
    }

    /// Returns whether the `x` here multiplies: spaces on both sides or on none, after an operand
    /// and before a number or bracket.
    fn is_times(&self) -> bool {
        let number_at = |byte| matches!(byte, Some(b'0'..=b'9' | b'$' | b'.' | b'(' | b'\\'));
        if !self.spaced {
            return self.last() == Some(TokenKind::Close) && number_at(self.peek(1));
        }
        let operand_before = matches!(
            self.last(),
            Some(
                TokenKind::Number(_)
                    | TokenKind::Percent
                    | TokenKind::Close
                    | TokenKind::Currency
                    | TokenKind::Word(WordClass::Plain | WordClass::Measure | WordClass::Scale)
            )
        );
        let spaced_after = matches!(self.peek(1), Some(b' ' | b'\t' | b'<'));
        operand_before && spaced_after && self.number_past_blanks(number_at)
    }

    /// Returns whether a number follows the letter here, past blanks and a sign.
    fn number_past_blanks(&self, number_at: impl Fn(Option<u8>) -> bool) -> bool {
        let next = self.peek_past_blanks(1);
        number_at(next) || matches!(next, Some(b'-' | 0xC2 | 0xE2))
    }

    /// Lexes `equals`, `equal`, `is equal` as one relation.
    fn equal(&mut self, len: usize) {
        if self.last() == Some(TokenKind::Relation(Relation::Is)) {
            if let Some(token) = self.out.tokens.last_mut() {
                token.kind = TokenKind::Relation(Relation::Equals);
                token.end = self.at + len;
            }
            return self.at += len;
        }
        self.push(len, TokenKind::Relation(Relation::Equals));
    }

    /// Returns whether the last token is a written-out `equal`.
    fn follows_equal(&self) -> bool {
        self.out.tokens.last().is_some_and(|token| {
            token.kind == TokenKind::Relation(Relation::Equals)
                && self.text[token.start..token.end].ends_with("equal")
        })
    }

    /// Returns whether the last token is `divided` or `multiplied`, which need `by`.
    fn follows_divided(&self) -> bool {
        let Some(token) = self.out.tokens.last() else {
            return false;
        };
        let word = &self.text[token.start..token.end];
        matches!(token.kind, TokenKind::Word(WordClass::Operation(_)))
            && (word.ends_with("divided") || word.ends_with("multiplied"))
    }

    /// Pushes one token for text that is not read.
    pub(super) fn unread(&mut self, len: usize, why: Why) {
        self.push(len, TokenKind::Broken(why));
    }
}

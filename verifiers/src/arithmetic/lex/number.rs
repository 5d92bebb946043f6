//! Numbers, and the marks directly after them.

use super::Lexer;
use crate::arithmetic::report::Why;
use crate::arithmetic::token::{Bound, Numeral, Op, TokenKind, WordClass};
use maths::DecimalLiteral;

impl Lexer<'_, '_> {
    /// A point starts a number when a digit follows and no letter stands before it.
    pub(super) fn point(&mut self) {
        if self.peek_is_digit(1) {
            let before = self.at.checked_sub(1).map(|before| self.bytes[before]);
            if !before.is_some_and(|byte| byte.is_ascii_alphanumeric()) {
                return self.number();
            }
        }
        self.push(1, TokenKind::Boundary(Bound::Mark));
    }

    /// The number that starts here.
    pub(super) fn number(&mut self) {
        let Some(literal) = DecimalLiteral::scan(&self.text[self.at..]) else {
            return self.push(1, TokenKind::Boundary(Bound::Mark));
        };
        let len = literal.byte_len();
        if let Some((len, why)) = self.odd_format(len) {
            return self.push(len, TokenKind::Broken(why));
        }
        let index = self.out.numerals.len();
        self.out.numerals.push(Numeral::Decimal(literal));
        self.push(len, TokenKind::Number(index));
        self.suffix();
    }

    /// Returns a notation that is not read, with its whole length: `1.234,5`, `3:30`, `3.33...`,
    /// `6'`.
    fn odd_format(&self, len: usize) -> Option<(usize, Why)> {
        let run = |allowed: fn(u8) -> bool| {
            let rest = &self.bytes[self.at + len..];
            len + rest.iter().take_while(|byte| allowed(**byte)).count()
        };
        match (self.peek(len)?, self.peek(len + 1)) {
            (b'.' | b',', Some(b'0'..=b'9')) | (b'.', Some(b'.')) => Some((
                run(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b',')),
                Why::NumberFormat,
            )),
            (b':', Some(b'0'..=b'9')) => Some((self.clock_len(len), Why::TimeOrRatio)),
            (b'\'', _) => Some((len + 1, Why::Units)),
            (b'{', Some(b',')) => Some((len, Why::NumberFormat)),
            _ => None,
        }
    }

    /// Counts the bytes of `3:30` or `2:15:00`, whose first number has `len` bytes.
    fn clock_len(&self, mut len: usize) -> usize {
        while self.peek(len) == Some(b':') && self.peek_is_digit(len + 1) {
            len += 2;
            while self.peek_is_digit(len) {
                len += 1;
            }
        }
        len
    }

    /// Letters right after a number: a unit (`60kg`), a coefficient (`2x`), a sign (`3x4`), an
    /// ordinal or an exponent.
    fn suffix(&mut self) {
        let rest = &self.bytes[self.at..];
        let letters = rest.iter().take_while(|b| b.is_ascii_alphabetic()).count();
        let name = &self.text[self.at..self.at + letters];
        let digit_follows = self.peek_is_digit(letters);
        match name {
            "" => {}
            "x" | "X" | "b" | "o" if self.is_zero_prefix() => {
                self.retract(letters, Why::NumberFormat);
            }
            "x" | "X" if self.starts_number(1) => self.push(1, TokenKind::Op(Op::Mul)),
            "e" | "E" if digit_follows || self.is_exponent() => {
                self.retract(letters, Why::NumberFormat);
            }
            "st" | "nd" | "rd" | "th" | "ths" => self.retract(letters, Why::Words),
            "am" | "pm" | "AM" | "PM" => self.retract(letters, Why::TimeOrRatio),
            _ if digit_follows || letters == 1 => self.coefficient(letters),
            _ => {
                let class = self.vocabulary.classify(name);
                if letters == 2 && class != WordClass::Measure {
                    self.coefficient(letters);
                } else {
                    self.push(letters, TokenKind::Word(class));
                }
            }
        }
    }

    /// The `0` of `0x1F`.
    fn is_zero_prefix(&self) -> bool {
        let last = self.out.tokens.last();
        last.is_some_and(|token| &self.text[token.start..token.end] == "0")
    }

    /// Returns whether a number starts `ahead` bytes on.
    fn starts_number(&self, ahead: usize) -> bool {
        match self.peek(ahead) {
            Some(b'0'..=b'9' | b'$') => true,
            Some(b'.') => self.peek_is_digit(ahead + 1),
            _ => false,
        }
    }

    /// Returns whether an exponent such as `e-05` follows.
    fn is_exponent(&self) -> bool {
        matches!(self.peek(1), Some(b'-' | b'+')) && self.peek_is_digit(2)
    }

    /// The number just taken and `letters` more bytes are something that is not read.
    fn retract(&mut self, letters: usize, why: Why) {
        if let Some(token) = self.out.tokens.last_mut() {
            token.kind = TokenKind::Broken(why);
            token.end += letters;
        }
        self.at += letters;
    }

    /// The number just taken multiplies a variable.
    fn coefficient(&mut self, letters: usize) {
        let digits = self.bytes[self.at + letters..]
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_')
            .count();
        if let Some(token) = self.out.tokens.last_mut() {
            token.kind = TokenKind::Variable { coefficient: true };
            token.end += letters + digits;
        }
        self.at += letters + digits;
    }
}

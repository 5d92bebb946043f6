//! Characters outside ASCII: signs, fractions, exponents and letters.

use super::Lexer;
use crate::arithmetic::report::Why;
use crate::arithmetic::token::{Bound, Numeral, Op, Relation, TokenKind, WordClass};

impl Lexer<'_, '_> {
    /// Lexes a character outside ASCII.
    pub(super) fn unicode(&mut self) {
        let Some(c) = self.text[self.at..].chars().next() else {
            return;
        };
        let len = c.len_utf8();
        if let Some((numerator, denominator)) = small_number(c) {
            return self.small_number(len, numerator, denominator);
        }
        match c {
            '\u{d7}' | '\u{b7}' | '\u{2219}' | '\u{22c5}' | '\u{2217}' => {
                self.push(len, TokenKind::Op(Op::Mul));
            }
            '\u{f7}' | '\u{2215}' | '\u{2044}' => self.push(len, TokenKind::Op(Op::Div)),
            '\u{2212}' | '\u{2013}' | '\u{2012}' | '\u{2010}' | '\u{2011}' => {
                self.push(len, TokenKind::Op(Op::Sub));
            }
            '\u{2248}' | '\u{2245}' | '\u{2243}' => {
                self.push(len, TokenKind::Relation(Relation::Approx));
            }
            '\u{a3}' | '\u{20a0}'..='\u{20cf}' | '\u{a5}' => self.push(len, TokenKind::Currency),
            '\u{a2}' | '\u{b0}' => self.push(len, TokenKind::Word(WordClass::Measure)),
            '\u{221a}' | '\u{b1}' | '\u{221e}' | '\u{3c0}' => {
                self.push(len, TokenKind::Broken(Why::Function));
            }
            '\u{2019}' | '\u{2032}' => self.prime(len),
            '\u{2026}' => self.push(len, TokenKind::Broken(Why::NumberFormat)),
            '\u{feff}' | '\u{200b}'..='\u{200d}' => self.skip(len),
            _ if c.is_whitespace() => self.skip(len),
            _ if c.is_alphabetic() => self.word(),
            _ if c.is_numeric() => self.push(len, TokenKind::Broken(Why::NumberFormat)),
            _ => self.push(len, TokenKind::Boundary(Bound::Mark)),
        }
    }

    /// Lexes `½` as a number and `²` as a power where a number or bracket stands right before it.
    fn small_number(&mut self, len: usize, numerator: u8, denominator: u8) {
        let raised = denominator == 1;
        if raised && !self.spaced && matches!(self.last(), Some(TokenKind::Word(_))) {
            // Part of a unit: `cm²`.
            self.at += len;
            return;
        }
        if raised && (self.spaced || !self.after_operand()) {
            return self.push(len, TokenKind::Broken(Why::NumberFormat));
        }
        if raised && self.follows_exponent() {
            return self.push(len, TokenKind::Broken(Why::NumberFormat));
        }
        let index = self.out.numerals.len();
        self.out.numerals.push(Numeral::Small { numerator, denominator });
        if raised {
            self.push(0, TokenKind::Op(Op::Pow));
        }
        self.push(len, TokenKind::Number(index));
    }

    /// Returns whether an exponent ends right here: the `²` before the `³` in `10²³`.
    fn follows_exponent(&self) -> bool {
        let Some(TokenKind::Number(index)) = self.last() else {
            return false;
        };
        matches!(self.out.numerals[index], Numeral::Small { denominator: 1, .. })
    }
}

/// Returns the fraction that a character stands for; exponents have the denominator 1.
fn small_number(c: char) -> Option<(u8, u8)> {
    let number = match c {
        '\u{b2}' => (2, 1),
        '\u{b3}' => (3, 1),
        '\u{bc}' => (1, 4),
        '\u{bd}' => (1, 2),
        '\u{be}' => (3, 4),
        '\u{2153}' => (1, 3),
        '\u{2154}' => (2, 3),
        '\u{2155}' => (1, 5),
        '\u{2156}' => (2, 5),
        '\u{2157}' => (3, 5),
        '\u{2158}' => (4, 5),
        '\u{2159}' => (1, 6),
        '\u{215a}' => (5, 6),
        '\u{215b}' => (1, 8),
        '\u{215c}' => (3, 8),
        '\u{215d}' => (5, 8),
        '\u{215e}' => (7, 8),
        _ => return None,
    };
    Some(number)
}

//! Operands: numbers with their signs, percent and currency signs.

use super::{Measure, Parser, Pending, StackValue, phrase, starts_number, starts_operand};
use crate::arithmetic::expr::{Code, ExprForm, Percent};
use crate::arithmetic::report::Why;
use crate::arithmetic::token::{Numeral, Op, TokenKind, WordClass};

/// Digits from which on a decimal is taken for the output of floating-point arithmetic.
const FLOAT_DIGITS: usize = 12;

impl Parser<'_, '_, '_> {
    /// Reads signs, currency signs and open brackets, then a number.
    pub(super) fn operand(&mut self) -> bool {
        let mut money = false;
        loop {
            match self.kind(0) {
                Some(TokenKind::Number(index)) => {
                    self.number(index);
                    self.mark_money(money);
                    return true;
                }
                Some(TokenKind::Currency) => {
                    self.traits.currency = true;
                    money = true;
                }
                Some(TokenKind::Op(Op::Add)) => {}
                Some(TokenKind::Op(Op::Sub)) => self.stacks.pending.push(Pending::Neg),
                Some(TokenKind::Open) => {
                    self.depth += 1;
                    self.stacks.pending.push(Pending::Open);
                }
                Some(_) | None => return false,
            }
            self.take();
        }
    }

    /// A number, or a mixed number: `2 1/2`, `2½`.
    fn number(&mut self, index: usize) {
        self.push_numeral(index);
        self.take();
        let Numeral::Decimal(whole) = self.lexed.numerals[index] else {
            return;
        };
        let Some(TokenKind::Number(top)) = self.kind(0) else {
            return;
        };
        if whole.decimals().is_some() {
            return;
        }
        if matches!(self.lexed.numerals[top], Numeral::Small { .. }) {
            self.push_numeral(top);
            self.take();
        } else if phrase::share_at(self.lexed, self.at) {
            self.push_numeral(top);
            self.take();
            self.take();
            if let Some(TokenKind::Number(bottom)) = self.kind(0) {
                self.push_numeral(bottom);
            }
            self.take();
            self.apply(Code::Apply(Op::Div), Op::Div);
            self.traits.doubt(Why::MixedNumber);
        } else {
            return;
        }
        self.apply(Code::Mixed, Op::Add);
        self.n_operators += 1;
    }

    fn push_numeral(&mut self, index: usize) {
        if let Numeral::Decimal(literal) = self.lexed.numerals[index] {
            self.traits.float |= literal.decimals().is_some() && literal.byte_len() > FLOAT_DIGITS;
        }
        self.out.code.push(Code::Push(index));
        let end = self.out.units.len();
        self.stacks.terms.push(StackValue {
            measure: Measure::Plain,
            units: end..end,
            money: false,
        });
    }

    /// Notes that the last term has a currency sign.
    fn mark_money(&mut self, money: bool) {
        if let Some(term) = self.stacks.terms.last_mut() {
            term.money |= money;
        }
    }

    /// Takes what may stand after an operand and belongs to it. False when nothing more does.
    pub(super) fn after_operand(&mut self) -> bool {
        match self.kind(0) {
            Some(TokenKind::Percent) => self.percent(),
            Some(TokenKind::Currency) if self.lexed.is_attached(self.at) => {
                self.traits.currency = true;
                self.mark_money(true);
                self.take();
                true
            }
            Some(TokenKind::Close) if self.depth > 0 => {
                self.close();
                true
            }
            Some(TokenKind::Word(_)) => self.unit_phrase(),
            Some(TokenKind::Op(Op::Div)) if matches!(self.kind(1), Some(TokenKind::Word(_))) => {
                self.unit_phrase()
            }
            Some(_) | None => false,
        }
    }

    /// A percent sign. Before a number it would be the remainder operator, which is not read.
    fn percent(&mut self) -> bool {
        if starts_number(self.lexed, self.at + 1) && !self.delimiter_follows() {
            return false;
        }
        self.traits.percent = Percent::Within;
        self.out.code.push(Code::Percent);
        if let Some(term) = self.stacks.terms.last_mut() {
            term.measure = Measure::Percent;
        }
        self.take();
        true
    }

    /// The dollar sign right after the percent sign in `$72\%$`.
    fn delimiter_follows(&self) -> bool {
        self.kind(1) == Some(TokenKind::Currency) && self.lexed.is_attached(self.at + 1)
    }

    /// Notes `2-1/2`, which is two and a half in recipes and one and a half in arithmetic.
    pub(super) fn note_hyphenated_mixed_number(&mut self, op: Op) {
        let hyphenated = op == Op::Sub
            && self.lexed.is_attached(self.at)
            && self.lexed.is_attached(self.at + 1)
            && phrase::share_at(self.lexed, self.at + 1);
        if hyphenated {
            self.traits.doubt(Why::MixedNumber);
        }
    }

    /// Notes `2 degrees/10 minutes`, which may be a division, or a rate whose number is 2.
    pub(super) fn note_rate(&mut self, op: Op) {
        let rate = op == Op::Div
            && matches!(self.lexed.kind_before(self.at), Some(TokenKind::Word(_)))
            && self.lexed.is_attached(self.at)
            && self.lexed.is_attached(self.at + 1);
        if rate {
            self.traits.doubt(Why::Ambiguous);
        }
    }

    /// Reads `of` in `20% of 50`, `1/2 of 10` as a product. After anything else `of` ends the
    /// expression.
    pub(super) fn of(&mut self) -> bool {
        let last = self.at - 1;
        let share = last >= self.first + 2 && phrase::share_at(self.lexed, last - 2);
        let percent = self.lexed.kind(last) == Some(TokenKind::Percent);
        let small = matches!(self.lexed.kind(last), Some(TokenKind::Number(index))
            if matches!(self.lexed.numerals[index], Numeral::Small { .. }));
        let article = usize::from(self.kind(1) == Some(TokenKind::Word(WordClass::Article)));
        if !(share || small || percent) || !starts_operand(self.lexed, self.at + 1 + article) {
            return false;
        }
        let n_products = self
            .stacks
            .pending
            .iter()
            .rev()
            .take_while(|pending| matches!(pending, Pending::Binary(Op::Mul | Op::Div)))
            .count();
        if n_products > usize::from(share) {
            self.traits.doubt(Why::Ambiguous);
        }
        self.at += article;
        self.take();
        self.has_of = true;
        self.traits.wordy = true;
        self.binary(Op::Mul);
        true
    }

    /// Returns the form of an expression without operators.
    pub(super) fn bare_form(&self) -> ExprForm {
        let code = &self.out.code[self.code_start..];
        let decimals = code.iter().find_map(|code| match code {
            Code::Push(index) => match self.lexed.numerals[*index] {
                Numeral::Decimal(literal) => literal.decimals(),
                Numeral::Small { .. } => None,
            },
            Code::Neg | Code::Percent | Code::Mixed | Code::Apply(_) => None,
        });
        ExprForm::Bare { decimals, percent: code.contains(&Code::Percent) }
    }
}

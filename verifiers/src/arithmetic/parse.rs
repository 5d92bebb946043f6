//! From tokens to expressions, by an operator-precedence parser with explicit stacks: no
//! recursion, so that no nesting can exhaust the call stack.
//!
//! An expression is the longest run of tokens that reads as arithmetic. Words that name a unit are
//! passed over where an operator, a bracket or an equality sign follows them; any other word ends
//! the expression.

mod operand;
mod phrase;

use std::ops::Range;

use crate::arithmetic::expr::{Code, Expr, ExprForm, Parsed, Percent, Traits};
use crate::arithmetic::report::Why;
use crate::arithmetic::token::{Bound, Lexed, Op, TokenKind, WordClass};
use crate::arithmetic::words::{names_money, same_unit};

/// An operator or bracket that waits for its right side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pending {
    Open,
    Neg,
    Binary(Op),
}

impl Pending {
    /// Binds tighter when higher. An open bracket holds everything back.
    fn precedence(self) -> u8 {
        match self {
            Self::Open => 0,
            Self::Binary(Op::Add | Op::Sub) => 1,
            Self::Binary(Op::Mul | Op::Div) => 2,
            Self::Neg => 3,
            Self::Binary(Op::Pow) => 4,
        }
    }
}

/// Traits of a value on the stack.
#[derive(Debug, Clone, PartialEq, Eq)]
struct StackValue {
    measure: Measure,
    /// In [`Parsed::units`].
    units: Range<usize>,
    /// It has a currency sign.
    money: bool,
}

/// Whether a value counts in percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Measure {
    /// A number without a percent sign.
    Plain,
    /// A number with one.
    Percent,
    /// A product or quotient, which may be either.
    Either,
}

/// Finds the expressions of `lexed`.
pub(super) fn parse(lexed: &Lexed<'_>, out: &mut Parsed) {
    out.restart();
    let mut stacks = Stacks::default();
    let mut at = 0;
    while at < lexed.tokens.len() {
        if !starts_expression(lexed, at) {
            at += 1;
            continue;
        }
        let mut parser = Parser::new(lexed, out, &mut stacks, at);
        let read = parser.run();
        at = parser.at.max(at + 1);
        out.exprs.extend(read);
    }
}

/// Returns whether an expression may start at token `at`.
fn starts_expression(lexed: &Lexed<'_>, at: usize) -> bool {
    let kind = lexed.kind(at);
    if matches!(kind, Some(TokenKind::Op(Op::Add | Op::Sub))) {
        let sign_stands_free = match lexed.kind_before(at) {
            None
            | Some(
                TokenKind::Relation(_)
                | TokenKind::Boundary(Bound::Open | Bound::ListMarker { .. }),
            ) => true,
            // `is -5`, and not the dash in `Total - 5`.
            Some(TokenKind::Word(_) | TokenKind::Boundary(_)) => {
                !lexed.is_attached(at) && lexed.is_attached(at + 1)
            }
            Some(_) => false,
        };
        return sign_stands_free && starts_operand(lexed, at + 1);
    }
    matches!(kind, Some(TokenKind::Number(_) | TokenKind::Open | TokenKind::Currency))
        && starts_operand(lexed, at)
}

/// Returns whether token `at` starts an operand, after signs and a currency sign.
fn starts_operand(lexed: &Lexed<'_>, at: usize) -> bool {
    (at..at + 4)
        .map_while(|index| lexed.kind(index))
        .find(|kind| !matches!(kind, TokenKind::Currency | TokenKind::Op(Op::Add | Op::Sub)))
        .is_some_and(|kind| matches!(kind, TokenKind::Number(_) | TokenKind::Open))
}

/// Returns the operation that the sign or word at token `at` stands for, if an operand follows it.
/// After a word a sign is no part of the operand: `20 times + 10 times`.
fn operator_at(lexed: &Lexed<'_>, at: usize) -> Option<Op> {
    match lexed.kind(at)? {
        TokenKind::Op(op) if starts_operand(lexed, at + 1) => Some(op),
        TokenKind::Word(WordClass::Operation(op)) if starts_number(lexed, at + 1) => Some(op),
        TokenKind::Op(_)
        | TokenKind::Word(_)
        | TokenKind::Number(_)
        | TokenKind::Open
        | TokenKind::Close
        | TokenKind::Percent
        | TokenKind::Currency
        | TokenKind::Relation(_)
        | TokenKind::Variable { .. }
        | TokenKind::Broken(_)
        | TokenKind::Boundary(_) => None,
    }
}

/// Returns whether a number, currency sign or bracket stands at token `at`.
fn starts_number(lexed: &Lexed<'_>, at: usize) -> bool {
    let kind = lexed.kind(at);
    matches!(kind, Some(TokenKind::Number(_) | TokenKind::Currency | TokenKind::Open))
}

/// The stacks, kept between expressions for their memory.
#[derive(Debug, Default)]
struct Stacks {
    pending: Vec<Pending>,
    terms: Vec<StackValue>,
}

struct Parser<'l, 'a, 'o> {
    lexed: &'l Lexed<'a>,
    out: &'o mut Parsed,
    stacks: &'o mut Stacks,
    /// The next token.
    at: usize,
    first: usize,
    code_start: usize,
    units_start: usize,
    /// Open brackets.
    depth: usize,
    n_operators: usize,
    /// Byte after the last token that is not a unit word.
    end: usize,
    traits: Traits,
    /// `20% of`, `1/2 of` was read.
    has_of: bool,
    /// A unit phrase before an equality sign ended the expression.
    complete: bool,
}

impl<'l, 'a, 'o> Parser<'l, 'a, 'o> {
    fn new(lexed: &'l Lexed<'a>, out: &'o mut Parsed, stacks: &'o mut Stacks, at: usize) -> Self {
        stacks.pending.clear();
        stacks.terms.clear();
        Self {
            code_start: out.code.len(),
            units_start: out.units.len(),
            lexed,
            out,
            stacks,
            at,
            first: at,
            depth: 0,
            n_operators: 0,
            end: 0,
            traits: Traits::default(),
            has_of: false,
            complete: false,
        }
    }

    /// Returns the expression that starts here, or nothing with `at` at the token that cannot be
    /// read.
    fn run(&mut self) -> Option<Expr> {
        loop {
            if !self.operand() {
                return self.give_up();
            }
            while self.after_operand() {}
            if self.complete || !self.operator() {
                break;
            }
        }
        if self.depth > 0 {
            return self.give_up();
        }
        while let Some(pending) = self.stacks.pending.pop() {
            self.reduce(pending);
        }
        let result = self.stacks.terms.last();
        if result.is_some_and(|term| term.measure == Measure::Percent) {
            self.traits.percent = Percent::Whole;
        }
        Some(Expr {
            tokens: self.first..self.at,
            end: self.end,
            code: self.code_start..self.out.code.len(),
            units: self.units_start..self.out.units.len(),
            form: self.form(),
            traits: self.traits,
        })
    }

    fn give_up(&mut self) -> Option<Expr> {
        self.out.code.truncate(self.code_start);
        self.out.units.truncate(self.units_start);
        None
    }

    fn kind(&self, ahead: usize) -> Option<TokenKind> {
        self.lexed.kind(self.at + ahead)
    }

    /// Takes the token here as a part of the expression.
    fn take(&mut self) {
        self.end = self.lexed.tokens[self.at].end;
        self.at += 1;
    }

    /// A binary operator, written or implied. False where the expression ends.
    fn operator(&mut self) -> bool {
        if let Some(op) = operator_at(self.lexed, self.at) {
            self.note_hyphenated_mixed_number(op);
            self.note_rate(op);
            self.traits.wordy |= matches!(self.kind(0), Some(TokenKind::Word(_)));
            self.take();
            self.binary(op);
            return true;
        }
        if self.kind(0) == Some(TokenKind::Word(WordClass::Of)) {
            return self.of();
        }
        let implied = self.kind(0) == Some(TokenKind::Open) && self.lexed.is_attached(self.at);
        if implied {
            self.implied_product();
        }
        implied
    }

    /// Reads `4(5)` as a product. After a division the dividend is uncertain.
    fn implied_product(&mut self) {
        let fraction_follows =
            self.lexed.tokens[self.at].end - self.lexed.tokens[self.at].start > 1;
        if fraction_follows {
            self.traits.doubt(Why::MixedNumber);
        }
        if self.stacks.pending.last() == Some(&Pending::Binary(Op::Div)) {
            self.traits.doubt(Why::Ambiguous);
        }
        self.binary(Op::Mul);
    }

    /// Reduces what binds tighter and puts `op` on the stack.
    fn binary(&mut self, op: Op) {
        let new = Pending::Binary(op);
        while let Some(&top) = self.stacks.pending.last() {
            let right_associative = op == Op::Pow;
            if top == new && matches!(op, Op::Pow | Op::Div) {
                self.traits.doubt(Why::Ambiguous);
            }
            let binds_tighter = top.precedence() > new.precedence()
                || (top.precedence() == new.precedence() && !right_associative);
            if !binds_tighter {
                break;
            }
            self.stacks.pending.pop();
            self.reduce(top);
        }
        if op == Op::Pow && self.stacks.pending.last() == Some(&Pending::Neg) {
            self.traits.doubt(Why::Ambiguous);
        }
        if self.has_of && matches!(op, Op::Add | Op::Sub) && self.depth == 0 {
            self.traits.doubt(Why::Ambiguous);
        }
        self.n_operators += 1;
        self.stacks.pending.push(new);
    }

    /// A closing bracket of this expression.
    fn close(&mut self) {
        while let Some(pending) = self.stacks.pending.pop() {
            if pending == Pending::Open {
                break;
            }
            self.reduce(pending);
        }
        self.depth -= 1;
        self.take();
    }

    fn reduce(&mut self, pending: Pending) {
        match pending {
            Pending::Open => {}
            Pending::Neg => self.out.code.push(Code::Neg),
            Pending::Binary(op) => self.apply(Code::Apply(op), op),
        }
    }

    /// Emits a binary operation and joins the traits of its two sides.
    fn apply(&mut self, code: Code, op: Op) {
        self.out.code.push(code);
        let right = self.stacks.terms.pop().expect("an operator has a right side");
        let left = self.stacks.terms.pop().expect("an operator has a left side");
        let additive = matches!(op, Op::Add | Op::Sub);
        if additive
            && matches!(
                (left.measure, right.measure),
                (Measure::Plain, Measure::Percent) | (Measure::Percent, Measure::Plain)
            )
        {
            self.traits.doubt(Why::Percent);
        }
        if additive && self.units_differ(&left, &right) {
            self.traits.doubt(Why::Units);
        }
        let measure = if additive && left.measure == right.measure {
            left.measure
        } else if left.measure == Measure::Plain && right.measure == Measure::Plain {
            Measure::Plain
        } else {
            Measure::Either
        };
        let units = if left.units.is_empty() { right.units } else { left.units };
        let money = left.money || right.money;
        self.stacks.terms.push(StackValue { measure, units, money });
    }

    /// Returns whether the terms are measured in different things: `$3 + 75 cents`,
    /// `2 hours + 5 minutes`.
    fn units_differ(&self, left: &StackValue, right: &StackValue) -> bool {
        let words = |term: &StackValue| {
            let units = term.units.clone().map(|unit| self.out.units[unit]);
            units.map(|at| self.lexed.text_of(at))
        };
        if left.money != right.money {
            let other = if left.money { right } else { left };
            return words(other).next().is_some() && !words(other).any(names_money);
        }
        let share_one = words(left).any(|a| words(right).any(|b| same_unit(a, b)));
        !left.units.is_empty() && !right.units.is_empty() && !share_one
    }

    /// Returns what kind of expression was read.
    fn form(&self) -> ExprForm {
        if self.n_operators == 0 {
            return self.bare_form();
        }
        let is_fraction = self.out.code.len() - self.code_start == 3;
        let is_share = is_fraction && phrase::share_at(self.lexed, self.first);
        if is_share { ExprForm::Share } else { ExprForm::Compound }
    }
}

//! Parser of expressions: precedence climbing with bounded depth.
//!
//! From loosest to tightest: sums; products, quotients and `mod`, from left to right, where
//! juxtaposition counts as a product of the same rank (`1/2x` is `(1/2)·x`); signs; powers, from
//! right to left; factorials; what stands alone. A function without brackets takes the run of
//! factors after it up to the next function or operator (`\sin 2x`, `\sin x \cos y`); with
//! brackets it takes these only (`\sin(x) y`).

mod bound;
mod call;
mod command;
mod derivative;
mod name;
mod primary;

use dashu::integer::IBig;
use dashu::rational::RBig;

use crate::answer::{Note, Unread};
use crate::expr::{Expr, Function, Node, Workspace};

use super::Dialect;
use super::token::{Bracket, Lexeme, Token};

/// Levels that a formula may nest.
const MAX_DEPTH: u16 = 120;

pub(super) type ParseResult<T> = Result<T, Unread>;

/// The setting of a parser.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting {
    pub(super) dialect: Dialect,
    /// Whether malformed text may be repaired.
    pub(super) repair: bool,
    /// What `\pm` stands for: plus or minus; unread where `None`.
    pub(super) plus_minus: Option<bool>,
}

/// A position in exploded tokens.
pub(super) struct Parser<'r, 'a, 'w, 'f> {
    items: &'r [Lexeme<'a>],
    at: usize,
    /// End of the text.
    end: usize,
    pub(super) ws: &'w mut Workspace<'f>,
    pub(super) notes: Vec<Note>,
    setting: Setting,
    depth: u16,
    /// Trigonometric functions around the position, whose arguments may be in degrees.
    angles: u16,
    /// Bars of absolute values that are open.
    bars: u16,
    /// The variables that sums, products and integrals around the position bind.
    bound: Vec<String>,
}

/// Returns the expression that all of `items`, exploded ones, state.
pub(super) fn expression(
    items: &[Lexeme<'_>],
    setting: Setting,
    ws: &mut Workspace<'_>,
    notes: &mut Vec<Note>,
) -> ParseResult<Expr> {
    let mut parser = Parser {
        items,
        at: 0,
        end: items.len(),
        ws,
        notes: Vec::new(),
        setting,
        depth: 0,
        angles: 0,
        bars: 0,
        bound: Vec::new(),
    };
    let expr = parser.group()?;
    if parser.at != items.len() {
        return Err(Unread::NotMaths);
    }
    notes.append(&mut parser.notes);
    Ok(expr)
}

impl<'a> Parser<'_, 'a, '_, '_> {
    fn peek(&self) -> Option<Token<'a>> {
        self.peek_at(0)
    }

    fn peek_at(&self, ahead: usize) -> Option<Token<'a>> {
        let at = self.at + ahead;
        (at < self.end).then(|| self.items[at].token)
    }

    fn eat(&mut self, token: Token<'_>) -> bool {
        let found = self.peek() == Some(token);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, token: Token<'_>) -> ParseResult<()> {
        self.eat(token).then_some(()).ok_or(Unread::NotMaths)
    }

    fn next(&mut self) -> ParseResult<Token<'a>> {
        let token = self.peek().ok_or(Unread::NotMaths)?;
        self.at += 1;
        Ok(token)
    }

    /// A sign of repair, where repairs are allowed.
    fn repaired(&mut self, note: Note) -> ParseResult<()> {
        self.notes.push(note);
        self.setting.repair.then_some(()).ok_or(Unread::NotMaths)
    }

    /// Runs `read` on the places `from..to`; it must read all of them.
    fn within<T>(
        &mut self,
        from: usize,
        to: usize,
        read: impl FnOnce(&mut Self) -> ParseResult<T>,
    ) -> ParseResult<T> {
        let (at, end) = (self.at, self.end);
        let bars = std::mem::take(&mut self.bars);
        (self.at, self.end) = (from, to);
        let value = read(self)?;
        if self.at != to {
            return Err(Unread::NotMaths);
        }
        (self.at, self.end) = (at, end);
        self.bars = bars;
        Ok(value)
    }

    /// Reads the terms.
    fn sum(&mut self) -> ParseResult<Expr> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Unread::TooCostly);
        }
        let first = self.product()?;
        let is_sign = |token: Token<'_>| {
            matches!(token, Token::Plus | Token::Minus | Token::PlusMinus | Token::MinusPlus)
        };
        if !self.peek().is_some_and(is_sign) {
            self.depth -= 1;
            return Ok(first);
        }
        let mut terms = vec![first];
        loop {
            let is_negative = match self.peek() {
                Some(Token::Plus) => false,
                Some(Token::Minus) => true,
                Some(Token::PlusMinus) => self.plus_minus(false)?,
                Some(Token::MinusPlus) => self.plus_minus(true)?,
                _ => break,
            };
            self.at += 1;
            let term = self.product()?;
            terms.push(if is_negative { self.negated(term)? } else { term });
        }
        self.depth -= 1;
        Ok(self.ws.sum(terms)?)
    }

    /// Decides whether `\pm`, or `\mp` where `is_turned`, is a minus in this reading.
    fn plus_minus(&self, is_turned: bool) -> ParseResult<bool> {
        let is_plus = self.setting.plus_minus.ok_or(Unread::NotMaths)?;
        Ok(is_plus == is_turned)
    }

    /// Reads `-expr`, with the sign in the leading factor.
    fn negated(&mut self, expr: Expr) -> ParseResult<Expr> {
        let Node::Product(factors) = self.ws.node(expr) else {
            return Ok(self.ws.negated(expr)?);
        };
        let mut factors = factors.to_vec();
        if let Node::Number(_) = self.ws.node(factors[0]) {
            factors[0] = self.ws.negated(factors[0])?;
        } else {
            factors.insert(0, self.ws.integer(-1)?);
        }
        Ok(self.ws.product(factors)?)
    }

    /// Reads the factors, with a sign before them.
    fn product(&mut self) -> ParseResult<Expr> {
        let mut is_negative = self.sign()?;
        let first = self.power()?;
        let goes_on = |token| {
            matches!(token, Token::Times | Token::Slash | Token::Mod) || self.starts_operand(token)
        };
        if !self.peek().is_some_and(goes_on) {
            return if is_negative { self.negated(first) } else { Ok(first) };
        }
        let mut factors = vec![first];
        loop {
            match self.peek() {
                Some(Token::Times) => {
                    self.at += 1;
                    let factor = self.signed_power()?;
                    factors.push(factor);
                }
                Some(Token::Slash) => {
                    self.at += 1;
                    let below = self.signed_power()?;
                    let minus_one = self.ws.integer(-1)?;
                    factors.push(self.ws.power(below, minus_one)?);
                }
                Some(Token::Mod) => {
                    self.at += 1;
                    // The sign binds tighter than `mod`: `-1 mod 2` is 1.
                    let left = self.signed(factors, std::mem::take(&mut is_negative))?;
                    let right = self.run()?;
                    factors = vec![self.ws.call(Function::Mod, vec![left, right])?];
                }
                Some(token) if self.starts_operand(token) => {
                    self.check_juxtaposed(token)?;
                    factors.push(self.power()?);
                }
                Some(_) | None => break,
            }
        }
        self.signed(factors, is_negative)
    }

    /// Reads the product of `factors`, with a sign in its leading factor.
    fn signed(&mut self, mut factors: Vec<Expr>, is_negative: bool) -> ParseResult<Expr> {
        if !is_negative {
            return Ok(self.ws.product(factors)?);
        }
        if let [only] = factors[..] {
            return self.negated(only);
        }
        if let Node::Number(_) = self.ws.node(factors[0]) {
            factors[0] = self.ws.negated(factors[0])?;
        } else {
            factors.insert(0, self.ws.integer(-1)?);
        }
        Ok(self.ws.product(factors)?)
    }

    /// Reads factors side by side, without operators.
    fn run(&mut self) -> ParseResult<Expr> {
        let mut factors = vec![self.signed_power()?];
        while let Some(token) = self.peek()
            && self.starts_operand(token)
        {
            self.check_juxtaposed(token)?;
            factors.push(self.power()?);
        }
        Ok(self.ws.product(factors)?)
    }

    /// Takes a sign; returns whether it is negative.
    fn sign(&mut self) -> ParseResult<bool> {
        let is_negative = match self.peek() {
            Some(Token::Plus) => false,
            Some(Token::Minus) => true,
            Some(Token::PlusMinus) => self.plus_minus(false)?,
            Some(Token::MinusPlus) => self.plus_minus(true)?,
            _ => return Ok(false),
        };
        self.at += 1;
        Ok(is_negative)
    }

    fn signed_power(&mut self) -> ParseResult<Expr> {
        let is_negative = self.sign()?;
        let power = self.power()?;
        if is_negative { self.negated(power) } else { Ok(power) }
    }

    /// Refuses two numbers side by side, which are no product: `5 3`, `\frac{1}{2}3`.
    fn check_juxtaposed(&self, next: Token<'_>) -> ParseResult<()> {
        let Token::Number(_) = next else {
            return Ok(());
        };
        let before = self.items[self.at - 1];
        let is_number = match before.token {
            Token::Number(_) => true,
            Token::Close(Bracket::Group) => {
                let open = before.mate;
                let body = &self.items[open + 1..self.at - 1];
                let is_literal = matches!(body, [item] if matches!(item.token, Token::Number(_)));
                // The exponent of `x^{2}3` and the radicand of `\sqrt{2}3` end a factor.
                let opener = open.checked_sub(1).map(|at| self.items[at].token);
                is_literal && !matches!(opener, Some(Token::Caret | Token::SquareRoot))
            }
            _ => false,
        };
        if is_number { Err(Unread::NotMaths) } else { Ok(()) }
    }

    /// Returns whether `token` starts an operand, so that a product is meant where it follows one.
    fn starts_operand(&self, token: Token<'_>) -> bool {
        match token {
            Token::Number(_)
            | Token::Name(_)
            | Token::Constant(_)
            | Token::Function(_)
            | Token::Exponential
            | Token::Cis
            | Token::CommonLogarithm
            | Token::SquareRoot
            | Token::RootSign(_)
            | Token::Fraction
            | Token::Binomial
            | Token::Accent(_)
            | Token::Big(_)
            | Token::BigCall(_) => true,
            Token::Open(bracket) => {
                !matches!(bracket, Bracket::Environment(_) | Bracket::Reversed | Bracket::Angle)
            }
            Token::Bar => self.bars == 0,
            _ => false,
        }
    }
}

/// Returns whether `value` is -1.
fn is_minus_one(value: &RBig) -> bool {
    value.is_int() && *value.numerator() == IBig::NEG_ONE
}

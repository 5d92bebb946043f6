//! Operands, and what raises or marks them: powers, factorials, brackets, bars.

use crate::answer::Unread;
use crate::expr::{Constant, Expr, Function, Node};
use crate::read::literal::Literal;
use crate::read::token::{Bracket, Gap, Token};

use super::{ParseResult, Parser};

impl<'a> Parser<'_, 'a, '_, '_> {
    /// Reads an operand with its factorials and its exponent.
    pub(super) fn power(&mut self) -> ParseResult<Expr> {
        let operand = self.primary()?;
        self.raised(operand)
    }

    /// Reads `operand` with what follows it: `!`, `^…`, a degree sign.
    pub(super) fn raised(&mut self, operand: Expr) -> ParseResult<Expr> {
        let mut operand = self.factorials(operand)?;
        if self.eat(Token::Caret) {
            let exponent = self.exponent()?;
            operand = self.ws.power(operand, exponent)?;
            // `2^3!` is read one way by some and another by others.
            if self.peek() == Some(Token::Bang) {
                return Err(Unread::NotMaths);
            }
        }
        if self.angles > 0 && self.eat(Token::Degree) {
            let pi = self.ws.constant(Constant::Pi)?;
            let half_turn = self.ws.integer(180)?;
            let degree = self.ws.quotient(pi, half_turn)?;
            operand = self.ws.product(vec![operand, degree])?;
        }
        Ok(operand)
    }

    fn factorials(&mut self, operand: Expr) -> ParseResult<Expr> {
        let mut bangs = 0;
        while self.eat(Token::Bang) {
            bangs += 1;
        }
        match bangs {
            0 => Ok(operand),
            1 => Ok(self.ws.call(Function::Factorial, vec![operand])?),
            2 => Ok(self.ws.call(Function::DoubleFactorial, vec![operand])?),
            _ => Err(Unread::NotMaths),
        }
    }

    /// Reads what follows `^`: a sign and one operand, which may have an exponent of its own.
    pub(super) fn exponent(&mut self) -> ParseResult<Expr> {
        self.depth += 1;
        if self.depth > super::MAX_DEPTH {
            return Err(Unread::TooCostly);
        }
        let is_negative = self.sign()?;
        let mut exponent = match self.peek() {
            Some(Token::Number(literal)) => {
                self.at += 1;
                self.literal(&literal)?
            }
            _ => self.primary()?,
        };
        if self.eat(Token::Caret) {
            let tower = self.exponent()?;
            exponent = self.ws.power(exponent, tower)?;
        }
        self.depth -= 1;
        if is_negative { self.negated(exponent) } else { Ok(exponent) }
    }

    pub(super) fn literal(&mut self, literal: &Literal<'_>) -> ParseResult<Expr> {
        let value = literal.value(self.ws.fuel)?;
        Ok(self.ws.number(value)?)
    }

    fn primary(&mut self) -> ParseResult<Expr> {
        let token = self.next()?;
        match token {
            Token::Number(literal) => self.number(&literal),
            Token::Name(letters) => self.variable(letters),
            Token::Accent(accent) => self.accented(accent),
            Token::Constant(constant) => Ok(self.ws.constant(constant)?),
            Token::Function(function) => self.function(function),
            Token::Exponential => self.exponential(),
            Token::Cis => self.cis(),
            Token::CommonLogarithm => self.common_logarithm(),
            Token::SquareRoot => self.square_root(),
            Token::RootSign(index) => self.root_sign(index),
            Token::Fraction => self.fraction(),
            Token::Binomial => self.binomial(),
            Token::Big(big) => self.big(big),
            Token::BigCall(big) => self.big_call(big),
            Token::Bar => self.bars(),
            Token::Open(bracket) => self.bracketed(bracket),
            _ => Err(Unread::NotMaths),
        }
    }

    /// Reads a literal, or a mixed number that it starts.
    fn number(&mut self, literal: &Literal<'a>) -> ParseResult<Expr> {
        if self.peek() == Some(Token::Underscore) {
            return Err(Unread::NotMaths);
        }
        let whole = self.literal(literal)?;
        if !literal.is_integer() {
            return Ok(whole);
        }
        let is_below =
            self.at >= 2 && matches!(self.items[self.at - 2].token, Token::Slash | Token::Caret);
        let part = match (self.peek(), self.peek_at(1), self.peek_at(2)) {
            (Some(Token::Fraction), ..) => self.numeric_fraction()?,
            (Some(Token::Number(above)), Some(Token::Slash), Some(Token::Number(below)))
                if self.items[self.at].gap >= Gap::Thin =>
            {
                Some((above, below, self.at + 3))
            }
            _ => None,
        };
        let Some((above, below, after)) = part else {
            return Ok(whole);
        };
        let is_plain = above.is_integer() && below.is_integer();
        if !is_plain || is_below {
            return Err(Unread::NotMaths);
        }
        let above = above.value(self.ws.fuel)?;
        let below = below.value(self.ws.fuel)?;
        if above.is_zero() || above >= below {
            return Err(Unread::NotMaths);
        }
        self.at = after;
        let Node::Number(whole) = self.ws.node(whole) else {
            return Err(Unread::NotMaths);
        };
        let value = whole + above / below;
        Ok(self.ws.number(value)?)
    }

    /// Reads `(…)`, `{…}`, `\lfloor … \rfloor` and so on, from after the opening bracket on.
    fn bracketed(&mut self, bracket: Bracket) -> ParseResult<Expr> {
        let close = self.items[self.at - 1].mate;
        if close >= self.end {
            return Err(Unread::NotMaths);
        }
        if close == self.at && bracket == Bracket::Group {
            self.at += 1;
            return self.counted();
        }
        let Token::Close(closing) = self.items[close].token else {
            return Err(Unread::NotMaths);
        };
        let from = self.at;
        let is_same = closing == bracket;
        let inner = self.within(from, close, |parser| match bracket {
            Bracket::Group => parser.group(),
            _ => parser.sum(),
        })?;
        self.at = close + 1;
        match bracket {
            Bracket::Round | Bracket::Square | Bracket::Group | Bracket::Brace if is_same => {
                Ok(inner)
            }
            Bracket::Bar => Ok(self.ws.call(Function::Abs, vec![inner])?),
            Bracket::Floor => Ok(self.ws.call(Function::Floor, vec![inner])?),
            Bracket::Ceiling => Ok(self.ws.call(Function::Ceiling, vec![inner])?),
            _ => Err(Unread::NotMaths),
        }
    }

    /// Reads what braces hold: a sum, or `n \choose k`.
    pub(super) fn group(&mut self) -> ParseResult<Expr> {
        let above = self.sum()?;
        if !self.eat(Token::Choose) {
            return Ok(above);
        }
        let below = self.sum()?;
        Ok(self.ws.call(Function::Binomial, vec![above, below])?)
    }

    /// Reads `|…|`, from after the first bar on.
    fn bars(&mut self) -> ParseResult<Expr> {
        self.bars += 1;
        let inner = self.sum()?;
        self.bars -= 1;
        self.expect(Token::Bar)?;
        Ok(self.ws.call(Function::Abs, vec![inner])?)
    }

    /// Reads `{}_nP_k` and `{}^nC_k`, from after the empty braces on.
    fn counted(&mut self) -> ParseResult<Expr> {
        if !self.eat(Token::Underscore) {
            self.expect(Token::Caret)?;
        }
        let total = self.small_operand()?;
        let function = match self.next()? {
            Token::Name("P") => Function::Permutations,
            Token::Name("C") => Function::Binomial,
            _ => return Err(Unread::NotMaths),
        };
        self.expect(Token::Underscore)?;
        let chosen = self.small_operand()?;
        Ok(self.ws.call(function, vec![total, chosen])?)
    }

    /// Reads a group, a number or a name without marks.
    pub(super) fn small_operand(&mut self) -> ParseResult<Expr> {
        match self.next()? {
            Token::Number(literal) => self.literal(&literal),
            Token::Open(bracket @ Bracket::Group) => self.bracketed(bracket),
            Token::Name(name) => Ok(self.ws.symbol(name)?),
            Token::Constant(constant) => Ok(self.ws.constant(constant)?),
            _ => Err(Unread::NotMaths),
        }
    }
}

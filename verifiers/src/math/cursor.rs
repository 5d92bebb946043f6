//! A position in the tokens of a text, and the smallest things that can stand there: signs,
//! literals, exponents. All of them are unsigned unless said otherwise.

use dashu::rational::RBig;

use super::lexer::Token;
use crate::fuel::{Exhausted, Fuel};
use crate::number;

/// Levels of `10^{10^{…}}` and of braces around an exponent.
const MAX_EXPONENT_DEPTH: usize = 16;

/// Why a text was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// It is no single number.
    Unread,
    /// It is a number, and to build it would cost more fuel than is left.
    TooCostly,
    /// It is longer than the input cap.
    TooLong,
}

impl From<Exhausted> for Obstacle {
    fn from(_: Exhausted) -> Self {
        Self::TooCostly
    }
}

/// The digits of a literal, without separators.
#[derive(Debug)]
pub(super) struct Decimal {
    digits: String,
    decimals: Option<usize>,
}

impl Decimal {
    /// A literal of one digit.
    fn digit(digit: &str) -> Self {
        Self {
            digits: digit.to_owned(),
            decimals: None,
        }
    }

    /// How many digits it has.
    pub(super) fn len(&self) -> usize {
        self.digits.len()
    }

    pub(super) fn is_integer(&self) -> bool {
        self.decimals.is_none()
    }

    /// The value. The cursor has paid for it.
    pub(super) fn value(&self) -> RBig {
        number::decimal(&self.digits, self.decimals.unwrap_or(0))
    }

    /// The power of ten of the last digit, where there is a decimal point.
    pub(super) fn last_digit(&self) -> Option<i32> {
        self.decimals
            .and_then(|n| i32::try_from(n).ok())
            .map(|n| -n)
    }
}

/// What is still to be read, and what it may cost.
pub(super) struct Cursor<'t, 'a, 'f> {
    pub(super) tokens: &'t [Token<'a>],
    pub(super) fuel: &'f mut Fuel,
}

impl<'a> Cursor<'_, 'a, '_> {
    /// Takes `token` if it comes next.
    pub(super) fn eat(&mut self, token: Token<'a>) -> bool {
        let found = self.tokens.first() == Some(&token);
        if found {
            self.tokens = &self.tokens[1..];
        }
        found
    }

    /// Takes white space; tells whether there was any.
    pub(super) fn skip_space(&mut self) -> bool {
        self.eat(Token::Space)
    }

    /// Takes a sign and the space after it; tells whether it is a minus.
    pub(super) fn sign(&mut self) -> Option<bool> {
        let negative = self.eat(Token::Minus);
        if !negative && !self.eat(Token::Plus) {
            return None;
        }
        self.skip_space();
        Some(negative)
    }

    /// Pays for arithmetic on `digits` decimal digits.
    pub(super) fn pay(&mut self, digits: usize) -> Result<(), Obstacle> {
        Ok(self.fuel.spend(number::cost(digits))?)
    }

    /// A literal: `12`, `1,234.5`, `1 234`, `.5`.
    pub(super) fn decimal(&mut self) -> Result<Decimal, Obstacle> {
        let mut digits = String::new();
        if let [Token::Digits(first), rest @ ..] = self.tokens {
            digits.push_str(first);
            self.tokens = rest;
            if first.len() <= 3 && !first.starts_with('0') {
                self.groups(&mut digits);
            }
        }
        let mut decimals = None;
        if let [Token::Point, Token::Digits(fraction), rest @ ..] = self.tokens {
            digits.push_str(fraction);
            decimals = Some(fraction.len());
            self.tokens = rest;
        }
        if digits.is_empty() {
            return Err(Obstacle::Unread);
        }
        self.pay(digits.len())?;
        Ok(Decimal { digits, decimals })
    }

    /// Groups of three digits, all after the same separator. (`2 125/250` is a mixed number and
    /// not the fraction 2125/250.)
    fn groups(&mut self, digits: &mut String) {
        let Some(&separator @ (Token::Comma | Token::Space)) = self.tokens.first() else {
            return;
        };
        while let [first, Token::Digits(group), rest @ ..] = self.tokens {
            let is_mixed = separator == Token::Space && rest.first() == Some(&Token::Slash);
            if *first != separator || group.len() != 3 || is_mixed {
                return;
            }
            digits.push_str(group);
            self.tokens = rest;
        }
    }

    /// `\frac{a}{b}`, `\frac12`, `\frac{a}2`, `\frac1{b}`, from the command on; may be negative.
    pub(super) fn fraction(&mut self) -> Result<RBig, Obstacle> {
        if !self.eat(Token::Fraction) {
            return Err(Obstacle::Unread);
        }
        self.skip_space();
        if let [Token::Digits(digits), rest @ ..] = self.tokens
            && digits.len() == 2
        {
            let (above, below) = digits.split_at(1);
            self.tokens = rest;
            return self.ratio(&Decimal::digit(above), &Decimal::digit(below));
        }
        let (above, above_negative) = self.operand()?;
        self.skip_space();
        let (below, below_negative) = self.operand()?;
        let ratio = self.ratio(&above, &below)?;
        Ok(if above_negative == below_negative {
            ratio
        } else {
            -ratio
        })
    }

    /// What stands above or below the line of a fraction: one digit, or a literal in braces with
    /// its sign. Tells whether that is a minus.
    fn operand(&mut self) -> Result<(Decimal, bool), Obstacle> {
        if let [Token::Digits(digits), rest @ ..] = self.tokens
            && digits.len() == 1
        {
            self.tokens = rest;
            return Ok((Decimal::digit(digits), false));
        }
        if !self.eat(Token::OpenBrace) {
            return Err(Obstacle::Unread);
        }
        self.skip_space();
        let negative = self.sign().unwrap_or(false);
        let decimal = self.decimal()?;
        self.skip_space();
        let closed = self.eat(Token::CloseBrace);
        closed
            .then_some((decimal, negative))
            .ok_or(Obstacle::Unread)
    }

    /// `above / below`.
    pub(super) fn ratio(&mut self, above: &Decimal, below: &Decimal) -> Result<RBig, Obstacle> {
        self.pay(above.len() + below.len())?;
        let below = below.value();
        if below.is_zero() {
            return Err(Obstacle::Unread);
        }
        Ok(above.value() / below)
    }

    /// `decimal · 10^exponent`.
    pub(super) fn shifted(&mut self, decimal: &Decimal, exponent: i32) -> Result<RBig, Obstacle> {
        let zeros = usize::try_from(exponent.unsigned_abs()).unwrap_or(usize::MAX);
        self.pay(zeros.saturating_add(decimal.len()))?;
        Ok(decimal.value() * number::power_of_ten(exponent))
    }

    /// The mantissa and the exponent, where `decimal` starts a power of ten: `1.5e3`,
    /// `1.5 × 10^3`, `10^3`.
    pub(super) fn scientific(
        &mut self,
        decimal: &Decimal,
    ) -> Result<Option<(Decimal, i32)>, Obstacle> {
        let before = self.tokens;
        let mantissa = |digits: &str, decimals| Decimal {
            digits: digits.to_owned(),
            decimals,
        };
        if let [
            Token::Word {
                letters: "e" | "E", ..
            },
            rest @ ..,
        ] = self.tokens
        {
            self.tokens = rest;
            let negative = self.sign().unwrap_or(false);
            if let [Token::Digits(digits), rest @ ..] = self.tokens {
                self.tokens = rest;
                let exponent = signed(negative, small(digits)?);
                return Ok(Some((
                    mantissa(&decimal.digits, decimal.decimals),
                    exponent,
                )));
            }
        }
        self.tokens = before;
        if decimal.digits == "10" && decimal.is_integer() && self.eat(Token::Caret) {
            return Ok(Some((Decimal::digit("1"), self.exponent(0)?)));
        }
        self.skip_space();
        let times = Token::Word {
            letters: "x",
            upright: false,
        };
        if self.eat(Token::Times) || self.eat(times) {
            self.skip_space();
            if self.eat(Token::Digits("10")) && self.eat(Token::Caret) {
                let exponent = self.exponent(0)?;
                return Ok(Some((
                    mantissa(&decimal.digits, decimal.decimals),
                    exponent,
                )));
            }
        }
        self.tokens = before;
        Ok(None)
    }

    /// An exponent with its sign: `3`, `{-20}`, `(3)`, `10^2`. Towers are folded from the top, and
    /// given up as too costly before they outgrow a machine word.
    fn exponent(&mut self, depth: usize) -> Result<i32, Obstacle> {
        if depth > MAX_EXPONENT_DEPTH {
            return Err(Obstacle::TooCostly);
        }
        self.skip_space();
        for (open, close) in [
            (Token::OpenBrace, Token::CloseBrace),
            (Token::OpenParen, Token::CloseParen),
        ] {
            if self.eat(open) {
                let exponent = self.exponent(depth + 1)?;
                self.skip_space();
                return self.eat(close).then_some(exponent).ok_or(Obstacle::Unread);
            }
        }
        let negative = self.sign().unwrap_or(false);
        let [Token::Digits(digits), rest @ ..] = self.tokens else {
            return Err(Obstacle::Unread);
        };
        self.tokens = rest;
        let base = small(digits)?;
        if !self.eat(Token::Caret) {
            return Ok(signed(negative, base));
        }
        let power = u32::try_from(self.exponent(depth + 1)?).map_err(|_| Obstacle::Unread)?;
        let power = base.checked_pow(power).ok_or(Obstacle::TooCostly)?;
        Ok(signed(negative, power))
    }
}

fn signed(negative: bool, magnitude: i32) -> i32 {
    if negative { -magnitude } else { magnitude }
}

/// A non-negative exponent, if it is worth building at all.
fn small(digits: &str) -> Result<i32, Obstacle> {
    let significant = digits.trim_start_matches('0');
    if significant.is_empty() {
        return Ok(0);
    }
    significant.parse().map_err(|_| Obstacle::TooCostly)
}

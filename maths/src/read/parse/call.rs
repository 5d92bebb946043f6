//! Functions and their arguments, with and without brackets.

use crate::answer::Unread;
use crate::expr::{Constant, Expr, Function, Node};
use crate::read::Dialect;
use crate::read::token::{Bracket, Token};

use super::{ParseResult, Parser, is_minus_one};

/// Places of a call's arguments.
struct Arguments {
    list: Vec<Expr>,
    /// Whether they stood in brackets, so that an exponent after them is one of the call.
    are_bracketed: bool,
}

impl Parser<'_, '_, '_, '_> {
    /// Reads a function of ours, from after its name on.
    pub(super) fn function(&mut self, function: Function) -> ParseResult<Expr> {
        let mut base = None;
        let mut exponent = None;
        loop {
            match self.peek() {
                Some(Token::Underscore) if function == Function::LogBare && base.is_none() => {
                    self.at += 1;
                    if let Some((own, argument)) = self.digits_of_base()? {
                        return self.called(function, Some(own), vec![argument]);
                    }
                    base = Some(self.small_operand()?);
                }
                Some(Token::Caret) if exponent.is_none() => {
                    self.at += 1;
                    exponent = Some(self.exponent()?);
                }
                _ => break,
            }
        }
        let inverse = match exponent {
            Some(exponent) if self.is_minus_one(exponent) => {
                Some(inverse_of(function).ok_or(Unread::NotMaths)?)
            }
            _ => None,
        };
        let is_angle = is_trigonometric(function);
        self.angles += u16::from(is_angle);
        let arguments = self.call_arguments(function)?;
        self.angles -= u16::from(is_angle);
        let call = self.called(inverse.unwrap_or(function), base, arguments.list)?;
        match exponent {
            Some(exponent) if inverse.is_none() => Ok(self.ws.power(call, exponent)?),
            _ if arguments.are_bracketed => self.raised(call),
            _ => Ok(call),
        }
    }

    /// Reads the base and the argument of `\log_23`, which nothing follows: an index without braces is one
    /// digit.
    fn digits_of_base(&mut self) -> ParseResult<Option<(Expr, Expr)>> {
        let Some(Token::Number(literal)) = self.peek() else {
            return Ok(None);
        };
        let next = self.items.get(self.at + 1).map(|item| item.token);
        let ends = matches!(next, None | Some(Token::Close(_) | Token::Plus | Token::Minus));
        let digits = literal.whole.as_bytes();
        if !ends || !literal.is_digits() || !matches!(digits, [b'2'..=b'9', b'1'..=b'9']) {
            return Ok(None);
        }
        self.at += 1;
        let base = self.ws.integer(i64::from(digits[0] - b'0'))?;
        let argument = self.ws.integer(i64::from(digits[1] - b'0'))?;
        Ok(Some((base, argument)))
    }

    fn is_minus_one(&self, expr: Expr) -> bool {
        matches!(self.ws.node(expr), Node::Number(value) if is_minus_one(value))
    }

    /// Reads the call of `function` with as many arguments as it takes.
    fn called(
        &mut self,
        function: Function,
        base: Option<Expr>,
        mut arguments: Vec<Expr>,
    ) -> ParseResult<Expr> {
        let mut function = function;
        if let Some(base) = base {
            arguments.push(base);
            function = Function::Log;
        } else if function == Function::LogBare && arguments.len() == 2 {
            function = Function::Log;
        }
        let (fewest, most) = function.arity();
        if !(fewest..=most).contains(&arguments.len()) {
            return Err(Unread::NotMaths);
        }
        Ok(self.ws.call(function, arguments)?)
    }

    /// Reads the arguments in brackets, or the run of factors that follows.
    fn call_arguments(&mut self, function: Function) -> ParseResult<Arguments> {
        let brackets = match self.peek() {
            Some(Token::Open(Bracket::Round | Bracket::Square | Bracket::Brace)) => true,
            Some(Token::Open(Bracket::Group)) => {
                // `\max{1, 2}`, but not `\sin{x}`, which is `\sin x`.
                let close = self.items[self.at].mate;
                function.arity().1 > 1 && self.commas(self.at, close) > 0
            }
            _ => false,
        };
        if brackets {
            let close = self.items[self.at].mate;
            self.at += 1;
            let list = self.arguments(close)?;
            return Ok(Arguments { list, are_bracketed: true });
        }
        if function.arity().0 > 1 || !is_written_bare(function) {
            return Err(Unread::NotMaths);
        }
        let list = vec![self.juxtaposed()?];
        Ok(Arguments { list, are_bracketed: false })
    }

    /// Reads the arguments separated by commas up to the bracket at `close`, and the bracket.
    pub(super) fn arguments(&mut self, close: usize) -> ParseResult<Vec<Expr>> {
        if close >= self.end {
            return Err(Unread::NotMaths);
        }
        let from = self.at;
        let arguments = self.within(from, close, |parser| {
            let mut arguments = vec![parser.sum()?];
            while parser.eat(Token::Comma) {
                arguments.push(parser.sum()?);
            }
            Ok(arguments)
        })?;
        self.at = close + 1;
        Ok(arguments)
    }

    /// Reads the argument of a function without brackets: factors up to the next function, operator
    /// or, where something other than a number came before it, bracket.
    fn juxtaposed(&mut self) -> ParseResult<Expr> {
        let is_negative = self.sign()?;
        let mut factors = vec![self.power()?];
        while let Some(token) = self.peek() {
            let goes_on = match token {
                Token::Function(_)
                | Token::Exponential
                | Token::Cis
                | Token::CommonLogarithm
                | Token::Big(_)
                | Token::BigCall(_) => false,
                Token::Open(Bracket::Round | Bracket::Square | Bracket::Brace) => {
                    self.are_constants(&factors)
                }
                token => self.starts_operand(token),
            };
            if !goes_on {
                break;
            }
            self.check_juxtaposed(token)?;
            factors.push(self.power()?);
        }
        let product = self.ws.product(factors)?;
        if is_negative { self.negated(product) } else { Ok(product) }
    }

    fn are_constants(&self, factors: &[Expr]) -> bool {
        let is_constant =
            |factor: &Expr| matches!(self.ws.node(*factor), Node::Number(_) | Node::Constant(_));
        factors.iter().all(is_constant)
    }

    /// Reads `\exp`, from after its name on.
    pub(super) fn exponential(&mut self) -> ParseResult<Expr> {
        let (argument, is_bracketed) = self.bare_argument()?;
        let base = self.ws.constant(Constant::E)?;
        let power = self.ws.power(base, argument)?;
        if is_bracketed { self.raised(power) } else { Ok(power) }
    }

    /// Reads `cis x`, from after its name on, as a power of e.
    pub(super) fn cis(&mut self) -> ParseResult<Expr> {
        self.angles += 1;
        let (angle, is_bracketed) = self.bare_argument()?;
        self.angles -= 1;
        let unit = self.ws.constant(Constant::I)?;
        let exponent = self.ws.product(vec![unit, angle])?;
        let base = self.ws.constant(Constant::E)?;
        let power = self.ws.power(base, exponent)?;
        if is_bracketed { self.raised(power) } else { Ok(power) }
    }

    /// Reads `lg x`, from after its name on.
    pub(super) fn common_logarithm(&mut self) -> ParseResult<Expr> {
        let (argument, is_bracketed) = self.bare_argument()?;
        let ten = self.ws.integer(10)?;
        let call = self.ws.call(Function::Log, vec![argument, ten])?;
        if is_bracketed { self.raised(call) } else { Ok(call) }
    }

    /// Reads one argument, and whether it stood in brackets.
    fn bare_argument(&mut self) -> ParseResult<(Expr, bool)> {
        let is_bracketed = matches!(
            self.peek(),
            Some(Token::Open(Bracket::Round | Bracket::Square | Bracket::Brace))
        );
        let argument = if is_bracketed { self.only_argument()? } else { self.juxtaposed()? };
        Ok((argument, is_bracketed))
    }

    /// Reads the one argument in the bracket that follows.
    pub(super) fn only_argument(&mut self) -> ParseResult<Expr> {
        let close = self.items[self.at].mate;
        self.at += 1;
        let arguments = self.arguments(close)?;
        match arguments.as_slice() {
            [only] => Ok(*only),
            _ => Err(Unread::NotMaths),
        }
    }

    /// Returns whether the text is LaTeX.
    pub(super) fn is_latex(&self) -> bool {
        self.setting.dialect == Dialect::Latex
    }
}

fn is_trigonometric(function: Function) -> bool {
    matches!(
        function,
        Function::Sin
            | Function::Cos
            | Function::Tan
            | Function::Cot
            | Function::Sec
            | Function::Csc
    )
}

/// Returns whether `function` may stand before its argument without brackets.
fn is_written_bare(function: Function) -> bool {
    is_trigonometric(function)
        || inverse_of(function).is_some()
        || matches!(
            function,
            Function::Asin
                | Function::Acos
                | Function::Atan
                | Function::Acot
                | Function::Asec
                | Function::Acsc
                | Function::Sech
                | Function::Csch
                | Function::Coth
                | Function::Asinh
                | Function::Acosh
                | Function::Atanh
                | Function::Ln
                | Function::LogBare
                | Function::Arg
                | Function::Re
                | Function::Im
        )
}

/// Returns what `\sin^{-1}` and its kin mean.
fn inverse_of(function: Function) -> Option<Function> {
    Some(match function {
        Function::Sin => Function::Asin,
        Function::Cos => Function::Acos,
        Function::Tan => Function::Atan,
        Function::Cot => Function::Acot,
        Function::Sec => Function::Asec,
        Function::Csc => Function::Acsc,
        Function::Sinh => Function::Asinh,
        Function::Cosh => Function::Acosh,
        Function::Tanh => Function::Atanh,
        _ => return None,
    })
}

//! Variables with their subscripts and primes, and unknown functions.

use crate::answer::Unread;
use crate::expr::{Constant, Expr, Function, Node};
use crate::read::token::{Bracket, Token};

use super::{ParseResult, Parser};

/// The longest name, in bytes.
const MAX_NAME: usize = 64;

impl<'a> Parser<'_, 'a, '_, '_> {
    /// Reads a variable that starts with `letters`, or what it is applied to.
    pub(super) fn variable(&mut self, letters: &'a str) -> ParseResult<Expr> {
        let spelling = self.marked(letters.to_owned())?;
        if spelling.len() == letters.len() && !self.bound.contains(&spelling) {
            match letters {
                "e" => return Ok(self.ws.constant(Constant::E)?),
                "i" => return Ok(self.ws.constant(Constant::I)?),
                _ => {}
            }
        }
        if let Some(counted) = self.chosen(letters, &spelling)? {
            return Ok(counted);
        }
        if let Some(value) = self.greek_function(letters)? {
            return Ok(value);
        }
        if let Some(applied) = self.applied(letters, &spelling)? {
            return Ok(applied);
        }
        self.late_subscript(spelling)
    }

    /// Reads `\bar{z}`, from after the command on.
    pub(super) fn accented(&mut self, accent: &str) -> ParseResult<Expr> {
        if accent == "bar"
            && let Some(number) = self.conjugated()?
        {
            return Ok(number);
        }
        if accent == "bar"
            && let Some(class) = self.residue_class()?
        {
            return Ok(class);
        }
        let mut inner = String::new();
        self.name_part(&mut inner)?;
        let spelling = self.marked(format!("{accent}{{{inner}}}"))?;
        self.late_subscript(spelling)
    }

    /// Reads a whole number under a bar as that number, which names its residue class: `\bar{5}`. Beside other
    /// numbers the bar is a sign of theirs: `1\bar{1}0`.
    fn residue_class(&mut self) -> ParseResult<Option<Expr>> {
        let (literal, after) = match (self.peek(), self.peek_at(1), self.peek_at(2)) {
            (Some(Token::Number(digit)), ..) if digit.whole.len() == 1 => (digit, 1),
            (
                Some(Token::Open(Bracket::Group)),
                Some(Token::Number(number)),
                Some(Token::Close(Bracket::Group)),
            ) => (number, 3),
            _ => return Ok(None),
        };
        let is_operand = |token: Option<Token<'_>>| {
            token.is_some_and(|token| matches!(token, Token::Number(_) | Token::Accent(_)))
        };
        let before = self.at.checked_sub(2).map(|before| self.items[before].token);
        let is_beside = before.is_some_and(Token::ends_operand) || is_operand(self.peek_at(after));
        if !literal.is_digits() || is_beside {
            return Ok(None);
        }
        self.at += after;
        self.literal(&literal).map(Some)
    }

    /// Reads the conjugate of what a bar stands over, where that is a sum with an i in it.
    fn conjugated(&mut self) -> ParseResult<Option<Expr>> {
        if self.peek() != Some(Token::Open(Bracket::Group)) {
            return Ok(None);
        }
        let (from, close) = (self.at + 1, self.items[self.at].mate);
        let inner = &self.items[from..close];
        let has = |is_such: fn(Token<'_>) -> bool| inner.iter().any(|item| is_such(item.token));
        let is_sum = has(|token| matches!(token, Token::Plus | Token::Minus));
        if !is_sum || !has(|token| token == Token::Name("i")) {
            return Ok(None);
        }
        let number = self.within(from, close, Self::sum)?;
        self.at = close + 1;
        Ok(Some(self.ws.call(Function::Conjugate, vec![number])?))
    }

    /// Reads `C_5^2`, `A_5^2` and `P_5^2`: numbers of choices with the whole below and the part above.
    fn chosen(&mut self, letters: &str, spelling: &str) -> ParseResult<Option<Expr>> {
        let function = match letters {
            "C" => Function::Binomial,
            "A" | "P" => Function::Permutations,
            _ => return Ok(None),
        };
        let total: Option<u32> =
            spelling[letters.len()..].strip_prefix('_').and_then(|n| n.parse().ok());
        let (Some(total), Some(Token::Caret)) = (total, self.peek()) else {
            return Ok(None);
        };
        let part = match (self.peek_at(1), self.peek_at(2), self.peek_at(3)) {
            (Some(Token::Number(part)), ..) => Some((part, 2)),
            (
                Some(Token::Open(Bracket::Group)),
                Some(Token::Number(part)),
                Some(Token::Close(Bracket::Group)),
            ) => Some((part, 4)),
            _ => None,
        };
        let Some((part, length)) = part.filter(|(part, _)| part.is_digits()) else {
            return Ok(None);
        };
        // `C_1^2` is the square of a constant.
        if total < 3 || part.whole.parse().map_or(true, |part: u32| part > total) {
            return Ok(None);
        }
        self.at += length;
        let total = self.ws.integer(i64::from(total))?;
        let part = self.literal(&part)?;
        Ok(Some(self.ws.call(function, vec![total, part])?))
    }

    /// Reads `\zeta(2)` and `\Gamma(5)`, from after the letter on.
    fn greek_function(&mut self, letters: &str) -> ParseResult<Option<Expr>> {
        if !matches!(letters, "zeta" | "Gamma") || self.peek() != Some(Token::Open(Bracket::Round))
        {
            return Ok(None);
        }
        let close = self.items[self.at].mate;
        if self.commas(self.at, close) > 0 {
            return Ok(None);
        }
        let argument = self.only_argument()?;
        let whole = match self.ws.node(argument) {
            Node::Number(value) if value.is_int() => i64::try_from(value.numerator()).ok(),
            _ => None,
        };
        Ok(Some(match (letters, whole) {
            ("Gamma", Some(n)) if n > 0 => {
                let below = self.ws.integer(n - 1)?;
                self.ws.call(Function::Factorial, vec![below])?
            }
            // zeta(2k) is a rational multiple of pi^2k.
            ("zeta", Some(n @ (2 | 4 | 6 | 8))) => {
                let below = match n {
                    2 => 6,
                    4 => 90,
                    6 => 945,
                    _ => 9450,
                };
                let pi = self.ws.constant(Constant::Pi)?;
                let exponent = self.ws.integer(n)?;
                let power = self.ws.power(pi, exponent)?;
                let below = self.ws.integer(below)?;
                self.ws.quotient(power, below)?
            }
            _ => {
                let name = self.ws.name(letters);
                self.ws.intern(Node::Apply(name, [argument].into()))?
            }
        }))
    }

    /// Reads `spelling` with the subscripts and primes that follow.
    fn marked(&mut self, mut spelling: String) -> ParseResult<String> {
        loop {
            match (self.peek(), self.peek_at(1)) {
                (Some(Token::Underscore), _) => {
                    self.at += 1;
                    self.subscript(&mut spelling)?;
                }
                (Some(Token::Prime), _) => {
                    self.at += 1;
                    spelling.push('\'');
                }
                (Some(Token::Caret), Some(Token::Prime)) => {
                    self.at += 2;
                    spelling.push('\'');
                }
                _ => return Ok(spelling),
            }
            if spelling.len() > MAX_NAME {
                return Err(Unread::NotMaths);
            }
        }
    }

    /// Reads `x^2_1`: the subscript belongs to the name although it stands after the exponent.
    fn late_subscript(&mut self, mut spelling: String) -> ParseResult<Expr> {
        // In plain text the subscript of `x^y_1` is one of the exponent.
        let is_name = matches!(self.peek_at(1), Some(Token::Name(_)));
        if self.peek() == Some(Token::Caret) && (self.is_latex() || !is_name) {
            let before = self.at;
            let is_marked = self.after_exponent() == Some(Token::Underscore);
            if is_marked {
                self.at += 1;
                let exponent = self.exponent()?;
                self.expect(Token::Underscore)?;
                self.subscript(&mut spelling)?;
                let base = self.ws.symbol(&spelling)?;
                return Ok(self.ws.power(base, exponent)?);
            }
            self.at = before;
        }
        Ok(self.ws.symbol(&spelling)?)
    }

    /// Returns the token after an exponent of one token or group.
    fn after_exponent(&self) -> Option<Token<'a>> {
        let first = self.at + 1;
        let last = if first < self.end { self.items[first].mate } else { first };
        (last + 1 < self.end).then(|| self.items[last + 1].token)
    }

    /// Writes `_` and a subscript to `spelling`.
    fn subscript(&mut self, spelling: &mut String) -> ParseResult<()> {
        let mut text = String::new();
        self.name_part(&mut text)?;
        let is_word = text.bytes().all(|b| b.is_ascii_alphanumeric());
        spelling.push('_');
        if is_word {
            spelling.push_str(&text);
        } else {
            spelling.push('{');
            spelling.push_str(&text);
            spelling.push('}');
        }
        Ok(())
    }

    /// Writes one token, or what a group holds, as a part of a name.
    fn name_part(&mut self, out: &mut String) -> ParseResult<()> {
        let end = match self.peek() {
            Some(Token::Open(Bracket::Group)) => self.items[self.at].mate,
            Some(_) => self.at,
            None => return Err(Unread::NotMaths),
        };
        let from = if end == self.at { self.at } else { self.at + 1 };
        let to = if end == self.at { end + 1 } else { end };
        if from == to {
            return Err(Unread::NotMaths);
        }
        for item in &self.items[from..to] {
            match item.token {
                Token::Number(literal) if literal.is_digits() => out.push_str(literal.whole),
                Token::Name(name) => out.push_str(name),
                Token::Constant(Constant::Pi) => out.push_str("pi"),
                Token::Constant(Constant::E) => out.push('E'),
                Token::Constant(Constant::I) => out.push('I'),
                Token::Function(function) => out.push_str(function.plain()),
                Token::Comma => out.push(','),
                Token::Plus => out.push('+'),
                Token::Minus => out.push('-'),
                Token::Times => out.push('*'),
                Token::Caret => out.push('^'),
                Token::Underscore => out.push('_'),
                Token::Prime => out.push('\''),
                Token::Open(Bracket::Group) => out.push('{'),
                Token::Close(Bracket::Group) => out.push('}'),
                _ => return Err(Unread::NotMaths),
            }
            if out.len() > MAX_NAME {
                return Err(Unread::NotMaths);
            }
        }
        self.at = end + 1;
        Ok(())
    }

    /// Reads `f(x)`, `P(n, k)` and their kin: applications that are not products of a variable and
    /// a bracket.
    fn applied(&mut self, letters: &str, spelling: &str) -> ParseResult<Option<Expr>> {
        let inverse = matches!(letters, "f" | "g" | "h") && self.is_inverse();
        let open = if inverse { self.after_group() } else { self.at };
        if open >= self.end || self.items[open].token != Token::Open(Bracket::Round) {
            return Ok(None);
        }
        let close = self.items[open].mate;
        let is_single = close == open + 2;
        let commas = self.commas(open, close);
        let counts = match letters {
            "P" | "C" if commas == 1 => {
                Some(if letters == "P" { Function::Permutations } else { Function::Binomial })
            }
            _ => None,
        };
        let is_function = match letters {
            "f" | "g" => true,
            "h" | "F" | "G" | "H" | "P" | "Q" => is_single || inverse || spelling.ends_with('\''),
            _ => false,
        };
        if counts.is_none() && !is_function {
            return Ok(None);
        }
        self.at = open + 1;
        let arguments = self.arguments(close)?;
        if let Some(function) = counts {
            return Ok(Some(self.ws.call(function, arguments)?));
        }
        let name = if inverse { format!("{spelling}^{{-1}}") } else { spelling.to_owned() };
        let name = self.ws.name(&name);
        Ok(Some(self.ws.intern(Node::Apply(name, arguments.into()))?))
    }

    /// Returns whether `^{-1}` and a bracket follow.
    fn is_inverse(&self) -> bool {
        let items = &self.items[self.at..self.end];
        let minus_one = |rest: &[_]| {
            matches!(rest, [Token::Open(Bracket::Group), Token::Minus, Token::Number(one),
                Token::Close(Bracket::Group), ..] if one.whole == "1" && one.is_digits())
        };
        let tokens: Vec<Token<'_>> = items.iter().take(6).map(|item| item.token).collect();
        tokens.first() == Some(&Token::Caret)
            && minus_one(&tokens[1..])
            && tokens.get(5) == Some(&Token::Open(Bracket::Round))
    }

    /// Returns the place after `^{…}`.
    fn after_group(&self) -> usize {
        self.items[self.at + 1].mate + 1
    }

    /// Commas between `open` and `close` that stand in no inner bracket.
    pub(super) fn commas(&self, open: usize, close: usize) -> usize {
        let mut at = open + 1;
        let mut commas = 0;
        while at < close {
            commas += usize::from(self.items[at].token == Token::Comma);
            at = self.items[at].mate.max(at) + 1;
        }
        commas
    }
}

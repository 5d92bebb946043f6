//! The parser of formulas.

use super::{FUNCTIONS, FormulaError, FormulaNode, Function, MAX_FORMULA_BYTES, Operator};

/// Most nested parentheses, signs and powers.
const MAX_DEPTH: usize = 64;

pub(super) fn parse(text: &str) -> Result<FormulaNode, FormulaError> {
    if text.len() > MAX_FORMULA_BYTES {
        let what = format!("a formula has at most {MAX_FORMULA_BYTES} bytes");
        return Err(FormulaError { at: MAX_FORMULA_BYTES, what });
    }
    let mut parser = Parser { text, at: 0, depth: 0 };
    let root = parser.sum()?;
    match parser.peek() {
        None => Ok(root),
        Some(c) => Err(parser.fault(format!("{c:?} is one too many"))),
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn sum(&mut self) -> Result<FormulaNode, FormulaError> {
        let mut left = self.product()?;
        loop {
            let operator = match self.peek() {
                Some('+') => Operator::Add,
                Some('-') => Operator::Subtract,
                Some(_) | None => return Ok(left),
            };
            self.at += 1;
            let right = self.product()?;
            left = FormulaNode::Both(operator, Box::new((left, right)));
        }
    }

    fn product(&mut self) -> Result<FormulaNode, FormulaError> {
        let mut left = self.signed()?;
        loop {
            let operator = match self.peek() {
                Some('*') => Operator::Multiply,
                Some('/') => Operator::Divide,
                Some(_) | None => return Ok(left),
            };
            self.at += 1;
            let right = self.signed()?;
            left = FormulaNode::Both(operator, Box::new((left, right)));
        }
    }

    /// Parses a signed expression; every recursion passes here.
    fn signed(&mut self) -> Result<FormulaNode, FormulaError> {
        if self.depth == MAX_DEPTH {
            return Err(self.fault(format!("more than {MAX_DEPTH} levels")));
        }
        self.depth += 1;
        let node = match self.peek() {
            Some('-') => {
                self.at += 1;
                FormulaNode::Negated(Box::new(self.signed()?))
            }
            Some('+') => {
                self.at += 1;
                self.signed()?
            }
            Some(_) | None => self.power()?,
        };
        self.depth -= 1;
        Ok(node)
    }

    fn power(&mut self) -> Result<FormulaNode, FormulaError> {
        let base = self.atom()?;
        if self.peek() != Some('^') {
            return Ok(base);
        }
        self.at += 1;
        let exponent = self.signed()?;
        Ok(FormulaNode::Both(Operator::Power, Box::new((base, exponent))))
    }

    fn atom(&mut self) -> Result<FormulaNode, FormulaError> {
        match self.peek() {
            Some('(') => {
                self.at += 1;
                let inner = self.sum()?;
                self.close()?;
                Ok(inner)
            }
            Some('0'..='9' | '.') => self.number(),
            Some('a'..='z' | 'A'..='Z' | '_') => self.name(),
            Some(c) => Err(self.fault(format!("{c:?} begins no number and no name"))),
            None => Err(self.fault("something is missing at the end")),
        }
    }

    fn number(&mut self) -> Result<FormulaNode, FormulaError> {
        let start = self.at;
        self.skip(|c| c.is_ascii_digit() || c == '.');
        if matches!(self.here(), Some('e' | 'E')) {
            self.at += 1;
            if matches!(self.here(), Some('+' | '-')) {
                self.at += 1;
            }
            self.skip(|c| c.is_ascii_digit());
        }
        let text = &self.text[start..self.at];
        match text.parse() {
            Ok(number) if f64::is_finite(number) => Ok(FormulaNode::Number(number)),
            Ok(_) | Err(_) => {
                self.at = start;
                Err(self.fault(format!("{text} is no number")))
            }
        }
    }

    fn name(&mut self) -> Result<FormulaNode, FormulaError> {
        let start = self.at;
        self.skip(|c| c.is_ascii_alphanumeric() || c == '_');
        let name = &self.text[start..self.at];
        let function = FUNCTIONS.iter().find(|(known, _)| *known == name);
        match (function, self.peek()) {
            (Some((_, function)), Some('(')) => self.call(*function),
            (None, Some('(')) => {
                self.at = start;
                let known = FUNCTIONS.map(|(name, _)| name).join(", ");
                Err(self.fault(format!("no function {name}; there are {known}")))
            }
            (_, Some(_) | None) => Ok(FormulaNode::Name(name.to_owned())),
        }
    }

    fn call(&mut self, function: Function) -> Result<FormulaNode, FormulaError> {
        let start = self.at;
        self.at += 1;
        let mut given = vec![self.sum()?];
        while self.peek() == Some(',') {
            self.at += 1;
            given.push(self.sum()?);
        }
        self.close()?;
        if given.len() > 1 && !function.takes_many() {
            self.at = start;
            return Err(self.fault("this function takes one value"));
        }
        Ok(FormulaNode::Call(function, given))
    }

    fn close(&mut self) -> Result<(), FormulaError> {
        if self.peek() != Some(')') {
            return Err(self.fault("a closing parenthesis is missing"));
        }
        self.at += 1;
        Ok(())
    }

    /// Returns the next character after white space.
    fn peek(&mut self) -> Option<char> {
        self.skip(char::is_whitespace);
        self.here()
    }

    fn here(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn skip(&mut self, fits: impl Fn(char) -> bool) {
        let rest = &self.text[self.at..];
        let end = rest.find(|c| !fits(c)).unwrap_or(rest.len());
        self.at += end;
    }

    fn fault(&self, what: impl Into<String>) -> FormulaError {
        FormulaError { at: self.at, what: what.into() }
    }
}

//! Sums, products, integrals and limits, and the calls of the plain grammar.

use crate::answer::{Relation, Unread};
use crate::expr::{Binder, Bound, Constant, Direction, Expr, Node};
use crate::read::token::{Big, Bracket, Token};

use super::{ParseResult, Parser};

/// The bounds below and above a big operator, as places of tokens.
#[derive(Default)]
struct OperatorBounds {
    below: Option<(usize, usize)>,
    above: Option<(usize, usize)>,
}

impl Parser<'_, '_, '_, '_> {
    /// Reads `\sum` and its kin, from after the command on.
    pub(super) fn big(&mut self, big: Big) -> ParseResult<Expr> {
        let limits = self.limits()?;
        match big {
            Big::Sum => self.series(Binder::Sum, &limits),
            Big::Product => self.series(Binder::Product, &limits),
            Big::Limit => self.limit(&limits),
            Big::Integral => self.integral(&limits),
            Big::Derivative => Err(Unread::NotMaths),
        }
    }

    /// Reads what `_` and `^` say, in either order. Empty braces say nothing.
    fn limits(&mut self) -> ParseResult<OperatorBounds> {
        let mut limits = OperatorBounds::default();
        loop {
            let is_below = match self.peek() {
                Some(Token::Underscore) => true,
                Some(Token::Caret) => false,
                _ => return Ok(limits),
            };
            self.at += 1;
            let first = self.at;
            self.next()?;
            let last = self.items[first].mate;
            let place = match self.items[first].token {
                Token::Open(Bracket::Group) => (first + 1, last),
                Token::Minus | Token::Plus => {
                    self.next()?;
                    (first, first + 2)
                }
                _ => (first, first + 1),
            };
            self.at = self.at.max(last + 1);
            let slot = if is_below { &mut limits.below } else { &mut limits.above };
            let place = (place.0 < place.1).then_some(place);
            if slot.is_some() {
                return Err(Unread::NotMaths);
            }
            *slot = place;
        }
    }

    fn between(&mut self, place: (usize, usize)) -> ParseResult<Expr> {
        self.within(place.0, place.1, Self::sum)
    }

    /// Reads the variable that a binder binds, by its spelling.
    fn bound_name(&mut self) -> ParseResult<String> {
        let Token::Name(letters) = self.next()? else {
            return Err(Unread::NotMaths);
        };
        self.bound.push(letters.to_owned());
        let symbol = self.variable(letters)?;
        self.bound.pop();
        let Node::Symbol(name) = self.ws.node(symbol) else {
            return Err(Unread::NotMaths);
        };
        Ok(self.ws.spelling(*name).to_owned())
    }

    pub(super) fn bind(&mut self, bound: Bound) -> ParseResult<Expr> {
        Ok(self.ws.intern(Node::Bound(Box::new(bound)))?)
    }

    /// Runs `read` while `variable` is bound.
    pub(super) fn binding(
        &mut self,
        variable: &str,
        read: impl FnOnce(&mut Self) -> ParseResult<Expr>,
    ) -> ParseResult<Expr> {
        self.bound.push(variable.to_owned());
        let value = read(self)?;
        self.bound.pop();
        Ok(value)
    }

    fn series(&mut self, binder: Binder, limits: &OperatorBounds) -> ParseResult<Expr> {
        let below = limits.below.ok_or(Unread::NotMaths)?;
        let is_open = limits.above.is_none();
        let (variable, from) = self.within(below.0, below.1, |parser| {
            let variable = parser.bound_name()?;
            // `\sum_{n \ge 1}` has no end.
            let relation = if is_open { Relation::GreaterOrEqual } else { Relation::Equal };
            parser.expect(Token::Relation(relation))?;
            Ok((variable, parser.sum()?))
        })?;
        let to = match limits.above {
            Some(above) => self.between(above)?,
            None => self.ws.constant(Constant::Infinity)?,
        };
        let body = self.binding(&variable, Self::product)?;
        let variable = self.ws.name(&variable);
        let (from, to) = (Some(from), Some(to));
        self.bind(Bound { binder, variable, from, to, body })
    }

    fn limit(&mut self, limits: &OperatorBounds) -> ParseResult<Expr> {
        let (from, to) = limits.below.ok_or(Unread::NotMaths)?;
        let (end, direction) = self.direction(to);
        let (variable, point) = self.within(from, end, |parser| {
            let variable = parser.bound_name()?;
            parser.expect(Token::Arrow)?;
            Ok((variable, parser.sum()?))
        })?;
        let body = self.binding(&variable, Self::product)?;
        let variable = self.ws.name(&variable);
        let binder = Binder::Limit(direction);
        self.bind(Bound { binder, variable, from: Some(point), to: None, body })
    }

    /// Returns the side of `0^+` or `0^{+}` before the place `end`, and the end of the point.
    fn direction(&self, end: usize) -> (usize, Direction) {
        let side = |token| match token {
            Token::Plus => Some(Direction::Above),
            Token::Minus => Some(Direction::Below),
            _ => None,
        };
        let token = |back: usize| end.checked_sub(back).map(|at| self.items[at].token);
        if let Some(direction) = token(1).and_then(side)
            && token(2) == Some(Token::Caret)
        {
            return (end - 2, direction);
        }
        if token(1) == Some(Token::Close(Bracket::Group))
            && let Some(direction) = token(2).and_then(side)
            && token(4) == Some(Token::Caret)
        {
            return (end - 4, direction);
        }
        (end, Direction::Both)
    }

    fn integral(&mut self, limits: &OperatorBounds) -> ParseResult<Expr> {
        let from = limits.below.map(|place| self.between(place)).transpose()?;
        let to = limits.above.map(|place| self.between(place)).transpose()?;
        if from.is_some() != to.is_some() {
            return Err(Unread::NotMaths);
        }
        let (variable, body) = self.integrand()?;
        let variable = self.ws.name(&variable);
        self.bind(Bound { binder: Binder::Integral, variable, from, to, body })
    }

    /// Returns the differential between the places `from..end`, in no inner bracket and of no inner integral.
    fn differential(&self, from: usize, end: usize) -> Option<usize> {
        let mut at = from;
        let mut inner = 0;
        while at + 1 < end {
            let is_d = self.items[at].token == Token::Name("d");
            if is_d && matches!(self.items[at + 1].token, Token::Name(_)) {
                if inner == 0 {
                    return Some(at);
                }
                inner -= 1;
            }
            inner += usize::from(self.items[at].token == Token::Big(Big::Integral));
            at = self.items[at].mate.max(at) + 1;
        }
        None
    }

    /// Reads the variable and the integrand: `x dx`, `(x dx)`, `\frac{dx}{x}`.
    fn integrand(&mut self) -> ParseResult<(String, Expr)> {
        let (from, end) = (self.at, self.end);
        if let Some(at) = self.differential(from, end) {
            let (variable, body) = self.before_differential(from, at)?;
            return Ok((variable, body));
        }
        match self.next()? {
            Token::Open(Bracket::Group | Bracket::Round | Bracket::Square | Bracket::Brace) => {
                let close = self.items[from].mate;
                let at = self.differential(from + 1, close).ok_or(Unread::NotMaths)?;
                let found = self.before_differential(from + 1, at)?;
                (self.at == close).then_some(()).ok_or(Unread::NotMaths)?;
                self.at = close + 1;
                Ok(found)
            }
            Token::Fraction => self.fractional_integrand(),
            _ => Err(Unread::NotMaths),
        }
    }

    /// Reads the body from `from` up to the differential at `at`, and its variable.
    fn before_differential(&mut self, from: usize, at: usize) -> ParseResult<(String, Expr)> {
        let is_times = at > from && self.items[at - 1].token == Token::Times;
        let to = if is_times { at - 1 } else { at };
        self.at = at + 1;
        let variable = self.bound_name()?;
        let after = self.at;
        let body = if from == to {
            self.ws.integer(1)?
        } else {
            self.binding(&variable, |parser| parser.between((from, to)))?
        };
        self.at = after;
        Ok((variable, body))
    }

    /// Reads `\frac{3 dz}{z}`, from after the command on.
    fn fractional_integrand(&mut self) -> ParseResult<(String, Expr)> {
        let open = self.at;
        self.expect(Token::Open(Bracket::Group))?;
        let close = self.items[open].mate;
        let at = self.differential(open + 1, close).ok_or(Unread::NotMaths)?;
        let (variable, above) = self.before_differential(open + 1, at)?;
        self.expect(Token::Close(Bracket::Group))?;
        let below = self.binding(&variable, Self::small_operand)?;
        Ok((variable, self.ws.quotient(above, below)?))
    }

    /// Reads `Sum(k, (k, 1, n))`, `Integral(x, x)`, `Limit(f, x, 0)`, from after the name on.
    pub(super) fn big_call(&mut self, big: Big) -> ParseResult<Expr> {
        let open = self.at;
        self.expect(Token::Open(Bracket::Round))?;
        let close = self.items[open].mate;
        let comma = self.comma_after(self.at, close).ok_or(Unread::NotMaths)?;
        let is_tuple = self.items[comma + 1].token == Token::Open(Bracket::Round);
        self.at = comma + 1 + usize::from(is_tuple);
        let variable = self.bound_name()?;
        let mut ends = Vec::new();
        let mut direction = Direction::Both;
        while self.eat(Token::Comma) {
            if self.peek() == Some(Token::Name("d")) && big == Big::Limit && ends.len() == 1 {
                direction = self.keyword_direction()?;
            } else {
                ends.push(self.sum()?);
            }
        }
        if is_tuple {
            self.expect(Token::Close(Bracket::Round))?;
        }
        if self.at != close {
            return Err(Unread::NotMaths);
        }
        let body = self.binding(&variable, |parser| parser.between((open + 1, comma)))?;
        self.at = close + 1;
        if big == Big::Derivative {
            let order = self.called_order(&ends)?;
            return self.derivative_of(body, &variable, order);
        }
        let variable = self.ws.name(&variable);
        let (binder, from, to) = match (big, ends.as_slice()) {
            (Big::Sum, [from, to]) => (Binder::Sum, Some(*from), Some(*to)),
            (Big::Product, [from, to]) => (Binder::Product, Some(*from), Some(*to)),
            (Big::Integral, [from, to]) => (Binder::Integral, Some(*from), Some(*to)),
            (Big::Integral, []) => (Binder::Integral, None, None),
            (Big::Limit, [point]) => (Binder::Limit(direction), Some(*point), None),
            _ => return Err(Unread::NotMaths),
        };
        let direction_free = from.is_some_and(|point| self.is_infinite(point));
        let binder = match binder {
            Binder::Limit(_) if direction_free => Binder::Limit(Direction::Both),
            binder => binder,
        };
        self.bind(Bound { binder, variable, from, to, body })
    }

    /// Returns whether `expr` is an infinity, which is approached from one side only.
    fn is_infinite(&self, expr: Expr) -> bool {
        match self.ws.node(expr) {
            Node::Constant(Constant::Infinity) => true,
            Node::Product(factors) => factors.iter().any(|factor| self.is_infinite(*factor)),
            _ => false,
        }
    }

    /// Returns the first comma between `from` and `close` in no inner bracket.
    fn comma_after(&self, from: usize, close: usize) -> Option<usize> {
        let mut at = from;
        while at < close {
            if self.items[at].token == Token::Comma {
                return Some(at);
            }
            at = self.items[at].mate.max(at) + 1;
        }
        None
    }

    /// Reads `dir='+'`.
    fn keyword_direction(&mut self) -> ParseResult<Direction> {
        for token in [
            Token::Name("d"),
            Token::Name("i"),
            Token::Name("r"),
            Token::Relation(Relation::Equal),
            Token::Prime,
        ] {
            self.expect(token)?;
        }
        let direction = match self.next()? {
            Token::Plus if self.eat(Token::Minus) => Direction::Both,
            Token::Plus => Direction::Above,
            Token::Minus => Direction::Below,
            _ => return Err(Unread::NotMaths),
        };
        self.expect(Token::Prime)?;
        Ok(direction)
    }
}

//! Derivatives as Leibniz wrote them: `\frac{d}{dx} f`, `\frac{d^2 y}{dx^2}`, `\frac{d(x^2)}{dx}`.

use crate::answer::Unread;
use crate::expr::{Binder, Bound, Expr, Node};
use crate::read::token::{Bracket, Lexeme, Token};

use super::{ParseResult, Parser};

/// The highest order that is read.
const MAX_ORDER: u8 = 8;

/// The numerator after `d` and its order, as places of tokens.
enum Above {
    /// Nothing: what follows the fraction is derived.
    Nothing,
    Something(usize, usize),
}

impl<'a> Parser<'_, 'a, '_, '_> {
    /// Reads the derivative whose fraction follows, from after `\frac` on; `None` if it is a
    /// quotient like others.
    pub(super) fn derivative(&mut self) -> ParseResult<Option<Expr>> {
        let Some((above, below)) = self.braces_with_d() else {
            return Ok(None);
        };
        let Some((variable, order)) = self.differential_below(below) else {
            return refused(above, below);
        };
        let Some((function, same)) = self.above(above) else {
            return refused(above, below);
        };
        if same != order {
            return Err(Unread::NotMaths);
        }
        self.at = below.1 + 1;
        let body = match function {
            Above::Something(from, to) => {
                self.binding(variable, |parser| parser.within(from, to, Self::sum))?
            }
            Above::Nothing => self.binding(variable, Self::derived)?,
        };
        self.derivative_of(body, variable, order).map(Some)
    }

    /// Returns the places between the braces above and below the line, where both start with `d`.
    fn braces_with_d(&self) -> Option<((usize, usize), (usize, usize))> {
        let inner = |at: usize| {
            let open = self.items.get(at).filter(|_| at + 1 < self.end)?;
            let is_group = open.token == Token::Open(Bracket::Group);
            let has_d = is_group && self.items[at + 1].token == Token::Name("d");
            has_d.then_some((at + 1, open.mate))
        };
        let above = inner(self.at)?;
        Some((above, inner(above.1 + 1)?))
    }

    /// Returns the variable and the order of `dx` or `dx^2`.
    fn differential_below(&self, (from, to): (usize, usize)) -> Option<(&'a str, u8)> {
        match &self.items[from + 1..to] {
            [item] => Some((derivative_name(item)?, 1)),
            [item, rest @ ..] => match order(rest)? {
                (order, []) => Some((derivative_name(item)?, order)),
                (_, [_, ..]) => None,
            },
            [] => None,
        }
    }

    /// Returns what stands above the line, and the order: `d`, `d^2`, `dy`, `d^2 y`, `d(x^2)`.
    fn above(&self, (from, to): (usize, usize)) -> Option<(Above, u8)> {
        let items = &self.items[from + 1..to];
        let (order, rest) = order(items).unwrap_or((1, items));
        let start = to - rest.len();
        let above = match rest {
            [] => Above::Nothing,
            [item] => {
                derivative_name(item)?;
                Above::Something(start, to)
            }
            [open, ..] if open.token == Token::Open(Bracket::Round) && open.mate + 1 == to => {
                Above::Something(start + 1, to - 1)
            }
            [_, _, ..] => return None,
        };
        Some((above, order))
    }

    /// Reads what follows the operator: factors or, with brackets, these alone. `(x) y` after an
    /// operator is read one way by some and another by others.
    fn derived(&mut self) -> ParseResult<Expr> {
        let has_brackets = matches!(
            self.peek(),
            Some(Token::Open(Bracket::Round | Bracket::Square | Bracket::Brace))
        );
        if !has_brackets {
            return self.product();
        }
        let body = self.power()?;
        match self.peek() {
            Some(Token::Times | Token::Slash | Token::Mod) => Err(Unread::NotMaths),
            Some(token) if self.starts_operand(token) => Err(Unread::NotMaths),
            Some(_) | None => Ok(body),
        }
    }

    /// Reads the derivative of `body`, of the given order, where the variable is itself.
    pub(super) fn derivative_of(
        &mut self,
        body: Expr,
        variable: &str,
        order: u8,
    ) -> ParseResult<Expr> {
        let symbol = self.ws.symbol(variable)?;
        let variable = self.ws.name(variable);
        self.bind(Bound {
            binder: Binder::Derivative(order),
            variable,
            from: Some(symbol),
            to: None,
            body,
        })
    }

    /// Returns the order at the end of `Derivative(f, (x, 2))`; 1 without one.
    pub(super) fn called_order(&self, ends: &[Expr]) -> ParseResult<u8> {
        let [end] = ends else {
            return if ends.is_empty() { Ok(1) } else { Err(Unread::NotMaths) };
        };
        let Node::Number(value) = self.ws.node(*end) else {
            return Err(Unread::NotMaths);
        };
        let whole = value.is_int().then(|| u8::try_from(value.numerator()).ok());
        let order = whole.flatten().filter(|order| (1..=MAX_ORDER).contains(order));
        order.ok_or(Unread::NotMaths)
    }
}

fn derivative_name<'a>(item: &Lexeme<'a>) -> Option<&'a str> {
    match item.token {
        Token::Name(name) => Some(name),
        _ => None,
    }
}

/// Returns the order after a caret, with what follows it.
fn order<'i, 'a>(items: &'i [Lexeme<'a>]) -> Option<(u8, &'i [Lexeme<'a>])> {
    let [caret, rest @ ..] = items else {
        return None;
    };
    let (digits, rest) = match rest {
        [open, digits, close, rest @ ..]
            if open.token == Token::Open(Bracket::Group)
                && close.token == Token::Close(Bracket::Group) =>
        {
            (digits, rest)
        }
        [digits, rest @ ..] => (digits, rest),
        [] => return None,
    };
    let Token::Number(literal) = digits.token else {
        return None;
    };
    let order: u8 = literal.whole.parse().ok().filter(|_| literal.is_digits())?;
    let is_order = caret.token == Token::Caret && (1..=MAX_ORDER).contains(&order);
    is_order.then_some((order, rest))
}

/// Refuses `\frac{d}{d…}` and `\frac{dy}{d…}`, which are no quotients.
fn refused(above: (usize, usize), below: (usize, usize)) -> ParseResult<Option<Expr>> {
    let length = |place: (usize, usize)| place.1 - place.0;
    if length(above) <= 2 && length(below) >= 2 { Err(Unread::NotMaths) } else { Ok(None) }
}

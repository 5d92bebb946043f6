//! Relations: assignments, equations, inequalities, membership.

use dashu::base::Abs as _;
use dashu::rational::RBig;

use crate::algebra;
use crate::answer::{Answer, AnswerForm, Chain, Note, Region, Relation, Subject, Unread};
use crate::expr::{Expr, Node, Workspace, children};
use crate::number;
use crate::read::parse::ParseResult;
use crate::read::token::{Bracket, Lexeme, Style, Token};

use super::region::{as_region, points};
use super::{AnswerReader, LexemeRange, answer_of};

/// The most tokens of the name of a quantity.
const MAX_NAME: usize = 24;

/// The subject of a quantity whose name is no expression.
const QUANTITY: &str = "quantity";

/// Words before a letter of which it is said where it lies.
const FILLERS: [&str; 10] =
    ["for", "all", "any", "every", "each", "an", "arbitrary", "some", "where", "with"];

/// Words that make the opposite of what they stand before.
const DENIALS: [&str; 5] = ["not", "no", "never", "without", "except"];

/// A token between two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Link {
    Relation(Relation),
    Approx,
}

impl AnswerReader<'_, '_, '_> {
    /// Reads an answer that is no list.
    pub(super) fn member(&mut self, span: LexemeRange) -> ParseResult<Answer> {
        let span = self.peeled(span);
        if self.has_top(&span, |token| matches!(token, Token::Congruent))
            && let Some(answer) = self.congruence(span.clone())?
        {
            return Ok(answer);
        }
        if let Some(at) = self.find_top(&span, |token| matches!(token, Token::In)) {
            return self.membership(span.start..at, at + 1..span.end);
        }
        if !self.has_top(&span, |token| matches!(token, Token::Relation(_) | Token::Approx)) {
            return Ok(answer_of(self.value(span)?));
        }
        let (links, mut parts) = self.sides(&span);
        let is_equality =
            |link: &Link| matches!(link, Link::Relation(Relation::Equal) | Link::Approx);
        if links.as_slice() == [Link::Relation(Relation::NotEqual)]
            && self.setting.plus_minus.is_none()
            && self.has(&parts[1], super::is_plus_minus)
        {
            return self.all_but_both(&parts[0], &parts[1]);
        }
        if !links.iter().all(is_equality) {
            let chain = self.chain_of(&links, &parts)?;
            return Ok(answer_of(AnswerForm::Inequality(chain)));
        }
        let mut links = links;
        if parts[0].is_empty() {
            parts.remove(0);
            links.remove(0);
        }
        self.equalities(&links, parts)
    }

    /// Returns the relations of `span`, and what stands between them.
    fn sides(&self, span: &LexemeRange) -> (Vec<Link>, Vec<LexemeRange>) {
        let mut links = Vec::new();
        let mut parts = Vec::new();
        let mut start = span.start;
        for at in self.tops(span) {
            let link = match self.token(at) {
                Token::Relation(relation) => Link::Relation(relation),
                Token::Approx => Link::Approx,
                _ => continue,
            };
            links.push(link);
            parts.push(start..at);
            start = at + 1;
        }
        parts.push(start..span.end);
        (links, parts)
    }

    /// Reads `x \ne \pm 2`: all numbers but two.
    fn all_but_both(&mut self, left: &LexemeRange, right: &LexemeRange) -> ParseResult<Answer> {
        let subject = self.subject(left)?.ok_or(Unread::NotMaths)?;
        let AnswerForm::List(both) = self.value(right.clone())? else {
            return Err(Unread::NotMaths);
        };
        let both = Box::new(Region::Points(points(both)?));
        let form = AnswerForm::Region(Region::Difference(Box::new(Region::Reals), both));
        Ok(Answer { subjects: vec![subject], ..answer_of(form) })
    }

    fn membership(&mut self, left: LexemeRange, right: LexemeRange) -> ParseResult<Answer> {
        // "an arbitrary k"
        let is_filler =
            |at: &usize| self.token(*at).word().is_some_and(|word| FILLERS.contains(&word));
        let start = left.clone().find(|at| !is_filler(at)).unwrap_or(left.start);
        let subject = self.subject(&(start..left.end))?.ok_or(Unread::NotMaths)?;
        let form = self.value(right)?;
        let form = as_region(form)?;
        Ok(Answer { subjects: vec![subject], ..answer_of(form) })
    }

    /// Reads the chain of relations that `span` states.
    pub(super) fn chain(&mut self, span: &LexemeRange) -> ParseResult<Chain> {
        let (links, parts) = self.sides(span);
        if links.is_empty() {
            return Err(Unread::NotMaths);
        }
        self.chain_of(&links, &parts)
    }

    fn chain_of(&mut self, links: &[Link], parts: &[LexemeRange]) -> ParseResult<Chain> {
        let first = self.side_of_chain(&parts[0])?;
        let mut rest = Vec::with_capacity(links.len());
        for (link, part) in links.iter().zip(&parts[1..]) {
            let Link::Relation(relation) = *link else {
                return Err(Unread::NotMaths);
            };
            rest.push((relation, self.side_of_chain(part)?));
        }
        Ok(Chain { first, rest })
    }

    /// Reads a side of a chain, which may be a percentage.
    fn side_of_chain(&mut self, part: &LexemeRange) -> ParseResult<Expr> {
        if part.is_empty() || self.token(part.end - 1) != Token::Percent {
            return self.expression(part);
        }
        match self.value(part.clone())? {
            AnswerForm::Value(value) if value.unit.is_none() => Ok(value.expr),
            _ => Err(Unread::NotMaths),
        }
    }

    /// Reads `x = …`, `a = b = 101`, `x = 1/3 ≈ 0.33`, `2x + y = 3`.
    fn equalities(&mut self, links: &[Link], mut parts: Vec<LexemeRange>) -> ParseResult<Answer> {
        if let Some(answer) = self.symmetric(links, &parts)? {
            return Ok(answer);
        }
        let mut subjects = Vec::new();
        for part in &parts[..parts.len() - 1] {
            match self.subject(part)? {
                Some(subject) => subjects.push(subject),
                None => break,
            }
        }
        if subjects.is_empty() && parts.len() > 1 {
            subjects.extend(self.named_quantity(&parts[0])?);
        }
        let exact = subjects.len();
        let approximate = links.iter().skip(exact).position(|link| *link == Link::Approx);
        if let Some(after) = approximate {
            if subjects.is_empty() && self.approximates_function(&parts[after..])? {
                // `\sin x \approx x - x^3/6` gives the polynomial.
                let last = parts[parts.len() - 1].clone();
                let subjects = vec![Subject::Text(QUANTITY.to_owned())];
                return Ok(Answer { subjects, ..answer_of(self.value(last)?) });
            }
            let approximations = parts.split_off(exact + after + 1);
            let before = self.unit_name(parts.last())?;
            let last = self.unit_name(approximations.last())?;
            // `350 K ≈ 170.33 °F` converts what was given.
            if subjects.is_empty() && before.is_some() && last.is_some() && before != last {
                parts = approximations;
            } else {
                self.notes.push(Note::ApproximationDropped);
            }
        }
        let rest = parts.split_off(exact);
        let form = match rest.as_slice() {
            [only] => self.value(only.clone())?,
            [left, right] if exact == 0 => return self.equation(left, right),
            [between @ .., last] => {
                if let Some(exact) = self.consistent(&rest)? {
                    self.notes.push(Note::ApproximationDropped);
                    let form = self.value(exact)?;
                    return Ok(Answer { subjects, ..answer_of(form) });
                }
                let mut is_equation = false;
                for part in between {
                    is_equation |= self.is_open_side(part, exact == 0)?;
                }
                self.notes.push(Note::ChainShortened);
                let form = self.value(last.clone())?;
                // `2x = y = 3` is no value.
                if is_equation && !self.is_result(&form) {
                    return Err(Unread::NotMaths);
                }
                form
            }
            [] => return Err(Unread::NotMaths),
        };
        Ok(Answer { subjects, ..answer_of(form) })
    }

    /// Returns whether the first of two sides or more is a function of the same variables as the last: a
    /// polynomial may approximate one.
    fn approximates_function(&mut self, sides: &[LexemeRange]) -> ParseResult<bool> {
        let (Some(first), Some(last)) = (sides.first(), sides.last()) else {
            return Ok(false);
        };
        let (Some(first), Some(last)) = (self.try_expression(first)?, self.try_expression(last)?)
        else {
            return Ok(false);
        };
        let own = algebra::variables(first, self.ws);
        Ok(!own.is_empty() && own == algebra::variables(last, self.ws))
    }

    /// Reads the symmetric equations of a line, `\frac{x-1}{2} = y = \frac{z}{3}`: terms in one
    /// coordinate each.
    fn symmetric(&mut self, links: &[Link], parts: &[LexemeRange]) -> ParseResult<Option<Answer>> {
        let is_plain = links.iter().all(|link| *link == Link::Relation(Relation::Equal));
        let is_lone = |part: &LexemeRange| part.len() == 1;
        if parts.len() != 3 || !is_plain || parts.iter().all(is_lone) {
            return Ok(None);
        }
        let mut names = Vec::with_capacity(parts.len());
        let mut sides = Vec::with_capacity(parts.len());
        for part in parts.iter().rev() {
            let Some(side) = self.try_expression(part)? else {
                return Ok(None);
            };
            match algebra::variables(side, self.ws).as_slice() {
                [only] if !names.contains(only) => names.push(*only),
                _ => return Ok(None),
            }
            sides.push(side);
        }
        let are_coordinates =
            names.iter().all(|name| matches!(self.ws.spelling(*name), "x" | "y" | "z"));
        let equation = |pair: &[Expr]| answer_of(AnswerForm::Equation(pair[1], pair[0]));
        let equations = sides.windows(2).map(equation).collect();
        Ok(are_coordinates.then(|| answer_of(AnswerForm::List(equations))))
    }

    /// Compares the decimal at the end of a chain with the number before it. Returns that one where the
    /// decimal rounds it.
    ///
    /// # Errors
    /// [`Unread::NotMaths`] if the decimal is another number: such a chain states nothing.
    fn consistent(&mut self, sides: &[LexemeRange]) -> ParseResult<Option<LexemeRange>> {
        let [.., before, last] = sides else {
            return Ok(None);
        };
        let is_decimal = |token| matches!(token, Token::Number(literal) if !literal.is_integer());
        if last.len() > 2 || !self.has(last, is_decimal) {
            return Ok(None);
        }
        let notes = self.notes.len();
        let mut values = Vec::with_capacity(2);
        for side in [before, last] {
            let Some(expr) = self.try_expression(side)? else {
                return Ok(None);
            };
            values.push(algebra::rational(expr, self.ws)?);
        }
        let last_digit = self.quantity(last.clone())?.last_digit;
        self.notes.truncate(notes);
        let (Some(exact), Some(decimal)) = (&values[0], &values[1]) else {
            return Ok(None);
        };
        if exact == decimal {
            return Ok(None);
        }
        let rounds = last_digit.is_some_and(|digit| is_rounded(exact, decimal, digit));
        if rounds { Ok(Some(before.clone())) } else { Err(Unread::NotMaths) }
    }

    /// Reads the left side of `P(X = 2) = 3/8` or `\det A = -2`: letters that name a quantity and
    /// hold what no expression does. `None` for an expression, a list, or words that deny.
    fn named_quantity(&mut self, span: &LexemeRange) -> ParseResult<Option<Subject>> {
        let is_name = |token| {
            matches!(
                token,
                Token::Word { .. }
                    | Token::Name(_)
                    | Token::Function(_)
                    | Token::Determinant
                    | Token::Fraction
            )
        };
        // `[F(x)]_0^4`
        let is_difference = |first: &Lexeme<'_>| {
            let end = first.mate + 1;
            first.token == Token::Open(Bracket::Square)
                && end < span.end
                && matches!(self.token(end), Token::Underscore | Token::Caret)
        };
        let first = self.slice(span).first();
        let opens = first.is_some_and(|item| is_name(item.token) || is_difference(item));
        let denies = |token: Token<'_>| {
            matches!(token, Token::Comma | Token::Semicolon | Token::Number(_))
                || token.word().is_some_and(|word| DENIALS.contains(&word))
        };
        // Words one after the other are a sentence.
        let is_word =
            |at: usize| matches!(self.token(at), Token::Word { text, .. } if text.len() > 1);
        let tops: Vec<usize> = self.tops(span).take(MAX_NAME).collect();
        let is_sentence = tops.windows(2).any(|pair| is_word(pair[0]) && is_word(pair[1]));
        let is_evaluated = first.is_some_and(is_difference);
        let is_denied = !is_evaluated && self.has_top(span, denies);
        let is_long = !is_evaluated && span.len() > MAX_NAME;
        if !opens || is_long || is_sentence || is_denied {
            return Ok(None);
        }
        // `f^{(n)}(x)` is a derivative, and no power.
        let is_derivative = matches!(self.slice(span),
            [name, caret, group, order, .., argument]
                if name.token.word().is_some_and(|name| name.len() == 1)
                    && caret.token == Token::Caret
                    && group.token == Token::Open(Bracket::Group)
                    && order.token == Token::Open(Bracket::Round)
                    && order.mate + 1 == group.mate
                    && argument.token == Token::Close(Bracket::Round)
                    && argument.mate == group.mate + 1);
        // `\mathcal L\{\cos 2t\}`
        if let [name, open, ..] = self.slice(span)
            && name.token.word().is_some_and(|name| name.len() == 1)
            && open.token == Token::Open(Bracket::Brace)
            && (open.mate + 1 == span.end
                || self.is_enclosed(&(open.mate + 1..span.end), Bracket::Round))
        {
            return Ok(Some(Subject::Text(QUANTITY.to_owned())));
        }
        // What can be computed is no mere name.
        if !is_derivative && self.try_expression(span)?.is_some() {
            return Ok(None);
        }
        Ok(Some(Subject::Text(QUANTITY.to_owned())))
    }

    /// Returns whether a side within a chain that names nothing first holds free variables. A lone
    /// variable there makes two equations of the chain.
    fn is_open_side(&mut self, span: &LexemeRange, is_nameless: bool) -> ParseResult<bool> {
        let Some(side) = self.try_expression(span)? else {
            if self.named_quantity(span)?.is_some() || self.has(span, super::is_set_operator) {
                return Ok(false);
            }
            // An amount with its unit, `30^\circ + 45^\circ`, a point, or what no grammar reads: the last
            // side must then be a closed value.
            let notes = self.notes.len();
            return match self.value(span.clone()) {
                Ok(form) => Ok(!self.is_closed_value(&form)),
                Err(Unread::NotMaths) if !self.has(span, |token| token == Token::Arrow) => {
                    self.notes.truncate(notes);
                    Ok(true)
                }
                Err(error) => Err(error),
            };
        };
        if is_nameless && matches!(self.ws.node(side), Node::Symbol(_)) {
            return Err(Unread::NotMaths);
        }
        Ok(is_nameless && !is_constant(side, self.ws))
    }

    fn is_closed_value(&self, form: &AnswerForm) -> bool {
        matches!(form, AnswerForm::Value(value) if is_constant(value.expr, self.ws))
    }

    /// Returns the name of the unit of a side that is an amount.
    ///
    /// # Errors
    /// [`Unread::NotMaths`] if the side is no answer.
    fn unit_name(&mut self, side: Option<&LexemeRange>) -> ParseResult<Option<String>> {
        let Some(side) = side else {
            return Ok(None);
        };
        Ok(match self.value(side.clone())? {
            AnswerForm::Value(value) => value.unit.map(|unit| unit.name),
            _ => None,
        })
    }

    /// Returns whether a form ends a chain as its result, whatever stands before it.
    fn is_result(&self, form: &AnswerForm) -> bool {
        self.is_closed_value(form)
            || matches!(
                form,
                AnswerForm::Matrix(_)
                    | AnswerForm::Tuple(..)
                    | AnswerForm::Set(_)
                    | AnswerForm::Piecewise(_)
            )
    }

    /// Reads `left = right` where the left side is no subject.
    fn equation(&mut self, left: &LexemeRange, right: &LexemeRange) -> ParseResult<Answer> {
        // Where units stand on the right, those on the left are no variables either.
        let is_unit = |token: Token<'_>| matches!(token, Token::Word { text, style } if style == Style::Upright || text.len() > 1);
        if self.has(right, is_unit)
            && matches!(self.value(right.clone())?, AnswerForm::Value(value) if value.unit.is_some())
            && let Ok(answer) = self.computed(left, right)
        {
            return Ok(answer);
        }
        let Some(left_expr) = self.try_expression(left)? else {
            return self.computed(left, right);
        };
        if is_constant(left_expr, self.ws) {
            // `5 = x`; but what a limit or a sum is, stands behind it: `\lim … = e`.
            let is_computed = matches!(self.ws.node(left_expr), Node::Bound(_));
            let subject = if is_computed { None } else { self.subject(right)? };
            if let Some(subject) = subject {
                let form = self.value(left.clone())?;
                return Ok(Answer { subjects: vec![subject], ..answer_of(form) });
            }
            if let Some(right_expr) = self.try_expression(right)?
                && !is_constant(right_expr, self.ws)
                && !is_computed
            {
                return Ok(answer_of(AnswerForm::Equation(left_expr, right_expr)));
            }
            self.notes.push(Note::ChainShortened);
            return Ok(answer_of(self.value(right.clone())?));
        }
        if let Some(right_expr) = self.try_expression(right)? {
            return Ok(answer_of(AnswerForm::Equation(left_expr, right_expr)));
        }
        // `A^{-1} = \begin{pmatrix}…`, `v_1 + v_2 = 5\text{ m/s}`.
        let form = self.value(right.clone())?;
        if !self.is_result(&form) || matches!(self.token(left.start), Token::Number(_)) {
            return Err(Unread::NotMaths);
        }
        Ok(Answer { subjects: vec![Subject::Text(QUANTITY.to_owned())], ..answer_of(form) })
    }

    /// Reads `25 \text{ m} \times 25 \text{ m} = 625 \text{ m}^2`: amounts and what they make.
    fn computed(&mut self, left: &LexemeRange, right: &LexemeRange) -> ParseResult<Answer> {
        let mut operands = Vec::new();
        let mut start = left.start;
        for at in self.tops(left) {
            let is_operator = match self.token(at) {
                Token::Plus | Token::Minus | Token::Times => true,
                // The slash of `km/h` is one of a unit.
                Token::Slash => {
                    let next = (at + 1 < left.end).then(|| self.token(at + 1));
                    !matches!(next, Some(Token::Word { .. }))
                }
                _ => false,
            };
            if is_operator {
                operands.push(start..at);
                start = at + 1;
            }
        }
        operands.push(start..left.end);
        for operand in operands {
            let form = self.value(operand)?;
            if !self.is_closed_value(&form) && !matches!(form, AnswerForm::Numeral(_)) {
                return Err(Unread::NotMaths);
            }
        }
        self.notes.push(Note::ChainShortened);
        Ok(answer_of(self.value(right.clone())?))
    }

    /// Reads the only subject of `answer`, if it is nothing else.
    pub(super) fn symbol(&mut self, span: &LexemeRange) -> ParseResult<Expr> {
        match self.subject(span)? {
            Some(Subject::Expr(expr)) => Ok(expr),
            Some(Subject::Several(_) | Subject::Text(_)) | None => Err(Unread::NotMaths),
        }
    }
}

/// Returns whether `rounded`, whose last digit has this power of ten, is as near to `exact` as such
/// a number can be.
fn is_rounded(exact: &RBig, rounded: &RBig, last_digit: i32) -> bool {
    /// Decimals with more digits are no roundings.
    const MAX_DIGITS: i32 = 20;
    let distance = (exact - rounded).abs() * RBig::from(2u8);
    (-MAX_DIGITS..0).contains(&last_digit) && distance <= number::power_of_ten(last_digit)
}

/// Returns whether `expr` holds no free variables and no unknown functions.
fn is_constant(expr: Expr, ws: &Workspace<'_>) -> bool {
    let node = ws.node(expr);
    match node {
        Node::Symbol(_) | Node::Apply(..) => false,
        Node::Bound(_) => algebra::variables(expr, ws).is_empty(),
        Node::Number(_)
        | Node::Constant(_)
        | Node::Sum(_)
        | Node::Product(_)
        | Node::Power(..)
        | Node::Call(..) => children(node).into_iter().all(|child| is_constant(child, ws)),
    }
}

//! Whether two answers are of one type, whatever their values are.

use dashu::rational::RBig;

use crate::algebra;
use crate::answer::{Answer, AnswerForm, Subject};
use crate::expr::{Expr, Name, Node, Workspace};
use crate::fuel::Exhausted;

use super::{declared, text_compare, unit, vector};

/// What a text must be read as to answer like a gold answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Amount,
    Ratio,
    Equation,
    Region,
    Several,
    Point,
    Matrix,
    Congruence,
    Calendar,
    Truth,
    /// Words that affirm or deny.
    Verdict,
    Words,
    Sequence,
}

impl Answer {
    /// Returns whether the answer is a quotient of integers.
    ///
    /// # Errors
    /// [`Exhausted`] when the fuel ran out.
    pub fn is_rational(&self, ws: &mut Workspace<'_>) -> Result<bool, Exhausted> {
        let AnswerForm::Value(value) = &self.form else {
            return Ok(false);
        };
        Ok(algebra::rational(value.expr, ws)?.is_some())
    }

    /// Returns whether the answer is an expression in variables.
    pub fn is_open(&self, ws: &Workspace<'_>) -> bool {
        matches!(&self.form, AnswerForm::Value(value)
            if !algebra::variables(value.expr, ws).is_empty())
    }
}

fn kind(form: &AnswerForm) -> Kind {
    match form {
        AnswerForm::Value(_) | AnswerForm::Numeral(_) | AnswerForm::Piecewise(_) => Kind::Amount,
        AnswerForm::Ratio(_) => Kind::Ratio,
        AnswerForm::Equation(..) => Kind::Equation,
        AnswerForm::Inequality(_) | AnswerForm::Region(_) => Kind::Region,
        AnswerForm::Set(_) | AnswerForm::List(_) => Kind::Several,
        AnswerForm::Tuple(..) => Kind::Point,
        AnswerForm::Matrix(_) => Kind::Matrix,
        AnswerForm::Congruence { .. } => Kind::Congruence,
        AnswerForm::Date(_) | AnswerForm::Clock(_) => Kind::Calendar,
        AnswerForm::Truth(_) => Kind::Truth,
        AnswerForm::Text(text) if text_compare::truth(text).is_some() => Kind::Verdict,
        AnswerForm::Text(_) => Kind::Words,
        AnswerForm::Sequence(_) => Kind::Sequence,
    }
}

/// Returns whether a candidate is of the gold answer's type. Only the types count, so that the
/// choice among the readings of a text does not depend on the gold answer's value.
///
/// A pair in brackets is a point and an interval, and a list whose members are named is a point.
pub fn are_alike(gold: &Answer, candidate: &Answer, ws: &Workspace<'_>) -> bool {
    // `y = Ce^x, C \in \mathbb{R}` states one thing.
    let stated = |answer: &'_ Answer| -> Option<Answer> {
        let AnswerForm::List(members) = &answer.form else {
            return None;
        };
        declared::only_stated(ws, members).cloned()
    };
    let (own, other) = (stated(gold), stated(candidate));
    if (own.is_some() || other.is_some())
        && are_alike(own.as_ref().unwrap_or(gold), other.as_ref().unwrap_or(candidate), ws)
    {
        return true;
    }
    let is_pair = |answer: &Answer| matches!(&answer.form, AnswerForm::Tuple(_, members) if members.len() == 2);
    let is_list_of = |answer: &Answer, is_such: fn(&Answer) -> bool| {
        if let AnswerForm::List(members) = &answer.form {
            !members.is_empty() && members.iter().all(is_such)
        } else {
            false
        }
    };
    let is_named = |answer: &Answer| is_list_of(answer, |member| !member.subjects.is_empty());
    let are_amounts =
        |answer: &Answer| is_list_of(answer, |member| kind(&member.form) == Kind::Amount);
    let (own, other) = (kind(&gold.form), kind(&candidate.form));
    match (own, other) {
        (Kind::Region, Kind::Point) => is_pair(candidate),
        (Kind::Point, Kind::Region) => is_pair(gold),
        // Several amounts where one is wanted are several answers.
        (Kind::Amount, Kind::Several) => {
            are_amounts(candidate) && !name_several(candidate) && may_hold(gold, candidate, ws)
        }
        // "on $(-\infty,-1)$ and $(1,\infty)$"
        (Kind::Region, Kind::Several) => is_list_of(candidate, |member| {
            matches!(&member.form, AnswerForm::Tuple(_, ends) if ends.len() == 2)
                || kind(&member.form) == Kind::Region
        }),
        // `0.6 < 2/3 < 0.7` lists numbers in their order.
        (Kind::Several, Kind::Region) => is_order_of_numbers(candidate, ws),
        (Kind::Point, Kind::Several) => is_named(candidate),
        // `4i + 4j + 2k`
        (Kind::Point, Kind::Amount) => {
            let is_vector = matches!(&candidate.form, AnswerForm::Value(value) if vector::holds_basis(value, ws));
            candidate.subjects.len() > 1 || is_vector
        }
        (Kind::Several, Kind::Point) => {
            is_list_of(gold, |member| matches!(member.subjects.first(), Some(Subject::Expr(_))))
        }
        // `n = 3k, k \in \mathbb{Z}` are the multiples of 3.
        (Kind::Several, Kind::Congruence) => is_family(gold, ws),
        (Kind::Congruence, Kind::Several) => is_family(candidate, ws),
        (Kind::Truth | Kind::Words, Kind::Verdict)
        | (Kind::Verdict, Kind::Words)
        | (Kind::Calendar, Kind::Ratio)
        | (Kind::Ratio, Kind::Calendar) => true,
        (Kind::Equation, Kind::Amount) => !candidate.subjects.is_empty(),
        // "1 weber" names a unit.
        (Kind::Words, Kind::Amount) => unit::is_named(&gold.form) && unit::is_one(candidate, ws),
        // `y = 2x + 1` is the equation of a line.
        (Kind::Amount, Kind::Equation) => {
            // `\int … = F + C` gives an antiderivative.
            let is_integral = matches!(candidate.form, AnswerForm::Equation(left, _)
                if matches!(ws.node(left), Node::Bound(_)));
            // `x^2 - 5x + 6 = (x - 2)(x - 3)` may compute its right side.
            let own = variables_of(gold, ws);
            let may_compute = matches!(candidate.form, AnswerForm::Equation(left, right)
                if algebra::variables(left, ws) == own && algebra::variables(right, ws) == own);
            gold.is_open(ws) && (gold.is_named() || is_integral || may_compute)
        }
        // "48.04 to 51.96"
        // A formula in variables is no number.
        (Kind::Amount, Kind::Amount) => {
            let are_values = gold.is_value() && candidate.is_value();
            !are_values || gold.is_open(ws) == candidate.is_open(ws)
        }
        (Kind::Region | Kind::Ratio, Kind::Words) => text_compare::range(candidate).is_some(),
        (Kind::Point, Kind::Words) => is_pair(gold) && text_compare::range(candidate).is_some(),
        (own, other) => own == other,
    }
}

/// Returns whether a list may hold a gold value: one in variables is in no list of numbers.
fn may_hold(gold: &Answer, candidate: &Answer, ws: &Workspace<'_>) -> bool {
    let is_open = |member: &Answer| !member.is_value() || member.is_open(ws);
    !gold.is_open(ws)
        || matches!(&candidate.form, AnswerForm::List(members) if members.iter().any(is_open))
}

/// Returns whether both answers are amounts in units of one dimension, things that are counted aside: minutes and
/// hours, but not minutes and metres. `None` where the gold answer is no such amount.
pub fn have_one_dimension(gold: &Answer, candidate: &Answer) -> Option<bool> {
    let dimension = |answer: &Answer| {
        let AnswerForm::Value(value) = &answer.form else {
            return None;
        };
        let unit = value.unit.as_ref()?;
        (unit.things.is_empty() && unit.of.is_none()).then_some(unit.dimension)
    };
    let own = dimension(gold)?;
    Some(dimension(candidate) == Some(own))
}

/// Returns whether a list gives a family of integers, `n = 3k, k \in \mathbb{Z}`.
fn is_family(answer: &Answer, ws: &Workspace<'_>) -> bool {
    let is_integers = |member: &Answer| matches!(&member.form, AnswerForm::Region(region) if declared::counts(region, ws));
    matches!(&answer.form, AnswerForm::List(members) if members.iter().any(is_integers))
}

fn variables_of(answer: &Answer, ws: &Workspace<'_>) -> Vec<Name> {
    if let AnswerForm::Value(value) = &answer.form {
        algebra::variables(value.expr, ws)
    } else {
        Vec::new()
    }
}

/// Returns whether an answer states the order of three numbers or more.
fn is_order_of_numbers(answer: &Answer, ws: &Workspace<'_>) -> bool {
    let AnswerForm::Inequality(chain) = &answer.form else {
        return false;
    };
    let mut sides = std::iter::once(chain.first).chain(chain.rest.iter().map(|(_, side)| *side));
    chain.rest.len() > 1 && sides.all(|side| algebra::variables(side, ws).is_empty())
}

/// Returns whether the members of a list are values of several letters: `a = 5, b = 12`.
fn name_several(answer: &Answer) -> bool {
    let AnswerForm::List(members) = &answer.form else {
        return false;
    };
    let first = members.first().map(|member| &member.subjects);
    members.iter().all(|member| !member.subjects.is_empty())
        && members.iter().any(|member| Some(&member.subjects) != first)
}

/// Returns whether both answers name one thing by one letter: `y = 2x` and `y(x) = 3x`.
pub fn have_one_name(gold: &Answer, candidate: &Answer, ws: &Workspace<'_>) -> bool {
    let letter = |answer: &Answer| match answer.subjects.first() {
        Some(Subject::Expr(subject)) => match ws.node(*subject) {
            Node::Symbol(name) | Node::Apply(name, _) => Some(*name),
            Node::Number(_)
            | Node::Constant(_)
            | Node::Sum(_)
            | Node::Product(_)
            | Node::Power(..)
            | Node::Call(..)
            | Node::Bound(_) => None,
        },
        Some(Subject::Several(_) | Subject::Text(_)) | None => None,
    };
    letter(gold).is_some_and(|own| letter(candidate) == Some(own))
}

/// Returns whether an equation with `left` and a number says what its variables may be: a polynomial
/// in one variable, or a linear form with coefficients. `x + 1/x` and `a^2 + b^2` are quantities.
pub(super) fn is_condition(left: Expr, ws: &Workspace<'_>) -> bool {
    let variables = algebra::variables(left, ws).len();
    let terms = match ws.node(left) {
        Node::Sum(terms) => terms.to_vec(),
        Node::Number(_)
        | Node::Symbol(_)
        | Node::Constant(_)
        | Node::Product(_)
        | Node::Power(..)
        | Node::Call(..)
        | Node::Apply(..)
        | Node::Bound(_) => vec![left],
    };
    let is_multiple = |term: &Expr| match ws.node(*term) {
        Node::Product(factors) => matches!(factors.as_ref(), [number, symbol]
                if matches!(ws.node(*number), Node::Number(_))
                    && matches!(ws.node(*symbol), Node::Symbol(_))),
        Node::Number(_)
        | Node::Symbol(_)
        | Node::Constant(_)
        | Node::Sum(_)
        | Node::Power(..)
        | Node::Call(..)
        | Node::Apply(..)
        | Node::Bound(_) => false,
    };
    match variables {
        0 => false,
        1 => is_polynomial(left, ws),
        _ => {
            terms.iter().all(|term| is_linear(*term, ws) || is_multiple(term))
                && terms.iter().any(|term| is_multiple(term) && !is_negative(*term, ws))
        }
    }
}

fn is_linear(expr: Expr, ws: &Workspace<'_>) -> bool {
    matches!(ws.node(expr), Node::Number(_) | Node::Symbol(_))
}

/// Returns whether `expr` is -1 times something.
fn is_negative(expr: Expr, ws: &Workspace<'_>) -> bool {
    let minus_one = RBig::NEG_ONE;
    matches!(ws.node(expr), Node::Product(factors)
        if matches!(ws.node(factors[0]), Node::Number(value) if *value == minus_one))
}

/// Recurses to the depth of the expression, which is bounded.
fn is_polynomial(expr: Expr, ws: &Workspace<'_>) -> bool {
    match ws.node(expr) {
        Node::Number(_) | Node::Constant(_) | Node::Symbol(_) => true,
        Node::Sum(parts) | Node::Product(parts) => {
            parts.iter().all(|part| is_polynomial(*part, ws))
        }
        Node::Power(base, exponent) => {
            let is_natural =
                matches!(ws.node(*exponent), Node::Number(n) if n.is_int() && *n >= RBig::ZERO);
            is_natural && is_polynomial(*base, ws)
        }
        Node::Call(..) | Node::Apply(..) | Node::Bound(_) => false,
    }
}

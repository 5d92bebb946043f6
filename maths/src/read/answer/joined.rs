//! Conditions on one variable that "or", "and" and commas join: a set of numbers.

use crate::algebra;
use crate::answer::{Answer, AnswerForm, Chain, Region, Subject};
use crate::expr::{Expr, Node};
use crate::read::parse::ParseResult;

use super::region::{is_and, is_or};
use super::{AnswerReader, LexemeRange, answer_of};

impl AnswerReader<'_, '_, '_> {
    /// Returns `list`, which `span` states, as a set of numbers if its members are conditions on one
    /// variable, at least one of them more than an equation: `x < -2 \text{ or } x > 3`.
    pub(super) fn joined(&mut self, list: Answer, span: &LexemeRange) -> ParseResult<Answer> {
        let AnswerForm::List(members) = &list.form else {
            return Ok(list);
        };
        let is_proper = |member: &Answer| {
            matches!(member.form, AnswerForm::Inequality(_) | AnswerForm::Region(_))
        };
        if !members.iter().any(is_proper) {
            return Ok(list);
        }
        if let Some(value) = self.without_domain(members) {
            return Ok(value);
        }
        let says = |word: &str| {
            self.has_top(span, |token| token.word().is_some_and(|w| w.eq_ignore_ascii_case(word)))
        };
        let is_either = says("or") || self.has_top(span, is_or);
        let is_both = says("and") || self.has_top(span, is_and);
        if is_either && is_both {
            return Ok(list);
        }
        let mut variable = None;
        let mut parts = Vec::with_capacity(members.len());
        for member in members {
            let Some((own, part)) = self.condition_on_one(member)? else {
                return Ok(list);
            };
            if *variable.get_or_insert(own) != own {
                return Ok(list);
            }
            parts.push(part);
        }
        let Some(variable) = variable else {
            return Ok(list);
        };
        let region = if is_either {
            Region::Union(parts)
        } else if is_both {
            Region::Intersection(parts)
        } else {
            Region::Joined(parts)
        };
        let subjects = vec![Subject::Expr(variable)];
        Ok(Answer { subjects, ..answer_of(AnswerForm::Region(region)) })
    }

    /// Returns the value of `f(x) = 1/x, x \neq 0`: what is said of its variables leaves it as it is.
    fn without_domain(&self, members: &[Answer]) -> Option<Answer> {
        let [first, rest @ ..] = members else {
            return None;
        };
        let own = match &first.form {
            AnswerForm::Value(value) => algebra::variables(value.expr, self.ws),
            // `1/(1-x) = \sum x^n, |x| < 1`
            AnswerForm::Equation(left, right) => {
                let own = algebra::variables(*left, self.ws);
                (own == algebra::variables(*right, self.ws)).then_some(own)?
            }
            _ => return None,
        };
        let says_of_own = |member: &Answer| {
            let AnswerForm::Inequality(chain) = &member.form else {
                return false;
            };
            let sides =
                std::iter::once(chain.first).chain(chain.rest.iter().map(|(_, side)| *side));
            sides.flat_map(|side| algebra::variables(side, self.ws)).all(|name| own.contains(&name))
        };
        (!own.is_empty() && rest.iter().all(says_of_own)).then(|| first.clone())
    }

    /// Returns the only variable that a member speaks of, and the numbers that it allows.
    fn condition_on_one(&mut self, member: &Answer) -> ParseResult<Option<(Expr, Region)>> {
        let subject = match member.subjects.as_slice() {
            [Subject::Expr(expr)] if matches!(self.ws.node(*expr), Node::Symbol(_)) => Some(*expr),
            _ => None,
        };
        Ok(match (&member.form, subject) {
            (AnswerForm::Inequality(chain), None) => {
                let variable = self.only_variable(chain)?;
                variable.map(|variable| (variable, Region::Where(variable, vec![chain.clone()])))
            }
            (AnswerForm::Region(region), Some(subject)) => Some((subject, region.clone())),
            (AnswerForm::Value(value), Some(subject)) if value.unit.is_none() => {
                let is_closed = self.ws.is_closed(value.expr)?;
                is_closed.then(|| (subject, Region::Points(vec![value.expr])))
            }
            _ => None,
        })
    }

    fn only_variable(&mut self, chain: &Chain) -> ParseResult<Option<Expr>> {
        let mut only = None;
        for side in std::iter::once(chain.first).chain(chain.rest.iter().map(|(_, side)| *side)) {
            if self.ws.any(side, &mut |node| matches!(node, Node::Apply(..)))? {
                return Ok(None);
            }
            for name in algebra::variables(side, self.ws) {
                if *only.get_or_insert(name) != name {
                    return Ok(None);
                }
            }
        }
        Ok(only.map(|name| self.ws.intern(Node::Symbol(name))).transpose()?)
    }
}

//! Relations: assignments, equations, inequalities, membership.

use crate::answer::{Answer, AnswerForm, Chain, Note, Relation, Subject, Unread};
use crate::expr::{Expr, Node, Workspace, children};
use crate::read::parse::ParseResult;
use crate::read::token::Token;

use super::region::as_region;
use super::{AnswerReader, LexemeRange, answer_of};

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
        if let Some(at) = self.find_top(&span, |token| token == Token::In) {
            return self.membership(span.start..at, at + 1..span.end);
        }
        let (links, mut parts) = self.sides(&span);
        if links.is_empty() {
            return Ok(answer_of(self.value(span)?));
        }
        let is_equality =
            |link: &Link| matches!(link, Link::Relation(Relation::Equal) | Link::Approx);
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

    fn membership(&mut self, left: LexemeRange, right: LexemeRange) -> ParseResult<Answer> {
        let subject = self.subject(&left)?.ok_or(Unread::NotMaths)?;
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
        let first = self.expression(&parts[0])?;
        let mut rest = Vec::with_capacity(links.len());
        for (link, part) in links.iter().zip(&parts[1..]) {
            let Link::Relation(relation) = *link else {
                return Err(Unread::NotMaths);
            };
            rest.push((relation, self.expression(part)?));
        }
        Ok(Chain { first, rest })
    }

    /// Reads `x = …`, `a = b = 101`, `x = 1/3 ≈ 0.33`, `2x + y = 3`.
    fn equalities(&mut self, links: &[Link], mut parts: Vec<LexemeRange>) -> ParseResult<Answer> {
        let mut subjects = Vec::new();
        for part in &parts[..parts.len() - 1] {
            match self.subject(part)? {
                Some(subject) => subjects.push(subject),
                None => break,
            }
        }
        let exact = subjects.len();
        let approximate = links.iter().skip(exact).position(|link| *link == Link::Approx);
        if let Some(after) = approximate {
            for part in parts.split_off(exact + after + 1) {
                self.value(part)?;
            }
            self.notes.push(Note::ApproximationDropped);
        }
        let rest = parts.split_off(exact);
        let form = match rest.as_slice() {
            [only] => self.value(only.clone())?,
            [left, right] if exact == 0 => return self.equation(left, right),
            [between @ .., last] => {
                for part in between {
                    let side = self.expression(part)?;
                    // `2x = y = 3` is no value.
                    if exact == 0 && !is_constant(side, self.ws) {
                        return Err(Unread::NotMaths);
                    }
                }
                self.notes.push(Note::ChainShortened);
                self.value(last.clone())?
            }
            [] => return Err(Unread::NotMaths),
        };
        Ok(Answer { subjects, ..answer_of(form) })
    }

    /// Reads `left = right` where the left side is no subject.
    fn equation(&mut self, left: &LexemeRange, right: &LexemeRange) -> ParseResult<Answer> {
        let left_expr = self.expression(left)?;
        if is_constant(left_expr, self.ws) {
            // `5 = x`.
            if let Some(subject) = self.subject(right)? {
                let form = self.value(left.clone())?;
                return Ok(Answer { subjects: vec![subject], ..answer_of(form) });
            }
            if let Some(right_expr) = self.try_expression(right)?
                && !is_constant(right_expr, self.ws)
            {
                return Ok(answer_of(AnswerForm::Equation(left_expr, right_expr)));
            }
            self.notes.push(Note::ChainShortened);
            return Ok(answer_of(self.value(right.clone())?));
        }
        let right_expr: Expr = self.expression(right)?;
        Ok(answer_of(AnswerForm::Equation(left_expr, right_expr)))
    }

    /// Reads the only subject of `answer`, if it is nothing else.
    pub(super) fn symbol(&mut self, span: &LexemeRange) -> ParseResult<Expr> {
        match self.subject(span)? {
            Some(Subject::Expr(expr)) => Ok(expr),
            Some(Subject::Several(_) | Subject::Text(_)) | None => Err(Unread::NotMaths),
        }
    }
}

/// Returns whether `expr` holds no variables and no unknown functions.
fn is_constant(expr: Expr, ws: &Workspace<'_>) -> bool {
    let node = ws.node(expr);
    !matches!(node, Node::Symbol(_) | Node::Apply(..))
        && children(node).into_iter().all(|child| is_constant(child, ws))
}

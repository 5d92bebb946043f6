//! Answers that `SymPy` writes as calls: `Eq(a, b)`, `Interval.open(0, 1)`, `Matrix([[1, 2]])`.

use crate::answer::{AnswerForm, Chain, Region, Relation, Unread};
use crate::read::names;
use crate::read::parse::ParseResult;
use crate::read::token::{Bracket, Style, Token};

use super::environment::rectangular;
use super::region::{as_region, inside, points};
use super::{AnswerReader, LexemeRange};

impl AnswerReader<'_, '_, '_> {
    /// Reads the form that a call or a name of the plain grammar states, if `span` is one.
    pub(super) fn plain_call(&mut self, span: &LexemeRange) -> ParseResult<Option<AnswerForm>> {
        // There may be nothing between two operators.
        let first = self.slice(span).first().map(|item| item.token);
        let Some(Token::Word { text, style: Style::Plain }) = first else {
            return Ok(None);
        };
        if span.len() == 1 {
            let named = names::number_domain(text).map(super::region::named_region);
            return Ok(named.map(AnswerForm::Region));
        }
        let inner = span.start + 1..span.end;
        if !self.is_enclosed(&inner, Bracket::Round) {
            return Ok(None);
        }
        let inner = inside(&inner);
        let parts = self.split(&inner, |token| token == Token::Comma);
        self.called(text, &inner, &parts)
    }

    fn called(
        &mut self,
        name: &str,
        inner: &LexemeRange,
        parts: &[LexemeRange],
    ) -> ParseResult<Option<AnswerForm>> {
        let form = match name {
            "Eq" | "Ne" | "Lt" | "Le" | "Gt" | "Ge" => self.related(name, parts)?,
            "Interval" | "Interval.open" | "Interval.Lopen" | "Interval.Ropen" => {
                let (from, to) = two(parts)?;
                AnswerForm::Region(Region::Interval {
                    from: self.expression(&from)?,
                    to: self.expression(&to)?,
                    has_from: matches!(name, "Interval" | "Interval.Ropen"),
                    has_to: matches!(name, "Interval" | "Interval.Lopen"),
                })
            }
            "FiniteSet" => {
                let members: ParseResult<Vec<_>> =
                    parts.iter().map(|part| self.member(part.clone())).collect();
                AnswerForm::Set(members?)
            }
            "Union" => AnswerForm::Region(Region::Union(self.regions(parts)?)),
            "Intersection" => AnswerForm::Region(Region::Intersection(self.regions(parts)?)),
            "Complement" => {
                let (from, without) = two(parts)?;
                let from = self.sympy_region(from)?;
                let without = self.sympy_region(without)?;
                AnswerForm::Region(Region::Difference(Box::new(from), Box::new(without)))
            }
            "Matrix" | "ImmutableMatrix" => self.plain_matrix(inner)?,
            "Piecewise" => self.plain_piecewise(parts)?,
            _ => return Ok(None),
        };
        Ok(Some(form))
    }

    fn related(&mut self, name: &str, parts: &[LexemeRange]) -> ParseResult<AnswerForm> {
        let (left, right) = two(parts)?;
        let relation = match name {
            "Ne" => Relation::NotEqual,
            "Lt" => Relation::Less,
            "Le" => Relation::LessOrEqual,
            "Gt" => Relation::Greater,
            "Ge" => Relation::GreaterOrEqual,
            _ => return self.equation_form(&left, &right),
        };
        Ok(AnswerForm::Inequality(Chain {
            first: self.expression(&left)?,
            rest: vec![(relation, self.expression(&right)?)],
        }))
    }

    fn equation_form(
        &mut self,
        left: &LexemeRange,
        right: &LexemeRange,
    ) -> ParseResult<AnswerForm> {
        if let Some(value) = self.try_expression(right)? {
            return Ok(AnswerForm::Equation(self.expression(left)?, value));
        }
        // `Eq(k, {1, 2})` defines k.
        self.expression(left)?;
        self.value(right.clone())
    }

    fn regions(&mut self, parts: &[LexemeRange]) -> ParseResult<Vec<Region>> {
        parts.iter().map(|part| self.sympy_region(part.clone())).collect()
    }

    fn sympy_region(&mut self, span: LexemeRange) -> ParseResult<Region> {
        let form = self.value(span)?;
        match as_region(form)? {
            AnswerForm::Region(region) => Ok(region),
            AnswerForm::Set(members) => points(members).map(Region::Points),
            _ => Err(Unread::NotMaths),
        }
    }

    /// Reads `[[1, 2], [3, 4]]`.
    pub(super) fn plain_matrix(&mut self, inner: &LexemeRange) -> ParseResult<AnswerForm> {
        if !self.is_enclosed(inner, Bracket::Square) {
            return Err(Unread::NotMaths);
        }
        let mut rows = Vec::new();
        for row in self.split(&inside(inner), |token| token == Token::Comma) {
            let cells = if self.is_enclosed(&row, Bracket::Square) {
                self.split(&inside(&row), |token| token == Token::Comma)
            } else {
                vec![row]
            };
            let cells: ParseResult<Vec<_>> =
                cells.iter().map(|cell| self.expression(cell)).collect();
            rows.push(cells?);
        }
        rectangular(rows)
    }

    /// Reads `Piecewise((x, x > 0), (-x, True))`.
    fn plain_piecewise(&mut self, parts: &[LexemeRange]) -> ParseResult<AnswerForm> {
        let mut pieces = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            if !self.is_enclosed(part, Bracket::Round) {
                return Err(Unread::NotMaths);
            }
            let inner = inside(part);
            let cells = self.split(&inner, |token| token == Token::Comma);
            let (value, condition) = two(&cells)?;
            let value = self.expression(&value)?;
            let is_rest =
                condition.len() == 1 && self.token(condition.start).word() == Some("True");
            if is_rest && index + 1 == parts.len() {
                pieces.push((value, None));
            } else {
                let condition = self.condition(&condition)?;
                pieces.push((value, Some(condition)));
            }
        }
        Ok(AnswerForm::Piecewise(pieces))
    }
}

/// Returns the only two of `parts`.
fn two(parts: &[LexemeRange]) -> ParseResult<(LexemeRange, LexemeRange)> {
    match parts {
        [left, right] => Ok((left.clone(), right.clone())),
        _ => Err(Unread::NotMaths),
    }
}

//! Answers in one pair of brackets: tuples, intervals, sets.

use crate::answer::{Answer, AnswerForm, Brackets, Note, Region, Unread};
use crate::read::Dialect;
use crate::read::parse::ParseResult;
use crate::read::token::{Bracket, Environment, Token};

use super::region::inside;
use super::{AnswerReader, LexemeRange, answer_of, bare_value, is_plus_minus, is_separator};

impl AnswerReader<'_, '_, '_> {
    /// Reads the form of `span`, which `bracket` and its partner enclose; `None` if it is an
    /// expression like others.
    pub(super) fn enclosed(
        &mut self,
        span: &LexemeRange,
        bracket: Bracket,
    ) -> ParseResult<Option<AnswerForm>> {
        let inner = inside(span);
        let Token::Close(closing) = self.token(span.end - 1) else {
            return Err(Unread::NotMaths);
        };
        let has_several = self.has_top(&inner, is_separator);
        if bracket == Bracket::Round
            && closing == bracket
            && !has_several
            && let Some(members) = self.barred(&inner)?
        {
            return Ok(Some(AnswerForm::Tuple(Brackets::Round, members)));
        }
        match bracket {
            Bracket::Environment(Environment::Matrix) => self.matrix(&inner).map(Some),
            Bracket::Environment(Environment::Determinant) => {
                let value = bare_value(self.determinant_of(&inner)?);
                Ok(Some(AnswerForm::Value(value)))
            }
            Bracket::Environment(Environment::Cases) => match self.system(&inner)? {
                Some(members) => Ok(Some(AnswerForm::List(members))),
                None => self.cases(&inner).map(Some),
            },
            Bracket::Brace => self.set(&inner).map(Some),
            Bracket::Group if has_several || self.setting.dialect == Dialect::Plain => {
                self.set(&inner).map(Some)
            }
            Bracket::Round | Bracket::Square | Bracket::Reversed if has_several => {
                self.tuple(span, (bracket, closing)).map(Some)
            }
            Bracket::Angle => self.tuple(span, (bracket, closing)).map(Some),
            Bracket::Round | Bracket::Square if bracket == closing => {
                let mut inner = inner;
                while self.enclosure(&inner) == Some(bracket)
                    && self.token(inner.end - 1) == Token::Close(bracket)
                    && !self.has_top(&inside(&inner), is_separator)
                {
                    inner = inside(&inner);
                }
                self.single(inner)
            }
            Bracket::Reversed | Bracket::Round | Bracket::Square => Err(Unread::NotMaths),
            Bracket::Group | Bracket::Bar | Bracket::Floor | Bracket::Ceiling => Ok(None),
        }
    }

    /// Reads the coordinates of `(1 \mid -2)`, as points are written where commas are decimal points.
    fn barred(&mut self, inner: &LexemeRange) -> ParseResult<Option<Vec<Answer>>> {
        let is_bar = |token| matches!(token, Token::Mid | Token::Bar);
        let bars = self.tops(inner).filter(|at| is_bar(self.token(*at))).count();
        if bars == 0 || bars > 2 {
            return Ok(None);
        }
        let mut members = Vec::with_capacity(bars + 1);
        for part in self.split(inner, is_bar) {
            match self.try_expression(&part)? {
                Some(expr) if !part.is_empty() => {
                    members.push(answer_of(AnswerForm::Value(bare_value(expr))));
                }
                Some(_) | None => return Ok(None),
            }
        }
        Ok(Some(members))
    }

    /// Reads one member in brackets, which then mean nothing.
    fn single(&mut self, inner: LexemeRange) -> ParseResult<Option<AnswerForm>> {
        let answer = self.whole(inner)?;
        if answer.subjects.is_empty() { Ok(Some(answer.form)) } else { Err(Unread::NotMaths) }
    }

    /// Reads two members or more between round, square or angle brackets, or an interval.
    fn tuple(
        &mut self,
        span: &LexemeRange,
        brackets: (Bracket, Bracket),
    ) -> ParseResult<AnswerForm> {
        let inner = inside(span);
        let parts = self.split(&inner, is_separator);
        if self.setting.plus_minus.is_none() && self.has(span, is_plus_minus) {
            let is_signed = |part: &LexemeRange| self.has(part, |token| token == Token::PlusMinus);
            let are_free = parts.iter().all(is_signed)
                && !self.has(span, |token| token == Token::MinusPlus)
                && brackets == (Bracket::Round, Bracket::Round);
            return match parts.as_slice() {
                [first, second] if are_free => self.free_signs(first, second),
                _ => self.both_signs(span.clone()),
            };
        }
        let kind = match brackets {
            (Bracket::Round, Bracket::Round) => Brackets::Round,
            (Bracket::Square, Bracket::Square) => Brackets::Square,
            (Bracket::Angle, Bracket::Angle) => Brackets::Angle,
            _ => return self.interval(&parts, brackets),
        };
        if parts.len() < 2 {
            return Err(Unread::NotMaths);
        }
        let mut members = Vec::with_capacity(parts.len());
        for part in &parts {
            members.push(self.member(part.clone())?);
        }
        if members.len() == 2 && members.iter().any(|member| self.is_unbounded(member)) {
            return self.interval(&parts, brackets);
        }
        Ok(AnswerForm::Tuple(kind, members))
    }

    /// Reads the four points of `(\pm 8, \pm 7)`: the signs of coordinates are independent.
    fn free_signs(&mut self, first: &LexemeRange, second: &LexemeRange) -> ParseResult<AnswerForm> {
        self.notes.push(Note::PlusMinusExpanded);
        let mut points = Vec::with_capacity(4);
        for signs in [[true, true], [true, false], [false, true], [false, false]] {
            let mut coordinates = Vec::with_capacity(2);
            for (part, is_plus) in [first, second].into_iter().zip(signs) {
                self.setting.plus_minus = Some(is_plus);
                let member = self.member(part.clone());
                self.setting.plus_minus = None;
                coordinates.push(member?);
            }
            points.push(answer_of(AnswerForm::Tuple(Brackets::Round, coordinates)));
        }
        Ok(AnswerForm::List(points))
    }

    fn is_unbounded(&self, member: &Answer) -> bool {
        matches!(&member.form, AnswerForm::Value(value) if self.is_infinite(value.expr))
    }

    fn interval(
        &mut self,
        parts: &[LexemeRange],
        brackets: (Bracket, Bracket),
    ) -> ParseResult<AnswerForm> {
        let [from, to] = parts else {
            return Err(Unread::NotMaths);
        };
        let is_closed = |bracket| match bracket {
            Bracket::Square => Ok(true),
            Bracket::Round | Bracket::Reversed => Ok(false),
            _ => Err(Unread::NotMaths),
        };
        Ok(AnswerForm::Region(Region::Interval {
            from: self.expression(from)?,
            to: self.expression(to)?,
            has_from: is_closed(brackets.0)?,
            has_to: is_closed(brackets.1)?,
        }))
    }

    /// Reads `\{(t, 2t) \mid t \in \mathbb{R}\}` and `\{n\pi : n \in \mathbb{Z}\}` as a term and where its
    /// letters lie.
    fn set_of_terms(&mut self, inner: &LexemeRange) -> ParseResult<Option<Vec<Answer>>> {
        let is_bar = |token| matches!(token, Token::Mid | Token::Bar | Token::Colon);
        let Some(at) = self.find_top(inner, is_bar) else {
            return Ok(None);
        };
        let parts = self.split(&(at + 1..inner.end), is_separator);
        let is_membership = |part: &LexemeRange| self.has_top(part, |token| token == Token::In);
        if !parts.iter().all(is_membership) || self.has_top(&(inner.start..at), |t| t == Token::In)
        {
            return Ok(None);
        }
        let mut members = vec![self.member(inner.start..at)?];
        for part in parts {
            members.push(self.member(part)?);
        }
        Ok(Some(members))
    }

    /// Reads what braces of a set hold.
    fn set(&mut self, inner: &LexemeRange) -> ParseResult<AnswerForm> {
        if inner.is_empty() {
            return Ok(AnswerForm::Region(Region::Empty));
        }
        if let Some(region) = self.set_builder(inner)? {
            return Ok(AnswerForm::Region(region));
        }
        if let Some(members) = self.set_of_terms(inner)? {
            return Ok(AnswerForm::List(members));
        }
        let mut members = Vec::new();
        for part in self.split(inner, is_separator) {
            if self.has(&part, |token| token == Token::Ellipsis) {
                return self.sequence(inner.start - 1..inner.end + 1);
            }
            let member = self.member(part)?;
            match member.form {
                // `\pm` in a set adds both members to it.
                AnswerForm::List(expanded) if member.subjects.is_empty() => {
                    members.extend(expanded);
                }
                form => members.push(Answer { subjects: member.subjects, ..answer_of(form) }),
            }
        }
        Ok(AnswerForm::Set(members))
    }
}

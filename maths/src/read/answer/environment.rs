//! Matrices and cases.

use crate::answer::{Answer, AnswerForm, Chain, Condition, Region, Relation, Subject, Unread};
use crate::expr::{Expr, Function};
use crate::read::parse::ParseResult;
use crate::read::token::Token;

use super::region::as_region;
use super::{AnswerReader, LexemeRange};

impl AnswerReader<'_, '_, '_> {
    /// Returns the rows of `inner`, without an empty one at the end.
    fn rows(&self, inner: &LexemeRange) -> Vec<LexemeRange> {
        let mut rows = self.split(inner, |token| token == Token::NewRow);
        if rows.len() > 1 && rows.last().is_some_and(LexemeRange::is_empty) {
            rows.pop();
        }
        rows
    }

    pub(super) fn matrix(&mut self, inner: &LexemeRange) -> ParseResult<AnswerForm> {
        let mut rows: Vec<Vec<Expr>> = Vec::new();
        for row in self.rows(inner) {
            let cells: ParseResult<Vec<Expr>> = self
                .split(&row, |token| token == Token::Ampersand)
                .iter()
                .map(|cell| self.expression(cell))
                .collect();
            rows.push(cells?);
        }
        rectangular(rows)
    }

    /// Reads a system: rows that are relations and no values with conditions.
    pub(super) fn system(&mut self, inner: &LexemeRange) -> ParseResult<Option<Vec<Answer>>> {
        let is_end = |token: Token<'_>| matches!(token, Token::Comma | Token::Semicolon);
        let mut members = Vec::new();
        let mut rows = self.rows(inner);
        for row in &mut rows {
            while row.start < row.end && is_end(self.token(row.end - 1)) {
                row.end -= 1;
            }
            let is_part =
                |token: Token<'_>| token == Token::Ampersand || is_if(token) || is_end(token);
            if self.has_top(row, is_part)
                || !self.has_top(row, |token| matches!(token, Token::Relation(_)))
            {
                return Ok(None);
            }
        }
        for row in rows {
            members.push(self.member(row)?);
        }
        Ok(Some(members))
    }

    pub(super) fn cases(&mut self, inner: &LexemeRange) -> ParseResult<AnswerForm> {
        let mut pieces = Vec::new();
        let rows = self.rows(inner);
        for (index, row) in rows.iter().enumerate() {
            let (value, condition) = self.piece(row)?;
            if condition.is_none() && index + 1 < rows.len() {
                return Err(Unread::NotMaths);
            }
            pieces.push((value, condition));
        }
        Ok(AnswerForm::Piecewise(pieces))
    }

    /// Reads a value and its condition.
    pub(super) fn piece(&mut self, row: &LexemeRange) -> ParseResult<(Expr, Option<Condition>)> {
        let is_border = |token: Token<'_>| token == Token::Ampersand || is_if(token);
        let at = self
            .find_top(row, is_border)
            .or_else(|| self.find_top(row, |token| token == Token::Comma))
            .ok_or(Unread::NotMaths)?;
        let mut value = row.start..at;
        if !value.is_empty() && self.token(value.end - 1) == Token::Comma {
            value.end -= 1;
        }
        let mut rest = at..row.end;
        let is_filler =
            |token: Token<'_>| matches!(token, Token::Ampersand | Token::Comma) || is_if(token);
        while !rest.is_empty() && is_filler(self.token(rest.start)) {
            rest.start += 1;
        }
        while !rest.is_empty()
            && matches!(self.token(rest.end - 1), Token::Comma | Token::Semicolon)
        {
            rest.end -= 1;
        }
        // `-(x - 2) = -x + 2`: the last side of a chain.
        let sides = self.split(&value, |token| token == Token::Relation(Relation::Equal));
        let value = self.expression(&sides[sides.len() - 1])?;
        let is_otherwise = |token: Token<'_>| matches!(token.word(), Some("otherwise" | "else"));
        if rest.len() == 1 && is_otherwise(self.token(rest.start)) {
            return Ok((value, None));
        }
        Ok((value, Some(self.condition(&rest)?)))
    }

    pub(super) fn condition(&mut self, span: &LexemeRange) -> ParseResult<Condition> {
        let is_border = |token: Token<'_>| token == Token::Comma || token.word() == Some("and");
        let parts = self.split(span, is_border);
        let mut chains = Vec::with_capacity(parts.len());
        for part in &parts {
            chains.extend(self.condition_part(part)?);
        }
        Ok(Condition(chains))
    }

    /// Reads one condition: a chain of relations, `x \in [0, 1)`, or a residue, as `mod(n, 2) = 1`.
    fn condition_part(&mut self, part: &LexemeRange) -> ParseResult<Vec<Chain>> {
        let class = match self.divisibility(part)? {
            None if self.has_top(part, |token| token == Token::Congruent) => {
                self.congruence(part.clone())?
            }
            found => found,
        };
        if let Some(class) = class {
            let ([Subject::Expr(letter)], AnswerForm::Congruence { residues, modulus }) =
                (class.subjects.as_slice(), &class.form)
            else {
                return Err(Unread::NotMaths);
            };
            let [residue] = residues.as_slice() else {
                return Err(Unread::NotMaths);
            };
            let first = self.ws.call(Function::Mod, vec![*letter, *modulus])?;
            return Ok(vec![Chain { first, rest: vec![(Relation::Equal, *residue)] }]);
        }
        let Some(at) = self.find_top(part, |token| token == Token::In) else {
            return Ok(vec![self.chain(part)?]);
        };
        let variable = self.symbol(&(part.start..at))?;
        let form = self.value(at + 1..part.end)?;
        let AnswerForm::Region(Region::Interval { from, to, has_from, has_to }) = as_region(form)?
        else {
            return Err(Unread::NotMaths);
        };
        let relation = |is_in| if is_in { Relation::LessOrEqual } else { Relation::Less };
        let rest = vec![(relation(has_from), variable), (relation(has_to), to)];
        Ok(vec![Chain { first: from, rest }])
    }
}

fn is_if(token: Token<'_>) -> bool {
    matches!(token.word(), Some("if" | "when" | "for" | "where"))
}

/// Returns the matrix of `rows`, which must be of one length.
pub(super) fn rectangular(rows: Vec<Vec<Expr>>) -> ParseResult<AnswerForm> {
    let width = rows.first().map_or(0, Vec::len);
    if width == 0 || rows.iter().any(|row| row.len() != width) {
        return Err(Unread::NotMaths);
    }
    Ok(AnswerForm::Matrix(rows))
}

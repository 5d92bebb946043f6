//! Congruences: `x \equiv 3 \pmod 7`, `3 (mod 7)`, `x ≡ 3, 5 mod 7`.

use dashu::rational::RBig;

use crate::algebra;
use crate::answer::{Answer, AnswerForm, Subject, Unread};
use crate::expr::{Expr, Node};
use crate::read::parse::ParseResult;
use crate::read::token::{Bracket, Token};

use super::region::inside;
use super::{AnswerReader, LexemeRange, answer_of, is_separator};

/// The most tokens of a statement about one letter.
const MAX_STATEMENT: usize = 16;

impl AnswerReader<'_, '_, '_> {
    /// Reads the congruence that `span` states, if it is one.
    pub(super) fn congruence(&mut self, span: LexemeRange) -> ParseResult<Option<Answer>> {
        if !self.has(&span, |token| matches!(token, Token::Congruent) || is_mod(token)) {
            return Ok(None);
        }
        let signs = self.split(&span, |token| token == Token::Congruent);
        if signs.len() > 2 && !self.are_residues(&signs[1..signs.len() - 1])? {
            return Ok(None);
        }
        let Some((residues_end, modulus)) = self.modulus(&span, signs.len() > 1) else {
            return self.identity(&signs);
        };
        let mut subjects = Vec::new();
        let start = match signs.as_slice() {
            [left, between @ .., right] => {
                let right = right.start..residues_end;
                subjects.push(self.congruent_sides(left, between, &right, &modulus)?);
                right.start
            }
            _ => span.start,
        };
        let residues = start..residues_end;
        let is_border =
            |token: Token<'_>| is_separator(token) || matches!(token.word(), Some("and" | "or"));
        let parts = self.split(&residues, is_border);
        // `x ≡ 1 mod 3 and x ≡ 2 mod 5` is no single congruence.
        let modulus = self.expression(&modulus)?;
        let mut values = Vec::with_capacity(parts.len());
        for part in parts.iter().filter(|part| !part.is_empty()) {
            if self.setting.plus_minus.is_none() && self.has(part, super::is_plus_minus) {
                for is_plus in [true, false] {
                    self.setting.plus_minus = Some(is_plus);
                    let value = self.expression(part);
                    self.setting.plus_minus = None;
                    values.push(value?);
                }
            } else {
                values.push(self.expression(part)?);
            }
        }
        if values.is_empty() {
            return Err(Unread::NotMaths);
        }
        Ok(Some(Answer {
            subjects,
            ..answer_of(AnswerForm::Congruence { residues: values, modulus })
        }))
    }

    /// Reads `f(x) \equiv 0`, without a modulus: an identity of a function.
    fn identity(&mut self, signs: &[LexemeRange]) -> ParseResult<Option<Answer>> {
        let [left, right] = signs else {
            return Ok(None);
        };
        let joins = |token: Token<'_>| {
            is_separator(token)
                || matches!(token, Token::Relation(_))
                || matches!(token.word(), Some("and" | "or"))
        };
        if self.has_top(right, joins) {
            return Ok(None);
        }
        let subject = self.subject(left)?.ok_or(Unread::NotMaths)?;
        let is_function = match &subject {
            Subject::Expr(expr) => match self.ws.node(*expr) {
                Node::Apply(..) => true,
                Node::Symbol(name) => matches!(self.ws.spelling(*name), "f" | "g" | "h"),
                _ => false,
            },
            Subject::Several(_) | Subject::Text(_) => false,
        };
        if !is_function {
            return Err(Unread::NotMaths);
        }
        let form = self.value(right.clone())?;
        Ok(Some(Answer { subjects: vec![subject], ..answer_of(form) }))
    }

    /// Returns whether all `sides` are numbers, as those in the midst of a chain of residues are.
    fn are_residues(&mut self, sides: &[LexemeRange]) -> ParseResult<bool> {
        for side in sides {
            match self.try_expression(side)? {
                Some(expr) if self.ws.is_closed(expr)? => {}
                Some(_) | None => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Reads the sides before the last one of `17^{-1} \equiv -5 \equiv 38 \pmod{43}`: a letter, or a number
    /// that is the same residue. Returns the subject.
    ///
    /// # Errors
    /// [`Unread::NotMaths`] if two sides are different residues.
    fn congruent_sides(
        &mut self,
        left: &LexemeRange,
        between: &[LexemeRange],
        right: &LexemeRange,
        modulus: &LexemeRange,
    ) -> ParseResult<Subject> {
        let subject = self.subject(left)?;
        if subject.is_some() && between.is_empty() {
            return subject.ok_or(Unread::NotMaths);
        }
        let modulus = self.expression(modulus)?;
        let modulus = algebra::rational(modulus, self.ws)?;
        let mut sides = between.to_vec();
        if subject.is_none() {
            sides.push(left.clone());
        }
        let last = self.try_expression(right)?.ok_or(Unread::NotMaths)?;
        let last = algebra::rational(last, self.ws)?;
        for side in sides {
            let expr = self.expression(&side)?;
            if !self.ws.is_closed(expr)? {
                return Err(Unread::NotMaths);
            }
            let own = algebra::rational(expr, self.ws)?;
            if let (Some(own), Some(last), Some(modulus)) = (&own, &last, &modulus)
                && !are_congruent(own, last, modulus)
            {
                return Err(Unread::NotMaths);
            }
        }
        Ok(subject.unwrap_or_else(|| Subject::Text("residue".to_owned())))
    }

    /// Reads `n \text{ is odd}`, `n \text{ is divisible by } 3`, `3 \mid n`: a congruence of the
    /// only letter in it.
    pub(super) fn divisibility(&mut self, span: &LexemeRange) -> ParseResult<Option<Answer>> {
        if span.len() < 2 || span.len() > MAX_STATEMENT {
            return Ok(None);
        }
        if let Some(at) = self.find_top(span, |token| token == Token::Mid) {
            let modulus = span.start..at;
            return self.residue_class(&(at + 1..span.end), &modulus, 0);
        }
        let is_parity = |word: &str| matches!(word, "even" | "odd");
        let is_key = |token: Token<'_>| {
            token.word().is_some_and(|w| is_parity(w) || matches!(w, "divisible" | "multiple"))
        };
        let Some(key) = self.find_top(span, is_key) else {
            return Ok(None);
        };
        let is_filler = |token: Token<'_>| {
            matches!(token.word(), Some("is" | "are" | "be" | "must" | "an" | "a"))
        };
        let end = (span.start..key).find(|at| is_filler(self.token(*at))).unwrap_or(key);
        if end == span.start || !(end..key).all(|at| is_filler(self.token(at))) {
            return Ok(None);
        }
        let subject = span.start..end;
        let word = self.token(key).word().unwrap_or_default();
        let rest = key + 1..span.end;
        if is_parity(word) {
            let is_noun =
                |at| matches!(self.token(at).word(), Some("integer" | "integers" | "number"));
            if !rest.clone().all(is_noun) {
                return Ok(None);
            }
            let Some(Subject::Expr(letter)) = self.subject(&subject)? else {
                return Ok(None);
            };
            let residue = self.ws.integer(i64::from(word == "odd"))?;
            let modulus = self.ws.integer(2)?;
            return Ok(Some(of_class(letter, residue, modulus)));
        }
        let link = if word == "divisible" { "by" } else { "of" };
        if rest.len() < 2 || self.token(rest.start).word() != Some(link) {
            return Ok(None);
        }
        self.residue_class(&subject, &(rest.start + 1..rest.end), 0)
    }

    fn residue_class(
        &mut self,
        subject: &LexemeRange,
        modulus: &LexemeRange,
        residue: i64,
    ) -> ParseResult<Option<Answer>> {
        let Some(modulus) = self.try_expression(modulus)? else {
            return Ok(None);
        };
        let Some(Subject::Expr(letter)) = self.subject(subject)? else {
            return Ok(None);
        };
        if !self.ws.is_closed(modulus)? || !matches!(self.ws.node(letter), Node::Symbol(_)) {
            return Ok(None);
        }
        let residue = self.ws.integer(residue)?;
        Ok(Some(of_class(letter, residue, modulus)))
    }

    /// Finds the modulus at the end of `span`, and the end of the text before it.
    fn modulus(&self, span: &LexemeRange, is_congruence: bool) -> Option<(usize, LexemeRange)> {
        if let Some(at) = self.find_top(span, |token| token == Token::PostfixMod) {
            return Some((at, at + 1..span.end));
        }
        let last = span.end.checked_sub(1)?;
        let open = self.items[last].mate;
        if self.token(last) == Token::Close(Bracket::Round) && open > span.start {
            let inner = inside(&(open..span.end));
            if !inner.is_empty() && is_mod(self.token(inner.start)) {
                return Some((open, inner.start + 1..inner.end));
            }
        }
        let at = self.find_top(span, is_mod).filter(|_| is_congruence)?;
        Some((at, at + 1..span.end))
    }
}

/// Returns whether the numerator of `own` is the residue `other` times its denominator: 1/17 is the inverse of
/// 17.
fn are_congruent(own: &RBig, other: &RBig, modulus: &RBig) -> bool {
    let (above, below) = own.clone().into_parts();
    let product = RBig::from(below) * other - RBig::from(above);
    !modulus.is_zero() && (product / modulus).is_int()
}

fn of_class(letter: Expr, residue: Expr, modulus: Expr) -> Answer {
    let form = AnswerForm::Congruence { residues: vec![residue], modulus };
    Answer { subjects: vec![Subject::Expr(letter)], ..answer_of(form) }
}

fn is_mod(token: Token<'_>) -> bool {
    matches!(token, Token::Mod | Token::PostfixMod | Token::Word { text: "mod" | "modulo", .. })
}

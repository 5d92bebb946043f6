//! Sets, cases and decimals that are described in words: all numbers but some, values with their
//! conditions, digits that go on.

use dashu::integer::{IBig, UBig};
use dashu::rational::RBig;

use crate::answer::{Answer, AnswerForm, Region, Relation, Subject, Value};
use crate::read::parse::ParseResult;
use crate::read::token::Token;

use super::region::points;
use super::{AnswerReader, LexemeRange, answer_of, bare_value, is_separator};

/// Words that leave out what follows them.
const EXCEPTIONS: [&str; 5] = ["except", "but", "excluding", "other", "without"];

/// Words between a set and what is left out of it.
const BETWEEN: [&str; 12] =
    ["for", "than", "with", "where", "such", "that", "not", "equal", "to", "is", "when", "are"];

impl AnswerReader<'_, '_, '_> {
    /// Reads `all real numbers except 1` and `all real x with x \ne \pm 1`.
    pub(super) fn all_but(&mut self, span: &LexemeRange) -> ParseResult<Option<Answer>> {
        let mut at = span.start;
        let word = |at: usize| (at < span.end).then(|| self.token(at).word()).flatten();
        if !matches!(word(at), Some("all" | "All" | "every" | "any")) {
            return Ok(None);
        }
        at += 1;
        let noun = at;
        while matches!(
            word(at),
            Some("real" | "numbers" | "number" | "reals" | "values" | "value" | "of")
        ) {
            at += 1;
        }
        let is_letter = |at: usize| word(at).is_some_and(|word| word.len() == 1);
        if is_letter(at) {
            at += 1;
        }
        let mut is_exception = false;
        let is_named = at > noun;
        while let Some(next) = word(at) {
            is_exception |= EXCEPTIONS.contains(&next);
            if !EXCEPTIONS.contains(&next) && !BETWEEN.contains(&next) {
                break;
            }
            at += 1;
        }
        if is_letter(at) && at + 1 < span.end {
            let sign = self.token(at + 1);
            is_exception |= sign == Token::Relation(Relation::NotEqual);
            at += 2;
        } else if at < span.end && self.token(at) == Token::Relation(Relation::NotEqual) {
            is_exception = true;
            at += 1;
        }
        if !is_named || !is_exception || at >= span.end {
            return Ok(None);
        }
        let left_out = self.whole(at..span.end)?;
        let members = match left_out.form {
            AnswerForm::List(members) | AnswerForm::Set(members) => members,
            form => vec![answer_of(form)],
        };
        // "except x = 2 and x = -2"
        let members = members.into_iter().map(|member| match member.subjects.as_slice() {
            [Subject::Expr(_)] => answer_of(member.form),
            _ => member,
        });
        let members: Vec<Answer> = members.collect();
        let points = Box::new(Region::Points(points(members)?));
        let region = Region::Difference(Box::new(Region::Reals), points);
        Ok(Some(answer_of(AnswerForm::Region(region))))
    }

    /// Reads `x^2 \text{ for } x \ge 0; -x \text{ for } x < 0`: two values or more, each with its
    /// condition.
    pub(super) fn cases_in_words(&mut self, span: &LexemeRange) -> ParseResult<Option<AnswerForm>> {
        let is_if =
            |token: Token<'_>| matches!(token.word(), Some("if" | "for" | "when" | "otherwise"));
        if !self.has_top(span, is_if) || !self.has_top(span, is_separator) {
            return Ok(None);
        }
        let is_wide = self.has_top(span, |token| token == Token::Semicolon);
        let border = if is_wide { Token::Semicolon } else { Token::Comma };
        let mut parts =
            self.split(span, |token| token == border || is_wide && token.word() == Some("and"));
        parts.retain(|part| !part.is_empty());
        let count =
            |part: &LexemeRange| self.tops(part).filter(|at| is_if(self.token(*at))).count();
        let are_cases = parts.len() > 1
            && parts.iter().all(|part| count(part) == 1 && !is_if(self.token(part.start)));
        if !are_cases {
            return Ok(None);
        }
        let notes = self.notes.len();
        let mut pieces = Vec::with_capacity(parts.len());
        for part in &parts {
            let piece = match self.piece(part) {
                Err(crate::answer::Unread::NotMaths) => {
                    self.notes.truncate(notes);
                    return Ok(None);
                }
                piece => piece?,
            };
            pieces.push(piece);
        }
        Ok(Some(AnswerForm::Piecewise(pieces)))
    }

    /// Reads `0.428571428571\ldots`: digits that repeat themselves twice, and six at least, repeat for
    /// ever.
    pub(super) fn repeating(&mut self, span: &LexemeRange) -> ParseResult<Option<Value>> {
        /// Digits that are looked at.
        const MAX_DIGITS: usize = 64;
        const MIN_REPEATED: usize = 6;
        let is_negative = self.token(span.start) == Token::Minus;
        let [first, groups @ .., last] = &self.slice(span)[usize::from(is_negative)..] else {
            return Ok(None);
        };
        let Token::Number(number) = first.token else {
            return Ok(None);
        };
        let Some(fraction) = number.fraction.filter(|_| last.token == Token::Ellipsis) else {
            return Ok(None);
        };
        let mut digits = fraction.to_owned();
        for group in groups {
            match group.token {
                Token::Number(group) if group.is_digits() => digits.push_str(group.whole),
                _ => return Ok(None),
            }
        }
        if digits.len() > MAX_DIGITS || number.repeat.is_some() || number.exponent.is_some() {
            return Ok(None);
        }
        let bytes = digits.as_bytes();
        let repeats = |(from, period): &(usize, usize)| {
            let tail = &bytes[*from..];
            tail.len() >= (2 * period).max(MIN_REPEATED)
                && tail.iter().zip(&tail[*period..]).all(|(left, right)| left == right)
        };
        let starts =
            (0..digits.len()).flat_map(|from| (1..=digits.len() / 2).map(move |p| (from, p)));
        let Some((from, period)) = starts.into_iter().find(repeats) else {
            return Ok(None);
        };
        self.ws.fuel.spend(MAX_DIGITS as u64)?;
        let parse = |text: &str| text.parse::<UBig>().unwrap_or(UBig::ZERO);
        let whole: String = number.whole.chars().filter(char::is_ascii_digit).collect();
        let nines = UBig::from(10u8).pow(period) - UBig::ONE;
        let shift = UBig::from(10u8).pow(from);
        let fixed = RBig::from_parts(IBig::from(parse(&digits[..from])), shift.clone());
        let tail = RBig::from_parts(IBig::from(parse(&digits[from..from + period])), nines * shift);
        let value = RBig::from(IBig::from(parse(&whole))) + fixed + tail;
        let expr = self.ws.number(if is_negative { -value } else { value })?;
        Ok(Some(bare_value(expr)))
    }
}

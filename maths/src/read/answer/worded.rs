//! Sets of numbers and chances in words: `all real numbers less than 2`, `x is at least 4`, `1 in 6`.

use crate::answer::{Answer, AnswerForm, Region, Relation, Subject};
use crate::expr::{Constant, Expr};
use crate::numerals;
use crate::read::parse::ParseResult;
use crate::read::token::{Numbers, Token};

use super::{AnswerReader, LexemeRange, answer_of, bare_value};

/// Words that say that all numbers of a kind are meant.
const ALL: [&str; 6] = ["all", "every", "any", "each", "set", "those"];

/// Words around numbers and what is said of them.
const BETWEEN: [&str; 26] = [
    "non",
    "and",
    "the",
    "of",
    "number",
    "numbers",
    "value",
    "values",
    "that",
    "which",
    "are",
    "is",
    "for",
    "such",
    "with",
    "must",
    "be",
    "lie",
    "lies",
    "lying",
    "strictly",
    "satisfying",
    "in",
    "where",
    "a",
    "exactly",
];

/// Words with which an interval says that its ends belong to it.
const INCLUSIVE: [&str; 2] = ["inclusive", "inclusively"];

/// What words say of numbers.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a word that was there or not")]
struct Said {
    is_all: bool,
    is_real: bool,
    is_whole: bool,
    variable: Option<Expr>,
    parts: Vec<Region>,
    is_either: bool,
    is_strict: bool,
}

impl Said {
    fn region(self) -> Option<(Vec<Subject>, Region)> {
        let Said { is_all, is_real, is_whole, variable, mut parts, is_either, .. } = self;
        // "every real number $x$"
        if is_all && is_real && !is_whole && parts.is_empty() {
            parts.push(Region::Reals);
        }
        if parts.is_empty() || !is_all && variable.is_none() {
            return None;
        }
        let mut region = match parts.len() {
            1 => parts.pop()?,
            _ if is_either => Region::Union(parts),
            _ => Region::Intersection(parts),
        };
        if is_whole {
            region = Region::Intersection(vec![Region::Integers, region]);
        }
        Some((variable.map(Subject::Expr).into_iter().collect(), region))
    }
}

impl AnswerReader<'_, '_, '_> {
    /// Reads the numbers that words describe by their order: below, above or between others.
    pub(super) fn region_in_words(&mut self, span: &LexemeRange) -> ParseResult<Option<Answer>> {
        let mut said = Said::default();
        let mut at = span.start;
        while at < span.end {
            if matches!(self.token(at), Token::Comma | Token::Minus) {
                at += 1;
                continue;
            }
            if let Some((relation, from)) = self.comparison(at, span.end) {
                let end = self.end_of_bound(from, span.end);
                let Some(bound) = self.bound(from..end)? else {
                    return Ok(None);
                };
                said.parts.push(self.half_line(relation, bound)?);
                at = end;
                continue;
            }
            // "all of ℝ"
            if self.token(at) == Token::Numbers(Numbers::Reals) && said.is_all {
                said.is_real = true;
                at += 1;
                continue;
            }
            let Some(word) = self.token(at).word() else {
                return Ok(None);
            };
            let word = word.to_ascii_lowercase();
            at += 1;
            match word.as_str() {
                "between" | "from" => {
                    let Some((part, end)) = self.interval_in_words(at, span.end, said.is_strict)?
                    else {
                        return Ok(None);
                    };
                    said.parts.push(part);
                    at = end;
                }
                "positive" | "negative" => {
                    let before = at.checked_sub(2).filter(|before| *before > span.start);
                    let is_denied = before
                        .and_then(|before| {
                            before.checked_sub(usize::from(self.token(before) == Token::Minus))
                        })
                        .is_some_and(|before| self.token(before).word() == Some("non"));
                    let relation = match (word == "positive", is_denied) {
                        (true, false) => Relation::Greater,
                        (false, false) => Relation::Less,
                        (true, true) => Relation::LessOrEqual,
                        (false, true) => Relation::GreaterOrEqual,
                    };
                    let zero = self.ws.integer(0)?;
                    said.parts.push(self.half_line(relation, zero)?);
                }
                "nonnegative" | "nonpositive" | "nonzero" => {
                    let relation = match word.as_str() {
                        "nonnegative" => Relation::GreaterOrEqual,
                        "nonpositive" => Relation::LessOrEqual,
                        _ => Relation::NotEqual,
                    };
                    let zero = self.ws.integer(0)?;
                    said.parts.push(self.half_line(relation, zero)?);
                }
                "zero" if at > span.start + 1 => {
                    // "non-zero"
                    let zero = self.ws.integer(0)?;
                    said.parts.push(self.half_line(Relation::NotEqual, zero)?);
                }
                "integer" | "integers" => said.is_whole = true,
                "real" | "reals" => said.is_real = true,
                "strictly" | "exclusive" => said.is_strict = true,
                "or" => said.is_either = true,
                _ if ALL.contains(&word.as_str()) => said.is_all = true,
                _ if BETWEEN.contains(&word.as_str()) => {}
                _ if word.len() == 1 && said.variable.is_none() => {
                    said.variable = Some(self.expression(&(at - 1..at))?);
                }
                _ if word.len() == 1 => {}
                _ => return Ok(None),
            }
        }
        Ok(said
            .region()
            .map(|(subjects, region)| Answer { subjects, ..answer_of(AnswerForm::Region(region)) }))
    }

    /// Returns the relation that words at `at` state, and where the number begins: "at most", "less than
    /// or equal to".
    fn comparison(&self, at: usize, end: usize) -> Option<(Relation, usize)> {
        let word = |at: usize| (at < end).then(|| self.token(at).word()).flatten();
        let is_not = matches!(word(at), Some("not" | "no"));
        let first = at + usize::from(is_not);
        let (relation, from) = match (word(first)?, word(first + 1)) {
            ("at", Some("least")) => (Relation::GreaterOrEqual, first + 2),
            ("at", Some("most")) => (Relation::LessOrEqual, first + 2),
            ("less" | "smaller" | "lower" | "fewer", Some("than")) => (Relation::Less, first + 2),
            ("greater" | "larger" | "more" | "bigger" | "higher", Some("than")) => {
                (Relation::Greater, first + 2)
            }
            ("below" | "under", _) => (Relation::Less, first + 1),
            ("above" | "over" | "exceeding" | "exceeds", _) => (Relation::Greater, first + 1),
            _ => return None,
        };
        let or_equal = ["or", "equal", "to"];
        let is_equal =
            or_equal.iter().enumerate().all(|(step, own)| word(from + step) == Some(own));
        let relation = match (relation, is_equal, is_not) {
            (Relation::Less, true, false) | (Relation::Greater, false, true) => {
                Relation::LessOrEqual
            }
            (Relation::Greater, true, false) | (Relation::Less, false, true) => {
                Relation::GreaterOrEqual
            }
            (own, _, false) => own,
            (_, _, true) => return None,
        };
        Some((relation, from + if is_equal { or_equal.len() } else { 0 }))
    }

    /// Returns where the number that begins at `from` ends: before a word or a comma.
    fn end_of_bound(&self, from: usize, end: usize) -> usize {
        let is_border = |at: &usize| {
            self.token(*at) == Token::Comma
                || self.token(*at).word().is_some_and(|word| word.len() > 1)
        };
        self.tops(&(from..end)).find(is_border).unwrap_or(end)
    }

    /// Reads a number that bounds others.
    fn bound(&mut self, span: LexemeRange) -> ParseResult<Option<Expr>> {
        if span.is_empty() {
            return Ok(None);
        }
        let Some(bound) = self.try_expression(&span)? else {
            return Ok(None);
        };
        Ok(self.ws.is_closed(bound)?.then_some(bound))
    }

    /// Reads "3 and 7, inclusive" after "between".
    fn interval_in_words(
        &mut self,
        at: usize,
        end: usize,
        is_strict: bool,
    ) -> ParseResult<Option<(Region, usize)>> {
        let middle = self.end_of_bound(at, end);
        let is_joined = middle < end && matches!(self.token(middle).word(), Some("and" | "to"));
        if !is_joined {
            return Ok(None);
        }
        let last = self.end_of_bound(middle + 1, end);
        let (from, to) = (self.bound(at..middle)?, self.bound(middle + 1..last)?);
        let Some((from, to)) = from.zip(to) else {
            return Ok(None);
        };
        let mut next = last;
        while next < end && self.token(next) == Token::Comma {
            next += 1;
        }
        let word = (next < end).then(|| self.token(next).word()).flatten();
        let is_inclusive = word.is_some_and(|word| INCLUSIVE.contains(&word)) && !is_strict;
        let next = if is_inclusive { next + 1 } else { last };
        let region = Region::Interval { from, to, has_from: is_inclusive, has_to: is_inclusive };
        Ok(Some((region, next)))
    }

    fn half_line(&mut self, relation: Relation, bound: Expr) -> ParseResult<Region> {
        let infinity = self.ws.constant(Constant::Infinity)?;
        let lowest = self.ws.negated(infinity)?;
        let above =
            |has_from| Region::Interval { from: bound, to: infinity, has_from, has_to: false };
        let below = |has_to| Region::Interval { from: lowest, to: bound, has_from: false, has_to };
        Ok(match relation {
            Relation::Less => below(false),
            Relation::LessOrEqual => below(true),
            Relation::Greater => above(false),
            Relation::GreaterOrEqual => above(true),
            Relation::Equal => Region::Points(vec![bound]),
            Relation::NotEqual => {
                Region::Difference(Box::new(Region::Reals), Box::new(Region::Points(vec![bound])))
            }
        })
    }

    /// Reads `1 in 6`, `3 out of 10`, `one in six` and `1-in-6`: a chance.
    pub(super) fn chance(&mut self, span: &LexemeRange) -> ParseResult<Option<Answer>> {
        /// Tokens of the longest chance.
        const MAX_TOKENS: usize = 9;
        if span.len() > MAX_TOKENS {
            return Ok(None);
        }
        let Some(at) = self.find_top(span, |token| matches!(token.word(), Some("in" | "out")))
        else {
            return Ok(None);
        };
        let is_out = self.token(at).word() == Some("out");
        let is_of = at + 1 < span.end && self.token(at + 1).word() == Some("of");
        if at == span.start || is_out != is_of {
            return Ok(None);
        }
        let is_hyphen = |at: usize| self.token(at) == Token::Minus;
        let before = span.start..at - usize::from(is_hyphen(at - 1));
        let from = at + 1 + usize::from(is_out);
        let from = from + usize::from(from < span.end && is_hyphen(from));
        let (Some(part), Some(all)) = (self.count(&before)?, self.count(&(from..span.end))?) else {
            return Ok(None);
        };
        let value = self.ws.quotient(part, all)?;
        Ok(Some(answer_of(AnswerForm::Value(bare_value(value)))))
    }

    /// Reads a whole number in digits or in words.
    fn count(&mut self, span: &LexemeRange) -> ParseResult<Option<Expr>> {
        if let [only] = self.slice(span)
            && let Token::Number(literal) = only.token
            && literal.is_digits()
        {
            return self.try_expression(span);
        }
        let words: Option<Vec<&str>> =
            self.slice(span).iter().map(|item| item.token.word()).collect();
        let value = words.and_then(|words| numerals::words(&words.join(" ")));
        Ok(value.map(|value| self.ws.number(value)).transpose()?)
    }
}

//! Sets of numbers: intervals, unions, sets by their conditions, sets with names.

use crate::answer::{Answer, AnswerForm, Brackets, Region, Subject, Unread};
use crate::expr::{Constant, Expr, Node};
use crate::read::parse::ParseResult;
use crate::read::token::{Bracket, Numbers, Style, Token};

use super::{AnswerReader, LexemeRange, is_separator};

impl AnswerReader<'_, '_, '_> {
    /// Returns whether `span` is the name of a set of numbers.
    pub(super) fn is_named_set(&self, span: &LexemeRange) -> bool {
        span.len() == 1 && matches!(self.token(span.start), Token::Numbers(_))
            || self.signed_set(span).is_some()
    }

    /// Returns the numbers and the mark of `\mathbb{R}^+`, `\mathbb{Z}_-` or `\mathbb{N}^*`.
    fn signed_set(&self, span: &LexemeRange) -> Option<(Numbers, Token<'_>)> {
        let (first, mark) = (span.start, span.start + 1);
        let sign = match span.len() {
            3 => first + 2,
            5 if self.token(first + 2) == Token::Open(Bracket::Group) => first + 3,
            _ => return None,
        };
        let is_marked = matches!(self.token(mark), Token::Caret | Token::Underscore);
        let mark = self.token(sign);
        let is_sign = matches!(mark, Token::Plus | Token::Minus | Token::Times);
        match self.token(first) {
            Token::Numbers(numbers) if is_marked && is_sign => Some((numbers, mark)),
            _ => None,
        }
    }

    /// Reads a set of numbers by its name.
    fn named_set(&mut self, span: &LexemeRange) -> ParseResult<Region> {
        let Some((numbers, mark)) = self.signed_set(span) else {
            return match self.token(span.start) {
                Token::Numbers(numbers) => Ok(named_region(numbers)),
                _ => Err(Unread::NotMaths),
            };
        };
        let is_positive = mark == Token::Plus;
        let is_nonzero = mark == Token::Times;
        let zero = self.ws.integer(0)?;
        if is_nonzero && numbers == Numbers::Naturals {
            return Ok(Region::Naturals);
        }
        if is_nonzero {
            let zero = Box::new(Region::Points(vec![zero]));
            return Ok(Region::Difference(Box::new(named_region(numbers)), zero));
        }
        let infinity = self.ws.constant(Constant::Infinity)?;
        let (from, to) =
            if is_positive { (zero, infinity) } else { (self.ws.negated(infinity)?, zero) };
        let half = Region::Interval { from, to, has_from: false, has_to: false };
        Ok(match numbers {
            Numbers::Reals => half,
            other => Region::Intersection(vec![named_region(other), half]),
        })
    }

    /// Reads what `\cup`, `\cap` and `\setminus` join; intersections bind tightest, the others are
    /// read from left to right.
    pub(super) fn region(&mut self, span: LexemeRange) -> ParseResult<Region> {
        self.nesting += 1;
        if self.nesting > super::MAX_NESTING {
            return Err(Unread::TooCostly);
        }
        let mut operators = Vec::new();
        let mut parts = Vec::new();
        let mut start = span.start;
        for at in self.tops(&span) {
            let token = self.token(at);
            if token == Token::Union || token == Token::Without || token.word() == Some("U") {
                operators.push(token == Token::Without);
                parts.push(start..at);
                start = at + 1;
            }
        }
        parts.push(start..span.end);
        let mut region = self.intersection(&parts[0])?;
        for (is_difference, part) in operators.into_iter().zip(&parts[1..]) {
            let right = self.intersection(part)?;
            region = match region {
                left if is_difference => Region::Difference(Box::new(left), Box::new(right)),
                Region::Union(mut members) => {
                    members.push(right);
                    Region::Union(members)
                }
                left => Region::Union(vec![left, right]),
            };
        }
        self.nesting -= 1;
        Ok(region)
    }

    fn intersection(&mut self, span: &LexemeRange) -> ParseResult<Region> {
        let parts = self.split(span, |token| token == Token::Intersection);
        let mut members = Vec::with_capacity(parts.len());
        for part in parts {
            members.push(self.region_operand(part)?);
        }
        match members.len() {
            1 => Ok(members.remove(0)),
            _ => Ok(Region::Intersection(members)),
        }
    }

    fn region_operand(&mut self, span: LexemeRange) -> ParseResult<Region> {
        if self.is_named_set(&span) {
            return self.named_set(&span);
        }
        let form = match self.enclosure(&span) {
            Some(Bracket::Group) if !self.has_top(&inside(&span), is_separator) => {
                let inner = inside(&span);
                // `\setminus {2}`: braces around one member are those of a set here.
                if self.has_top(&inner, super::is_set_operator) || self.is_named_set(&inner) {
                    return self.region(inner);
                }
                if self.enclosure(&inner).is_some() {
                    return self.region_operand(inner);
                }
                return Ok(Region::Points(vec![self.expression(&inner)?]));
            }
            Some(Bracket::Round) if !self.has_top(&inside(&span), is_separator) => {
                return self.region(inside(&span));
            }
            Some(bracket) => self.enclosed(&span, bracket)?,
            None => self.plain_call(&span)?,
        };
        match as_region(form.ok_or(Unread::NotMaths)?)? {
            AnswerForm::Region(region) => Ok(region),
            AnswerForm::Set(members) => points(members).map(Region::Points),
            _ => Err(Unread::NotMaths),
        }
    }

    /// Reads `{x | x > 3}` and `{x \in R : x > 3}`, from what the braces hold.
    pub(super) fn set_builder(&mut self, inner: &LexemeRange) -> ParseResult<Option<Region>> {
        let is_bar = |token| matches!(token, Token::Bar | Token::Mid | Token::Colon);
        let Some(at) = self.find_top(inner, is_bar) else {
            return Ok(None);
        };
        let left = inner.start..at;
        let (variable, domain) = match self.find_top(&left, |token| token == Token::In) {
            Some(member) => {
                let variable = self.symbol(&(left.start..member))?;
                (variable, Some(self.region(member + 1..left.end)?))
            }
            None => match self.subject(&left)? {
                Some(Subject::Expr(variable)) => (variable, None),
                // `{|x|, 2}` is no set by a condition.
                Some(_) | None => return Ok(None),
            },
        };
        let mut found = Vec::new();
        for alternative in self.split(&(at + 1..inner.end), is_or) {
            let mut chains = Vec::new();
            for part in self.split(&alternative, |token| is_separator(token) || is_and(token)) {
                chains.push(self.chain(&part)?);
            }
            found.push(Region::Where(variable, chains));
        }
        let found = if found.len() > 1 { Region::Union(found) } else { found.remove(0) };
        Ok(Some(match domain {
            Some(domain) => Region::Intersection(vec![domain, found]),
            None => found,
        }))
    }

    /// Returns whether `expr` is an infinity.
    pub(super) fn is_infinite(&self, expr: Expr) -> bool {
        match self.ws.node(expr) {
            Node::Constant(Constant::Infinity) => true,
            Node::Product(factors) => {
                matches!(factors.as_ref(), [_, last] if matches!(self.ws.node(*last),
                    Node::Constant(Constant::Infinity)))
            }
            _ => false,
        }
    }
}

/// Returns whether a token is one of `words`, and no product of letters or letter of a formula.
fn is_one_of(token: Token<'_>, words: &[&str]) -> bool {
    let Token::Word { text, style } = token else {
        return false;
    };
    let is_word = match style {
        Style::Upright => true,
        Style::Plain => text.len() > 1,
        Style::Formula => !text.is_ascii() || matches!(text, "or" | "and"),
    };
    is_word && words.contains(&text)
}

/// Returns whether a token says "or" in any of several languages.
pub(super) fn is_or(token: Token<'_>) -> bool {
    const WORDS: [&str; 17] = [
        "or",
        "oder",
        "ou",
        "o",
        "или",
        "或",
        "或者",
        "または",
        "又は",
        "また",
        "또는",
        "veya",
        "lub",
        "eller",
        "atau",
        "أو",
        "या",
    ];
    is_one_of(token, &WORDS)
}

/// Returns whether a token says "and" in any of several languages.
pub(super) fn is_and(token: Token<'_>) -> bool {
    const WORDS: [&str; 14] =
        ["and", "und", "et", "y", "e", "и", "且", "和", "かつ", "그리고", "ve", "dan", "och", "و"];
    is_one_of(token, &WORDS)
}

/// Returns what stands inside the brackets around `span`.
pub(super) fn inside(span: &LexemeRange) -> LexemeRange {
    span.start + 1..span.end - 1
}

pub(super) fn named_region(numbers: Numbers) -> Region {
    match numbers {
        Numbers::Empty => Region::Empty,
        Numbers::Integers => Region::Integers,
        Numbers::Naturals => Region::Naturals,
        Numbers::Rationals => Region::Rationals,
        Numbers::Reals => Region::Reals,
        Numbers::Complexes => Region::Complexes,
    }
}

/// Converts `form` to a set: pairs in brackets are intervals.
pub(super) fn as_region(form: AnswerForm) -> ParseResult<AnswerForm> {
    let (brackets, members) = match form {
        AnswerForm::Region(_) | AnswerForm::Set(_) => return Ok(form),
        AnswerForm::Tuple(brackets, members) if members.len() == 2 => (brackets, members),
        _ => return Err(Unread::NotMaths),
    };
    let is_closed = match brackets {
        Brackets::Round => false,
        Brackets::Square => true,
        Brackets::Angle => return Err(Unread::NotMaths),
    };
    let ends = points(members)?;
    Ok(AnswerForm::Region(Region::Interval {
        from: ends[0],
        to: ends[1],
        has_from: is_closed,
        has_to: is_closed,
    }))
}

/// Returns the values of `members`, where all are values without units.
pub(super) fn points(members: Vec<Answer>) -> ParseResult<Vec<Expr>> {
    let point = |member: Answer| match member.form {
        AnswerForm::Value(value) if value.unit.is_none() && member.subjects.is_empty() => {
            Ok(value.expr)
        }
        _ => Err(Unread::NotMaths),
    };
    members.into_iter().map(point).collect()
}

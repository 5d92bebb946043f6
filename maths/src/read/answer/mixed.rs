//! Amounts in several units: `1 hour 30 minutes`, `5 ft 3 in`, `30^\circ 15'`.

use dashu::rational::RBig;

use crate::answer::Value;
use crate::measure::{self, Measure};
use crate::read::literal::Literal;
use crate::read::parse::ParseResult;
use crate::read::token::{Gap, Style, Token};

use super::{AnswerReader, LexemeRange, bare_value};

/// Most units of one amount.
const MAX_PARTS: usize = 6;

/// Units whose amounts "and" joins. Two lengths in metres and centimetres, so joined, are
/// two lengths.
const JOINED: [&str; 12] =
    ["ft", "in", "lb", "oz", "yd", "wk", "d", "h", "min", "s", "month", "year"];

/// Words that join amounts as "and" does.
const AND: [&str; 9] = ["and", "y", "et", "und", "e", "и", "en", "och", "和"];

/// An amount in one unit.
struct UnitAmount<'t> {
    literal: Literal<'t>,
    unit: Measure,
    /// Whether "and" stands after it.
    is_joined: bool,
}

impl<'t> AnswerReader<'t, '_, '_> {
    /// Reads the value that all of `span` states, if it is one amount in two units or more, each
    /// smaller than the one before. The amount is given in the last.
    pub(super) fn mixed(&mut self, span: &LexemeRange) -> ParseResult<Option<Value>> {
        let is_negative = self.slice(span).first().is_some_and(|i| i.token == Token::Minus);
        let Some(parts) = self.parts_of_amount(span.start + usize::from(is_negative)..span.end)
        else {
            return Ok(None);
        };
        let Some(last) = parts.last().filter(|_| are_one_amount(&parts)) else {
            return Ok(None);
        };
        let mut sum = RBig::ZERO;
        let mut before: Option<&UnitAmount<'_>> = None;
        for part in &parts {
            let amount = part.literal.value(self.ws.fuel)?;
            // `1 h 90 min` is no usual way to write an amount.
            let is_full = before.is_some_and(|b| &amount * &part.unit.scale >= b.unit.scale);
            if is_full {
                return Ok(None);
            }
            sum += amount * &part.unit.scale / &last.unit.scale;
            before = Some(part);
        }
        let expr = self.ws.number(if is_negative { -sum } else { sum })?;
        let mut unit = last.unit.clone();
        unit.is_mixed = true;
        Ok(Some(Value { unit: Some(Box::new(unit)), ..bare_value(expr) }))
    }

    /// Returns the numbers, each with its unit, that fill `span`.
    fn parts_of_amount(&self, span: LexemeRange) -> Option<Vec<UnitAmount<'t>>> {
        let mut parts = Vec::new();
        let mut commas = 0;
        let mut at = span.start;
        while at < span.end {
            let Token::Number(literal) = self.token(at) else {
                return None;
            };
            let is_border = |at: usize| {
                matches!(self.token(at), Token::Number(_) | Token::Comma) || self.joins(at, &span)
            };
            let rest = at + 1..span.end;
            let end = rest.clone().find(|at| is_border(*at));
            let end = end.unwrap_or(span.end);
            let unit = self.unit_of_part(&(at + 1..end), parts.is_empty())?;
            let next = end + self.joint(end, &span)?;
            if parts.len() == MAX_PARTS {
                return None;
            }
            commas += usize::from(next == end + 1 && self.token(end) == Token::Comma);
            parts.push(UnitAmount { literal, unit, is_joined: next > end });
            at = next;
        }
        // Amounts between commas alone are a list.
        let joints = parts.iter().filter(|part| part.is_joined).count();
        (commas == 0 || commas < joints).then_some(parts)
    }

    /// Returns whether the token at `at` is a word that joins the amount before it and the next one.
    fn joins(&self, at: usize, span: &LexemeRange) -> bool {
        let is_number = |at: usize| matches!(self.token(at), Token::Number(_));
        let is_word = || self.token(at).word().is_some_and(|word| AND.contains(&word));
        // A letter behind a number may be its unit.
        at + 1 < span.end && is_number(at + 1) && !is_number(at - 1) && is_word()
    }

    /// Counts how many tokens from `at` on join the part before and the next one: "and", a comma, or both.
    fn joint(&self, at: usize, span: &LexemeRange) -> Option<usize> {
        let is_number = |at: usize| at < span.end && matches!(self.token(at), Token::Number(_));
        if at == span.end || is_number(at) {
            return Some(0);
        }
        let is_comma = self.token(at) == Token::Comma;
        if is_comma && is_number(at + 1) || self.joins(at, span) {
            return Some(1);
        }
        (is_comma && at + 1 < span.end && self.joins(at + 1, span)).then_some(2)
    }

    /// Returns the unit that `span`, words or marks of angles, states.
    fn unit_of_part(&self, span: &LexemeRange, is_first: bool) -> Option<Measure> {
        let items = self.slice(span);
        match items {
            [] => None,
            [degree] if degree.token == Token::Degree => measure::parse_unit("°"),
            [prime] if prime.token == Token::Prime && !is_first => measure::parse_unit("arcmin"),
            [one, two] if one.token == Token::Prime && two.token == Token::Prime => {
                measure::parse_unit("arcsec").filter(|_| !is_first)
            }
            [first, ..] => {
                let is_words = items.iter().all(|item| item.token.word().is_some());
                let is_upright = matches!(first.token, Token::Word { style: Style::Upright, .. });
                // A letter that touches its number is a variable.
                let is_apart = is_upright || first.gap >= Gap::Thin;
                (is_words && is_apart).then(|| self.measure(span, None))?
            }
        }
    }
}

/// Returns whether the units are of one dimension, without things that are counted, each smaller
/// than the one before, and may be joined as they are.
fn are_one_amount(parts: &[UnitAmount<'_>]) -> bool {
    let is_plain = |unit: &Measure| unit.things.is_empty() && unit.of.is_none() && unit.is_linear();
    let is_joint = |unit: &Measure| JOINED.contains(&unit.name.as_str());
    let is_integer = |part: &UnitAmount<'_>| part.literal.is_integer();
    let [whole @ .., _] = parts else {
        return false;
    };
    let has_joint = parts.iter().any(|part| part.is_joined);
    parts.len() >= 2
        && whole.iter().all(is_integer)
        && parts.iter().all(|part| is_plain(&part.unit))
        && (!has_joint || parts.iter().all(|part| is_joint(&part.unit)))
        && parts.windows(2).all(|pair| {
            pair[0].unit.dimension == pair[1].unit.dimension
                && pair[0].unit.scale > pair[1].unit.scale
        })
}

//! A number or an expression with its currency, scale word, percent sign and unit.

use dashu::integer::{IBig, UBig};
use dashu::rational::RBig;

use crate::answer::{Unread, Value};
use crate::expr::{Constant, Expr, Node};
use crate::measure::{self, Measure};
use crate::number;
use crate::read::Dialect;
use crate::read::names;
use crate::read::parse::ParseResult;
use crate::read::token::{Bracket, Gap, Style, Token};

use super::{AnswerReader, LexemeRange, bare_value};

/// Words that multiply the number before them.
const SCALES: [(&str, u64); 6] = [
    ("dozen", 12),
    ("hundred", 100),
    ("thousand", 1_000),
    ("million", 1_000_000),
    ("billion", 1_000_000_000),
    ("trillion", 1_000_000_000_000),
];

/// Currency codes that may stand before a number.
const CODES: [&str; 7] = ["USD", "EUR", "GBP", "JPY", "INR", "Rs", "CNY"];

impl AnswerReader<'_, '_, '_> {
    /// Reads the value that all of `span` states.
    pub(super) fn quantity(&mut self, span: LexemeRange) -> ParseResult<Value> {
        if let Some(value) = self.degrees(&span)? {
            return Ok(value);
        }
        let (is_negative, currency, body) = self.prefix(&span);
        let end = self.number_end(&body, currency.is_some());
        let number = body.start..end;
        let mut value = bare_value(self.expression(&number)?);
        value.last_digit = self.last_digit(&number);
        value.is_reduced = self.is_reduced(value.expr)?;
        if is_negative {
            value.expr = self.ws.negated(value.expr)?;
        }
        let mut rest = end..body.end;
        self.scale(&mut rest, &mut value)?;
        self.percent(&mut rest, &number, &mut value)?;
        value.unit = self.unit(&rest, currency.as_deref())?.map(Box::new);
        Ok(value)
    }

    /// Reads a sum of angles, each in degrees: `180^\circ - 60^\circ`.
    fn degrees(&mut self, span: &LexemeRange) -> ParseResult<Option<Value>> {
        let is_degree = |token| token == Token::Degree;
        let is_sum = self.slice(span).last().is_some_and(|item| is_degree(item.token))
            && self.tops(span).filter(|at| is_degree(self.token(*at))).count() > 1;
        if !is_sum {
            return Ok(None);
        }
        let mut terms = Vec::new();
        let mut start = span.start;
        let degrees: Vec<usize> = self.tops(span).filter(|at| is_degree(self.token(*at))).collect();
        for at in degrees {
            let is_end =
                at + 1 == span.end || matches!(self.token(at + 1), Token::Plus | Token::Minus);
            if !is_end {
                return Ok(None);
            }
            terms.push(self.expression(&(start..at))?);
            start = at + 1;
        }
        let mut value = bare_value(self.ws.sum(terms)?);
        value.unit = self.unit(&(span.end - 1..span.end), None)?.map(Box::new);
        Ok(Some(value))
    }

    /// Returns a currency before the number, with a sign before or after it.
    fn prefix(&self, span: &LexemeRange) -> (bool, Option<String>, LexemeRange) {
        let mut at = span.start;
        let is_negative = self.token(at) == Token::Minus;
        at += usize::from(is_negative || self.token(at) == Token::Plus);
        let name = |at: usize| match (at < span.end).then(|| self.token(at)) {
            Some(Token::Currency(name)) => Some((name.to_owned(), at + 1)),
            Some(Token::Word { text: "US", .. }) if at + 1 < span.end => {
                let is_dollar = self.token(at + 1) == Token::Currency("dollar");
                is_dollar.then(|| ("dollar".to_owned(), at + 2))
            }
            Some(Token::Word { text, .. }) if CODES.contains(&text) && at + 1 < span.end => {
                let is_number = matches!(self.token(at + 1), Token::Number(_));
                is_number.then(|| (text.to_owned(), at + 1))
            }
            _ => None,
        };
        match name(at) {
            Some((currency, after)) => (is_negative, Some(currency), after..span.end),
            // Without a currency the sign belongs to the expression.
            None => (false, None, span.clone()),
        }
    }

    /// Finds where the number or expression ends and words about it begin.
    fn number_end(&self, span: &LexemeRange, has_currency: bool) -> usize {
        let mut is_symbolic = false;
        let mut has_pi = false;
        for at in self.tops(span) {
            let is_first = at == span.start;
            match self.token(at) {
                Token::Percent | Token::Currency(_) if !is_first => return at,
                Token::Fraction if !is_first && self.unit_quotient(at, span.end).is_some() => {
                    return at;
                }
                Token::Degree if !is_first && !is_symbolic => return at,
                // `$18/hour` is no quotient.
                Token::Slash if !is_first && self.is_per(at, span, has_currency, is_symbolic) => {
                    return at;
                }
                Token::Word { text, style } => {
                    // `2\pi m` is a product, and `25π cm` is none.
                    let is_factor = is_symbolic || has_pi && text.len() == 1;
                    if !is_first && self.starts_unit(at, span, is_factor) {
                        return at;
                    }
                    is_symbolic |= style != Style::Upright || text.len() == 1;
                }
                Token::Name("Omega" | "mu")
                    if !is_first && !is_symbolic && self.starts_greek_unit(at, span) =>
                {
                    return at;
                }
                Token::Constant(Constant::Pi) => has_pi = true,
                Token::Name(_)
                | Token::Function(_)
                | Token::Constant(_)
                | Token::Cis
                | Token::CommonLogarithm => is_symbolic = true,
                Token::Open(_) => {
                    let inner = at + 1..self.items[at].mate;
                    is_symbolic |= self.has(&inner, |token| {
                        matches!(token, Token::Word { .. } | Token::Name(_) | Token::Function(_))
                    });
                }
                _ => {}
            }
        }
        span.end
    }

    /// Returns whether the slash at `at` stands before the word of a unit and after an amount of
    /// money.
    fn is_per(&self, at: usize, span: &LexemeRange, has_currency: bool, is_symbolic: bool) -> bool {
        let next = (at + 1 < span.end).then(|| self.token(at + 1));
        let is_word = matches!(next, Some(Token::Word { text, .. }) if text.len() > 1);
        has_currency && !is_symbolic && is_word
    }

    /// Returns whether the word at `at` starts a unit, a scale or a percentage and belongs to no
    /// formula.
    fn starts_unit(&self, at: usize, span: &LexemeRange, is_symbolic: bool) -> bool {
        let item = self.items[at];
        let Token::Word { text, style } = item.token else {
            return false;
        };
        // `120 min` are minutes, and no minimum of nothing.
        let is_time = matches!(text, "min" | "sec") && at + 1 == span.end;
        let is_function = names::function(text).is_some_and(|_| text.len() > 2)
            || text == "ln"
            || text == "mod"
            || text == "pi"
            || text == "oo"
            || (names::greek(text).is_some() && text != "mu");
        let is_mathematical = is_function && !is_time;
        if is_mathematical || matches!(self.token(at - 1), Token::Underscore | Token::Caret) {
            return false;
        }
        match style {
            Style::Upright => !matches!(text, "e" | "i" | "d"),
            Style::Plain | Style::Formula => {
                let is_apart = item.gap >= Gap::Thin;
                // `10^6 J`: a letter that stands apart at the end.
                let is_last = at + 1 == span.end && item.gap >= Gap::Blank;
                // `2 \times 10^8 m/s`
                let is_quotient = item.gap >= Gap::Blank
                    && at + 2 < span.end
                    && self.token(at + 1) == Token::Slash
                    && self.token(at + 2).word().is_some();
                let is_long = text.len() > 1 || style == Style::Plain || is_last || is_quotient;
                let rest = at..span.end;
                let has_letters =
                    text.len() > 3 || text == "pct" || self.measure(&rest, None).is_some();
                is_apart && is_long && !is_symbolic && has_letters
            }
        }
    }

    /// Returns whether `\Omega` or `\mu\text{m}` at `at` is the unit that ends `span`. Ohms that
    /// touch their number are a variable, and so is a `\mu` before no unit.
    fn starts_greek_unit(&self, at: usize, span: &LexemeRange) -> bool {
        let rest = at..span.end;
        let is_prefix = self.token(at) == Token::Name("mu");
        let has_word = self.has(
            &rest,
            |token| matches!(token, Token::Word { text, style } if style == Style::Upright || text.len() > 1),
        );
        // `40 μT` in plain text
        let is_plain = self.setting.dialect == Dialect::Plain && self.items[at].gap >= Gap::Blank;
        let is_marked =
            if is_prefix { has_word || is_plain } else { self.items[at].gap >= Gap::Thin };
        is_marked && self.measure(&rest, None).is_some()
    }

    /// Reads the scale word of `1.5 million`.
    fn scale(&mut self, rest: &mut LexemeRange, value: &mut Value) -> ParseResult<()> {
        let Some(word) = self.slice(rest).first().and_then(|item| item.token.word()) else {
            return Ok(());
        };
        let singular = word.strip_suffix('s').unwrap_or(word);
        let named = |(scale, _): &&(&str, u64)| scale.eq_ignore_ascii_case(singular);
        let Some((_, factor)) = SCALES.iter().find(named) else {
            return Ok(());
        };
        let zeros = factor.ilog10();
        let exponent = (10u64.pow(zeros) == *factor).then(|| zeros.cast_signed());
        self.multiply(value, &RBig::from(*factor), exponent)?;
        rest.start += 1;
        Ok(())
    }

    /// A percent sign or word, after a number without variables.
    fn percent(
        &mut self,
        rest: &mut LexemeRange,
        number: &LexemeRange,
        value: &mut Value,
    ) -> ParseResult<()> {
        let words: Vec<Option<&str>> =
            self.slice(rest).iter().take(2).map(|item| item.token.word()).collect();
        let taken = match (self.slice(rest).first().map(|item| item.token), words.as_slice()) {
            (Some(Token::Percent), _)
            | (
                _,
                [
                    Some(
                        "percent"
                        | "pct"
                        | "percentage"
                        | "Prozent"
                        | "процент"
                        | "процента"
                        | "процентов"
                        | "प्रतिशत",
                    ),
                    ..,
                ],
            ) => 1,
            (_, [Some("per" | "pour" | "por"), Some("cent" | "ciento" | "cento")]) => 2,
            _ => return Ok(()),
        };
        let is_symbolic = self.has(number, |token| {
            matches!(token, Token::Word { .. } | Token::Name(_) | Token::Constant(_))
        });
        if is_symbolic {
            return Err(Unread::NotMaths);
        }
        self.multiply(value, &number::power_of_ten(-2), Some(-2))?;
        value.is_percent = true;
        rest.start += taken;
        Ok(())
    }

    /// Multiplies `value` by `factor`, which is a power of ten where `exponent` says so.
    fn multiply(
        &mut self,
        value: &mut Value,
        factor: &RBig,
        exponent: Option<i32>,
    ) -> ParseResult<()> {
        value.last_digit = value.last_digit.zip(exponent).map(|(last, e)| last + e);
        value.expr = if let Node::Number(number) = self.ws.node(value.expr) {
            let product = number * factor;
            self.ws.number(product)?
        } else {
            let factor = self.ws.number(factor.clone())?;
            self.ws.product(vec![value.expr, factor])?
        };
        Ok(())
    }

    /// Returns the unit that all of `rest` and a currency before the number say.
    fn unit(&self, rest: &LexemeRange, currency: Option<&str>) -> ParseResult<Option<Measure>> {
        if rest.is_empty() && currency.is_none() {
            return Ok(None);
        }
        let unit = self.measure(rest, currency);
        unit.map(Some).ok_or(Unread::NotMaths)
    }

    /// Returns the parts of `\frac{\text{km}}{\text{h}}` at `at`, where both are words that are upright.
    fn unit_quotient(&self, at: usize, end: usize) -> Option<[LexemeRange; 2]> {
        let group = |at: usize| {
            let is_group = at < end && self.token(at) == Token::Open(Bracket::Group);
            is_group.then(|| at + 1..self.items[at].mate)
        };
        let above = (self.token(at) == Token::Fraction).then(|| group(at + 1))??;
        let below = group(above.end + 1)?;
        let is_unit = |range: &LexemeRange| {
            let is_part = |token: Token<'_>| match token {
                Token::Word { style, .. } => style == Style::Upright,
                Token::Caret | Token::Number(_) | Token::Times => true,
                _ => false,
            };
            !range.is_empty() && self.slice(range).iter().all(|item| is_part(item.token))
        };
        let has_word = self.token(above.start).word().is_some();
        let is_quotient = has_word && is_unit(&above) && is_unit(&below) && below.end < end;
        is_quotient.then_some([above, below])
    }

    pub(super) fn measure(&self, rest: &LexemeRange, currency: Option<&str>) -> Option<Measure> {
        if let Some([above, below]) =
            rest.clone().next().and_then(|at| self.unit_quotient(at, rest.end))
            && below.end + 1 == rest.end
        {
            let name = |range: &LexemeRange| {
                let mut name = String::new();
                for item in self.slice(range) {
                    name += match item.token {
                        Token::Word { text, .. } => text,
                        Token::Number(literal) if literal.is_digits() => literal.whole,
                        Token::Caret => "^",
                        Token::Times => "*",
                        _ => return None,
                    };
                }
                Some(name)
            };
            return measure::parse_marked_unit(&format!("{}/({})", name(&above)?, name(&below)?));
        }
        let mut text = String::new();
        let mut is_marked = currency.is_some();
        let mut last_word = "";
        if let Some(currency) = currency {
            text.push_str(currency);
            last_word = currency;
        }
        let inner = self.slice(rest);
        for (index, item) in inner.iter().enumerate() {
            match item.token {
                Token::Word { text: word, style } => {
                    is_marked |= style == Style::Upright;
                    // `$5 dollars` has the unit once.
                    let is_again =
                        currency.is_some() && word.strip_suffix('s').unwrap_or(word) == last_word;
                    if index == 0 && is_again {
                        continue;
                    }
                    // `cm` that ran into nothing else keeps its own place.
                    if !text.is_empty() && !text.ends_with(['/', '*', '°', 'µ', '(']) {
                        text.push(' ');
                    }
                    text.push_str(word);
                    last_word = word;
                }
                // `k\Omega`, `\mu\text{m}`.
                Token::Name("Omega") => text.push('Ω'),
                Token::Name("mu") => {
                    if !text.is_empty() && !text.ends_with(['/', '*', '(']) {
                        text.push(' ');
                    }
                    text.push('µ');
                }
                Token::Number(literal) if literal.is_digits() => text.push_str(literal.whole),
                Token::Caret => text.push('^'),
                Token::Slash => text.push('/'),
                Token::Times if !text.is_empty() => text.push('*'),
                Token::Minus if text.ends_with(['^', '{']) => text.push('-'),
                Token::Open(Bracket::Group) if text.ends_with('^') => text.push('{'),
                Token::Close(Bracket::Group) if text.contains('{') => text.push('}'),
                Token::Open(Bracket::Round) if text.ends_with('/') => text.push('('),
                Token::Close(Bracket::Round) if text.contains('(') => text.push(')'),
                Token::Degree => text.push('°'),
                Token::Currency(name) => text.push_str(name),
                Token::Prime => text.push('\''),
                _ => return None,
            }
            if text.len() > 80 {
                return None;
            }
        }
        if is_marked { measure::parse_marked_unit(&text) } else { measure::parse_unit(&text) }
    }

    /// Returns the power of ten of the last digit of `span`, if it is one decimal literal with a
    /// sign or a power of ten.
    fn last_digit(&self, span: &LexemeRange) -> Option<i32> {
        let tokens: Vec<Token<'_>> =
            self.slice(span).iter().take(9).map(|item| item.token).collect();
        let mut unsigned = tokens.as_slice();
        if let [Token::Minus | Token::Plus, rest @ ..] = unsigned {
            unsigned = rest;
        }
        let (literal, exponent) = match unsigned {
            [Token::Number(literal)] => (literal, 0),
            [Token::Number(literal), Token::Times, Token::Number(ten), Token::Caret, rest @ ..]
                if ten.whole == "10" && ten.is_digits() =>
            {
                (literal, small_exponent(rest)?)
            }
            _ => return None,
        };
        literal.last_digit()?.checked_add(exponent)
    }

    /// Decides whether `expr`, if it is a fraction of two literals, is in lowest terms.
    fn is_reduced(&mut self, expr: Expr) -> ParseResult<bool> {
        let Node::Product(factors) = self.ws.node(expr) else {
            return Ok(true);
        };
        let [above, inverse] = **factors else {
            return Ok(true);
        };
        let (Node::Number(above), Node::Power(below, exponent)) =
            (self.ws.node(above), self.ws.node(inverse))
        else {
            return Ok(true);
        };
        let (Node::Number(below), Node::Number(exponent)) =
            (self.ws.node(*below), self.ws.node(*exponent))
        else {
            return Ok(true);
        };
        let is_fraction = above.is_int()
            && below.is_int()
            && exponent.is_int()
            && *exponent.numerator() == IBig::NEG_ONE;
        if !is_fraction || below.is_zero() {
            return Ok(true);
        }
        let above = above.numerator().clone();
        let below: UBig = below.numerator().clone().into_parts().1;
        let digits = below.to_le_bytes().len() * 5 / 2;
        self.ws.fuel.spend(number::cost(digits))?;
        let is_integer = below == UBig::ONE;
        let reduced = RBig::from_parts(above, below.clone());
        Ok(!is_integer && *reduced.denominator() == below)
    }
}

/// Returns the exponent of a power of ten: `3`, `{-20}`, `(3)`.
fn small_exponent(mut tokens: &[Token<'_>]) -> Option<i32> {
    if let [Token::Open(_), inner @ .., Token::Close(_)] = tokens {
        tokens = inner;
    }
    let (is_negative, inner) = match tokens {
        [Token::Minus, rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let [Token::Number(literal)] = inner else {
        return None;
    };
    let magnitude: i32 = literal.whole.parse().ok().filter(|_| literal.is_digits())?;
    Some(if is_negative { -magnitude } else { magnitude })
}

//! From text to a number: the whole text, or nothing.
//!
//! A text that only starts with a number is no number: neither `4\sqrt(2)`, nor `2**100`, nor
//! `12/25/2020` is read. Nothing is evaluated beyond the forms of a single number, and every power
//! of ten is paid for in fuel before it is built.

use dashu::rational::RBig;

use super::answer::{self, Answer, Number, Variables};
use super::cursor::{Cursor, Decimal, Obstacle};
use super::lexer::{self, Token};
use super::symbols;
use super::unit;
use super::words::{CURRENCY_CODES, SCALES};
use crate::extract::unwrapped;
use crate::fuel::Fuel;
use crate::number::{self, Literal};

/// The longest text that is read, in bytes.
pub(super) const MAX_BYTES: usize = 64 * 1024;

/// Literals up to this many bytes fit machine words and cost next to nothing.
const SHORT: usize = 19;

/// The answer that `text` states.
pub(super) fn read(text: &str, fuel: &mut Fuel) -> Result<Answer, Obstacle> {
    if text.len() > MAX_BYTES {
        return Err(Obstacle::TooLong);
    }
    fuel.spend(u64::try_from(text.len()).unwrap_or(u64::MAX))?;
    let text = unboxed(unwrapped(text));
    if let Some(number) = plain_number(text) {
        return Ok(Answer::Number(number));
    }
    let ascii = symbols::to_ascii(text);
    let tokens = lexer::tokens(&ascii).ok_or(Obstacle::Unread)?;
    let tokens = tokens.as_slice();
    whole_text(Cursor { tokens, fuel }).map(Answer::Number)
}

/// `text` without a box around it.
fn unboxed(text: &str) -> &str {
    let inner = text
        .strip_prefix("\\boxed{")
        .and_then(|rest| rest.strip_suffix('}'));
    inner.map_or(text, unwrapped)
}

/// The fast path: a short decimal with or without a sign.
fn plain_number(text: &str) -> Option<Number> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let literal = Literal::scan(unsigned)?;
    if literal.len() != unsigned.len() || literal.len() > SHORT {
        return None;
    }
    let value = literal.value();
    let decimals = literal.decimals().and_then(|n| i32::try_from(n).ok());
    Some(Number {
        value: if text.starts_with('-') { -value } else { value },
        last_digit: decimals.map(|n| -n),
        variables: Variables::default(),
        unit: None,
    })
}

/// The whole text: `x = ` or nothing, a quantity, `≈` and another one or nothing, a unit.
fn whole_text(mut cursor: Cursor<'_, '_, '_>) -> Result<Number, Obstacle> {
    let variables = variables(&mut cursor);
    let (currency, Quantity { value, last_digit }) = quantity(&mut cursor)?;
    let before = cursor.tokens;
    cursor.skip_space();
    if cursor.eat(Token::Approx) {
        cursor.skip_space();
        quantity(&mut cursor)?;
    } else {
        cursor.tokens = before;
    }
    let unit = unit::read(cursor.tokens, currency)?;
    Ok(Number {
        value,
        last_digit,
        variables,
        unit,
    })
}

/// `x = `, `a = b = `, `x ≈ `, `= `, or nothing.
fn variables(cursor: &mut Cursor<'_, '_, '_>) -> Variables {
    let mut variables = Variables::default();
    let mut is_first = true;
    loop {
        cursor.skip_space();
        let before = cursor.tokens;
        let letter = variable(cursor);
        cursor.skip_space();
        let is_assigned = cursor.eat(Token::Equals) || cursor.eat(Token::Approx);
        match letter {
            Some(letter) if is_assigned => variables.insert(letter),
            None if is_assigned && is_first => {}
            Some(_) | None => {
                cursor.tokens = before;
                return variables;
            }
        }
        is_first = false;
    }
}

/// A word of one letter.
fn variable(cursor: &mut Cursor<'_, '_, '_>) -> Option<u8> {
    let (Token::Word { letters, .. }, rest) = cursor.tokens.split_first()? else {
        return None;
    };
    let &[letter] = letters.as_bytes() else {
        return None;
    };
    cursor.tokens = rest;
    Some(letter)
}

/// A value and, where it was written with a decimal point, the power of ten of its last digit.
struct Quantity {
    value: RBig,
    last_digit: Option<i32>,
}

impl Quantity {
    fn exact(value: RBig) -> Self {
        let last_digit = None;
        Self { value, last_digit }
    }

    /// Multiplies by `factor`; `exponent` says which power of ten it is, if it is one.
    fn multiply(&mut self, factor: RBig, exponent: Option<i32>) {
        self.value *= factor;
        self.last_digit = self.last_digit.zip(exponent).map(|(last, e)| last + e);
    }
}

/// The currency before a signed number, and the number with all that belongs to its value.
fn quantity(cursor: &mut Cursor<'_, '_, '_>) -> Result<(Option<&'static str>, Quantity), Obstacle> {
    let outer = cursor.sign();
    let currency = currency(cursor);
    let inner = currency.and_then(|_| cursor.sign());
    if outer.is_some() && inner.is_some() {
        return Err(Obstacle::Unread);
    }
    let mut quantity = magnitude(cursor)?;
    scale(cursor, &mut quantity);
    percent(cursor, &mut quantity);
    if outer.or(inner) == Some(true) {
        quantity.value = -quantity.value;
    }
    Ok((currency, quantity))
}

/// A currency sign or code.
fn currency(cursor: &mut Cursor<'_, '_, '_>) -> Option<&'static str> {
    let (name, rest) = match cursor.tokens {
        [Token::Currency(name), rest @ ..]
        | [
            Token::Word { letters: "US", .. },
            Token::Currency(name),
            rest @ ..,
        ] => (*name, rest),
        [Token::Word { letters, .. }, rest @ ..] => {
            let (_, name) = CURRENCY_CODES.iter().find(|(code, _)| code == letters)?;
            (*name, rest)
        }
        _ => return None,
    };
    cursor.tokens = rest;
    cursor.skip_space();
    Some(name)
}

/// A number without its sign.
fn magnitude(cursor: &mut Cursor<'_, '_, '_>) -> Result<Quantity, Obstacle> {
    let close = match cursor.tokens.first() {
        Some(Token::OpenParen) => Token::CloseParen,
        Some(Token::OpenBrace) => Token::CloseBrace,
        _ => return ungrouped(cursor),
    };
    // Parentheses do not nest: what they hold is a number with its sign.
    cursor.tokens = &cursor.tokens[1..];
    cursor.skip_space();
    let negative = cursor.sign().unwrap_or(false);
    let mut quantity = ungrouped(cursor)?;
    if negative {
        quantity.value = -quantity.value;
    }
    cursor.skip_space();
    cursor
        .eat(close)
        .then_some(quantity)
        .ok_or(Obstacle::Unread)
}

/// A fraction, a power of ten, a mixed number or a literal.
fn ungrouped(cursor: &mut Cursor<'_, '_, '_>) -> Result<Quantity, Obstacle> {
    if cursor.tokens.first() == Some(&Token::Fraction) {
        return cursor.fraction().map(Quantity::exact);
    }
    let decimal = cursor.decimal()?;
    if let Some((mantissa, exponent)) = cursor.scientific(&decimal)? {
        return Ok(Quantity {
            value: cursor.shifted(&mantissa, exponent)?,
            last_digit: mantissa
                .last_digit()
                .map(|last| last.saturating_add(exponent)),
        });
    }
    let before = cursor.tokens;
    cursor.skip_space();
    match cursor.tokens {
        // `$18/hour` is not a division.
        [Token::Slash, Token::Word { .. }, ..]
        | [Token::Slash, Token::Space, Token::Word { .. }, ..] => cursor.tokens = before,
        [Token::Slash, ..] => return divided(cursor, &decimal).map(Quantity::exact),
        [Token::Fraction, ..] if decimal.is_integer() => {
            let part = cursor.fraction()?;
            return mixed(cursor, &decimal, part);
        }
        [Token::Digits(_), Token::Slash, ..] if decimal.is_integer() => {
            let numerator = cursor.decimal()?;
            let part = divided(cursor, &numerator)?;
            return mixed(cursor, &decimal, part);
        }
        _ => cursor.tokens = before,
    }
    Ok(Quantity {
        value: decimal.value(),
        last_digit: decimal.last_digit(),
    })
}

/// The rest of `a / b`, from the slash on.
fn divided(cursor: &mut Cursor<'_, '_, '_>, above: &Decimal) -> Result<RBig, Obstacle> {
    if !cursor.eat(Token::Slash) {
        return Err(Obstacle::Unread);
    }
    cursor.skip_space();
    let below = cursor.decimal()?;
    cursor.ratio(above, &below)
}

/// A whole number and a proper fraction.
fn mixed(
    cursor: &mut Cursor<'_, '_, '_>,
    whole: &Decimal,
    part: RBig,
) -> Result<Quantity, Obstacle> {
    if part <= RBig::ZERO || part >= RBig::ONE {
        return Err(Obstacle::Unread);
    }
    cursor.pay(whole.len() + answer::digits(&part))?;
    Ok(Quantity::exact(whole.value() + part))
}

/// A scale word: `1.5 million`.
fn scale(cursor: &mut Cursor<'_, '_, '_>, quantity: &mut Quantity) {
    let [Token::Space, Token::Word { letters, .. }, rest @ ..] = cursor.tokens else {
        return;
    };
    let named = |(word, _): &&(&str, u64)| word.eq_ignore_ascii_case(letters);
    let Some((_, factor)) = SCALES.iter().find(named) else {
        return;
    };
    let zeros = factor.ilog10();
    let is_power = 10u64.pow(zeros) == *factor;
    let exponent = i32::try_from(zeros).ok().filter(|_| is_power);
    quantity.multiply(RBig::from(*factor), exponent);
    cursor.tokens = rest;
}

/// A percent sign or word: a hundredth.
fn percent(cursor: &mut Cursor<'_, '_, '_>, quantity: &mut Quantity) {
    let mut tokens = cursor.tokens;
    while let [Token::Space | Token::FormulaEnd, rest @ ..] = tokens {
        tokens = rest;
    }
    let is_word = |letters: &&str| ["percent", "pct", "percentage"].contains(letters);
    let rest = match tokens {
        [Token::Word { letters, .. }, rest @ ..] if is_word(letters) => rest,
        [
            Token::Word { letters: "per", .. },
            Token::Space,
            Token::Word {
                letters: "cent", ..
            },
            rest @ ..,
        ]
        | [Token::Percent, rest @ ..] => rest,
        _ => return,
    };
    quantity.multiply(number::power_of_ten(-2), Some(-2));
    cursor.tokens = rest;
}

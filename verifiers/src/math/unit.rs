//! Unit words after a number: `18 eggs`, `15 \text{ cm}^2`, `$5 per hour`.
//!
//! A unit can be dropped on one side, so a word that is read as a unit must not be part of the
//! number or of an expression. Hence single letters and short words count only where a table knows
//! them or `\text{…}` marks them, longer words count unless a list of words that change a number
//! forbids them, and a word that touches its number (`3m`) counts only where the gold answer has
//! the same unit. Units are compared by name; nothing is converted.

use super::cursor::Obstacle;
use super::lexer::Token;
use super::words::{NO_UNITS, SHORT_WORDS, SPELLINGS, UPRIGHT_SYMBOLS};

/// A unit, with one spelling for each meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unit {
    name: String,
    /// Whether it touches its number, as in `3m`, which may be an expression.
    pub(super) attached: bool,
}

impl Unit {
    /// Its name, for people.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether both mean the same. "Pounds" may be money or mass.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let pounds = |a: &str, b: &str| a == "pound" && matches!(b, "lb" | "gbp");
        self.name == other.name
            || pounds(&self.name, &other.name)
            || pounds(&other.name, &self.name)
    }
}

/// Words of one unit at most.
const MAX_WORDS: usize = 6;

/// The unit that `tokens`, all that follows a number, say together with the currency sign before
/// it; `None` where there is neither.
///
/// # Errors
/// [`Obstacle::Unread`] where they say something else.
pub(super) fn read(
    tokens: &[Token<'_>],
    currency: Option<&'static str>,
) -> Result<Option<Unit>, Obstacle> {
    let attached = matches!(tokens.first(), Some(Token::Word { upright: false, .. }));
    let mut writer = Writer {
        name: String::new(),
        power: None,
        over: false,
        words: 0,
        has_currency: currency.is_some(),
    };
    let mut rest = tokens;
    while !rest.is_empty() {
        rest = writer.step(rest).ok_or(Obstacle::Unread)?;
    }
    if writer.over || writer.power.is_some() {
        return Err(Obstacle::Unread);
    }
    let words = writer.name;
    let name = match currency {
        None if words.is_empty() => return Ok(None),
        None => words,
        Some(currency) if words.is_empty() || words == currency => currency.to_owned(),
        Some(currency) if words.starts_with('/') => format!("{currency}{words}"),
        Some(currency) => format!("{currency} {words}"),
    };
    Ok(Some(Unit { name, attached }))
}

struct Writer {
    name: String,
    /// The power that "square" or "cubic" gives to the next word.
    power: Option<&'static str>,
    /// Whether the next word is below a fraction line.
    over: bool,
    words: usize,
    /// Whether a currency sign stands before the number, so that a `/` may follow it.
    has_currency: bool,
}

impl Writer {
    /// Takes a part of the unit and returns what follows it.
    fn step<'t, 'a>(&mut self, tokens: &'t [Token<'a>]) -> Option<&'t [Token<'a>]> {
        let (first, rest) = tokens.split_first()?;
        match first {
            Token::Space | Token::FormulaEnd => Some(rest),
            Token::Slash if self.words > 0 || self.has_currency => self.divide().then_some(rest),
            Token::Times if self.words > 0 && is_word(rest) => Some(rest),
            Token::Caret => self.raise(rest),
            Token::Degree => self.degree(rest),
            Token::Currency(name) => self.push(name).then_some(rest),
            Token::Word { letters, upright } => self.word(letters, *upright).then_some(rest),
            Token::Slash
            | Token::Times
            | Token::Digits(_)
            | Token::Point
            | Token::Comma
            | Token::Plus
            | Token::Minus
            | Token::OpenBrace
            | Token::CloseBrace
            | Token::OpenParen
            | Token::CloseParen
            | Token::Percent
            | Token::Equals
            | Token::Approx
            | Token::Fraction => None,
        }
    }

    fn divide(&mut self) -> bool {
        let first_time = !self.over;
        self.over = true;
        first_time && self.power.is_none()
    }

    fn word(&mut self, letters: &str, upright: bool) -> bool {
        match letters {
            "per" | "each" => return self.divide() && (letters == "per" || self.push("each")),
            "square" | "sq" => return self.power.replace("^2").is_none(),
            "cubic" | "cu" => return self.power.replace("^3").is_none(),
            _ => {}
        }
        is_unit_word(letters, upright) && self.push(&canonical(letters))
    }

    fn push(&mut self, name: &str) -> bool {
        if self.over {
            self.name.push('/');
        } else if self.words > 0 {
            self.name.push(' ');
        }
        self.over = false;
        self.name.push_str(name);
        self.name.push_str(self.power.take().unwrap_or_default());
        self.words += 1;
        self.words <= MAX_WORDS
    }

    /// A degree sign, of an angle or of a temperature.
    fn degree<'t, 'a>(&mut self, rest: &'t [Token<'a>]) -> Option<&'t [Token<'a>]> {
        let after = rest.strip_prefix(&[Token::Space]).unwrap_or(rest);
        let (scale, rest) = match after {
            [Token::Word { letters: "C", .. }, rest @ ..] => (Some("celsius"), rest),
            [Token::Word { letters: "F", .. }, rest @ ..] => (Some("fahrenheit"), rest),
            _ => (None, rest),
        };
        let pushed = self.push("degree") && scale.is_none_or(|scale| self.push(scale));
        pushed.then_some(rest)
    }

    /// What follows `^`: the degree sign, or a power of the last word.
    fn raise<'t, 'a>(&mut self, rest: &'t [Token<'a>]) -> Option<&'t [Token<'a>]> {
        let (sign, power, rest) = match rest {
            [Token::Degree, rest @ ..]
            | [
                Token::OpenBrace,
                Token::Degree,
                Token::CloseBrace,
                rest @ ..,
            ] => {
                return self.degree(rest);
            }
            [Token::Digits(power), rest @ ..]
            | [
                Token::OpenBrace,
                Token::Digits(power),
                Token::CloseBrace,
                rest @ ..,
            ] => ("", power, rest),
            [Token::Minus, Token::Digits(power), rest @ ..]
            | [
                Token::OpenBrace,
                Token::Minus,
                Token::Digits(power),
                Token::CloseBrace,
                rest @ ..,
            ] => ("-", power, rest),
            _ => return None,
        };
        if self.words == 0 || self.over || power.len() > 2 {
            return None;
        }
        self.name.push('^');
        self.name.push_str(sign);
        self.name.push_str(power);
        Some(rest)
    }
}

/// Whether a word comes next.
fn is_word(tokens: &[Token<'_>]) -> bool {
    let next = tokens.iter().find(|token| **token != Token::Space);
    matches!(next, Some(Token::Word { .. }))
}

/// Whether a word may name a unit.
fn is_unit_word(letters: &str, upright: bool) -> bool {
    let lower = letters.to_ascii_lowercase();
    if SPELLINGS.iter().any(|(spelling, _)| *spelling == letters) {
        return letters.len() > 1 || upright || matches!(letters, "m" | "s" | "g" | "h" | "L");
    }
    if NO_UNITS.contains(&lower.as_str()) {
        return false;
    }
    match letters.len() {
        1 => upright && UPRIGHT_SYMBOLS.contains(&letters),
        2 | 3 => upright || SHORT_WORDS.contains(&lower.as_str()),
        _ => true,
    }
}

/// One spelling for all spellings of a unit.
fn canonical(letters: &str) -> String {
    if let Some(name) = spelled(letters) {
        return name.to_owned();
    }
    let lower = letters.to_ascii_lowercase();
    let singular = singular(&lower);
    spelled(&lower)
        .or_else(|| spelled(&singular))
        .map_or(singular.clone(), str::to_owned)
}

fn spelled(word: &str) -> Option<&'static str> {
    let entry = SPELLINGS.iter().find(|(spelling, _)| *spelling == word);
    entry.map(|(_, name)| *name)
}

/// An English noun without its plural ending; a rough rule, the same for both sides.
fn singular(word: &str) -> String {
    let es = ["ches", "shes", "sses", "xes"];
    if let Some(stem) = word.strip_suffix("ies") {
        format!("{stem}y")
    } else if es.iter().any(|end| word.ends_with(end)) {
        word[..word.len() - 2].to_owned()
    } else if word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") {
        word[..word.len() - 1].to_owned()
    } else {
        word.to_owned()
    }
}

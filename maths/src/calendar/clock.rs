//! Reading times of day.

use super::Clock;
use super::lexer::{DateToken, tokens};

/// Half of the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Half {
    Morning,
    Afternoon,
    Open,
}

/// Parses all of `text` as a time: `7:30 pm`, `19:30`, `7:30:15`, `7 p.m.`, `7 o'clock`, `noon`,
/// `midnight`.
pub(crate) fn clock(text: &str) -> Option<Clock> {
    let tokens = tokens(text)?;
    let (numbers, half) = time_parts(&tokens)?;
    let (hour, minute, second, digits) = numbers;
    if minute > 59 || second.is_some_and(|second| second > 59) {
        return None;
    }
    let is_open = half == Half::Open && (1..=12).contains(&hour) && !digits.starts_with('0');
    let hour = match half {
        Half::Open if hour == 24 && minute == 0 && second.unwrap_or(0) == 0 => 0,
        Half::Open => (hour <= 23).then_some(hour)?,
        // `19:30 pm` names its half twice.
        Half::Afternoon if (13..=23).contains(&hour) => hour,
        Half::Morning | Half::Afternoon => {
            let is_hour = (1..=12).contains(&hour);
            let in_half = is_hour.then_some(hour % 12)?;
            in_half + if half == Half::Afternoon { 12 } else { 0 }
        }
    };
    let is_half_named = half != Half::Open;
    Some(Clock { hour, minute, second, is_open_half: is_open, is_half_named })
}

type Numbers<'a> = (u8, u8, Option<u8>, &'a str);

/// Returns the numbers of a time and its half of the day.
fn time_parts<'a>(tokens: &[DateToken<'a>]) -> Option<(Numbers<'a>, Half)> {
    use DateToken::{Mark, Number, Space, Word};
    let tokens: Vec<_> = tokens.iter().filter(|token| **token != Space).collect();
    let word_of_day = |word: &str| match word.to_ascii_lowercase().as_str() {
        "noon" | "midday" => Some(Half::Afternoon),
        "midnight" => Some(Half::Morning),
        _ => None,
    };
    let small = |number: u16| u8::try_from(number).ok();
    let (hour, minute, second, digits, rest) = match tokens[..] {
        [Word(word)] => return Some(((12, 0, None, "12"), word_of_day(word)?)),
        [Number(12, _), Word(word)] if word_of_day(word).is_some() => {
            return Some(((12, 0, None, "12"), word_of_day(word)?));
        }
        [
            Number(h, digits),
            Mark(':'),
            Number(m, minutes),
            Mark(':'),
            Number(s, seconds),
            ref rest @ ..,
        ] if minutes.len() == 2 && seconds.len() == 2 => {
            (small(*h)?, small(*m)?, Some(small(*s)?), digits, rest)
        }
        [Number(h, digits), Mark(':'), Number(m, minutes), ref rest @ ..] if minutes.len() == 2 => {
            (small(*h)?, small(*m)?, None, digits, rest)
        }
        [Number(h, digits), Mark('.'), Number(m, minutes), ref rest @ ..]
            if minutes.len() == 2 && !rest.is_empty() =>
        {
            (small(*h)?, small(*m)?, None, digits, rest)
        }
        [Number(h, digits), ref rest @ ..] if !rest.is_empty() => {
            (small(*h)?, 0, None, digits, rest)
        }
        _ => return None,
    };
    if digits.len() > 2 {
        return None;
    }
    Some(((hour, minute, second, digits), half(rest)?))
}

/// Parses the half of the day after the numbers.
fn half(rest: &[&DateToken<'_>]) -> Option<Half> {
    use DateToken::{Mark, Word};
    match rest {
        [] => Some(Half::Open),
        [Word(o), Mark('\'' | '’'), Word(clock), rest @ ..]
            if o.eq_ignore_ascii_case("o") && clock.eq_ignore_ascii_case("clock") =>
        {
            half(rest)
        }
        [Word(half)] | [Word(half), Mark('.')] => letter(half.strip_suffix(['m', 'M'])?),
        [Word(half), Mark('.'), Word("m" | "M")]
        | [Word(half), Mark('.'), Word("m" | "M"), Mark('.')] => letter(half),
        _ => None,
    }
}

fn letter(letter: &str) -> Option<Half> {
    match letter {
        "a" | "A" => Some(Half::Morning),
        "p" | "P" => Some(Half::Afternoon),
        _ => None,
    }
}

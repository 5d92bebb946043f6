//! Reading dates.

use super::Date;
use super::lexer::{DateToken, tokens};

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

const WEEKDAYS: [&str; 7] =
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// Parses all of `text` as a date: a month by name with a day or a year or both (`July 4, 1776`, `4
/// July`, `July 1776`), or three numbers (`1776-07-04`, `7/4/1776`, `4.7.1776`, `1776年7月4日`), with
/// a weekday before it or an era after it.
///
/// With slashes and hyphens the month comes first unless it cannot, and the order is ambiguous
/// where it could be the other; with points the day comes first unless it cannot. Years have four
/// digits except after the name of a month or with an era. Days that no calendar has are refused;
/// weekdays are not checked.
pub(crate) fn date(text: &str) -> Option<Date> {
    let tokens = tokens(text)?;
    let tokens = without_weekday(&tokens);
    let (tokens, era) = without_era(tokens);
    let date = month_name_date(tokens, era).or_else(|| numbered(tokens, era))?;
    exists(&date).then_some(date)
}

/// Whether years count backwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Era {
    Before,
    After,
}

/// Returns the number of the name in `names` that `word` is or shortens to three letters or more.
/// Returns whether `word` is the name of a month or its abbreviation, in any case.
pub fn is_month(word: &str) -> bool {
    position(&MONTHS, word).is_some()
}

fn position(names: &[&str], word: &str) -> Option<usize> {
    let lower = word.to_ascii_lowercase();
    let is_it = |name: &&str| **name == lower || (name[..3] == lower) || is_usual(name, &lower);
    names.iter().position(is_it)
}

/// Abbreviations of four letters.
fn is_usual(name: &str, short: &str) -> bool {
    matches!(short, "sept" | "tues" | "thur" | "thurs") && name.starts_with(short)
}

fn without_weekday<'t, 'a>(tokens: &'t [DateToken<'a>]) -> &'t [DateToken<'a>] {
    let [DateToken::Word(word), rest @ ..] = tokens else {
        return tokens;
    };
    let is_on = word.eq_ignore_ascii_case("on") || word.eq_ignore_ascii_case("the");
    if is_on && let [DateToken::Space, rest @ ..] = rest {
        return without_weekday(rest);
    }
    if position(&WEEKDAYS, word).is_none() {
        return tokens;
    }
    let start = rest
        .iter()
        .position(|token| !matches!(token, DateToken::Space | DateToken::Mark(',' | '.')));
    &rest[start.unwrap_or(rest.len())..]
}

/// Returns the tokens before `BC` and the like or after `AD`.
fn without_era<'t, 'a>(tokens: &'t [DateToken<'a>]) -> (&'t [DateToken<'a>], Option<Era>) {
    use DateToken::{Mark, Space, Word};
    let is_point = |token: &&DateToken<'_>| matches!(token, Mark('.'));
    let undotted: Vec<_> = tokens.iter().rev().filter(|token| !is_point(token)).take(4).collect();
    let joined = |letters: &[&&DateToken<'_>]| -> String {
        letters
            .iter()
            .rev()
            .filter_map(|token| match token {
                Word(word) => Some(word.to_ascii_lowercase()),
                DateToken::Number(..) | Mark(_) | Space => None,
            })
            .collect()
    };
    // `B.C.` is two words of a letter with points between.
    for letters in [3, 2, 1] {
        let Some(era) = undotted.get(..letters) else {
            continue;
        };
        let era = era.iter().collect::<Vec<_>>();
        if !era.iter().all(|token| matches!(token, Word(_))) {
            continue;
        }
        let era = match joined(&era).as_str() {
            "bc" | "bce" => Era::Before,
            "ad" | "ce" => Era::After,
            _ => continue,
        };
        let mut left = letters;
        let mut end = tokens.len();
        while left > 0 {
            end -= 1;
            left -= usize::from(matches!(tokens[end], Word(_)));
        }
        let end =
            tokens[..end].iter().rposition(|token| *token != Space).map_or(0, |last| last + 1);
        return (&tokens[..end], Some(era));
    }
    (tokens, None)
}

/// Parses a date with the name of its month.
fn month_name_date(tokens: &[DateToken<'_>], era: Option<Era>) -> Option<Date> {
    use DateToken::{Mark, Number, Space, Word};
    let mut parts = Vec::with_capacity(4);
    let mut last = Space;
    for token in tokens {
        match token {
            Number(..) => parts.push(*token),
            Word(word) if is_suffix(last, word) => {}
            Word(word) if word.eq_ignore_ascii_case("of") || word.eq_ignore_ascii_case("the") => {}
            Word(word) if position(&MONTHS, word).is_some() => parts.push(*token),
            Mark('.' | ',' | '-' | '/') if !matches!(last, Mark(_)) => {}
            Space => {}
            Word(_) | Mark(_) => return None,
        }
        if *token != Space {
            last = *token;
        }
    }
    let month = |word: &str| position(&MONTHS, word);
    let (month, day, year) = match parts[..] {
        [Number(y, digits), Word(m), Number(d, _)] if digits.len() == 4 => {
            (month(m)?, Some(d), Some((y, digits)))
        }
        [Word(m), Number(d, _), Number(y, digits)] | [Number(d, _), Word(m), Number(y, digits)] => {
            (month(m)?, Some(d), Some((y, digits)))
        }
        [Word(m), Number(y, digits)] if digits.len() >= 3 || era.is_some() => {
            (month(m)?, None, Some((y, digits)))
        }
        [Word(m), Number(d, _)] | [Number(d, _), Word(m)] if era.is_none() => {
            (month(m)?, Some(d), None)
        }
        _ => return None,
    };
    let year = match year {
        Some((year, digits)) if digits.len() >= 3 || era.is_some() => Some(counted(year, era)?),
        Some(_) => return None,
        None => None,
    };
    let day = match day {
        Some(day) => Some(u8::try_from(day).ok()?),
        None => None,
    };
    Some(Date { year, month: u8::try_from(month + 1).ok()?, day, is_ambiguous: false })
}

/// Returns whether `word` makes an ordinal of the number before it.
fn is_suffix(last: DateToken<'_>, word: &str) -> bool {
    let DateToken::Number(number, _) = last else {
        return false;
    };
    word.eq_ignore_ascii_case(crate::numerals::suffix(number.into()))
}

/// Parses a date of three numbers.
fn numbered(tokens: &[DateToken<'_>], era: Option<Era>) -> Option<Date> {
    use DateToken::{Mark, Number};
    let ([Number(a, first), Mark(sign), Number(b, second), Mark(also), Number(c, third)]
    | [
        Number(a, first),
        Mark(sign @ '年'),
        Number(b, second),
        Mark(also @ '月'),
        Number(c, third),
        Mark('日' | '号'),
    ]) = tokens
    else {
        return None;
    };
    let is_chinese = (*sign, *also) == ('年', '月');
    if !is_chinese && (sign != also || !matches!(sign, '-' | '/' | '.' | '–' | '−')) {
        return None;
    }
    let is_short = |digits: &str| digits.len() <= 2;
    let small = |number: &u16| u8::try_from(*number).ok();
    if first.len() == 4 && is_short(second) && is_short(third) {
        return Some(Date {
            year: Some(counted(*a, era)?),
            month: small(b)?,
            day: Some(small(c)?),
            is_ambiguous: false,
        });
    }
    if third.len() != 4 || !is_short(first) || !is_short(second) || is_chinese {
        return None;
    }
    let (a, b) = (small(a)?, small(b)?);
    let day_first = if *sign == '.' { b <= 12 } else { a > 12 };
    let (month, day) = if day_first { (b, a) } else { (a, b) };
    Some(Date {
        year: Some(counted(*c, era)?),
        month,
        day: Some(day),
        is_ambiguous: *sign != '.' && a <= 12 && b <= 12 && a != b,
    })
}

/// Returns the astronomical year.
fn counted(year: u16, era: Option<Era>) -> Option<i32> {
    let year = i32::from(year);
    match era {
        _ if year == 0 => None,
        Some(Era::Before) => Some(1 - year),
        Some(Era::After) | None => Some(year),
    }
}

/// Returns whether a calendar has this day: the Gregorian one, or before 1583 the Julian one.
fn exists(date: &Date) -> bool {
    let is_leap = date.year.is_none_or(|year| {
        let julian = year % 4 == 0;
        julian && (year < 1583 || year % 100 != 0 || year % 400 == 0)
    });
    let days = match date.month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => return false,
    };
    date.day.is_none_or(|day| (1..=days).contains(&day))
}

//! Ranges of strengths as text: `..-0.5`, `10%..40%`, `3..`.

use std::str::FromStr;

use super::StrengthBound;

/// The strengths from one bound up to another.
#[derive(Debug, Clone, PartialEq)]
pub struct StrengthRange {
    /// The text that it was parsed from.
    pub text: String,
    /// Lower bound, included; `None` for all from the weakest pair on.
    pub from: Option<StrengthBound>,
    /// Upper bound, excluded; `None` for all to the strongest pair.
    pub below: Option<StrengthBound>,
}

impl FromStr for StrengthRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((from, below)) = text.split_once("..") else {
            return Err("a range is FROM..BELOW, such as ..-0.5, 10%..40% or 3..".to_owned());
        };
        let (from, below) = (bound(from)?, bound(below)?);
        let is_empty = match (from, below) {
            (Some(StrengthBound::Strength(from)), Some(StrengthBound::Strength(below)))
            | (Some(StrengthBound::Quantile(from)), Some(StrengthBound::Quantile(below))) => {
                from >= below
            }
            (None, None) => return Err("'..' is every pair; give one bound at least".to_owned()),
            (Some(_) | None, Some(_) | None) => false,
        };
        if is_empty {
            return Err("it begins where it ends or later, so that no pair is in it".to_owned());
        }
        Ok(Self { text: text.to_owned(), from, below })
    }
}

/// Parses a strength or a percentage of all pairs; `None` for an empty text.
fn bound(text: &str) -> Result<Option<StrengthBound>, String> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let (number, is_share) = match text.strip_suffix('%') {
        Some(number) => (number.trim_end(), true),
        None => (text, false),
    };
    let value: f64 =
        number.parse().map_err(|_| format!("'{text}' is neither a number nor a percentage"))?;
    match is_share {
        _ if !value.is_finite() => Err(format!("'{text}' is not finite; leave the bound out")),
        true if !(0.0..=100.0).contains(&value) => Err(format!("'{text}' is not from 0% to 100%")),
        true => Ok(Some(StrengthBound::Quantile(value / 100.0))),
        false => Ok(Some(StrengthBound::Strength(value))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_parsed() {
        #[track_caller]
        fn check(
            text: &str,
            expected: Result<(Option<StrengthBound>, Option<StrengthBound>), &str>,
        ) {
            match (text.parse::<StrengthRange>(), expected) {
                (Ok(found), Ok(expected)) => assert_eq!((found.from, found.below), expected),
                (Err(found), Err(part)) => assert!(found.contains(part), "{text}: {found}"),
                (found, expected) => panic!("{text}: {found:?} and not {expected:?}"),
            }
        }
        let (strength, quantile) = (
            |value| Some(StrengthBound::Strength(value)),
            |value| Some(StrengthBound::Quantile(value)),
        );
        check("..-0.5", Ok((None, strength(-0.5))));
        check("-1..1e3", Ok((strength(-1.0), strength(1000.0))));
        check("10%..40 %", Ok((quantile(0.1), quantile(0.4))));
        check(" 3 .. ", Ok((strength(3.0), None)));
        check("-1..90%", Ok((strength(-1.0), quantile(0.9))));
        check("..", Err("every pair"));
        check("", Err("FROM..BELOW"));
        check("3", Err("FROM..BELOW"));
        check("a..3", Err("'a' is neither"));
        check("..101%", Err("0% to 100%"));
        check("-1%..", Err("0% to 100%"));
        check("nan..", Err("not finite"));
        check("..inf", Err("not finite"));
        check("1..1", Err("no pair"));
        check("40%..10%", Err("no pair"));
    }
}

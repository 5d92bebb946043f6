//! Ranges of strengths as the command line writes them: `..-0.5`, `10%..40%`, `3..`.

use std::str::FromStr;

use curation::preferences::Bound;

/// The strengths from one bound up to another.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StrengthRange {
    /// As it was written.
    pub(super) text: String,
    pub(super) from: Option<Bound>,
    pub(super) below: Option<Bound>,
}

impl FromStr for StrengthRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((from, below)) = text.split_once("..") else {
            return Err("a range is FROM..BELOW, such as ..-0.5, 10%..40% or 3..".to_owned());
        };
        let (from, below) = (bound(from)?, bound(below)?);
        let is_empty = match (from, below) {
            (Some(Bound::Strength(from)), Some(Bound::Strength(below)))
            | (Some(Bound::Quantile(from)), Some(Bound::Quantile(below))) => from >= below,
            (None, None) => return Err("'..' is every pair; give one bound at least".to_owned()),
            (Some(_) | None, Some(_) | None) => false,
        };
        if is_empty {
            return Err("it begins where it ends or later, so that no pair is in it".to_owned());
        }
        Ok(Self { text: text.to_owned(), from, below })
    }
}

/// A strength, a share of all pairs in per cent, or nothing.
fn bound(text: &str) -> Result<Option<Bound>, String> {
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
        true => Ok(Some(Bound::Quantile(value / 100.0))),
        false => Ok(Some(Bound::Strength(value))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read() {
        #[track_caller]
        fn check(text: &str, expected: Result<(Option<Bound>, Option<Bound>), &str>) {
            match (text.parse::<StrengthRange>(), expected) {
                (Ok(found), Ok(expected)) => assert_eq!((found.from, found.below), expected),
                (Err(found), Err(part)) => assert!(found.contains(part), "{text}: {found}"),
                (found, expected) => panic!("{text}: {found:?} and not {expected:?}"),
            }
        }
        let (strength, quantile) =
            (|value| Some(Bound::Strength(value)), |value| Some(Bound::Quantile(value)));
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

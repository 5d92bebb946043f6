//! Linear and mixed-integer programs, with exact numbers.

use std::collections::HashMap;

use dashu::base::BitTest as _;
use dashu::integer::{IBig, UBig};
use dashu::rational::RBig;

use crate::{Exhausted, Fuel};

/// Variables of a model, and rows, at most.
const MAX_SIZE: usize = 4096;
/// Digits of a number, and its largest power of ten.
const MAX_DIGITS: usize = 64;
const MAX_EXPONENT: u64 = 64;

/// A sum of multiples of variables, each once.
pub(super) type Terms = Vec<(usize, RBig)>;

/// A constraint: bounds of a sum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) terms: Terms,
    pub(super) bounds: Bounds,
}

/// An interval; `None` is infinite.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Bounds {
    pub(super) low: Option<RBig>,
    pub(super) high: Option<RBig>,
}

/// A variable, at least 0 unless its bounds say otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) bounds: Bounds,
    pub(super) is_integer: bool,
}

/// A program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Model {
    pub(super) maximise: bool,
    pub(super) objective: Terms,
    pub(super) constant: RBig,
    pub(super) rows: Vec<Row>,
    pub(super) variables: Vec<Variable>,
    numbers: HashMap<String, usize>,
}

/// Why a text is no model, and in which line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Malformed {
    pub(super) line: usize,
    pub(super) message: String,
}

impl Malformed {
    pub(super) fn new(line: usize, message: impl Into<String>) -> Self {
        Self { line, message: message.into() }
    }
}

impl Bounds {
    pub(super) fn holds(&self, value: &RBig, tolerance: &RBig) -> bool {
        self.low.as_ref().is_none_or(|low| *value >= low - tolerance)
            && self.high.as_ref().is_none_or(|high| *value <= high + tolerance)
    }

    /// What both allow.
    pub(super) fn tighten(&mut self, other: Self) {
        let tighter = |own: Option<RBig>, other: Option<RBig>, is_low: bool| match (own, other) {
            (Some(own), Some(other)) => Some(if (other > own) == is_low { other } else { own }),
            (own, other) => own.or(other),
        };
        self.low = tighter(self.low.take(), other.low, true);
        self.high = tighter(self.high.take(), other.high, false);
    }
}

impl Model {
    /// The number of a variable, which is new if its name is.
    pub(super) fn variable(&mut self, name: &str) -> Result<usize, String> {
        if let Some(number) = self.numbers.get(name) {
            return Ok(*number);
        }
        let number = self.variables.len();
        if number == MAX_SIZE {
            return Err(format!("more than {MAX_SIZE} variables"));
        }
        self.numbers.insert(name.to_owned(), number);
        let bounds = Bounds { low: Some(RBig::ZERO), high: None };
        self.variables.push(Variable { name: name.to_owned(), bounds, is_integer: false });
        Ok(number)
    }

    pub(super) fn known(&self, name: &str) -> Option<usize> {
        self.numbers.get(name).copied()
    }

    pub(super) fn add_row(&mut self, row: Row) -> Result<(), String> {
        if self.rows.len() == MAX_SIZE {
            return Err(format!("more than {MAX_SIZE} constraints"));
        }
        self.rows.push(row);
        Ok(())
    }

    /// The value of the objective at a point.
    pub(super) fn value(&self, point: &[RBig], fuel: &mut Fuel) -> Result<RBig, Exhausted> {
        Ok(sum(&self.objective, point, fuel)? + &self.constant)
    }
}

/// The value of a sum at a point. Fractions without a common denominator make it longer with each
/// term, which costs fuel; decimals do not.
pub(super) fn sum(terms: &Terms, point: &[RBig], fuel: &mut Fuel) -> Result<RBig, Exhausted> {
    let mut sum = RBig::ZERO;
    for (variable, factor) in terms {
        sum += factor * &point[*variable];
        // An addition reduces a fraction, in time that grows with the square of its words.
        let words = bits(&sum) / 64;
        fuel.spend(words * words / 64)?;
    }
    Ok(sum)
}

/// Bits of a fraction.
pub(super) fn bits(value: &RBig) -> u64 {
    (value.numerator().bit_len() + value.denominator().bit_len()) as u64
}

/// A sum that is being read, and the place of each variable in it: looking for one among thousands
/// for every term would take the square of them.
#[derive(Debug, Default)]
pub(super) struct OpenTerms {
    terms: Terms,
    places: HashMap<usize, usize>,
}

impl OpenTerms {
    /// Adds `factor` times `variable`.
    pub(super) fn add(&mut self, variable: usize, factor: RBig) {
        let place = *self.places.entry(variable).or_insert(self.terms.len());
        match self.terms.get_mut(place) {
            Some((_, known)) => *known += factor,
            None => self.terms.push((variable, factor)),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    pub(super) fn into_terms(self) -> Terms {
        self.terms
    }
}

/// A decimal with an optional exponent, or a fraction of two; exact.
pub(super) fn number(text: &str) -> Option<RBig> {
    let Some((top, bottom)) = text.split_once('/') else { return decimal(text) };
    let (top, bottom) = (decimal(top.trim())?, decimal(bottom.trim())?);
    (bottom != RBig::ZERO).then(|| top / bottom)
}

/// A decimal with an optional exponent; exact.
pub(super) fn decimal(text: &str) -> Option<RBig> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
        None => (text, 0),
    };
    let (sign, digits) = match mantissa.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, mantissa.strip_prefix('+').unwrap_or(mantissa)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all = format!("{whole}{fraction}");
    let is_number = !all.is_empty() && all.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || all.len() > MAX_DIGITS || exponent.unsigned_abs() > MAX_EXPONENT {
        return None;
    }
    let exponent = exponent - i64::try_from(fraction.len()).ok()?;
    let power = UBig::from(10u8).pow(usize::try_from(exponent.unsigned_abs()).ok()?);
    let value = IBig::from_str_radix(&all, 10).ok()? * IBig::from(sign);
    Some(if exponent < 0 {
        RBig::from_parts(value, power)
    } else {
        RBig::from(value * IBig::from(power))
    })
}

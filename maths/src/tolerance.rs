//! Tolerances of numeric comparison.

use dashu::rational::RBig;
use serde::{Serialize, Serializer};

use super::algebra;
use super::answer::AnswerForm;
use super::expr::Workspace;
use super::read::{self, ReadOptions};
use crate::fuel::Fuel;

/// When a candidate that differs from the gold value still counts as equal. Distances are compared
/// as exact fractions, never in floating point.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tolerance {
    /// No difference is tolerated.
    #[default]
    Exact,
    /// When it lies at most this far away.
    Absolute(Bound),
    /// When it lies at most this part of the gold value away.
    Relative(Bound),
    /// When the gold value is written with a decimal point and the candidate lies at most half a
    /// unit of its last digit away. Other gold values are exact.
    GoldDigits,
    /// When either side is written with a decimal point and both, rounded to this many decimals, are
    /// the same. Other values are exact.
    Decimals(u8),
}

/// An exact, non-negative bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound(RBig);

/// The text is no plain non-negative number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a bound is a number that is not negative, such as 0.001, 1e-6 or 1/2")]
pub struct BadBound;

impl Bound {
    pub(super) fn value(&self) -> &RBig {
        &self.0
    }
}

impl std::str::FromStr for Bound {
    type Err = BadBound;

    /// Reads what the verifier reads as a number: `0.001`, `1e-6`, `1/2`, `1%`; without a unit.
    fn from_str(text: &str) -> Result<Self, BadBound> {
        let mut fuel = Fuel::default();
        let mut ws = Workspace::new(&mut fuel);
        let answer =
            read::read_answer(text, ReadOptions::default(), &mut ws).map_err(|_| BadBound)?;
        let AnswerForm::Value(value) = answer.form else {
            return Err(BadBound);
        };
        let is_bare = value.unit.is_none() && answer.subjects.is_empty();
        let number = algebra::rational(value.expr, &mut ws).map_err(|_| BadBound)?;
        number.filter(|number| is_bare && *number >= RBig::ZERO).map(Self).ok_or(BadBound)
    }
}

impl Serialize for Bound {
    /// Serialises the reduced fraction, so that equal bounds are equal texts.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

//! Checks of the numbers to combine and of the result.

/// Why numbers have no combination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CombineError {
    /// There are too few of them for the method to mean anything.
    #[error("{given} {what}; at least {least} are needed")]
    TooFew {
        /// What was counted.
        what: &'static str,
        /// How many there are.
        given: usize,
        /// How many the method needs.
        least: usize,
    },
    /// Two lists that belong together have different lengths.
    #[error("{given} {what}, and {expected} belong there")]
    Length {
        /// What was counted.
        what: &'static str,
        /// How many there are.
        given: usize,
        /// How many belong there.
        expected: usize,
    },
    /// A number is infinite or not a number.
    #[error("{what} {index} is not a finite number")]
    NotFinite {
        /// What the number is.
        what: &'static str,
        /// Its place in its list, from 0.
        index: usize,
    },
    /// A number is outside the range of the method.
    #[error("{what} {index} is not {range}")]
    OutOfRange {
        /// What the number is.
        what: &'static str,
        /// Its place in its list, from 0.
        index: usize,
        /// Where it should lie.
        range: &'static str,
    },
    /// All numbers were finite, but their combination is not.
    #[error("the numbers are too large: their combination is not finite")]
    Overflow,
}

/// Refuses numbers that are not finite.
pub(super) fn finite(what: &'static str, values: &[f64]) -> Result<(), CombineError> {
    match values.iter().position(|value| !value.is_finite()) {
        Some(index) => Err(CombineError::NotFinite { what, index }),
        None => Ok(()),
    }
}

/// Refuses an empty list and numbers that are not finite.
pub(super) fn some_finite(what: &'static str, values: &[f64]) -> Result<(), CombineError> {
    at_least(1, what, values.len())?;
    finite(what, values)
}

/// Refuses numbers outside `[0, 1]`.
pub(super) fn shares(what: &'static str, values: &[f64]) -> Result<(), CombineError> {
    finite(what, values)?;
    let outside = |value: &f64| !(0.0..=1.0).contains(value);
    match values.iter().position(outside) {
        Some(index) => Err(CombineError::OutOfRange { what, index, range: "from 0 to 1" }),
        None => Ok(()),
    }
}

/// Refuses numbers below 0.
pub(super) fn not_negative(what: &'static str, values: &[f64]) -> Result<(), CombineError> {
    finite(what, values)?;
    match values.iter().position(|value| *value < 0.0) {
        Some(index) => Err(CombineError::OutOfRange { what, index, range: "0 or more" }),
        None => Ok(()),
    }
}

pub(super) fn at_least(least: usize, what: &'static str, given: usize) -> Result<(), CombineError> {
    if given < least {
        return Err(CombineError::TooFew { what, given, least });
    }
    Ok(())
}

pub(super) fn equally_many(
    what: &'static str,
    given: usize,
    expected: usize,
) -> Result<(), CombineError> {
    if given != expected {
        return Err(CombineError::Length { what, given, expected });
    }
    Ok(())
}

/// Returns `value` if it is finite.
pub(super) fn result(value: f64) -> Result<f64, CombineError> {
    if value.is_finite() { Ok(value) } else { Err(CombineError::Overflow) }
}

/// Returns `values` if all of them are finite.
pub(super) fn results(values: Vec<f64>) -> Result<Vec<f64>, CombineError> {
    if values.iter().all(|value| value.is_finite()) {
        Ok(values)
    } else {
        Err(CombineError::Overflow)
    }
}

//! Errors of losses and advantages.

use rubrics::combine::CombineError;

/// A fault of the numbers or options of a formula. A fault is never replaced by a number: a loss or
/// an advantage is finite or an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FormulaError {
    /// The method needs numbers that are missing.
    #[error("{method} needs {what}")]
    Missing {
        /// The method.
        method: &'static str,
        /// The missing numbers.
        what: &'static str,
    },
    /// Two lists that belong together have different lengths.
    #[error("{given} {what}, and {expected} belong there")]
    Length {
        /// The list.
        what: &'static str,
        /// Its length.
        given: usize,
        /// The expected length.
        expected: usize,
    },
    /// A number is infinite or NaN.
    #[error("{what} {index} is not a finite number")]
    NotFinite {
        /// The list of the number.
        what: &'static str,
        /// Its place in its list, from 0.
        index: usize,
    },
    /// A number is outside the method's domain.
    #[error("{what} {index} is not {range}")]
    OutOfRange {
        /// The list of the number.
        what: &'static str,
        /// Its place in its list, from 0.
        index: usize,
        /// The domain.
        range: &'static str,
    },
    /// An option of a method is invalid.
    #[error("{name} must be {range}")]
    Setting {
        /// The option.
        name: &'static str,
        /// Its valid values.
        range: &'static str,
    },
    /// Boundaries that do not cut a list into parts.
    #[error("{what} must begin with 0, never fall and end with {expected}")]
    Boundaries {
        /// The boundaries.
        what: &'static str,
        /// The length of the list.
        expected: usize,
    },
    /// A count of the batch is too small for a part of it.
    #[error("the denominators are of another batch: they count too few {what}")]
    Denominator {
        /// The count.
        what: &'static str,
    },
    /// All numbers were finite, but a result is not.
    #[error("the numbers are too large: {what} is not finite")]
    Overflow {
        /// The result.
        what: &'static str,
    },
    /// A combination of rewards failed.
    #[error(transparent)]
    Combine(#[from] CombineError),
}

/// A result of a formula.
pub type Result<T> = std::result::Result<T, FormulaError>;

pub(crate) fn lengths(what: &'static str, given: usize, expected: usize) -> Result<()> {
    if given == expected {
        return Ok(());
    }
    Err(FormulaError::Length { what, given, expected })
}

pub(crate) fn finite(what: &'static str, values: &[f64]) -> Result<()> {
    match values.iter().position(|value| !value.is_finite()) {
        Some(index) => Err(FormulaError::NotFinite { what, index }),
        None => Ok(()),
    }
}

/// Refuses numbers that are not finite or violate `holds`.
pub(crate) fn all(
    what: &'static str,
    values: &[f64],
    range: &'static str,
    holds: impl Fn(f64) -> bool,
) -> Result<()> {
    finite(what, values)?;
    match values.iter().position(|value| !holds(*value)) {
        Some(index) => Err(FormulaError::OutOfRange { what, index, range }),
        None => Ok(()),
    }
}

/// Refuses an option that violates `holds`; NaN never passes.
pub(crate) fn setting(name: &'static str, range: &'static str, holds: bool) -> Result<()> {
    if holds {
        return Ok(());
    }
    Err(FormulaError::Setting { name, range })
}

/// Checks that boundaries cut a list of `total` entries into consecutive parts.
pub(crate) fn boundaries(what: &'static str, cuts: &[usize], total: usize) -> Result<()> {
    let rises = cuts.windows(2).all(|pair| pair[0] <= pair[1]);
    if cuts.first() == Some(&0) && cuts.last() == Some(&total) && rises {
        return Ok(());
    }
    Err(FormulaError::Boundaries { what, expected: total })
}

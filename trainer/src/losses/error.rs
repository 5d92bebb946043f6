//! Why numbers have no loss and no advantage.

use rubrics::combine::CombineError;

/// What is wrong with the numbers or options of a formula. Nothing here is ever answered by a
/// number: a loss or an advantage is finite or an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FormulaError {
    /// The method needs numbers that were not given.
    #[error("{method} needs {what}")]
    Missing {
        /// Which method.
        method: &'static str,
        /// What it needs.
        what: &'static str,
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
    /// A number lies where the method has no meaning.
    #[error("{what} {index} is not {range}")]
    OutOfRange {
        /// What the number is.
        what: &'static str,
        /// Its place in its list, from 0.
        index: usize,
        /// Where it should lie.
        range: &'static str,
    },
    /// An option of a method has no meaning.
    #[error("{name} must be {range}")]
    Setting {
        /// The option.
        name: &'static str,
        /// What it may be.
        range: &'static str,
    },
    /// Boundaries that do not cut a list into parts.
    #[error("{what} must begin with 0, never fall and end with {expected}")]
    Boundaries {
        /// Which boundaries.
        what: &'static str,
        /// How long the list is.
        expected: usize,
    },
    /// A count of the batch is too small for a part of it.
    #[error("the denominators are of another batch: they count too few {what}")]
    Denominator {
        /// What was counted.
        what: &'static str,
    },
    /// All numbers were finite, and what came of them is not.
    #[error("the numbers are too large: {what} is not finite")]
    Overflow {
        /// What came of them.
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

/// Refuses numbers that are not finite or for which `holds` does not.
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

/// Refuses an option for which `holds` does not; one that is not a number never passes.
pub(crate) fn setting(name: &'static str, range: &'static str, holds: bool) -> Result<()> {
    if holds {
        return Ok(());
    }
    Err(FormulaError::Setting { name, range })
}

/// Whether boundaries cut a list of `total` entries into parts that follow each other.
pub(crate) fn boundaries(what: &'static str, cuts: &[usize], total: usize) -> Result<()> {
    let rises = cuts.windows(2).all(|pair| pair[0] <= pair[1]);
    if cuts.first() == Some(&0) && cuts.last() == Some(&total) && rises {
        return Ok(());
    }
    Err(FormulaError::Boundaries { what, expected: total })
}

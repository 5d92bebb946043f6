//! A symbolic process scorer: finds steps of a solution that state false equalities.
//!
//! A solution is split into steps. Every equality that a step states between two arithmetic
//! expressions is found, computed exactly and compared. Equalities that cannot be read with
//! certainty are reported as unchecked and never as right or wrong, because a right step marked
//! wrong trains a model against right steps.
//!
//! # Stated equalities
//! - `=`, `==`, `≈`, `equals`, `is equal to` between two expressions, and `is` from something
//!   computed to a number (`20% of 50 is 10`).
//! - A name before the sign makes an assignment (`Total = 12`, `x = 5`), which is not counted.
//! - A chain `a = b = c` states `a = b` and `b = c`. In `2 + 3 = 5 + 1 = 6` the first is false; it
//!   is reported with `run_on` set, which separates a chain of results from a miscalculation.
//! - A calculator annotation states an equality of its own. The text around it, read without it,
//!   states another; when both agree in both values they are reported once.
//!
//! # Equalities that hold
//! Sides that are equal as rational numbers; a decimal that is the other side rounded, or cut, to
//! the places written; values within floating-point error where a decimal of more than 12
//! characters shows that a machine wrote it; `25%` for a side that computes 25. A whole number is
//! not taken for rounded unless the step says so (`≈`, `about`, `rounded`).
//!
//! # Unchecked equalities
//! Everything in [`Why`]: variables, times, unknown notation, and every case where the numbers
//! differ but units, percent signs or the words around them may explain it.

mod calculate;
mod compare;
mod config;
mod exact;
mod expr;
mod find;
mod judge;
mod lex;
mod merge;
mod parse;
mod read;
mod report;
mod split;
mod token;
mod value;
mod words;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;

pub use calculate::{NotComputed, evaluate};
pub use config::{ArithmeticConfig, Rounding, RunOn, Splitter};
pub use exact::Exact;
pub use report::{
    ArithmeticStep, Equality, EqualityCheck, EqualityRule, EqualitySource, StepLabel, StepReport,
    Why,
};
pub use split::split;

use crate::{Fuel, VerifierId};
use read::StepReader;
use words::Vocabulary;

/// The scorer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arithmetic {
    config: ArithmeticConfig,
    vocabulary: Vocabulary,
}

impl Arithmetic {
    /// Creates a scorer with this configuration.
    pub fn new(config: ArithmeticConfig) -> Self {
        Self { config, vocabulary: Vocabulary::new() }
    }

    /// Returns name and revision.
    pub fn id(&self) -> VerifierId {
        VerifierId { name: "arithmetic", revision: 1 }
    }

    /// Splits `solution` and checks its steps.
    ///
    /// `given` are the steps as byte ranges, where the caller has them. A range that does not lie
    /// in `solution`, or splits a character, gives a step that states nothing. All spans of the
    /// report are byte ranges of `solution`.
    ///
    /// Work is linear in the text and bounded by `fuel`; the rest is unchecked when it runs out.
    pub fn check(
        &self,
        solution: &str,
        given: Option<&[Range<usize>]>,
        fuel: &mut Fuel,
    ) -> StepReport {
        let spans = given.map_or_else(|| Cow::Owned(self.split(solution, fuel)), Cow::Borrowed);
        let mut reader = StepReader::new(&self.config, &self.vocabulary, fuel);
        let steps = spans.iter().enumerate().map(|(index, span)| {
            let text = solution.get(span.clone()).unwrap_or_default();
            ArithmeticStep { index, span: span.clone(), equalities: reader.read(text, span.start) }
        });
        let steps = steps.collect();
        StepReport::new(steps, reader.is_exhausted())
    }

    /// Returns the steps of `solution`. Splitting is cheap beside reading, so that it is charged
    /// for and never refused: without fuel every step is unread.
    fn split(&self, solution: &str, fuel: &mut Fuel) -> Vec<Range<usize>> {
        let cost = 1 + solution.len() as u64 / 32;
        let _emptied = fuel.spend(cost);
        split(solution, self.config.splitter)
    }
}

impl Default for Arithmetic {
    fn default() -> Self {
        Self::new(ArithmeticConfig::default())
    }
}

/// Returns the byte ranges of `steps` in `solution`, in order and without overlap, each at the
/// first place after the one before it. `None` if one is not found.
pub fn locate<S: AsRef<str>>(solution: &str, steps: &[S]) -> Option<Vec<Range<usize>>> {
    let mut from = 0;
    steps
        .iter()
        .map(|step| {
            let step = step.as_ref();
            let start = from + solution[from..].find(step)?;
            from = start + step.len();
            Some(start..from)
        })
        .collect()
}

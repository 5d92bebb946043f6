//! How solutions are split and equalities judged.

use serde::Serialize;

/// How solutions are split and equalities judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ArithmeticConfig {
    /// The separator of steps.
    pub splitter: Splitter,
    /// Allowed rounding of results with decimal places. A percentage has two places more than are
    /// written: `14%` is 0.14.
    pub decimals: Rounding,
    /// Allowed rounding of whole results that the text does not mark as approximate.
    pub whole_numbers: Rounding,
    /// Treatment of a chain of results such as `2 + 3 = 5 + 1 = 6`.
    pub run_on: RunOn,
}

impl Default for ArithmeticConfig {
    fn default() -> Self {
        Self {
            splitter: Splitter::Lines,
            decimals: Rounding::NearestOrTruncated,
            whole_numbers: Rounding::Exact,
            run_on: RunOn::Wrong,
        }
    }
}

/// The separator of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Splitter {
    /// Every line that is not blank is a step.
    Lines,
    /// Paragraphs with blank lines between them.
    BlankLines,
    /// Sentences, within lines.
    Sentences,
    /// Lines that start with `1.`, `2)`, `(3)` or `Step 4` each begin a step. Text before the first
    /// one is a separate step.
    Numbered,
}

/// Allowed difference of a written result from the exact value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rounding {
    /// Not at all.
    Exact,
    /// It may be rounded, halves in either direction: `20/3 = 6.67`.
    Nearest,
    /// It may also be cut: `20/3 = 6.66`.
    NearestOrTruncated,
}

/// Treatment of a false equality whose right side continues with the value of its left side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOn {
    /// Wrong, as stated; the report marks it as a run-on.
    Wrong,
    /// Unchecked, for readers who care about results and not about notation.
    Unchecked,
}

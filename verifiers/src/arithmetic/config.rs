//! How solutions are split and equalities judged.

use serde::Serialize;

/// How solutions are split and equalities judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ArithmeticConfig {
    /// The separator of steps.
    pub splitter: Splitter,
    /// How a result with decimal places may differ from the exact value. A percentage has two
    /// places more than are written: `14%` is 0.14.
    pub decimals: Rounding,
    /// How a whole result may differ where the text does not say that it is approximate.
    pub whole_numbers: Rounding,
    /// How a chain of results such as `2 + 3 = 5 + 1 = 6` counts.
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
    /// Lines that start with `1.`, `2)`, `(3)` or `Step 4` each begin a step. What stands before
    /// the first one is a step of its own.
    Numbered,
}

/// How a written result may differ from the exact value.
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

/// How a false equality counts whose right side goes on with the value of its left side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOn {
    /// Wrong, as it is stated; the report says that it is a run-on.
    Wrong,
    /// Unchecked, for readers who care about results and not about notation.
    Unchecked,
}

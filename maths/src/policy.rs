//! One flag for each question of equality on which practice is divided.

use serde::{Deserialize, Serialize};

use crate::tolerance::Tolerance;

/// Rules of equality beyond mathematics. The default of every flag is the careful one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "independent questions, each with a yes or a no")]
pub struct Policy {
    /// Malformed LaTeX with one meaning (`\frac12`, `\sqrt3`) is read. On by default.
    pub repair: bool,
    /// `10%` also counts as `10`. It always counts as `0.1`.
    pub percent_as_number: bool,
    /// A fraction must be in lowest terms where the gold answer is.
    pub reduced: bool,
    /// A product must have as many factors as the gold answer.
    pub factored: bool,
    /// A lone comma between digits may be a decimal point: `1,22` is 1.22, or two numbers.
    pub decimal_comma: bool,
    /// The meaning of `log` without a base.
    pub log: LogBase,
    /// `90°` also counts as `π/2`.
    pub degrees_as_radians: bool,
    /// `1:2` also counts as `1/2`.
    pub ratio_as_fraction: bool,
    /// A column vector also counts as a tuple.
    pub column_as_tuple: bool,
    /// Variables are positive: `\sqrt{1/n}` is `1/\sqrt{n}`.
    pub positive_variables: bool,
    /// An inequality counts where the gold answer is an interval. The other way round it always
    /// does. On by default.
    pub inequality_as_interval: bool,
    /// Variables that only one side has may be renamed: `C` for `D`.
    pub renamed_constants: bool,
    /// `{1, 1, 2}` also counts as `{1, 2}`.
    pub collapse_repeats: bool,
    /// A candidate that leaves the unit of the gold answer out is wrong.
    pub unit_required: bool,
    /// A decimal of four significant digits or more counts where the gold answer, rounded to as many
    /// digits, is it. On by default.
    pub rounded_decimals: bool,
    /// The result of a comparison that no rule decides.
    pub undecided: Undecided,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            repair: true,
            percent_as_number: false,
            reduced: false,
            factored: false,
            decimal_comma: false,
            log: LogBase::default(),
            degrees_as_radians: false,
            ratio_as_fraction: false,
            column_as_tuple: false,
            positive_variables: false,
            inequality_as_interval: true,
            renamed_constants: false,
            collapse_repeats: false,
            unit_required: false,
            rounded_decimals: true,
            undecided: Undecided::default(),
        }
    }
}

/// Policies by the names that configurations give.
pub const POLICIES: [&str; 6] =
    ["default", "strict", "lenient", "math-verify", "prm800k", "lm-eval-minerva"];

impl Policy {
    /// Returns the switches of one of [`POLICIES`], and its tolerance. `math-verify`, `prm800k` and
    /// `lm-eval-minerva` are those of the graders of these names; docs/math.md has the table.
    pub fn named(name: &str) -> Option<(Self, Tolerance)> {
        let default = Self::default();
        let careful =
            Self { inequality_as_interval: false, rounded_decimals: false, ..Self::default() };
        Some(match name {
            "default" => (default, Tolerance::Exact),
            "strict" => (
                Self { repair: false, reduced: true, unit_required: true, ..careful },
                Tolerance::Exact,
            ),
            "lenient" => (
                Self {
                    percent_as_number: true,
                    log: LogBase::Either,
                    degrees_as_radians: true,
                    ratio_as_fraction: true,
                    column_as_tuple: true,
                    renamed_constants: true,
                    collapse_repeats: true,
                    ..default
                },
                Tolerance::GoldDigits,
            ),
            "math-verify" => (
                Self {
                    percent_as_number: true,
                    decimal_comma: true,
                    ratio_as_fraction: true,
                    collapse_repeats: true,
                    undecided: Undecided::Wrong,
                    ..careful
                },
                Tolerance::Decimals(6),
            ),
            "prm800k" => (
                Self {
                    percent_as_number: true,
                    reduced: true,
                    undecided: Undecided::Wrong,
                    ..careful
                },
                Tolerance::Exact,
            ),
            "lm-eval-minerva" => {
                (Self { undecided: Undecided::Wrong, ..careful }, Tolerance::Exact)
            }
            _ => return None,
        })
    }
}

/// The meaning of `log` without a base.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogBase {
    /// Base 10.
    #[default]
    #[serde(rename = "10")]
    Ten,
    /// The natural logarithm.
    E,
    /// Base 10 or natural, whichever makes the two sides equal.
    Either,
}

/// The result of a comparison that no rule decides, if both sides were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Undecided {
    /// No score: the status `abstain`, which a cascade hands to its next part.
    #[default]
    Abstain,
    /// A presumed score of 0; a cascade evaluates its next part after it, as after an abstention.
    Wrong,
}

//! Mathematical answers: reading, algebra, comparison and units.
//!
//! A text is read as a whole or not at all, by one of two grammars (LaTeX and plain text), into a
//! typed [`Answer`] over the hash-consed expressions of a [`Workspace`]. The gold answer's type
//! decides how two answers are compared ([`Comparer`]); equality of expressions is a ladder of
//! exact rules ([`algebra`]), and interval arithmetic proves differences. A pair neither proven
//! equal nor proven different is undecided.
//!
//! Work is counted in [`Fuel`]. This crate knows nothing of scores, verdicts, responses or
//! extraction: the `verifiers` crate turns a [`Comparison`] into a verdict.

pub mod algebra;
mod angle;
mod answer;
mod calculus;
mod calendar;
mod change;
mod chemistry;
mod compare;
mod constants;
mod delimiters;
mod display;
mod explain;
mod expr;
mod fuel;
pub mod interval;
mod logic;
mod measure;
mod nuclide;
mod number;
mod numerals;
mod permutation;
mod policy;
mod proof;
mod read;
mod sufficiency;
mod tolerance;

#[cfg(test)]
mod testing;

pub use angle::has_plain_angle;
pub use answer::{Answer, MAX_BYTES, Unread};
pub use calendar::is_month;
pub use change::is_percent_change;
pub use chemistry::{is_chemical, is_configuration};
pub use compare::{
    AnswerTexts, AnswerType, Comparer, Comparison, Evidence, are_alike, have_one_dimension,
    have_one_name, last_wording, says_no_solution, says_none,
};
pub use constants::{PhysicalConstant, UnknownConstant, with_constants};
pub use delimiters::{MAX_LAYERS, unwrapped};
pub use explain::{Sides, quoted};
pub use expr::{Expr, Name, Workspace};
pub use fuel::{Exhausted, Fuel};
pub use logic::is_logical;
pub use measure::{UnitError, convert_unit, is_unit, is_unit_symbol, is_unit_words};
pub use number::DecimalLiteral;
pub use numerals::is_number_word;
pub use policy::{LogBase, POLICIES, Policy, Undecided};
pub use proof::{Assumptions, Doubt, Proof, Rule, Witness};
pub use read::{
    Dialect, ReadOptions, aligned_end, dialect, extremum_names, is_of_integers, part_names,
    read_answer, read_expression, says_integers,
};
pub use tolerance::{BadBound, Bound, Tolerance};

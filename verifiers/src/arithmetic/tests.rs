//! Tables of equalities with their results, laws, and hostile input.

mod doubts;
mod hostile;
mod laws;
mod steps;
mod tables;

use super::{Arithmetic, ArithmeticConfig, Equality, Rounding, RunOn, Splitter, StepReport};
use crate::Fuel;

/// Returns the report on `text` with `config` and enough fuel.
fn report_with(config: ArithmeticConfig, text: &str) -> StepReport {
    Arithmetic::new(config).check(text, None, &mut Fuel::default())
}

/// Returns the report on `text`.
fn report(text: &str) -> StepReport {
    report_with(ArithmeticConfig::default(), text)
}

/// Returns `fragment | label: detail` for an equality of `text`.
fn line(text: &str, equality: &Equality) -> String {
    let label = equality.check.label().as_str();
    let fragment = &text[equality.span.clone()];
    format!("{fragment} | {label}: {}", equality.check.detail())
}

/// Checks all equalities of `text` against lines of `fragment | label: detail`.
fn check_with(config: ArithmeticConfig, text: &str, expected: &[&str]) {
    let report = report_with(config, text);
    let found: Vec<String> = report
        .steps
        .iter()
        .flat_map(|step| &step.equalities)
        .map(|equality| line(text, equality))
        .collect();
    assert_eq!(found, expected, "in {text:?}");
}

fn check(text: &str, expected: &[&str]) {
    check_with(ArithmeticConfig::default(), text, expected);
}

/// Checks that the only equality of `text` spans all of it, with this label and detail.
fn check_text(text: &str, expected: &str) {
    check(text, &[&format!("{text} | {expected}")]);
}

//! Input that is made to be slow, deep or big.

use super::report;
use crate::Fuel;
use crate::arithmetic::{Arithmetic, EqualityCheck, StepLabel, StepReport, Why};

/// Checks that `text` is read within the default fuel or stopped by it.
fn bounded(text: &str) -> StepReport {
    let mut fuel = Fuel::default();
    let report = Arithmetic::default().check(text, None, &mut fuel);
    assert!(fuel.used() <= Fuel::DEFAULT);
    report
}

#[test]
fn long_texts_end() {
    for piece in [
        "=",
        "1=",
        "1=1 ",
        "(",
        ")",
        "((1",
        "1+",
        "<<",
        "<<1=1>>",
        ">>",
        "$",
        "x",
        "1 x ",
        "%",
        "-",
        "**",
        "\\frac{",
        "\\frac{1}{2}=",
        "\\text{",
        "a ",
        "1 a ",
        "1/",
        "=2x+",
        "é",
        "½",
        "of 1/2 ",
        "9",
        "9,999,",
        "1:1",
        "!",
        "#",
        "# ",
        "- ",
        "1. ",
        "times ",
        "is ",
        "equal to ",
        "divided by ",
        "\n",
        "{",
        "}",
        "a-b-",
        "1e5",
        "...",
        "1 a b c d e ",
        "1 a + ",
        "2^",
    ] {
        let text = piece.repeat(300_000 / piece.len());
        let report = bounded(&text);
        assert!(report.steps.len() <= text.len(), "{piece}");
    }
}

#[test]
fn many_equalities_run_out_of_fuel() {
    let text = "1+1=2 ".repeat(100_000);
    let report = bounded(&text);
    assert!(report.exhausted);
    let last = report.steps[0].equalities.last().map(|equality| &equality.check);
    assert_eq!(last, Some(&EqualityCheck::Unchecked { why: Why::TooCostly }));
}

#[test]
fn unread_text_is_unchecked() {
    let text = "1 + 1 = 2\n2 + 2 = 4";
    let mut fuel = Fuel::new(10);
    let report = Arithmetic::default().check(text, None, &mut fuel);
    assert!(report.exhausted);
    assert_eq!(report.steps.len(), 2);
    assert_eq!(report.steps[1].label(), StepLabel::Unchecked);
}

#[test]
fn deep_nesting_is_refused() {
    let deep = |n: usize| format!("{}1{} = 1", "(".repeat(n), ")".repeat(n));
    assert_eq!(report(&deep(10_000)).steps[0].label(), StepLabel::Right);
    let open = format!("{}x = 1", "(".repeat(100_000));
    bounded(&open);
    let fractions = format!("{}1{} = 1", "\\frac{".repeat(10_000), "}{1}".repeat(10_000));
    assert_eq!(report(&fractions).steps[0].label(), StepLabel::Right);
}

#[test]
fn big_numbers_are_bounded() {
    for text in [
        "2^2^2^2^2^2 = 1".to_owned(),
        "9^999999999999 = 1".to_owned(),
        "9^99999999999999999999999999999999 = 1".to_owned(),
        "(1/9)^99999 = 1".to_owned(),
        "10^-99999 = 1".to_owned(),
        "((9^999)^999)^999 = 1".to_owned(),
        format!("{} = 1 + 1", "9".repeat(100_000)),
        format!("1 = 1{}", "*99999999999999999999".repeat(1000)),
        format!("1/7 = 0.{}", "142857".repeat(10_000)),
    ] {
        let report = bounded(&text);
        let check = &report.steps[0].equalities[0].check;
        assert_eq!(*check, EqualityCheck::Unchecked { why: Why::TooCostly }, "{text:.40}");
    }
    assert_eq!(
        report("2^100 = 1267650600228229401496703205376").steps[0].label(),
        StepLabel::Right
    );
}

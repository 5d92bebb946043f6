//! Steps, their labels and their places.

use std::ops::Range;

use super::{ArithmeticConfig, Splitter, report, report_with};
use crate::Fuel;
use crate::arithmetic::{Arithmetic, StepLabel, locate};

fn check_split(splitter: Splitter, text: &str, expected: &[&str]) {
    let config = ArithmeticConfig { splitter, ..ArithmeticConfig::default() };
    let report = report_with(config, text);
    let steps: Vec<&str> = report.steps.iter().map(|step| &text[step.span.clone()]).collect();
    assert_eq!(steps, expected, "{splitter:?} of {text:?}");
}

#[test]
fn lines_are_steps() {
    check_split(Splitter::Lines, "", &[]);
    check_split(Splitter::Lines, " \n\t\n", &[]);
    check_split(Splitter::Lines, "a\nb\r\n\n  c  ", &["a", "b", "c"]);
}

#[test]
fn blank_lines_separate_steps() {
    check_split(Splitter::BlankLines, "\n\na\nb\n \nc\n\n\n", &["a\nb", "c"]);
    check_split(Splitter::BlankLines, "a", &["a"]);
}

#[test]
fn sentences_are_steps() {
    check_split(
        Splitter::Sentences,
        "He has 2.5 kg. Is it so? Yes! See no. 5 of Mr. X.\nNext line.",
        &["He has 2.5 kg.", "Is it so?", "Yes!", "See no. 5 of Mr. X.", "Next line."],
    );
    check_split(Splitter::Sentences, "1. One. 2. Two", &["1. One.", "2. Two"]);
    check_split(Splitter::Sentences, "So 3 + 4 = 7. Then 8.", &["So 3 + 4 = 7.", "Then 8."]);
}

#[test]
fn numbered_lines_start_steps() {
    check_split(
        Splitter::Numbered,
        "Plan:\n1. a\nmore\n2) b\n\n(3) c\n**Step 4:** d\n5.5 is no marker",
        &["Plan:", "1. a\nmore", "2) b", "(3) c", "**Step 4:** d\n5.5 is no marker"],
    );
}

#[test]
fn equalities_go_on_in_the_next_line() {
    let config = ArithmeticConfig { splitter: Splitter::BlankLines, ..ArithmeticConfig::default() };
    let text = "16 - 3 - 4\n  = 9 eggs\n- 2 * 9 =\n18";
    let report = report_with(config, text);
    let found: Vec<&str> =
        report.steps[0].equalities.iter().map(|equality| &text[equality.span.clone()]).collect();
    assert_eq!(found, ["16 - 3 - 4\n  = 9", "2 * 9 =\n18"]);
}

#[test]
fn first_wrong_step_is_reported() {
    let report = report("Let x = 2.\n1 + 1 = 2 and 2x = 4\n1 + 1 = 2 and 1 + 2 = 4\n2 + 2 = 5");
    let labels: Vec<StepLabel> =
        report.steps.iter().map(super::super::ArithmeticStep::label).collect();
    assert_eq!(
        labels,
        [StepLabel::Unchecked, StepLabel::Right, StepLabel::Wrong, StepLabel::Wrong]
    );
    let scores: Vec<Option<f64>> =
        report.steps.iter().map(super::super::ArithmeticStep::score).collect();
    assert_eq!(scores, [None, Some(1.0), Some(0.0), Some(0.0)]);
    assert_eq!(report.first_wrong, Some(2));
    assert!(!report.exhausted);
}

#[test]
fn given_ranges_are_steps() {
    let text = "é: 1 + 1 = 2; 2 + 2 = 5";
    let backwards = Range { start: 5, end: 2 };
    let given = [0..13, 15..text.len(), 1..4, 20..99, backwards];
    let report = Arithmetic::default().check(text, Some(&given), &mut Fuel::default());
    let labels: Vec<StepLabel> =
        report.steps.iter().map(super::super::ArithmeticStep::label).collect();
    assert_eq!(
        labels,
        [
            StepLabel::Right,
            StepLabel::Wrong,
            StepLabel::Unchecked,
            StepLabel::Unchecked,
            StepLabel::Unchecked
        ]
    );
    let spans: Vec<_> = report.steps.iter().map(|step| step.span.clone()).collect();
    assert_eq!(spans, given);
    assert_eq!(&text[report.steps[1].equalities[0].span.clone()], "2 + 2 = 5");
}

#[test]
fn step_texts_are_located_in_order() {
    let text = "1 + 1 = 2\n1 + 1 = 2\nend";
    assert_eq!(locate(text, &["1 + 1 = 2", "1 + 1 = 2", "end"]), Some(vec![0..9, 10..19, 20..23]));
    assert_eq!(locate(text, &["end", "1 + 1 = 2"]), None);
    assert_eq!(locate(text, &[""; 2]), Some(vec![0..0, 0..0]));
    assert_eq!(locate::<&str>(text, &[]), Some(vec![]));
}

use crate::kinds::rubric::grade::read_grade;
use crate::outcome::FailureKind;
use crate::testing::Bench;
use crate::{Input, ScoreOptions};

use super::{THREE, close, config, criterion, reward};

const GOOD: &str = r#"{"explanation": "It says \"so\".", "criteria_met": true}"#;

#[test]
fn a12_grades_are_one_json_object() {
    let check = |text: &str, reasoning: bool| {
        let grade = read_grade(text, reasoning).expect("a grade");
        assert!(grade.criteria_met, "{text}");
        assert_eq!(grade.explanation, "It says \"so\".");
    };
    check(GOOD, false);
    check(&format!("\n{GOOD}\n"), false);
    check(&format!("```json\n{GOOD}\n```"), false);
    check(&format!("hm {{\"criteria_met\": false}} </think>\n{GOOD}"), true);
    check(&format!("a</think>b</think>{GOOD}"), true);
}

#[test]
fn malformed_grade_is_a_failure() {
    let check = |text: &str, reasoning: bool| {
        let failure = read_grade(text, reasoning).expect_err(text);
        assert_eq!(failure.kind, FailureKind::ParseError, "{text}");
    };
    for broken in [
        "",
        "true",
        "[]",
        "Yes",
        "{}",
        r#"{"explanation": "a"}"#,
        r#"{"criteria_met": true}"#,
        r#"{"explanation": "a", "criteria_met": "true"}"#,
        r#"{"explanation": "a", "criteria_met": 1}"#,
        r#"{"explanation": "a", "criteria_met": null}"#,
        r#"{"explanation": 1, "criteria_met": true}"#,
        r#"{"explanation": "a", "criteria_met": true, "score": 1}"#,
        r#"{"explanation": "a", "criteria_met": true, "criteria_met": false}"#,
    ] {
        check(broken, false);
    }
    check(&format!("{GOOD}{GOOD}"), false);
    check(&format!("I say {GOOD}"), false);
    check(&format!("{GOOD} so"), false);
    check(&format!("```json\n{GOOD}"), false);
    check(&format!("```json\n{GOOD}\n```\n```json\n{GOOD}\n```"), false);
    check(GOOD, true);
    check(&format!("{GOOD}</think>"), true);
    // Every end that is cut off.
    for end in 0..GOOD.len() {
        check(&GOOD[..end], false);
    }
}

/// `one` and `three` hold.
fn grade(prompt: &str) -> String {
    let is_met = prompt.contains("> one\n") || prompt.contains("> three\n");
    format!("{{\"explanation\":\"see\",\"criteria_met\":{is_met}}}")
}

#[test]
fn a12_grades_and_points() {
    let bench = Bench::replying(&config("ask = 'json'", THREE), grade);
    assert_eq!(bench.check(), Ok(()));
    let judged = reward(bench.one("r", Input::of("x")));
    close(judged.score, 3.0 / 8.0);
    let outputs = judged.evidence.outputs.expect("explanations requested");
    let roles: Vec<&str> = outputs.iter().map(|text| &*text.role).collect();
    assert_eq!(roles, ["grade of first", "grade of second", "grade of fault"]);
    assert!(outputs.iter().all(|text| text.finish == "stop"));
    let parts = judged.evidence.parts.expect("three");
    let first = parts[0].outcome.clone().expect("a request").expect("answered");
    assert_eq!(first.reason.detail.as_deref(), Some("see"));
    let quiet = bench.all("r", &[Input::of("x")], ScoreOptions::default()).remove(0);
    assert_eq!(reward(quiet).evidence.outputs, None);
}

#[test]
fn endless_grade_is_truncated() {
    let endless = |_: &str| format!("{{\"explanation\":\"{}", "so ".repeat(500));
    let options = "ask = 'json'\nmax_tokens = 24";
    let bench = Bench::replying(&config(options, THREE), endless);
    let failed = bench.one("r", Input::of("x")).expect_err("it was cut");
    assert_eq!(failed.kind, FailureKind::Truncated);
    assert!(failed.reason.detail.is_some_and(|detail| detail.starts_with("item 'first'")));
    let outputs = failed.evidence.outputs.expect("they are kept");
    assert_eq!(outputs.len(), 3, "without chance there is nothing to try again");
    let retried = format!("{options}\ntemperature = 0.5\nretries = 2");
    let bench = Bench::replying(&config(&retried, THREE), endless);
    let failed = bench.one("r", Input::of("x")).expect_err("it was cut");
    assert_eq!(failed.kind, FailureKind::Truncated);
    assert_eq!(failed.evidence.outputs.map(|texts| texts.len()), Some(9));
    let unmet = format!("{options}\non_item_error = 'unmet'");
    let bench = Bench::replying(&config(&unmet, THREE), endless);
    close(reward(bench.one("r", Input::of("x"))).score, 0.0);
}

#[test]
fn reasoning_is_read_past() {
    let thinking = |prompt: &str| {
        let is_met = criterion(prompt) != "two";
        format!(
            "{{\"criteria_met\": {}}}</think>{{\"explanation\":\"e\",\"criteria_met\":{is_met}}}",
            !is_met
        )
    };
    let bench = Bench::replying(&config("ask = 'json'\nreasoning = true", THREE), thinking);
    close(reward(bench.one("r", Input::of("x"))).score, 3.0 / 8.0);
    let bench = Bench::replying(&config("ask = 'json'\nreasoning = true", THREE), |_: &str| {
        "I think that it is met: yes".to_owned()
    });
    let failed = bench.one("r", Input::of("x")).expect_err("no grade");
    assert_eq!(failed.kind, FailureKind::ParseError);
}

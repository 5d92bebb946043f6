use super::*;
use proptest::prelude::*;

#[expect(clippy::unnecessary_wraps, reason = "it stands beside failures")]
fn reward(score: f64, standing: Standing) -> Outcome {
    let reward = finite(score, "test").expect("test scores are finite");
    Ok(Reward { standing, ..reward })
}

fn failure(kind: FailureKind) -> Outcome {
    Err(Failure::new(kind, Reason::code("test_failure")))
}

/// `0.5` a proven score, `0?` a presumed 0, `abstain`, `timeout`, `bad`.
fn outcome(word: &str) -> Outcome {
    match word {
        "0?" => reward(0.0, Standing::Presumed),
        "abstain" => failure(FailureKind::Abstain),
        "timeout" => failure(FailureKind::Timeout),
        "bad" => failure(FailureKind::BadReference),
        number => reward(number.parse().expect("a number"), Standing::Proven),
    }
}

/// Part lines: `weight threshold|- fail|skip|floor outcome`.
fn pipeline(combine: Combine, lines: &[&str]) -> (Pipeline, Vec<Outcome>) {
    let mut parts = Vec::new();
    let mut outcomes = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        parts.push(PartSpec {
            name: format!("p{index}"),
            scorer: "s".into(),
            weight: fields[0].parse().expect("a weight"),
            threshold: fields[1].parse().ok(),
            on_error: match fields[2] {
                "fail" => OnError::Fail,
                "skip" => OnError::Skip,
                _ => OnError::Floor,
            },
        });
        outcomes.push(outcome(fields[3]));
    }
    (Pipeline { combine, parts }, outcomes)
}

fn run(combine: Combine, lines: &[&str]) -> (usize, Outcome) {
    let (pipeline, ready) = pipeline(combine, lines);
    let mut known = vec![None; ready.len()];
    while let Some(next) = pipeline.next(&known) {
        known[next] = Some(ready[next].clone());
    }
    let asked = known.iter().flatten().count();
    (asked, pipeline.combine(known))
}

fn check(combine: Combine, lines: &[&str], asked: usize, expected: Result<f64, FailureKind>) {
    let (count, outcome) = run(combine, lines);
    let got = outcome.map(|r| r.score).map_err(|f| f.kind);
    match (got, expected) {
        (Ok(a), Ok(b)) => assert!((a - b).abs() < 1e-12, "{lines:?}: {a} {b}"),
        (a, b) => assert_eq!(a, b, "{lines:?}"),
    }
    assert_eq!(count, asked, "{lines:?}");
}

#[test]
fn weighted_sums() {
    let sum = |lines: &[&str], asked, expected| check(Combine::WeightedSum, lines, asked, expected);
    sum(&["0.8 - fail 1", "0.2 - fail 0.5"], 2, Ok(0.9));
    sum(
        &["0.8 - fail 1", "0.2 - fail bad"],
        2,
        Err(FailureKind::BadReference),
    );
    sum(
        &["0.8 - fail timeout", "0.2 - fail 1"],
        1,
        Err(FailureKind::Timeout),
    );
    sum(&["0.8 - fail 0.5", "0.2 - skip bad"], 2, Ok(0.5));
    sum(&["0.8 - fail 1", "0.2 - floor bad"], 2, Ok(0.8));
    sum(
        &["0.8 - skip bad", "0.2 - skip bad"],
        2,
        Err(FailureKind::Abstain),
    );
    sum(&["1 - fail 1", "-0.5 - fail 1"], 2, Ok(0.5));
    sum(
        &["1 - skip bad", "0 - fail 1"],
        2,
        Err(FailureKind::Abstain),
    );
}

#[test]
fn minima() {
    let min = |lines: &[&str], asked, expected| check(Combine::Min, lines, asked, expected);
    min(&["1 - fail 1", "1 - fail 0.25"], 2, Ok(0.25));
    min(&["1 - fail 1", "1 - skip bad"], 2, Ok(1.0));
    min(&["1 - fail 1", "1 - floor bad"], 2, Ok(0.0));
    min(&["1 - skip abstain"], 1, Err(FailureKind::Abstain));
}

#[test]
fn gates_open_past_their_threshold() {
    let gate = |lines: &[&str], asked, expected| check(Combine::Gate, lines, asked, expected);
    gate(&["0 1 fail 1", "1 - fail 0.5"], 2, Ok(0.5));
    gate(&["0 1 fail 0.9", "1 - fail 1"], 1, Ok(0.0));
    gate(
        &["0.5 0.5 fail 0.5", "1 1 fail 0", "1 - fail 1"],
        2,
        Ok(0.25),
    );
    gate(
        &["0 1 fail bad", "1 - fail 1"],
        1,
        Err(FailureKind::BadReference),
    );
    gate(&["0 1 floor bad", "1 - fail 1"], 1, Ok(0.0));
    gate(&["0 1 skip bad", "1 - fail 1"], 2, Ok(1.0));
}

#[test]
fn cascades_stop_at_the_first_decision() {
    let cascade = |lines: &[&str], asked, expected| check(Combine::Cascade, lines, asked, expected);
    cascade(&["1 - fail 0", "1 - fail 1"], 1, Ok(0.0));
    cascade(&["1 - fail abstain", "1 - fail 1"], 2, Ok(1.0));
    cascade(&["1 - fail 0?", "1 - fail 1"], 2, Ok(1.0));
    cascade(&["1 - fail 0?", "1 - fail abstain"], 2, Ok(0.0));
    cascade(
        &["1 - fail abstain", "1 - fail abstain"],
        2,
        Err(FailureKind::Abstain),
    );
    cascade(
        &["1 - fail timeout", "1 - fail 1"],
        1,
        Err(FailureKind::Timeout),
    );
    cascade(&["1 - skip timeout", "1 - fail 1"], 2, Ok(1.0));
}

proptest! {
    #[test]
    fn the_minimum_is_no_part_above(scores in prop::collection::vec(0.0f64..=1.0, 1..6)) {
        let lines: Vec<String> = scores.iter().map(|s| format!("1 - fail {s}")).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let (_, outcome) = run(Combine::Min, &lines);
        let score = outcome.expect("every part scored").score;
        prop_assert!(scores.iter().all(|s| score <= *s));
        prop_assert!(scores.contains(&score));
    }

    #[test]
    fn a_failing_part_is_never_a_number(position in 0usize..4, combine in 0usize..2) {
        let combine = [Combine::WeightedSum, Combine::Min][combine];
        let lines: Vec<&str> =
            (0..4).map(|i| if i == position { "1 - fail bad" } else { "1 - fail 1" }).collect();
        let (_, outcome) = run(combine, &lines);
        prop_assert_eq!(outcome.expect_err("the part failed").kind, FailureKind::BadReference);
    }
}

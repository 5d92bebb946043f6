use super::combined::combined_score;
use super::*;
use crate::combine::Variance::{Population, Unbiased};
use crate::combine::ensemble::Standard;
use crate::combine::group::Normalisation;
use proptest::prelude::*;
use verifiers::Certainty;

#[expect(clippy::unnecessary_wraps, reason = "it stands beside failures")]
fn reward(score: f64, certainty: Certainty) -> Outcome {
    let reward = combined_score(score, "test").expect("test scores are finite");
    Ok(Score { certainty, ..reward })
}

fn failure(kind: FailureKind) -> Outcome {
    Err(Failure::new(kind, Reason::code("test_failure")))
}

/// `0.5` a proven score, `0.5/-2` one with a raw value, `0?` a presumed 0, `abstain`, `timeout`, `bad`.
fn outcome(word: &str) -> Outcome {
    match word {
        "0?" => reward(0.0, Certainty::Presumed),
        "abstain" => failure(FailureKind::Abstain),
        "timeout" => failure(FailureKind::Timeout),
        "bad" => failure(FailureKind::BadReference),
        number => {
            let (score, raw) = number.split_once('/').unwrap_or((number, ""));
            let reward = reward(score.parse().expect("a number"), Certainty::Proven)?;
            let raw = raw.parse().ok();
            Ok(Score { raw, ..reward })
        }
    }
}

/// Part lines: `weight threshold|- fail|skip|floor outcome`, and then words that adjust it:
/// `raw`, `clip`, `pass`, `scaled` (by mean 1 and deviation 2), or a role.
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
            role: None,
            adjust: Adjust::default(),
        });
        let part = parts.last_mut().expect("it was just added");
        fields[4..].iter().for_each(|word| adjust(part, word));
        outcomes.push(outcome(fields[3]));
    }
    let pipeline = Pipeline { combine, parts, normalise: None };
    (pipeline, outcomes)
}

fn adjust(part: &mut PartSpec, word: &str) {
    match word {
        "raw" => part.adjust.measured = Measured::Raw,
        "clip" => part.adjust.clip = Some([-0.5, 0.5]),
        "pass" => part.adjust.pass = Some(0.5),
        "scaled" => part.adjust.standardise = Standard::new(1.0, 2.0).ok(),
        "format" => part.role = Some(Role::Format),
        "accuracy" => part.role = Some(Role::Accuracy),
        "consistency" => part.role = Some(Role::Consistency),
        other => panic!("{other}?"),
    }
}

fn run_pipeline(combine: Combine, lines: &[&str]) -> (usize, Outcome) {
    let (pipeline, ready) = pipeline(combine, lines);
    let mut known = vec![None; ready.len()];
    while let Some(next) = pipeline.next(&known) {
        known[next] = Some(ready[next].clone());
    }
    let evaluated = known.iter().flatten().count();
    (evaluated, pipeline.combine(known))
}

fn check(combine: Combine, lines: &[&str], evaluated: usize, expected: Result<f64, FailureKind>) {
    let (count, outcome) = run_pipeline(combine, lines);
    let got = outcome.map(|r| r.score).map_err(|f| f.kind);
    match (got, expected) {
        (Ok(a), Ok(b)) => assert!((a - b).abs() < 1e-12, "{lines:?}: {a} {b}"),
        (a, b) => assert_eq!(a, b, "{lines:?}"),
    }
    assert_eq!(count, evaluated, "{lines:?}");
}

#[test]
fn weighted_sums() {
    let sum = |lines: &[&str], evaluated, expected| {
        check(Combine::WeightedSum, lines, evaluated, expected);
    };
    sum(&["0.8 - fail 1", "0.2 - fail 0.5"], 2, Ok(0.9));
    sum(&["0.8 - fail 1", "0.2 - fail bad"], 2, Err(FailureKind::BadReference));
    sum(&["0.8 - fail timeout", "0.2 - fail 1"], 1, Err(FailureKind::Timeout));
    sum(&["0.8 - fail 0.5", "0.2 - skip bad"], 2, Ok(0.5));
    sum(&["0.8 - fail 1", "0.2 - floor bad"], 2, Ok(0.8));
    sum(&["0.8 - skip bad", "0.2 - skip bad"], 2, Err(FailureKind::Abstain));
    sum(&["1 - fail 1", "-0.5 - fail 1"], 2, Ok(0.5));
    sum(&["1 - skip bad", "0 - fail 1"], 2, Err(FailureKind::Abstain));
}

#[test]
fn explanations_say_what_each_part_gave() {
    let explain = |combine, lines: &[&str]| {
        let (pipeline, ready) = pipeline(combine, lines);
        let mut known = vec![None; ready.len()];
        while let Some(next) = pipeline.next(&known) {
            known[next] = Some(ready[next].clone());
        }
        let scored = pipeline.combine(known).expect("a score");
        pipeline.explained(scored).reason.detail
    };
    let check = |combine, lines: &[&str], expected: Option<&str>| {
        assert_eq!(explain(combine, lines).as_deref(), expected, "{lines:?}");
    };
    check(
        Combine::WeightedSum,
        &["0.8 - fail 0", "0.2 - floor bad"],
        Some("'p0' 0 (test, weight 0.8); 'p1' has no score (test_failure, weight 0.2)"),
    );
    check(
        Combine::Gate,
        &["1 1 fail 0.66667", "1 - fail 1"],
        Some("'p0' 0.6667 (test); 'p1' was not evaluated"),
    );
    check(Combine::Cascade, &["1 - fail 0", "1 - fail 1"], None);
}

#[test]
fn minima() {
    let min = |lines: &[&str], evaluated, expected| check(Combine::Min, lines, evaluated, expected);
    min(&["1 - fail 1", "1 - fail 0.25"], 2, Ok(0.25));
    min(&["1 - fail 1", "1 - skip bad"], 2, Ok(1.0));
    min(&["1 - fail 1", "1 - floor bad"], 2, Ok(0.0));
    min(&["1 - skip abstain"], 1, Err(FailureKind::Abstain));
}

#[test]
fn gates_open_past_their_threshold() {
    let gate =
        |lines: &[&str], evaluated, expected| check(Combine::Gate, lines, evaluated, expected);
    gate(&["0 1 fail 1", "1 - fail 0.5"], 2, Ok(0.5));
    gate(&["0 1 fail 0.9", "1 - fail 1"], 1, Ok(0.0));
    gate(&["0.5 0.5 fail 0.5", "1 1 fail 0", "1 - fail 1"], 2, Ok(0.25));
    gate(&["0 1 fail bad", "1 - fail 1"], 1, Err(FailureKind::BadReference));
    gate(&["0 1 floor bad", "1 - fail 1"], 1, Ok(0.0));
    gate(&["0 1 skip bad", "1 - fail 1"], 2, Ok(1.0));
}

#[test]
fn cascades_stop_at_the_first_decision() {
    let cascade =
        |lines: &[&str], evaluated, expected| check(Combine::Cascade, lines, evaluated, expected);
    cascade(&["1 - fail 0", "1 - fail 1"], 1, Ok(0.0));
    cascade(&["1 - fail abstain", "1 - fail 1"], 2, Ok(1.0));
    cascade(&["1 - fail 0?", "1 - fail 1"], 2, Ok(1.0));
    cascade(&["1 - fail 0?", "1 - fail abstain"], 2, Ok(0.0));
    cascade(&["1 - fail abstain", "1 - fail abstain"], 2, Err(FailureKind::Abstain));
    cascade(&["1 - fail timeout", "1 - fail 1"], 1, Err(FailureKind::Timeout));
    cascade(&["1 - skip timeout", "1 - fail 1"], 1, Err(FailureKind::Timeout));
    cascade(&["1 - fail 0?", "1 - skip timeout"], 2, Err(FailureKind::Timeout));
    cascade(&["1 - fail abstain", "1 - floor bad"], 2, Ok(0.0));
    cascade(&["1 - floor bad", "1 - fail 1"], 2, Ok(1.0));
}

#[test]
fn means_and_products() {
    let mean =
        |lines: &[&str], evaluated, expected| check(Combine::Mean, lines, evaluated, expected);
    mean(&["1 - fail 1", "1 - fail 0.25"], 2, Ok(0.625));
    mean(&["1 - fail 1", "1 - skip bad", "1 - fail 0.5"], 3, Ok(0.75));
    mean(&["1 - fail 1", "1 - floor bad"], 2, Ok(0.5));
    mean(&["1 - fail timeout", "1 - fail 1"], 1, Err(FailureKind::Timeout));
    mean(&["1 - skip bad"], 1, Err(FailureKind::Abstain));
    for on_error in ["skip", "floor"] {
        let late = format!("1 - {on_error} timeout");
        mean(&["1 - fail 1", &late], 2, Err(FailureKind::Timeout));
        mean(&[&late], 1, Err(FailureKind::Timeout));
    }
    let product =
        |lines: &[&str], evaluated, expected| check(Combine::Product, lines, evaluated, expected);
    product(&["1 - fail 0.5", "1 - fail 0.25"], 2, Ok(0.125));
    product(&["1 - fail 0.5", "1 - skip bad"], 2, Ok(0.5));
    product(&["1 - fail 0.5", "1 - floor bad"], 2, Ok(0.0));
    product(&["1 - skip bad", "1 - skip bad"], 2, Err(FailureKind::Abstain));
    product(&["1 - fail 1e200", "1 - fail 1e200"], 2, Err(FailureKind::Abstain));
}

#[test]
fn b2_uncertainty_weighted_parts() {
    let check_uwo = |variance, lines: &[&str], expected| {
        let uwo = Combine::Uwo { lambda: 0.5, variance };
        check(uwo, lines, lines.len(), expected);
    };
    let members = ["1 - fail 1", "1 - fail 2", "1 - fail 3", "1 - fail 6"];
    check_uwo(Population, &members, Ok(1.25));
    check_uwo(Unbiased, &members, Ok(3.0 - 7.0 / 3.0));
    check_uwo(Population, &["1 - skip bad", "1 - fail 2"], Ok(2.0));
    // The variance of the one that is left does not exist.
    check_uwo(Unbiased, &["1 - skip bad", "1 - fail 2"], Err(FailureKind::Abstain));
    check_uwo(Population, &["1 - skip bad"], Err(FailureKind::Abstain));
    check_uwo(Population, &["1 - fail 5/9 raw scaled", "1 - fail 5/9 scaled"], Ok(3.0 - 0.5));
}

#[test]
fn b5_r1_parts() {
    let r1 = |lines: &[&str], evaluated, expected| check(Combine::R1, lines, evaluated, expected);
    let lines = |format, accuracy, consistency| {
        [
            format!("1 - fail {format} format"),
            format!("1 - fail {accuracy} accuracy"),
            format!("1 - floor {consistency} consistency"),
        ]
    };
    let check_all = |all: [String; 3], evaluated, expected| {
        let lines: Vec<&str> = all.iter().map(String::as_str).collect();
        r1(&lines, evaluated, expected);
    };
    check_all(lines("1", "1", "1"), 3, Ok(2.0));
    check_all(lines("1", "1", "-1"), 3, Ok(1.0));
    check_all(lines("1", "1", "bad"), 3, Ok(1.5));
    // Consistency alone earns nothing and is not evaluated.
    check_all(lines("1", "0", "1"), 2, Ok(0.5));
    check_all(lines("0", "0", "1"), 2, Ok(0.0));
    check_all(lines("1", "bad", "1"), 2, Err(FailureKind::BadReference));
    check_all(lines("1", "7", "1"), 3, Err(FailureKind::Abstain));
    r1(&["1 - fail 1 consistency", "1 - fail 0 accuracy", "1 - fail 1 format"], 3, Ok(0.5));
}

#[test]
fn b3_gated_accumulation_of_parts() {
    let g_ra =
        |lines: &[&str], evaluated, expected| check(Combine::GRa, lines, evaluated, expected);
    g_ra(&["1 0 fail 1", "1 0 fail 0.5", "1 - fail 0.25"], 3, Ok(1.75));
    // Strictly above: an outcome of 0 does not pass a threshold of 0.
    g_ra(&["1 0 fail 0", "1 0 fail 0.5", "1 - fail 0.25"], 1, Ok(0.0));
    g_ra(&["1 0 fail 1", "1 0.5 fail 0.5", "1 - fail 0.25"], 2, Ok(1.5));
    g_ra(&["1 0 floor bad", "1 - fail 1"], 1, Ok(0.0));
    g_ra(&["1 0 fail abstain", "1 - fail 1"], 1, Err(FailureKind::Abstain));
}

#[test]
fn parts_are_adjusted_before_they_count() {
    let sum = |lines: &[&str], expected| check(Combine::WeightedSum, lines, lines.len(), expected);
    sum(&["1 - fail 3 scaled"], Ok(1.0));
    sum(&["1 - fail 3 scaled clip"], Ok(0.5));
    sum(&["1 - fail -3 clip"], Ok(-0.5));
    sum(&["1 - fail 0.4 pass", "1 - fail 0.5 pass"], Ok(1.0));
    // A raw value that does not exist is a part without a score.
    sum(&["1 - fail 0.5/-2 raw"], Ok(-2.0));
    sum(&["1 - fail 0.5 raw"], Err(FailureKind::Abstain));
    sum(&["1 - floor 0.5 raw", "1 - fail 1"], Ok(1.0));
    sum(&["1 - skip 0.5 raw", "1 - fail 1"], Ok(2.0));
    check(Combine::Gate, &["0 0.5 fail 0.6 scaled", "1 - fail 1"], 1, Ok(0.0));
    check(Combine::Min, &["1 - fail 9 scaled clip", "1 - fail 1"], 2, Ok(0.5));
}

#[test]
fn extracted_answer_of_the_first_part_with_one_is_passed_on() {
    let answer = |text: &str| ExtractedAnswer {
        text: text.to_owned(),
        span: 0..1,
        count: 1,
        source: "boxed",
        flags: Vec::new(),
    };
    let check = |texts: &[Option<&str>], expected: Option<&str>| {
        let lines: Vec<&str> = texts.iter().map(|_| "1 - fail 1").collect();
        let (pipeline, mut outcomes) = pipeline(Combine::Mean, &lines);
        for (outcome, text) in outcomes.iter_mut().zip(texts) {
            let scored = outcome.as_mut().expect("a score");
            scored.evidence.candidate = text.map(answer);
        }
        let whole = pipeline.combine(outcomes.into_iter().map(Some).collect());
        let found = whole.expect("a score").evidence.candidate;
        assert_eq!(found.as_ref().map(|found| found.text.as_str()), expected, "{texts:?}");
    };
    check(&[None, Some("2"), Some("3")], Some("2"));
    check(&[Some("1"), None], Some("1"));
    check(&[None, None], None);
}

#[test]
fn group_is_normalised_only_when_complete() {
    let check = |words: &[&str], how, expected: Option<&[f64]>| {
        let (mut pipeline, _) = pipeline(Combine::Mean, &[]);
        pipeline.normalise = how;
        let outcomes = words.iter().map(|word| outcome(word)).collect();
        let group = pipeline.normalise(group::outcome_mean(outcomes));
        let evidence = group.map_or_else(|failure| failure.evidence, |reward| reward.evidence);
        let members = evidence.members.expect("it is a group");
        let got: Option<Vec<f64>> = members.iter().map(|member| member.normalised).collect();
        assert_eq!(got.as_deref(), expected, "{words:?}");
    };
    let mean = Some(Normalisation::Mean);
    check(&["1", "0"], None, None);
    check(&["1", "0"], mean, Some(&[0.5, -0.5]));
    check(&["0.7"], mean, Some(&[0.0]));
    check(&["0.1", "0.1", "0.1"], mean, Some(&[0.0, 0.0, 0.0]));
    check(&["1", "timeout", "0"], mean, None);
    check(&["1e300", "-1e300"], mean, Some(&[1e300, -1e300]));
    check(&["1", "0", "0"], Some(Normalisation::LeaveOneOut), Some(&[1.0, -0.5, -0.5]));
}

proptest! {
    #[test]
    fn minimum_is_the_smallest_part(scores in prop::collection::vec(0.0f64..=1.0, 1..6)) {
        let lines: Vec<String> = scores.iter().map(|s| format!("1 - fail {s}")).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let (_, outcome) = run_pipeline(Combine::Min, &lines);
        let score = outcome.expect("every part scored").score;
        prop_assert!(scores.iter().all(|s| score <= *s));
        prop_assert!(scores.contains(&score));
    }

    #[test]
    fn failing_part_is_never_a_number(position in 0usize..4, combine in 0usize..2) {
        let combine = [Combine::WeightedSum, Combine::Min][combine];
        let lines: Vec<&str> =
            (0..4).map(|i| if i == position { "1 - fail bad" } else { "1 - fail 1" }).collect();
        let (_, outcome) = run_pipeline(combine, &lines);
        prop_assert_eq!(outcome.expect_err("the part failed").kind, FailureKind::BadReference);
    }
}

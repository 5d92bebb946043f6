use super::{THREE, close, config, criterion, reward, saying, yes_no};
use crate::outcome::FailureKind;
use crate::{Input, Score};

/// 1 and 3 are met, 2 is not: margins of 1, -2 and 3.
fn answers(prompt: &str) -> Vec<(&'static str, f32)> {
    match criterion(prompt) {
        "one" => yes_no(2.0, 1.0),
        "two" => yes_no(0.0, 2.0),
        _ => yes_no(3.0, 0.0),
    }
}

fn parts(reward: &Score) -> Vec<(f64, Option<f64>, String)> {
    let parts = reward.evidence.parts.iter().flatten();
    let each = parts.map(|part| {
        let found = part.outcome.clone().expect("it was judged").expect("it was answered");
        let label = found.label.expect("it has one").into_owned();
        (found.score, found.raw, label)
    });
    each.collect()
}

#[test]
fn a12_labels_and_points() {
    let (bench, _) = saying(&config("", THREE), answers);
    assert_eq!(bench.check(), Ok(()));
    let judged = reward(bench.one("r", Input::of("x")));
    close(judged.score, 3.0 / 8.0);
    close(judged.raw.expect("unclipped"), 3.0 / 8.0);
    let parts = parts(&judged);
    let margins = [1.0, -2.0, 3.0];
    for (part, (margin, label)) in
        parts.iter().zip(margins.into_iter().zip(["met", "unmet", "met"]))
    {
        close(part.1.expect("a margin"), margin);
        assert_eq!(part.2, label);
    }
    let trace = judged.evidence.trace.expect("a model was called");
    assert!(trace.label_mass.expect("labels were read") > 0.99);
    assert!(trace.prompt.is_some() && trace.model.is_some());
}

#[test]
fn partial_credit_is_the_share_of_yes() {
    let (bench, _) = saying(&config("soft = true", THREE), answers);
    let judged = reward(bench.one("r", Input::of("x")));
    let share = |margin: f64| 1.0 / (1.0 + (-margin).exp());
    let expected = (5.0 * share(1.0) + 3.0 * share(-2.0) - 2.0 * share(3.0)) / 8.0;
    close(judged.score, expected);
}

#[test]
fn faults_may_outweigh_merits_and_be_clipped() {
    let only_fault = |prompt: &str| match criterion(prompt) {
        "three" => yes_no(3.0, 0.0),
        _ => yes_no(0.0, 3.0),
    };
    let (bench, _) = saying(&config("", THREE), only_fault);
    close(reward(bench.one("r", Input::of("x"))).score, -0.25);
    let clipped = format!("{THREE}[scorer.rubric.aggregate]\nclip = true\n");
    let (bench, _) = saying(&config("", &clipped), only_fault);
    let judged = reward(bench.one("r", Input::of("x")));
    close(judged.score, 0.0);
    close(judged.raw.expect("unclipped"), -0.25);
}

/// The second item has no answer worth the name.
fn one_unsure(prompt: &str) -> Vec<(&'static str, f32)> {
    match criterion(prompt) {
        "two" => vec![("Yes", 0.0), ("x", 5.0)],
        _ => answers(prompt),
    }
}

#[test]
fn unanswered_items_follow_the_configuration() {
    let on = |rule: &str| {
        let (bench, _) = saying(&config(&format!("on_item_error = '{rule}'"), THREE), one_unsure);
        bench.one("r", Input::of("x"))
    };
    let failed = on("fail").expect_err("an item failed");
    assert_eq!(failed.kind, FailureKind::Abstain);
    assert_eq!(failed.reason.code, "low_label_mass");
    assert!(failed.evidence.parts.is_some_and(|parts| parts.len() == 3));
    close(reward(on("skip")).score, 3.0 / 5.0);
    close(reward(on("unmet")).score, 3.0 / 8.0);
}

#[test]
fn unanswered_veto_item_fails_the_rubric() {
    let rubric =
        THREE.replace("criterion = 'two'\n", "criterion = 'two'\ncritical = { below = 0.5 }\n");
    for rule in ["fail", "skip", "unmet"] {
        let options = format!("on_item_error = '{rule}'");
        let (bench, _) = saying(&config(&options, &rubric), one_unsure);
        let failed = bench.one("r", Input::of("x")).expect_err("it is unknown");
        assert_eq!(failed.reason.code, "low_label_mass");
    }
    let (bench, _) = saying(&config("", &rubric), answers);
    let judged = reward(bench.one("r", Input::of("x")));
    close(judged.score, 0.0);
    assert_eq!(judged.label.as_deref(), Some("vetoed"));
    assert_eq!(judged.reason.code, "vetoed");
}

const TIERS: &str = "
[scorer.rubric.aggregate]
method = 'rubicon'
[[scorer.rubric.items]]
criterion = 'depth'
weight = 2
tiers = [
  { text = 'none', value = 0 },
  { text = 'some', value = 1 },
  { text = 'much', value = 4 },
]
";

#[test]
fn a13_tiers_are_read_from_one_token() {
    let says = |_: &str| vec![("A", 0.0), ("B", 1.0), ("C", 2.0)];
    let of = |value: &str| {
        let options = format!("spellings = 'bare'\ntiers = '{value}'");
        let (bench, _) = saying(&config(&options, TIERS), says);
        assert_eq!(bench.check(), Ok(()));
        reward(bench.one("r", Input::of("x")))
    };
    let (a, b, c) = (1.0, 1f64.exp(), 2f64.exp());
    close(of("expected").score, 2.0 * (b + 4.0 * c) / (a + b + c));
    let likeliest = of("likeliest");
    close(likeliest.score, 8.0);
    assert_eq!(parts(&likeliest)[0].2, "C");
}

#[test]
fn multi_token_labels_are_refused_at_load() {
    let (bench, _) = saying(&config("spellings = 'spaced'", TIERS), |_: &str| Vec::new());
    let problems = bench.check().expect_err("a space and a letter are two tokens");
    assert!(problems[0].contains("must be one"), "{problems:?}");
}

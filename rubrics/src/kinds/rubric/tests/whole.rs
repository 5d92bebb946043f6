use serde_json::json;

use super::{THREE, close, config, criterion, reward, saying, with_rubric, yes_no};
use crate::config::Document;
use crate::outcome::FailureKind;
use crate::testing::read_registry;
use crate::{Input, Passage, Registry, Responses};

const VERIFIED: &str = "
[[scorer.rubric.items]]
id = 'right'
criterion = 'the answer is 42'
points = 4
tags = ['verifier:rule', 'function:math_verify', 'parameters:42']
[[scorer.rubric.items]]
id = 'also'
criterion = 'the answer is 41'
points = 1
verifier = { scorer = 'math', reference = '41' }
";

#[test]
fn a12_rule_items_cost_no_model() {
    let asked = "\n[[scorer.rubric.items]]\ncriterion = 'one'\npoints = 5\n";
    let (bench, seen) =
        saying(&config("", &(VERIFIED.to_owned() + asked)), |_: &str| yes_no(3.0, 0.0));
    let judged = reward(bench.one("r", Input::of("so \\boxed{42}")));
    close(judged.score, 0.9);
    let prompts = seen.lock().expect("no thread panicked").len();
    assert_eq!(prompts, 1);
    let (bench, seen) = saying(&config("", VERIFIED), |_: &str| yes_no(3.0, 0.0));
    assert!(!bench.registry.get("r").expect("configured").uses_models());
    let judged = reward(bench.one("r", Input::of("so \\boxed{42}")));
    close(judged.score, 0.8);
    assert_eq!(judged.evidence.trace, None);
    assert!(seen.lock().expect("no thread panicked").is_empty());
}

#[test]
fn undecided_verifier_is_a_failed_item() {
    // The input has no reference to fall back to.
    let broken = VERIFIED.replace(", reference = '41'", "");
    let on = |rule: &str| {
        let (bench, _) =
            saying(&config(&format!("on_item_error = '{rule}'"), &broken), |_: &str| Vec::new());
        bench.one("r", Input::of("so \\boxed{42}"))
    };
    assert_eq!(on("fail").expect_err("bad reference").kind, FailureKind::BadReference);
    close(reward(on("skip")).score, 1.0);
    close(reward(on("unmet")).score, 0.8);
}

#[test]
fn input_rubric_replaces_the_configured_one() {
    let met = |prompt: &str| match criterion(prompt) {
        "own" => yes_no(3.0, 0.0),
        _ => yes_no(0.0, 3.0),
    };
    let (bench, _) = saying(&config("", THREE), met);
    let own = json!({ "items": [
        { "criterion": "own", "points": 1 },
        { "criterion": "other", "points": 1 },
        { "criterion": "is 42", "points": 2,
          "tags": ["verifier:rule", "function:math_verify", "parameters:42"] },
    ] });
    close(reward(bench.one("r", with_rubric(&own))).score, 0.75);
    let refused = |rubric: serde_json::Value, needle: &str| {
        let failed = bench.one("r", with_rubric(&rubric)).expect_err("it is wrong");
        assert_eq!(failed.kind, FailureKind::Refused);
        assert_eq!(failed.reason.code, "rubric_unusable");
        let detail = failed.reason.detail.expect("it says what");
        assert!(detail.contains(needle), "{detail}");
    };
    refused(json!({}), "rubric.items: missing");
    refused(json!({ "items": [{ "criterion": "c", "points": null }] }), "rubric.items[0].points");
    let many: Vec<_> = (0..10_000).map(|n| json!({ "criterion": n, "points": 1 })).collect();
    refused(json!({ "items": many }), "10000 items");
    let wrong: Vec<_> = (0..7).map(|_| json!({})).collect();
    refused(json!({ "items": wrong }), "and 9 more");
    // Names as long as these are not compared: that would take minutes.
    let (a, b) = ("a".repeat(1 << 20), "b".repeat(1 << 20));
    let ends = json!({ "items": [a, b], "gamma": 0.5 });
    let aggregate = json!({ "method": "rubicon", "interactions": vec![ends; 20] });
    let items = json!([{ "id": "c".repeat(1 << 20), "criterion": "c", "points": 1 }]);
    refused(json!({ "aggregate": aggregate, "items": items }), "no item is called 'aaaa");
    let closed = read_registry(&config("inline = false", THREE)).0;
    assert!(closed.get("r").is_some());
    let (bench, _) = saying(&config("inline = false", THREE), met);
    let failed = bench.one("r", with_rubric(&own)).expect_err("not read");
    assert_eq!(failed.reason.code, "field_not_read");
}

#[test]
fn missing_rubric_is_refused() {
    let (bench, _) = saying(&config("", ""), |_: &str| yes_no(3.0, 0.0));
    let failed = bench.one("r", Input::of("x")).expect_err("there is none");
    assert_eq!(failed.reason.code, "rubric_missing");
    let own = json!({ "items": [{ "criterion": "own", "points": 1 }] });
    close(reward(bench.one("r", with_rubric(&own))).score, 1.0);
    let (bench, _) = saying(&config("", VERIFIED), |_: &str| Vec::new());
    let failed = bench.one("r", with_rubric(&own)).expect_err("no model");
    assert_eq!(failed.reason.code, "model_missing");
}

#[test]
fn empty_responses_and_groups() {
    let (bench, _) = saying(&config("", THREE), |_: &str| yes_no(3.0, 0.0));
    let empty = reward(bench.one("r", Input::of(" \n")));
    close(empty.score, -0.25);
    assert_eq!(empty.label.as_deref(), Some("too_little_content"));
    let (defended, _) =
        saying(&config("rubric = 'builtin:defence'", ""), |_: &str| yes_no(0.0, 3.0));
    close(reward(defended.one("r", Input::of("x"))).score, 1.0);
    close(reward(defended.one("r", Input::of(""))).score, 0.0);
    let with = |rubric: serde_json::Value| {
        let rubric = rubric.as_object().cloned();
        bench.one("r", Input { rubric, ..Input::of("") })
    };
    let own = json!({ "items": [
        { "criterion": "a", "points": 1 }, { "criterion": "blames", "points": -3 },
    ] });
    close(reward(with(own)).score, -3.0);
    close(reward(with(json!({ "items": [{ "criterion": "a", "points": 1 }] }))).score, 0.0);
    assert_eq!(with(json!({})).expect_err("no items").reason.code, "rubric_unusable");
    let (without, _) = saying(&config("model = 'm'", ""), |_: &str| yes_no(3.0, 0.0));
    assert_eq!(without.one("r", Input::of("")).expect_err("none").reason.code, "rubric_missing");
    let group = Input {
        responses: Responses::Group(vec![Passage::Text("a".into()), Passage::Text("a".into())]),
        ..Input::of("")
    };
    let judged = reward(bench.one("r", group));
    close(judged.score, 6.0 / 8.0);
    let members = judged.evidence.members.expect("two");
    assert_eq!(
        members[0].outcome.as_ref().map(|r| r.score),
        members[1].outcome.as_ref().map(|r| r.score)
    );
}

fn problems(options: &str, rubric: &str) -> Vec<String> {
    read_registry(&config(options, rubric)).1
}

#[test]
fn options_are_checked() {
    let check = |options: &str, rubric: &str, expected: &str| {
        let found = problems(options, rubric);
        assert!(found.iter().any(|p| p.contains(expected)), "{expected}: {found:?}");
    };
    check("rubric = 'builtin:defense'", "", "did you mean 'builtin:defence'?");
    check("rubric = 'r.toml'", "", "beside the configuration file");
    check("verifiers = ['maths']", "", "no scorer 'maths'; did you mean 'math'?");
    check("inline = false", "", "each input must bring its own");
    check("on_item_error = 'zero'", THREE, "is not one of fail, skip, unmet");
    check("max_tokens = 5", THREE, "unknown key");
    let nan = THREE.replace("points = 5", "points = nan");
    check("", &nan, "scorer[0].rubric.items[0].points: expected a finite number");
    let bare = "[[scorer]]\nname = 'r'\nkind = 'rubric'\n[[scorer.message]]\nrole = 'user'\ncontent = '{{criterion}}'\n";
    let found = read_registry(bare).1;
    assert!(found[0].contains("'conversation' or 'response'"), "{found:?}");
    assert_eq!(problems("rubric = 'builtin:defence'", ""), Vec::<String>::new());
}

#[test]
fn rubric_paths_are_relative_to_the_configuration() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = "[[items]]\ncriterion = 'c'\npoints = 1\n";
    std::fs::write(dir.path().join("good.toml"), file).expect("written");
    std::fs::write(dir.path().join("bad.json"), "[{\"criterion\": 3}]").expect("written");
    let load = |name: &str| {
        let text = config(&format!("rubric = '{name}'"), "");
        let document = Document::new("test", &text);
        let digest = {
            let table = document.parse();
            let registry = Registry::read_beside(&document.root(&table), &["m"], Some(dir.path()));
            registry.get("r").map(|scorer| scorer.digest_text())
        };
        let problems: Vec<String> =
            document.into_problems().iter().map(ToString::to_string).collect();
        (digest, problems)
    };
    let (before, problems) = load("good.toml");
    assert_eq!(problems, Vec::<String>::new());
    std::fs::write(dir.path().join("good.toml"), file.replace("= 1", "= 2")).expect("written");
    assert_ne!(load("good.toml").0, before, "the digest covers what the file says");
    let (_, problems) = load("bad.json");
    let missing = problems.iter().find(|message| message.contains("items[0].points: missing"));
    assert!(missing.is_some_and(|message| message.contains("scorer[0].rubric")), "{problems:?}");
    assert!(load("none.toml").1[0].contains("cannot be read"));
}

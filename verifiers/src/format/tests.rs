use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::testing::{judge, outcome, outcome_within};

fn verifier(config: Value) -> FormatVerifier {
    let config = serde_json::from_value(config).expect("a configuration");
    FormatVerifier::new(config).expect("tags that mean something")
}

/// Checks the code and, if it is not `format_followed`, the byte offset in the detail.
fn check(config: &Value, candidate: &str, code: &str, at: usize) {
    let verdict =
        judge(&verifier(config.clone()), &json!(null), Some(candidate), &mut Fuel::default())
            .expect("gold is not used");
    assert_eq!(verdict.reason.code, code, "{config} {candidate}");
    let right = code == "format_followed";
    assert_eq!(verdict.score, right.into());
    if !right {
        let detail = verdict.reason.detail.expect("requested");
        let numbers: Vec<usize> = detail
            .split(|c: char| !c.is_ascii_digit())
            .filter_map(|number| number.parse().ok())
            .collect();
        assert_eq!(numbers, [at], "{detail}");
    }
}

#[test]
fn reasoning_then_answer_passes() {
    let r1 = json!({"tags": ["think", "answer"], "nothing_outside": true});
    check(&r1, "<think>x</think><answer>4</answer>", "format_followed", 0);
    check(&r1, " <think>x</think>\n\n<answer>4</answer>\n", "format_followed", 0);
    check(&r1, "<think>x < y > z </b></think><answer>4</answer>", "format_followed", 0);
    check(&r1, "<think>x</think>so <answer>4</answer>", "text_outside", 16);
    check(&r1, "<think>x</think><answer>4</answer> done", "text_outside", 35);
    check(&r1, "é<think>x</think><answer>4</answer>", "text_outside", 0);
    check(&r1, "<think>x</think>\u{200b}<answer>4</answer>", "text_outside", 16);
    check(&r1, "<answer>4</answer><think>x</think>", "tag_order", 18);
    check(&r1, "<answer>4</answer>", "tag_missing", 18);
    check(&r1, "<think>x</think>", "tag_missing", 16);
    check(&r1, "", "tag_missing", 0);
    check(&r1, "<think>x</think><answer>4</answer><answer>5</answer>", "tag_repeated", 34);
    check(&r1, "<think>x</think><answer>4", "tag_unclosed", 16);
    check(&r1, "<think>x<answer>4</answer>", "tag_nested", 8);
    check(&r1, "<think>x<think>y</think></think>", "tag_nested", 8);
    check(&r1, "</think><answer>4</answer>", "tag_unopened", 0);
    check(&r1, "<think>x</answer></think>", "tag_unopened", 8);
    check(&r1, "<think> \n</think><answer>4</answer>", "tag_empty", 9);
    check(&r1, "<think>x</think><answer></answer>", "tag_empty", 24);
    check(&r1, "<Think>x</Think><answer>4</answer>", "text_outside", 0);
    check(&r1, "<think >x</think><answer>4</answer>", "tag_unopened", 9);
    check(&r1, "<think/><answer>4</answer>", "text_outside", 0);
}

#[test]
fn loose_formats_are_followed() {
    let loose = json!({"tags": ["think", "answer"], "ordered": false, "nonempty": false});
    check(&loose, "so <answer></answer> and <think></think>.", "format_followed", 0);
    check(&loose, "<answer></answer>", "tag_missing", 17);
    let prefilled = json!({"tags": ["think", "answer"], "starts_in": "think"});
    check(&prefilled, "x</think><answer>4</answer>", "format_followed", 0);
    check(&prefilled, "<think>x</think><answer>4</answer>", "tag_nested", 0);
    check(&prefilled, "x<answer>4</answer>", "tag_nested", 1);
    check(&prefilled, "x", "tag_unclosed", 0);
    check(&prefilled, "x</think><answer>4</answer><think>y</think>", "tag_repeated", 27);
    let one = json!({"tags": ["a", "ab"]});
    check(&one, "<a>1</a><ab>2</ab>", "format_followed", 0);
    let odd = json!({"tags": ["|im.start|", "数"]});
    check(&odd, "<|im.start|>1</|im.start|><数>2</数>", "format_followed", 0);
}

/// The generation format of MARS-SQL (arXiv 2511.01008): exactly one solution without other tags
/// inside, some reasoning, and reasoning after every observation.
#[test]
fn tool_turns_repeat() {
    let mars = json!({
        "tags": ["think", "solution"], "repeatable": ["think"], "optional": ["sql", "observation"],
        "followed_by": [{"tag": "observation", "next": "think"}],
    });
    let turn = "<think>a</think><sql>b</sql><observation>c</observation>";
    let end = "<think>d</think><solution>e</solution>";
    check(&mars, &format!("{turn}{end}"), "format_followed", 0);
    check(&mars, &format!("{turn}\n{turn} {end}"), "format_followed", 0);
    check(&mars, &format!("{turn}<solution>e</solution>"), "tag_not_followed", 56);
    check(&mars, &format!("{turn}so {end}"), "tag_not_followed", 56);
    check(&mars, turn, "tag_not_followed", 56);
    check(&mars, &format!("{end}{end}"), "tag_order", 38);
    check(&mars, "<solution>e</solution>", "tag_missing", 22);
    check(&mars, "<think>a</think><solution><sql>e</sql></solution>", "tag_nested", 26);
    let loose = json!({"tags": ["think", "solution"], "repeatable": ["think"], "ordered": false});
    check(&loose, &format!("{end}{end}"), "tag_repeated", 54);
}

#[test]
fn meaningless_configurations_are_refused() {
    let repeated = |name: &str| ConfigError::TagRepeated { name: name.into() };
    let unknown = |key, name: &str| ConfigError::TagUnknown { key, name: name.into() };
    for (config, error) in [
        (json!({}), ConfigError::NoTags),
        (json!({"optional": ["a"]}), ConfigError::NoTags),
        (json!({"tags": ["a", "a"]}), repeated("a")),
        (json!({"tags": ["a"], "optional": ["a"]}), repeated("a")),
        (json!({"tags": ["a"], "repeatable": ["b"]}), unknown("repeatable", "b")),
        (json!({"tags": ["a"], "starts_in": "b"}), unknown("starts_in", "b")),
        (
            json!({"tags": ["a"], "followed_by": [{"tag": "a", "next": "b"}]}),
            unknown("followed_by", "b"),
        ),
        (json!({"tags": vec!["a"; 65]}), ConfigError::TooManyTags { given: 65, max: 64 }),
    ] {
        let config: FormatConfig = serde_json::from_value(config).expect("a configuration");
        assert_eq!(FormatVerifier::new(config).err(), Some(error));
    }
    for name in ["", "a b", "<a>", "/a", "a\n", &"a".repeat(65)] {
        let config = FormatConfig { tags: vec![name.to_owned()], ..FormatConfig::default() };
        let refused = FormatVerifier::new(config).err();
        assert_eq!(refused, Some(ConfigError::TagName { name: name.to_owned() }));
    }
}

#[test]
fn hostile_responses_only_cost_fuel() {
    let plain = verifier(
        json!({"tags": ["think", "answer"], "repeatable": ["think", "answer"], "ordered": false}),
    );
    for (text, expected) in [
        ("a".repeat(1_000_000), (0.0, "tag_missing")),
        ("<".repeat(1_000_000), (0.0, "tag_missing")),
        ("<think".repeat(100_000), (0.0, "tag_missing")),
        ("<think>".repeat(100_000), (0.0, "tag_nested")),
        ("</think>".repeat(100_000), (0.0, "tag_unopened")),
        ("<think>a</think>".repeat(100_000), (0.0, "tag_missing")),
        ("<think>a</think><answer>b</answer>".repeat(50_000), (1.0, "format_followed")),
        ("\u{0}\u{202e}<think>\u{0}</think>".repeat(10), (0.0, "tag_missing")),
        ("a".repeat(10_000_000), (0.0, "fuel_spent")),
    ] {
        assert_eq!(outcome(&plain, &json!(null), Some(&text)), expected, "{text:.20}");
    }
    assert_eq!(outcome(&plain, &json!("unused"), None), (0.0, "no_answer"));
    assert_eq!(outcome_within(&plain, &json!(null), Some(""), 0), (0.0, "fuel_spent"));
}

proptest! {
    #[test]
    fn rendering_fails_without_any_of_its_tags(
        names in proptest::collection::btree_set("[a-z|.-]{1,6}", 1..6),
        content in "[a-z <>/]{0,8}x",
        gap in "[ \n]{0,2}",
        nothing_outside: bool,
        ordered: bool,
    ) {
        let names: Vec<String> = names.into_iter().collect();
        let verifier = verifier(json!({"tags": names, "nothing_outside": nothing_outside, "ordered": ordered}));
        let contains_tag = names.iter().any(|n| content.contains(&format!("<{n}>")) || content.contains(&format!("</{n}>")));
        prop_assume!(!contains_tag);
        let mut pieces = Vec::new();
        for name in &names {
            pieces.extend([format!("<{name}>"), content.clone(), format!("</{name}>"), gap.clone()]);
        }
        prop_assert_eq!(outcome(&verifier, &json!(null), Some(&pieces.concat())), (1.0, "format_followed"));
        for index in (0..pieces.len()).filter(|index| index % 2 == 0) {
            let mut rest = pieces.clone();
            rest.remove(index);
            prop_assert!(outcome(&verifier, &json!(null), Some(&rest.concat())).0 < 1.0);
        }
    }

    #[test]
    fn no_response_panics(text in "(<|>|/|think|answer|a| |é){0,40}") {
        let config = json!({"tags": ["think", "answer"], "optional": ["a"], "starts_in": "a"});
        outcome(&verifier(config), &json!(null), Some(&text));
    }
}

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{close, read_rubric, rubric};
use crate::Reference;
use crate::rubric::{
    ItemAnswer, Method, Saturation, Veto, built_in, built_in_names, from_json, path_text,
};

#[test]
fn all_fields_of_a_file_are_read() {
    let rubric = rubric(
        "
name = 'example'
[aggregate]
method = 'rubicon'
clip = true
veto = -1
base = 0.5
saturation = { kind = 'cap', at = 0.8 }
shaping = { knee = 0.7, power = 2 }
[[aggregate.interactions]]
items = ['b', '1']
gamma = -0.5
[[items]]
criterion = 'first'
tags = ['axis:accuracy', 'level:example', 'cluster:a', 'theme:b', 'physician_agreed_category:c']
[[items]]
id = 'b'
criterion = 'second'
weight = 2
tiers = [{ text = 'bad', value = 1 }, { text = 'good', value = 5 }]
critical = { below = 2 }
[[items]]
criterion = 'third'
weight = -1
verifier = { scorer = 'exact', reference = ['x', 'y'], at_least = 1 }
",
    );
    let ids: Vec<&str> = rubric.items.iter().map(|item| item.id.as_str()).collect();
    assert_eq!(ids, ["1", "b", "3"]);
    let Method::Rubicon(rubicon) = &rubric.method else {
        panic!("another method");
    };
    assert_eq!(rubicon.saturation, Some(Saturation::Cap(0.8)));
    assert_eq!(rubicon.interactions[0].items, (0, 1));
    assert_eq!(rubric.items[1].veto, Some(Veto::Below(2.0)));
    assert_eq!(rubric.scorers(), ["exact"]);
    assert_eq!(rubric.most_tiers(), 2);
    assert!(rubric.clip);
    close(rubric.veto_score, -1.0);
}

#[test]
fn json_and_toml_are_one_schema() {
    let toml = "[[items]]\ncriterion = 'c'\npoints = 5\ntags = ['a']\n[aggregate]\nclip = true\n";
    let json = r#"{"items": [{"criterion": "c", "points": 5, "tags": ["a"]}], "aggregate": {"clip": true}}"#;
    assert_eq!(read_rubric("r.json", json), read_rubric("r.toml", toml));
    let list = read_rubric("r.json", r#"[{"criterion": "c", "points": 5.0, "tags": ["a"]}]"#);
    assert_eq!(list.expect("a list of items").items, rubric(toml).items);
}

#[test]
fn a12_rule_tags_use_a_verifier() {
    let rubric = read_rubric(
        "r.json",
        r#"[{"criterion": "The answer is 42.", "points": 5,
             "tags": ["verifier:rule", "function:math_verify", "parameters:a:42", "axis:x"]}]"#,
    );
    let ItemAnswer::Verifier(verification) = &rubric.expect("a rubric").items[0].answer else {
        panic!("a model would be used");
    };
    assert_eq!(verification.scorer, "math");
    assert_eq!(verification.reference, Some(Reference::Text("a:42".to_owned())));
}

/// Problems of a TOML file, without its name.
#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let problems = read_rubric("r.toml", text).expect_err("it is wrong");
    assert_eq!(problems.len(), expected.len(), "{problems:#?}");
    for (problem, expected) in problems.iter().zip(expected) {
        assert!(
            problem.strip_prefix("r.toml:").is_some_and(|p| p.contains(expected)),
            "{problem}, expected {expected}"
        );
    }
}

#[test]
fn rubric_problems_name_their_places() {
    let text = "
[[items]]
criterion = ' '
points = nan

[[items]]
criterion = 'c'
points = 0
extra = 1

[[items]]
id = 'x'
criterion = 3

[[items]]
id = 'x'
criterion = 'd'
points = 1
critical = { below = 2.0 }
";
    let expected = [
        "3: items[0].criterion: expected a text that is not empty",
        "4: items[0].points: expected a finite number",
        "8: items[1].points: 0 points say nothing",
        "9: items[1].extra: unknown key",
        "11: items[2].points: missing",
        "13: items[2].criterion: expected a text that is not empty",
        "19: items[3].critical.below: contradictory veto",
    ];
    check(text, &expected);
}

#[test]
fn items_and_their_sums() {
    check("", &["1: items: missing"]);
    check("items = []", &["1: items: 0 items; there are 1 to 1000"]);
    check("items = 3", &["1: items: expected a list of tables"]);
    check("items = [3]", &["1: items[0]: expected a table"]);
    let many = "[[items]]\ncriterion = 'c'\npoints = 1\n".repeat(10_000);
    check(&many, &["items: 10000 items; there are 1 to 1000"]);
    let item = |rest: &str| format!("[[items]]\ncriterion = 'c'\n{rest}\n");
    check(&item("points = -3"), &["1: items: the positive points sum to 0"]);
    let meant = item("points = -3") + "[aggregate]\nallow_no_positive = true\n";
    let rubric = rubric(&meant);
    close(rubric.aggregate(&[Some(1.0)]).expect("a value").score, 0.0);
    check(&item("points = inf"), &["points: expected a finite number"]);
    check(&item("points = 1e300"), &["points: must not be larger than 1e9"]);
    check(&item("points = 1\nweight = 2"), &["weight: this method counts 'points'"]);
    let twice = item("id = 'a'\npoints = 1") + &item("id = 'a'\npoints = 1");
    check(&twice, &["7: items[1].id: items[0] is called 'a' too"]);
    let taken = item("id = '2'\npoints = 1") + &item("points = 1");
    check(&taken, &["items[1].id: items[0] is called '2' too"]);
}

#[test]
fn answers_of_items() {
    let item = |rest: &str| format!("[[items]]\ncriterion = 'c'\npoints = 1\n{rest}\n");
    let tier = |a: f64, b: f64| {
        item(&format!("tiers = [{{text = 'a', value = {a}}}, {{text = 'b', value = {b}}}]"))
    };
    check(&tier(0.0, 0.0), &["tiers are in order"]);
    check(&tier(0.0, 2.0), &["tiers are shares of them"]);
    check(&item("tiers = [{text = 'a', value = 0}]"), &["1 tiers; there are 2 to 26"]);
    let tags = |tags: &str| item(&format!("tags = [{tags}]"));
    check(&tags("'verifier:model'"), &["unknown tag 'verifier:model'; there is rule"]);
    check(&tags("'verifer:rule'"), &["unknown tag 'verifer:rule'; did you mean 'verifier:'?"]);
    check(&tags("'verifier:rule'"), &["a rule item has the tags"]);
    let other = "'verifier:rule', 'function:sympy', 'parameters:1'";
    check(&tags(other), &["unknown tag 'function:sympy'; there is math_verify"]);
    let twice = "'verifier:rule', 'verifier:rule'";
    check(&tags(twice), &["two tags begin with 'verifier:'"]);
    let verifier = |scorer: &str| item(&format!("verifier = {{ scorer = '{scorer}' }}"));
    check(
        &verifier("maths"),
        &["verifier.scorer: no scorer 'maths' may be asked here; did you mean 'math'?"],
    );
    check(
        &verifier("judgement"),
        &["'judgement' may be asked here; the option `verifiers` names those that may: "],
    );
    let both =
        item("verifier = { scorer = 'math' }\ntiers = [{text='a',value=0},{text='b',value=1}]");
    check(&both, &["answered by tiers, by a verifier or by its tags"]);
    check(&item("verifier = { scorer = 'math', reference = 3 }"), &["expected a text, a list"]);
}

#[test]
fn vetoes_that_contradict() {
    let item = |points: f64, critical: &str| {
        format!("[[items]]\ncriterion = 'c'\npoints = {points}\ncritical = {{ {critical} }}\n")
    };
    check(&item(1.0, "below = 1.5"), &["no response can pass"]);
    check(&item(1.0, "below = 0"), &["this never vetoes"]);
    let good = "[[items]]\ncriterion = 'd'\npoints = 1\n";
    check(&(good.to_owned() + &item(-1.0, "above = -1")), &["no response can pass"]);
    check(&(good.to_owned() + &item(-1.0, "above = 1")), &["this never vetoes"]);
    check(&item(1.0, "above = 0.5"), &["what the item's own points reward"]);
    check(&(good.to_owned() + &item(-1.0, "below = 0.5")), &["what the item's own points reward"]);
    check(&item(1.0, "above = 0.5, below = 0.5"), &["give either 'below' or 'above'"]);
    check(&item(1.0, ""), &["give either 'below' or 'above'"]);
    let pair = item(1.0, "below = 0.5") + &item(-1.0, "above = 0.4");
    check(&pair, &["no response can pass both"]);
}

#[test]
fn aggregates() {
    let with = |aggregate: &str| {
        let items =
            "[[items]]\nid = 'abc'\ncriterion = 'c'\n[[items]]\nid = 'b'\ncriterion = 'd'\n";
        format!("{items}[aggregate]\n{aggregate}\n")
    };
    let rubicon = |rest: &str| with(&format!("method = 'rubicon'\n{rest}"));
    check(
        &with("method = 'mean'"),
        &["points: missing", "points: missing", "'mean' is not one of points, rubicon"],
    );
    check(&rubicon("veto = 0.5"), &["a veto gives 0 or -1"]);
    check(&rubicon("saturation = { kind = 'tanh', a = 0 }"), &["a: must be from"]);
    check(&rubicon("shaping = { knee = 1.0, power = 2 }"), &["knee: must be below the top, 1"]);
    check(&rubicon("shaping = { knee = 0.5, power = 0.5 }"), &["power: must be from 1 to 16"]);
    let pair = |ids: &str| rubicon(&format!("interactions = [{{ items = [{ids}], gamma = 1 }}]"));
    check(&pair("'abc', 'abd'"), &["no item is called 'abd'; did you mean 'abc'?"]);
    check(&pair("'b', 'b'"), &["an item does not interact with itself"]);
    check(&pair("'b'"), &["expected the ids of two items"]);
    let twice =
        "interactions = [{ items = ['b', 'abc'], gamma = 1 }, { items = ['abc', 'b'], gamma = 2 }]";
    check(&rubicon(twice), &["this pair is given twice"]);
    check(&rubicon("clip = 1"), &["expected true or false"]);
    check(
        "[[items]]\ncriterion = 'c'\npoints = 1\n[aggregate]\nbase = 1",
        &["this is for method = \"rubicon\""],
    );
}

#[test]
fn json_faults_have_paths() {
    let faults = from_json(&json!({ "items": [{ "criterion": "c" }] }), &[]);
    let faults = faults.expect_err("points are missing");
    assert_eq!(path_text("rubric", &faults[0].at), "rubric.items[0].points");
    assert!(
        read_rubric("r.toml", "items = [\n")
            .is_err_and(|message| message[0].starts_with("r.toml:"))
    );
    let syntax = read_rubric("r.json", "{\n\"items\": [\n").expect_err("not JSON");
    assert!(syntax[0].starts_with("r.json:"), "{syntax:?}");
    assert!(read_rubric("r.json", r#"{"items": [{"criterion": "c", "points": 1e999}]}"#).is_err());
}

#[test]
fn rubrics_that_come_with_us() {
    for name in built_in_names() {
        let rubric = built_in(name).expect("it is listed");
        let flattering = rubric.items.iter().position(|item| item.id.ends_with("opening_flattery"));
        let flattering = flattering.expect("every one of them defends itself");
        let clean: Vec<Option<f64>> = rubric
            .items
            .iter()
            .map(|item| match (&item.answer, item.points > 0.0) {
                (ItemAnswer::Tiers(_), _) => Some(item.range().1),
                (ItemAnswer::YesNo | ItemAnswer::Verifier(_), good) => {
                    Some(if good { 1.0 } else { 0.0 })
                }
            })
            .collect();
        let whole = rubric.aggregate(&clean).expect("a value");
        assert!(whole.score > 0.9, "{name}: {whole:?}");
        let mut flattered = clean;
        flattered[flattering] = Some(1.0);
        let whole = rubric.aggregate(&flattered).expect("a value");
        close(whole.score, 0.0);
        assert_eq!(whole.vetoed_by, Some(flattering));
    }
    assert!(built_in("none").is_none());
}

#[test]
fn documented_rubrics_are_valid() {
    let text = include_str!("../../../../docs/rubrics.md");
    let mut count = 0;
    for (language, file) in [("toml", "r.toml"), ("json", "r.json")] {
        for part in text.split(&format!("```{language}\n")).skip(1) {
            let block = part.split("```").next().unwrap_or_default();
            assert!(read_rubric(file, block).is_ok(), "{block}: {:?}", read_rubric(file, block));
            count += 1;
        }
    }
    assert_eq!(count, 3);
}

fn junk() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!(null),
        json!(true),
        json!(-1),
        json!(1e300),
        json!(""),
        json!("verifier:rule"),
        json!([]),
        json!([1, "a"]),
        json!({}),
        json!({ "below": 0.5, "text": "a", "value": 1 }),
    ])
}

proptest! {
    /// With any junk as one of its values, a rubric aggregates or has faults.
    #[test]
    fn corrupted_rubrics_parse_or_report_faults(junk in junk(), at in 0..40usize) {
        let mut value = json!({
            "name": "n",
            "items": [
                { "id": "a", "criterion": "c", "weight": 1, "tags": ["x"], "critical": { "below": 0.5 } },
                { "id": "b", "criterion": "d", "tiers": [{ "text": "t", "value": 0 }, { "text": "u", "value": 2 }] },
                { "id": "c", "criterion": "e", "verifier": { "scorer": "math", "reference": "1" } },
            ],
            "aggregate": {
                "method": "rubicon", "veto": 0, "clip": false, "base": 0,
                "saturation": { "kind": "tanh", "a": 1 },
                "shaping": { "knee": 0.5, "power": 2 },
                "interactions": [{ "items": ["a", "b"], "gamma": 1 }],
            },
        });
        let mut left = at;
        replace(&mut value, &mut left, &junk);
        match from_json(&value, &["math".to_owned()]) {
            Err(faults) => prop_assert!(!faults.is_empty()),
            Ok(rubric) => {
                let values: Vec<Option<f64>> = rubric.items.iter().map(|item| Some(item.range().1)).collect();
                prop_assert!(rubric.aggregate(&values).is_ok_and(|whole| whole.score.is_finite()));
            }
        }
    }
}

/// Replaces the value at a position of a walk with `junk`.
fn replace(value: &mut Value, left: &mut usize, junk: &Value) -> bool {
    if *left == 0 {
        *value = junk.clone();
        return true;
    }
    *left -= 1;
    match value {
        Value::Array(items) => items.iter_mut().any(|item| replace(item, left, junk)),
        Value::Object(map) => map.values_mut().any(|item| replace(item, left, junk)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

//! Schemas that cannot be used, documents and schemas made to be costly, and laws.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::testing::outcome_within;

const TOO_DEEP: (f64, &str) = (0.0, "too_deep");
const SPENT: (f64, &str) = (0.0, "fuel_spent");

#[test]
fn unusable_schemas_are_bad_references() {
    let wide = |n: usize| -> Value {
        (0..n).map(|i| (format!("p{i}"), json!({"type": "null"}))).collect()
    };
    for (schema, code) in [
        (json!({"type": "text"}), "schema_invalid"),
        (json!({"items": [{}]}), "schema_invalid"),
        (json!({"$ref": "https://example.com/a.json"}), "schema_ref"),
        (json!({"$ref": "file:///etc/hostname"}), "schema_ref"),
        (json!({"$ref": "other.json"}), "schema_ref"),
        (json!({"$ref": "#/nowhere"}), "schema_ref"),
        (json!({"$ref": "#nowhere"}), "schema_ref"),
        (json!({"$ref": "#/%zz"}), "schema_ref"),
        (json!({"properties": {"a": {"$ref": "http://x/"}}}), "schema_ref"),
        (json!({"$defs": {"a": {"$ref": "http://x/"}}}), "schema_ref"),
        (json!({"$ref": "#/x", "x": {"items": {"$ref": "http://x/"}}}), "schema_ref"),
        (json!({"$schema": "https://example.com/draft"}), "schema_draft"),
        (json!({"properties": {"a": {"$id": "b"}}}), "schema_unsupported"),
        (json!({"$dynamicRef": "#a"}), "schema_unsupported"),
        (json!({"$recursiveRef": "#"}), "schema_unsupported"),
        (json!({"$ref": "#"}), "schema_loop"),
        (json!({"allOf": [{"$ref": "#"}]}), "schema_loop"),
        (json!({"$ref": "#/$defs/a", "$defs": {"a": {"not": {"$ref": "#"}}}}), "schema_loop"),
        (json!({"pattern": "(?=a)"}), "schema_invalid"),
        (json!({"pattern": "(a)\\1"}), "schema_invalid"),
        (json!({"pattern": "(a{1000}){1000}"}), "schema_pattern"),
        (json!({"patternProperties": {"(a{1000}){1000}": {}}}), "schema_pattern"),
        (json!({"description": "x".repeat(300_000)}), "schema_too_large"),
        (json!({"properties": wide(20_000)}), "schema_too_large"),
        (json!({"enum": vec![1; 20_000]}), "schema_too_complex"),
        (doubling(14), "schema_too_complex"),
        (doubling(40), "schema_too_complex"),
        (unevaluated(12), "schema_too_complex"),
        (chain(70), "schema_too_complex"),
        (nested(40), "schema_too_large"),
    ] {
        let config = JsonConfig { schema: Some(schema.clone()), ..JsonConfig::default() };
        let refused = JsonVerifier::new(config).err();
        assert!(
            matches!(&refused, Some(ConfigError::Schema { code: found, .. }) if *found == code),
            "{code} {refused:?}"
        );
        let gold = verifier(json!({}));
        for candidate in [None, Some("1"), Some("{")] {
            assert_eq!(outcome_within(&gold, &schema, candidate, u64::MAX), (-1.0, code));
        }
    }
}

#[test]
fn texts_without_schema_are_bad_references() {
    let gold = verifier(json!({}));
    for (reference, code) in [
        (json!("{"), "schema_malformed"),
        (json!(""), "schema_malformed"),
        (json!("{\"type\":\"null\",\"type\":\"null\"}"), "schema_malformed"),
        (json!("[]"), "schema_invalid"),
        (json!([]), "reference_empty"),
    ] {
        assert_eq!(outcome(&gold, &reference, Some("1")), (-1.0, code), "{reference}");
    }
    let large = json!({"description": "x".repeat(250_000)});
    assert_eq!(outcome(&gold, &large, Some("1")), (-1.0, "reference_too_costly"));
}

/// Definitions of which each refers twice to the one before: 2^n steps for one value.
fn doubling(n: usize) -> Value {
    let mut definitions = json!({"d0": {"type": "integer"}});
    for i in 1..=n {
        let before = json!({"$ref": format!("#/$defs/d{}", i - 1)});
        definitions[format!("d{i}")] = json!({"allOf": [before, before]});
    }
    json!({"$ref": format!("#/$defs/d{n}"), "$defs": definitions})
}

/// Schemas that each validate their part twice: about 2.6^n steps for one value.
fn unevaluated(n: usize) -> Value {
    (0..n).fold(
        json!({"properties": {"a": true}}),
        |inner, _| json!({"allOf": [inner], "unevaluatedProperties": false}),
    )
}

fn chain(n: usize) -> Value {
    let mut definitions = json!({"d0": {"type": "integer"}});
    for i in 1..=n {
        definitions[format!("d{i}")] = json!({"$ref": format!("#/$defs/d{}", i - 1)});
    }
    json!({"$ref": format!("#/$defs/d{n}"), "$defs": definitions})
}

fn nested(n: usize) -> Value {
    (0..n).fold(json!({}), |inner, _| json!({"allOf": [inner]}))
}

/// Builds a schema whose alternatives look into the same field: its errors take 2^depth steps to
/// collect.
fn two_ways() -> Value {
    json!({
        "$defs": {"n": {"anyOf": [
            {"properties": {"a": {"$ref": "#/$defs/n"}}, "required": ["b"]},
            {"properties": {"a": {"$ref": "#/$defs/n"}}, "required": ["c"]},
        ]}},
        "$ref": "#/$defs/n",
    })
}

#[test]
fn costly_schemas_end_within_fuel() {
    let inner = (0..100).fold(json!({}), |inner, _| json!({"a": inner, "b": 1, "c": 1}));
    check_schema(&two_ways(), &inner.to_string(), MISMATCH);
    // Distinct arrays without a leaf all have the same hash where only leaves are hashed.
    let twins: Vec<Value> = (0..2000u32)
        .map(|bits| {
            (0..11).fold(json!([]), |inner, bit| {
                if bits >> bit & 1 == 1 { json!([inner]) } else { json!([[], inner]) }
            })
        })
        .collect();
    check_schema(&json!({"uniqueItems": true}), &json!(twins).to_string(), VALID);
    let slow = json!({"items": {"pattern": "[ab]*a[ab]{3000}"}});
    let letters = format!("[{}]", vec![format!("\"{}\"", "a".repeat(5000)); 10].join(","));
    check_schema(&slow, &letters, SPENT);
    check(&format!("\"{}\"", "a".repeat(10_000_000)), SPENT);
    check(&format!("[{}1]", "1,".repeat(600_000)), VALID);
    let numbers = verifier(json!({"schema": {"items": {"type": "integer"}}}));
    let many = format!("[{}1]", "1,".repeat(300_000));
    assert_eq!(outcome(&numbers, &json!(null), Some(&many)), SPENT);
    assert_eq!(outcome_within(&numbers, &json!(null), Some("[1]"), 2), VALID);
    assert_eq!(outcome_within(&numbers, &json!(null), Some("[1]"), 1), SPENT);
    assert_eq!(outcome_within(&numbers, &json!(null), Some("[1]"), 0), SPENT);
}

#[test]
fn validation_stays_within_a_small_stack() {
    let checks = || {
        // A chain of 30 schemas for one value, on every level of the document.
        let mut definitions = json!({"d0": {"items": {"$ref": "#"}, "not": {"const": 0}}});
        for i in 1..=14 {
            let before = json!({"$ref": format!("#/$defs/d{}", i - 1)});
            definitions[format!("d{i}")] = json!({"oneOf": [before, {"const": 7}]});
        }
        let schema = json!({"$ref": "#/$defs/d14", "$defs": definitions});
        check_schema(&schema, &deep("[", "]", 31), VALID);
        check_schema(&schema, &deep("[", "]", 31).replace('1', "0"), MISMATCH);
        check_schema(&schema, &deep("[", "]", 32), TOO_DEEP);
        check_schema(&json!({"items": {"$ref": "#"}}), &deep("[", "]", 127), VALID);
        check(&deep("[", "]", 127), VALID);
    };
    std::thread::Builder::new()
        .stack_size(1 << 20)
        .spawn(checks)
        .expect("a thread")
        .join()
        .expect("the checks hold");
}

/// Arrays that the types of a schema make count as levels of the document.
#[test]
fn untyped_documents_stay_within_a_small_stack() {
    let within = json!({"type": "array", "items": {"$ref": "#"}});
    let config = |schema: &Value, syntax| verifier(json!({"schema": schema, "syntax": syntax}));
    let csv = config(&within, "csv");
    assert_eq!(outcome(&csv, &json!(null), Some("a\n1\n")), MISMATCH);
    let xml = json!({"type": "array", "items": {"additionalProperties": {"$ref": "#"}}});
    let deep = |n: usize| format!("{}1{}", "<a>".repeat(n), "</a>".repeat(n));
    for n in [1, 30, 60, 63, 64] {
        let expected =
            if n > 63 { (0.0, "structured_malformed") } else { (1.0, "structured_valid") };
        assert_eq!(outcome(&config(&xml, "xml"), &json!(null), Some(&deep(n))), expected, "{n}");
    }
}

fn documents() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|b| json!(b)),
        (-3i64..4).prop_map(|n| json!(n)),
        any::<f64>().prop_map(|x| json!(x)),
        "[ab]{0,3}".prop_map(|s| json!(s)),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            proptest::collection::vec(("[a-c]", inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn schemas_to_try() -> Vec<Value> {
    vec![
        two_ways(),
        doubling(5),
        unevaluated(3),
        json!({"uniqueItems": true, "items": {"$ref": "#"}, "maxItems": 3}),
        json!({"properties": {"a": {"type": ["integer", "string"]}}, "required": ["b"]}),
        json!({"patternProperties": {"^[ab]": {"minimum": 0}}, "additionalProperties": false}),
        json!({"contains": {"type": "null"}, "unevaluatedItems": {"type": "string"}}),
        json!({"if": {"type": "object"}, "then": {"minProperties": 2}, "else": {"maxLength": 2}}),
        json!({"oneOf": [{"type": "number"}, {"multipleOf": 2}], "propertyNames": {"pattern": "a"}}),
        json!({"enum": [1, "a", [], {"a": 1}, null], "const": null}),
    ]
}

proptest! {
    #[test]
    fn metered_view_gives_the_plain_verdict(document in documents()) {
        for schema in schemas_to_try() {
            let plain = jsonschema::draft202012::options()
                .with_pattern_options(jsonschema::PatternOptions::regex())
                .build(&schema)
                .expect("a schema")
                .is_valid(&document);
            let verifier = verifier(json!({"schema": schema}));
            let expected = if plain { VALID } else { MISMATCH };
            prop_assert_eq!(outcome(&verifier, &json!(null), Some(&document.to_string())), expected);
        }
    }

    #[test]
    fn less_fuel_never_changes_a_verdict(document in documents(), units in 0u64..60) {
        for schema in schemas_to_try() {
            let verifier = verifier(json!({"schema": schema}));
            let text = document.to_string();
            let full = outcome(&verifier, &json!(null), Some(&text));
            let less = outcome_within(&verifier, &json!(null), Some(&text), units);
            prop_assert!(less == full || less == SPENT);
        }
    }

    #[test]
    fn no_candidate_panics(text in "\\PC{0,40}") {
        let (score, _) = outcome(&verifier(json!({})), &json!(null), Some(&text));
        prop_assert!(score >= 0.0);
        outcome(&verifier(json!({})), &json!(text), Some("1"));
    }

    #[test]
    fn no_schema_panics(schema in documents(), keyword in "(\\$ref|items|properties|allOf|pattern|enum|required|if|contains|dependencies)") {
        let wrapped = json!({keyword: schema});
        outcome(&verifier(json!({})), &wrapped, Some("{\"a\": [1]}"));
    }
}

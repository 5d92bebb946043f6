mod hostile;

use serde_json::{Value, json};

use super::*;
use crate::testing::{judge, outcome};

const VALID: (f64, &str) = (1.0, "json_valid");
const MALFORMED: (f64, &str) = (0.0, "json_malformed");
const DUPLICATE: (f64, &str) = (0.0, "json_duplicate_key");
const MISMATCH: (f64, &str) = (0.0, "schema_mismatch");

fn verifier(config: Value) -> JsonVerifier {
    let config = serde_json::from_value(config).expect("a configuration");
    JsonVerifier::new(config).expect("a schema that can be used")
}

/// Checks a document without a schema.
fn check(candidate: &str, expected: (f64, &str)) {
    let found = outcome(&verifier(json!({})), &json!(null), Some(candidate));
    assert_eq!(found, expected, "{candidate:.60}");
}

/// Checks a document under a schema given in the three ways there are.
fn check_schema(schema: &Value, candidate: &str, expected: (f64, &str)) {
    let fixed = verifier(json!({"schema": schema}));
    assert_eq!(
        outcome(&fixed, &json!(null), Some(candidate)),
        expected,
        "{schema} {candidate:.60}"
    );
    let gold = verifier(json!({}));
    let text = json!(schema.to_string());
    assert_eq!(outcome(&gold, &text, Some(candidate)), expected, "{schema} {candidate:.60}");
    if schema.is_object() {
        assert_eq!(outcome(&gold, schema, Some(candidate)), expected, "{schema} {candidate:.60}");
    }
}

fn deep(open: &str, close: &str, depth: usize) -> String {
    format!("{}1{}", open.repeat(depth), close.repeat(depth))
}

#[test]
fn malformed_documents_are_wrong() {
    for text in [
        "1",
        "-0.5e3",
        "\"a\"",
        "null",
        "true",
        "[]",
        "{}",
        " [1, {\"a\": []}]\n",
        "\"\\u0000\"",
        "\"\u{202e}\"",
        "\"\\ud83d\\ude00\"",
        "1e308",
        "123456789012345678901234567890",
        "```json\n{\"a\": 1}\n```",
        "```\n1\n```",
        "\n```JSON\n1\n```\n",
        &deep("[", "]", 127),
    ] {
        check(text, VALID);
    }
    for text in [
        "",
        " ",
        "{",
        "}",
        "[1,]",
        "{\"a\":1,}",
        "{a:1}",
        "'a'",
        "NaN",
        "Infinity",
        "-Infinity",
        "1e999",
        "-1e999",
        "01",
        "1.",
        "+1",
        "0x1",
        "1 2",
        "{}{}",
        "// a\n1",
        "\"\\ud800\"",
        "\"\\udc00\\ud800\"",
        "\"\\x\"",
        "\"\t\"",
        "\"a\u{0}\"",
        "\u{feff}1",
        "True",
        "undefined",
        "Here it is: {}",
        "```json\n1",
        "```python\n1\n```",
        "```json\n1\n```\nDone.",
        "\u{a0}1",
        &deep("[", "]", 128),
        &deep("{\"a\":", "}", 100_000),
        &"[".repeat(100_000),
        &"9".repeat(400),
        &"\\".repeat(1000),
        "\u{0}",
    ] {
        check(text, MALFORMED);
    }
    for text in
        ["{\"a\":1,\"a\":1}", "[{\"a\":{\"b\":1,\"\\u0062\":2}}]", "```\n{\"\":1,\"\":2}\n```"]
    {
        check(text, DUPLICATE);
    }
    let raw = verifier(json!({"allow_fence": false}));
    assert_eq!(outcome(&raw, &json!(null), Some("```json\n1\n```")), MALFORMED);
    assert_eq!(outcome(&raw, &json!(null), Some(" 1 ")), VALID);
    assert_eq!(outcome(&raw, &json!(null), None), (0.0, "no_answer"));
}

#[test]
fn details_name_the_place() {
    let schema = json!({"schema": {"items": {"properties": {"age": {"type": "integer"}}}}});
    for (candidate, detail) in [
        ("{\"a\": 1,\n \"a\": 2}", "2:4: key \"a\" twice"),
        ("```json\n{\"a\" 1}\n```", "2:6: expected `:`"),
        ("[1, {\"age\": \"x\"}]", "at /1/age: \"x\" is not of type \"integer\""),
    ] {
        let found =
            judge(&verifier(schema.clone()), &json!(null), Some(candidate), &mut Fuel::default());
        let reason = found.expect("a verdict").reason;
        assert_eq!(reason.detail.as_deref(), Some(detail));
    }
    let long = format!("[{{\"age\": \"{}\"}}]", "x".repeat(10_000));
    let found = judge(&verifier(schema), &json!(null), Some(&long), &mut Fuel::default());
    let detail = found.expect("a verdict").reason.detail.expect("requested");
    assert!(detail.len() < 250, "{}", detail.len());
}

#[test]
fn documents_are_validated_by_schema() {
    let person = json!({
        "type": "object", "required": ["name"], "additionalProperties": false,
        "properties": {"name": {"type": "string", "minLength": 1}, "age": {"type": "integer"}},
    });
    check_schema(&person, r#"{"name": "Ada", "age": 36}"#, VALID);
    check_schema(&person, r#"{"name": "Ada", "age": 36.0}"#, VALID);
    check_schema(&person, "```json\n{\"name\": \"Ada\"}\n```", VALID);
    check_schema(&person, r#"{"name": ""}"#, MISMATCH);
    check_schema(&person, r#"{"age": 36}"#, MISMATCH);
    check_schema(&person, r#"{"name": "Ada", "born": 1815}"#, MISMATCH);
    check_schema(&person, r#"{"name": "Ada""#, MALFORMED);
    check_schema(&person, r#"{"name": "Ada", "name": "Ada"}"#, DUPLICATE);
    check_schema(&json!(true), "1", VALID);
    check_schema(&json!(false), "1", MISMATCH);
    check_schema(&json!({}), "1", VALID);
    check_schema(&json!({"const": {"a": 1, "b": 2}}), r#"{"b": 2.0, "a": 1}"#, VALID);
    check_schema(&json!({"enum": ["a", 1]}), "\"b\"", MISMATCH);
    check_schema(&json!({"uniqueItems": true}), "[1, 1.0]", MISMATCH);
    check_schema(&json!({"uniqueItems": true}), "[[], [[]], {}, 0, false, \"0\"]", VALID);
    check_schema(&json!({"pattern": "^\\d{3}$"}), "\"123\"", VALID);
    check_schema(&json!({"pattern": "^[^[\\]]*$"}), "\"a\"", VALID);
    check_schema(&json!({"patternProperties": {"^x": {"type": "null"}}}), r#"{"xy": 1}"#, MISMATCH);
    check_schema(&json!({"propertyNames": {"maxLength": 1}}), r#"{"ab": 1}"#, MISMATCH);
    check_schema(&json!({"format": "date"}), "\"soon\"", VALID);
    let dates = verifier(json!({"schema": {"format": "date"}, "formats": true}));
    assert_eq!(outcome(&dates, &json!(null), Some("\"soon\"")), MISMATCH);
    assert_eq!(outcome(&dates, &json!(null), Some("\"2026-01-31\"")), VALID);
}

#[test]
fn references_and_drafts_are_followed() {
    let tree = json!({
        "$defs": {"node": {
            "type": "object", "required": ["value"],
            "properties": {"value": {}, "children": {"items": {"$ref": "#/$defs/node"}}},
        }},
        "$ref": "#/$defs/node",
    });
    check_schema(&tree, r#"{"value": 1, "children": [{"value": 2, "children": []}]}"#, VALID);
    check_schema(&tree, r#"{"value": 1, "children": [{"children": []}]}"#, MISMATCH);
    let anchored = json!({"$ref": "#word", "$defs": {"w": {"$anchor": "word", "type": "string"}}});
    check_schema(&anchored, "\"a\"", VALID);
    check_schema(&anchored, "1", MISMATCH);
    let escaped = json!({"$ref": "#/$defs/a~1%62", "$defs": {"a/b": {"type": "string"}}});
    check_schema(&escaped, "1", MISMATCH);
    let elsewhere = json!({"$ref": "#/x/y", "x": {"y": {"type": "string"}}});
    check_schema(&elsewhere, "1", MISMATCH);
    // A property that is called `$ref`, and data that looks like a schema, refer to nothing.
    let names = json!({"properties": {"$ref": {"type": "string"}}, "const": {"$ref": "http://x/"}});
    check_schema(&names, r#"{"$ref": "http://x/"}"#, VALID);
    for draft in [
        "http://json-schema.org/draft-04/schema#",
        "http://json-schema.org/draft-06/schema#",
        "http://json-schema.org/draft-07/schema#",
        "https://json-schema.org/draft/2019-09/schema",
        "https://json-schema.org/draft/2020-12/schema",
    ] {
        check_schema(&json!({"$schema": draft, "type": "integer"}), "1", VALID);
        check_schema(&json!({"$schema": draft, "type": "integer"}), "\"1\"", MISMATCH);
    }
    // Only since draft 6 is 1.0 an integer, and only since 2020-12 are items not a tuple.
    let old = json!({"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer"});
    check_schema(&old, "1.0", MISMATCH);
    let tuple =
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "null"}]});
    check_schema(&tuple, "[1]", MISMATCH);
}

#[test]
fn lists_of_schemas_accept_any_member() {
    let gold = verifier(json!({}));
    let either = json!(["{\"type\":\"null\"}", "{\"type\":\"integer\"}"]);
    assert_eq!(outcome(&gold, &either, Some("1")), VALID);
    assert_eq!(outcome(&gold, &either, Some("\"a\"")), MISMATCH);
    assert_eq!(outcome(&gold, &either, Some("{")), MALFORMED);
    let broken = json!(["{\"type\":\"null\"}", "{"]);
    assert_eq!(outcome(&gold, &broken, Some("null")), VALID);
    assert_eq!(outcome(&gold, &broken, Some("1")), (-1.0, "schema_malformed"));
}

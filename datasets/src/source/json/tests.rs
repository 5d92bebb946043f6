//! Shapes, rows and rejects of JSON lines.

use std::io::Cursor;

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn text(lines: &str) -> Box<dyn BufRead + Send> {
    Box::new(Cursor::new(lines.as_bytes().to_vec()))
}

/// The columns as `name type`, JSON text as `json`.
fn columns(schema: &Schema) -> Vec<String> {
    let shown = |field: &Arc<arrow::datatypes::Field>| {
        let kind = if crate::json_text::is_json_text(field) {
            "json".to_owned()
        } else {
            super::super::type_name(field.data_type())
        };
        format!("{} {kind}", field.name())
    };
    schema.fields().iter().map(shown).collect()
}

/// Reads `lines` and returns the rows as they would be written, and rejects as `row: reason`.
fn read(lines: &str, limits: BatchLimits) -> (Vec<Value>, Vec<String>) {
    let inferred = infer(text(lines), "f", false).expect("readable");
    let mut reader = JsonReader::new(text(lines), "f".into(), inferred.schema, limits);
    let (mut rows, mut rejects) = (Vec::new(), Vec::new());
    while let Some(part) = reader.next().expect("memory is readable") {
        let written = crate::json_text::json_lines(&part.data).expect("every type has JSON");
        rows.extend(written.lines().map(|line| serde_json::from_str(line).expect(line)));
        let shown = part.rejects.iter();
        rejects.extend(shown.map(|reject| format!("{}: {}", reject.row, reject.reason)));
    }
    assert_eq!(rows.len() as u64, inferred.rows);
    (rows, rejects)
}

#[test]
fn shapes_become_columns() {
    #[track_caller]
    fn check(lines: &str, expected: &[&str]) {
        let inferred = infer(text(lines), "f", false).expect("readable");
        assert_eq!(columns(&inferred.schema), expected, "{lines}");
    }
    check("", &[]);
    check("{}", &[]);
    check("{\"a\":1}\n{\"b\":\"x\"}\n{\"a\":null}", &["a integer", "b text"]);
    check("{\"a\":1}\n{\"a\":2.5}", &["a number"]);
    check("{\"a\":null}", &["a null"]);
    check("{\"a\":true}\n{\"a\":1}", &["a json"]);
    check("{\"a\":\"1\"}\n{\"a\":1}", &["a json"]);
    check("{\"a\":{\"b\":1,\"c\":\"x\"}}\n{\"a\":{\"d\":true}}", &["a an object of b, c, d"]);
    check("{\"a\":{}}", &["a json"]);
    check("{\"a\":[1,2]}\n{\"a\":[2.5]}\n{\"a\":[]}", &["a a list of number"]);
    check("{\"a\":[]}", &["a a list of null"]);
    check("{\"a\":[{\"r\":\"x\"}]}\n{\"a\":\"x\"}", &["a json"]);
    // Beyond what 64 bits, or a floating-point number beside it, hold.
    check("{\"a\":9223372036854775807}", &["a integer"]);
    check("{\"a\":9223372036854775808}", &["a json"]);
    check("{\"a\":123456789012345678901234567890}", &["a json"]);
    check("{\"a\":-123456789012345678901234567890}\n{\"a\":1.5}", &["a json"]);
    check("{\"a\":1.5}\n{\"a\":123456789012345678901234567890}", &["a json"]);
    check("{\"a\":1e30,\"b\":\"\\\"12345678901234567890123\"}", &["a number", "b text"]);
    check("{\"a\":12345678901234567890123.5}", &["a number"]);
    check("{\"a\":9007199254740993}\n{\"a\":0.5}", &["a json"]);
    check("{\"a\":9007199254740992}\n{\"a\":0.5}", &["a number"]);
    // What a broken row says counts for nothing.
    check("{\"a\":1}\n{\"a\":\"x\",\"b\":1,}\n{\"a\":2}", &["a integer"]);
    let many = (0..1001).map(|n| format!("\"k{n}\":1")).collect::<Vec<_>>().join(",");
    check(&format!("{{\"a\":{{{many}}}}}"), &["a json"]);
}

#[test]
fn broken_rows_are_rejected() {
    #[track_caller]
    fn check(bad: &str, part: &str) {
        let lines = format!("{{\"a\":[1,{{\"b\":\"x\"}}]}}\n{bad}\n\n{{\"a\":[2]}}\n");
        for rows in [1, 2, 100] {
            let limits = BatchLimits { rows, ..BatchLimits::default() };
            let (rows, rejects) = read(&lines, limits);
            assert_eq!(rows.len(), 2, "{bad}");
            assert_eq!(rejects.len(), 1, "{bad}: {rejects:?}");
            assert!(rejects[0].starts_with("2: ") && rejects[0].contains(part), "{rejects:?}");
        }
    }
    check("{\"a\":[1,", "EOF while parsing");
    check("[1]", "not a JSON object");
    check("7", "not a JSON object");
    check("null", "not a JSON object");
    check("{\"a\":[3]} x", "trailing characters");
    check("{\"a\":[3],\"a\":[4]}", "two values for 'a'");
    check("{\"a\":[3,{\"b\":\"\\ud800\"}]}", "hex escape");
    check(&format!("{{\"a\":{}{}}}", "[".repeat(5000), "]".repeat(5000)), "recursion limit");
}

#[test]
fn nothing_but_broken_rows_is_an_error() {
    #[track_caller]
    fn check(lines: &str, row: &str) {
        let error = infer(text(lines), "f", false).expect_err(lines).to_string();
        assert!(error.starts_with(&format!("f:{row}: ")), "{error}");
    }
    check("hello", "1");
    check("\n\n{\"a\":\n1}", "3");
}

#[test]
fn rows_know_their_lines_and_batches_their_bounds() {
    let lines = "{\"a\":1}\n\n{\"a\":2}\nx\n{\"a\":3}\n{\"a\":4}";
    let inferred = infer(text(lines), "f", false).expect("readable");
    let numbers = |rows: usize, bytes: usize| {
        let limits = BatchLimits { rows, bytes };
        let mut reader = JsonReader::new(text(lines), "f".into(), inferred.schema.clone(), limits);
        let next = || reader.next().expect("readable").map(|part| part.rows);
        std::iter::from_fn(next).collect::<Vec<_>>()
    };
    let listed = |rows: &[u64]| RowNumbers::Listed(rows.to_vec());
    assert_eq!(numbers(100, 1000), [listed(&[1, 3, 5, 6])]);
    assert_eq!(numbers(2, 1000), [listed(&[1, 3]), listed(&[5, 6])]);
    assert_eq!(numbers(100, 8), [listed(&[1, 3]), listed(&[5]), listed(&[6])]);
}

/// Values whose objects are never without a name, as those become text.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9).prop_map(|float: f64| json!(float)),
        "[ab\"\\\\\n\u{e9}]{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[abc]", inner, 1..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// A value without the nulls in objects, which say the same as no entry.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(entries) => {
            let kept = entries.iter().filter(|(_, value)| !value.is_null());
            let kept: serde_json::Map<String, Value> =
                kept.map(|(name, value)| (name.clone(), without_nulls(value))).collect();
            Value::Object(kept)
        }
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// Whether two values are equal, an integer and the same floating-point number too.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            left == right || left.as_f64() == right.as_f64()
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(name, value)| right.get(name).is_some_and(|other| same(value, other)))
        }
        (left, right) => left == right,
    }
}

proptest! {
    #[test]
    fn what_is_read_is_what_was_written(rows in prop::collection::vec(
        prop::collection::btree_map("[abc]", value(), 0..4), 1..6), batch_rows in 1usize..4) {
        let lines: Vec<String> = rows.iter().map(|row| json!(row).to_string()).collect();
        let limits = BatchLimits { rows: batch_rows, ..BatchLimits::default() };
        let (found, rejects) = read(&lines.join("\n"), limits);
        prop_assert_eq!(rejects, Vec::<String>::new());
        prop_assert_eq!(found.len(), rows.len());
        for (found, row) in found.iter().zip(&rows) {
            let (found, row) = (without_nulls(found), without_nulls(&json!(row)));
            prop_assert!(same(&found, &row), "{} but {}", found, row);
        }
    }
}

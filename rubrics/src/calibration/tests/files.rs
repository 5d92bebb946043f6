use serde_json::{Value, json};

use super::*;
use crate::calibration::{Method, ScorerCalibration, fit};

#[test]
fn written_file_reads_back_equal() {
    let samples = drawn(&grid(), 40, |raw| sigmoid(0.7 * raw + 0.3));
    for method in [Method::Temperature, Method::Platt, Method::Isotonic] {
        let map = fit(&samples, method).expect("the samples are good");
        let written = ScorerCalibration { name: "helpful-2026".to_owned(), map };
        for about in [Value::Null, json!({"rows": 1320})] {
            let text = written.to_json(about);
            let read = ScorerCalibration::from_json(&text).expect(&text);
            assert_eq!(read.name, written.name);
            for raw in [-50.0, -2.1, 0.0, 0.3, 3.9, 50.0] {
                let change = read.map.apply(raw) - written.map.apply(raw);
                assert!(change.abs() < 1e-12, "{method:?} at {raw}");
            }
        }
    }
}

#[test]
fn invalid_files_are_refused() {
    let check = |text: &str, expected: &str| {
        let error = ScorerCalibration::from_json(text).expect_err(text).to_string();
        assert!(error.contains(expected), "{error:?} does not hold {expected:?}");
    };
    check("", "line 1");
    check(r#"{"map": {"temperature": 1}}"#, "missing field `name`");
    check(r#"{"name": "x"}"#, "missing field `map`");
    check(r#"{"name": " ", "map": {"temperature": 1}}"#, "name: ");
    check(r#"{"name": "x", "map": {"temperature": 0}}"#, "map.temperature: 0 is not above 0");
    check(r#"{"name": "x", "map": {"platt": {"a": -1, "b": 0}}}"#, "map.platt.a");
    check(r#"{"name": "x", "map": {"platt": {"a": 1}}}"#, "missing field `b`");
    check(r#"{"name": "x", "map": {"isotonic": [[0, 0.5], [0, 0.7]]}}"#, "map.isotonic");
    check(r#"{"name": "x", "map": {"isotonic": []}}"#, "at least 2");
    check(r#"{"name": "x", "map": {"spline": []}}"#, "spline");
    check(r#"{"name": "x", "map": {"temperature": 1}, "score": 1}"#, "unknown field `score`");
    check(r#"{"name": "x", "map": {"temperature": 1e999}}"#, "number out of range");
}

//! What needs no process: tasks, extraction, comparison.

use sandbox::{Language, Test};
use serde_json::{Value, json};
use verifiers::code::{ExpectedResult, OutputRule, Task, TaskTest, ValueRule, source};
use verifiers::{Gold, VerifyError};

fn read(reference: &Value) -> Result<Task, String> {
    let task = match reference {
        Value::Object(fields) => Task::read(Gold::Object(fields)),
        Value::String(text) => Task::read(Gold::Text(text)),
        Value::Array(asserts) => {
            let asserts: Vec<String> =
                asserts.iter().map(|text| text.as_str().expect("a text").to_owned()).collect();
            Task::read(Gold::AnyOf(&asserts))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Task::read(Gold::Missing),
    };
    task.map_err(|error| match error {
        VerifyError::BadReference(reason) => reason.detail.unwrap_or_default().into_owned(),
        VerifyError::Undecided(reason) => reason.code.to_owned(),
    })
}

/// The tests of a task in short: input or call, and what is expected.
fn shape(reference: &Value) -> Result<Vec<String>, String> {
    let shape = |test: &TaskTest| {
        let run = match &test.run {
            Test::Program { stdin } => format!("{stdin:?}"),
            Test::Call { function, args, .. } => format!("{function}{}", Value::from(args.clone())),
            Test::Check(_) => unreachable!("no reference has such a test"),
            Test::Tests(file) => {
                format!("{:?} {} {:?}", file.entry, file.asserts.len(), file.code.lines().count())
            }
        };
        match &test.expected {
            ExpectedResult::Output(text) => format!("{run} -> {text:?}"),
            ExpectedResult::Value(value) => format!("{run} -> {value}"),
            ExpectedResult::Outcomes(count) => format!("{run} -> {count}"),
        }
    };
    Ok(read(reference)?.tests.iter().map(shape).collect())
}

#[test]
fn published_formats_are_read_as_they_are() {
    let lcb = json!({"input": "[1, 2]\n3", "output": "[4]", "testtype": "functional"});
    for (reference, expected) in [
        (json!({"tests": [{"stdin": "1", "stdout": "2"}]}), vec![r#""1" -> "2""#]),
        (
            json!({"function": "f", "tests": [{"args": [1, "a"], "expected": null}]}),
            vec![r#"f[1,"a"] -> null"#],
        ),
        // APPS and TACO, whose field is JSON as a text.
        (
            json!({"input_output": r#"{"inputs": ["1\n", "2\n"], "outputs": ["3", "4"]}"#}),
            vec![r#""1\n" -> "3""#, r#""2\n" -> "4""#],
        ),
        (
            json!({"input_output": {"fn_name": "f", "inputs": [[1, 2]], "outputs": [[3]]}}),
            vec!["f[1,2] -> 3"],
        ),
        // NeMo-Gym.
        (json!({"unit_tests": {"inputs": ["1"], "outputs": ["2"]}}), vec![r#""1" -> "2""#]),
        // LiveCodeBench.
        (json!({"public_test_cases": [lcb], "func_name": "g"}), vec!["g[[1,2],3] -> [4]"]),
        (
            json!({"private_test_cases": r#"[{"input": "5", "output": "6", "testtype": "stdin"}]"#}),
            vec![r#""5" -> "6""#],
        ),
        // Codeforces.
        (
            json!({"official_tests": [{"input": "7", "output": "8"}], "time_limit": 2.0}),
            vec![r#""7" -> "8""#],
        ),
        // HumanEval and MBPP.
        (
            json!({"prompt": "def f(x):\n", "test": "def check(c):\n  assert c(1)", "entry_point": "f"}),
            vec![r#"Some("f") 0 2 -> 1"#],
        ),
        (
            json!({"test_list": ["assert f(1) == 2", "assert f(2) == 3"], "test_imports": ["import math"]}),
            vec!["None 2 1 -> 2"],
        ),
        (json!(["assert f(1) == 2"]), vec!["None 1 0 -> 1"]),
        (json!(r#"["assert f(1) == 2"]"#), vec!["None 1 0 -> 1"]),
        // A file of unit tests.
        (json!({"unit_tests": "def test_f():\n  assert f(1)"}), vec!["None 0 2 -> 1"]),
    ] {
        let expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
        assert_eq!(shape(&reference), Ok(expected), "{reference}");
    }
}

#[test]
fn malformed_tests_are_refused_with_their_place() {
    let many = vec![json!({"stdin": "", "stdout": ""}); 10_001];
    for (reference, expected) in [
        (json!({}), "no test"),
        (json!({"tests": []}), "no test"),
        (json!({"tests": many}), "10001 tests"),
        (json!({"tests": [1]}), "tests[0] is no object"),
        (json!({"tests": [{"stdin": "1"}]}), "tests[0]: it has neither"),
        (json!({"tests": [{"stdin": 1, "stdout": ""}]}), "tests[0]: an input or output is no text"),
        (json!({"tests": [{"args": [], "expected": 1}]}), "'function' is missing"),
        (json!({"tests": [{"args": 1, "expected": 1}], "function": "f"}), "'args' is no list"),
        (json!({"inputs": ["1"], "outputs": []}), "1 'inputs' and 0 'outputs'"),
        (json!({"input_output": "not JSON"}), "'input_output' is no JSON object"),
        (json!({"test_list": [1]}), "'test_list' holds something that is no text"),
        (json!({"tests": [{"stdin": "", "stdout": ""}], "time_limit": -1}), "'time_limit'"),
        (
            json!({"tests": [{"stdin": "", "stdout": ""}], "language": "cobol"}),
            "'language': 'cobol' is none of python, c,",
        ),
        (json!({"tests": {"stdin": "", "stdout": ""}}), "'tests' is no list"),
        (json!("plain"), "no object and no list"),
        (json!(null), "needs a reference"),
        (
            json!({"tests": [{"args": [], "expected": 1}], "function": "f", "values": "loose"}),
            "'values'",
        ),
    ] {
        let error = read(&reference).expect_err("malformed");
        assert!(error.contains(expected), "{error}: {reference}");
    }
}

#[test]
fn the_last_block_is_the_program() {
    for (response, expected) in [
        ("print(1)", Some("print(1)")),
        ("Here:\n```python\na\n```\nor\n```python\nb\n```\nend", Some("b\n")),
        ("```python\na\n```\n```text\nout\n```", Some("a\n")),
        ("```\na\n```", Some("a\n")),
        ("<think>```python\na\n```</think>```python\nb\n```", Some("b\n")),
        ("```python\ncut", Some("cut")),
        ("````python\n```\n````", Some("```\n")),
        // The body of a function whose beginning is the prompt.
        ("    return 1\n    # end\n", Some("    return 1\n    # end")),
        ("<think>x</think>\n\n\treturn 1", Some("\treturn 1")),
        ("\n  \n    return 1", Some("    return 1")),
        ("x</think> return 1", Some("return 1")),
        ("<think>only</think>", None),
        ("  \n", None),
    ] {
        assert_eq!(source(response, Language::Python).as_deref(), expected, "{response:?}");
    }
}

#[test]
fn outputs_are_compared_by_their_rule() {
    use OutputRule::{Exact, Lines, Words};
    for (rule, expected, output, accepted) in [
        (Exact, "1\n", "1\n", true),
        (Exact, "1\n", "1", false),
        (Lines, "1 \n2\n\n", "1\n2", true),
        (Lines, "1\n2", "1 2", false),
        (Lines, "1.0", "1", true),
        (Lines, "0.1", "0.10000000000000001", false),
        (Lines, "", "", true),
        (Lines, "", "x", false),
        (Lines, "YES", "yes", false),
        (Words, "1\n2", "1 2", true),
        (Words, "1e3", "1000.0", true),
        (Words, "1 2", "1", false),
        (Words, "nan", "nan", true),
        (Words, "1", "inf", false),
    ] {
        assert_eq!(
            rule.accepts(expected, output.as_bytes()),
            accepted,
            "{rule:?} {expected:?} {output:?}"
        );
    }
    assert!(!Lines.accepts("\u{fffd}", b"\xff"), "bytes that are no text equal no text");
}

#[test]
fn values_are_compared_by_type() {
    use ValueRule::{Python, Typed};
    for (expected, found, typed, python) in [
        (json!(1), json!(["int", "1"]), true, true),
        (json!(1), json!(["float", "1.0"]), false, true),
        (json!(1.0), json!(["int", "1"]), false, true),
        (json!(1.5), json!(["float", "1.5"]), true, true),
        (json!(true), json!(true), true, true),
        (json!(true), json!(["int", "1"]), false, true),
        (json!(1), json!(true), false, true),
        (json!(0), json!(null), false, false),
        (json!("1"), json!(["int", "1"]), false, false),
        (json!([1, 2]), json!(["tuple", [["int", "1"], ["int", "2"]]]), true, true),
        (json!([1]), json!(["set", [["int", "1"]]]), false, false),
        (json!([1]), json!(["list", [["int", "1"], ["int", "2"]]]), false, false),
        (json!({"a": 1}), json!(["dict", [["a", ["int", "1"]]]]), true, true),
        (json!({"1": 2}), json!(["dict", [[["int", "1"], ["int", "2"]]]]), true, true),
        (json!({"a": 1}), json!(["dict", []]), false, false),
        (
            json!({"1": "a", "2": "b"}),
            json!(["dict", [[["int", "1"], "a"], ["1", "a"]]]),
            false,
            false,
        ),
        (json!("x"), json!(["object", "Anything"]), false, false),
        (json!(9_007_199_254_740_993u64), json!(["int", "9007199254740993"]), true, true),
        (json!(9_007_199_254_740_993u64), json!(["int", "9007199254740992"]), false, false),
        (json!(1.0), json!(["float", "nan"]), false, false),
        // What a guest may write in place of an encoding.
        (json!(1), json!(["int", 1]), false, false),
        (json!(1), json!([]), false, false),
        (json!({"a": 1}), json!(["dict", [1]]), false, false),
        (json!({"": 1}), json!(["dict", [[[], 1]]]), false, false),
    ] {
        assert_eq!(Typed.accepts(&expected, &found), typed, "typed {expected} {found}");
        assert_eq!(Python.accepts(&expected, &found), python, "python {expected} {found}");
    }
}

//! Programs and queries that models run.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::has_python;

use super::input_of;
use crate::testing::Bench;
use crate::{FailureKind, ScoreOptions};

const CONFIG: &str = "
[[scorer]]
name = 'tool'
kind = 'tool'
max_tokens = 400
max_result_bytes = 128
tools = ['python_interpreter', 'sql']
cpu_ms = 1000
wall_ms = 20000
steps = 100000

[[scorer]]
name = 'slow'
kind = 'tool'
max_tokens = 400
tools = ['python_interpreter']
wall_ms = 3600000

[[scorer]]
name = 'broken'
kind = 'tool'
max_tokens = 400
tools = ['python_interpreter']
python = '/nowhere/python3'
";

/// A model that makes one call and accepts whatever it says.
fn bench(name: &str, arguments: &Value) -> Bench {
    let call = json!({"name": name, "arguments": arguments});
    let call = format!("<tool_call>\n{call}\n</tool_call>");
    let bench = Bench::replying(CONFIG, move |prompt: &str| {
        if prompt.contains("<tool_response>") { "[Correct]".to_owned() } else { call.clone() }
    });
    assert_eq!(bench.check(), Ok(()));
    bench
}

/// What the model reads of a call, and whether it counts as failed.
fn observed(name: &str, arguments: &Value) -> (Value, bool) {
    let reward = bench(name, arguments).one("tool", input_of("It is 4.")).expect("a verdict");
    let outputs = reward.evidence.outputs.expect("explained");
    let detail = reward.reason.detail.expect("it says what happened");
    let text = &outputs[1].text;
    assert!(text.len() < 1000, "{} bytes", text.len());
    (serde_json::from_str(text).expect("JSON"), detail.ends_with("1 of which failed"))
}

#[test]
fn programs_of_a_model_run_under_limits() {
    if !has_python() {
        return;
    }
    let check = |code: &str, expected: &[(&str, Value)]| {
        let (seen, failed) = observed("python_interpreter", &json!({ "code": code }));
        for (field, value) in expected {
            assert_eq!(&seen[field], value, "{code}: {seen}");
        }
        assert_eq!(failed, seen["status"] == "error", "{code}: {seen}");
    };
    let ok = ("status", json!("ok"));
    let error = ("status", json!("error"));
    let ending = |name: &str| ("ending", json!(name));
    check("print(2**64)", &[ok.clone(), ("stdout", json!("18446744073709551616\n"))]);
    check("import sys; sys.exit(3)", &[error.clone(), ("return_code", json!(3)), ending("failed")]);
    check("def (", &[error.clone(), ending("not_compiled"), ("success", json!(false))]);
    check("while True: pass", &[error.clone(), ending("cpu_time")]);
    check("import socket; socket.socket()", &[error, ending("security")]);
    let (seen, _) = observed("python_interpreter", &json!({"code": "print('x' * 100000)"}));
    let stdout = seen["stdout"].as_str().expect("a text");
    assert!(stdout.contains("[cut: 128 of 100001 bytes]"), "{stdout}");
    let (seen, _) = observed("python_interpreter", &json!({"code": "1", "stdin": ""}));
    assert!(seen["error"].as_str().is_some_and(|why| why.contains("wrong arguments")), "{seen}");
}

#[test]
fn queries_of_a_model_run_under_limits() {
    let check = |arguments: Value, field: &str, expected: &str| {
        let (seen, failed) = observed("sql", &arguments);
        let text = seen[field].as_str().unwrap_or_default();
        assert!(text.contains(expected), "{arguments}: {seen}");
        assert_eq!(failed, field == "error", "{arguments}: {seen}");
    };
    check(json!({"query": "SELECT 1 + 1 AS n"}), "result", r#"{"columns":["n"],"rows":[[2]]}"#);
    let setup = "CREATE TABLE t(a, b); INSERT INTO t VALUES (NULL, x'00ff'), ('x', 0.5);";
    check(
        json!({"query": "SELECT * FROM t", "setup": setup}),
        "result",
        r#"[[null,"X'00FF'"],["x",0.5]]"#,
    );
    check(json!({"query": "SELECT * FROM t"}), "error", "no such table");
    check(json!({"query": "DROP TABLE t", "setup": setup}), "error", "");
    check(json!({"query": "ATTACH 'x' AS y"}), "error", "");
    check(json!({"query": "SELECT 1", "setup": "CREATE"}), "error", "statements failed");
    check(json!({"query": "SELECT 1", "database": "shop"}), "error", "no 'databases'");
    check(json!({"query": "SELECT 1", "database": "shop", "setup": ""}), "error", "not both");
    let endless =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n";
    check(json!({ "query": endless }), "error", "steps");
    check(json!({"query": "SELECT printf('%.1000c', 'x')"}), "result", "[cut: 128 of");
}

/// The sandbox's own failure and the caller's deadline have a status and no score: the model never
/// reads of them.
#[test]
fn failures_of_the_sandbox_are_no_observations() {
    let failure = bench("python_interpreter", &json!({"code": "print(1)"}))
        .one("broken", input_of("It is 4."))
        .expect_err("there is no interpreter");
    let found = (failure.kind, failure.reason.code);
    assert_eq!(found, (FailureKind::ToolError, "python_not_started"));
    if !has_python() {
        return;
    }
    let sleeps = bench("python_interpreter", &json!({"code": "import time; time.sleep(3600)"}));
    let deadline = Some(Instant::now() + Duration::from_secs(1));
    let options = ScoreOptions { deadline, ..ScoreOptions::default() };
    let outcome = sleeps.all("slow", &[input_of("It is 4.")], options).remove(0);
    assert_eq!(outcome.expect_err("late").kind, FailureKind::Timeout);
}

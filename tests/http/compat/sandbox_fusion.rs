//! Programs over HTTP: `SandboxFusion`'s `POST /run_code`, OpenAI's `python` graders, and rows of
//! programs and queries of `NeMo`-Gym.

use serde_json::{Value, json};
use testkit::has_python;

use super::{answered, built_in, check_detail};

/// The body that verl's client sends.
fn body(code: &str, stdin: &str) -> Value {
    json!({
        "compile_timeout": 10, "run_timeout": 10, "code": code, "stdin": stdin,
        "memory_limit_MB": 1024, "language": "python", "files": {}, "fetch_files": [],
    })
}

#[test]
fn programs_are_run_as_sandbox_fusion_runs_them() {
    if !has_python() {
        return;
    }
    let server = built_in(None);
    for (code, stdin, status, exit, stdout, verdict) in [
        ("print(int(input()) + 1)", "4\n", "Success", json!(0), "5\n", "ok"),
        ("import sys; print(1); sys.exit(3)", "", "Failed", json!(3), "1\n", "re"),
        ("def (", "", "Failed", json!(1), "", "ce"),
        ("import socket; socket.socket()", "", "Failed", json!(-31), "", "security"),
    ] {
        let reply = answered(&server, "/run_code", &body(code, stdin));
        let run = &reply["run_result"];
        let seen = (&reply["status"], &run["status"], &run["return_code"], &run["stdout"]);
        assert_eq!(seen, (&json!(status), &json!("Finished"), &exit, &json!(stdout)), "{reply}");
        assert_eq!(reply["tribunal"]["verdict"], verdict, "{reply}");
        let rungs = reply["tribunal"]["isolation"].as_array().expect("a list");
        assert!(rungs.contains(&json!("limits")), "{reply}");
    }
    // It sleeps: one that runs is told apart where other load keeps it from running.
    let mut late = body("import time; time.sleep(60)", "");
    late["run_timeout"] = json!(0.5);
    let reply = answered(&server, "/run_code", &late);
    let run = &reply["run_result"];
    assert_eq!((&reply["status"], &run["status"]), (&json!("Failed"), &json!("TimeLimitExceeded")));
    server.settles();
}

#[test]
fn what_is_not_run_is_refused_by_its_place() {
    let server = built_in(None);
    for (field, value, expected) in [
        ("language", json!("cpp"), "422 [\"body\",\"language\"]"),
        ("files", json!({ "a": "YQ==" }), "422 [\"body\",\"files\"]"),
        ("fetch_files", json!(["a"]), "422 [\"body\",\"fetch_files\"]"),
        ("run_timeout", json!(0), "422 [\"body\",\"run_timeout\"]"),
        ("run_timeout", json!(1e9), "422 [\"body\",\"run_timeout\"]"),
        ("memory_limit_MB", json!(1), "422 [\"body\",\"memory_limit_MB\"]"),
    ] {
        let mut body = body("print(1)", "");
        body[field] = value;
        check_detail(&server, "/run_code", &body.to_string(), expected);
    }
}

#[test]
fn python_graders_grade() {
    if !has_python() {
        return;
    }
    let server = built_in(None);
    let run = |source: &str| {
        let body = json!({
            "grader": { "type": "python", "name": "p", "source": source, "image_tag": "2025-05-08" },
            "model_sample": "{\"n\": 4}", "item": { "answer": 4 },
        });
        answered(&server, "/v1/fine_tuning/alpha/graders/run", &body)
    };
    let right =
        "def grade(sample, item):\n    return float(sample['output_json']['n'] == item['answer'])";
    assert_eq!(run(right)["reward"], 1.0);
    for (source, details) in [
        ("def grade(sample, item):\n    return 1 / 0", "ZeroDivisionError"),
        ("def grade(sample, item):\n    return float('nan')", "no finite number"),
        ("def other(): pass", "NameError"),
        ("def grade(", "SyntaxError"),
    ] {
        let reply = run(source);
        let errors = &reply["metadata"]["errors"];
        assert_eq!(reply["reward"], Value::Null, "{reply}");
        assert_eq!(errors["python_grader_runtime_error"], true, "{reply}");
        let found = errors["python_grader_runtime_error_details"].as_str().expect("a text");
        assert!(found.contains(details), "{found}");
    }
    let whole = json!({
        "grader": { "type": "multi", "name": "m", "calculate_output": "0.5 * p + 0.5 * s", "graders": {
            "p": { "type": "python", "name": "p", "source": right },
            "s": { "type": "string_check", "name": "s", "operation": "eq", "input": "a", "reference": "b" },
        } },
        "model_sample": "{\"n\": 4}", "item": { "answer": 4 },
    });
    let reply = answered(&server, "/v1/fine_tuning/alpha/graders/run", &whole);
    assert_eq!(reply["reward"], 0.5, "{reply}");
}

/// A row of `NeMo`-Gym whose response is `text`.
fn row(text: &str, fields: Value) -> Value {
    let mut row = fields;
    row["responses_create_params"] = json!({ "input": [{ "role": "user", "content": "?" }] });
    let content = json!([{ "type": "output_text", "text": text }]);
    row["response"] =
        json!({ "output": [{ "type": "message", "role": "assistant", "content": content }] });
    row
}

#[test]
fn rows_of_programs_and_queries_are_verified() {
    let server = built_in(Some("sql"));
    // No folder of databases is configured: the row's own fields have reached the scorer.
    let asked = row("SELECT 1", json!({ "gt_sql": "SELECT 1", "db_id": "shop" }));
    let reply = answered(&server, "/verify", &asked);
    assert_eq!(reply["tribunal"]["reason"]["code"], "bad_database", "{reply}");
    if !has_python() {
        return;
    }
    let server = built_in(Some("python-tests"));
    let tests = json!({ "unit_tests": { "inputs": ["1\n"], "outputs": ["2\n"] } });
    let solved =
        row("```python\nprint(int(input()) + 1)\n```", json!({ "verifier_metadata": tests }));
    assert_eq!(answered(&server, "/verify", &solved)["reward"], 1.0);
}

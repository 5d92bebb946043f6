//! Hostile and faulty bodies and clients.

use std::io::Write as _;

use serde_json::json;

use crate::harness::{Server, eventually, read_raw};

fn check_reply(server: &Server, body: impl AsRef<[u8]>, status: u16, code: &str, message: &str) {
    let reply = server.post("/v1/score", &body);
    let shown =
        String::from_utf8_lossy(&body.as_ref()[..body.as_ref().len().min(200)]).into_owned();
    assert_eq!((reply.status, reply.code().as_str()), (status, code), "{shown}: {}", reply.text);
    assert!(reply.text.contains(message), "{shown}: {}", reply.text);
    assert!(reply.header("x-request-id").is_some());
}

#[test]
fn malformed_bodies_are_400_with_position() {
    let server = Server::start();
    let check =
        |body: &[u8], message: &str| check_reply(&server, body, 400, "malformed_json", message);
    check(b"", "line 1, column 0");
    check(b"{", "line 1, column 1");
    check(b"not json", "line 1");
    check(b"{\"model\": \"math\",\n \"inputs\": [}", "line 2, column 13");
    check(b"{\"model\": \"math\", \"inputs\": []} trailing", "line 1");
    check(b"{\"model\": \"m\xff\xfe\", \"inputs\": []}", "line 1");
    check(b"{\"model\": \"math\", \"inputs\": [{\"response\": \"\\ud800\"}]}", "line 1");
    check(b"{\"model\": \"math\", \"inputs\": [{\"response\": \"raw \x01 control\"}]}", "control");
    let deep =
        format!("{{\"model\":\"m\",\"inputs\":[{{\"metadata\":{}", "{\"a\":".repeat(100_000));
    check(deep.as_bytes(), "recursion limit");
}

#[test]
fn wrong_shapes_are_422_with_path() {
    let server = Server::start();
    let check =
        |body: &str, message: &str| check_reply(&server, body, 422, "invalid_body", message);
    check("[]", "expected an object");
    check(&"[".repeat(1_000_000), "expected an object");
    check(r#"["math", [["id"]]]"#, "expected an object");
    check(r#"{"model": "math", "inputs": [["id"]]}"#, "inputs[0]");
    check("{}", "missing field `model`");
    check(r#"{"model": "math"}"#, "missing field `inputs`");
    check(r#"{"model": 3, "inputs": []}"#, "model: ");
    check(r#"{"model": "math", "inputs": {}}"#, "inputs: ");
    check(r#"{"model": "math", "inputs": []}"#, "1 to 10000");
    check(r#"{"model": "math", "inputs": [{"respnse": "4"}]}"#, "inputs[0].respnse");
    check(r#"{"model": "math", "inputs": [{"response": 4}]}"#, "inputs[0].response");
    check(r#"{"model": "math", "inputs": [{"reference": 0.5}]}"#, "no digit is lost");
    check(
        r#"{"model": "math", "inputs": [{}, {"reference": ["4", null]}]}"#,
        "inputs[1].reference[1]",
    );
    check(
        r#"{"model": "math", "inputs": [{}], "options": {"priority": "now"}}"#,
        "options.priority",
    );
    check(
        r#"{"model": "math", "inputs": [{}], "options": {"deadline_ms": -5}}"#,
        "options.deadline_ms",
    );
    check(r#"{"model": "math", "inputs": [{}], "stream": true}"#, "stream");
    check(
        r#"{"model": "math", "inputs": [{}], "options": {"deadline_ms": 0}}"#,
        "a whole number above 0",
    );
    let many = json!({"model": "math", "inputs": vec![json!({}); 10_001]}).to_string();
    check(&many, "10001 inputs");
}

#[test]
fn unknown_scorers_are_404_with_similar_names() {
    let server = Server::start();
    let body = |model: &str| json!({"model": model, "inputs": [{}]}).to_string();
    let check = |model: &str, message: &str| {
        check_reply(&server, body(model), 404, "model_not_found", message);
    };
    check("maths", "did you mean math?");
    check("", "GET /v1/models");
    check("qqqqqq", "GET /v1/models");
    check("\u{202e}htam\n\u{0}", "no scorer");
    check(&"m".repeat(1_000_000), "no scorer");
}

#[test]
fn unknown_routes_and_methods_have_error_bodies() {
    let server = Server::start();
    let reply = server.get("/v1/scores");
    assert_eq!((reply.status, reply.code().as_str()), (404, "route_not_found"));
    let reply = server.get("/v1/score");
    assert_eq!((reply.status, reply.code().as_str()), (405, "method_not_allowed"));
    let reply = server.post("/healthz", "");
    assert_eq!((reply.status, reply.code().as_str()), (405, "method_not_allowed"));
}

#[test]
fn large_texts_are_scored_within_their_fuel() {
    let server = Server::start();
    let digits = "7".repeat(1_000_000);
    let boxes = "\\boxed{3} ".repeat(10_000) + "\\boxed{4}";
    let prompt = "x".repeat(5 << 20);
    for (input, score) in [
        (json!({"response": format!("\\boxed{{{digits}}}"), "reference": "4"}), 0.0),
        (json!({"response": digits, "reference": "4"}), 0.0),
        (json!({"response": boxes, "reference": "4"}), 1.0),
        (json!({"prompt": prompt, "response": "4", "reference": "4"}), 1.0),
        (json!({"response": "{".repeat(1_000_000), "reference": "4"}), 0.0),
        (json!({"response": "\\boxed{".repeat(100_000), "reference": "4"}), 0.0),
    ] {
        let result = server.verdict("math", input);
        assert_eq!((&result["status"], &result["score"]), (&json!("ok"), &json!(score)));
    }
}

#[test]
fn bodies_beyond_the_limit_are_413() {
    let server = Server::start();
    let head = "POST /v1/score HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 104857600\r\n\r\n{";
    let reply = server.raw(head.as_bytes());
    assert!(reply.starts_with("HTTP/1.1 413"), "announced: {reply}");
    assert!(reply.contains("body_too_large"), "{reply}");
    let mut stream = server.connect();
    stream
        .write_all(b"POST /v1/score HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")
        .expect("the head is taken");
    let chunk = format!("100000\r\n{}\r\n", " ".repeat(1 << 20));
    // The server stops reading past its limit; the writes after that may fail.
    let written = (0..100).take_while(|_| stream.write_all(chunk.as_bytes()).is_ok()).count();
    let reply = read_raw(&mut stream);
    assert!(written < 100 || reply.starts_with("HTTP/1.1 413"), "{written} MiB: {reply}");
    server.settles();
}

#[test]
fn slow_bodies_time_out() {
    let server = Server::configured("", |config| {
        config.body_timeout = std::time::Duration::from_millis(200);
    });
    let head = "POST /v1/score HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{";
    let mut streams: Vec<_> = (0..50).map(|_| server.connect()).collect();
    for stream in &mut streams {
        stream.write_all(head.as_bytes()).expect("the head is taken");
    }
    let result = server.verdict("math", json!({"response": "4", "reference": "4"}));
    assert_eq!(result["score"], 1.0, "others are served meanwhile");
    for stream in &mut streams {
        let reply = read_raw(stream);
        assert!(reply.starts_with("HTTP/1.1 408"), "{reply}");
        assert!(reply.contains("body_timeout"), "{reply}");
    }
    server.settles();
}

#[test]
fn nothing_is_held_after_hostile_clients() {
    let server = Server::start();
    let heads = [
        "POST /v1/score HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 50\r\n\r\n{\"mod",
        "POST /v1/score HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{\"mo",
        "POST /v1/score HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        "POST /v1/score HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: -1\r\n\r\n",
        "POST /v1/score HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n{}",
        "GET /v1/models HTTP/1.1\r\nhost: localhost\r\nx-request-id: a b\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "\0\0\0\0",
    ];
    for head in heads.iter().cycle().take(80) {
        let mut stream = server.connect();
        stream.write_all(head.as_bytes()).expect("a fresh connection takes bytes");
        drop(stream);
    }
    server.settles();
    assert_eq!(server.get("/healthz").status, 200);
}

/// Returns a body that keeps one thread busy for a while.
fn long_work() -> String {
    let text = "and 12 + 34 = 46 so ".repeat(5_000);
    let input = json!({ "response": text });
    let inputs = vec![input; 60];
    json!({"model": "arithmetic", "inputs": inputs, "options": {"cache": "bypass"}}).to_string()
}

#[test]
fn work_of_disconnected_client_is_cancelled() {
    let server = Server::configured("", |config| config.threads = 1);
    let body = long_work();
    let head = format!(
        "POST /v1/score HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    // Whether the server notices the disconnect in time is a race; one success in many attempts
    // suffices.
    for _ in 0..30 {
        let mut stream = server.connect();
        stream.write_all(head.as_bytes()).expect("the head is taken");
        stream.write_all(body.as_bytes()).expect("the body is taken");
        eventually("the work is admitted", || {
            server.metric("tribunal_held{what=\"items\"}") > 0.0
                || server.metric("tribunal_requests_total{route=\"/v1/score\"") > 0.0
        });
        drop(stream);
        server.settles();
        if server.metric("tribunal_cancelled_requests_total") > 0.0 {
            return;
        }
    }
    panic!("no request was cancelled");
}

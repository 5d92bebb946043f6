//! Keys, deadlines and admission.

use std::io::Write as _;
use std::time::Duration;

use serde_json::json;
use serve::keys::Keys;

use crate::harness::{Server, eventually};

const KEY: &str = "test-key-0123456789";

#[test]
fn every_route_requires_a_key() {
    let keys = Keys::parse(KEY).expect("a good key");
    let server = Server::guarded("", keys, |_| ());
    let status = |headers: &str| {
        let request = format!(
            "GET /v1/models HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}\r\n"
        );
        let reply = server.raw(request.as_bytes());
        reply.split(' ').nth(1).unwrap_or("none").to_owned()
    };
    assert_eq!(status(""), "401");
    assert_eq!(status("authorization: Bearer wrong-key-0123456789\r\n"), "401");
    assert_eq!(status(&format!("authorization: Bearer {KEY}\r\n")), "200");
    let twice = format!("authorization: Bearer {KEY}\r\n").repeat(2);
    assert_eq!(status(&twice), "401");
    for path in ["/docs/", "/metrics", "/healthz", "/nowhere", "/openapi.json"] {
        let reply = server.get(path);
        assert_eq!((reply.status, reply.code().as_str()), (401, "invalid_api_key"), "{path}");
        assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
        assert!(!reply.text.contains(KEY));
    }
}

/// Sends half of a request, which holds its bytes and its place.
pub(crate) fn half_a_request(server: &Server, announced: usize) -> std::net::TcpStream {
    let mut stream = server.connect();
    let head = format!(
        "POST /v1/score HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {announced}\r\n\r\n{{"
    );
    stream.write_all(head.as_bytes()).expect("the head is taken");
    stream
}

#[test]
fn request_above_the_limit_is_503_with_retry_after() {
    let server = Server::configured("", |config| config.queue_requests = 2);
    let input = json!({"response": "4", "reference": "4"});
    let body = json!({"model": "math", "inputs": [input]});
    let held = [half_a_request(&server, 100), half_a_request(&server, 100)];
    eventually("both are in hand", || server.metric("tribunal_held{what=\"requests\"}") > 1.5);
    let refused = server.score(&body);
    assert_eq!((refused.status, refused.code().as_str()), (503, "overloaded"));
    let after: u64 = refused.header("retry-after").expect("set").parse().expect("seconds");
    assert!(after >= 1);
    assert!(refused.header("retry-after-ms").is_some());
    drop(held);
    server.settles();
    assert_eq!(server.score(&body).status, 200, "a refusal holds nothing");
}

#[test]
fn oversized_request_is_accepted_when_alone() {
    let server = Server::configured("", |config| config.queue_items = 10);
    let input = json!({"response": "4", "reference": "4"});
    let body = json!({"model": "math", "inputs": vec![input; 10_000]});
    let reply = server.score(&body);
    assert_eq!(reply.status, 200);
    assert_eq!(reply.json()["results"].as_array().expect("results").len(), 10_000);
    server.settles();
}

#[test]
fn bytes_in_hand_are_limited() {
    let server = Server::configured("", |config| config.queue_bytes = 1000);
    let body = |length: usize| json!({"model": "math", "inputs": [{"response": "4".repeat(length), "reference": "4"}]});
    assert_eq!(server.score(&body(10)).status, 200);
    let refused = server.score(&body(1000));
    assert_eq!((refused.status, refused.code().as_str()), (503, "overloaded"));
    server.settles();
}

#[test]
fn passed_deadlines_are_timeouts() {
    let server = Server::configured("", |config| {
        config.threads = 1;
        config.deadline = Duration::from_millis(400);
    });
    let text = "and 12 + 34 = 46 so ".repeat(10_000);
    let inputs = vec![json!({ "response": text }); 35];
    let late = server.score(&json!({
        "model": "arithmetic", "inputs": inputs, "options": {"deadline_ms": 6, "cache": "bypass"},
    }));
    match late.status {
        504 => assert_eq!(late.code(), "deadline_passed"),
        // Even a machine that reads seven megabytes in six milliseconds cannot have scored all.
        200 => {
            let results = late.json();
            let results = results["results"].as_array().expect("results");
            assert!(results.iter().any(|result| result["status"] == "timeout"));
        }
        other => panic!("{other}: {}", late.text),
    }
    let easy = json!({"response": "4", "reference": "4"});
    let capped = json!({"model": "math", "inputs": [easy], "options": {"deadline_ms": 86_400_000}});
    assert_eq!(server.score(&capped).json()["results"][0]["status"], "ok");
    server.settles();
}

#[test]
fn short_memory_refuses_work_and_answers_health() {
    let server = Server::configured("", |config| config.memory = Some(1 << 20));
    eventually("the limit is noticed", || server.metric("tribunal_memory_stage") > 3.5);
    let input = json!({"response": "4", "reference": "4"});
    let refused = server.score(&json!({"model": "math", "inputs": [input]}));
    assert_eq!((refused.status, refused.code().as_str()), (503, "overloaded"));
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert!(refused.text.contains("limits.memory"), "{}", refused.text);
    assert_eq!(server.get("/healthz").status, 200);
    assert_eq!(server.get("/v1/models").status, 200);
    assert!(server.metric("tribunal_memory_refused_total") > 0.5);
    assert!(
        server.metric("tribunal_memory_used_bytes") > server.metric("tribunal_memory_limit_bytes")
    );
    server.settles();
}

//! Properties of every generation: independence of concurrent requests, disconnects, hostile
//! requests.

use std::io::{Read as _, Write as _};

use serde_json::{Value, json};

use crate::harness::eventually;
use crate::serving::{Serving, changed, chunks, good, question, refused, tiny, without_end};

/// Removes the fields that differ between replies.
fn stable(reply: &Value) -> Value {
    json!([reply["choices"], reply["system_fingerprint"], reply["tribunal"]["digests"]])
}

#[test]
fn reply_does_not_depend_on_concurrent_requests() {
    let serving = tiny();
    let body = |at: usize| {
        question(&json!({
            "messages": [{"role": "user", "content": format!("What is in sea {}?", at % 7)}],
            "seed": at, "n": 1 + at % 3, "logprobs": true, "top_logprobs": 3,
            "model": if at.is_multiple_of(4) { "strict" } else { "tiny" },
            "max_tokens": 8 + at,
        }))
    };
    let alone: Vec<Value> = (0..31).map(|at| stable(&good(&serving.chat(&body(at))))).collect();
    let serving = tiny();
    let together: Vec<Value> = std::thread::scope(|scope| {
        let ask = |at: usize| {
            let (serving, body) = (&serving, body(at));
            scope.spawn(move || stable(&good(&serving.chat(&body))))
        };
        let asking: Vec<_> = (0..31).map(ask).collect();
        asking.into_iter().map(|one| one.join().expect("no panic")).collect()
    });
    assert_eq!(alone, together);
}

/// A server whose generations take long unless they are cancelled.
fn endless() -> Serving {
    changed(without_end, |_| ())
}

fn endless_question() -> Value {
    question(&json!({"max_tokens": 90_000, "n": 2, "stream": true, "stop": "never to be seen"}))
}

/// Requests of two routes whose answers take long.
fn endless_requests() -> [(&'static str, Value); 2] {
    let input = json!({"model": "tiny", "input": "Hi", "max_output_tokens": 90_000,
        "stream": true});
    [("/v1/chat/completions", endless_question()), ("/v1/responses", input)]
}

fn start(serving: &Serving, path: &str, body: &Value) -> std::net::TcpStream {
    let body = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let mut stream = serving.server.connect();
    stream.write_all(head.as_bytes()).expect("the head is taken");
    stream.write_all(body.as_bytes()).expect("the body is taken");
    stream
}

fn is_idle(serving: &Serving) -> bool {
    let status = serving.host.engine.status();
    status.running == 0 && status.queued == 0 && serving.host.engine.queued_tokens() == 0
}

#[test]
fn disconnect_cancels_its_generation() {
    for (path, mut body) in endless_requests() {
        let serving = endless();
        let mut stream = start(&serving, path, &body);
        let mut first = [0; 2000];
        stream.read_exact(&mut first).expect("a stream begins");
        assert!(first.starts_with(b"HTTP/1.1 200"), "{path}");
        assert!(!is_idle(&serving), "{path}");
        drop(stream);
        eventually("the generation is cancelled", || is_idle(&serving));
        serving.server.settles();
        assert!(serving.server.metric("tribunal_cancelled_requests_total") > 0.0, "{path}");
        body["stream"] = json!(false);
        drop(start(&serving, path, &body));
        eventually("the generation is cancelled", || is_idle(&serving));
        serving.server.settles();
    }
}

#[test]
fn slow_reader_delays_no_other_client() {
    let serving = endless();
    let slow = start(&serving, "/v1/chat/completions", &endless_question());
    eventually("it is running", || !is_idle(&serving));
    for _ in 0..3 {
        good(&serving.chat(&question(&json!({}))));
    }
    drop(slow);
    eventually("the generation is cancelled", || is_idle(&serving));
    serving.server.settles();
}

#[test]
fn unfinished_text_at_the_deadline_is_504() {
    let serving = changed(without_end, |config| {
        config.deadline = std::time::Duration::from_millis(300);
    });
    for (path, mut body) in endless_requests() {
        body["stream"] = json!(false);
        let reply = serving.server.post(path, body.to_string());
        refused(&reply, 504, "deadline_passed", "");
        eventually("the generation is cancelled", || is_idle(&serving));
        serving.server.settles();
    }
}

#[test]
fn full_queue_is_503_with_retry_after() {
    let serving = changed(without_end, |config| config.queue_tokens = 200);
    let held = start(&serving, "/v1/chat/completions", &endless_question());
    eventually("it is running", || !is_idle(&serving));
    let many = question(&json!({"n": 10, "max_tokens": 1}));
    let reply = serving.chat(&many);
    refused(&reply, 503, "overloaded", "");
    let after = reply.header("retry-after").expect("set").parse::<u64>();
    assert!(after.expect("seconds") >= 1);
    drop(held);
    let reply = serving.chat(&question(&json!({"n": 64})));
    refused(&reply, 422, "context_length_exceeded", "messages");
    eventually("the generation is cancelled", || is_idle(&serving));
    good(&serving.chat(&many));
}

#[test]
fn hostile_constraints_are_refused() {
    let serving = tiny();
    let nested = (0..30).fold(
        json!({"type": "null"}),
        |inner, _| json!({"type": "object", "properties": {"a": inner}, "required": ["a"]}),
    );
    let many: Vec<String> = (0..200_000).map(|at| format!("choice {at}")).collect();
    let wide: serde_json::Map<String, Value> =
        (0..20_000).map(|at| (format!("p{at}"), json!({"type": "integer"}))).collect();
    for more in [
        json!({"guided_regex": "(("}),
        json!({"guided_json": {"type": "nothing"}}),
        json!({"guided_json": {"$ref": "http://localhost/schema.json"}}),
        json!({"guided_json": {"$ref": "file:///etc/passwd"}}),
        json!({"guided_json": {"type": "array", "minItems": 1_000_000_000, "items": {}}}),
        json!({"guided_json": {"enum": []}}),
        json!({"guided_grammar": "start: start start"}),
        json!({"guided_grammar": "no grammar"}),
    ] {
        let reply = serving.chat(&question(&more));
        let found = (reply.status, reply.code());
        assert_eq!(found, (422, "invalid_body".to_owned()), "{more}: {}", reply.text);
    }
    for more in [
        json!({"guided_regex": "((a{1000}){1000}){1000}"}),
        json!({"guided_json": nested}),
        json!({"guided_json": {"type": "object", "properties": wide, "required": ["p1"]}}),
        json!({"guided_choice": many}),
    ] {
        let reply = serving.chat(&question(&more));
        assert!([200, 422].contains(&reply.status), "{}", reply.text);
    }
    good(&serving.chat(&question(&json!({}))));
    serving.server.settles();
}

#[test]
fn failed_model_gives_an_error() {
    let serving = changed(
        |folder| {
            // The last weights become NaN.
            let path = folder.join("model.safetensors");
            let mut bytes = std::fs::read(&path).expect("it was made");
            let n = bytes.len();
            bytes[n - 4..].copy_from_slice(&f32::MAX.to_le_bytes());
            bytes[n - 8..n - 4].copy_from_slice(&f32::MAX.to_le_bytes());
            std::fs::write(path, bytes).expect("the folder is ours");
        },
        |_| (),
    );
    let body = question(&json!({}));
    let reply = serving.chat(&body);
    if reply.status == 200 {
        // The values were too few to overflow, so the model still works.
        return;
    }
    refused(&reply, 500, "internal_error", "");
    let mut streamed = body;
    streamed["stream"] = json!(true);
    let reply = serving.chat(&streamed);
    assert_eq!(reply.status, 200);
    let last = reply.text.split_terminator("\n\n").last().expect("an event");
    let error = last.strip_prefix("event: error\ndata: ").expect(last);
    let error: Value = serde_json::from_str(error).expect("JSON");
    assert_eq!(error["error"]["code"], "internal_error");
    let reply = serving.responses(&json!({"model": "tiny", "input": "Hi", "stream": true}));
    let error = crate::responses::events(&reply).pop().expect("an event");
    assert_eq!((&error["type"], &error["code"]), (&json!("error"), &json!("internal_error")));
    serving.server.settles();
}

#[test]
fn aborted_requests_hold_nothing() {
    let serving = tiny();
    for head in [
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 50\r\n\r\n{\"mod",
        "POST /v1/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    ] {
        let mut stream = serving.server.connect();
        stream.write_all(head.as_bytes()).expect("a fresh connection takes bytes");
    }
    serving.server.settles();
    let mut body = question(&json!({}));
    body["stream"] = json!(true);
    chunks(&serving.chat(&body));
    serving.server.settles();
}

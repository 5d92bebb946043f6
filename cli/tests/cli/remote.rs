//! `tribunal score --url`.

use std::io::{BufRead, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::program::{Folder, Ran, dataset, tribunal};
use crate::serve::Server;

fn score(folder: &Folder, input: &str, more: &[&str]) -> Ran {
    let output = folder.name("out.jsonl");
    tribunal(["score", input, "-o", &output, "--scorer", "math"].iter().chain(more))
}

#[test]
fn server_and_process_give_the_same_bytes() {
    let folder = Folder::new();
    let input = folder.write("in.jsonl", dataset(3000) + "{\"response\": \"4\"}\n[]\n");
    score(&folder, &input, &["--explain"]).ends(1);
    let local = folder.read("out.jsonl");
    let server = Server::start(&[]);
    for connections in ["1", "5"] {
        let more = ["--explain", "--overwrite", "--url", &server.url, "--connections", connections];
        score(&folder, &input, &more).ends(1);
        assert!(folder.read("out.jsonl") == local, "{connections} connections");
    }
}

#[test]
fn requests_stay_within_the_limits_of_the_server() {
    let folder = Folder::new();
    let long = "x".repeat(60_000);
    let rows = (0..40)
        .map(|row| format!("{{\"response\": \"{long} {row}\", \"reference\": \"{row}\"}}\n"));
    let huge = format!("{{\"id\": 41, \"response\": \"{}\"}}\n", "x".repeat(200_000));
    let input = folder.write("in.jsonl", rows.collect::<String>() + &huge);
    let server = Server::start(&["--set", "server.max_body=128KiB"]);
    score(&folder, &input, &["--url", &server.url]).ends(1);
    let rows = folder.rows("out.jsonl");
    assert_eq!(rows.len(), 40);
    assert!(rows.iter().all(|row| row["scores"]["math"]["score"] == 1.0));
    let reject = &folder.rows("out.jsonl.rejects.jsonl")[0];
    assert!(reject["reason"].as_str().expect("a text").contains("the server takes"), "{reject}");
    assert_eq!(reject["id"], 41);
}

#[test]
fn api_key_is_sent_and_a_wrong_one_is_reported() {
    let folder = Folder::new();
    let input = folder.write("in.jsonl", dataset(10));
    let keys = folder.write("keys.txt", "# for tests\nright-key-0123456789\n");
    let wrong = folder.write("wrong.txt", "wrong-key-0123456789\n");
    let server = Server::start(&["--api-keys-file", &keys]);
    let url = ["--url", &server.url];
    score(&folder, &input, &url).ends(1).says(&["401"]);
    score(&folder, &input, &[&url[..], &["--api-key-file", &wrong]].concat())
        .ends(1)
        .says(&["401"]);
    score(&folder, &input, &[&url[..], &["--api-key-file", &keys]].concat()).ends(0);
}

#[test]
fn wrong_use_ends_with_2() {
    let folder = Folder::new();
    let input = folder.write("in.jsonl", dataset(1));
    let server = Server::start(&[]);
    let output = folder.name("out.jsonl");
    let args = ["score", &input, "-o", &output, "--url", &server.url, "--scorer", "maths"];
    tribunal(args).ends(2).says(&["did you mean 'math'?"]);
    score(&folder, &input, &["--url", "127.0.0.1:1"]).ends(2).says(&["http://"]);
    score(&folder, &input, &["--connections", "2"]).ends(2);
    score(&folder, &input, &["--url", &server.url, "--threads", "2"]).ends(2);
}

#[test]
fn unreachable_server_is_a_failure() {
    let folder = Folder::new();
    let input = folder.write("in.jsonl", dataset(1));
    // A port that was free a moment ago.
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let url = format!("http://{}", free.expect("a free port"));
    score(&folder, &input, &["--url", &url, "--retries", "1"]).ends(1).says(&["gave up after 2"]);
    assert_eq!(folder.names(), ["in.jsonl"]);
}

const DIGEST: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

/// What a made-up server does with the n-th scoring request, counted from 0.
type Script = fn(usize) -> (u16, &'static str);

/// Starts a server that scores everything 1 where its script says 200.
fn made_up(script: Script) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    let requests = Arc::new(AtomicUsize::new(0));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let requests = Arc::clone(&requests);
            std::thread::spawn(move || answer(&stream, script, &requests));
        }
    });
    url
}

/// Answers requests on one connection until it ends.
fn answer(stream: &TcpStream, script: Script, requests: &AtomicUsize) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut writer = stream;
    loop {
        let (path, body) = read_request(&mut reader)?;
        let ((status, headers), reply) = if path == "/v1/models" {
            ((200, ""), models())
        } else {
            let answer = script(requests.fetch_add(1, Ordering::SeqCst));
            (answer, if answer.0 == 200 { results(&body) } else { failure() })
        };
        let reply = reply.to_string();
        let length = reply.len();
        let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\n{headers}\r\n");
        writer.write_all((head + &reply).as_bytes()).ok()?;
    }
}

pub(crate) fn read_request(reader: &mut impl BufRead) -> Option<(String, Value)> {
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let path = first.split(' ').nth(1)?.to_owned();
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((path, serde_json::from_slice(&body).unwrap_or_default()))
}

fn digests() -> Value {
    json!({"scorer": DIGEST, "model": null, "adapter": null, "prompt": null})
}

fn models() -> Value {
    json!({"object": "list", "data": [{
        "id": "math", "object": "model", "created": 0, "owned_by": "test", "kind": "math",
        "description": "says 1", "digests": digests(),
        "limits": {"inputs": 100, "body_bytes": 1_000_000, "deadline_ms": 1000},
    }]})
}

fn results(request: &Value) -> Value {
    let usage = json!({
        "input_tokens": 0, "cached_tokens": 0, "output_tokens": 0, "total_tokens": 0,
    });
    let result = json!({
        "id": "0", "status": "ok", "score": 1.0, "raw": null, "label": null, "reason": null,
        "candidate": null, "steps": null, "parts": null, "candidates": null, "label_mass": null,
        "digests": digests(), "usage": usage, "timing": {"queue_ms": 0.0, "exec_ms": 0.0},
        "cached": false,
    });
    let n_inputs = request["inputs"].as_array().map_or(0, Vec::len);
    json!({
        "id": "score-1", "object": "score", "created": 0, "model": "math",
        "results": vec![result; n_inputs], "usage": usage,
    })
}

fn failure() -> Value {
    let error = json!({"type": "t", "code": "c", "message": "not today", "param": null});
    json!({ "error": error })
}

#[test]
fn retryable_error_is_retried_after_retry_after() {
    let folder = Folder::new();
    let input = folder.write("in.jsonl", dataset(1000));
    // Every second request is put off, by each of the statuses that mean it.
    let url = made_up(|request| match request % 8 {
        1 => (503, "retry-after: 0\r\n"),
        3 => (429, "retry-after: 0\r\n"),
        5 => (504, "retry-after: 0\r\n"),
        7 => (502, ""),
        _ => (200, ""),
    });
    score(&folder, &input, &["--url", &url, "--retries", "8"]).ends(0);
    assert_eq!(folder.rows("out.jsonl").len(), 1000);
}

#[test]
fn fatal_error_stops_the_run_and_a_later_run_resumes() {
    let folder = Folder::new();
    let input = folder.write("in.jsonl", dataset(5000));
    for url in [
        made_up(|request| if request < 10 { (200, "") } else { (500, "") }),
        made_up(|request| if request < 10 { (200, "") } else { (503, "retry-after: 0\r\n") }),
    ] {
        let more = ["--url", &url, "--retries", "2", "--connections", "1"];
        let ran = score(&folder, &input, &more).ends(1);
        ran.says(&["not today", "the same command goes on"]);
        assert_eq!(
            folder.names(),
            [
                "in.jsonl",
                "out.jsonl.journal",
                "out.jsonl.partial",
                "out.jsonl.rejects.jsonl.partial"
            ]
        );
    }
    let healthy = made_up(|_| (200, ""));
    score(&folder, &input, &["--url", &healthy]).ends(0).says(&["rows were done before"]);
    let interrupted = folder.read("out.jsonl");
    score(&folder, &input, &["--url", &healthy, "--overwrite"]).ends(0);
    assert!(folder.read("out.jsonl") == interrupted);
    // Another server with another scorer of that name does not go on with it.
    let failing = made_up(|request| if request < 10 { (200, "") } else { (500, "") });
    score(&folder, &input, &["--url", &failing, "--overwrite", "--connections", "1"]).ends(1);
    score(&folder, &input, &["--overwrite"]).ends(2).says(&["scorer 'math'", DIGEST]);
}

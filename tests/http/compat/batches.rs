//! OpenAI's files and batches, from upload to output.

use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use serve::Config;
use serve::keys::Keys;
use tempfile::TempDir;

use super::{answered, good, start_with};
use crate::harness::{Reply, Server, eventually};
use crate::limits::half_a_request;

/// The content type of forms, with their boundary.
pub(super) const FORM: (&str, &str) = ("content-type", "multipart/form-data; boundary=XX");

/// Builds a form of fields and a file.
pub(super) fn form(fields: &[(&str, &str)], file: &[u8]) -> Vec<u8> {
    let mut form = Vec::new();
    for (name, value) in fields {
        let part =
            format!("--XX\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
        form.extend_from_slice(part.as_bytes());
    }
    form.extend_from_slice(
        b"--XX\r\ncontent-disposition: form-data; name=\"file\"; filename=\"requests.jsonl\"\r\n\
          content-type: application/octet-stream\r\n\r\n",
    );
    form.extend_from_slice(file);
    form.extend_from_slice(b"\r\n--XX--\r\n");
    form
}

pub(super) fn in_folder(folder: &Path) -> impl FnOnce(&mut Config) {
    let folder = folder.join("batches");
    move |config| config.batches_folder = Some(folder)
}

/// Starts a server with a batch folder of its own.
pub(super) fn start() -> (Server, TempDir) {
    changed(|_| ())
}

pub(super) fn changed(change: impl FnOnce(&mut Config)) -> (Server, TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::configured("", |config| {
        in_folder(folder.path())(config);
        change(config);
    });
    (server, folder)
}

pub(super) fn upload(server: &Server, text: impl AsRef<[u8]>) -> Reply {
    let body = form(&[("purpose", "batch")], text.as_ref());
    server.send("POST", "/v1/files", &[FORM], body)
}

pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("nothing")
}

pub(super) fn line(custom_id: &str, url: &str, body: &Value) -> String {
    let line = json!({ "custom_id": custom_id, "method": "POST", "url": url, "body": body });
    line.to_string() + "\n"
}

/// Returns lines that score whether a number is two.
pub(super) fn sums(count: usize) -> String {
    let one = |n: usize| {
        let input = json!({ "response": n.to_string(), "reference": "2" });
        let body = json!({ "model": "math", "inputs": [input] });
        line(&format!("q{n}"), "/v1/score", &body)
    };
    (0..count).map(one).collect()
}

/// Uploads lines and creates a batch of them.
pub(super) fn begin(server: &Server, endpoint: &str, lines: impl AsRef<[u8]>) -> Value {
    create(server, endpoint, &good(&upload(server, lines)))
}

/// Creates a batch of an uploaded file.
fn create(server: &Server, endpoint: &str, file: &Value) -> Value {
    let body = json!({
        "input_file_id": file["id"], "endpoint": endpoint, "completion_window": "24h",
        "metadata": { "run": "7" },
    });
    answered(server, "/v1/batches", &body)
}

pub(super) fn poll(server: &Server, batch: &Value) -> Value {
    good(&server.get(&format!("/v1/batches/{}", text(&batch["id"]))))
}

/// Waits until a batch is in one of these states.
pub(super) fn reaches(server: &Server, batch: &Value, states: &[&str]) -> Value {
    eventually(&format!("{states:?}"), || states.contains(&text(&poll(server, batch)["status"])));
    poll(server, batch)
}

/// Returns the lines of a batch's file.
pub(super) fn lines_of(server: &Server, id: &Value) -> Vec<Value> {
    if id.is_null() {
        return Vec::new();
    }
    let reply = server.get(&format!("/v1/files/{}/content", text(id)));
    assert_eq!(reply.status, 200, "{}", reply.text);
    let lines = reply.text.lines();
    lines.map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn ids(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| text(&line["custom_id"])).collect()
}

fn cancel(server: &Server, batch: &Value) -> Reply {
    let path = format!("/v1/batches/{}/cancel", text(&batch["id"]));
    server.post(&path, "")
}

#[test]
fn uploaded_batch_gives_its_output_file() {
    let (server, _folder) = start();
    let refused = line("none", "/v1/score", &json!({ "model": "nobody", "inputs": [] }));
    let lines = sums(3) + &refused;
    let file = good(&upload(&server, &lines));
    assert_eq!(file["object"], "file");
    assert_eq!(file["bytes"], lines.len());
    assert_eq!(file["filename"], "requests.jsonl");
    assert_eq!(file["purpose"], "batch");
    assert_eq!(file["status"], "processed");
    let created = file["created_at"].as_u64().expect("a time");
    assert_eq!(file["expires_at"], created + 30 * 24 * 3600);
    let path = format!("/v1/files/{}", text(&file["id"]));
    assert_eq!(good(&server.get(&path)), file);
    assert_eq!(server.get(&format!("{path}/content")).text, lines);

    let batch = begin(&server, "/v1/score", &lines);
    assert_eq!(batch["object"], "batch");
    assert_eq!(batch["status"], "validating");
    assert_eq!(batch["metadata"], json!({ "run": "7" }));
    assert_eq!(batch["completion_window"], "24h");
    let done = reaches(&server, &batch, &["completed"]);
    assert_eq!(done["request_counts"], json!({ "total": 4, "completed": 3, "failed": 1 }));
    for time in ["in_progress_at", "finalizing_at", "completed_at"] {
        assert!(done[time].is_u64(), "{time}: {done}");
    }
    for none in ["failed_at", "expired_at", "cancelling_at", "cancelled_at", "errors"] {
        assert_eq!(done[none], Value::Null, "{none}");
    }
    let output = lines_of(&server, &done["output_file_id"]);
    assert_eq!(ids(&output), ["q0", "q1", "q2"]);
    for (n, line) in output.iter().enumerate() {
        let response = &line["response"];
        assert_eq!(response["status_code"], 200);
        let score = if n == 2 { 1.0 } else { 0.0 };
        assert_eq!(response["body"]["results"][0]["score"], score);
        assert_eq!(line["error"], Value::Null);
        assert!(text(&line["id"]).starts_with("batch_req_"), "{line}");
    }
    let errors = lines_of(&server, &done["error_file_id"]);
    assert_eq!(ids(&errors), ["none"]);
    assert_eq!(errors[0]["response"]["status_code"], 422);
    let code = &errors[0]["response"]["body"]["error"]["code"];
    assert_eq!(*code, "invalid_body");

    let page = good(&server.get("/v1/files?purpose=batch_output&order=asc"));
    assert_eq!(page["data"].as_array().map(Vec::len), Some(2));
    let all = good(&server.get("/v1/files"));
    assert_eq!(all["data"].as_array().map(Vec::len), Some(4));
    let listed = good(&server.get("/v1/batches"));
    assert_eq!(listed["data"], json!([done]));
    for (metric, expected) in [
        ("tribunal_batches_total{status=\"completed\"}", 1.0),
        ("tribunal_batch_lines_total{outcome=\"completed\"}", 3.0),
        ("tribunal_batch_lines_total{outcome=\"failed\"}", 1.0),
        ("tribunal_batch_storage_faults_total", 0.0),
    ] {
        assert_eq!(server.metric(metric), expected, "{metric}");
    }
    let gone = good(&server.send("DELETE", &path, &[], ""));
    assert_eq!(gone, json!({ "id": file["id"], "object": "file", "deleted": true }));
    assert_eq!(server.get(&path).status, 404);
    assert_eq!(server.get(&format!("{path}/content")).status, 404);
    server.settles();
}

/// Removes the fields that differ between runs of the same request.
fn stable(value: &Value) -> Value {
    const OWN: [&str; 12] = [
        "id",
        "created",
        "created_at",
        "timing",
        "cached",
        "execution_time",
        "cached_tokens",
        "cache_write_tokens",
        "computed_tokens",
        "prompt_tokens_details",
        "input_tokens_details",
        "usage",
    ];
    match value {
        Value::Array(items) => items.iter().map(stable).collect(),
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(name, _)| !OWN.contains(&name.as_str()));
            let kept = kept.map(|(name, value)| (name.clone(), stable(value)));
            Value::Object(kept.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

#[test]
fn line_has_the_reply_of_its_route() {
    let folder = tempfile::tempdir().expect("a folder");
    let (server, _hosts) = start_with(in_folder(folder.path()));
    let messages = json!([{ "role": "user", "content": "Two and two?" }]);
    let grader = json!({
        "type": "string_check", "name": "same", "operation": "eq",
        "input": "{{ sample.output_text }}", "reference": "4",
    });
    let cases = [
        (
            "/v1/score",
            json!({ "model": "good", "inputs": [{ "prompt": "Hi", "response": "Hello" }] }),
        ),
        ("/v1/score", json!({ "model": "rm", "queries": "Hi", "documents": ["Hello", "No"] })),
        (
            "/v1/chat/completions",
            json!({ "model": "chat", "messages": messages, "max_tokens": 4, "seed": 1 }),
        ),
        (
            "/v1/completions",
            json!({ "model": "chat", "prompt": "Two", "max_tokens": 4, "seed": 1 }),
        ),
        (
            "/v1/responses",
            json!({ "model": "chat", "input": "Two and two?", "max_output_tokens": 4 }),
        ),
        (
            "/v1/decisions",
            json!({ "model": "chat", "input": "Two and two are four.", "questions": [
                { "type": "boolean", "name": "right", "question": "Is it right?" }] }),
        ),
        ("/v1/fine_tuning/alpha/graders/run", json!({ "grader": grader, "model_sample": "4" })),
        ("/v1/embeddings", json!({ "model": "rm", "input": "Hello" })),
        ("/pooling", json!({ "model": "rm", "input": "Hello" })),
        ("/rerank", json!({ "model": "rm", "query": "Hi", "documents": ["Hello", "No"] })),
    ];
    for (url, body) in cases {
        let direct = server.post(url, body.to_string());
        let batch = begin(&server, url, line("one", url, &body));
        let done = reaches(&server, &batch, &["completed"]);
        let mut lines = lines_of(&server, &done["output_file_id"]);
        lines.extend(lines_of(&server, &done["error_file_id"]));
        let response = &lines[0]["response"];
        assert_eq!(response["status_code"], direct.status, "{url}: {}", direct.text);
        let ours = stable(&response["body"]);
        assert_eq!(ours, stable(&direct.json()), "{url}");
    }
    server.settles();
}

#[test]
fn invalid_lines_fail_a_batch_with_their_numbers() {
    let (server, _folder) = changed(|config| config.batches_max_requests = 50);
    let check = |lines: &str, expected: Value| {
        let batch = begin(&server, "/v1/score", lines);
        let failed = reaches(&server, &batch, &["failed"]);
        let errors = failed["errors"]["data"].as_array().expect("a list").iter();
        let found: Value = errors.map(|e| json!([e["line"], e["code"]])).collect();
        assert_eq!(found, expected, "{lines}");
        assert_eq!(failed["errors"]["object"], "list");
        assert!(failed["failed_at"].is_u64());
        assert_eq!(failed["request_counts"]["total"], 0);
        assert_eq!(failed["output_file_id"], Value::Null);
        let refused = cancel(&server, &batch);
        assert_eq!((refused.status, refused.code().as_str()), (409, "conflict"));
    };
    check("", json!([[null, "empty_file"]]));
    let broken = sums(2) + "{\n" + &sums(1);
    let expected = json!([[3, "invalid_json_line"], [4, "duplicate_custom_id"]]);
    check(&broken, expected);
    let other = line("x", "/v1/embeddings", &json!({}));
    check(&other, json!([[1, "url_mismatch"]]));
    check(&sums(51), json!([[null, "too_many_tasks"]]));
    let stream = line("x", "/v1/score", &json!({ "stream": true }));
    check(&stream, json!([[1, "invalid_request"]]));
    assert_eq!(server.metric("tribunal_verdicts_total"), 0.0, "nothing was scored");
}

/// Lines of a waiting batch, and how many of them are before the one that waits.
const LINES: usize = 40;
const BEFORE: usize = 20;

/// Starts a server whose batch has answered `BEFORE` lines and waits with the next until the
/// connection is dropped: the connection holds the bytes that this line needs.
fn with_a_batch_that_waits() -> (Server, TempDir, Value, TcpStream) {
    const ROOM: usize = 1 << 20;
    const LEFT: usize = 64 << 10;
    let (server, folder) = changed(|config| {
        config.queue_bytes = ROOM;
        config.body_timeout = Duration::from_mins(1);
        config.batches_concurrency = 1;
    });
    let mut lines: Vec<String> = sums(LINES).lines().map(|line| format!("{line}\n")).collect();
    let input = json!({ "response": " ".repeat(2 * LEFT) + "2", "reference": "2" });
    let body = json!({ "model": "math", "inputs": [input] });
    lines[BEFORE] = line(&format!("q{BEFORE}"), "/v1/score", &body);
    let file = good(&upload(&server, lines.concat()));
    let held = half_a_request(&server, ROOM - LEFT);
    eventually("the bytes are held", || server.metric("tribunal_held{what=\"requests\"}") > 0.5);
    let batch = create(&server, "/v1/score", &file);
    eventually("the lines before are answered", || {
        poll(&server, &batch)["request_counts"]["completed"] == BEFORE
    });
    (server, folder, batch, held)
}

#[test]
fn overloaded_lines_are_retried() {
    let (server, _folder, batch, held) = with_a_batch_that_waits();
    assert_eq!(poll(&server, &batch)["status"], "in_progress");
    drop(held);
    let done = reaches(&server, &batch, &["completed"]);
    assert_eq!(done["request_counts"], json!({ "total": LINES, "completed": LINES, "failed": 0 }));
    assert_eq!(lines_of(&server, &done["output_file_id"]).len(), LINES);
    server.settles();
}

#[test]
fn cancelled_batch_keeps_its_answers() {
    let (server, _folder, batch, held) = with_a_batch_that_waits();
    let cancelling = good(&cancel(&server, &batch));
    assert_eq!(cancelling["status"], "cancelling");
    assert!(cancelling["cancelling_at"].is_u64());
    let done = reaches(&server, &batch, &["cancelled"]);
    let output = lines_of(&server, &done["output_file_id"]);
    let errors = lines_of(&server, &done["error_file_id"]);
    assert_eq!((output.len(), errors.len()), (BEFORE, LINES - BEFORE));
    assert_eq!(done["request_counts"]["completed"], BEFORE);
    for line in &errors {
        assert_eq!(line["error"]["code"], "batch_cancelled");
        assert_eq!(line["response"], Value::Null);
    }
    let again = cancel(&server, &batch);
    assert_eq!((again.status, again.code().as_str()), (409, "conflict"));
    drop(held);
    server.settles();
}

#[test]
fn restart_continues_a_batch() {
    let folder = tempfile::tempdir().expect("a folder");
    let slow = |config: &mut Config| {
        in_folder(folder.path())(config);
        config.batches_concurrency = 1;
    };
    let mut server = Server::configured("", slow);
    let batch = begin(&server, "/v1/score", sums(3_000));
    eventually("some lines are answered", || {
        poll(&server, &batch)["request_counts"]["completed"].as_u64().is_some_and(|count| count > 5)
    });
    server.stop();
    let server = Server::again(slow);
    let done = reaches(&server, &batch, &["completed"]);
    let output = lines_of(&server, &done["output_file_id"]);
    let expected: Vec<String> = (0..3_000).map(|n| format!("q{n}")).collect();
    assert_eq!(ids(&output), expected);
    assert!(server.metric("tribunal_batch_lines_total{outcome=\"completed\"}") < 2_995.5);
    assert_eq!(done["created_at"], batch["created_at"]);
}

/// The disk fills while a batch runs: the batch waits, and continues when there is room.
#[test]
fn full_disk_delays_a_batch() {
    let lines = sums(40);
    let filler = vec![b'x'; 100_000];
    let (server, _folder) = changed(|config| {
        config.batches_quota = lines.len() + filler.len() + 4_000;
    });
    let spare = good(&upload(&server, &filler));
    let batch = begin(&server, "/v1/score", &lines);
    eventually("the disk is full", || server.metric("tribunal_batch_storage_faults_total") > 0.5);
    assert_eq!(poll(&server, &batch)["status"], "in_progress");
    let full = upload(&server, &filler);
    assert_eq!((full.status, full.code().as_str()), (507, "storage_full"));
    let needed = format!("/v1/files/{}", text(&batch["input_file_id"]));
    let refused = server.send("DELETE", &needed, &[], "");
    assert_eq!((refused.status, refused.code().as_str()), (409, "conflict"));
    good(&server.send("DELETE", &format!("/v1/files/{}", text(&spare["id"])), &[], ""));
    let done = reaches(&server, &batch, &["completed"]);
    let output = lines_of(&server, &done["output_file_id"]);
    let expected: Vec<String> = (0..40).map(|n| format!("q{n}")).collect();
    assert_eq!(ids(&output), expected);
    server.settles();
}

#[test]
fn keys_see_only_their_own_files() {
    let keys = ["first-key-0123456789", "other-key-0123456789"];
    let folder = tempfile::tempdir().expect("a folder");
    let parsed = Keys::parse(&keys.join("\n")).expect("good keys");
    let server = Server::guarded("", parsed, in_folder(folder.path()));
    let bearers = keys.map(|key| format!("Bearer {key}"));
    let [mine, other] = [0, 1].map(|at| ("authorization", bearers[at].as_str()));
    let body = form(&[("purpose", "batch")], sums(2).as_bytes());
    let file = good(&server.send("POST", "/v1/files", &[FORM, mine], &body));
    let path = format!("/v1/files/{}", text(&file["id"]));
    let json = ("content-type", "application/json");
    let request = json!({
        "input_file_id": file["id"], "endpoint": "/v1/score", "completion_window": "24h",
    });
    let begin = |who| server.send("POST", "/v1/batches", &[json, who], request.to_string());
    let refused = begin(other);
    assert_eq!((refused.status, refused.code().as_str()), (404, "not_found"));
    let batch = good(&begin(mine));
    let batch_path = format!("/v1/batches/{}", text(&batch["id"]));
    let cancel = format!("{batch_path}/cancel");
    let content = format!("{path}/content");
    for (method, path) in [
        ("GET", &path),
        ("GET", &content),
        ("DELETE", &path),
        ("GET", &batch_path),
        ("POST", &cancel),
    ] {
        let reply = server.send(method, path, &[other], "");
        assert_eq!((reply.status, reply.code().as_str()), (404, "not_found"), "{path}");
        assert_eq!(server.send(method, path, &[], "").status, 401, "{path}");
    }
    for list in ["/v1/files", "/v1/batches"] {
        let count = |who| {
            let page = good(&server.send("GET", list, &[who], ""));
            page["data"].as_array().map_or(0, Vec::len)
        };
        assert!(count(mine) > 0);
        assert_eq!(count(other), 0, "{list}");
    }
    // Its lines pass the guard without a key.
    eventually("the batch is done", || {
        let batch = good(&server.send("GET", &batch_path, &[mine], ""));
        batch["status"] == "completed" && batch["request_counts"]["completed"] == 2
    });
    let stored = std::fs::read(folder.path().join("batches/batches.redb")).expect("readable");
    let holds = |text: &str| stored.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(!holds(keys[0]), "no key is kept");
}

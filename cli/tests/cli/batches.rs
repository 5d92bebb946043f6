//! Batches whose server is killed.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::program::Folder;
use crate::serve::Server;

const LINES: usize = 3_000;

fn requests() -> String {
    let line = |n: usize| {
        let input = json!({ "response": n.to_string(), "reference": "2" });
        let body = json!({ "model": "math", "inputs": [input] });
        let line = json!({ "custom_id": format!("q{n}"), "method": "POST", "url": "/v1/score", "body": body });
        line.to_string() + "\n"
    };
    (0..LINES).map(line).collect()
}

fn get(server: &Server, path: &str) -> String {
    let url = format!("{}{path}", server.url);
    let mut reply = ureq::get(&url).call().expect("it answers");
    let body = reply.body_mut().with_config().limit(64 << 20);
    body.read_to_string().expect("text")
}

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

fn post(server: &Server, path: &str, kind: &str, body: &str) -> Value {
    let url = format!("{}{path}", server.url);
    let sending = ureq::post(&url).header("content-type", kind).send(body);
    let mut reply = sending.expect("it answers");
    json_of(&reply.body_mut().read_to_string().expect("text"))
}

fn begin(server: &Server) -> String {
    let form = format!(
        "--XX\r\ncontent-disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n\
         --XX\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n{}\r\n--XX--\r\n",
        requests()
    );
    let file = post(server, "/v1/files", "multipart/form-data; boundary=XX", &form);
    let request = json!({
        "input_file_id": file["id"], "endpoint": "/v1/score", "completion_window": "24h",
    });
    let batch = post(server, "/v1/batches", "application/json", &request.to_string());
    format!("/v1/batches/{}", batch["id"].as_str().expect("text"))
}

/// Waits until so many lines are answered, or the batch is over. Gives how many there are.
fn reaches(server: &Server, path: &str, count: u64) -> (u64, Value) {
    let end = Instant::now() + Duration::from_mins(2);
    loop {
        let batch = json_of(&get(server, path));
        let done = batch["request_counts"]["completed"].as_u64().expect("a number");
        if done >= count || batch["status"] == "completed" {
            return (done, batch);
        }
        assert!(Instant::now() < end, "it stands still: {batch}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_batch_whose_server_is_killed_again_and_again_has_every_line_once() {
    let folder = Folder::new();
    let setting = format!("batches.folder={}", folder.name("batches"));
    let args = ["--set", &setting, "--set", "batches.concurrency=2"];
    let mut server = Server::start(&args);
    let path = begin(&server);
    let (mut killed, mut done) = (0, 0);
    while killed < 6 {
        let (reached, batch) = reaches(&server, &path, done + 40);
        if batch["status"] == "completed" {
            break;
        }
        assert!(reached >= done, "answers were lost: {reached} after {done}");
        done = reached;
        server.signal("KILL");
        server.end();
        killed += 1;
        server = Server::start(&args);
    }
    assert!(killed > 2, "the batch ended before its server could be killed");
    let (_, batch) = reaches(&server, &path, u64::MAX);
    let counts = json!({ "total": LINES, "completed": LINES, "failed": 0 });
    assert_eq!(batch["request_counts"], counts);
    let output = batch["output_file_id"].as_str().expect("text");
    let text = get(&server, &format!("/v1/files/{output}/content"));
    let ids: Vec<String> = text
        .lines()
        .map(|line| json_of(line)["custom_id"].as_str().expect("text").to_owned())
        .collect();
    let distinct: BTreeSet<&String> = ids.iter().collect();
    assert_eq!((ids.len(), distinct.len()), (LINES, LINES));
}

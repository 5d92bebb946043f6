//! Batches whose server is killed.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::program::Folder;
use crate::serve::Server;

const LINES: usize = 3_000;

fn line(n: usize, input: &Value) -> String {
    let body = json!({ "model": "math", "inputs": [input] });
    let line =
        json!({ "custom_id": format!("q{n}"), "method": "POST", "url": "/v1/score", "body": body });
    line.to_string() + "\n"
}

fn requests(count: usize) -> String {
    let input = |n: usize| json!({ "response": n.to_string(), "reference": "2" });
    (0..count).map(|n| line(n, &input(n))).collect()
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

fn begin(server: &Server, requests: &str) -> String {
    let form = format!(
        "--XX\r\ncontent-disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n\
         --XX\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n{requests}\r\n--XX--\r\n"
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
    let path = begin(&server, &requests(LINES));
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

/// Waits until the server has an input in hand.
fn works(server: &Server) {
    let end = Instant::now() + Duration::from_mins(1);
    let is_held =
        |line: &str| line.starts_with("tribunal_held{what=\"items\"}") && !line.ends_with(" 0");
    while !get(server, "/metrics").lines().any(is_held) {
        assert!(Instant::now() < end, "nothing is in hand");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_line_whose_server_is_killed_twice_is_a_dead_letter_and_the_others_are_answered() {
    const OTHERS: usize = 3;
    let folder = Folder::new();
    let setting = format!("batches.folder={}", folder.name("batches"));
    let args = ["--set", &setting];
    // Far longer to judge than this test takes, so that the line is in hand at each kill.
    let costly = |at: usize| {
        format!(r"\boxed{{\sum_{{k=1}}^{{500}} \sum_{{j=1}}^{{500}} \frac{{1}}{{k+j+{at}}}}}")
    };
    let responses: Vec<String> = (0..8_000).map(costly).collect();
    let deadly = line(OTHERS, &json!({ "responses": responses, "reference": "1/3" }));
    let mut server = Server::start(&args);
    let path = begin(&server, &(requests(OTHERS) + &deadly));
    let (answered, _) = reaches(&server, &path, OTHERS as u64);
    assert_eq!(answered, OTHERS as u64);
    for _ in 0..2 {
        works(&server);
        server.signal("KILL");
        server.end();
        server = Server::start(&args);
    }
    let (_, batch) = reaches(&server, &path, u64::MAX);
    let counts = json!({ "total": OTHERS + 1, "completed": OTHERS, "failed": 1 });
    assert_eq!(batch["request_counts"], counts);
    let errors = batch["error_file_id"].as_str().expect("text");
    let error = json_of(&get(&server, &format!("/v1/files/{errors}/content")));
    assert_eq!(error["custom_id"], format!("q{OTHERS}"));
    assert_eq!(error["error"]["code"], "dead_letter");
}

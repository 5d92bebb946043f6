//! Commands that score by a server: `tribunal score --url`, and `[remote]` of a run file.

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

/// A judge by the first word that comes to the model after each line.
const JUDGE: &str = "[[scorer]]\nname = \"judge\"\nkind = \"process\"\nmethod = \"labels\"\n\
    labels = [\"a\", \"b\"]\nseparator = \"#\"\nsplitter = \"lines\"\naggregate = \"mean\"\n\
    min_label_mass = 0.0\n";

/// A run that is scored by a server, which gets the run's adapter before each step, is the run that
/// scores by its own adapter, bit for bit.
#[test]
fn run_by_a_server_with_its_adapter_is_the_run_by_itself() {
    let folder = Folder::new();
    tribunal(["models", "make-tiny", "--family", "qwen3", &folder.name("model")]).ends(0);
    let row = |i: usize| format!("{{\"prompt\": \"say {i}\"}}\n");
    folder.write("rows.jsonl", (0..12).map(row).collect::<String>());
    let train = |out: &str, steps: u64, rest: &str| {
        let text = format!(
            "[run]\nfolder = \"{out}\"\nsteps = {steps}\nseed = 3\n\
             [policy]\npath = \"model\"\nmicro_tokens = 256\nkv_tokens = 4096\n\
             [[policy.adapter]]\nname = \"live\"\nr = 2\nalpha = 4.0\n[optimiser]\nrate = 1e-2\n\
             [[data]]\nkind = \"rows\"\npath = \"rows.jsonl\"\n\
             [method]\nkind = \"policy_gradient\"\nadapter = \"live\"\nprompts = 3\ngroup = 4\n\
             max_tokens = 8\nno_progress_after = 0\nscorer = \"judge\"\n\
             advantage = {{ kind = \"mean\" }}\n{rest}"
        );
        tribunal(["train", &folder.write(&format!("{out}.toml"), text)])
    };
    let adapter = |out: &str| {
        folder.read(&format!("{out}/step-000003/adapters/live/adapter_model.safetensors"))
    };
    let own = format!("{JUDGE}model = \"live\"\n");
    train("own", 3, &own).ends(0);
    train("first", 1, &own).ends(0);

    std::fs::create_dir(folder.path("pushed")).expect("the folder is ours");
    let config = folder.write(
        "serve.toml",
        format!(
            "[compat]\nadapters = \"pushed\"\n\
             [[model]]\nname = \"base\"\npath = \"model\"\ncompute = \"f32\"\n\
             [[adapter]]\nname = \"live\"\nmodel = \"base\"\n\
             path = \"first/step-000001/adapters/live\"\nreplaceable = true\n\
             {JUDGE}model = \"live\"\n"
        ),
    );
    let server = Server::start(&["--config", &config]);
    let remote = |rest: &str| remote_at(&server.url) + rest;
    let push = "[[remote.push]]\nadapter = \"live\"\nfolder = \"pushed\"\n";
    train("far", 3, &remote(push)).ends(0);
    assert!(adapter("far") == adapter("own"));
    assert_eq!(folder.names_in("pushed"), [""; 0]);
    // By an adapter that stays as it was, another run.
    train("stale", 3, &remote("")).ends(0);
    assert!(adapter("stale") != adapter("own"));

    let missing = remote("").replace("\"judge\"", "\"judge\", \"judges\"");
    train("missing", 1, &missing).ends(2).says(&["did you mean 'judge'?"]);
    let elsewhere = push.replace("\"pushed\"", "\"nowhere\"");
    train("elsewhere", 1, &remote(&elsewhere)).ends(2).says(&["nowhere is no folder"]);
    let named = push.replace("adapter = \"live\"", "adapter = \"live\"\nname = \"base\"");
    train("named", 1, &remote(&named)).ends(1).says(&["the configuration has given this name"]);
    train("gone", 1, &remote_at("http://127.0.0.1:1")).ends(1).says(&["127.0.0.1:1"]);
}

fn remote_at(url: &str) -> String {
    format!("[remote]\nurl = \"{url}\"\nscorers = [\"judge\"]\nretries = 0\n")
}

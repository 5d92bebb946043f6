//! `tribunal principles` from outside.

use std::io::{BufReader, Write as _};
use std::net::{TcpListener, TcpStream};

use serde_json::{Value, json};

use crate::program::{Folder, Ran, rows, tribunal};
use crate::remote::read_request;
use crate::serve::Server;

fn feedback() -> String {
    let row = |id: u32, feedback: Value| {
        json!({"id": id, "prompt": "What is 2 + 2?", "response": "4", "feedback": feedback})
            .to_string()
            + "\n"
    };
    [
        row(1, json!(["It is correct.", "The sum is accurate."])),
        row(2, json!(["Fine."])),
        row(3, json!(["It is correct.", "I cannot read this."])),
    ]
    .concat()
}

/// Starts a server that knows two judgements and where three words lie.
fn made_up() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(&stream));
        }
    });
    url
}

/// Answers requests on one connection until it ends.
fn answer(stream: &TcpStream) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut writer = stream;
    loop {
        let (path, body) = read_request(&mut reader)?;
        let (status, reply) = match path.as_str() {
            "/v1/chat/completions" => chat(&body),
            "/v1/embeddings" => (200, embeddings(&body)),
            _ => (404, json!({"error": {"message": "no such route"}})),
        };
        let reply = reply.to_string();
        let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n", reply.len());
        writer.write_all((head + &reply).as_bytes()).ok()?;
    }
}

fn chat(body: &Value) -> (u16, Value) {
    assert_eq!(body["response_format"]["json_schema"]["strict"], true);
    let prompt = body["messages"][0]["content"].as_str().expect("text");
    let item = |principle: &str, evidence: &str| json!({"principle": principle, "verdict": "yes", "evidence": evidence});
    let list = if prompt.contains("> It is correct.") {
        json!({"principles": [item("correctness", "It is correct."), item("style", "correct")]})
    } else if prompt.contains("> The sum is accurate.") {
        json!({"principles": [item("accuracy", "The sum is accurate.")]})
    } else {
        return (400, json!({"error": {"message": "the prompt is too odd"}}));
    };
    let message = json!({"role": "assistant", "content": list.to_string()});
    (200, json!({"choices": [{"message": message, "finish_reason": "stop"}]}))
}

fn embeddings(body: &Value) -> Value {
    let texts = body["input"].as_array().expect("texts");
    let at = |(index, text): (usize, &Value)| {
        let direction = match text.as_str().expect("a text") {
            "correctness" => [1.0, 0.1],
            "accuracy" => [1.0, 0.0],
            _ => [0.0, 1.0],
        };
        json!({"index": index, "embedding": direction})
    };
    json!({"data": texts.iter().enumerate().map(at).collect::<Vec<_>>()})
}

#[test]
fn a_server_judges_and_another_embeds() {
    let folder = Folder::new();
    let input = folder.write("in.jsonl", feedback());
    let output = folder.name("out.jsonl");
    let url = made_up();
    let v1 = format!("{url}/v1/");
    let run = |more: &[&str]| {
        let args = [
            "principles",
            &input,
            "-o",
            &output,
            "--judge",
            "j",
            "--url",
            &url,
            "--carry",
            "id",
            "--overwrite",
            "--json",
        ];
        tribunal([&args, more].concat()).ends(1).says(&[
            "-1  rows with too few annotators",
            "-1  rows that could not be used",
            "1  of them without a list: refused",
        ])
    };
    // By spelling the two have nothing in common; by meaning they have.
    let ran = run(&[]);
    assert_eq!(rows(&ran.stdout)[0]["counts"]["without_consensus"], 3);
    assert_eq!(folder.rows("out.jsonl"), Vec::<Value>::new());
    let ran = run(&["--similarity", "embedding", "--embedding-model", "e", "--embedding-url", &v1]);
    let counts = &rows(&ran.stdout)[0]["counts"];
    assert_eq!((&counts["listed"], &counts["without_consensus"]), (&json!(3), &json!(1)));
    assert_eq!((&counts["repeated"], &counts["written"]), (&json!(1), &json!(1)));
    let written = folder.rows("out.jsonl");
    assert_eq!(written.len(), 1);
    assert_eq!(written[0]["id"], 1);
    assert_eq!(written[0]["principle"], "correctness");
    assert_eq!(written[0]["annotator"], "feedback.0");
    let reject = &folder.rows("out.jsonl.rejects.jsonl")[0];
    let reason = reject["reason"].as_str().expect("text");
    assert!(reason.contains("'feedback.1'") && reason.contains("too odd"), "{reason}");
    let manifest: Value =
        serde_json::from_slice(&folder.read("out.jsonl.manifest.json")).expect("JSON");
    assert_eq!(manifest["options"]["judge"]["model"], "j");
    assert_eq!(manifest["options"]["similarity"]["url"], url);
    // With a file of answers the rows are the same, whether it is new or read.
    let answers = folder.name("answers.jsonl");
    for _ in 0..2 {
        let ran = run(&["--answers", &answers, "--cosine", "-1"]);
        assert_eq!(rows(&ran.stdout)[0]["counts"]["without_consensus"], 0);
        assert_eq!(folder.rows("answers.jsonl").len(), 2);
    }
}

/// Every row is accounted for, whatever the judge is able to say.
#[track_caller]
fn accounted(folder: &Folder, ran: &Ran) {
    let counts = &rows(&ran.stdout)[0]["counts"];
    let count = |name: &str| counts[name].as_u64().expect(name);
    assert_eq!((count("rows"), count("too_few_annotators"), count("asked")), (3, 1, 4));
    let failures = counts["failures"].as_object().expect("by status");
    let failed: u64 = failures.values().filter_map(Value::as_u64).sum();
    assert!(count("rejected") <= failed && (failed == 0) == (count("rejected") == 0), "{counts}");
    assert_eq!(ran.code, Some(i32::from(failed > 0)), "{ran:?}");
    assert_eq!(folder.rows("out.jsonl").len() as u64, count("written"));
    if failed > 0 {
        let rejects = folder.rows("out.jsonl.rejects.jsonl");
        assert_eq!(rejects.len() as u64, count("rejected"));
    }
}

#[test]
fn the_model_in_the_program_is_asked_and_its_failures_are_counted() {
    let folder = Folder::new();
    let input = folder.write("in.jsonl", feedback());
    let output = folder.name("out.jsonl");
    let args = [
        "principles",
        &input,
        "-o",
        &output,
        "--judge",
        "tribunal-tiny",
        "--max-tokens",
        "4",
        "--overwrite",
        "--json",
    ];
    let local = tribunal(args);
    accounted(&folder, &local);
    let rejects = folder.read("out.jsonl.rejects.jsonl");
    assert!(String::from_utf8_lossy(&rejects).contains("truncated"), "{rejects:?}");
    let embedding = ["--similarity", "embedding", "--embedding-model", "tribunal-tiny"];
    accounted(&folder, &tribunal(args.into_iter().chain(embedding)));
    let server = Server::start(&[]);
    let remote = tribunal(args.into_iter().chain(["--url", &server.url]));
    accounted(&folder, &remote);
    let counts = |ran: &Ran| rows(&ran.stdout)[0]["counts"].clone();
    assert_eq!(counts(&local), counts(&remote));
}

/// Runs the command and checks how it ends.
#[track_caller]
fn check(args: &[&str], parts: &[&str]) {
    let ran: Ran = tribunal([&["principles"], args].concat());
    ran.ends(2).says(parts);
}

#[test]
fn wrong_use_is_refused() {
    let folder = Folder::new();
    let input = folder.write("in.jsonl", feedback());
    let output = folder.name("out.jsonl");
    let bare = [input.as_str(), "-o", output.as_str()];
    let with = |more: &[&'static str]| [&bare[..], &["--judge", "tribunal-tiny"], more].concat();
    check(&bare, &["--judge"]);
    check(
        &with(&["--feedback", "feedbak"]),
        &["--feedback: no column 'feedbak'", "near: 'feedback'"],
    );
    check(&with(&["--feedback", "id", "--feedback", "id"]), &["'id' is named twice"]);
    check(&with(&["--carry", "prompt"]), &["two columns would be called 'prompt'"]);
    check(&with(&["--similarity", "embedding"]), &["--embedding-model"]);
    check(&with(&["--embedding-model", "x"]), &["--similarity embedding"]);
    check(&with(&["--cosine", "2"]), &["from -1 to 1"]);
    check(&with(&["--evidence", "nan"]), &["from 0 to 100"]);
    check(&with(&["--min-annotators", "1"]), &["--min-annotators"]);
    check(&with(&["--url", "127.0.0.1:1"]), &["--url '127.0.0.1:1' must start with http://"]);
    check(
        &[&bare[..], &["--judge", "tribunal-tini"]].concat(),
        &["--judge: no model or adapter is called 'tribunal-tini'", "did you mean tribunal-tiny"],
    );
    check(&[&input, "-o", &input, "--overwrite", "--judge", "tribunal-tiny"], &["is the input"]);
    assert_eq!(folder.names(), ["in.jsonl"]);
}

#[test]
fn rows_without_a_prompt_and_feedback_of_other_types_are_rejected() {
    let folder = Folder::new();
    let row = |prompt: Value, feedback: Value| {
        json!({"prompt": prompt, "response": "4", "feedback": feedback}).to_string() + "\n"
    };
    let input = folder.write(
        "in.jsonl",
        [
            row(Value::Null, json!(["a", "b"])),
            row(json!("q"), json!([1, "b"])),
            row(json!("q"), json!(5)),
            row(json!("q"), Value::Null),
            "{\n".to_owned(),
        ]
        .concat(),
    );
    let output = folder.name("out.jsonl");
    tribunal(["principles", &input, "-o", &output, "--judge", "tribunal-tiny"])
        .ends(1)
        .says(&["-1  rows with too few annotators", "-4  rows that could not be used"]);
    let mut reasons: Vec<String> = folder
        .rows("out.jsonl.rejects.jsonl")
        .iter()
        .map(|reject| format!("{} {}", reject["row"], reject["reason"].as_str().expect("text")))
        .collect();
    reasons.sort();
    for (reason, part) in reasons.iter().zip([
        "1 column 'prompt' is null",
        "2 column 'feedback' holds a list of something else",
        "3 column 'feedback' holds a number",
        "5 EOF",
    ]) {
        assert!(reason.starts_with(part), "{reasons:?}");
    }
}

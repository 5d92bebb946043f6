//! Requests that would take far more time or memory than their bytes.

use std::io::Write as _;
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::compat::start_with;
use crate::harness::{Server, eventually, read_raw};

fn held(server: &Server, what: &str) -> f64 {
    server.metric(&format!("tribunal_held{{what=\"{what}\"}}"))
}

/// Sends a request and does not wait for its reply.
fn begin(server: &Server, path: &str, body: &Value) -> TcpStream {
    let body = body.to_string();
    let length = body.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n"
    );
    let mut stream = server.connect();
    stream.write_all(head.as_bytes()).expect("the head is taken");
    stream.write_all(body.as_bytes()).expect("the body is taken");
    stream
}

#[track_caller]
fn check_refused(server: &Server, path: &str, body: &Value, status: u16, message: &str) {
    let reply = server.post(path, body.to_string());
    assert_eq!(reply.status, status, "{path}: {}", reply.text);
    assert!(reply.text.contains(message), "{path}: {}", reply.text);
}

#[test]
fn a_long_query_with_many_documents_is_refused_by_its_cost() {
    let server = Server::configured("", |config| config.queue_bytes = 4 << 20);
    let query = "q".repeat(100_000);
    let documents = vec!["4"; 1_000];
    let rerank = json!({ "model": "math", "query": query, "documents": documents });
    let texts = json!({ "model": "math", "query": query, "texts": documents });
    let pairs = json!({ "model": "math", "queries": query, "documents": documents });
    let attacks = [
        ("/rerank", &rerank),
        ("/reranking", &rerank),
        ("/v1/rerank", &rerank),
        ("/v1/reranking", &rerank),
        ("/v2/rerank", &rerank),
        ("/rerank", &texts),
        ("/score", &pairs),
        ("/v1/score", &pairs),
    ];
    for (path, body) in attacks {
        check_refused(&server, path, body, 413, "limits.queue_bytes");
        server.settles();
    }
    let body = json!({ "model": "math", "query": "2 + 2", "documents": ["4", "5"] });
    let reply = server.post("/rerank", body.to_string());
    // `math` needs a reference, which a ranking does not have: it was judged, not refused.
    assert!(!reply.text.contains("limits.queue_bytes"), "{}", reply.text);
    server.settles();
}

#[test]
fn a_query_longer_than_the_context_is_refused_before_it_is_encoded() {
    let (server, _) = start_with(|_| ());
    let query = "q".repeat(100_000);
    let rerank = json!({ "model": "rm", "query": query, "documents": vec!["4"; 1_000] });
    check_refused(&server, "/rerank", &rerank, 400, "a text of 100001 bytes");
    let turns = json!([{ "role": "user", "content": query }]);
    let scoring = json!({
        "model": "chat", "query": query, "items": ["a"], "label_token_ids": [5],
    });
    // vLLM's error for a context that is too long has status 400.
    for (path, body, status) in [
        ("/v1/completions", json!({ "model": "chat", "prompt": query }), 422),
        ("/v1/chat/completions", json!({ "model": "chat", "messages": turns }), 422),
        ("/v1/responses", json!({ "model": "chat", "input": query }), 422),
        ("/tokenize", json!({ "model": "chat", "prompt": query }), 400),
        ("/classify", json!({ "model": "rm", "input": query }), 400),
        ("/pooling", json!({ "model": "rm", "input": [query] }), 400),
        ("/predict?model=rm", json!({ "inputs": query }), 422),
        ("/generative_scoring", scoring, 400),
    ] {
        check_refused(&server, path, &body, status, "a text of");
    }
    server.settles();
}

#[test]
fn an_encoding_beyond_its_budget_is_refused() {
    let (server, _) = start_with(|config| config.encoding_bytes = 1 << 20);
    let body = |length: usize| json!({ "model": "chat", "prompt": "a ".repeat(length / 2) });
    check_refused(&server, "/tokenize", &body(10_000), 413, "limits.encoding_bytes");
    assert_eq!(server.post("/tokenize", body(1_000).to_string()).status, 200);
    eventually("no encoding holds memory", || held(&server, "encoding_bytes") == 0.0);
    server.settles();
}

#[test]
fn token_sequences_beyond_the_context_are_refused_before_they_are_joined() {
    let (server, _) = start_with(|config| config.queue_bytes = 16 << 20);
    let body = json!({
        "model": "chat", "query": vec![5; 100_000], "items": vec![[6]; 1_000],
        "label_token_ids": [7, 8],
    });
    // Joined they would be 400 MB, many times the bytes that the server holds.
    for path in ["/generative_scoring", "/v1/score"] {
        check_refused(&server, path, &body, 400, "100001 tokens");
    }
    server.settles();
}

#[test]
fn templates_that_repeat_a_long_sample_are_refused_by_their_cost() {
    let server = Server::configured("", |config| config.queue_bytes = 4 << 20);
    let run = "/v1/fine_tuning/alpha/graders/run";
    let variable = "{{ sample.output_text }}";
    let check = |input: String| {
        json!({
            "type": "string_check", "name": "check", "input": input, "reference": "4",
            "operation": "ilike",
        })
    };
    let alike = json!({
        "type": "text_similarity", "name": "alike", "input": variable, "reference": variable,
        "evaluation_metric": "bleu",
    });
    let formula = json!({
        "type": "multi", "name": "both", "calculate_output": "a + b",
        "graders": { "a": check(variable.to_owned()), "b": check(variable.repeat(100)) },
    });
    let body = |grader: &Value, sample: &str| json!({ "grader": grader, "model_sample": sample });
    let long = "x".repeat(100_000);
    for grader in [check(variable.repeat(100)), alike.clone(), formula.clone()] {
        check_refused(&server, run, &body(&grader, &long), 413, "limits.queue_bytes");
        server.settles();
    }
    for grader in [check(variable.repeat(100)), alike, formula] {
        let reply = server.post(run, body(&grader, "a short sample").to_string());
        assert_eq!(reply.status, 200, "{}", reply.text);
    }
    server.settles();
}

/// Answers that the verifier takes long to compare with 1/3.
fn costly_answers(count: usize) -> Vec<String> {
    let answer = |at: usize| {
        format!(r"\boxed{{\sum_{{k=1}}^{{500}} \sum_{{j=1}}^{{500}} \frac{{1}}{{k+j+{at}}}}}")
    };
    (0..count).map(answer).collect()
}

#[test]
fn responses_that_spend_their_fuel_leave_the_threads_to_others() {
    let server = Server::start();
    let input = json!({ "responses": costly_answers(5_000), "reference": "1/3" });
    let body = json!({ "model": "math", "inputs": [input], "options": { "cache": "bypass" } });
    let attacks = [(); 3].map(|()| begin(&server, "/v1/score", &body));
    eventually("responses are counted as inputs", || held(&server, "items") >= 15_000.0);
    let verdict = server.verdict("math", json!({ "response": "4", "reference": "4" }));
    assert_eq!(verdict["score"], 1.0);
    assert!(held(&server, "items") >= 5_000.0, "the attack was over before the verdict");
    drop(attacks);
    server.settles();
    let verdict = server.verdict("math", json!({ "response": "5", "reference": "5" }));
    assert_eq!(verdict["score"], 1.0);
}

#[test]
fn a_deadline_passes_between_the_responses_of_an_input() {
    let server = Server::configured("", |config| config.threads = 1);
    let input = json!({ "responses": costly_answers(5_000), "reference": "1/3" });
    let easy = json!({ "response": "4", "reference": "4" });
    let options = json!({ "cache": "bypass", "deadline_ms": 1_000 });
    let body = json!({ "model": "math", "inputs": [easy, input], "options": options });
    let reply = server.score(&body);
    match reply.status {
        504 => assert_eq!(reply.code(), "deadline_passed"),
        200 => assert_eq!(reply.json()["results"][1]["status"], "timeout", "{}", reply.text),
        other => panic!("{other}: {}", reply.text),
    }
    server.settles();
    eventually("the thread is free", || {
        server.verdict("math", json!({ "response": "5", "reference": "5" }))["score"] == 1.0
    });
}

#[test]
fn verdicts_after_the_fuel_of_a_request_are_not_begun() {
    let server = Server::configured("", |config| {
        config.threads = 1;
        config.request_fuel = 1_000;
    });
    let inputs: Vec<Value> = costly_answers(50)
        .into_iter()
        .map(|answer| json!({ "response": answer, "reference": "1/3" }))
        .collect();
    let body = json!({ "model": "math", "inputs": inputs, "options": { "cache": "bypass" } });
    let results = server.score(&body).json()["results"].clone();
    assert_eq!(results[0]["status"], "ok", "{}", results[0]);
    assert_eq!(results[49]["status"], "timeout", "{}", results[49]);
    assert!(results[49].to_string().contains("request_fuel_spent"), "{}", results[49]);
    server.settles();
}

/// Distinct grammars that take long to compile.
fn costly_grammar(at: usize) -> String {
    let rule = |n: usize| format!("r{n}: /[a-z{at}]{{1,{}}}[0-9]*x/", 40 + n);
    let rules: Vec<String> = (0..40).map(rule).collect();
    let names: Vec<String> = (0..40).map(|n| format!("r{n}")).collect();
    format!("start: ({})+\n{}", names.join(" | "), rules.join("\n"))
}

#[test]
fn grammars_are_compiled_few_at_a_time_and_once() {
    let (server, _) = start_with(|config| config.grammar_compilations = 1);
    let body = |grammar: String| {
        json!({
            "model": "chat", "prompt": "a", "max_tokens": 1, "guided_grammar": grammar,
        })
    };
    let attacks: Vec<TcpStream> =
        (0..8).map(|at| begin(&server, "/v1/completions", &body(costly_grammar(at)))).collect();
    eventually("a grammar is compiled", || held(&server, "grammars") > 0.0);
    let verdict = server.verdict("math", json!({ "response": "4", "reference": "4" }));
    assert_eq!(verdict["score"], 1.0);
    assert!(held(&server, "grammars") <= 1.0, "one at a time");
    drop(attacks);
    server.settles();
    eventually("no grammar is compiled for clients that left", || held(&server, "grammars") == 0.0);
    let easy = body("start: \"a\" | \"b\"".to_owned());
    let first = server.post("/v1/completions", easy.to_string());
    assert_eq!(first.status, 200, "{}", first.text);
    let again = server.post("/v1/completions", easy.to_string());
    assert_eq!(again.json()["choices"][0]["text"], first.json()["choices"][0]["text"]);
    let bad = body("start: nothing".to_owned());
    let first = server.post("/v1/completions", bad.to_string());
    assert_eq!(first.status, 422, "{}", first.text);
    assert_eq!(server.post("/v1/completions", bad.to_string()).text, first.text);
    server.settles();
}

#[test]
fn many_small_values_are_refused_by_the_memory_they_parse_into() {
    let server = Server::configured("", |config| config.queue_bytes = 4 << 20);
    let list = |value: &str| format!("[{}]", vec![value; 100_000].join(","));
    let score = |field: &str, value: &str| {
        format!(r#"{{"model":"math","inputs":[{{"reference":"1","{field}":{}}}]}}"#, list(value))
    };
    for (path, body) in [
        ("/v1/score", score("metadata", "1")),
        ("/v1/score", score("metadata", "{}")),
        ("/v1/score", score("responses", "\"\"")),
        ("/rerank", format!(r#"{{"model":"math","query":"a","documents":{}}}"#, list("\"\""))),
        ("/aggregate_metrics", format!(r#"{{"verify_responses":{}}}"#, list("{}"))),
        ("/v1/chat/completions", format!(r#"{{"model":"math","messages":{}}}"#, list("[]"))),
        ("/v1/responses", format!(r#"{{"model":"math","input":{}}}"#, list("{}"))),
    ] {
        let reply = server.post(path, body);
        assert_eq!(reply.status, 413, "{path}: {}", reply.text);
        assert!(reply.text.contains("limits.queue_bytes"), "{path}: {}", reply.text);
        server.settles();
    }
    // Fewer values, of which the outcomes take more than the server holds.
    let responses = json!({ "reference": "1", "responses": vec!["1"; 10_000] });
    let body = json!({ "model": "math", "inputs": [responses] });
    check_refused(&server, "/v1/score", &body, 413, "limits.queue_bytes");
    server.settles();
    let body = json!({ "model": "math", "inputs": vec![json!({}); 20_000] });
    let roomy = Server::start();
    check_refused(&roomy, "/v1/score", &body, 422, "20000 inputs; a request takes 1 to 10000");
    roomy.settles();
    let metadata = json!({ "list": vec![1; 1_000] });
    let input = json!({ "response": "1", "reference": "1", "metadata": metadata });
    let reply = server.post("/v1/score", json!({ "model": "math", "inputs": [input] }).to_string());
    assert_eq!(reply.status, 200, "{}", reply.text);
    server.settles();
}

#[test]
fn figures_of_many_fields_are_refused_by_their_cost() {
    let server = Server::configured("", |config| config.queue_bytes = 4 << 20);
    let row: serde_json::Map<String, Value> =
        (0..20_000).map(|at| (format!("f{at}"), json!(1))).collect();
    let body = json!({ "verify_responses": [row] });
    check_refused(&server, "/aggregate_metrics", &body, 413, "limits.queue_bytes");
    server.settles();
    let body = json!({ "verify_responses": [{ "_ng_task_index": 0, "reward": 1.0 }] });
    assert_eq!(server.post("/aggregate_metrics", body.to_string()).status, 200);
    server.settles();
}

#[test]
fn figures_end_at_the_deadline() {
    let server = Server::configured("", |config| {
        config.deadline = std::time::Duration::from_millis(1);
    });
    let row = |task: usize| json!({ "_ng_task_index": task, "reward": 1.0, "steps": task });
    let body = json!({ "verify_responses": (0..10_000).map(row).collect::<Vec<_>>() });
    check_refused(&server, "/aggregate_metrics", &body, 504, "deadline");
    server.settles();
}

#[test]
fn clients_that_leave_end_the_encoding_of_their_texts() {
    let (server, _) = start_with(|_| ());
    let text = "word ".repeat(1_000);
    let body = json!({ "model": "rm", "input": vec![text; 1_000] });
    let attacks: Vec<TcpStream> = (0..4).map(|_| begin(&server, "/classify", &body)).collect();
    eventually("a text is encoded", || held(&server, "encoding_bytes") > 0.0);
    drop(attacks);
    let mut other = begin(&server, "/tokenize", &json!({ "model": "chat", "prompt": "a" }));
    let reply = read_raw(&mut other);
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    eventually("no encoding holds memory", || held(&server, "encoding_bytes") == 0.0);
    server.settles();
}

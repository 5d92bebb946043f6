//! Overload replies have each interface's status and shape, with the time to wait.

use std::time::Duration;

use rubrics::Priority;
use serde_json::{Value, json};
use serve::scorer_queues::{QueuePolicy, QueueSpec};

use super::words::Words;
use super::{prompt, rendered, state_with};
use crate::harness::{Server, eventually};
use crate::limits::half_a_request;
use crate::models::block_on;

const WIRES: [(&str, u16, Words); 26] = [
    ("/v1/score", 503, Words::Own),
    ("/v1/chat/completions", 503, Words::Own),
    ("/v1/responses", 503, Words::Own),
    ("/v1/decisions", 503, Words::Own),
    ("/v1/fine_tuning/alpha/graders/run", 429, Words::Own),
    ("/v1/fine_tuning/alpha/graders/validate", 429, Words::Own),
    ("/v1/batches", 429, Words::Own),
    ("/get_reward", 503, Words::FastApi),
    ("/remote_rm", 503, Words::FastApi),
    ("/verify", 503, Words::FastApi),
    ("/compare", 503, Words::FastApi),
    ("/classify", 503, Words::Vllm),
    ("/score", 503, Words::Vllm),
    ("/rerank", 503, Words::Vllm),
    ("/reranking", 503, Words::Vllm),
    ("/v1/rerank", 503, Words::Vllm),
    ("/v1/reranking", 503, Words::Vllm),
    ("/v2/rerank", 503, Words::Vllm),
    ("/pooling", 503, Words::Vllm),
    ("/generative_scoring", 503, Words::Vllm),
    ("/tokenize", 503, Words::Vllm),
    ("/detokenize", 503, Words::Vllm),
    ("/v1/embeddings", 503, Words::Vllm),
    ("/v1/load_lora_adapter", 503, Words::Vllm),
    ("/v1/classify", 503, Words::Sglang),
    ("/predict", 429, Words::Tei),
];

#[test]
fn overload_has_each_interfaces_status() {
    let server = Server::configured("", |config| config.queue_requests = 2);
    let held = [half_a_request(&server, 100), half_a_request(&server, 100)];
    eventually("both are in hand", || server.metric("tribunal_held{what=\"requests\"}") > 1.5);
    for (path, status, words) in WIRES {
        let reply = server.post(path, "{}");
        assert_eq!(reply.status, status, "{path}: {}", reply.text);
        for header in ["retry-after", "retry-after-ms"] {
            let after = reply.header(header).unwrap_or_else(|| panic!("{path}: {header}"));
            assert!(after.parse::<u64>().is_ok(), "{path}: {header}: {after}");
        }
        let sentence = words.sentence(&reply, path);
        assert!(sentence.contains("as much work"), "{path}: {sentence}");
        if matches!(words, Words::Own) {
            assert_eq!(reply.code(), "overloaded", "{path}");
        }
        if matches!(words, Words::Tei) {
            assert_eq!(reply.json()["error_type"], "Overloaded", "{path}");
        }
    }
    drop(held);
    server.settles();
    let reply = server.post("/predict", Value::Null.to_string());
    assert_ne!(reply.status, 429, "a refusal holds nothing");
}

/// A client above its rate limit gets the error body and status that it acts on.
#[test]
fn client_above_its_rate_is_refused() {
    let server = Server::configured("", |config| config.client_requests = 1);
    let statuses = [
        ("/v1/score", 429),
        ("/v1/responses", 429),
        ("/v1/fine_tuning/alpha/graders/run", 429),
        ("/get_reward", 503),
        ("/classify", 503),
        ("/v1/classify", 503),
        ("/predict", 429),
    ];
    for (path, status) in statuses {
        eventually(path, || {
            let reply = server.post(path, "{}");
            if reply.status != status {
                return false;
            }
            assert!(reply.text.contains("1 a second"), "{}", reply.text);
            let after = reply.header("retry-after-ms").expect("set");
            assert!(after.parse::<u64>().is_ok_and(|after| after <= 1000), "{after}");
            assert_eq!(reply.header("retry-after"), Some("1"));
            true
        });
    }
    // Requests without a body are not limited.
    for _ in 0..20 {
        assert_eq!(server.get("/healthz").status, 200);
    }
    server.settles();
}

/// A `[[queue]]` of a model or adapter limits requests of every route that it answers.
#[test]
fn full_queue_of_a_model_refuses_on_every_route() {
    let names = ["rm", "strict", "chat"];
    let queue = |name: &str| QueueSpec {
        scorer: name.to_owned(),
        size: 1,
        timeout: Duration::from_secs(1),
        policy: QueuePolicy::Reject,
    };
    let (state, _hosts, _folder) = state_with(|config| config.queues = names.map(queue).to_vec());
    let enter = |name: &str| {
        let place =
            state.scorer_queues.enter(name, 1, Priority::Interactive, Duration::from_secs(1));
        block_on(place).expect("the queue is empty")
    };
    let held = names.map(enter);
    let server = Server::over(state);
    let text = rendered("How much?", "Two.");
    let messages = json!([{ "role": "user", "content": "Hi" }]);
    let question = json!({ "type": "predicate", "name": "is", "instructions": "Is it so?" });
    let grader = json!({
        "type": "score_model", "name": "grade", "model": "chat",
        "input": [{ "role": "user", "content": "Grade {{ sample.output_text }}." }],
    });
    let two = json!({
        "type": "multi", "name": "two", "calculate_output": "a + b",
        "graders": { "a": grader, "b": grader },
    });
    let labels = json!([40, 41]);
    let requests = [
        ("/v1/score", json!({ "model": "rm", "inputs": [{ "prompt": "x", "response": "y" }] })),
        ("/get_reward?model=rm", json!({ "query": [text], "prompts": [prompt("How much?")] })),
        ("/v1/embeddings", json!({ "model": "rm", "input": text })),
        ("/classify", json!({ "model": "strict", "input": text })),
        ("/pooling", json!({ "model": "rm", "input": text })),
        ("/v1/rerank", json!({ "model": "rm", "query": "x", "documents": ["y"] })),
        ("/score", json!({ "model": "rm", "text_1": "x", "text_2": "y" })),
        (
            "/v1/score",
            json!({ "model": "chat", "query": "x", "items": ["y"], "label_token_ids": labels }),
        ),
        ("/v1/decisions", json!({ "model": "chat", "input": "x", "questions": [question] })),
        ("/v1/completions", json!({ "model": "chat", "prompt": "x", "max_tokens": 1 })),
        ("/v1/chat/completions", json!({ "model": "chat", "messages": messages, "max_tokens": 1 })),
        ("/v1/responses", json!({ "model": "chat", "input": "x", "max_output_tokens": 16 })),
        ("/v1/fine_tuning/alpha/graders/run", json!({ "grader": two, "model_sample": "x" })),
    ];
    for (path, body) in &requests {
        let reply = server.post(path, body.to_string());
        assert!(matches!(reply.status, 503 | 429), "{path}: {} {}", reply.status, reply.text);
        assert_eq!(reply.header("retry-after"), Some("1"), "{path}");
    }
    drop(held);
    for (path, body) in &requests {
        let reply = server.post(path, body.to_string());
        assert_eq!(reply.status, 200, "{path}: {}", reply.text);
    }
    server.settles();
}

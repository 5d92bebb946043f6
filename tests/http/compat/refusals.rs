//! Every interface against the same kinds of invalid bodies: not JSON, not an object, fields of
//! wrong types, missing fields, too many samples, unknown names, and fields of two interfaces. Each
//! is refused with the interface's own status and shape, and nothing stays held.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::words::Words;
use super::{Server, good, start_with};

/// The place of the scorer name in an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Named {
    Body,
    Url,
    /// No name is needed.
    Nowhere,
}

/// An interface with a valid body.
#[derive(Clone)]
struct Wire {
    path: &'static str,
    body: Value,
    /// Fields without which the body is refused.
    required: &'static [&'static str],
    /// Fields that accept neither a number nor true.
    typed: &'static [&'static str],
    /// The list of samples.
    many: Option<&'static str>,
    named: Named,
    /// Status and shape of the error of an invalid body.
    bad: (u16, Words),
    /// Shape of errors of bodies whose interface is undetermined, where the path is shared.
    first: Words,
}

fn wire(path: &'static str, body: Value, bad: (u16, Words)) -> Wire {
    Wire {
        path,
        body,
        required: &[],
        typed: &[],
        many: None,
        named: Named::Body,
        bad,
        first: bad.1,
    }
}

const FAST_API: (u16, Words) = (422, Words::FastApi);
const VLLM: (u16, Words) = (400, Words::Vllm);
const SGLANG: (u16, Words) = (400, Words::Sglang);
const TEI: (u16, Words) = (422, Words::Tei);
const OWN: (u16, Words) = (422, Words::Own);

fn rollout() -> Value {
    json!({
        "responses_create_params": { "input": [{ "role": "user", "content": "2 + 2?" }] },
        "response": { "output": [{ "type": "message", "role": "assistant",
            "content": [{ "type": "output_text", "text": "4" }] }] },
        "expected_answer": "4",
    })
}

fn trainers() -> Vec<Wire> {
    vec![
        Wire {
            required: &["query"],
            typed: &["query", "prompts", "labels"],
            many: Some("query"),
            named: Named::Url,
            ..wire("/get_reward?model=rm", json!({ "query": ["a"] }), FAST_API)
        },
        Wire {
            required: &["prompt", "response"],
            typed: &["prompt", "response"],
            named: Named::Url,
            ..wire("/remote_rm?model=rm", json!({ "prompt": "a", "response": "b" }), FAST_API)
        },
        Wire {
            required: &["responses_create_params", "response"],
            typed: &["responses_create_params", "response"],
            named: Named::Url,
            ..wire("/verify?model=math", rollout(), FAST_API)
        },
        Wire {
            required: &["conversation_history", "response_objs"],
            typed: &["conversation_history", "response_objs", "principle"],
            many: Some("response_objs"),
            named: Named::Url,
            ..wire(
                "/compare?model=good",
                json!({ "conversation_history": [{ "role": "user", "content": "?" }],
                    "response_objs": [rollout()["response"], rollout()["response"]] }),
                FAST_API,
            )
        },
        Wire {
            required: &["verify_responses"],
            typed: &["verify_responses"],
            named: Named::Nowhere,
            ..wire("/aggregate_metrics", json!({ "verify_responses": [] }), FAST_API)
        },
        Wire { named: Named::Nowhere, ..wire("/seed_session", json!({}), FAST_API) },
        Wire {
            required: &["code", "language"],
            typed: &["code", "language", "stdin", "files", "fetch_files"],
            named: Named::Nowhere,
            ..wire("/run_code", json!({ "code": "print(1)", "language": "python" }), FAST_API)
        },
    ]
}

fn vllm() -> Vec<Wire> {
    let ranked = json!({ "model": "rm", "query": "a", "documents": ["b"] });
    let ranks = |path| Wire {
        required: &["query", "documents"],
        typed: &["model", "query", "documents", "top_n"],
        many: Some("documents"),
        ..wire(path, ranked.clone(), VLLM)
    };
    let pooled = |path| Wire {
        required: &["input"],
        typed: &["model", "input"],
        many: Some("input"),
        ..wire(path, json!({ "model": "rm", "input": ["a"] }), VLLM)
    };
    let pairs = |path| Wire {
        required: &["queries", "documents"],
        typed: &["model", "queries", "documents"],
        many: Some("documents"),
        ..wire(path, json!({ "model": "rm", "queries": "a", "documents": ["b"] }), VLLM)
    };
    vec![
        pooled("/classify"),
        pooled("/pooling"),
        pooled("/v1/embeddings"),
        pairs("/score"),
        Wire {
            // Without either it has no field of vLLM's and is parsed as native.
            required: &["queries"],
            first: Words::Own,
            ..pairs("/v1/score")
        },
        ranks("/rerank"),
        ranks("/reranking"),
        ranks("/v1/rerank"),
        ranks("/v1/reranking"),
        ranks("/v2/rerank"),
        Wire {
            required: &["query", "items", "label_token_ids"],
            typed: &["query", "items", "label_token_ids"],
            many: Some("items"),
            ..wire(
                "/generative_scoring",
                json!({ "model": "chat", "query": "a", "items": ["b"], "label_token_ids": [5] }),
                VLLM,
            )
        },
        Wire {
            required: &["prompt"],
            typed: &["prompt"],
            ..wire("/tokenize", json!({ "model": "chat", "prompt": "a" }), VLLM)
        },
        Wire {
            required: &["tokens"],
            typed: &["tokens"],
            ..wire("/detokenize", json!({ "model": "chat", "tokens": [5] }), VLLM)
        },
    ]
}

fn others() -> Vec<Wire> {
    vec![
        Wire {
            typed: &["text"],
            many: Some("text"),
            first: Words::Vllm,
            ..wire("/classify", json!({ "model": "rm", "text": ["a"] }), SGLANG)
        },
        Wire {
            typed: &["input_ids"],
            first: Words::Vllm,
            ..wire("/classify", json!({ "model": "rm", "input_ids": [5] }), SGLANG)
        },
        Wire {
            required: &["input"],
            typed: &["input"],
            many: Some("input"),
            ..wire("/v1/classify", json!({ "model": "rm", "input": ["a"] }), SGLANG)
        },
        Wire {
            required: &["items"],
            typed: &["items"],
            many: Some("items"),
            first: Words::Own,
            ..wire(
                "/v1/score",
                json!({ "model": "chat", "query": "a", "items": ["b"], "label_token_ids": [5] }),
                SGLANG,
            )
        },
        Wire {
            required: &["inputs"],
            typed: &["inputs"],
            many: Some("inputs"),
            named: Named::Url,
            ..wire("/predict?model=rm", json!({ "inputs": [["a"]] }), TEI)
        },
        Wire {
            required: &["query"],
            typed: &["query", "texts"],
            many: Some("texts"),
            named: Named::Url,
            first: Words::Vllm,
            ..wire("/rerank?model=rm", json!({ "query": "a", "texts": ["b"] }), TEI)
        },
        Wire {
            required: &["messages"],
            typed: &["messages"],
            ..wire(
                "/v1/chat/completions",
                json!({ "model": "rm", "messages": [{ "role": "user", "content": "a" },
                    { "role": "assistant", "content": "b" }] }),
                OWN,
            )
        },
        Wire {
            required: &["input"],
            typed: &["input", "instructions", "text", "metadata"],
            ..wire(
                "/v1/responses",
                json!({ "model": "chat", "input": [{ "role": "user", "content": "a" }],
                    "max_output_tokens": 4 }),
                OWN,
            )
        },
        Wire {
            required: &["grader", "model_sample"],
            typed: &["grader", "model_sample"],
            named: Named::Nowhere,
            ..wire(
                "/v1/fine_tuning/alpha/graders/run",
                json!({ "grader": { "type": "string_check", "name": "a", "operation": "eq",
                    "input": "x", "reference": "y" }, "model_sample": "z" }),
                OWN,
            )
        },
    ]
}

fn refuses(server: &Server, path: &str, body: &str, (status, words): (u16, Words)) {
    let reply = server.post(path, body);
    let shown: String = body.chars().take(150).collect();
    let what = format!("{path} {shown}");
    assert_eq!(reply.status, status, "{what}: {}", reply.text);
    let sentence = words.sentence(&reply, &what);
    assert!(sentence.len() < 1_000, "{what}: {sentence}");
}

/// Returns the body with another value in a field.
fn with(body: &Value, field: &str, value: Value) -> String {
    let mut body = body.clone();
    body[field] = value;
    body.to_string()
}

fn check(server: &Server, wire: &Wire) {
    let refuses = |path: &str, body: &str, expected| refuses(server, path, body, expected);
    good(&server.post(wire.path, wire.body.to_string()));
    let (bad, words) = wire.bad;
    // A body that is not JSON is a 400 in most of them.
    let malformed = if matches!(words, Words::FastApi) { 422 } else { 400 };
    let trailing = wire.body.to_string() + "}";
    for body in ["", "{", "nonsense", &trailing] {
        refuses(wire.path, body, (malformed, wire.first));
    }
    let deep = "[".repeat(100_000);
    for body in ["[]", "null", "3", "\"text\"", &deep] {
        let bad = first_bad(wire);
        refuses(wire.path, body, (bad, wire.first));
    }
    for field in wire.required {
        let mut body = wire.body.clone();
        body.as_object_mut().expect("an object").remove(*field);
        refuses(wire.path, &body.to_string(), (bad, words));
    }
    for field in wire.typed {
        let wrong = [json!(true), json!({ "a": { "b": [] } }), json!([[[true]]]), json!(1e300)];
        // An object with other fields may be valid.
        let is_object = wire.body[field].is_object();
        for value in wrong.into_iter().filter(|value| !(is_object && value.is_object())) {
            refuses(wire.path, &with(&wire.body, field, value), (bad, words));
        }
    }
    if let Some(field) = wire.many {
        let sample = wire.body[field][0].clone();
        let many = Value::Array(vec![sample; 10_001]);
        refuses(wire.path, &with(&wire.body, field, many), (bad, words));
    }
    match wire.named {
        Named::Body => {
            let body = with(&wire.body, "model", json!("nobody"));
            refuses(wire.path, &body, (404, words));
        }
        Named::Url => {
            let (route, _) = wire.path.split_once('?').expect("it has a query");
            let path = format!("{route}?model=nobody");
            refuses(&path, &wire.body.to_string(), (404, words));
        }
        Named::Nowhere => {}
    }
    server.settles();
}

/// The status of a body of the wrong shape before its interface is detected.
fn first_bad(wire: &Wire) -> u16 {
    match wire.first {
        Words::Own | Words::FastApi | Words::Tei => 422,
        Words::Vllm | Words::Sglang => 400,
    }
}

#[test]
fn trainer_routes_refuse_invalid_bodies() {
    let (server, _) = start_with(|_| ());
    for wire in &trainers() {
        check(&server, wire);
    }
}

#[test]
fn vllm_and_rerank_routes_refuse_invalid_bodies() {
    let (server, _) = start_with(|_| ());
    for wire in &vllm() {
        check(&server, wire);
    }
}

#[test]
fn sglang_tei_and_openai_routes_refuse_invalid_bodies() {
    let (server, _) = start_with(|_| ());
    for wire in &others() {
        check(&server, wire);
    }
}

/// Routes whose invalid bodies are tested in other files of this folder and in `tests/http`.
const ELSEWHERE: [&str; 11] = [
    "/ng-rollout/{rollout_id}/seed_session",
    "/ng-rollout/{rollout_id}/verify",
    "/v1/batches",
    "/v1/batches/{batch_id}/cancel",
    "/v1/completions",
    "/v1/decisions",
    "/v1/files",
    "/v1/fine_tuning/alpha/graders/validate",
    "/v1/load_lora_adapter",
    "/v1/systemone",
    "/v1/unload_lora_adapter",
];

#[test]
fn every_route_with_a_body_is_tested() {
    let document: Value = serde_json::from_str(&serve::document_text()).expect("JSON");
    let paths = document["paths"].as_object().expect("paths").iter();
    let with_body = paths.filter(|(_, methods)| methods.get("post").is_some());
    let with_body: BTreeSet<&str> = with_body.map(|(path, _)| path.as_str()).collect();
    let wires = [trainers(), vllm(), others()].concat();
    let here = wires.iter().map(|wire| wire.path.split('?').next().unwrap_or_default());
    assert_eq!(with_body, here.chain(ELSEWHERE).collect());
}

/// A body with fields of two interfaces is refused with both names.
#[test]
fn ambiguous_bodies_name_both_interfaces() {
    let (server, _) = start_with(|_| ());
    let mixed = |path: &str, body: Value, (status, words): (u16, Words), names: [&str; 2]| {
        let reply = server.post(path, body.to_string());
        assert_eq!(reply.status, status, "{body}: {}", reply.text);
        let sentence = words.sentence(&reply, path);
        for name in names {
            assert!(sentence.contains(name), "{body}: {sentence}");
        }
    };
    let inputs = json!([{ "response": "a" }]);
    mixed(
        "/v1/score",
        json!({ "model": "rm", "inputs": inputs, "queries": "a", "documents": ["b"] }),
        OWN,
        ["this server's own", "vLLM's"],
    );
    mixed(
        "/v1/score",
        json!({ "model": "chat", "query": "a", "items": ["b"], "text_1": "c" }),
        OWN,
        ["vLLM's", "SGLang's"],
    );
    mixed(
        "/v1/score",
        json!({ "model": "rm", "inputs": inputs, "label_token_ids": [5] }),
        OWN,
        ["this server's own", "SGLang's"],
    );
    mixed(
        "/classify",
        json!({ "model": "rm", "input": "a", "text": "b" }),
        VLLM,
        ["vLLM's", "SGLang's"],
    );
    mixed(
        "/rerank",
        json!({ "model": "rm", "query": "a", "documents": ["b"], "texts": ["c"] }),
        VLLM,
        ["Cohere's", "Text Embeddings Inference's"],
    );
    server.settles();
}

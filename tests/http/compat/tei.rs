//! Text Embeddings Inference: its routes for classifiers and rerankers.

use serde_json::{Value, json};

use super::{answered, good, native_raw, number, refused_by, rendered, sigmoid, start};
use crate::harness::{Server, recorded};

#[track_caller]
fn check_error(server: &Server, path: &str, body: &str, expected: (u16, &str), fragment: &str) {
    refused_by(server, path, body, (expected.0, "*"), fragment, |reply| {
        assert_eq!(reply["error_type"], expected.1, "{reply}");
        (Value::Null, reply["error"].clone())
    });
}

#[test]
fn texts_and_pairs_are_classified() {
    let (server, _) = start();
    let path = "/predict?model=rm";
    let text = rendered("How much?", "Two.");
    let raw = native_raw(&server, "rm", "How much?", "Two.");
    let one = answered(&server, path, &json!({ "inputs": text }));
    recorded("tei_predict.json", &one);
    assert!((number(&one[0]["score"]) - sigmoid(raw)).abs() < 1e-12);
    let logit = answered(&server, path, &json!({ "inputs": text, "raw_scores": true }));
    assert_eq!(number(&logit[0]["score"]), raw);
    let (head, tail) = text.split_at(20);
    let pair = json!({ "inputs": [head, tail], "truncate": true, "raw_scores": true });
    assert_eq!(answered(&server, path, &pair), logit);
    let batch = json!({ "inputs": [[text], [head, tail]], "raw_scores": true });
    assert_eq!(answered(&server, path, &batch), json!([logit, logit]));
    server.settles();
}

#[test]
fn texts_are_ranked() {
    let (server, _) = start();
    let texts = ["Two.", "Three.", "No."];
    let body = json!({ "query": "How much? ", "texts": texts, "return_text": true });
    let ranks = answered(&server, "/rerank?model=rm", &body);
    recorded("tei_rerank.json", &ranks);
    let pairs = json!({ "model": "rm", "queries": "How much? ", "documents": texts });
    let pairs = answered(&server, "/score", &pairs);
    let mut last = f64::INFINITY;
    for rank in ranks.as_array().expect("a list") {
        let at = usize::try_from(rank["index"].as_u64().expect("an index")).expect("small");
        assert_eq!(rank["text"], texts[at]);
        assert_eq!(rank["score"], pairs["data"][at]["score"]);
        assert!(number(&rank["score"]) <= last);
        last = number(&rank["score"]);
    }
    let few = json!({ "query": "x", "texts": texts, "top_n": 1, "raw_scores": true });
    let few = answered(&server, "/rerank?model=rm", &few);
    assert_eq!(few.as_array().map(Vec::len), Some(1));
    assert_eq!(few[0].get("text"), None);
}

#[test]
fn model_is_described() {
    let (server, hosts) = start();
    let info = good(&server.get("/info?model=rm"));
    recorded("tei_info.json", &info);
    assert_eq!(info["model_sha"], *hosts[0].digest);
    assert_eq!(info["model_type"]["reranker"]["id2label"]["0"], "LABEL_0");
    let reply = server.get("/info");
    assert_eq!(reply.status, 404);
    assert_eq!(reply.json()["error_type"], "Validation");
    assert_eq!(good(&server.get("/health"))["status"], "ok");
}

#[test]
fn errors_have_their_shape() {
    let (server, _) = start();
    let check = |path: &str, body: Value, expected: (u16, &str), fragment: &str| {
        check_error(&server, path, &body.to_string(), expected, fragment);
    };
    let path = "/predict?model=rm";
    check(path, json!({}), (422, "Validation"), "missing field");
    check(path, json!({ "inputs": 3 }), (422, "Validation"), "inputs");
    check(path, json!({ "inputs": ["a", "b", "c"] }), (422, "Validation"), "3 texts");
    check(path, json!({ "inputs": [["a"], []] }), (422, "Validation"), "0 texts");
    check(path, json!({ "inputs": [] }), (422, "Validation"), "0 given");
    check(path, json!({ "inputs": "" }), (422, "Validation"), "no tokens");
    check(path, json!({ "inputs": "x ".repeat(4000) }), (422, "Tokenizer"), "reads at most");
    check_error(&server, path, "{", (400, "Validation"), "malformed JSON");
    check("/predict", json!({ "inputs": "x" }), (404, "Validation"), "names no scorer");
    check("/predict?model=math", json!({ "inputs": "x" }), (422, "Validation"), "is a scorer");
    check("/rerank?model=rm", json!({ "query": "x", "texts": [] }), (422, "Validation"), "0 given");
    server.settles();
}

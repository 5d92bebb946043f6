//! `SGLang`: its routes without generation.

use serde_json::{Value, json};

use super::{answered, native_raw, number, refused_by, rendered, start};
use crate::harness::{Server, recorded};

#[track_caller]
fn check_error(server: &Server, path: &str, body: &Value, expected: (u16, &str), fragment: &str) {
    refused_by(server, path, &body.to_string(), expected, fragment, |reply| {
        assert_eq!(reply["object"], "error", "{reply}");
        assert_eq!(reply["code"], expected.0, "{reply}");
        (reply["param"].clone(), reply["message"].clone())
    });
}

/// The request of verl to `SGLang`, and the field of the reply that it uses.
#[test]
fn embedding_of_reward_model_is_its_logit() {
    let (server, _) = start();
    for model in ["rm", "strict"] {
        let body = json!({ "model": model, "input": rendered("How much?", "Two.") });
        let reply = answered(&server, "/v1/embeddings", &body);
        let data = reply["data"].as_array().expect("a list");
        let vector = data.last().expect("an entry")["embedding"].as_array().expect("a list");
        let logit = number(vector.last().expect("a number"));
        assert_eq!(logit, native_raw(&server, model, "How much?", "Two."));
        if model == "rm" {
            recorded("sglang_embedding.json", &reply);
        }
    }
    let body = json!({ "model": "rm", "input": ["a", "b"], "encoding_format": "base64" });
    let reply = answered(&server, "/v1/embeddings", &body);
    assert_eq!(reply["data"][1]["embedding"].as_str().map(str::len), Some(8));
    server.settles();
}

#[test]
fn texts_and_ids_give_equal_rewards() {
    let (server, _) = start();
    let text = rendered("How much?", "Two.");
    let raw = native_raw(&server, "rm", "How much?", "Two.");
    let one = answered(&server, "/classify", &json!({ "model": "rm", "text": text }));
    assert_eq!(one["embedding"], json!([raw]));
    recorded(
        "sglang_reward.json",
        &json!({
            "embedding": one["embedding"], "meta_info": { "prompt_tokens": one["meta_info"]["prompt_tokens"] },
        }),
    );
    let ids = json!({ "model": "rm", "prompt": text });
    let ids = answered(&server, "/tokenize", &ids)["tokens"].clone();
    let many = json!({ "model": "rm", "input_ids": [ids, ids] });
    let many = answered(&server, "/classify", &many);
    assert_eq!(many[1]["embedding"], json!([raw]));
    let classes = answered(&server, "/v1/classify", &json!({ "model": "rm", "input": text }));
    assert_eq!(classes["data"][0]["probs"], json!([1.0]));
    assert_eq!(classes["data"][0]["label"], "LABEL_0");
}

#[test]
fn items_are_scored() {
    let (server, _) = start();
    let body = |more: Value| {
        let mut body = json!({ "model": "chat", "query": "Is it so? ", "items": ["Yes", "No"] });
        let more = more.as_object().cloned().expect("an object");
        body.as_object_mut().expect("an object").extend(more);
        body
    };
    let scores = |more: Value| answered(&server, "/v1/score", &body(more))["scores"].clone();
    let shared = json!({ "label_token_ids": [40, 41], "apply_softmax": true });
    let reply = answered(&server, "/v1/score", &body(shared.clone()));
    recorded("sglang_score.json", &reply);
    for at in 0..2 {
        let sum = number(&reply["scores"][at][0]) + number(&reply["scores"][at][1]);
        assert!((sum - 1.0).abs() < 1e-9);
    }
    let each = json!({ "label_token_ids": [[40, 41], [41, 40]], "apply_softmax": true });
    let each = scores(each);
    assert_eq!(each[0], reply["scores"][0]);
    assert_eq!(each[1][0], reply["scores"][1][1]);
    let mut cold = shared;
    cold["temperature"] = json!(1e-3);
    let cold = scores(cold);
    assert!(number(&cold[0][0]) < 1e-3 || number(&cold[0][0]) > 1.0 - 1e-3, "{cold}");
    // With the item before the query it is another sequence.
    let first = scores(json!({ "label_token_ids": [40], "item_first": true }));
    assert_ne!(first, scores(json!({ "label_token_ids": [40] })));
    // A model with a head returns its output, and needs no labels.
    let text = rendered("How much?", "Two.");
    let headed = json!({ "model": "rm", "query": "", "items": text });
    let raw = native_raw(&server, "rm", "How much?", "Two.");
    assert_eq!(answered(&server, "/v1/score", &headed)["scores"], json!([[raw]]));
    server.settles();
}

/// Divided by such a temperature, each logit is infinite.
#[test]
fn tiny_temperature_gives_finite_scores() {
    let (server, _) = start();
    for (model, labels) in [("chat", json!([40, 41])), ("rm", Value::Null)] {
        let reply = answered(
            &server,
            "/v1/score",
            &json!({
                "model": model, "query": "Is it so? ", "items": ["Yes"],
                "label_token_ids": labels, "apply_softmax": true, "temperature": 1e-310,
            }),
        );
        let scores = reply["scores"][0].as_array().expect("a list");
        let sum: f64 = scores.iter().map(number).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{model}: {reply}");
    }
}

#[test]
fn errors_have_their_shape() {
    let (server, _) = start();
    let check = |path: &str, body: Value, expected: (u16, &str), fragment: &str| {
        check_error(&server, path, &body, expected, fragment);
    };
    let score = |more: Value| {
        let mut body = json!({ "model": "chat", "query": "x", "items": ["y", "z"] });
        let more = more.as_object().cloned().expect("an object");
        body.as_object_mut().expect("an object").extend(more);
        body
    };
    let path = "/v1/score";
    check(path, score(json!({})), (400, "label_token_ids"), "it is missing");
    check(
        path,
        score(json!({ "label_token_ids": [[1]] })),
        (400, "label_token_ids"),
        "1 lists for 2",
    );
    check(path, score(json!({ "label_token_ids": "x" })), (400, "label_token_ids"), "token ids");
    let cold = json!({ "label_token_ids": [1], "temperature": 0 });
    check(path, score(cold), (400, "temperature"), "not above 0");
    check(
        path,
        score(json!({ "model": "default", "label_token_ids": [1] })),
        (400, "model"),
        "several",
    );
    check(path, score(json!({ "items": [] })), (400, "items"), "0 given");
    check(path, score(json!({ "query": ["a", "b"] })), (400, "query"), "one text");
    check(
        "/classify",
        json!({ "model": "rm", "text": "x", "input_ids": [1] }),
        (400, "input_ids"),
        "either",
    );
    check(
        "/classify",
        json!({ "model": "rm", "input_ids": ["x"] }),
        (400, "input_ids"),
        "token ids",
    );
    check("/classify", json!({ "model": "chat", "text": "x" }), (404, "model"), "no score head");
    check("/v1/classify", json!({ "model": "rm" }), (400, "."), "missing field `input`");
    let reply = server.post("/v1/embeddings", json!({ "model": "chat", "input": "x" }).to_string());
    assert_eq!(reply.status, 404);
    assert_eq!(reply.json()["error"]["code"], 404);
}

//! vLLM: its routes without generation.

use serde_json::{Value, json};

use super::{answered, native_raw, number, refused_by, rendered, sigmoid, start};
use crate::harness::{Server, recorded};

/// Checks status, param and message of a vLLM error.
#[track_caller]
fn check_error(server: &Server, path: &str, body: &str, expected: (u16, &str), fragment: &str) {
    refused_by(server, path, body, expected, fragment, |reply| {
        let error = &reply["error"];
        assert!(error["type"].is_string() && error["code"].is_u64(), "{reply}");
        (error["param"].clone(), error["message"].clone())
    });
}

/// The request of verl, and the field of the reply that it uses.
#[test]
fn classify_without_activation_gives_the_logit() {
    let (server, _) = start();
    for model in ["rm", "strict"] {
        let body = json!({
            "model": model, "input": rendered("How much?", "Two."), "activation": false,
        });
        let reply = answered(&server, "/classify", &body);
        let data = reply["data"].as_array().expect("a list");
        let probs = data.last().expect("an entry")["probs"].as_array().expect("a list");
        let logit = number(probs.last().expect("a number"));
        assert_eq!(logit, native_raw(&server, model, "How much?", "Two."));
    }
    server.settles();
}

#[test]
fn texts_ids_and_messages_are_classified() {
    let (server, _) = start();
    let texts = [rendered("How much?", "Two."), rendered("How much?", "Or three.")];
    let body = |input: Value| json!({ "model": "rm", "input": input });
    let reply = answered(&server, "/classify", &body(json!(texts)));
    recorded("vllm_classify.json", &reply);
    let of = |reply: &Value, at: usize| number(&reply["data"][at]["probs"][0]);
    for (at, answer) in ["Two.", "Or three."].iter().enumerate() {
        let raw = native_raw(&server, "rm", "How much?", answer);
        assert!((of(&reply, at) - sigmoid(raw)).abs() < 1e-12);
    }
    let ids: Vec<Value> = texts
        .iter()
        .map(|text| {
            let body = json!({ "model": "rm", "prompt": text });
            answered(&server, "/tokenize", &body)["tokens"].clone()
        })
        .collect();
    let same = answered(&server, "/classify", &body(json!(ids)));
    assert_eq!(same["data"], reply["data"]);
    let one = answered(&server, "/classify", &body(ids[1].clone()));
    assert_eq!(one["data"][0]["probs"], reply["data"][1]["probs"]);
    let messages = json!({ "model": "rm", "messages": [
        { "role": "user", "content": "How much?" }, { "role": "assistant", "content": "Two." },
    ] });
    let by_messages = answered(&server, "/classify", &messages);
    assert_eq!(by_messages["data"][0]["probs"], reply["data"][0]["probs"]);
    server.settles();
}

#[test]
fn pairs_are_scored() {
    let (server, _) = start();
    let pair = json!({ "model": "rm", "queries": "How much? ", "documents": ["Two.", "Three."] });
    let reply = answered(&server, "/score", &pair);
    recorded("vllm_score.json", &reply);
    let together = json!({ "model": "rm", "input": ["How much? Two.", "How much? Three."] });
    let together = answered(&server, "/classify", &together);
    for at in 0..2 {
        assert_eq!(reply["data"][at]["score"], together["data"][at]["probs"][0]);
    }
    for names in [["queries", "items"], ["data_1", "data_2"], ["text_1", "text_2"]] {
        let mut body = json!({ "model": "rm" });
        body[names[0]] = json!(["How much? ", "How much? "]);
        body[names[1]] = json!(["Two.", "Three."]);
        for path in ["/score", "/v1/score"] {
            assert_eq!(answered(&server, path, &body)["data"], reply["data"], "{names:?}");
        }
    }
    // A scorer judges the second text as the response to the first.
    let body = json!({ "model": "good", "text_1": "How much?", "text_2": "Two." });
    let score = number(&answered(&server, "/score", &body)["data"][0]["score"]);
    let verdict = server.verdict("good", json!({ "prompt": "How much?", "response": "Two." }));
    assert_eq!(score, number(&verdict["score"]));
    let raw = json!({
        "model": "good", "text_1": "How much?", "text_2": "Two.", "use_activation": false,
    });
    assert_eq!(answered(&server, "/score", &raw)["data"][0]["score"], verdict["raw"]);
    server.settles();
}

#[test]
fn documents_are_ranked() {
    let (server, _) = start();
    let documents = ["Two.", "Three.", "No.", "Maybe four."];
    let body = json!({ "model": "rm", "query": "How much? ", "documents": documents });
    let reply = answered(&server, "/rerank", &body);
    let scores = json!({ "model": "rm", "queries": "How much? ", "documents": documents });
    let scores = answered(&server, "/score", &scores);
    let results = reply["results"].as_array().expect("a list");
    assert_eq!(results.len(), documents.len());
    let mut last = f64::INFINITY;
    for result in results {
        let at = usize::try_from(result["index"].as_u64().expect("an index")).expect("small");
        assert_eq!(result["document"]["text"], documents[at]);
        assert_eq!(result["relevance_score"], scores["data"][at]["score"]);
        let score = number(&result["relevance_score"]);
        assert!(score <= last, "{reply}");
        last = score;
    }
    for path in ["/v1/rerank", "/v2/rerank", "/reranking", "/v1/reranking"] {
        assert_eq!(answered(&server, path, &body)["results"], reply["results"]);
    }
    let mut few = body.clone();
    few["documents"] = documents.map(|text| json!({ "text": text })).into();
    few["top_n"] = json!(2);
    few["return_documents"] = json!(false);
    let few = answered(&server, "/v2/rerank", &few);
    recorded("cohere_rerank.json", &few);
    assert_eq!(few["results"][1]["index"], results[1]["index"]);
    server.settles();
}

/// Decodes base64 of little-endian floats as clients do.
fn floats(text: &str) -> Vec<f64> {
    const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.bytes().filter(|byte| *byte != b'=').map(|byte| {
        let at = DIGITS.bytes().position(|digit| digit == byte);
        u8::try_from(at.expect("a digit")).expect("64 digits")
    });
    let bits: Vec<u8> =
        digits.flat_map(|six| (0..6).rev().map(move |bit| (six >> bit) & 1)).collect();
    let bytes: Vec<u8> =
        bits.chunks_exact(8).map(|byte| byte.iter().fold(0, |all, bit| all << 1 | bit)).collect();
    let number = |four: &[u8]| f64::from(f32::from_le_bytes(four.try_into().expect("four")));
    bytes.chunks_exact(4).map(number).collect()
}

#[test]
fn pooling_gives_raw_outputs() {
    let (server, _) = start();
    let text = rendered("How much?", "Two.");
    let body = |model: &str| json!({ "model": model, "input": text, "use_activation": false });
    let raw = native_raw(&server, "rm", "How much?", "Two.");
    let reply = answered(&server, "/pooling", &body("rm"));
    assert_eq!(reply["data"][0]["data"], json!([raw]));
    recorded("vllm_pooling.json", &reply);
    let tokens = answered(&server, "/tokenize", &json!({ "model": "prm", "prompt": text }));
    let count = usize::try_from(tokens["count"].as_u64().expect("a count")).expect("small");
    let each = answered(&server, "/pooling", &body("prm"));
    let rows = each["data"][0]["data"].as_array().expect("rows");
    assert_eq!(rows.len(), count);
    assert_eq!(rows[0].as_array().expect("labels").len(), 2);
    let mut packed = body("prm");
    packed["encoding_format"] = json!("base64");
    let packed = answered(&server, "/pooling", &packed);
    let text = packed["data"][0]["data"].as_str().expect("base64");
    let flat: Vec<f64> =
        rows.iter().flat_map(|row| row.as_array().expect("a row")).map(number).collect();
    assert_eq!(floats(text), flat);
    let mut whole = body("rm");
    whole["task"] = json!("token_classify");
    let whole = answered(&server, "/pooling", &whole);
    let rows = whole["data"][0]["data"].as_array().expect("rows");
    assert_eq!(rows.last().expect("a row"), &json!([raw]));
    server.settles();
}

/// Probabilities over the vocabulary, and over the labels.
#[test]
fn next_token_is_scored() {
    let (server, hosts) = start();
    let vocab = u32::try_from(hosts[2].engine.limits().vocab_size).expect("small");
    let ask = |labels: &[u32], softmax: bool| {
        let body = json!({
            "model": "chat", "query": "Is it so? ", "items": ["Yes", "No way"],
            "label_token_ids": labels, "apply_softmax": softmax,
        });
        let reply = answered(&server, "/generative_scoring", &body);
        [number(&reply["data"][0]["score"]), number(&reply["data"][1]["score"])]
    };
    let (a, b) = (ask(&[40, 41], true), ask(&[41, 40], true));
    for at in 0..2 {
        assert!((a[at] + b[at] - 1.0).abs() < 1e-9, "{a:?} {b:?}");
    }
    let (p, q) = (ask(&[40], false), ask(&[41], false));
    for at in 0..2 {
        assert!((p[at] / (p[at] + q[at]) - a[at]).abs() < 1e-6, "{p:?} {q:?} {a:?}");
    }
    // SGLang's route for the same, with every label's number.
    let all: Vec<u32> = (0..vocab.min(1024)).collect();
    let body = json!({
        "model": "chat", "query": "Is it so? ", "items": ["Yes", "No way"],
        "label_token_ids": all,
    });
    let reply = answered(&server, "/v1/score", &body);
    for at in 0..2 {
        let row: Vec<f64> =
            reply["scores"][at].as_array().expect("a row").iter().map(number).collect();
        assert!((row[40] - p[at]).abs() < 1e-12);
        if vocab <= 1024 {
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-5);
        }
    }
    server.settles();
}

#[test]
fn tokens_are_encoded_and_decoded() {
    let (server, hosts) = start();
    for text in ["Hello there.", "", "a <|im_end|> b", "日本\n"] {
        let body = json!({ "model": "chat", "prompt": text, "return_token_strs": true });
        let reply = answered(&server, "/tokenize", &body);
        assert_eq!(reply["max_model_len"], hosts[2].engine.limits().context());
        let ids = reply["tokens"].as_array().expect("a list");
        assert_eq!(reply["count"], ids.len());
        assert_eq!(reply["token_strs"].as_array().map(Vec::len), Some(ids.len()));
        let back = answered(&server, "/detokenize", &json!({ "model": "chat", "tokens": ids }));
        assert_eq!(back["prompt"], text);
    }
    let messages = json!([{ "role": "user", "content": "Hi <|im_end|>" }]);
    let chat = answered(&server, "/tokenize", &json!({ "model": "chat", "messages": messages }));
    let back = json!({ "model": "chat", "tokens": chat["tokens"] });
    let back = answered(&server, "/detokenize", &back);
    assert_eq!(
        back["prompt"],
        "<|im_start|>user\nHi <|im_end|><|im_end|>\n<|im_start|>assistant\n"
    );
    let plain = json!({ "model": "chat", "prompt": back["prompt"] });
    let plain = answered(&server, "/tokenize", &plain);
    // Special tokens in messages are plain text, and in prompts they are special.
    assert!(chat["count"].as_u64() > plain["count"].as_u64());
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of bodies and their errors")]
fn errors_have_their_shape() {
    let (server, _) = start();
    let check = |path: &str, body: Value, expected: (u16, &str), fragment: &str| {
        check_error(&server, path, &body.to_string(), expected, fragment);
    };
    check("/classify", json!({ "model": "rm" }), (400, "input"), "it is missing");
    check("/classify", json!({ "model": "rm", "input": "" }), (400, "input"), "no tokens");
    check("/classify", json!({ "model": "rm", "input": [] }), (400, "input"), "0 given");
    check("/classify", json!({ "model": "rm", "input": [[]] }), (400, "input[0]"), "no tokens");
    check(
        "/classify",
        json!({ "model": "rm", "input": [99_999_999] }),
        (400, "input[0]"),
        "vocabulary",
    );
    check(
        "/classify",
        json!({ "model": "rm", "input": ["a", 3] }),
        (400, "input[1]"),
        "expected a string",
    );
    check(
        "/classify",
        json!({ "model": "rm", "input": "x", "top": 1 }),
        (400, "top"),
        "unknown field",
    );
    check("/classify", json!({ "model": "nobody", "input": "x" }), (404, "model"), "no model");
    check("/classify", json!({ "model": "math", "input": "x" }), (404, "model"), "is a scorer");
    check("/classify", json!({ "model": "chat", "input": "x" }), (404, "model"), "no score head");
    check("/classify", json!({ "model": "prm", "input": "x" }), (404, "model"), "reads steps");
    check("/classify", json!({ "input": "x" }), (400, "model"), "there are several");
    let cut = json!({ "model": "rm", "input": "x", "truncate_prompt_tokens": 3 });
    check("/classify", cut, (400, "truncate_prompt_tokens"), "not truncated");
    let both = json!({ "model": "rm", "input": "x", "activation": true, "use_activation": false });
    check("/classify", both, (400, "activation"), "otherwise");
    let long = json!({ "model": "rm", "input": ["a", "x ".repeat(4000)] });
    check("/classify", long, (400, "input[1]"), "reads at most 2048");
    check_error(&server, "/classify", "{", (400, "-"), "malformed JSON");
    check_error(&server, "/classify", "[]", (400, "."), "");

    let lone = json!({ "model": "rm", "queries": "x" });
    check("/score", lone, (400, "queries"), "give `queries`");
    let mixed = json!({ "model": "rm", "queries": "x", "data_2": "y" });
    check("/score", mixed, (400, "queries"), "give `queries`");
    let uneven = json!({ "model": "rm", "queries": ["x", "y"], "documents": ["x", "y", "z"] });
    check("/score", uneven, (400, "queries"), "2 given for 3");
    let wrong = json!({ "model": "math", "queries": "x", "documents": "y" });
    check("/score", wrong, (422, "documents[0]"), "bad_reference");
    check(
        "/v1/score",
        json!({ "model": "rm", "queries": "x", "documents": [] }),
        (400, "documents"),
        "0 given",
    );
    check(
        "/rerank",
        json!({ "model": "rm", "query": "x", "documents": [] }),
        (400, "documents"),
        "0 given",
    );
    check(
        "/rerank",
        json!({ "query": "x", "documents": ["y"] }),
        (404, "model"),
        "names no scorer",
    );
    let docs = vec!["x"; 10_001];
    check(
        "/rerank",
        json!({ "model": "rm", "query": "x", "documents": docs }),
        (400, "documents"),
        "10001 given",
    );

    let next = |labels: Value| json!({ "model": "chat", "query": "x", "items": ["y"], "label_token_ids": labels });
    let path = "/generative_scoring";
    check(path, next(json!([])), (400, "label_token_ids"), "0 given");
    check(path, next(json!([1, 1])), (400, "label_token_ids[1]"), "earlier");
    check(path, next(json!([99_999_999])), (400, "label_token_ids[0]"), "vocabulary");
    check(path, next(json!([-1])), (400, "label_token_ids[0]"), "");
    let mut headed = next(json!([1]));
    headed["model"] = json!("rm");
    check(path, headed, (404, "model"), "no vocabulary");
    check("/tokenize", json!({ "model": "chat" }), (400, "prompt"), "it is missing");
    check(
        "/detokenize",
        json!({ "model": "chat", "tokens": [99_999_999] }),
        (400, "tokens[0]"),
        "vocabulary",
    );
    check("/pooling", json!({ "model": "chat", "input": "x" }), (404, "model"), "no score head");
    let steps = json!({ "model": "prm", "input": "x", "task": "classify" });
    check("/pooling", steps, (400, "task"), "reads steps");
    let other = json!({ "model": "rm", "input": "x", "task": "embed" });
    check("/pooling", other, (400, "task"), "unknown variant");
    server.settles();
}

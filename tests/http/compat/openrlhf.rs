//! `OpenRLHF`: `POST /get_reward`.

use serde_json::{Value, json};

use super::{
    answered, built_in, check_detail, detail, native_raw, number, prompt, rendered, start,
    start_with,
};
use crate::harness::recorded;

#[test]
fn scorer_gets_the_response_only() {
    let server = built_in(Some("math"));
    let body = json!({
        "query": [
            rendered("Say \\boxed{3}.", "It is \\boxed{4}."),
            rendered("Say \\boxed{3}.", "It is \\boxed{5}."),
            rendered("What is 1/2?", "\\boxed{0.5}"),
        ],
        "prompts": [prompt("Say \\boxed{3}."), prompt("Say \\boxed{3}."), prompt("What is 1/2?")],
        "labels": ["4", 4, 0.5],
    });
    let reply = answered(&server, "/get_reward", &body);
    assert_eq!(reply["rewards"], json!([1.0, 0.0, 1.0]));
    recorded("openrlhf_reward.json", &reply);
    // As the client sends it: one sample per request, the scorer in the URL.
    let one = json!({
        "query": [rendered("What?", "4")], "prompts": [prompt("What?")], "labels": [["3", "4"]],
    });
    let reply = answered(&server, "/get_reward?model=exact", &one);
    assert_eq!(reply["scores"], json!([1.0]));
}

#[test]
fn empty_lists_give_empty_lists() {
    let expected = json!({ "rewards": [], "scores": [], "extra_logs": {} });
    for server in [
        built_in(Some("math")),
        start_with(|config| {
            config.compat_scorer = Some("rm".to_owned());
        })
        .0,
    ] {
        for body in [json!({ "query": [], "prompts": [], "labels": [] }), json!({ "query": [] })] {
            assert_eq!(answered(&server, "/get_reward", &body), expected);
        }
        server.settles();
    }
}

#[test]
fn truncated_queries_are_split_at_markers() {
    let server = built_in(Some("math"));
    let reward = |query: &str, prompt: Option<&str>| {
        let mut body = json!({ "query": [query], "labels": ["4"] });
        if let Some(prompt) = prompt {
            body["prompts"] = json!([prompt]);
        }
        answered(&server, "/get_reward", &body)["rewards"][0].clone()
    };
    let whole = rendered("Say \\boxed{3}.", "\\boxed{4}");
    assert_eq!(reward(&whole, None), 1.0);
    // The trainer truncated a long prompt from the left.
    let cut = &whole["<|im_start|>user\nSay".len()..];
    assert_eq!(reward(cut, Some(&prompt("Say \\boxed{3}."))), 1.0);
    // A plain prompt followed by a plain response.
    assert_eq!(reward("2 + 2 = 4", Some("2 + 2 =")), 1.0);
    for (body, expected) in [
        (json!({ "query": ["4"], "labels": ["4"] }), "422 [\"body\",\"query\",0]"),
        (
            json!({ "query": ["4"], "prompts": ["5"], "labels": ["4"] }),
            "422 [\"body\",\"query\",0]",
        ),
    ] {
        check_detail(&server, "/get_reward", &body.to_string(), expected);
    }
}

/// A thinking tag written by the template belongs to the response.
#[test]
fn opened_turn_belongs_to_the_response() {
    let server = built_in(Some("math"));
    let prompt = prompt("2 + 2?") + "<think>\n";
    let query = format!("{prompt}Is it \\boxed{{5}}? No.\n</think>\n\n\\boxed{{4}}<|im_end|>");
    let body = json!({ "query": [query], "prompts": [prompt], "labels": ["4"] });
    assert_eq!(answered(&server, "/get_reward", &body)["rewards"][0], 1.0);
}

#[test]
fn model_reads_the_query_unchanged() {
    let (server, _) = start();
    let answers = ["Two.", "Or three.", "Not <|im_end|> at all."];
    let queries: Vec<String> = answers.map(|answer| rendered("How much?", answer)).into();
    let prompts = vec![prompt("How much?"); answers.len()];
    let body = json!({ "query": queries, "prompts": prompts, "labels": ["", null, "x"] });
    for model in ["rm", "strict"] {
        let reply = answered(&server, &format!("/get_reward?model={model}"), &body);
        for (at, answer) in answers.iter().enumerate() {
            let raw = native_raw(&server, model, "How much?", answer);
            // Equal tokens give equal bits: special tokens in a response are plain text both ways.
            assert_eq!(number(&reply["rewards"][at]), raw, "{model}: {answer}");
            let score = 1.0 / (1.0 + (-raw).exp());
            assert!((number(&reply["scores"][at]) - score).abs() < 1e-12);
        }
    }
    // Without prompts the origin of text is unknown, and all of it is encoded as written.
    let bare = json!({ "query": [queries[0]] });
    let reply = answered(&server, "/get_reward?model=rm", &bare);
    assert_eq!(number(&reply["rewards"][0]), native_raw(&server, "rm", "How much?", "Two."));
    server.settles();
}

#[test]
fn many_samples_fit_one_request() {
    let (server, _) = start();
    let queries: Vec<String> =
        (0..200).map(|n| rendered("How much?", &format!("It is {n}."))).collect();
    let all = answered(&server, "/get_reward?model=rm", &json!({ "query": queries }));
    let rewards = all["rewards"].as_array().expect("a list");
    assert_eq!(rewards.len(), 200);
    for at in [0, 100, 199] {
        let one = json!({ "query": [queries[at]] });
        let one = answered(&server, "/get_reward?model=rm", &one);
        assert_eq!(one["rewards"][0], rewards[at]);
    }
}

#[test]
fn only_reward_model_is_the_default() {
    let (server, _) = start();
    let body = json!({ "query": [rendered("?", "!")] }).to_string();
    // There are two models and an adapter here.
    check_detail(&server, "/get_reward", &body, "404 the URL names no scorer");
    check_detail(&server, "/get_reward?model=rmm", &body, "404 no scorer \"rmm\"");
    check_detail(&server, "/get_reward?model=prm", &body, "404 the head of 'prm' reads steps");
    check_detail(&server, "/get_reward?model=chat", &body, "404 'chat' has no score head");
    check_detail(&server, "/get_reward?modle=rm", &body, "422 ");
}

/// A failed measurement is never a number, and this interface has no other field for it.
#[test]
fn unscored_sample_fails_the_request() {
    let server = built_in(Some("math"));
    let query = rendered("?", "\\boxed{4}");
    let body = json!({ "query": [query, query], "labels": ["4", null] });
    let reply = server.post("/get_reward", body.to_string());
    assert_eq!(reply.status, 422);
    let text = detail(&reply);
    assert!(text.contains("query[1]: bad_reference"), "{text}");
    let (server, _) = start();
    let long = rendered("?", &"x ".repeat(4000));
    let body = json!({ "query": ["a", long] }).to_string();
    check_detail(&server, "/get_reward?model=rm", &body, "422 query[1]: 8");
    server.settles();
}

#[test]
fn invalid_bodies_are_refused_by_path() {
    let server = built_in(Some("math"));
    let check = |body: &Value, expected: &str| {
        check_detail(&server, "/get_reward", &body.to_string(), expected);
    };
    check(&json!({}), "422 [\"body\"]");
    check(&json!([]), "422 [\"body\"]");
    check(&json!({ "query": "x" }), "422 [\"body\",\"query\"]");
    check(&json!({ "query": [3] }), "422 [\"body\",\"query\",0]");
    check(&json!({ "query": ["x"], "prompts": [] }), "422 [\"body\",\"prompts\"]");
    check(&json!({ "query": [], "labels": ["x"] }), "422 [\"body\",\"labels\"]");
    check(&json!({ "query": ["x"], "labels": [true] }), "422 [\"body\",\"labels\",0]");
    check(&json!({ "query": ["x"], "responses": [] }), "422 [\"body\",\"responses\"]");
    check(&json!({ "query": vec!["x"; 10_001] }), "422 [\"body\",\"query\"]");
    check_detail(&server, "/get_reward", "{", "422 [\"body\"]");
    check_detail(&server, "/get_reward", "", "422 [\"body\"]");
    server.settles();
}

//! NIM: reward models behind `POST /v1/chat/completions`.

use serde_json::{Value, json};

use super::{answered, native_raw, number, start};
use crate::harness::recorded;

const PATH: &str = "/v1/chat/completions";

fn conversation(model: &str) -> Value {
    json!({ "model": model, "messages": [
        { "role": "user", "content": "How much?" },
        { "role": "assistant", "content": "Two." },
    ] })
}

#[test]
fn reward_is_a_chat_completion() {
    let (server, _) = start();
    for model in ["rm", "strict"] {
        let reply = answered(&server, PATH, &conversation(model));
        let raw = native_raw(&server, model, "How much?", "Two.");
        let choice = &reply["choices"][0];
        let text = choice["message"]["content"].as_str().expect("a text");
        // NIM's clients parse it like this.
        let value: f64 = text.strip_prefix("reward:").expect("a pair").parse().expect("a number");
        assert_eq!(value, raw);
        let token = &choice["logprobs"]["content"][0];
        assert_eq!(token["token"], "reward");
        assert!((number(&token["logprob"]) - raw).abs() < 1e-6);
        if model == "rm" {
            let mut shape = reply.clone();
            shape["choices"][0]["message"]["content"] = json!("reward:<float>");
            recorded("nim_reward.json", &shape);
        }
    }
    let score = answered(&server, PATH, &conversation("good"));
    let text = score["choices"][0]["message"]["content"].clone();
    let verdict = server.verdict("good", json!({ "prompt": "How much?", "response": "Two." }));
    assert_eq!(text, format!("reward:{}", number(&verdict["score"])));
}

#[test]
fn generation_fields_are_refused() {
    let (server, _) = start();
    let check = |change: &dyn Fn(&mut Value), expected: (u16, &str)| {
        let mut body = conversation("rm");
        change(&mut body);
        let reply = server.post(PATH, body.to_string());
        let param = reply.json()["error"]["param"].clone();
        assert_eq!((reply.status, param), (expected.0, json!(expected.1)), "{body}");
    };
    check(&|body| body["stream"] = json!(true), (422, "stream"));
    check(&|body| body["n"] = json!(2), (422, "n"));
    // The conversation has no answer yet.
    check(
        &|body| {
            body["model"] = json!("math");
            body["messages"] = json!([{ "role": "user", "content": "Hi" }]);
        },
        (404, "model"),
    );
    check(&|body| body["model"] = json!("prmm"), (404, "model"));
    // There is a response but no reference.
    check(&|body| body["model"] = json!("math"), (422, "messages"));
    server.settles();
}

//! slime: `POST /remote_rm`.

use serde_json::{Value, json};

use super::{answered, built_in, check_detail, native_raw, number, prompt, start};
use crate::harness::recorded;

#[test]
fn reply_is_the_reward() {
    let server = built_in(Some("math"));
    let body =
        |response: &str| json!({ "prompt": prompt("2 + 2?"), "response": response, "label": "4" });
    assert_eq!(answered(&server, "/remote_rm", &body("\\boxed{4}<|im_end|>")), 1.0);
    assert_eq!(answered(&server, "/remote_rm", &body("\\boxed{5}")), 0.0);
    let object = answered(&server, "/remote_rm?reply=object", &body("\\boxed{4}"));
    recorded("slime_reward.json", &object);
    let turns = json!({
        "prompt": [{ "role": "user", "content": "2 + 2?" }], "response": "4", "label": 4,
    });
    assert_eq!(answered(&server, "/remote_rm?model=math", &turns), 1.0);
}

#[test]
fn models_give_their_logit() {
    let (server, _) = start();
    let raw = native_raw(&server, "rm", "How much?", "Two.");
    for prompt in [json!("How much?"), json!([{ "role": "user", "content": "How much?" }])] {
        let body = json!({ "prompt": prompt, "response": "Two.", "label": null });
        assert_eq!(number(&answered(&server, "/remote_rm?model=rm", &body)), raw);
    }
    // Rendered text is encoded as written; the template ends a turn with a newline.
    let body = json!({ "prompt": prompt("How much?"), "response": "Two.<|im_end|>\n" });
    assert_eq!(number(&answered(&server, "/remote_rm?model=rm", &body)), raw);
    // A configured scorer returns its score.
    let body = json!({ "prompt": prompt("How much?"), "response": "Two." });
    let score = number(&answered(&server, "/remote_rm?model=good", &body));
    assert!((score - 1.0 / (1.0 + (-raw).exp())).abs() < 1e-9);
    server.settles();
}

#[test]
fn invalid_bodies_are_refused_by_path() {
    let server = built_in(Some("math"));
    let check = |body: &Value, expected: &str| {
        check_detail(&server, "/remote_rm", &body.to_string(), expected);
    };
    check(&json!({}), "422 [\"body\"]");
    check(&json!({ "prompt": 3, "response": "4" }), "422 [\"body\",\"prompt\"]");
    check(&json!({ "prompt": "x" }), "422 [\"body\"]");
    check(&json!({ "prompt": "x", "response": "4" }), "422 response: bad_reference");
    check(&json!({ "prompt": "x", "response": "4", "more": 1 }), "422 [\"body\",\"more\"]");
    check_detail(&server, "/remote_rm?reply=list", "{}", "422 [\"body\"]");
    check_detail(&server, "/remote_rm?model=nobody", "{\"prompt\":\"\",\"response\":\"\"}", "404");
}

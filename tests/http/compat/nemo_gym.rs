//! `NeMo`-Gym: the routes of a resources server.

use serde_json::{Value, json};

use super::{answered, built_in, check_detail, good, number, start};
use crate::harness::recorded;

/// Returns a rollout as an agent of `NeMo`-Gym posts it.
fn rollout(text: &str) -> Value {
    json!({
        "responses_create_params": {
            "input": [{ "role": "user", "content": "What is 2 + 2?", "type": "message" }],
            "tools": [], "parallel_tool_calls": true,
        },
        "response": {
            "id": "resp_1", "created_at": 1.0, "model": "policy", "object": "response",
            "output": [
                { "id": "rs_1", "summary": [], "type": "reasoning" },
                { "id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
                  "content": [{ "type": "output_text", "text": text, "annotations": [] }] },
            ],
            "parallel_tool_calls": true, "tool_choice": "auto", "tools": [],
            "usage": { "input_tokens": 8, "output_tokens": 4, "total_tokens": 12 },
        },
        "question": "What is 2 + 2?", "expected_answer": "4", "_ng_task_index": 7,
        "_ng_rollout_index": 1,
    })
}

#[test]
fn row_is_returned_with_its_reward() {
    let server = built_in(Some("math"));
    let reply = answered(&server, "/verify", &rollout("It is \\boxed{4}."));
    recorded("nemo_gym_verify.json", &reply);
    assert_eq!(reply["reward"], 1.0);
    assert_eq!(reply["extracted_answer"], "4");
    for field in ["responses_create_params", "response", "expected_answer", "_ng_task_index"] {
        assert_eq!(reply[field], rollout("It is \\boxed{4}.")[field], "{field}");
    }
    assert_eq!(reply.get("_ng_failure_class"), None);
    // Stored rollouts are verified again.
    let again = answered(&server, "/verify?model=math", &reply);
    assert_eq!(again["reward"], 1.0);
    let wrong = answered(&server, "/verify", &rollout("\\boxed{5}"));
    assert_eq!(wrong["reward"], 0.0);
    assert_eq!(wrong["tribunal"]["status"], "ok");
}

#[test]
fn gold_answers_are_found_in_every_field() {
    let server = built_in(Some("math"));
    for (name, value) in [
        ("reference", json!("4")),
        ("ground_truth", json!(4)),
        ("answer", json!(["3", "4"])),
        ("label", json!("4")),
        ("solution", json!("4.0")),
        ("verifier_metadata", json!({ "expected_answer": "4", "difficulty": 3 })),
    ] {
        let mut row = rollout("\\boxed{4}");
        row.as_object_mut().expect("an object").remove("expected_answer");
        row[name] = value;
        assert_eq!(answered(&server, "/verify", &row)["reward"], 1.0, "{name}");
    }
}

/// A failed judgement is a row with a failure class, which excludes it from every aggregate.
#[test]
fn failures_have_a_failure_class() {
    let server = built_in(Some("math"));
    let mut row = rollout("\\boxed{4}");
    row["expected_answer"] = Value::Null;
    let reply = answered(&server, "/verify", &row);
    assert_eq!(reply["reward"], 0.0);
    assert_eq!(reply["_ng_failure_class"], "judge_failed");
    assert_eq!(reply["_ng_failure_terminal"], true);
    assert_eq!(reply["tribunal"]["score"], Value::Null);
    let error = reply["_ng_failure_judge_error"].as_str().expect("a text");
    assert!(error.starts_with("bad_reference: "), "{error}");
    let figures = json!({ "verify_responses": [reply] });
    let figures = answered(&server, "/aggregate_metrics", &figures);
    assert_eq!(figures["agent_metrics"], json!({}));
}

#[test]
fn aggregates_and_session_routes_answer() {
    let server = built_in(Some("math"));
    assert_eq!(good(&server.get("/reverify_mode")), "stateless");
    assert_eq!(answered(&server, "/seed_session", &json!({ "task": 3 })), json!({}));
    let rows: Vec<Value> = ["\\boxed{4}", "\\boxed{5}"]
        .map(|text| answered(&server, "/verify", &rollout(text)))
        .into();
    let figures = answered(&server, "/aggregate_metrics", &json!({ "verify_responses": rows }));
    assert_eq!(figures["key_metrics"]["mean/reward"], 0.5);
    assert_eq!(figures["group_level_metrics"][0]["_ng_task_index"], 7);
    assert_eq!(figures["group_level_metrics"][0]["mean/total_tokens"], 12.0);
    let nothing = answered(&server, "/aggregate_metrics", &json!({ "verify_responses": [] }));
    assert_eq!(
        nothing,
        json!({ "group_level_metrics": [], "agent_metrics": {}, "key_metrics": {} })
    );
}

/// Returns responses of a policy as `NeMo`-Gym's pairwise judges get them.
fn answers(texts: &[&str]) -> Value {
    let object = |text: &&str| rollout(text)["response"].clone();
    json!({
        "conversation_history": [{ "role": "user", "content": "How much?" }],
        "response_objs": texts.iter().map(object).collect::<Vec<_>>(),
    })
}

/// Rollouts that are observed have their ids before the paths.
#[test]
fn prefixed_routes_equal_the_plain_ones() {
    let (server, _) = start();
    let row = rollout("x");
    let plain = answered(&server, "/verify?model=math", &row);
    let observed = answered(&server, "/ng-rollout/a-7/verify?model=math", &row);
    assert_eq!(observed["reward"], plain["reward"]);
    let seeded = answered(&server, "/ng-rollout/a-7/seed_session", &json!({}));
    assert_eq!(seeded, json!({}));
    check_detail(&server, "/ng-rollout/a-7/verify?model=math", "3", "422 ");
}

#[test]
fn responses_are_compared() {
    let (server, _) = start();
    let texts = ["Two.", "Or three.", "Four"];
    let reply = answered(&server, "/compare?model=pairs", &answers(&texts));
    recorded("nemo_gym_compare.json", &reply);
    let native = server.verdict("pairs", json!({ "prompt": "How much?", "responses": texts }));
    for (at, reward) in reply["rewards"].as_array().expect("a list").iter().enumerate() {
        assert_eq!(*reward, native["candidates"][at]["score"]);
    }
    let pairs = reply["comparison_results"].as_array().expect("a list");
    assert_eq!(pairs.len(), 3);
    assert_eq!(pairs[0]["preference"], native["candidates"][0]["against"][1]);
    // A scorer that judges each response by itself has no pairs.
    let alone = answered(&server, "/compare?model=good", &answers(&texts[..1]));
    assert_eq!(alone["comparison_results"], Value::Null);
    assert!(number(&alone["rewards"][0]) > 0.0);
    server.settles();
}

#[test]
fn invalid_bodies_are_refused_by_path() {
    let (server, _) = start();
    let verify = |body: &Value, expected: &str| {
        check_detail(&server, "/verify?model=math", &body.to_string(), expected);
    };
    verify(&json!({}), "422 [\"body\"]");
    verify(&json!({ "responses_create_params": 3, "response": {} }), "422 ");
    let mut row = rollout("x");
    row["response"]["output"] = json!("x");
    verify(&row, "422 [\"body\",\"response\",\"output\"]");
    row = rollout("x");
    row["expected_answer"] = json!(true);
    verify(&row, "422 [\"body\",\"expected_answer\"]");
    row = rollout("x");
    row["responses_create_params"]["input"] = json!([{ "content": "x" }]);
    let place = "422 [\"body\",\"responses_create_params\",\"input\",0,\"role\"]";
    verify(&row, place);
    let row = rollout("x").to_string();
    check_detail(&server, "/verify", &row, "404 the URL names no scorer");
    check_detail(&server, "/seed_session", "3", "422 ");
    check_detail(&server, "/aggregate_metrics", "{\"verify_responses\": [3]}", "422 ");

    let compare = |body: &Value, expected: &str| {
        check_detail(&server, "/compare?model=pairs", &body.to_string(), expected);
    };
    compare(&answers(&[]), "422 response_objs: refused: responses_empty");
    compare(&answers(&["Two."]), "422 response_objs: refused: group_of_one");
    let mut principled = answers(&["Two.", "Three."]);
    principled["principle"] = json!("Be brief.");
    compare(&principled, "422 response_objs: refused: field_not_read");
    compare(&json!({ "conversation_history": [], "response_objs": [{}] }), "422 [");
    server.settles();
}

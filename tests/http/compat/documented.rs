//! The documented bodies of `NeMo`-Gym and slime as files: `goldens/asked` has the requests, and
//! the files beside it the replies, in every field.

use serde_json::Value;

use super::{Server, good, start_with};
use crate::harness::recorded;

fn request_body(name: &str) -> String {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("http/goldens/asked");
    std::fs::read_to_string(folder.join(format!("{name}.json"))).expect("the body is there")
}

fn check(server: &Server, path: &str, name: &str, golden: &str) -> Value {
    let reply = good(&server.post(path, request_body(name)));
    recorded(golden, &reply);
    reply
}

/// A server whose URL names no scorer, as `NeMo`-Gym's has no query.
fn math_by_default() -> Server {
    start_with(|config| config.compat_scorer = Some("math".to_owned())).0
}

#[test]
fn documented_nemo_gym_bodies_are_answered() {
    let server = math_by_default();
    let row = check(&server, "/verify", "nemo_gym_math_row", "nemo_gym_math_row.json");
    assert_eq!(row["reward"], 1.0);
    let failed = check(&server, "/verify", "nemo_gym_failed_row", "nemo_gym_failed_row.json");
    assert_eq!(failed["_ng_failure_class"], "judge_failed");
    // A rollout with tool calls: the last message is the answer.
    let tools =
        check(&server, "/ng-rollout/4-0/verify", "nemo_gym_tool_row", "nemo_gym_tool_row.json");
    assert_eq!(tools["reward"], 1.0);
    for path in ["/seed_session", "/ng-rollout/4-0/seed_session"] {
        check(&server, path, "nemo_gym_seed", "nemo_gym_seed.json");
    }
    let mode = good(&server.get("/reverify_mode"));
    recorded("nemo_gym_reverify_mode.json", &mode);
    let figures =
        check(&server, "/aggregate_metrics", "nemo_gym_aggregate", "nemo_gym_aggregate.json");
    // Two of five rows were not scored, one by this server and one by another.
    assert_eq!(figures["agent_metrics"]["mean/reward"], 2.0 / 3.0);
    let alone =
        check(&server, "/compare?model=good", "nemo_gym_compare", "nemo_gym_compare_alone.json");
    assert_eq!(alone["rewards"].as_array().map(Vec::len), Some(2));
    server.settles();
}

#[test]
fn documented_slime_bodies_are_answered() {
    let server = math_by_default();
    let number = check(&server, "/remote_rm", "slime_text", "slime_number.json");
    assert_eq!(number, 1.0);
    let turns = check(&server, "/remote_rm", "slime_turns", "slime_number.json");
    assert_eq!(turns, 0.0);
    let object = "/remote_rm?reply=object";
    check(&server, object, "slime_text", "slime_reward.json");
    // A reward model needs no label.
    let rated = "/remote_rm?model=rm&reply=object";
    let rated = check(&server, rated, "slime_no_label", "slime_model.json");
    assert!(rated["raw"].is_f64(), "{rated}");
    server.settles();
}

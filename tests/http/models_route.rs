//! `GET /v1/models`, readiness and metrics of a server with a model.

use serde_json::{Value, json};

use crate::serving::{CONTEXT, good, question, tiny};

#[test]
fn models_and_adapters_are_listed_with_scorers() {
    let serving = tiny();
    let list = good(&serving.server.get("/v1/models"));
    let find = |id: &str| {
        let data = list["data"].as_array().expect("a list");
        let found = data.iter().find(|entry| entry["id"] == id);
        found.unwrap_or_else(|| panic!("{id}: {list}")).clone()
    };
    let (model, adapter, scorer) = (find("tiny"), find("strict"), find("math"));
    assert_eq!(model["kind"], "model");
    assert_eq!(model["digests"]["model"], *serving.host.digest);
    assert_eq!(model["digests"]["scorer"], Value::Null);
    assert_eq!(model["context_tokens"], CONTEXT);
    assert_eq!(model["parameters"], serving.host.parameters);
    assert_eq!(model["parent"], Value::Null);
    assert_eq!(adapter["kind"], "adapter");
    assert_eq!(adapter["parent"], "tiny");
    assert_eq!(adapter["digests"]["model"], *serving.host.digest);
    let digest = adapter["digests"]["adapter"].as_str().expect("a digest");
    assert!(digest.starts_with("sha256:"), "{digest}");
    assert!(scorer["digests"]["scorer"].is_string());
    assert_eq!(scorer.get("context_tokens"), None);
    let ready = good(&serving.server.get("/readyz"));
    assert_eq!((&ready["status"], &ready["models"]), (&json!("ready"), &json!(1)));
}

#[test]
fn metrics_report_the_engine() {
    let serving = tiny();
    let reply = good(&serving.chat(&question(&json!({"max_tokens": 5, "ignore_eos": true}))));
    assert_eq!(reply["usage"]["completion_tokens"], 5);
    let text = serving.server.get("/metrics").text;
    for name in [
        "tribunal_engine_queued{model=\"tiny\"}",
        "tribunal_engine_running{model=\"tiny\"}",
        "tribunal_engine_queued_tokens{model=\"tiny\"}",
        "tribunal_engine_blocks{model=\"tiny\",state=\"free\"}",
        "tribunal_engine_blocks{model=\"tiny\",state=\"held\"}",
        "tribunal_engine_blocks{model=\"tiny\",state=\"cached\"}",
        "tribunal_engine_tokens_total{model=\"tiny\",kind=\"computed\"}",
        "tribunal_engine_tokens_total{model=\"tiny\",kind=\"cached\"}",
        "tribunal_engine_tokens_total{model=\"tiny\",kind=\"output\"}",
        "tribunal_engine_steps_total{model=\"tiny\"}",
        "tribunal_engine_failed_steps_total{model=\"tiny\"}",
        "tribunal_engine_preemptions_total{model=\"tiny\"}",
    ] {
        assert!(text.contains(name), "{name} is missing: {text}");
    }
    let output = "tribunal_engine_tokens_total{model=\"tiny\",kind=\"output\"}";
    assert!(serving.server.metric(output) >= 5.0);
}

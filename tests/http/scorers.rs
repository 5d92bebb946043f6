//! Scorers that use models, over HTTP.

use std::path::Path;
use std::sync::Arc;

use engine::Host;
use serde_json::{Value, json};
use serve::hosts::Hosts;
use serve::keys::Keys;
use serve::{Config, State};
use tiny_models::{AdapterSpec, Preset, TinyHead, TinySpec, make, make_adapter};

use crate::harness::Server;
use crate::models::{block_on, load};

/// Scorers over the models of [`start`].
const SCORERS: &str = "
[[scorer]]
name = 'good'
kind = 'reward'
model = 'rm'

[[scorer]]
name = 'strictly'
kind = 'reward'
model = 'strict'

[[scorer]]
name = 'steps'
kind = 'process'
model = 'prm'
splitter = 'lines'
aggregate = 'product'
shaping = 'clip_delta'
";

/// Starts a server with a reward model `rm`, its adapter `strict` with a head of its own, a process
/// reward model `prm` and a model `chat` without a head.
fn start() -> (Server, Vec<Arc<Host>>) {
    let folder = tempfile::tempdir().expect("a folder");
    let hosts = vec![
        model(folder.path(), "rm", TinyHead::Sequence),
        model(folder.path(), "prm", TinyHead::Process),
        model(folder.path(), "chat", TinyHead::Vocab),
    ];
    let adapter = folder.path().join("strict");
    let spec = AdapterSpec {
        seed: 7,
        r: 4,
        alpha: 64,
        targets: vec!["q_proj".to_owned(), "down_proj".to_owned()],
        rank_pattern: std::collections::BTreeMap::new(),
        alpha_pattern: std::collections::BTreeMap::new(),
        rslora: false,
        score_labels: Some(1),
    };
    make_adapter(&adapter, &spec_of(TinyHead::Sequence), &spec).expect("an adapter");
    block_on(hosts[0].load_adapter("strict", &adapter)).expect("it loads");
    let mut config = Config { threads: 2, workers: 2, ..Config::default() };
    let names = ["rm", "prm", "chat", "strict"];
    let read = serve::config::read_text_with("test.toml", SCORERS, &mut config, &names);
    let (registry, problems) = read;
    assert!(problems.is_empty(), "{problems:?}");
    let state = State::new(config, registry, Keys::default()).expect("threads start");
    let state = state.with_hosts(Hosts::new(hosts.clone()));
    assert_eq!(state.registry.check(&*state.tools.models), Ok(()));
    (Server::over(state), hosts)
}

fn spec_of(head: TinyHead) -> TinySpec {
    TinySpec { head, ..TinySpec::from(Preset::Qwen2) }
}

fn model(below: &Path, name: &str, head: TinyHead) -> Arc<Host> {
    let dir = below.join(name);
    make(&dir, &spec_of(head)).expect("a model");
    load(&dir, name, |_| ())
}

fn input(response: &str) -> Value {
    json!({ "prompt": "How much?", "response": response })
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

/// Requests the `raw` of each result.
fn raws(server: &Server, scorer: &str, inputs: &[Value]) -> Vec<f64> {
    let body = json!({ "model": scorer, "inputs": inputs, "options": { "cache": "bypass" } });
    let reply = server.score(&body);
    assert_eq!(reply.status, 200, "{}", reply.text);
    let reply = reply.json();
    let results = reply["results"].as_array().expect("a list");
    results.iter().map(|result| number(&result["raw"])).collect()
}

#[test]
fn reward_has_logit_and_digests() {
    let (server, hosts) = start();
    let verdict = server.verdict("good", input("Two."));
    assert_eq!(verdict["status"], "ok", "{verdict}");
    let (score, raw) = (number(&verdict["score"]), number(&verdict["raw"]));
    assert!((score - 1.0 / (1.0 + (-raw).exp())).abs() < 1e-9, "{verdict}");
    assert_eq!(verdict["digests"]["model"], *hosts[0].digest);
    assert_eq!(verdict["digests"]["adapter"], Value::Null);
    assert!(verdict["digests"]["prompt"].is_string());
    assert!(verdict["usage"]["input_tokens"].as_u64() > Some(0));
    let strict = server.verdict("strictly", input("Two."));
    assert!(strict["digests"]["adapter"].is_string());
    assert!((number(&strict["raw"]) - raw).abs() > 1e-9, "{strict}");
}

#[test]
fn steps_are_scored_in_order() {
    let (server, _) = start();
    let response = "Ein é.\nZwei.\nDrei.";
    let verdict = server.verdict("steps", input(response));
    assert_eq!(verdict["status"], "ok", "{verdict}");
    let steps = verdict["steps"].as_array().expect("a list");
    let spans: Vec<&Value> = steps.iter().map(|step| &step["span"]).collect();
    assert_eq!(spans, [&json!([0, 6]), &json!([7, 12]), &json!([13, 18])]);
    let product: f64 = steps.iter().map(|step| number(&step["score"])).product();
    assert!((number(&verdict["score"]) - product).abs() < 1e-9, "{verdict}");
    let notes = verdict["spans"].as_array().expect("step rewards");
    assert_eq!(notes.len(), 3);
    assert!(notes.iter().all(|note| note["label"] == "step_reward"), "{verdict}");
    let mut given = input(response);
    given["steps"] = json!(["Ein é.", "Zwei.", "Drei."]);
    let same = server.verdict("steps", given.clone());
    assert_eq!(same["steps"], verdict["steps"]);
    for (steps, code) in [
        (json!([]), "no_steps"),
        (json!(["Zwei.", "Ein é."]), "steps_not_in_response"),
        (json!(["Ein é.", ""]), "step_empty"),
    ] {
        given["steps"] = steps;
        let verdict = server.verdict("steps", given.clone());
        assert_eq!(verdict["status"], "refused", "{verdict}");
        assert_eq!(verdict["score"], Value::Null);
        assert_eq!(verdict["reason"]["code"], code);
    }
}

#[test]
fn model_by_its_own_name_scores_with_its_head() {
    let (server, _) = start();
    let verdict = |name: &str| server.verdict(name, input("Two.\n\nOr three."));
    let same = |a: &Value, b: &Value| {
        assert_eq!(a["score"], b["score"]);
        assert_eq!(a["digests"], b["digests"]);
    };
    same(&verdict("rm"), &verdict("good"));
    same(&verdict("strict"), &verdict("strictly"));
    let steps = verdict("prm");
    assert_eq!(steps["steps"].as_array().map(Vec::len), Some(2), "{steps}");
    let refused = |name: &str| {
        let reply = server.score(&json!({ "model": name, "inputs": [input("Two.")] }));
        assert_eq!((reply.status, reply.code().as_str()), (404, "model_not_found"));
        reply.text
    };
    let text = refused("chat");
    assert!(text.contains("'chat' has no score head"), "{text}");
    let text = refused("prmm");
    assert!(text.contains("did you mean"), "{text}");
    assert!(text.contains("prm?") || text.contains("prm,"), "{text}");
}

#[test]
fn models_with_heads_are_listed_as_scorers() {
    let (server, _) = start();
    let list = server.get("/v1/models").json();
    let entry = |id: &str| {
        let all = list["data"].as_array().expect("a list");
        let found = all.iter().find(|entry| entry["id"] == id);
        found.unwrap_or_else(|| panic!("{id}: {list}")).clone()
    };
    for (id, kind) in [("rm", "reward"), ("strict", "reward"), ("prm", "process")] {
        let entry = entry(id);
        assert!(entry["digests"]["scorer"].is_string(), "{entry}");
        let text = entry["description"].as_str().expect("a text");
        assert!(text.contains(&format!("kind {kind}")), "{text}");
    }
    assert_eq!(entry("rm")["digests"]["scorer"], entry("good")["digests"]["scorer"]);
    assert_eq!(entry("chat")["digests"]["scorer"], Value::Null);
}

/// A model, its adapter and another model in the same batches give the numbers of each alone, bit
/// for bit.
#[test]
fn mixed_adapters_give_equal_scores() {
    let (server, _) = start();
    let inputs: Vec<Value> =
        (0..24).map(|n| input(&format!("The same beginning,\nand then {n}."))).collect();
    let scorers = ["good", "strictly", "steps"];
    let raws_of = |scorer: &str, inputs: &[Value]| match scorer {
        "steps" => steps_of(&server, inputs),
        _ => raws(&server, scorer, inputs),
    };
    let alone: Vec<Vec<f64>> = scorers
        .iter()
        .map(|scorer| {
            let each = inputs.iter().flat_map(|input| raws_of(scorer, std::slice::from_ref(input)));
            each.collect()
        })
        .collect();
    let mixed: Vec<Vec<f64>> = std::thread::scope(|scope| {
        let threads = scorers.map(|scorer| scope.spawn(|| raws_of(scorer, &inputs)));
        let joined = threads.into_iter().map(|thread| thread.join().expect("no panic"));
        joined.collect()
    });
    assert_eq!(mixed, alone);
    assert_ne!(alone[0], alone[1]);
}

/// Returns the `raw` of every step of every result.
fn steps_of(server: &Server, inputs: &[Value]) -> Vec<f64> {
    let body = json!({ "model": "steps", "inputs": inputs, "options": { "cache": "bypass" } });
    let reply = server.score(&body).json();
    let results = reply["results"].as_array().expect("a list").iter();
    let steps = results.flat_map(|result| result["steps"].as_array().expect("steps"));
    steps.map(|step| number(&step["raw"])).collect()
}

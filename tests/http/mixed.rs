//! Every kind that uses a vocabulary, over a model and its adapter, alone and concurrently: equal
//! verdicts, bit for bit.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};
use serve::hosts::Hosts;
use serve::keys::Keys;
use serve::{Config, State};
use tiny_models::{AdapterSpec, Preset, TinySpec, make, make_adapter};

use crate::harness::Server;
use crate::models::{block_on, load};

/// Kinds with their options. Labels have almost no mass in a random model, and its texts are
/// truncated.
const KINDS: &[(&str, &str)] = &[
    (
        "principles",
        "principles = ['accurate', 'concise']\ntemplate_role = 'prompt'\nmin_label_mass = 0",
    ),
    ("judge", "rationale = 'none'\nmin_label_mass = 0"),
    (
        "rubric",
        "min_label_mass = 0\n[scorer.rubric]\nitems = [{ criterion = 'It adds.', points = 2 }, \
         { criterion = 'It boasts.', points = -1 }]",
    ),
    ("validate", "min_label_mass = 0"),
    ("grounded", "mode = 'labels'\nmin_label_mass = 0"),
    ("critic", "mode = 'capo'\ncritiques = 2\nmax_tokens = 8"),
    ("tool", "mode = 'label'\nlabels = ['Y', 'N']\nmin_label_mass = 0"),
];

/// Positions of the model, more than the longest prompt here.
const POSITIONS: u64 = 4096;

/// Starts a server with every kind twice: `KIND-base` over a model and `KIND-tuned` over its
/// adapter.
fn start() -> (Server, Vec<String>) {
    let folder = tempfile::tempdir().expect("a folder");
    let (dir, adapter) = (folder.path().join("chat"), folder.path().join("tuned"));
    let spec = TinySpec::from(Preset::Qwen2);
    make(&dir, &spec).expect("a model");
    let config = dir.join("config.json");
    let text = std::fs::read_to_string(&config).expect("it was made");
    let mut fields: Value = serde_json::from_str(&text).expect("JSON");
    fields["max_position_embeddings"] = json!(POSITIONS);
    std::fs::write(&config, fields.to_string()).expect("it can be changed");
    let tuned = AdapterSpec {
        seed: 7,
        r: 4,
        alpha: 64,
        targets: vec!["q_proj".to_owned(), "down_proj".to_owned()],
        rank_pattern: BTreeMap::new(),
        alpha_pattern: BTreeMap::new(),
        rslora: false,
        score_labels: None,
    };
    make_adapter(&adapter, &spec, &tuned).expect("an adapter");
    let host = load(&dir, "base", |_| ());
    block_on(host.load_adapter("tuned", &adapter)).expect("it loads");
    let (mut scorers, mut names) = (String::new(), Vec::new());
    for (kind, options) in KINDS {
        for model in ["base", "tuned"] {
            let name = format!("{kind}-{model}");
            let head = format!("[[scorer]]\nname = '{name}'\nkind = '{kind}'\nmodel = '{model}'");
            writeln!(scorers, "{head}\n{options}").expect("a string takes it");
            names.push(name);
        }
    }
    let mut config = Config { threads: 2, workers: 2, ..Config::default() };
    let models = ["base", "tuned"];
    let read = serve::config::read_text_with("test.toml", &scorers, &mut config, &models);
    let (registry, problems) = read;
    assert!(problems.is_empty(), "{problems:?}");
    let state = State::new(config, registry, Keys::default()).expect("threads start");
    let state = state.with_hosts(Hosts::new(vec![host]));
    assert_eq!(state.registry.check(&*state.tools.models), Ok(()));
    (Server::over(state), names)
}

fn input(scorer: &str, n: usize) -> Value {
    let mut input = json!({
        "prompt": "What is 2 + 2?",
        "response": format!("We add.\n\n2 + 2 = {n}"),
        "reference": "4",
    });
    if scorer.starts_with("grounded") {
        input["context"] = json!(["Two and two are four."]);
    }
    input
}

/// Returns the results without their costs.
fn results(server: &Server, scorer: &str, inputs: &[Value]) -> Vec<Value> {
    let body = json!({ "model": scorer, "inputs": inputs, "options": { "cache": "bypass" } });
    let reply = server.score(&body);
    assert_eq!(reply.status, 200, "{}", reply.text);
    let mut results = reply.json()["results"].as_array().cloned().expect("a list");
    for result in &mut results {
        let fields = result.as_object_mut().expect("an object");
        for field in ["id", "usage", "timing"] {
            fields.remove(field);
        }
    }
    results
}

fn scores(results: &[Value]) -> Vec<&Value> {
    results.iter().map(|result| &result["score"]).collect()
}

#[test]
fn mixed_kinds_and_adapters_give_equal_verdicts() {
    let (server, names) = start();
    let inputs = |name: &str| -> Vec<Value> { (3..7).map(|n| input(name, n)).collect() };
    let alone = |name: &String| -> Vec<Value> {
        let each = inputs(name).into_iter();
        each.flat_map(|input| results(&server, name, &[input])).collect()
    };
    let first: Vec<Vec<Value>> = names.iter().map(alone).collect();
    let mixed: Vec<Vec<Value>> = std::thread::scope(|scope| {
        let (server, inputs) = (&server, &inputs);
        let threads: Vec<_> = names
            .iter()
            .map(|name| scope.spawn(move || results(server, name, &inputs(name))))
            .collect();
        let joined = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
        joined.map(|all| all.expect("no panic")).collect()
    });
    assert_eq!(mixed, first);
    for (pair, names) in first.chunks(2).zip(names.chunks(2)) {
        let status = if names[0].starts_with("critic") { "truncated" } else { "ok" };
        for result in pair.iter().flatten() {
            assert_eq!(result["status"], status, "{names:?}: {result}");
        }
        if status == "ok" {
            assert_ne!(scores(&pair[0]), scores(&pair[1]), "{names:?}");
        }
        assert_eq!(pair[0][0]["digests"]["adapter"], Value::Null);
        assert!(pair[1][0]["digests"]["adapter"].is_string());
    }
}

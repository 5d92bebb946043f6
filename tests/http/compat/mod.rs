//! Foreign interfaces, each with the bodies that its clients send.

#![expect(clippy::float_cmp, reason = "interfaces return the exact number of the scorer")]

mod batches;
mod batches_hostile;
mod documented;
mod graders;
mod lora;
mod nemo_gym;
mod nim;
mod openrlhf;
mod overload;
mod recipes;
mod refusals;
mod sandbox_fusion;
mod sglang;
mod slime;
mod tei;
mod vllm;
mod words;

use std::path::Path;
use std::sync::Arc;

use engine::Host;
use serde_json::{Value, json};
use serve::hosts::Hosts;
use serve::keys::Keys;
use serve::{Config, State};
use tiny_models::{AdapterSpec, Preset, TinyHead, TinySpec, make, make_adapter};

use crate::harness::{Reply, Server};
use crate::models::{block_on, load};

/// Scorers over the models of [`start`].
const SCORERS: &str = "
[[scorer]]
name = 'good'
kind = 'reward'
model = 'rm'

[[scorer]]
name = 'pairs'
kind = 'judge'
model = 'chat'
mode = 'pair'
rationale = 'none'
min_label_mass = 0
inconsistent = 'average'
";

/// Starts a server with a reward model `rm`, its adapter `strict`, a process reward model `prm` and
/// a model `chat` without a head, changed by `change`.
pub(crate) fn start_with(change: impl FnOnce(&mut Config)) -> (Server, Vec<Arc<Host>>) {
    let (state, hosts, folder) = state_with(change);
    let mut server = Server::over(state);
    server.files = Some(folder);
    (server, hosts)
}

/// The state of [`start_with`], and the folder of its models.
pub(crate) fn state_with(
    change: impl FnOnce(&mut Config),
) -> (State, Vec<Arc<Host>>, tempfile::TempDir) {
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
    change(&mut config);
    let state = State::new(config, registry, Keys::default()).expect("threads start");
    let state = state.with_hosts(Hosts::new(hosts.clone()));
    assert_eq!(state.registry.check(&*state.tools.models), Ok(()));
    (state, hosts, folder)
}

/// Starts the server of [`start_with`] unchanged.
pub(crate) fn start() -> (Server, Vec<Arc<Host>>) {
    start_with(|_| ())
}

/// A server with the built-in scorers only, with `scorer` as the default.
pub(crate) fn built_in(scorer: Option<&str>) -> Server {
    Server::configured("", |config| {
        config.compat_scorer = scorer.map(str::to_owned);
    })
}

pub(crate) fn spec_of(head: TinyHead) -> TinySpec {
    TinySpec { head, ..TinySpec::from(Preset::Qwen2) }
}

fn model(below: &Path, name: &str, head: TinyHead) -> Arc<Host> {
    let dir = below.join(name);
    make(&dir, &spec_of(head)).expect("a model");
    let file = dir.join("config.json");
    let text = std::fs::read_to_string(&file).expect("it was just made");
    let mut config: Value = serde_json::from_str(&text).expect("JSON");
    config["max_position_embeddings"] = json!(2048);
    std::fs::write(&file, config.to_string()).expect("it can be written");
    load(&dir, name, |_| ())
}

/// Renders a conversation with the models' own template.
pub(crate) fn rendered(question: &str, answer: &str) -> String {
    format!("<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n{answer}<|im_end|>\n")
}

/// Returns the start of [`rendered`], up to the assistant's turn.
pub(crate) fn prompt(question: &str) -> String {
    format!("<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n")
}

/// Returns the native `raw` of a response under a reward model.
pub(crate) fn native_raw(server: &Server, model: &str, question: &str, answer: &str) -> f64 {
    let verdict = server.verdict(model, json!({ "prompt": question, "response": answer }));
    number(&verdict["raw"])
}

#[expect(clippy::panic, reason = "a test that says what it saw")]
pub(crate) fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

pub(crate) fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// Posts a body that must be refused with a status, a param (`*` for any, `-` for none) and a
/// message, both of which `read` finds in the reply.
#[track_caller]
#[expect(clippy::too_many_arguments, reason = "the columns of a table")]
pub(crate) fn refused_by(
    server: &Server,
    path: &str,
    body: &str,
    (status, param): (u16, &str),
    fragment: &str,
    read: impl Fn(&Value) -> (Value, Value),
) {
    let reply = server.post(path, body);
    let shown: String = body.chars().take(200).collect();
    assert_eq!(reply.status, status, "{path} {shown}: {}", reply.text);
    let (found, message) = read(&reply.json());
    let message = message.as_str().expect("a sentence");
    assert!(message.contains(fragment), "{path} {shown}: {message}");
    if param != "*" {
        assert_eq!(found.as_str().unwrap_or("-"), param, "{path} {shown}: {message}");
    }
}

/// Returns the body of a successful reply.
#[track_caller]
pub(crate) fn good(reply: &Reply) -> Value {
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.json()
}

/// Posts a body that must be accepted.
#[track_caller]
pub(crate) fn answered(server: &Server, path: &str, body: &Value) -> Value {
    good(&server.post(path, body.to_string()))
}

/// Returns status and location of a `FastAPI` error, or its message.
#[expect(clippy::panic, reason = "a test that says what it saw")]
pub(crate) fn detail(reply: &Reply) -> String {
    let detail = &reply.json()["detail"];
    let what = match detail {
        Value::String(text) => text.clone(),
        Value::Array(fields) => fields[0]["loc"].to_string(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            panic!("no detail: {}", reply.text)
        }
    };
    format!("{} {what}", reply.status)
}

/// Posts a body that must be refused with a `FastAPI` error.
#[track_caller]
pub(crate) fn check_detail(server: &Server, path: &str, body: &str, expected: &str) {
    let reply = server.post(path, body);
    let found = detail(&reply);
    assert!(found.starts_with(expected), "{path} {body}: {found}");
}

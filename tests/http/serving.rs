//! Servers with tiny models.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use engine::Host;
use models::LoadOptions;
use rubrics::Registry;
use serde_json::{Value, json};
use serve::config::{AdapterSpec, Catalogue, ModelSpec};
use serve::keys::Keys;
use serve::{Config, State};
use tempfile::TempDir;
use tiny_models::{Preset, TinySpec};

use crate::harness::{Reply, Server};

/// A server with a model `tiny` and its adapter `strict`, and their folders.
pub(crate) struct Serving {
    pub(crate) server: Server,
    pub(crate) host: Arc<Host>,
    _folder: TempDir,
}

/// Context length of the model in tokens.
pub(crate) const CONTEXT: usize = 2048;

/// Starts a server with a model of two layers as `tiny`, after `change` of its folder.
pub(crate) fn changed(change: impl FnOnce(&Path), settings: impl FnOnce(&mut Config)) -> Serving {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let base = TinySpec::from(Preset::Qwen2);
    let path = folder.path().join("tiny");
    tiny_models::make(&path, &base).expect("a model is made");
    lengthen(&path, CONTEXT);
    change(&path);
    let adapter = folder.path().join("strict");
    let spec = tiny_models::AdapterSpec {
        seed: 1,
        r: 2,
        alpha: 64,
        targets: vec!["q_proj".to_owned(), "down_proj".to_owned()],
        rank_pattern: BTreeMap::new(),
        alpha_pattern: BTreeMap::new(),
        rslora: false,
        score_labels: None,
    };
    tiny_models::make_adapter(&adapter, &base, &spec).expect("an adapter is made");
    let mut config = Config {
        threads: 1,
        workers: 2,
        deadline: Duration::from_mins(5),
        kv_memory: 256 << 20,
        ..Config::default()
    };
    settings(&mut config);
    let catalogue = Catalogue {
        models: vec![ModelSpec {
            name: "tiny".to_owned(),
            path: Some(path.into()),
            options: LoadOptions::default(),
            calibration: None,
        }],
        adapters: vec![AdapterSpec {
            name: "strict".to_owned(),
            model: "tiny".to_owned(),
            path: adapter.into(),
            replaceable: true,
        }],
    };
    let hosts = serve::load_models(&config, &catalogue).expect("the model loads");
    let host = hosts.iter().next().expect("there is one").clone();
    let state = State::new(config, Registry::built_in(), Keys::default());
    let state = state.expect("threads start").with_hosts(hosts);
    Serving { server: Server::over(state), host, _folder: folder }
}

/// Starts a server with a model of two layers as `tiny`.
pub(crate) fn tiny() -> Serving {
    changed(|_| (), |_| ())
}

/// Sets the context length of the model in a folder.
pub(crate) fn lengthen(folder: &Path, positions: usize) {
    edit(folder, "config.json", |config| config["max_position_embeddings"] = json!(positions));
}

/// Gives the model in a folder a long context and no token that ends a text.
pub(crate) fn without_end(folder: &Path) {
    lengthen(folder, 100_000);
    edit(folder, "generation_config.json", |config| config["eos_token_id"] = json!([]));
    edit(folder, "tokenizer_config.json", |config| config["eos_token"] = Value::Null);
}

fn edit(folder: &Path, file: &str, change: impl FnOnce(&mut Value)) {
    let path = folder.join(file);
    let text = std::fs::read_to_string(&path).expect("it was made");
    let mut config: Value = serde_json::from_str(&text).expect("JSON");
    change(&mut config);
    std::fs::write(&path, config.to_string()).expect("the folder is ours");
}

impl Serving {
    pub(crate) fn chat(&self, body: &Value) -> Reply {
        self.server.post("/v1/chat/completions", body.to_string())
    }

    pub(crate) fn responses(&self, body: &Value) -> Reply {
        self.server.post("/v1/responses", body.to_string())
    }

    pub(crate) fn completions(&self, body: &Value) -> Reply {
        self.server.post("/v1/completions", body.to_string())
    }
}

/// Returns a chat request to `tiny` with further fields.
pub(crate) fn question(more: &Value) -> Value {
    let mut body = json!({
        "model": "tiny",
        "messages": [{"role": "user", "content": "What is in the sea?"}],
        "max_tokens": 24,
    });
    let fields = more.as_object().expect("fields").clone();
    body.as_object_mut().expect("an object").extend(fields);
    body
}

/// Returns a completion request to `tiny` with further fields.
pub(crate) fn beginning(more: &Value) -> Value {
    let mut body = json!({"model": "tiny", "prompt": "It was in the sea", "max_tokens": 24});
    let fields = more.as_object().expect("fields").clone();
    body.as_object_mut().expect("an object").extend(fields);
    body
}

/// Returns the body of a successful reply.
#[track_caller]
pub(crate) fn good(reply: &Reply) -> Value {
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.json()
}

/// Returns the chunks of a successful stream.
#[track_caller]
pub(crate) fn chunks(reply: &Reply) -> Vec<Value> {
    assert_eq!(reply.status, 200, "{}", reply.text);
    let events: Vec<&str> = reply.text.split_terminator("\n\n").collect();
    let (last, chunks) = events.split_last().expect("a stream has events");
    assert_eq!(*last, "data: [DONE]", "{}", reply.text);
    let chunk = |event: &&str| {
        let json = event.strip_prefix("data: ").expect("an event without a name");
        serde_json::from_str(json).expect("JSON")
    };
    chunks.iter().map(chunk).collect()
}

/// Checks status, code and param of an error.
#[track_caller]
pub(crate) fn refused(reply: &Reply, status: u16, code: &str, param: &str) {
    let found = (reply.status, reply.code());
    assert_eq!(found, (status, code.to_owned()), "{}", reply.text);
    let error = &reply.json()["error"];
    assert_eq!(error["param"].as_str().unwrap_or(""), param, "{error}");
}

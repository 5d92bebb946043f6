//! A server with models, and the rules that its replies keep.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use engine::{Capacity, Folder, Host, HostSpec, LoadOptions};
use serve::hosts::Hosts;
use serve::keys::Keys;
use serve::{Config, State};
use tiny_models::{AdapterSpec, Preset, TinyHead, TinySpec, make, make_adapter};

use super::transport;

const SCORERS: &str = "
[[scorer]]
name = 'good'
kind = 'reward'
model = 'rm'

[[scorer]]
name = 'judged'
kind = 'judge'
model = 'chat'
rationale = 'none'
min_label_mass = 0

[[scorer]]
name = 'pairs'
kind = 'judge'
model = 'chat'
mode = 'pair'
rationale = 'none'
min_label_mass = 0
inconsistent = 'average'
";

/// A reply.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: String,
}

/// A server whose files are in `folder`: models `rm` and `chat`, and an adapter that may be loaded.
pub(crate) fn state(folder: &Path) -> State {
    let spec = |head| TinySpec { head, ..TinySpec::from(Preset::Qwen2) };
    let host = |name: &str, head| {
        let path = folder.join(name);
        make(&path, &spec(head)).expect("a model");
        let capacity = Capacity {
            kv_memory: 8 << 20,
            batch_tokens: 512,
            max_sequences: 16,
            queue_tokens: 1 << 14,
        };
        let folder = Folder::directory(&path);
        let options = LoadOptions::default();
        let spec = HostSpec {
            name: name.to_owned(),
            folder,
            options,
            device: engine::Device::Cpu,
            capacity,
        };
        Arc::new(Host::load(&spec).expect("it loads"))
    };
    let hosts = vec![host("rm", TinyHead::Sequence), host("chat", TinyHead::Vocab)];
    let adapters = folder.join("adapters");
    let adapter = AdapterSpec {
        seed: 7,
        r: 2,
        alpha: 4,
        targets: vec!["q_proj".to_owned()],
        rank_pattern: BTreeMap::new(),
        alpha_pattern: BTreeMap::new(),
        rslora: false,
        score_labels: None,
    };
    std::fs::create_dir(&adapters).expect("a temporary folder takes folders");
    make_adapter(&adapters.join("a"), &spec(TinyHead::Vocab), &adapter).expect("an adapter");
    let mut config = Config { threads: 1, workers: 1, ..Config::default() };
    let (registry, problems) =
        serve::config::read_text_with("fuzz.toml", SCORERS, &mut config, &["rm", "chat"]);
    assert!(problems.is_empty(), "{problems:?}");
    config.compat_scorer = Some("math".to_owned());
    config.compat_adapters = Some(adapters);
    config.batches_folder = Some(folder.join("batches"));
    config.deadline = Duration::from_secs(5);
    config.max_body = 1 << 20;
    let state = State::new(config, registry, Keys::default()).expect("threads start");
    state.with_hosts(Hosts::new(hosts))
}

/// Sends a request; the reply breaks no rule of all routes.
pub(crate) fn send(method: &str, path: &str, kind: &str, body: &[u8]) -> Reply {
    let (status, text) = transport::exchange(method, path, kind, body);
    assert!(status < 500 || matches!(status, 503 | 504), "{method} {path}: {status} {text}");
    let repeats = body.windows(14).any(|window| window == b"internal_error");
    assert!(repeats || !text.contains("internal_error"), "{method} {path}: {text}");
    Reply { status, body: text }
}

//! Tiny models for servers of tests.

use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use engine::{Capacity, Folder, Host, HostSpec};
use models::LoadOptions;
use serde_json::Value;
use tiny_models::{AdapterSpec, Preset, TinySpec, make, make_adapter};

/// Positions of the test models; those of the presets would hold a few sentences.
const POSITIONS: u64 = 4096;

/// Makes a tiny Qwen2 with random weights. Its tokenizer has little more than bytes: letters and
/// digits are one token each, and `Yes` is three.
pub(crate) fn tiny(name: &str) -> Arc<Host> {
    let folder = tempfile::tempdir().expect("a folder");
    load(&made(folder.path()), name, |_| ())
}

/// Makes the model of [`tiny`] with a random adapter.
pub(crate) fn tiny_with_adapter(name: &str, adapter: &str) -> Arc<Host> {
    let folder = tempfile::tempdir().expect("a folder");
    let host = load(&made(folder.path()), name, |_| ());
    let spec = AdapterSpec {
        seed: 7,
        r: 4,
        alpha: 64,
        targets: vec!["q_proj".to_owned(), "down_proj".to_owned()],
        rank_pattern: std::collections::BTreeMap::new(),
        alpha_pattern: std::collections::BTreeMap::new(),
        rslora: false,
        score_labels: None,
    };
    let dir = folder.path().join("adapter");
    make_adapter(&dir, &TinySpec::from(Preset::Qwen2), &spec).expect("an adapter");
    block_on(host.load_adapter(adapter, &dir)).expect("it loads");
    host
}

/// Makes a folder with the model of [`tiny`].
pub(crate) fn made(below: &Path) -> std::path::PathBuf {
    let dir = below.join("model");
    make(&dir, &TinySpec::from(Preset::Qwen2)).expect("a model");
    let file = dir.join("config.json");
    let text = std::fs::read_to_string(&file).expect("it was just made");
    let mut config: Value = serde_json::from_str(&text).expect("JSON");
    config["max_position_embeddings"] = POSITIONS.into();
    std::fs::write(&file, config.to_string()).expect("it can be written");
    dir
}

/// Loads a folder with changed limits.
pub(crate) fn load(dir: &Path, name: &str, change: impl FnOnce(&mut HostSpec)) -> Arc<Host> {
    let mut spec = HostSpec {
        name: name.to_owned(),
        folder: Folder::directory(dir),
        options: LoadOptions::default(),
        device: engine::Device::Cpu,
        capacity: Capacity {
            kv_memory: 64 << 20,
            batch_tokens: 512,
            max_sequences: 64,
            queue_tokens: 1 << 18,
        },
    };
    change(&mut spec);
    Arc::new(Host::load(&spec).expect("it loads"))
}

/// Waits for a future on this thread.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park(),
        }
    }
}

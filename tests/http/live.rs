//! Models that are trained while they are served: every verdict names its weights revision, and
//! none is older than the current one.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};

use engine::{Capacity, Folder, Host, LiveSpec, Tokenizer};
use models::weights::{Checkpoint, FileWeights, Names, Storage};
use models::{LiveModel, Model};
use serde_json::{Value, json};
use serve::hosts::Hosts;
use serve::keys::Keys;
use serve::{Config, State};
use testkit::fake::{self, Script};
use tiny_models::{Preset, TinyHead, TinySpec, make};

use crate::harness::Server;
use crate::models::{block_on, load};
use crate::serving::good;

fn folder(below: &Path, head: TinyHead) -> std::path::PathBuf {
    let dir = below.join(head.name());
    let spec = TinySpec { head, ..TinySpec::from(Preset::Qwen2) };
    make(&dir, &spec).expect("a model");
    crate::serving::lengthen(&dir, 4096);
    dir
}

/// Makes a model in training from a folder.
fn live(dir: &Path, name: &str) -> (Arc<Host>, LiveModel) {
    let folder = Folder::directory(dir);
    let model = Model::load(dir, &models::LoadOptions::default()).expect("it was made");
    let checkpoint = Arc::new(Checkpoint::of_folder(&folder).expect("it was made"));
    let names = Names::new(&model.config, |name| checkpoint.has(name));
    let source = FileWeights::new(&checkpoint, &model.config, Storage::F32);
    let live = LiveModel::new(&model.config, source, &names).expect("floats have gradients");
    let host = Host::live(LiveSpec {
        name: name.to_owned(),
        config: model.config,
        view: live.detached.clone(),
        card: None,
        tokenizer: Arc::new(Tokenizer::of_folder(&folder).expect("it was made")),
        digest: model.digest,
        capacity: Capacity {
            kv_memory: 64 << 20,
            batch_tokens: 512,
            max_sequences: 64,
            queue_tokens: 1 << 18,
        },
    });
    (Arc::new(host.expect("they fit")), live)
}

/// Takes a training step that changes every weight.
fn step(host: &Host, live: &LiveModel) -> u64 {
    let write = || {
        for variable in live.variables.values() {
            let moved = variable.as_detached_tensor().affine(0.9, 0.01);
            let written = moved.and_then(|moved| variable.set(&moved));
            written.expect("the shapes are equal");
        }
    };
    let updated = block_on(host.engine.update_weights(write));
    updated.expect("the engine goes on").revision
}

/// Starts a server with one verifier thread, which makes prompts in the order of inputs.
fn server(hosts: Vec<Arc<Host>>) -> Server {
    let config = Config { threads: 1, workers: 2, ..Config::default() };
    let state = State::new(config, rubrics::Registry::built_in(), Keys::default());
    let state = state.expect("threads start");
    Server::over(state.with_hosts(Hosts::new(hosts)))
}

fn input() -> Value {
    json!({ "prompt": "How much?", "response": "Two." })
}

#[test]
fn verdict_names_its_revision_and_is_never_older() {
    let below = tempfile::tempdir().expect("a folder");
    let dir = folder(below.path(), TinyHead::Sequence);
    let (host, live) = live(&dir, "policy");
    let loaded = load(&dir, "loaded", |_| ());
    let server = server(vec![host.clone(), loaded.clone()]);
    let fixed = server.verdict("loaded", input());
    assert_eq!(fixed["digests"].get("revisions"), None);
    let mut raws = vec![fixed["raw"].clone()];
    for revision in 0..3 {
        let first = server.verdict("policy", input());
        assert_eq!(first["status"], "ok", "{first}");
        let digest = format!("live:{}", loaded.digest);
        assert_eq!(first["digests"]["model"], digest);
        assert_eq!(first["digests"]["revisions"], json!([revision, revision]));
        assert_eq!(first["cached"], false);
        // Training starts from the loaded weights, which differ after each step.
        assert_eq!(raws.contains(&first["raw"]), revision == 0, "{raws:?}");
        let again = server.verdict("policy", input());
        assert_eq!(again["cached"], true);
        for field in ["raw", "score", "digests"] {
            assert_eq!(again[field], first[field]);
        }
        raws.push(first["raw"].clone());
        assert_eq!(step(&host, &live), revision + 1);
    }
    assert_eq!(server.verdict("loaded", input())["cached"], true);
}

#[test]
fn texts_decisions_and_models_name_the_revision() {
    let below = tempfile::tempdir().expect("a folder");
    let dir = folder(below.path(), TinyHead::Vocab);
    let (host, live) = live(&dir, "policy");
    let server = server(vec![host.clone(), load(&dir, "loaded", |_| ())]);
    let chat = |model: &str| {
        let body = json!({
            "model": model,
            "messages": [{"role": "user", "content": "What is in the sea?"}],
            "max_tokens": 4,
        });
        good(&server.post("/v1/chat/completions", body.to_string()))
    };
    let decision = |model: &str| {
        let body = json!({
            "model": model,
            "input": "The sky is blue.",
            "questions": [{"type": "predicate", "name": "sky", "instructions": "Is it about the sky?"}],
        });
        good(&server.post("/v1/decisions", body.to_string()))
    };
    let listed = |model: &str| {
        let list = good(&server.get("/v1/models"));
        let data = list["data"].as_array().expect("a list").clone();
        let found = data.into_iter().find(|entry| entry["id"] == model);
        found.expect("it is served")["digests"].clone()
    };
    assert_eq!(listed("loaded").get("revision"), None);
    for reply in [chat("loaded"), decision("loaded")] {
        assert_eq!(reply["tribunal"]["digests"].get("revisions"), None);
    }
    let mut fingerprints = Vec::new();
    for revision in 0..2 {
        let text = chat("policy");
        for reply in [&text, &decision("policy")] {
            let digests = &reply["tribunal"]["digests"];
            assert_eq!(digests["revisions"], json!([revision, revision]));
        }
        assert_eq!(listed("policy")["revision"], revision);
        fingerprints.push(text["system_fingerprint"].clone());
        step(&host, &live);
    }
    assert_ne!(fingerprints[0], fingerprints[1]);
}

/// A reward model whose output is its weights revision, computed when the test opens the gate.
struct Gated {
    weights: Arc<AtomicU64>,
    stands: mpsc::Sender<()>,
    gate: mpsc::Receiver<()>,
}

impl Script for Gated {
    fn logits(&self, _: &[u32]) -> Vec<f32> {
        unreachable!("only the head is read")
    }

    fn head(&self, _: &[u32]) -> Vec<f32> {
        let weights = self.weights.load(Ordering::SeqCst);
        // Once the test has dropped the sender, the gate is open.
        let _ = self.stands.send(());
        let _ = self.gate.recv();
        vec![f32::from(u16::try_from(weights).expect("few changes"))]
    }
}

/// The first of a request's two inputs is judged before an update and the second after it. Neither
/// verdict is cached, and a concurrent request that waits for the first gets one of the new
/// weights.
#[test]
fn verdict_across_an_update_is_not_cached() {
    let below = tempfile::tempdir().expect("a folder");
    let dir = folder(below.path(), TinyHead::Sequence);
    let weights = Arc::new(AtomicU64::new(0));
    let ((say, stands), (gate, opens)) = (mpsc::channel(), mpsc::channel());
    let script = Gated { weights: weights.clone(), stands: say, gate: opens };
    let host = Arc::new(fake::host("policy", &dir, |_| script).expect("a model"));
    // Outputs from now on name the new weights.
    let write = |to| move |weights: &AtomicU64| weights.store(to, Ordering::SeqCst);
    block_on(host.engine.update_weights(|| write(1)(&weights))).expect("it goes on");
    let server = server(vec![host.clone()]);
    // More tokens than a step holds, so that the long one ends in a later step than the short one.
    let of = |n: usize| json!({ "prompt": "How much?", "response": "7".repeat(n) });
    let (short, long) = (of(100), of(6000));
    let verdict = |reply: &Value, at: usize| {
        let result = &reply["results"][at];
        assert_eq!(result["status"], "ok", "{result}");
        let revisions = result["digests"]["revisions"].clone();
        (result["raw"].clone(), revisions, result["cached"].clone())
    };
    let under = |revision: u64, cached: bool| {
        let raw = json!(f64::from(u16::try_from(revision).expect("few changes")));
        (raw, json!([revision, revision]), json!(cached))
    };
    std::thread::scope(|scope| {
        let (server, short, long) = (&server, &short, &long);
        let both = scope.spawn(move || {
            let inputs = [short.clone(), long.clone()];
            good(&server.score(&json!({ "model": "policy", "inputs": inputs })))
        });
        stands.recv().expect("the short one is about to be read");
        let waits = scope.spawn(move || {
            let body = json!({ "model": "policy", "inputs": [short.clone()] });
            good(&server.score(&body))
        });
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let runtime = runtime.expect("a runtime");
        let changing = runtime.spawn({
            let (host, weights) = (host.clone(), weights.clone());
            async move { host.engine.update_weights(|| write(2)(&weights)).await }
        });
        runtime.block_on(tokio::task::yield_now());
        drop((gate, stands));
        let changed = runtime.block_on(changing).expect("it ran");
        assert_eq!(changed.expect("it goes on").revision, 2);
        let both = both.join().expect("it is answered");
        assert_eq!(verdict(&both, 0), under(1, false));
        assert_eq!(verdict(&both, 1), under(2, false));
        let waits = waits.join().expect("it is answered");
        let (raw, revisions, _) = verdict(&waits, 0);
        assert_eq!((raw, revisions), (json!(2.0), json!([2, 2])));
    });
    // The waiting request judged for itself; whether its outcome is cached depends on its time.
    for input in [&short, &long] {
        let body = json!({ "model": "policy", "inputs": [input] });
        let (raw, revisions, _) = verdict(&good(&server.score(&body)), 0);
        assert_eq!((raw, revisions), (json!(2.0), json!([2, 2])));
        assert_eq!(verdict(&good(&server.score(&body)), 0), under(2, true));
    }
}

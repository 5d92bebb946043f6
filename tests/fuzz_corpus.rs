//! The kept inputs of the fuzz targets of `fuzz/`, through the same functions, without a fuzzer.
//!
//! Each target has five seconds for all of its inputs, and may not grow beyond its memory.

#[path = "../fuzz/entries/adapter.rs"]
mod adapter;
#[path = "../fuzz/entries/batch.rs"]
mod batch;
#[path = "../fuzz/entries/body.rs"]
mod body;
#[path = "../fuzz/entries/folder.rs"]
mod folder;
#[path = "../fuzz/entries/grammar.rs"]
mod grammar;
#[path = "../fuzz/entries/safetensors.rs"]
mod safetensors;
#[path = "../fuzz/entries/server.rs"]
mod server;
#[path = "../fuzz/entries/template.rs"]
mod template;
#[path = "../fuzz/entries/tokenizer.rs"]
mod tokenizer;
#[path = "../fuzz/entries/loopback.rs"]
mod transport;

use std::path::Path;
use std::time::{Duration, Instant};

/// Time for the inputs of a target.
const LIMIT: Duration = Duration::from_secs(5);

/// Resident memory of this process with all targets in it.
const MOST_BYTES: u64 = 2 << 30;

fn inputs(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    let entries = std::fs::read_dir(&folder).expect("the corpus is committed");
    let mut inputs: Vec<_> = entries
        .map(|entry| {
            let path = entry.expect("it can be read").path();
            let name = path.file_name().expect("a file").to_string_lossy().into_owned();
            (name, std::fs::read(path).expect("it can be read"))
        })
        .collect();
    inputs.sort();
    inputs
}

fn check(target: &str, run: impl Fn(&[u8])) {
    let inputs = inputs(target);
    assert!(inputs.len() >= 10, "{target} has {} inputs", inputs.len());
    // The first run makes models and starts servers.
    run(&inputs[0].1);
    let begun = Instant::now();
    let mut longest = (Duration::ZERO, "");
    for (name, bytes) in &inputs {
        let started = Instant::now();
        run(bytes);
        longest = longest.max((started.elapsed(), name));
    }
    let took = begun.elapsed();
    assert!(took < LIMIT, "{target}: {took:?}, {longest:?} longest");
    let peak = base::memory::peak_resident_bytes();
    assert!(peak.is_none_or(|peak| peak < MOST_BYTES), "{target}: {peak:?} bytes");
}

#[test]
fn kept_adapter_configurations_are_read_or_refused() {
    check("adapter", adapter::run);
}

#[test]
fn kept_batches_end_with_every_line() {
    check("batch", batch::run);
}

#[test]
fn kept_bodies_are_answered_or_refused() {
    check("body", body::run);
}

#[test]
fn kept_grammars_are_walked_or_refused() {
    check("grammar", grammar::run);
}

#[test]
fn kept_weight_files_are_read_or_refused() {
    check("safetensors", safetensors::run);
}

#[test]
fn kept_templates_render_or_are_refused() {
    check("template", template::run);
}

#[test]
fn kept_tokenizers_encode_or_are_refused() {
    check("tokenizer", tokenizer::run);
}

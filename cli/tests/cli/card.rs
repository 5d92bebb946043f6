//! Models on a card: the emulated driver, which the program finds by the name of a real one.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use gpu_emulated::Emulator;
use serde_json::{Value, json};
use tiny_models::{Preset, TinyHead, TinySpec};

use crate::program::{Folder, Ran, command, tribunal};
use crate::serve::Server;

/// None, and a line about it, where there is no C++ compiler.
fn emulator() -> Option<&'static Emulator> {
    let emulator = Emulator::get(Path::new(env!("CARGO_TARGET_TMPDIR")));
    if emulator.is_none() {
        println!("skipped: no C++ compiler (g++ or clang++) for Linux on x86-64");
    }
    emulator
}

/// Where a program finds the driver, and where it keeps kernels.
fn prepare<'c>(command: &'c mut Command, emulator: &Emulator, folder: &Folder) -> &'c mut Command {
    command.env("LD_LIBRARY_PATH", emulator.folder()).env("XDG_CACHE_HOME", folder.path("cache"))
}

/// A folder with a reward model and a configuration that scores with it.
fn configured() -> (Folder, String) {
    let folder = Folder::new();
    let spec = TinySpec { head: TinyHead::Sequence, ..TinySpec::from(Preset::Qwen2) };
    tiny_models::make(&folder.path("model"), &spec).expect("a tiny model can be made");
    let config = "[engine]\nkv_memory = \"1MiB\"\nbatch_tokens = 256\n\
                  [[model]]\nname = \"rm\"\npath = \"model\"\n\
                  [[scorer]]\nname = \"reward\"\nkind = \"reward\"\nmodel = \"rm\"\n";
    let config = folder.write("tribunal.toml", config);
    (folder, config)
}

fn rows() -> [Value; 3] {
    ["18", "So the answer is 18.", "I do not know"]
        .map(|response| json!({ "prompt": "What is 9 + 9?", "response": response }))
}

/// The raw values that a server gives; `None` where there is no verdict.
fn scores(server: &Server) -> Vec<Option<f64>> {
    let body = json!({ "model": "reward", "inputs": rows() }).to_string();
    let agent = ureq::Agent::config_builder().http_status_as_error(false).build();
    let agent = ureq::Agent::from(agent);
    let sent = agent.post(format!("{}/v1/score", server.url)).content_type("application/json");
    let mut reply = sent.send(body).expect("it listens");
    let reply: Value =
        serde_json::from_str(&reply.body_mut().read_to_string().expect("text")).expect("JSON");
    let results = reply["results"].as_array().expect("results").iter();
    results.map(|result| result["score"].as_f64()).collect()
}

#[test]
fn a_card_serves_and_scores_as_the_processor_does() {
    let Some(emulator) = emulator() else { return };
    let (folder, config) = configured();
    let processor = scores(&Server::start(&["--config", &config]));
    let args = ["--config", config.as_str(), "--device", "cuda:0"];
    let server = Server::start_with(&args, |command| {
        prepare(command, emulator, &folder);
    });
    let card = scores(&server);
    assert_eq!(card.len(), processor.len());
    for (card, processor) in card.iter().zip(&processor) {
        let (card, processor) = (card.expect("a score"), processor.expect("a score"));
        assert!(
            (card - processor).abs() < 0.02 && card.to_bits() != processor.to_bits(),
            "{card} {processor}"
        );
    }
    assert!(folder.path("cache/tribunal/kernels").is_dir());
    let lines: Vec<String> = rows().iter().map(Value::to_string).collect();
    let input = folder.write("rows.jsonl", lines.join("\n") + "\n");
    let output = folder.name("scored.jsonl");
    let mut scoring = command(["score", &input, "-o", &output, "--scorer", "reward"]);
    scoring.args(args);
    let ran: Ran = prepare(&mut scoring, emulator, &folder).output().expect("it starts").into();
    ran.ends(0);
    let scored = folder.rows("scored.jsonl");
    let scored: Vec<Option<f64>> =
        scored.iter().map(|row| row["scores"]["reward"]["score"].as_f64()).collect();
    assert_eq!(scored, card);
}

#[test]
fn a_lost_card_ends_readiness() {
    let Some(emulator) = emulator() else { return };
    let (folder, config) = configured();
    let server = Server::start_with(&["--config", &config, "--device", "cuda:0"], |command| {
        // The first kernel takes the card with it.
        prepare(command, emulator, &folder).env("TRIBUNAL_EMULATED_FAIL", "0:2:0");
    });
    assert_eq!(scores(&server), [None; 3]);
    let agent = ureq::Agent::config_builder().http_status_as_error(false).build();
    let agent = ureq::Agent::from(agent);
    let begun = Instant::now();
    for path in ["readyz", "livez"] {
        let url = format!("{}/{path}", server.url);
        let status = || agent.get(&url).call().expect("it listens").status().as_u16();
        while status() != 503 {
            assert!(begun.elapsed() < Duration::from_secs(20), "{path} does not turn");
        }
    }
}

#[test]
fn devices_that_cannot_be_used_are_explained() {
    let (folder, config) = configured();
    let args = |device: &'static str| ["serve", "--config", &config, "--device", device];
    tribunal(args("gpu")).ends(2).says(&["--device", "cuda:0"]);
    let Some(emulator) = emulator() else { return };
    let check = |device, expected: &[&str]| {
        let mut command = command(args(device));
        let output = prepare(&mut command, emulator, &folder).output().expect("it starts");
        Ran::from(output).ends(1).says(expected);
    };
    check("cuda:3", &["cannot start", "compute capability 7.5"]);
    check("cuda:700", &["no card cuda:700", "cards, cuda:0 to"]);
    let mut doctor = command(["doctor"]);
    let ran: Ran = prepare(&mut doctor, emulator, &folder).output().expect("it starts").into();
    assert!(ran.stdout.contains("cuda:0 emulated card 0 (9.0, 4 GiB)"), "{}", ran.stdout);
}

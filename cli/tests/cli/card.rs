//! Models on a card: the emulated driver, which the program finds by the name of a real one.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use gpu_emulated::Emulator;
use models::weights::FloatType;
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

/// A folder with a reward model of bf16 and a configuration that scores with it, however slowly.
fn configured() -> (Folder, String) {
    let folder = Folder::new();
    let (head, storage) = (TinyHead::Sequence, FloatType::Bf16);
    let spec = TinySpec { head, storage, ..TinySpec::from(Preset::Qwen2) };
    tiny_models::make(&folder.path("model"), &spec).expect("a tiny model can be made");
    let config = "[limits]\ndeadline = \"10m\"\n\
                  [engine]\nkv_memory = \"1MiB\"\nbatch_tokens = 256\n\
                  [[model]]\nname = \"rm\"\npath = \"model\"\n\
                  [[scorer]]\nname = \"reward\"\nkind = \"reward\"\nmodel = \"rm\"\n";
    let config = folder.write("tribunal.toml", config);
    (folder, config)
}

/// Short and long texts, so that scores are far apart.
fn rows() -> Vec<Value> {
    let responses = ["18", "So the answer is 18.", "I do not know", "?", "9 + 9 = 18 = 2 * 9"];
    let row = |response| json!({ "prompt": "What is 9 + 9?", "response": response });
    responses.into_iter().map(row).collect()
}

/// What a server says of the rows.
fn scores(server: &Server) -> Vec<Value> {
    let body = json!({ "model": "reward", "inputs": rows() }).to_string();
    let agent = ureq::Agent::config_builder().http_status_as_error(false).build();
    let agent = ureq::Agent::from(agent);
    let sent = agent.post(format!("{}/v1/score", server.url)).content_type("application/json");
    let mut reply = sent.send(body).expect("it listens");
    let reply: Value =
        serde_json::from_str(&reply.body_mut().read_to_string().expect("text")).expect("JSON");
    reply["results"].as_array().unwrap_or_else(|| unreachable!("{reply}")).clone()
}

/// The logits of results.
#[track_caller]
fn logits(results: &[Value]) -> Vec<f64> {
    let logit = |result: &Value| result["raw"].as_f64().unwrap_or_else(|| unreachable!("{result}"));
    results.iter().map(logit).collect()
}

#[test]
fn a_card_serves_and_scores_as_the_processor_does() {
    let Some(emulator) = emulator() else { return };
    let (folder, config) = configured();
    let processor = logits(&scores(&Server::start(&["--config", &config])));
    let args = ["--config", config.as_str(), "--device", "cuda:0"];
    let server = Server::start_with(&args, |command| {
        prepare(command, emulator, &folder);
    });
    let results = scores(&server);
    let card = logits(&results);
    assert_eq!(card.len(), processor.len());
    let spread = |values: &[f64]| {
        let [least, most] =
            values.iter().fold([f64::MAX, f64::MIN], |[a, b], x| [a.min(*x), b.max(*x)]);
        most - least
    };
    // The processor computes in f32: at least one of the values was rounded elsewhere.
    let apart = card.iter().zip(&processor).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(apart > 0.0 && apart < 0.05 * spread(&processor), "{card:?} {processor:?}");
    assert!(folder.path("cache/tribunal/kernels").is_dir());
    let lines: Vec<String> = rows().iter().map(Value::to_string).collect();
    let input = folder.write("rows.jsonl", lines.join("\n") + "\n");
    let output = folder.name("scored.jsonl");
    let mut scoring = command(["score", &input, "-o", &output, "--scorer", "reward"]);
    scoring.args(args);
    let ran: Ran = prepare(&mut scoring, emulator, &folder).output().expect("it starts").into();
    ran.ends(0);
    let scored = folder.rows("scored.jsonl");
    let of = |result: &Value| result["score"].as_f64().unwrap_or_else(|| unreachable!("{result}"));
    let scored: Vec<f64> = scored.iter().map(|row| of(&row["scores"]["reward"])).collect();
    assert_eq!(scored, results.iter().map(of).collect::<Vec<_>>());
}

#[test]
fn memory_of_a_configuration_is_the_cards() {
    let Some(emulator) = emulator() else { return };
    let (folder, _) = configured();
    // All that is free, with the settings of cards; and what is given.
    for (settings, kv) in
        [("", 1 << 30..4 << 30), ("kv_memory = \"1MiB\"\n", 1 << 20..(1 << 20) + 1)]
    {
        let config = format!(
            "[engine]\ndevice = \"cuda:0\"\n{settings}[[model]]\nname = \"rm\"\npath = \"model\"\n"
        );
        let config = folder.write("card.toml", config);
        let mut doctor = command(["doctor", "--config", &config, "--json"]);
        let ran = prepare(&mut doctor, emulator, &folder).output().expect("it starts");
        let ran = Ran::from(ran).ends(0);
        let found = crate::program::rows(ran.stdout.lines().last().expect("output")).remove(0);
        let bytes = |of: &Value, name: &str| {
            let parts = of["parts"].as_array().expect("a list").iter();
            parts.filter(|part| part["name"] == name).find_map(|part| part["bytes"].as_u64())
        };
        let card = &found["card"];
        assert_eq!(card["device"], "cuda:0 (emulated card 0)");
        for name in ["weights of rm", "steps of rm"] {
            assert!(bytes(card, name) > Some(0) && bytes(&found, name).is_none(), "{found}");
        }
        assert!(kv.contains(&bytes(card, "KV cache of rm").expect("it is listed")), "{found}");
        assert!(bytes(&found, "texts being encoded").is_some(), "{found}");
        assert!(card["total_bytes"].as_u64() < card["limit_bytes"].as_u64(), "{found}");
        assert_eq!(card["ok"], true);
        assert!(ran.stdout.contains("memory of cuda:0 (emulated card 0)"), "{}", ran.stdout);
    }
}

#[test]
fn engine_is_measured_on_a_card() {
    let Some(emulator) = emulator() else { return };
    let folder = Folder::new();
    tiny_models::make(&folder.path("model"), &TinySpec::from(Preset::Qwen2)).expect("it is made");
    let model = folder.name("model");
    let bench = |args: &[&str]| {
        let all = ["bench", "engine", "--json", "--device", "cuda:0", "--model", &model];
        let mut bench = command(all.iter().chain(args));
        let ran = prepare(&mut bench, emulator, &folder).output().expect("it starts");
        let ran = Ran::from(ran).ends(0);
        let summary = crate::program::rows(ran.stdout.lines().last().expect("output")).remove(0);
        assert_eq!(summary["device"], "cuda:0 (emulated card 0)");
        assert_eq!(summary["numerics"], "cuda-sm90-bf16-1");
        summary
    };
    let short = ["--short", "--rounds", "1", "--kv-tokens", "2048"];
    // Answers of the engine have the bits of the forward alone on the card, too.
    let few = ["--batch-tokens", "64", "--workload", "flat", "--http"];
    let flat = bench(&[&short[..], &few].concat());
    assert_eq!(flat["flat"]["same_bits"], true, "{flat}");
    assert!(flat["http"]["computed_tokens"].as_u64() > Some(0), "{flat}");
    let all = ["--batch-tokens", "256", "--workload", "decode"];
    let decode = bench(&[&short[..], &all].concat());
    assert_eq!(decode["decode"]["same_bits"], true, "{decode}");
    let sizes = ["--raw", "--prompt-tokens", "16", "--decode-steps", "2", "--context-tokens", "8"];
    let raw = bench(&[&sizes[..], &["--repeats", "1", "--adapters", "2", "--rank", "4"]].concat());
    assert!(raw["adapted"]["tokens_per_s"].as_f64() > Some(0.0), "{raw}");
    let mut scorers = command(["bench", "scorers", "--device", "cuda:0", "--json"]);
    scorers.args(["--workload", "reward", "--inputs", "2", "--rounds", "1", "--kv-mib", "1"]);
    let ran = prepare(&mut scorers, emulator, &folder).output().expect("it starts");
    Ran::from(ran).ends(0);
}

#[test]
fn a_lost_card_ends_readiness() {
    let Some(emulator) = emulator() else { return };
    let (folder, config) = configured();
    let server = Server::start_with(&["--config", &config, "--device", "cuda:0"], |command| {
        // The first kernel takes the card with it.
        prepare(command, emulator, &folder).env("TRIBUNAL_EMULATED_FAIL", "0:2:0");
    });
    let results = scores(&server);
    assert!(results.iter().all(|result| result["score"].is_null()), "{results:?}");
    let agent = ureq::Agent::config_builder().http_status_as_error(false).build();
    let agent = ureq::Agent::from(agent);
    let begun = Instant::now();
    for path in ["readyz", "livez"] {
        let url = format!("{}/{path}", server.url);
        let status = || agent.get(&url).call().expect("it listens").status().as_u16();
        while status() != 503 {
            assert!(begun.elapsed() < Duration::from_mins(2), "{path} does not turn");
        }
    }
}

#[test]
fn devices_that_cannot_be_used_are_explained() {
    let (folder, config) = configured();
    let args = |device: &'static str| {
        ["serve", "--bind", "127.0.0.1:0", "--config", &config, "--device", device]
    };
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
    for part in ["cuda:0 emulated card 0 (9.0, 4 GiB)", "\"auto\" is cpu: no kernel"] {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
}

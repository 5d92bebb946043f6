//! `tribunal doctor`.

use std::path::Path;

use serde_json::Value;
use tiny_models::{Preset, TinyHead, TinySpec};

use crate::program::{Folder, Ran, rows, tribunal};

/// A model folder of a test, made in it.
fn made(folder: &Folder, name: &str, spec: &TinySpec) -> String {
    tiny_models::make(&folder.path(name), spec).expect("a tiny model can be made");
    folder.name(name)
}

fn findings(ran: &Ran) -> Value {
    let last = ran.stdout.lines().last().expect("output");
    rows(last).remove(0)
}

/// The status and the detail of a check of the first model.
#[track_caller]
fn check(found: &Value, name: &str) -> (String, String) {
    let checks = found["models"][0]["checks"].as_array().expect("a list");
    let check = checks.iter().find(|check| check["name"] == name);
    let check = check.unwrap_or_else(|| unreachable!("{name} is missing: {found:#}"));
    let text = |field: &str| check[field].as_str().expect("a text").to_owned();
    (text("status"), text("detail"))
}

#[test]
fn without_model_flag_a_tiny_model_is_checked() {
    let ran = tribunal(["doctor", "--json"]).ends(0);
    let found = findings(&ran);
    assert_eq!(found["ok"], true, "{found:#}");
    assert_eq!(found["models"][0]["made"], true);
    for name in [
        "configuration",
        "tokenizer",
        "weights",
        "finite",
        "alone = batch",
        "hit = miss",
        "decode = prefill",
        "beside adapters",
    ] {
        assert_eq!(check(&found, name).0, "ok", "{found:#}");
    }
    // A machine with a card, or without: both are fine.
    assert_eq!(found["gpu"]["status"], "ok", "{found:#}");
    assert!(found["gpu"]["detail"].as_str().is_some_and(|text| text.contains("CUDA")), "{found:#}");
    let device = found["device"]["detail"].as_str().expect("a text");
    assert!(device.starts_with("\"auto\" is cpu: "), "{device}");
    // Code is run under these at least, or not at all.
    let sandbox = &found["sandbox"];
    let detail = sandbox["detail"].as_str().expect("a text");
    let is_expected = match sandbox["status"].as_str() {
        Some("ok") => detail.contains("limits") && detail.contains("seccomp"),
        status => status == Some("skipped") && detail.starts_with("no code is run: "),
    };
    assert!(is_expected, "{sandbox}");
    let holds = &found["models"][0]["holds"];
    for number in ["weight_bytes", "kv_bytes_per_token"] {
        assert!(holds[number].as_u64() > Some(0), "{holds}");
    }
    let made = found["models"][0]["path"].as_str().expect("a path");
    assert!(!Path::new(made).exists(), "it is removed afterwards");
    assert!(ran.stdout.contains("Everything is ok."), "{}", ran.stdout);
}

#[test]
fn models_of_every_family_and_head_pass() {
    let folder = Folder::new();
    let mut args = vec!["doctor".to_owned(), "--json".to_owned()];
    let families = Preset::ALL.into_iter().filter(|preset| !preset.is_published_size());
    let specs = families.map(TinySpec::from).chain([
        TinySpec { head: TinyHead::Process, ..Preset::Qwen2.into() },
        TinySpec {
            head: TinyHead::Sequence,
            storage: models::weights::FloatType::F16,
            ..Preset::Llama.into()
        },
        TinySpec { head: TinyHead::Value, ..Preset::Qwen3.into() },
    ]);
    for (at, spec) in specs.enumerate() {
        let dir = made(&folder, &at.to_string(), &spec);
        args.extend(["--model".to_owned(), dir]);
    }
    let found = findings(&tribunal(&args).ends(0));
    assert_eq!(found["ok"], true, "{found:#}");
    let models = found["models"].as_array().expect("a list");
    assert_eq!(models.len(), args.len() / 2 - 1);
    let skipped = |model: &Value| {
        let checks = model["checks"].as_array().expect("a list").iter();
        checks.filter(|check| check["status"] == "skipped").count()
    };
    let without_vocabulary = models.iter().filter(|model| skipped(model) == 1).count();
    assert_eq!(without_vocabulary, 2, "the heads of steps and of sequences");
}

/// Spoils a made model, and says which check fails and what it names.
#[track_caller]
fn fails(spoil: impl FnOnce(&Path), name: &str, named: &[&str]) {
    let folder = Folder::new();
    let dir = made(&folder, "model", &Preset::Qwen2.into());
    spoil(Path::new(&dir));
    let ran = tribunal(["doctor", "--model", &dir, "--json"]).ends(1);
    assert!(ran.stdout.contains("FAILED"), "{}", ran.stdout);
    let found = findings(&ran);
    assert_eq!(found["ok"], false);
    let (status, detail) = check(&found, name);
    assert_eq!(status, "failed", "{found:#}");
    for part in named {
        assert!(detail.contains(part), "{part:?} is missing: {detail}");
    }
}

/// Overwrites the last number of the weights.
fn last_number(dir: &Path, number: f32) {
    let path = dir.join("model.safetensors");
    let mut bytes = std::fs::read(&path).expect("weights");
    let at = bytes.len() - 4;
    bytes[at..].copy_from_slice(&number.to_le_bytes());
    std::fs::write(&path, bytes).expect("the folder is ours");
}

#[test]
fn broken_model_is_reported_with_its_fault() {
    let weights = "model.safetensors";
    fails(
        |dir| {
            let path = dir.join(weights);
            let bytes = std::fs::read(&path).expect("weights");
            std::fs::write(&path, &bytes[..bytes.len() / 2]).expect("the folder is ours");
        },
        "weights",
        &[weights],
    );
    fails(
        |dir| std::fs::write(dir.join(weights), "{}").expect("the folder is ours"),
        "weights",
        &[weights],
    );
    fails(|dir| last_number(dir, f32::NAN), "weights", &[weights, "tensor `", "NaN"]);
    fails(
        |dir| std::fs::remove_file(dir.join("tokenizer.json")).expect("the folder is ours"),
        "tokenizer",
        &["tokenizer.json"],
    );
    fails(
        |dir| std::fs::remove_file(dir.join("config.json")).expect("the folder is ours"),
        "configuration",
        &["config.json"],
    );
    // Every number is finite, and what comes of them is not.
    fails(|dir| last_number(dir, f32::MAX), "finite", &["at position"]);
}

#[test]
fn a_model_that_fails_leaves_the_others_alone() {
    let folder = Folder::new();
    let (bad, good) =
        (made(&folder, "bad", &Preset::Qwen2.into()), made(&folder, "good", &Preset::Qwen3.into()));
    std::fs::remove_file(folder.path("bad").join("tokenizer.json")).expect("the folder is ours");
    let ran = tribunal(["doctor", "--model", &bad, "--model", &good, "--json"]).ends(1);
    let found = findings(&ran);
    assert_eq!(check(&found, "tokenizer").0, "failed");
    assert_eq!(check(&found, "alone = batch").0, "ok", "no tokenizer is needed");
    let second = found["models"][1]["checks"].as_array().expect("a list");
    assert!(second.iter().all(|check| check["status"] == "ok"), "{found:#}");
}

#[test]
fn wrong_use_ends_with_2() {
    let folder = Folder::new();
    let file = folder.write("file", "");
    let missing = folder.name("missing");
    for args in [
        vec!["--model", &missing],
        vec!["--model", &file],
        vec!["--model"],
        vec!["tiny"],
        vec!["--allow", "0.5"],
        vec!["--judge", "math", "--allow", "2"],
        vec!["--judge", "math", "--threshold", "nan"],
        vec!["--judge", "nobody"],
        vec!["--judge", "math", "--model", &file],
    ] {
        tribunal(["doctor"].iter().chain(&args)).ends(2);
    }
    tribunal(["doctor", "--model", &missing]).says(&["--model", "is not a folder"]);
}

#[test]
fn a_verifier_rewards_no_canary() {
    let ran = tribunal(["doctor", "--judge", "text", "--json"]).ends(0);
    let found = findings(&ran);
    assert_eq!(found["ok"], true, "{found:#}");
    let canaries = found["canaries"].as_array().expect("a list");
    assert!(canaries.len() > 15);
    assert!(canaries.iter().all(|canary| canary["rewarded"] == 0));
    assert!(ran.stdout.contains("self_praise"), "{}", ran.stdout);
}

#[test]
fn judge_that_rewards_everything_fails() {
    let folder = Folder::new();
    let config = "[[scorer]]\nname = 'any'\nkind = 'length'\nmax = 100000\n";
    let config = folder.write("tribunal.toml", config);
    let args = ["doctor", "--judge", "any", "--config", &config, "--json"];
    let ran = tribunal(args).ends(1);
    let found = findings(&ran);
    assert_eq!(found["ok"], false);
    let rewarded = |canary: &Value| canary["rewarded"].as_u64();
    let canaries = found["canaries"].as_array().expect("a list");
    assert!(canaries.iter().any(|c| rewarded(c) == found["questions"].as_u64()), "{found:#}");
    tribunal(args.iter().chain(&["--allow", "1"])).ends(0);
}

#[test]
fn judges_with_models_are_checked() {
    let folder = Folder::new();
    let spec = TinySpec::from(Preset::Qwen2);
    made(&folder, "tiny", &spec);
    let config = "[engine]\nkv_memory = \"8MiB\"\n[[model]]\nname = \"m\"\npath = \"tiny\"\n\
                  [[scorer]]\nname = \"good\"\nkind = \"principles\"\nprinciples = [\"accurate\"]\n\
                  min_label_mass = 0.0\n[[scorer]]\nname = \"pair\"\nkind = \"judge\"\nmode = \"pair\"\n\
                  rationale = \"none\"\nmin_label_mass = 0.0\ninconsistent = \"average\"\n";
    let config = folder.write("tribunal.toml", config);
    for judge in ["good", "pair"] {
        let ran =
            tribunal(["doctor", "--judge", judge, "--config", &config, "--allow", "1", "--json"]);
        let found = findings(&ran.ends(0));
        assert_eq!(found["right"]["scored"], found["questions"], "{found:#}");
        let empty = &found["canaries"][0];
        assert_eq!(empty["name"], "empty");
        if judge == "good" {
            assert_eq!((&empty["rewarded"], &empty["highest"]), (&0.into(), &0.0.into()));
        }
    }
}

#[test]
fn memory_of_a_configuration_is_its_parts_and_warns_beyond_the_limit() {
    let folder = Folder::new();
    made(&folder, "tiny", &TinySpec::from(Preset::Qwen2));
    let settings = "[limits]\nqueue_bytes = \"100MiB\"\nqueue_output = \"20MiB\"\n";
    let model = "[[model]]\nname = \"tiny\"\npath = \"tiny\"\n[engine]\nkv_memory = \"8MiB\"\n";
    for (limit, ok) in [("1GiB", true), ("150MiB", false)] {
        let text = format!("{settings}memory = \"{limit}\"\n{model}[cache]\nmemory = \"3MiB\"\n");
        let config = folder.write("tribunal.toml", text);
        let ran = tribunal(["doctor", "--config", &config, "--json"]).ends(0);
        let found = findings(&ran);
        assert_eq!(found["ok"], ok, "{found}");
        assert_eq!(ran.stdout.contains("WARNING"), !ok, "{}", ran.stdout);
        let parts = found["parts"].as_array().expect("a list");
        let bytes = |name: &str| {
            let part = parts.iter().find(|part| part["name"] == name);
            part.and_then(|part| part["bytes"].as_u64()).unwrap_or(0)
        };
        assert_eq!(bytes("requests in hand"), 100 << 20);
        assert_eq!(bytes("replies in hand"), 20 << 20);
        assert_eq!(bytes("cached outcomes"), 3 << 20);
        assert!((1..=8 << 20).contains(&bytes("KV cache of tiny")), "{found}");
        assert!(bytes("weights of tiny") > 0, "{found}");
        let total: u64 = parts.iter().filter_map(|part| part["bytes"].as_u64()).sum();
        assert_eq!(found["total_bytes"], total);
        assert!(found["card"].is_null(), "{found}");
    }
    let config = folder.write("wrong.toml", "[limits]\nqueue_bites = 1\n");
    tribunal(["doctor", "--config", &config]).ends(2).says(&["queue_bites"]);
}

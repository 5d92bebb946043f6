//! Models and data sets of the Hub, from a stand-in on a loopback port.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use testkit::hub::{StandInHub, StandInRepo};
use tiny_models::{AdapterSpec, Preset, TinyHead, TinySpec, make, make_adapter};

use crate::documents::blocks;
use crate::program::{Folder, Ran, command, rows, tribunal};
use crate::serve::Server;

/// A folder with a reward model, an adapter of it, and a cache.
struct Bench {
    folder: Folder,
}

impl Bench {
    fn new() -> Bench {
        let folder = Folder::new();
        let spec = TinySpec { head: TinyHead::Sequence, ..TinySpec::from(Preset::Qwen2) };
        make(&folder.path("model"), &spec).expect("a tiny model can be made");
        let adapter = AdapterSpec {
            seed: 3,
            r: 2,
            alpha: 8,
            targets: vec!["q_proj".to_owned()],
            rank_pattern: BTreeMap::new(),
            alpha_pattern: BTreeMap::new(),
            rslora: false,
            score_labels: None,
        };
        make_adapter(&folder.path("adapter"), &spec, &adapter).expect("an adapter can be made");
        Bench { folder }
    }

    /// The model as a repository of this name, with files that are not fetched.
    fn model(&self, name: &str) -> StandInRepo {
        let mut repo =
            StandInRepo::of_folder(&format!("models/{name}"), &self.folder.path("model"));
        repo.files.push(("pytorch_model.bin".to_owned(), b"pickled".to_vec()));
        repo
    }

    fn adapter(&self, name: &str) -> StandInRepo {
        let mut repo =
            StandInRepo::of_folder(&format!("models/{name}"), &self.folder.path("adapter"));
        repo.commit = "a".repeat(40);
        repo
    }

    /// Points a command to the stand-in and to the cache.
    fn prepare<'c>(&self, command: &'c mut Command, endpoint: &str) -> &'c mut Command {
        for name in ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_HUB_CACHE", "HF_HUB_OFFLINE"] {
            command.env_remove(name);
        }
        command.env("HF_ENDPOINT", endpoint).env("HF_HOME", self.folder.path("hf"))
    }

    fn run(&self, endpoint: &str, args: &[&str]) -> Ran {
        let mut command = command(args);
        self.prepare(&mut command, endpoint).output().expect("the binary starts").into()
    }

    fn serve(&self, endpoint: &str, args: &[&str], offline: bool) -> Server {
        Server::start_with(args, |command| {
            self.prepare(command, endpoint);
            if offline {
                command.env("HF_HUB_OFFLINE", "1");
            }
        })
    }
}

/// The entry of `GET /v1/models` for a name.
fn entry(server: &Server, name: &str) -> Value {
    let mut reply = ureq::get(format!("{}/v1/models", server.url)).call().expect("it listens");
    let text = reply.body_mut().read_to_string().expect("text");
    let list: Value = serde_json::from_str(&text).expect("JSON");
    let entries = list["data"].as_array().expect("a list");
    entries.iter().find(|entry| entry["id"] == name).expect("it is served").clone()
}

/// The raw score of a response by a model of the server.
fn score(server: &Server, model: &str) -> f64 {
    let input = json!({"prompt": "What is 9 + 9?", "response": "So the answer is 18."});
    let body = json!({"model": model, "inputs": [input]}).to_string();
    let sent = ureq::post(format!("{}/v1/score", server.url)).content_type("application/json");
    let mut reply = sent.send(body).expect("it listens");
    let text = reply.body_mut().read_to_string().expect("text");
    let reply: Value = serde_json::from_str(&text).expect("JSON");
    reply["results"][0]["raw"].as_f64().expect("a score")
}

#[test]
fn models_of_the_hub_are_served_and_then_of_the_cache() {
    let bench = Bench::new();
    let model = format!("rm={}", bench.folder.name("model"));
    let adapter = format!("strict=rm:{}", bench.folder.name("adapter"));
    let local = Server::start(&["--model", &model, "--adapter", &adapter]);
    let expected = (score(&local, "rm"), score(&local, "strict"));
    let digests = (entry(&local, "rm"), entry(&local, "strict"));
    assert!(digests.0["source"].is_null());

    let hub = StandInHub::start(vec![bench.model("org/rm"), bench.adapter("org/strict")]);
    let endpoint = hub.endpoint();
    let args = ["--model", "rm=hf:org/rm", "--adapter", "strict=rm:hf:org/strict@main"];
    let check = |server: &Server| {
        assert!((score(server, "rm") - expected.0).abs() < 1e-12);
        assert!((score(server, "strict") - expected.1).abs() < 1e-12);
        let (rm, strict) = (entry(server, "rm"), entry(server, "strict"));
        let commit = bench.model("org/rm").commit;
        assert_eq!(rm["source"], format!("hf:org/rm@{commit}"));
        assert_eq!(strict["source"], format!("hf:org/strict@{}", "a".repeat(40)));
        assert_eq!(
            (&rm["digests"], &strict["digests"]),
            (&digests.0["digests"], &digests.1["digests"])
        );
    };
    check(&bench.serve(&endpoint, &args, false));
    let asked = hub.take_requests();
    assert!(asked.iter().all(|request| !request.path.contains("pytorch_model")));
    drop(hub);
    check(&bench.serve(&endpoint, &args, false));
    check(&bench.serve(&endpoint, &args, true));
    // Under its own name, and by a configuration file.
    let named = bench.serve(&endpoint, &["--model", "hf:org/rm@main"], true);
    assert!((score(&named, "org/rm") - expected.0).abs() < 1e-12);
    let config = "[[model]]\nname = \"rm\"\npath = \"hf:org/rm\"\n";
    let config = bench.folder.write("tribunal.toml", config);
    let configured = bench.serve(&endpoint, &["--config", &config], true);
    assert!((score(&configured, "rm") - expected.0).abs() < 1e-12);
}

#[test]
fn a_failed_fetch_says_what_to_do() {
    let bench = Bench::new();
    let hub = StandInHub::start(vec![bench.model("org/rm"), bench.adapter("org/strict")]);
    let check = |model: &str, code: i32, parts: &[&str]| {
        let args = ["serve", "--bind", "127.0.0.1:0", "--model", model];
        bench.run(&hub.endpoint(), &args).ends(code).says(parts);
    };
    check("rm=hf:../x", 2, &["--model", "'../x' names no repository"]);
    check("hf:org/rm@../../x", 2, &["has no revision after the '@'"]);
    check("rm=hf:org/none", 1, &["model 'rm'", "hf:org/none@main", "401", "set HF_TOKEN"]);
    check("rm=hf:org/rm@v2", 1, &["hf:org/rm@v2", "404", "no such branch, tag or commit"]);
    check("rm=hf:org/strict", 1, &["hf:org/strict@main", "it is an adapter"]);
    let config = "[[model]]\nname = \"rm\"\npath = \"hf:../x\"\n";
    let config = bench.folder.write("tribunal.toml", config);
    tribunal(["config", "check", &config])
        .ends(2)
        .says(&["tribunal.toml:3", "names no repository"]);
    // Nothing is asked for where a configuration is only checked.
    let config =
        bench.folder.write("tribunal.toml", "[[model]]\nname = \"rm\"\npath = \"hf:a/b\"\n");
    hub.take_requests();
    bench.run(&hub.endpoint(), &["config", "check", &config]).ends(0);
    assert_eq!(hub.take_requests().len(), 0);
}

#[test]
fn commands_that_take_folders_take_repositories() {
    let bench = Bench::new();
    let hub = StandInHub::start(vec![bench.model("org/rm"), bench.adapter("org/strict")]);
    let endpoint = hub.endpoint();
    let commit = bench.model("org/rm").commit;
    let inspected = bench.run(&endpoint, &["models", "inspect", "hf:org/rm", "--json"]).ends(0);
    assert!(inspected.stdout.contains(&commit), "{inspected:?}");
    let line = format!("hf:org/rm@main is hf:org/rm@{commit}: ");
    inspected.says(&[&line, "fetched"]);
    let args = ["models", "inspect", "hf:org/strict", "--base", "hf:org/rm"];
    bench.run(&endpoint, &args).ends(0).says(&["from the cache"]);
    bench.run(&endpoint, &["doctor", "--model", "hf:org/rm"]).ends(0);
    let config = "[[model]]\nname = \"rm\"\npath = \"hf:org/rm\"\n\
                  [[adapter]]\nname = \"strict\"\nmodel = \"rm\"\npath = \"hf:org/strict\"\n";
    let config = bench.folder.write("tribunal.toml", config);
    bench.run(&endpoint, &["doctor", "--config", &config]).ends(0);
    bench.folder.write("rows.jsonl", "{\"prompt\": \"1+1=\", \"completion\": \"2\"}\n");
    let run = "[run]\nfolder = \"out\"\nsteps = 1\n[policy]\npath = \"hf:org/rm\"\n\
               [[data]]\nkind = \"jsonl\"\npath = \"rows.jsonl\"\n\
               [method]\nkind = \"supervised\"\nrows = 1\n[optimiser]\nrate = 1e-3\n";
    let run = bench.folder.write("run.toml", run);
    // The model has no vocabulary head: it was read, and that is said.
    bench.run(&endpoint, &["train", &run, "--check"]).says(&["from the cache"]);
    let missing = bench.folder.read("run.toml");
    let missing = String::from_utf8(missing).expect("text").replace("org/rm", "org/none");
    let missing = bench.folder.write("missing.toml", missing);
    let ran = bench.run(&endpoint, &["train", &missing]).ends(1);
    ran.says(&["hf:org/none@main", "set HF_TOKEN"]);
}

/// The files of `ProcessBench`, one row each.
fn process_bench() -> StandInRepo {
    let row = |id: &str| json!({"id": id, "problem": "Add.", "steps": ["2 + 2 = 4", "2 + 3 = 6"], "label": 1});
    let names = ["gsm8k", "math", "olympiadbench", "omnimath"];
    let mut repo = StandInRepo::new("datasets/Qwen/ProcessBench", &[("README.md", b"x")]);
    for name in names {
        let rows = json!([row(&format!("{name}-0")), row(&format!("{name}-1"))]);
        repo.files.push((format!("{name}.json"), rows.to_string().into_bytes()));
    }
    repo
}

#[test]
fn benchmarks_are_downloaded_only_when_it_is_said() {
    let bench = Bench::new();
    let repo = process_bench();
    for (path, content) in &repo.files {
        bench.folder.write(path, content);
    }
    let hub = StandInHub::start(vec![repo.clone()]);
    let endpoint = hub.endpoint();
    let more = ["--benchmark", "process-bench", "--scorer", "arithmetic", "--json"];
    let files = ["gsm8k.json", "math.json", "olympiadbench.json", "omnimath.json"];
    let files: Vec<String> = files.iter().map(|name| bench.folder.name(name)).collect();
    let args: Vec<&str> =
        ["eval"].into_iter().chain(files.iter().map(String::as_str)).chain(more).collect();
    let report = |ran: Ran| rows(ran.ends(0).stdout.lines().last().expect("a report")).remove(0);
    let of_files = report(bench.run(&endpoint, &args));
    assert_eq!(hub.take_requests().len(), 0);
    let args: Vec<&str> = ["eval", "--download"].into_iter().chain(more).collect();
    let downloaded = report(bench.run(&endpoint, &args));
    assert_eq!(hub.take_requests().len(), 5);
    assert_eq!(downloaded["results"][0]["metrics"], of_files["results"][0]["metrics"]);
    let source = format!("rows of hf:datasets/Qwen/ProcessBench@{}", repo.commit);
    assert_eq!(downloaded["results"][0]["notes"][0], source);
    let pinned = format!("--download={}", repo.commit);
    let args: Vec<&str> = ["eval", &pinned].into_iter().chain(more).collect();
    assert_eq!(report(bench.run(&endpoint, &args)), downloaded);

    let refuse = |args: &[&str], code: i32, parts: &[&str]| {
        bench.run(&endpoint, args).ends(code).says(parts);
    };
    let scorer = ["--scorer", "arithmetic"];
    let with = |args: &[&'static str]| -> Vec<&str> {
        ["eval"].iter().chain(args).chain(&scorer).copied().collect()
    };
    refuse(&with(&["--benchmark", "process-bench"]), 2, &["FILE"]);
    refuse(
        &with(&["x.json", "--download", "--benchmark", "process-bench"]),
        2,
        &["cannot be used with"],
    );
    refuse(&with(&["--download", "--benchmark", "best-of-n"]), 2, &["best-of-n is not on the Hub"]);
    refuse(&with(&["--download=../x", "--benchmark", "rm-bench"]), 2, &["no revision"]);
    let missing = with(&["--download", "--benchmark", "rm-bench"]);
    refuse(&missing, 1, &["hf:datasets/THU-KEG/RM-Bench@main", "401"]);
}

/// The commands of a page that reach for the Hub, as they stand there.
fn commands(page: &str) -> Vec<String> {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(page);
    let text = std::fs::read_to_string(path).expect("the page is there");
    let lines = blocks(&text, "sh").into_iter().flat_map(str::lines);
    let reaches = lines.filter(|line| line.contains("hf:") || line.contains("--download"));
    reaches.map(|line| line.split(" #").next().unwrap_or(line).trim().to_owned()).collect()
}

#[test]
fn the_commands_of_the_pages_work() {
    let bench = Bench::new();
    let model = bench.model("Qwen/Qwen3-0.6B");
    let hub = StandInHub::start(vec![model, process_bench()]);
    let commands = [commands("models.md"), commands("eval.md")].concat();
    assert!(commands.len() >= 4, "{commands:?}");
    for line in commands {
        let args: Vec<&str> =
            line.strip_prefix("tribunal ").expect("our program").split(' ').collect();
        if args[0] == "serve" {
            let server = bench.serve(&hub.endpoint(), &args[1..], false);
            let name = if line.contains("judge=") { "judge" } else { "Qwen/Qwen3-0.6B" };
            assert!(
                entry(&server, name)["source"]
                    .as_str()
                    .is_some_and(|it| it.starts_with("hf:Qwen/"))
            );
        } else {
            bench.run(&hub.endpoint(), &args).ends(0);
        }
    }
}

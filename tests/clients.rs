//! Other people's clients against our server: the scripts of `tests/clients`, each run against a
//! server with a made model. They need an environment that is not part of the checkout; their own
//! headers tell how to make it.

#[path = "http/models.rs"]
mod models;

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use engine::Host;
use rubrics::Registry;
use serve::hosts::Hosts;
use serve::keys::Keys;
use serve::{Background, Config, State};
use tiny_models::{Preset, TinyHead, TinySpec};

/// The interpreter of the environment with the clients; `None` if it was not created.
fn interpreter() -> Option<PathBuf> {
    let python = clients().join(".venv/bin/python");
    python.exists().then_some(python)
}

fn clients() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("clients")
}

/// Runs a script against a server of these models, once for each name.
fn runs(script: &str, models: fn() -> Vec<Arc<Host>>, names: &[&str]) {
    runs_at(script, models, names, 0);
}

/// The same, with so many requests a second of each client at most.
fn runs_at(script: &str, models: fn() -> Vec<Arc<Host>>, names: &[&str], client_requests: u32) {
    let Some(python) = interpreter() else {
        println!("skipped: tests/clients/.venv is not there; {script} tells how to make it");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let config = Config {
        threads: 1,
        workers: 2,
        client_requests,
        batches_folder: Some(folder.path().join("batches")),
        ..Config::default()
    };
    let state = State::new(config, Registry::built_in(), Keys::default());
    let state = state.expect("threads start").with_hosts(Hosts::new(models()));
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let server = Background::start(listener, state).expect("the server starts");
    let url = format!("http://{}", server.address());
    for model in names {
        let run = Command::new(&python)
            .arg(clients().join(script))
            .args(["--url", &url, "--model", model])
            .output()
            .expect("the interpreter runs");
        let said = String::from_utf8_lossy(&run.stderr);
        assert!(run.status.success(), "{script} with {model}:\n{said}");
    }
    server.stop().expect("the server ends well");
}

/// The tests of the package in `clients/python`, against servers that it starts from the program.
#[test]
fn the_python_package() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let python = interpreter().filter(|python| {
        let imported = Command::new(python).args(["-c", "import pytest, tribunal_client"]).output();
        imported.is_ok_and(|output| output.status.success())
    });
    let Some(python) = python else {
        println!(
            "skipped: tests/clients/.venv has no clients/python[test]; docs/clients.md tells how to make it"
        );
        return;
    };
    let run = Command::new(python)
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "clients/python"])
        .current_dir(&root)
        .env("TRIBUNAL_BIN", root.join("target/release/tribunal"))
        .output()
        .expect("the interpreter runs");
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{said}");
}

/// The first minutes of a new user, from a wheel of the program; in a browser where Playwright is installed.
#[test]
fn a_new_user_reaches_verdicts_pages_and_metrics() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let browser = clients().join(".venvs/browser/bin/python");
    let python = if browser.exists() { browser } else { PathBuf::from("python3") };
    let has_pip = Command::new(&python).args(["-c", "import ensurepip, pip, venv"]).output();
    if !has_pip.is_ok_and(|output| output.status.success()) {
        println!("skipped: there is no python3 with pip and venv");
        return;
    }
    let run = Command::new(&python)
        .arg(clients().join("walk.py"))
        .arg("--binary")
        .arg(root.join("target/release/tribunal"))
        .output()
        .expect("the interpreter runs");
    let [said, complaint] =
        [run.stdout, run.stderr].map(|out| String::from_utf8_lossy(&out).into_owned());
    assert!(run.status.success(), "{said}{complaint}");
    // A part that was left out is said in a line of its own.
    print!("{said}");
}

const WRITERS: [&str; 3] = ["judge", "strict", "critic"];

/// Models that write, one of them with an adapter.
fn writers() -> Vec<Arc<Host>> {
    vec![models::tiny_with_adapter("judge", "strict"), models::tiny("critic")]
}

fn reward_model() -> Vec<Arc<Host>> {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("rm");
    let spec = TinySpec { head: TinyHead::Sequence, ..TinySpec::from(Preset::Qwen2) };
    tiny_models::make(&dir, &spec).expect("a model");
    vec![models::load(&dir, "rm", |_| ())]
}

#[test]
fn openai_decisions() {
    runs("decisions.py", writers, &WRITERS);
}

#[test]
fn openai_graders() {
    runs("graders.py", writers, &WRITERS);
}

#[test]
fn openai_files_and_batches() {
    runs("batches.py", writers, &["judge"]);
}

#[test]
fn openai_chats_and_completions() {
    runs("chat.py", writers, &WRITERS);
}

#[test]
fn openai_responses() {
    runs("responses.py", writers, &WRITERS);
}

#[test]
fn recipes_of_the_wires() {
    runs("compat.py", reward_model, &["rm"]);
}

/// The clients come faster than they may, and wait.
#[test]
fn reward_clients_of_trainers() {
    runs_at("trainers.py", reward_model, &["rm"], 4);
}

/// The Python package's reward functions, called by trainers that are there; else they say so.
#[test]
fn reward_files_of_trainers() {
    runs("reward_files.py", reward_model, &["rm"]);
}

#[test]
fn judges_of_verifiers() {
    runs("verifiers_judge.py", reward_model, &["rm"]);
}

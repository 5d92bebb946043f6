//! A program that compiled before its checker ran and does not after it.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use sandbox::{Rung, SandboxError};
use serde_json::json;
use verifiers::code::JudgeError;

use super::{Bait, has_python, ordinary_user, place, policy, verdict};

/// Names itself, so that its worker can be found, and waits to be ended by the test's harness.
const CHECKER: &str = "import ctypes, os, time\nctypes.CDLL(None).prctl(15, b'a-checker', 0, 0, 0)\n\
    time.sleep(1)\nprint(1)";

/// The parent of the process of this name.
fn parent_of(name: &str) -> Option<String> {
    std::fs::read_dir("/proc").expect("procfs").find_map(|entry| {
        let stat = std::fs::read_to_string(entry.ok()?.path().join("stat")).ok()?;
        let (head, rest) = stat.rsplit_once(") ")?;
        head.ends_with(&format!("({name}")).then(|| rest.split(' ').nth(1).map(str::to_owned))?
    })
}

/// Lowers a limit of the worker, after which it can start no template.
fn spoil(is_ordinary: bool) -> bool {
    let worker = loop {
        if let Some(worker) = parent_of("a-checker") {
            break worker;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let line = ["prlimit", "--pid", &worker, "--cpu=5:5"];
    let prefix = ["setpriv", "--reuid", "65500", "--regid", "65500", "--clear-groups"];
    let line = if is_ordinary { [&prefix[..], &line].concat() } else { line.to_vec() };
    Command::new(line[0]).args(&line[1..]).status().is_ok_and(|status| status.success())
}

#[test]
fn program_that_does_not_compile_again_is_no_verdict() {
    if !has_python() {
        return;
    }
    let bait = Bait::new();
    // Only a process of the worker's user can change its limits.
    let ordinary = ordinary_user(bait.folder.path());
    let is_ordinary = ordinary.is_some();
    let python = ordinary.unwrap_or_else(|| PathBuf::from("python3"));
    let place = place("", &python, &Rung::ALL);
    let reference = json!({"generated_checker": CHECKER, "official_tests": [
        {"input": "1", "output": "1"}, {"input": "2", "output": "2"}]});
    let mut policy = policy();
    policy.limits.wall = Duration::from_secs(20);
    let spoiled = std::thread::spawn(move || spoil(is_ordinary));
    let result = verdict(&place.sandbox, "print(1)", &reference, policy);
    assert!(spoiled.join().expect("no panic"), "the limit is lowered");
    let is_lost = matches!(result, Err(JudgeError::Sandbox(SandboxError::WorkerLost(_))));
    assert!(is_lost, "{result:?}");
}

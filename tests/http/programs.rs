//! Programs in the sandbox: their clients may leave, and their deadlines may pass.

#![expect(clippy::float_cmp, reason = "metrics count in whole numbers")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

use serde_json::{Value, json};
use testkit::has_python;

use crate::harness::{Server, eventually};

/// A scorer whose own limits no test waits for.
const PATIENT: &str = "[[scorer]]\nname = 'patient'\nkind = 'code'\nwall_ms = 3600000\n\
                       total_ms = 3600000\nslots = 1\n";
const SLEEPS: &str = "import time\ntime.sleep(3600)";

/// The processes below this one that have not ended.
fn descendants() -> BTreeSet<u32> {
    let parent = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let mut fields = stat.rsplit_once(") ")?.1.split(' ');
        let has_ended = fields.next()? == "Z";
        fields.next()?.parse::<u32>().ok().filter(|_| !has_ended)
    };
    let entries = std::fs::read_dir("/proc").expect("procfs");
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let parents: BTreeMap<u32, u32> = pids.filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let is_ours = |pid: &u32| {
        let line = std::iter::successors(Some(*pid), |pid| parents.get(pid).copied());
        line.skip(1).any(|above| above == std::process::id())
    };
    parents.keys().copied().filter(is_ours).collect()
}

fn input() -> Value {
    json!({ "prompt": "Sleep.", "response": SLEEPS,
            "reference": { "tests": [{ "stdin": "", "stdout": "" }] } })
}

/// A client of `path` leaves while its program sleeps: the processes of `scorer` end.
fn check_leaving(path: &str, scorer: &str, body: &Value) {
    let server = Server::configured(PATIENT, |_| ());
    let count =
        |name: &str| server.metric(&format!("tribunal_sandbox_{name}{{scorer=\"{scorer}\"}}"));
    let before = descendants();
    let body = body.to_string();
    let mut client = server.connect();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    client.write_all(format!("{head}{body}").as_bytes()).expect("the request is taken");
    eventually("a worker serves it", || count("running") == 1.0 && count("workers_total") == 1.0);
    let begun: BTreeSet<u32> = descendants().difference(&before).copied().collect();
    assert!(!begun.is_empty(), "a worker is a process");
    drop(client);
    eventually("it holds no slot", || count("running") == 0.0 && count("waiting") == 0.0);
    // Of tests beside this one too, whose programs end by themselves.
    eventually("its processes end", || descendants().is_disjoint(&begun));
    server.settles();
    assert!(server.metric("tribunal_cancelled_requests_total") > 0.0);
}

#[test]
fn client_that_leaves_ends_its_program() {
    if !has_python() {
        return;
    }
    check_leaving("/v1/score", "patient", &json!({ "model": "patient", "inputs": [input()] }));
    let program = json!({ "code": SLEEPS, "language": "python", "run_timeout": 600 });
    check_leaving("/run_code", "programs", &program);
}

#[test]
fn deadline_ends_a_program_and_is_no_verdict() {
    if !has_python() {
        return;
    }
    let server = Server::configured(PATIENT, |_| ());
    let body =
        json!({ "model": "patient", "inputs": [input()], "options": { "deadline_ms": 700 } });
    let reply = server.score(&body);
    assert_eq!((reply.status, reply.code()), (504, "deadline_passed".to_owned()), "{}", reply.text);
    let running = || server.metric("tribunal_sandbox_running{scorer=\"patient\"}");
    eventually("it holds no slot", || running() == 0.0);
    server.settles();
}

#[test]
fn runs_are_counted_by_their_ending() {
    if !has_python() {
        return;
    }
    let server = Server::start();
    let runs = [
        ("print(1)", "finished"),
        ("1 / 0", "failed"),
        ("import socket; socket.socket()", "security"),
        ("def (", "not_compiled"),
    ];
    for (code, _) in runs {
        let body = json!({ "code": code, "language": "python" });
        assert_eq!(server.post("/run_code", body.to_string()).status, 200);
    }
    for (_, ending) in runs {
        let series =
            format!("tribunal_sandbox_runs_total{{scorer=\"programs\",ending=\"{ending}\"}}");
        assert_eq!(server.metric(&series), 1.0, "{ending}");
    }
    for (name, least) in
        [("submissions_total", 4.0), ("workers_total", 1.0), ("run_seconds_total", 1e-6)]
    {
        let found = server.metric(&format!("tribunal_sandbox_{name}{{scorer=\"programs\"}}"));
        assert!(found >= least, "{name}: {found}");
    }
    assert_eq!(server.metric("tribunal_sandbox_worker_deaths_total{scorer=\"programs\"}"), 0.0);
}

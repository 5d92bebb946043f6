//! A process that stops answering costs its worker and no submission. Alone in its program, because it
//! stops processes below this one.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use sandbox::{Floor, Limits, Loaded, Sandbox, SandboxConfig, Test};

/// The processes below this one that have no child: those that fork guests.
fn leaves() -> Vec<u32> {
    let parent = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse::<u32>().ok()
    };
    let entries = std::fs::read_dir("/proc").expect("procfs");
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let parents: BTreeMap<u32, u32> = pids.filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let is_below = |pid: &u32| {
        let line = std::iter::successors(Some(*pid), |pid| parents.get(pid).copied());
        line.skip(1).any(|above| above == std::process::id())
    };
    let is_leaf = |pid: &u32| !parents.values().any(|above| above == pid);
    parents.keys().copied().filter(is_below).filter(is_leaf).collect()
}

#[test]
fn stopped_forker_costs_its_worker_and_no_submission() {
    let found = Command::new("python3").arg("--version").output();
    if !found.is_ok_and(|output| output.status.success()) {
        println!("skipped: there is no python3");
        return;
    }
    let config = SandboxConfig { slots: 1, floor: Floor::Limits, ..SandboxConfig::default() };
    let sandbox = Sandbox::new(config);
    let (send, receive) = mpsc::channel();
    let ticket = sandbox.submit(move |session| {
        // The clock of the submission ends nothing here.
        let limits =
            Limits { wall: Duration::from_hours(1), ..Limits::with_cpu(Duration::from_secs(5)) };
        let mut outputs = Vec::new();
        for stdin in ["before", "after"] {
            assert_eq!(session.load("print(input())", limits), Ok(Loaded::Ready));
            let report = session.run(&Test::Program { stdin: stdin.to_owned() });
            outputs.push(String::from_utf8(report.expect("a worker").stdout).expect("text"));
            let stopped: Vec<String> = leaves().iter().map(u32::to_string).collect();
            assert!(!stopped.is_empty(), "a process forks");
            // Of those that have ended meanwhile it says so.
            Command::new("kill").arg("-STOP").args(&stopped).status().expect("kill is installed");
        }
        send.send(outputs).expect("the test listens");
    });
    let _ticket = ticket.expect("room");
    // A guard against waiting for ever.
    let outputs = receive.recv_timeout(Duration::from_mins(2)).expect("the slot answers");
    assert_eq!(outputs, ["before\n", "after\n"]);
    assert_eq!(sandbox.status().worker_deaths, 1);
}

//! A worker that is killed is replaced. Alone in its program, because it kills every child.

use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use sandbox::{Floor, Limits, Loaded, Sandbox, SandboxConfig, Test};

/// The child processes of this one.
fn children() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").expect("procfs");
    let children = tasks.map(|task| {
        let path = task.expect("a thread").path().join("children");
        std::fs::read_to_string(path).unwrap_or_default()
    });
    children
        .flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

#[test]
fn killed_worker_is_replaced_and_its_submission_goes_on() {
    let found = Command::new("python3").arg("--version").output();
    if !found.is_ok_and(|output| output.status.success()) {
        println!("skipped: there is no python3");
        return;
    }
    let config = SandboxConfig { slots: 1, floor: Floor::Limits, ..SandboxConfig::default() };
    let sandbox = Sandbox::new(config);
    let (send, receive) = mpsc::channel();
    let ticket = sandbox.submit(move |session| {
        let limits = Limits::with_cpu(Duration::from_secs(5));
        let mut outputs = Vec::new();
        for _ in 0..2 {
            assert_eq!(session.load("print(input())", limits), Ok(Loaded::Ready));
            for stdin in ["before", "after"] {
                let report = session.run(&Test::Program { stdin: stdin.to_owned() });
                outputs.push(String::from_utf8(report.expect("a worker").stdout).expect("text"));
                let victims = children();
                assert!(!victims.is_empty(), "the worker is a child");
                for victim in victims {
                    let kill = Command::new("kill").args(["-9", &victim]).status();
                    let killed = kill.is_ok_and(|status| status.success());
                    assert!(killed || !children().contains(&victim), "{victim} goes on");
                }
            }
        }
        send.send(outputs).expect("the test listens");
    });
    let _ticket = ticket.expect("room");
    let outputs = receive.recv().expect("the slot answers");
    assert_eq!(outputs, ["before\n", "after\n", "before\n", "after\n"]);
}

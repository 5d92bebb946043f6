//! Submissions a second, beside a fresh interpreter for each test.
//!
//! `cargo test --release -p verifiers --test code -- --ignored --nocapture throughput`

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use sandbox::{Language, Rung, Sandbox, SandboxConfig};
use serde_json::{Value, json};
use verifiers::code::{CodePolicy, CodeVerdict, judge};

use super::{has_python, task};

const SOURCE: &str = "a, b = map(int, input().split())\nprint(a + b)\n";
const TESTS: u32 = 10;
/// Submissions at a time, here and in the peer.
const SLOTS: usize = 2;

fn reference() -> Value {
    let test = |number: u32| json!({"stdin": format!("{number} 2\n"), "stdout": format!("{}", number + 2)});
    json!({"tests": (0..TESTS).map(test).collect::<Vec<_>>()})
}

/// CPU time of the children that have ended, in seconds.
fn children_cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("procfs");
    let (_, fields) = stat.rsplit_once(')').expect("the name is in brackets");
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks = |index: usize| fields[index].parse::<f64>().expect("a number");
    (ticks(13) + ticks(14)) / 100.0
}

/// Runs `work`, which returns how long its submissions took, and prints their rate by the clock and by the CPU time
/// of all of it.
fn measured(name: &str, submissions: usize, work: impl FnOnce() -> Duration) {
    let cpu = children_cpu();
    let seconds = work().as_secs_f64();
    let cpu = children_cpu() - cpu;
    let count = f64::from(u32::try_from(submissions).expect("few submissions"));
    println!(
        "{name}: {:.0} submissions/s on {SLOTS} slots, {:.2} ms of CPU time each",
        count / seconds,
        1000.0 * cpu / count,
    );
}

fn ours(name: &str, rungs: &[Rung], submissions: usize) {
    measured(name, submissions, || {
        let config = SandboxConfig {
            slots: SLOTS,
            rungs: rungs.to_vec(),
            floor: sandbox::Floor::Limits,
            ..SandboxConfig::default()
        };
        let sandbox = Sandbox::new(config);
        let task = task(&reference());
        let run = |submissions: usize| {
            let (send, receive) = mpsc::channel();
            let tickets: Vec<_> = (0..submissions)
                .map(|_| {
                    let (send, task) = (send.clone(), task.clone());
                    let ticket = sandbox.submit(move |session| {
                        let result =
                            judge(SOURCE, Language::Python, &task, &CodePolicy::default(), session);
                        send.send(result.expect("the sandbox works here")).expect("it is counted");
                    });
                    ticket.expect("room")
                })
                .collect();
            drop(send);
            assert!(receive.iter().all(|result| result.verdict == CodeVerdict::Ok));
            drop(tickets);
        };
        // A server starts its workers once.
        run(SLOTS);
        let start = Instant::now();
        run(submissions);
        let seconds = start.elapsed();
        // The CPU time of a worker counts when it has ended.
        drop(sandbox);
        seconds
    });
}

/// The interpreter itself, which `python3` may start by a script of some version manager.
fn interpreter() -> String {
    let print = "import sys; print(sys.executable)";
    let found = Command::new("python3").args(["-c", print]).output().expect("an interpreter");
    String::from_utf8(found.stdout).expect("a path").trim().to_owned()
}

/// A fresh interpreter for each test, by a shell that runs `limits` before it.
fn fresh_interpreters(name: &str, limits: &str, submissions: usize) {
    let python = interpreter();
    let run = |number: u32| {
        let limits = &format!("{limits} exec \"$1\" -c \"$0\"");
        let mut child = Command::new("sh")
            .args(["-c", limits, SOURCE, &python])
            .current_dir(Path::new("/"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("an interpreter starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(format!("{number} 2\n").as_bytes()).expect("it reads");
        drop(stdin);
        let output = child.wait_with_output().expect("it ends").stdout;
        assert_eq!(output, format!("{}\n", number + 2).as_bytes());
    };
    let share = u32::try_from(submissions / SLOTS).expect("few submissions");
    measured(name, submissions, || {
        let start = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..SLOTS {
                let run = &run;
                scope.spawn(move || (0..share * TESTS).for_each(|test| run(test % TESTS)));
            }
        });
        start.elapsed()
    });
}

#[test]
#[ignore = "prints figures of this machine and asserts none"]
fn throughput() {
    if !has_python() {
        return;
    }
    // As verl and open-r1 run them.
    let limits = "ulimit -v 1048576; ulimit -t 10; ulimit -c 0;";
    fresh_interpreters("a fresh interpreter for each test", limits, 20);
    fresh_interpreters("the same without any isolation", "", 20);
    // In turn: a machine's pace changes.
    for _ in 0..3 {
        ours("all rungs", &Rung::ALL, 900);
        ours("limits, seccomp, landlock", &[Rung::Limits, Rung::Seccomp, Rung::Landlock], 900);
        ours("limits, seccomp", &[Rung::Limits, Rung::Seccomp], 900);
        ours("limits alone", &[Rung::Limits], 900);
    }
}

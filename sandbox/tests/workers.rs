//! Workers: what they enter, how they end, and how they are replaced.

use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use sandbox::{
    Ending, Floor, LimitReached, Limits, Loaded, Report, Rung, Sandbox, SandboxConfig,
    SandboxError, Session, Test,
};

fn config() -> Option<SandboxConfig> {
    let found = Command::new("python3").arg("--version").output();
    if found.is_ok_and(|output| output.status.success()) {
        return Some(SandboxConfig { slots: 1, floor: Floor::Limits, ..SandboxConfig::default() });
    }
    println!("skipped: there is no python3");
    None
}

fn limits() -> Limits {
    let cpu = Duration::from_secs(5);
    Limits { memory_bytes: 256 << 20, ..Limits::with_cpu(cpu) }
}

/// Runs `work` in a slot and waits for what it returns.
fn in_slot<T: Send + 'static>(
    sandbox: &Sandbox,
    work: impl FnOnce(&mut Session<'_>) -> T + Send + 'static,
) -> T {
    let (send, receive) = mpsc::channel();
    let ticket = sandbox.submit(move |session| send.send(work(session)).expect("the test listens"));
    let _ticket = ticket.expect("room");
    receive.recv().expect("the slot answers")
}

fn program(stdin: &str) -> Test {
    Test::Program { stdin: stdin.to_owned() }
}

fn run(session: &mut Session<'_>, source: &str, stdin: &str) -> Result<Report, SandboxError> {
    assert_eq!(session.load(source, limits())?, Loaded::Ready);
    session.run(&program(stdin))
}

#[test]
fn floors_need_their_rungs() {
    use Rung::{Landlock, Limits, Namespaces, Seccomp};
    for (floor, rungs, expected) in [
        (Floor::Limits, &[Limits][..], true),
        (Floor::Limits, &[Seccomp], false),
        (Floor::Calls, &[Limits, Seccomp], true),
        (Floor::Calls, &[Limits, Namespaces], false),
        (Floor::Files, &[Limits, Seccomp], false),
        (Floor::Files, &[Limits, Seccomp, Landlock], true),
        (Floor::Files, &[Limits, Seccomp, Namespaces], true),
        (Floor::All, &[Limits, Seccomp, Landlock], false),
        (Floor::All, &Rung::ALL, true),
    ] {
        assert_eq!(floor.accepts(rungs), expected, "{floor:?} {rungs:?}");
    }
}

#[test]
fn output_of_a_program_comes_back_whole() {
    let Some(config) = config() else { return };
    let sandbox = Sandbox::new(config);
    let report = in_slot(&sandbox, |session| run(session, "print(input()[::-1])", "abc\n"));
    let report = report.expect("the sandbox works here");
    assert_eq!(
        (report.stdout.as_slice(), report.ending(&limits())),
        (&b"cba\n"[..], Ending::Finished)
    );
    println!("in force: {}", sandbox.isolation().expect("a worker ran").names());
}

#[test]
fn dropped_ticket_ends_a_submission() {
    let Some(config) = config() else { return };
    let sandbox = Sandbox::new(config);
    let (begun, started) = mpsc::channel();
    let (send, receive) = mpsc::channel();
    let ticket = sandbox.submit(move |session| {
        let limits = Limits::with_cpu(Duration::from_mins(10));
        let loaded = session.load("import time; time.sleep(600)", limits);
        begun.send(loaded).expect("the test listens");
        send.send(session.run(&program("")).map(|report| report.wall)).expect("the test listens");
    });
    let ticket = ticket.expect("room");
    assert_eq!(started.recv().expect("it begins"), Ok(Loaded::Ready));
    drop(ticket);
    assert_eq!(receive.recv().expect("it ends"), Err(SandboxError::Cancelled));
    let report = in_slot(&sandbox, |session| run(session, "print(1)", ""));
    assert_eq!(report.expect("the next submission has a worker").stdout, b"1\n");
}

#[test]
fn limits_end_a_test_with_their_names() {
    let Some(config) = config() else { return };
    let sandbox = Sandbox::new(config);
    let short = Duration::from_millis(200);
    for (source, expected) in [
        ("while True: pass", Ending::Time(LimitReached::Cpu)),
        ("import time; time.sleep(60)", Ending::Time(LimitReached::Wall)),
        ("x = bytearray(1 << 30)", Ending::Memory),
        ("print('x' * 2_000_000)", Ending::Output),
        ("import sys; sys.exit(3)", Ending::Failed),
        ("1 / 0", Ending::Failed),
    ] {
        let mut limits = limits();
        if expected == Ending::Time(LimitReached::Cpu) {
            limits.cpu = short;
        } else if expected == Ending::Time(LimitReached::Wall) {
            limits.wall = short;
        }
        let report = in_slot(&sandbox, move |session| {
            assert_eq!(session.load(source, limits), Ok(Loaded::Ready));
            session.run(&program(""))
        });
        assert_eq!(report.expect("the sandbox works here").ending(&limits), expected, "{source}");
    }
}

#[test]
fn queue_has_an_end() {
    let Some(config) = config() else { return };
    let sandbox = Sandbox::new(SandboxConfig { queue: 1, ..config });
    let (gate, wait) = mpsc::channel::<()>();
    let (running, started) = mpsc::channel();
    let first = sandbox.submit(move |_| {
        running.send(()).expect("the test listens");
        // The test holds the only slot until the queue is full.
        let _ = wait.recv();
    });
    started.recv().expect("the slot runs");
    let second = sandbox.submit(|_| ());
    assert!(first.is_ok() && second.is_ok());
    assert_eq!(sandbox.submit(|_| ()).map(drop), Err(SandboxError::QueueFull));
    drop(gate);
}

#[test]
fn panic_ends_its_submission_and_the_slot_goes_on() {
    let Some(config) = config() else { return };
    let sandbox = Sandbox::new(config);
    let (gate, wait) = mpsc::channel::<()>();
    let first = sandbox.submit(move |_| {
        // The test holds the only slot until the others wait.
        let _ = wait.recv();
    });
    let (reply, answer) = mpsc::channel::<()>();
    let second = sandbox.submit(move |session| {
        let _reply = reply;
        assert_eq!(session.load("print(1)", limits()), Ok(Loaded::Ready));
        panic!("injected");
    });
    let (send, receive) = mpsc::channel();
    let third = sandbox
        .submit(move |session| send.send(run(session, "print(2)", "")).expect("the test listens"));
    assert!(first.is_ok() && second.is_ok() && third.is_ok());
    drop(gate);
    assert!(answer.recv().is_err(), "its reply is dropped");
    // A guard against waiting for ever.
    let report = receive.recv_timeout(Duration::from_mins(1)).expect("the slot goes on");
    assert_eq!(report.expect("the sandbox works here").stdout, b"2\n");
    let status = sandbox.status();
    assert_eq!((status.waiting, status.started), (0, 3), "{status:?}");
}

#[test]
fn what_is_missing_is_named() {
    let Some(config) = config() else { return };
    let bare = SandboxConfig { floor: Floor::Calls, rungs: vec![Rung::Limits], ..config.clone() };
    let error = in_slot(&Sandbox::new(bare), |session| session.load("", limits()));
    assert!(matches!(error, Err(SandboxError::BelowFloor { .. })), "{error:?}");
    let absent = SandboxConfig { python: "/no/such/python".into(), ..config };
    let error = in_slot(&Sandbox::new(absent), |session| session.load("", limits()));
    assert!(matches!(error, Err(SandboxError::Python { .. })), "{error:?}");
}

//! A thousand submissions that wait, one of which hangs. Alone in its program, because it looks at the
//! memory of this process.

use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use sandbox::{
    Ending, Floor, LimitReached, Limits, Loaded, Sandbox, SandboxConfig, SandboxError, Session,
    Test,
};

const WAITING: usize = 1000;
/// What the allocator of the process may keep of a thousand results.
const SPARE_BYTES: u64 = 16 << 20;

fn run(session: &mut Session<'_>, source: &str, limits: Limits) -> Result<Ending, SandboxError> {
    assert_eq!(session.load(source, limits)?, Loaded::Ready);
    let report = session.run(&Test::Program { stdin: "1 2\n".to_owned() })?;
    Ok(report.ending(&limits))
}

/// Bytes of this process in memory.
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").expect("procfs");
    let resident = pages.split_whitespace().nth(1).expect("a field");
    resident.parse::<u64>().expect("a number") * 4096
}

#[test]
fn hung_submission_holds_up_no_other_of_a_thousand() {
    let found = Command::new("python3").arg("--version").output();
    if !found.is_ok_and(|output| output.status.success()) {
        println!("skipped: there is no python3");
        return;
    }
    let config = SandboxConfig { slots: 2, queue: WAITING, floor: Floor::Limits, ..<_>::default() };
    let sandbox = Sandbox::new(config);
    let (send, hung) = mpsc::channel();
    let (begun, begins) = mpsc::channel();
    let first = sandbox.submit(move |session| {
        begun.send(()).expect("the test listens");
        let limits = Limits::with_cpu(Duration::from_mins(10));
        send.send(run(session, "import time; time.sleep(600)", limits)).expect("the test listens");
    });
    let first = first.expect("room");
    begins.recv().expect("it begins");

    let (send, ended) = mpsc::channel();
    let before = resident();
    let tickets: Vec<_> = (0..WAITING)
        .map(|index| {
            let send = send.clone();
            let ticket = sandbox.submit(move |session| {
                // The last one sleeps past a limit of its own.
                let is_last = index + 1 == WAITING;
                let source = if is_last {
                    "import time; time.sleep(60)"
                } else {
                    "print(sum(map(int, input().split())))"
                };
                let mut limits = Limits::with_cpu(Duration::from_secs(5));
                if is_last {
                    limits.wall = Duration::from_millis(200);
                }
                send.send((index, run(session, source, limits))).expect("the test listens");
            });
            ticket.expect("room")
        })
        .collect();
    let mut endings: Vec<_> = ended.iter().take(WAITING).collect();
    let after = resident();
    endings.sort_by_key(|(index, _)| *index);
    let (_, last) = endings.pop().expect("a thousand");
    assert_eq!(last, Ok(Ending::Time(LimitReached::Wall)));
    assert!(endings.iter().all(|(_, ending)| *ending == Ok(Ending::Finished)), "{endings:?}");

    // The others have ended, and the first one still sleeps.
    assert!(hung.try_recv().is_err(), "its limit is ten minutes");
    let status = sandbox.status();
    assert_eq!(status.waiting, 0, "{status:?}");
    assert_eq!((status.workers, status.worker_deaths), (2, 0), "{status:?}");
    assert!(after < before + SPARE_BYTES, "{before} bytes before, {after} after");
    println!("{before} bytes before a thousand submissions, {after} after");
    drop((first, tickets));
    assert_eq!(hung.recv().expect("it ends"), Err(SandboxError::Cancelled));
}

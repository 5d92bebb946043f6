//! What fails below a submission is an error or is made up for, and never an ending of the submission. Alone in its
//! program, because it kills every child and looks for its own groups; one test, because each would disturb others.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use sandbox::{Ending, Floor, Limits, Loaded, Sandbox, SandboxConfig, SandboxError, Session, Test};

const SUBMISSIONS: usize = 40;
const TESTS: usize = 5;

/// Sums numbers, and needs room in its working folder if it has one.
const SOURCE: &str = "try:\n    file = open('file', 'wb')\nexcept OSError:\n    file = None\n\
    if file:\n    file.write(b'x' * 100_000)\n    file.close()\nprint(sum(map(int, input().split())))";

/// The child processes of this one.
fn children() -> Vec<String> {
    let tasks = fs::read_dir("/proc/self/task").expect("procfs");
    let lists = tasks.map(|task| {
        let path = task.expect("a thread").path().join("children");
        fs::read_to_string(path).unwrap_or_default()
    });
    lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// The processes below this one.
fn below() -> Vec<String> {
    let mut found = children();
    let mut next = 0;
    while let Some(pid) = found.get(next) {
        let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        found.extend(list.unwrap_or_default().split_whitespace().map(str::to_owned));
        next += 1;
    }
    found
}

fn run(session: &mut Session<'_>, number: usize) -> Result<(), SandboxError> {
    let limits = Limits::with_cpu(Duration::from_secs(20));
    assert_eq!(session.load(SOURCE, limits)?, Loaded::Ready);
    let tests: Vec<Test> =
        (0..TESTS).map(|test| Test::Program { stdin: format!("{number} {test}\n") }).collect();
    for (index, test) in tests.iter().enumerate() {
        let report = session.run_before(test, &tests.iter().skip(index + 1), TESTS)?;
        assert_eq!(report.ending(&limits), Ending::Finished, "{report:?}");
        assert_eq!(report.stdout, format!("{}\n", number + index).as_bytes());
    }
    Ok(())
}

/// Runs `work` in a slot and waits for what it returns; a panic of it is one of the test.
fn in_slot<T: Send + 'static>(
    sandbox: &Sandbox,
    work: impl FnOnce(&mut Session<'_>) -> T + Send + 'static,
) -> T {
    let (send, receive) = mpsc::channel();
    let ticket = sandbox.submit(move |session| send.send(work(session)).expect("the test listens"));
    let _ticket = ticket.expect("room");
    receive.recv().expect("the slot answers")
}

/// Workers are killed while others wait: each submission is answered, by what it did or by a failure.
fn workers_are_killed_under_load(sandbox: &Sandbox) {
    let (send, results) = mpsc::channel();
    let tickets: Vec<_> = (0..SUBMISSIONS)
        .map(|number| {
            let send = send.clone();
            let work = move |session: &mut Session<'_>| {
                send.send(run(session, number)).expect("the test listens");
            };
            sandbox.submit(work).expect("room")
        })
        .collect();
    drop(send);
    let mut ends = [0, 0];
    for (number, result) in results.iter().enumerate() {
        let is_failure =
            matches!(result, Err(SandboxError::WorkerLost(_) | SandboxError::GuestKilled));
        assert!(is_failure || result == Ok(()), "{result:?}");
        ends[usize::from(is_failure)] += 1;
        if number % 3 == 0 {
            let victims = children();
            // Some have ended meanwhile.
            let _ =
                Command::new("kill").arg("-9").args(&victims).output().expect("kill is installed");
        }
    }
    println!("{} submissions were run, {} failed; {:?}", ends[0], ends[1], sandbox.status());
    assert_eq!(ends[0] + ends[1], SUBMISSIONS);
    assert!(ends[0] > 0 && sandbox.status().worker_deaths > 0, "{:?}", sandbox.status());
    drop(tickets);
    assert_eq!(in_slot(sandbox, |session| run(session, 1)), Ok(()));
}

/// The folder of tests is full of what its worker cannot remove.
fn working_folder_is_full(sandbox: &Sandbox) {
    let deaths = sandbox.status().worker_deaths;
    let outcome = in_slot(sandbox, |session| {
        run(session, 1)?;
        let mounts = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/mnt")).ok();
        let mut n_full = 0;
        for pid in below() {
            // Only workers in namespaces have a folder, and only root can write to it.
            let held = Path::new("/proc").join(&pid).join("root").join("work").join("held");
            if mounts(&pid) != mounts("self") && fs::create_dir(&held).is_ok() {
                n_full += 1;
                let full = fs::write(held.join("full"), vec![0; 65 << 20]);
                assert!(full.is_err(), "the folder has a size");
            }
        }
        run(session, 2).map(|()| n_full)
    });
    if outcome.expect("the worker is replaced") == 0 {
        println!("skipped: no working folder can be filled here");
    } else {
        assert!(sandbox.status().worker_deaths > deaths, "{:?}", sandbox.status());
    }
}

/// Folders of control groups of this process's slots that limit processes.
fn groups(folder: &Path, depth: usize) -> Vec<PathBuf> {
    let own = format!("tribunal-sandbox-{}-", std::process::id());
    let mut found = Vec::new();
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(&own) && path.join("pids.max").exists() {
            found.push(path);
        } else if depth > 0 && path.is_dir() {
            found.extend(groups(&path, depth - 1));
        }
    }
    found
}

/// No process can be started: the submission fails, and the next one is run once there is room.
fn processes_are_exhausted(sandbox: &Sandbox) {
    let outcome = in_slot(sandbox, |session| {
        run(session, 1)?;
        let limits: Vec<PathBuf> = groups(Path::new("/sys/fs/cgroup"), 4)
            .iter()
            .map(|path| path.join("pids.max"))
            .collect();
        let before: Vec<String> =
            limits.iter().map(|path| fs::read_to_string(path).expect("a limit")).collect();
        for path in &limits {
            fs::write(path, "1").expect("a limit");
        }
        let failed = run(session, 2);
        for (path, limit) in limits.iter().zip(&before) {
            fs::write(path, limit).expect("a limit");
        }
        Ok::<_, SandboxError>((limits.len(), failed))
    });
    let (n_groups, failed) = outcome.expect("the sandbox works here");
    if n_groups == 0 {
        println!("skipped: no control group");
        return;
    }
    let is_failure =
        matches!(failed, Err(SandboxError::WorkerLost(_) | SandboxError::Python { .. }));
    assert!(is_failure, "{failed:?}");
    assert_eq!(in_slot(sandbox, |session| run(session, 3)), Ok(()));
}

#[test]
fn failures_below_a_submission_are_never_its_ending() {
    let found = Command::new("python3").arg("--version").output();
    if !found.is_ok_and(|output| output.status.success()) {
        println!("skipped: there is no python3");
        return;
    }
    let config = |slots| SandboxConfig { slots, floor: Floor::Limits, ..SandboxConfig::default() };
    workers_are_killed_under_load(&Sandbox::new(config(2)));
    let sandbox = Sandbox::new(config(1));
    working_folder_is_full(&sandbox);
    processes_are_exhausted(&sandbox);
    drop(sandbox);
    // Nothing of the slots is left.
    assert_eq!(groups(Path::new("/sys/fs/cgroup"), 4), Vec::<PathBuf>::new());
}

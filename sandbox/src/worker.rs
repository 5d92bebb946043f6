//! A worker: an interpreter that isolates itself and serves one submission at a time.

use std::io::{BufReader, Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::config::{Rung, SandboxConfig};
use crate::group::SlotGroup;
use crate::seccomp;

/// What an interpreter starts with; it runs the programs that it is sent.
const LOADER: &str = include_str!("python/loader.py");

/// The programs of a worker, in the order in which they need each other.
const PROGRAMS: [&str; 9] = [
    include_str!("python/isolate.py"),
    include_str!("python/harness.py"),
    include_str!("python/calls.py"),
    include_str!("python/unit_tests.py"),
    include_str!("python/forks.py"),
    include_str!("python/worker.py"),
    include_str!("python/memory.py"),
    include_str!("python/native.py"),
    include_str!("python/main.py"),
];

/// Modules that a worker imports, so that every fork has them: those of common solutions and of the
/// harness. `threading` must be among them, because its first import remembers the main thread.
const MODULES: &[&str] = &[
    "atexit",
    "bisect",
    "collections",
    "copy",
    "datetime",
    "decimal",
    "fractions",
    "functools",
    "heapq",
    "itertools",
    "json",
    "math",
    "operator",
    "random",
    "re",
    "site",
    "string",
    "threading",
    "traceback",
    "typing",
];

/// First of the user ids under which root runs workers: the range that distributions leave to
/// services with passing users.
const FIRST_USER: u32 = 61_184;
/// Number of those user ids.
const USERS: u32 = 4_336;

/// Longest time from the end of a worker's socket to its own.
const END_LIMIT: Duration = Duration::from_secs(1);

/// Greatest exit code of an interpreter; above it are negated signals.
const LAST_EXIT_CODE: i32 = 191;

/// Longest time from the start of an interpreter to its readiness.
const START_LIMIT: Duration = Duration::from_mins(1);

/// Why there is no result. Never a guest's fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SandboxError {
    /// The interpreter cannot be started.
    #[error("'{python}' cannot be started: {why}")]
    Python {
        /// The interpreter.
        python: String,
        /// The system's message.
        why: String,
    },
    /// Less isolation than the floor.
    #[error("the isolation here ({rungs}) is below the configured floor; refused: {refused}")]
    BelowFloor {
        /// The rungs that could be entered.
        rungs: String,
        /// Those that could not, with the kernel's messages.
        refused: String,
    },
    /// A language's tool is not installed.
    #[error("'{tool}' is not installed; on Debian: {install}")]
    MissingTool {
        /// Its name.
        tool: &'static str,
        /// How it is installed.
        install: &'static str,
    },
    /// A tool lies where the user of the sandbox may not read.
    #[error(
        "the sandbox may not run '{0}', which lies in a folder that is not open to other users"
    )]
    UnusableTool(String),
    /// A worker died twice during one test.
    #[error("a worker of the sandbox died: {0}")]
    WorkerLost(String),
    /// A guest was killed from outside, twice.
    #[error("the process of a test was killed from outside")]
    GuestKilled,
    /// A limit by the clock was reached because other load took the processors.
    #[error("other load kept the submission from running within its limit by the clock")]
    Starved,
    /// As many submissions wait as may.
    #[error("the queue of the sandbox is full")]
    QueueFull,
    /// The caller dropped its ticket.
    #[error("the submission was cancelled")]
    Cancelled,
}

/// What is in force in the workers of a sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Isolation {
    /// The rungs in force.
    pub rungs: Vec<Rung>,
    /// Rungs that the kernel refuses, with its message.
    pub refused: Vec<(Rung, String)>,
    /// ABI version of Landlock; 0 without it.
    pub landlock: u32,
    /// Version of the interpreter.
    pub python: String,
}

impl Isolation {
    /// The names of the rungs in force.
    pub fn names(&self) -> String {
        names(&self.rungs)
    }
}

pub(crate) fn names(rungs: &[Rung]) -> String {
    rungs.iter().map(|rung| rung.name()).collect::<Vec<_>>().join(", ")
}

/// A running worker. Dropping it ends its whole process tree.
#[derive(Debug)]
pub(crate) struct Worker {
    process: Child,
    socket: BufReader<UnixStream>,
    /// The time after which it counts as lost.
    silence: Option<Duration>,
}

/// How a worker isolates itself: a constant of its program. It has texts, numbers and lists of them
/// alone, whose JSON is Python.
#[derive(Serialize)]
struct Setup<'a> {
    rungs: &'a [Rung],
    first_user: u32,
    users: u32,
    capset: i64,
    clone: i64,
    pivot_root: i64,
    processes: u32,
    file: u64,
    stack: u64,
    modules: &'a [&'a str],
    /// Hexadecimal.
    worker_filters: Vec<String>,
    guest_filter: String,
    cpu_limit_filter: String,
    /// Of a guest that may start processes; of workers for tools alone.
    group_filter: String,
    /// What tools read; empty for Python.
    tools: &'a [PathBuf],
    /// Links in a root of our own, by path: what tools look for that is not there.
    links: &'a [(&'static str, &'static str)],
    execveat: i64,
    /// 1 if a control group counts the processes.
    has_group: u8,
}

/// A worker's first message.
#[derive(Deserialize)]
#[serde(untagged)]
enum Greeting {
    Ready { rungs: Vec<Rung>, landlock: u32, python: String },
    Refused { refused: (Rung, String) },
}

/// Whether a lean template does for this source: a program that reads its input and imports none of
/// [`MODULES`]. A wrong guess costs time only.
pub(crate) fn is_lean(source: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut reads = false;
    for word in source.split(|c| !is_word(c)) {
        reads |= matches!(word, "input" | "stdin");
        if MODULES.contains(&word) {
            return false;
        }
    }
    reads
}

fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Result of a start.
pub(crate) enum Start {
    /// It serves.
    Ready(Worker, Isolation),
    /// The kernel refuses this rung.
    Refused(Rung, String),
}

/// Files of this machine that the workers of tools see.
#[derive(Debug, Default)]
pub(crate) struct ToolFiles {
    /// Folders and files that tools read.
    pub(crate) paths: Vec<PathBuf>,
    /// Links, each with its target.
    pub(crate) links: Vec<(&'static str, &'static str)>,
}

impl Worker {
    /// Starts a worker with `rungs`; one that runs tools, if they have files.
    pub(crate) fn start(
        config: &SandboxConfig,
        rungs: &[Rung],
        tools: &ToolFiles,
        group: Option<&SlotGroup>,
    ) -> Result<Start, SandboxError> {
        let failed =
            |why: String| SandboxError::Python { python: config.python.display().to_string(), why };
        let (socket, theirs) = UnixStream::pair().map_err(|error| failed(error.to_string()))?;
        let is_native = !tools.paths.is_empty();
        let guest_filter =
            if is_native { seccomp::native_filter(false) } else { seccomp::guest_filter() };
        let setup = Setup {
            rungs,
            first_user: FIRST_USER,
            users: USERS,
            capset: libc::SYS_capset,
            clone: libc::SYS_clone,
            pivot_root: libc::SYS_pivot_root,
            processes: config.processes,
            file: config.file_bytes,
            stack: config.stack_bytes,
            modules: if is_native { &[] } else { MODULES },
            worker_filters: seccomp::worker_filters(is_native)
                .iter()
                .map(|program| hex(program))
                .collect(),
            guest_filter: hex(&guest_filter),
            cpu_limit_filter: hex(&seccomp::cpu_limit_filter()),
            group_filter: if is_native {
                hex(&seccomp::native_filter(true))
            } else {
                String::new()
            },
            tools: &tools.paths,
            links: &tools.links,
            execveat: libc::SYS_execveat,
            has_group: u8::from(group.is_some()),
        };
        let setup = serde_json::to_string(&setup).expect("texts and numbers serialise");
        let setup = format!("SETUP = {setup}\n");
        let programs = [&[setup.as_str()], PROGRAMS.as_slice()].concat().join("\0");
        // Without `-I`, which would ignore the hash seed: sets have the same order in every run. The
        // environment is empty, so there is nothing else to ignore.
        let process = Command::new(&config.python)
            .args(["-s", "-S", "-B", "-c", LOADER])
            .env_clear()
            .env("PYTHONHASHSEED", "0")
            // A function of a library that is looked up when it is first called costs every fork.
            .env("LD_BIND_NOW", "1")
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        let mut worker = Self { process, socket: BufReader::new(socket), silence: None };
        // It waits for its programs.
        if let Some(Err(why)) = group.map(|group| group.add(worker.process.id())) {
            return Ok(Start::Refused(Rung::Cgroups, why.to_string()));
        }
        worker.expect_within(START_LIMIT)?;
        let length = u32::try_from(programs.len()).expect("the programs are short");
        let mut frame = length.to_le_bytes().to_vec();
        frame.extend_from_slice(programs.as_bytes());
        let written = worker.socket.get_mut().write_all(&frame).map_err(lost);
        let greeting = written.and_then(|()| worker.receive());
        let why = |error: SandboxError| {
            // What does not start is no interpreter for this, and what was killed may start again.
            if worker.was_killed() { error } else { failed(error.to_string()) }
        };
        match greeting.map_err(why)? {
            Greeting::Ready { mut rungs, landlock, python } => {
                rungs.extend(group.map(|_| Rung::Cgroups));
                let isolation = Isolation { rungs, refused: Vec::new(), landlock, python };
                Ok(Start::Ready(worker, isolation))
            }
            Greeting::Refused { refused: (rung, why) } => Ok(Start::Refused(rung, why)),
        }
    }

    /// Whether the worker, which sends nothing more, ended by a signal.
    fn was_killed(&mut self) -> bool {
        let end = Instant::now() + END_LIMIT;
        let mut status = self.process.try_wait();
        while matches!(status, Ok(None)) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(2));
            status = self.process.try_wait();
        }
        // The process before a namespace ends with the code of the one in it.
        let status = status.ok().flatten();
        status
            .is_some_and(|status| status.signal().is_some() || status.code() > Some(LAST_EXIT_CODE))
    }

    /// A handle by which another thread can end the worker: shutting the socket down ends it.
    pub(crate) fn socket(&self) -> std::io::Result<UnixStream> {
        self.socket.get_ref().try_clone()
    }

    /// Sets the time after which a silent worker counts as lost.
    pub(crate) fn expect_within(&mut self, limit: Duration) -> Result<(), SandboxError> {
        if self.silence != Some(limit) {
            self.socket.get_ref().set_read_timeout(Some(limit)).map_err(lost)?;
            self.silence = Some(limit);
        }
        Ok(())
    }

    pub(crate) fn send(&mut self, message: &impl Serialize) -> Result<(), SandboxError> {
        let body = serde_json::to_vec(message).expect("messages serialise");
        let length = u32::try_from(body.len())
            .map_err(|_| SandboxError::WorkerLost("a message of 4 GiB".to_owned()))?;
        // At once, so that the worker is woken once.
        self.socket
            .get_mut()
            .write_all(&[&length.to_ne_bytes(), body.as_slice()].concat())
            .map_err(lost)
    }

    pub(crate) fn receive<M: DeserializeOwned>(&mut self) -> Result<M, SandboxError> {
        let mut length = [0; 4];
        self.socket.read_exact(&mut length).map_err(lost)?;
        let body = self.receive_bytes(u32::from_ne_bytes(length) as usize)?;
        serde_json::from_slice(&body).map_err(|error| SandboxError::WorkerLost(error.to_string()))
    }

    pub(crate) fn receive_bytes(&mut self, length: usize) -> Result<Vec<u8>, SandboxError> {
        let mut bytes = vec![0; length];
        self.socket.read_exact(&mut bytes).map_err(lost)?;
        Ok(bytes)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // A worker ends when its socket does, and then the CPU time in its namespaces is counted.
        let _ = self.socket.get_ref().shutdown(Shutdown::Write);
        let _ = self.socket.get_ref().set_read_timeout(Some(END_LIMIT));
        let has_ended = std::io::copy(&mut self.socket, &mut std::io::sink()).is_ok();
        if !has_ended {
            // The child dies with its parent, and a namespace with its first process.
            let _ = self.process.kill();
        }
        // It fails only for a process that is gone.
        let _ = self.process.wait();
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the argument of `map_err`")]
fn lost(error: std::io::Error) -> SandboxError {
    SandboxError::WorkerLost(error.to_string())
}

//! Limits, rungs and the floor.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

/// A layer of isolation.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Rung {
    /// Hard resource limits, no capabilities, no new privileges; a user of its own if root starts it.
    Limits,
    /// A filter of system calls.
    Seccomp,
    /// Landlock: the file system, TCP, and signals to other processes.
    Landlock,
    /// User, mount, pid, net, ipc and uts namespaces.
    Namespaces,
    /// A control group for each slot: memory, processes and processors of all its processes together.
    Cgroups,
}

impl Rung {
    /// All rungs.
    pub const ALL: [Self; 5] =
        [Self::Limits, Self::Seccomp, Self::Landlock, Self::Namespaces, Self::Cgroups];

    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Limits => "limits",
            Self::Seccomp => "seccomp",
            Self::Landlock => "landlock",
            Self::Namespaces => "namespaces",
            Self::Cgroups => "cgroups",
        }
    }
}

/// The least isolation under which code is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Floor {
    /// [`Rung::Limits`].
    Limits,
    /// And [`Rung::Seccomp`].
    Calls,
    /// And [`Rung::Landlock`] or [`Rung::Namespaces`], without which the files of the machine can
    /// be read.
    #[default]
    Files,
    /// All rungs.
    All,
}

impl Floor {
    /// Whether `rungs` are enough.
    pub fn accepts(self, rungs: &[Rung]) -> bool {
        let has = |rung| rungs.contains(&rung);
        match self {
            Self::Limits => has(Rung::Limits),
            Self::Calls => has(Rung::Limits) && has(Rung::Seccomp),
            Self::Files => {
                Self::Calls.accepts(rungs) && (has(Rung::Landlock) || has(Rung::Namespaces))
            }
            Self::All => Rung::ALL.into_iter().all(has),
        }
    }
}

/// Limits of one test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// CPU time of all processes of the test.
    pub cpu: Duration,
    /// Time by the clock, from the first fork.
    pub wall: Duration,
    /// Address space of each process in bytes, the interpreter's own 30 MiB included.
    pub memory_bytes: u64,
    /// Bytes of stdout and of stderr each. A longer stdout is [`Ending::Output`].
    pub output_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self::with_cpu(Duration::from_secs(10))
    }
}

impl Limits {
    /// The defaults with this CPU time, and twice as much by the clock.
    pub fn with_cpu(cpu: Duration) -> Self {
        Self { cpu, wall: cpu * 2 + SLACK, memory_bytes: 1 << 30, output_bytes: 1 << 20 }
    }
}

/// Time by the clock beyond twice the CPU time, for a loaded machine.
const SLACK: Duration = Duration::from_secs(1);

/// Configuration of a [`crate::Sandbox`].
#[derive(Debug, Clone)]
pub struct SandboxConfig {
    /// The interpreter, a path or a name that is looked up. Python 3.10 or later.
    pub python: PathBuf,
    /// Submissions that run at a time.
    pub slots: usize,
    /// Submissions that wait, beyond which [`crate::Sandbox::submit`] refuses.
    pub queue: usize,
    /// Rungs to enter where the kernel allows.
    pub rungs: Vec<Rung>,
    /// The least isolation.
    pub floor: Floor,
    /// Threads and processes of the worker's user at a time. Counted only where that user is the
    /// worker's own: by root, or in namespaces.
    pub processes: u32,
    /// Bytes of a file that a guest writes.
    pub file_bytes: u64,
    /// Bytes of the main thread's stack.
    pub stack_bytes: u64,
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self {
            python: PathBuf::from("python3"),
            slots: std::thread::available_parallelism().map_or(1, usize::from),
            queue: 1024,
            rungs: Rung::ALL.to_vec(),
            floor: Floor::default(),
            processes: 64,
            file_bytes: 64 << 20,
            stack_bytes: 64 << 20,
        }
    }
}

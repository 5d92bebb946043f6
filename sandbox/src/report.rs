//! How a test ended.

use std::time::Duration;

use serde::Deserialize;

use crate::{Limits, SandboxError};

/// Which limit ended a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitReached {
    /// CPU time.
    Cpu,
    /// Time by the clock.
    Wall,
}

/// End of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct ProcessEnd {
    /// Exit code; `None` if a signal ended it.
    pub exit: Option<i32>,
    /// The signal.
    pub signal: Option<i32>,
    /// CPU time in microseconds.
    pub cpu_us: u64,
    /// Largest resident memory in KiB.
    pub peak_kib: u64,
    /// Whether it was isolated and began with untrusted code.
    started: bool,
    /// Whether the worker killed it, at a limit or because the tests had ended.
    killed: bool,
    /// Whether it was no interpreter of ours, which reports a lack of memory.
    native: bool,
    /// The limit at which the worker ended the test.
    reached: Option<LimitReached>,
}

/// End of a test, with blame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Exit code 0.
    Finished,
    /// Another exit code, or a signal.
    Failed,
    /// A limit of time.
    Time(LimitReached),
    /// It found no memory below its limit.
    Memory,
    /// More output than allowed.
    Output,
    /// A forbidden system call.
    Security,
    /// Ended from outside, or not begun: no fault of the guest.
    Broken,
}

impl Ending {
    /// The name in counts and results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            // A broken guest is an error and no report.
            Self::Failed | Self::Broken => "failed",
            Self::Time(LimitReached::Cpu) => "cpu_time",
            Self::Time(LimitReached::Wall) => "wall_time",
            Self::Memory => "memory",
            Self::Output => "output",
            Self::Security => "security",
        }
    }
}

/// What one test did.
#[derive(Debug, Clone)]
pub struct Report {
    /// The submission's process.
    pub guest: ProcessEnd,
    /// The process of the tests, where they have one.
    pub tester: Option<ProcessEnd>,
    /// The beginning of stdout, up to the limit.
    pub stdout: Vec<u8>,
    /// The beginning of stderr, up to the limit.
    pub stderr: Vec<u8>,
    /// Whether stdout was longer.
    pub is_truncated: bool,
    /// What the harness reported on its own descriptor: for a call the encoded value, for tests
    /// their outcomes. Of a call it is the guest's word.
    pub result: Option<Vec<u8>>,
    /// From the first fork to the last exit.
    pub wall: Duration,
}

/// What became of a submission's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Loaded {
    /// It compiles; its tests can be run.
    Ready,
    /// It does not, for this reason.
    NotCompiled(String),
}

impl Loaded {
    /// Returns the error that a text is which compiled before and does not now: the machine is short of
    /// something, or the worker is spoiled.
    ///
    /// # Errors
    /// [`SandboxError::WorkerLost`].
    pub fn again(self) -> Result<(), SandboxError> {
        match self {
            Self::Ready => Ok(()),
            Self::NotCompiled(why) => {
                Err(SandboxError::WorkerLost(format!("what compiled before does not again: {why}")))
            }
        }
    }
}

/// Exit code by which the harness reports a lack of memory.
const EXIT_MEMORY: i32 = 99;

impl ProcessEnd {
    /// The end with blame, output aside.
    pub fn ending(&self, limits: &Limits) -> Ending {
        if let Some(limit) = self.reached {
            return Ending::Time(limit);
        }
        if !self.started {
            return Ending::Broken;
        }
        let holds_much = self.peak_kib.saturating_mul(1024 * 2) >= limits.memory_bytes;
        match (self.exit, self.signal) {
            (Some(0), _) => Ending::Finished,
            (Some(EXIT_MEMORY), _) if !self.native => Ending::Memory,
            (_, Some(libc::SIGSYS)) => Ending::Security,
            // No guest can send it to itself; the system may, when memory is short.
            (_, Some(libc::SIGKILL)) if holds_much => Ending::Memory,
            (_, Some(libc::SIGKILL)) if !self.killed => Ending::Broken,
            (_, Some(libc::SIGXCPU)) => Ending::Time(LimitReached::Cpu),
            (_, Some(libc::SIGXFSZ)) => Ending::Output,
            // Most programs fail in some way when they get no more.
            _ if self.native && holds_much => Ending::Memory,
            _ => Ending::Failed,
        }
    }
}

impl Report {
    /// The end of the submission's process with blame.
    pub fn ending(&self, limits: &Limits) -> Ending {
        let ending = self.guest.ending(limits);
        if self.is_truncated && ending != Ending::Security { Ending::Output } else { ending }
    }
}

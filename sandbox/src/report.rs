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
    /// Whether processes of the slot were killed because it held too much; `None` if that is not known.
    #[serde(skip)]
    group_exceeded: Option<bool>,
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
    /// Whether neither it nor the worker ended it.
    pub(crate) fn was_killed(&self) -> bool {
        self.signal == Some(libc::SIGKILL) && !self.killed
    }

    /// The end with blame, output aside.
    pub fn ending(&self, limits: &Limits) -> Ending {
        if let Some(limit) = self.reached {
            return Ending::Time(limit);
        }
        if !self.started {
            return Ending::Broken;
        }
        let holds_much = self.peak_kib.saturating_mul(1024 * 2) >= limits.memory_bytes;
        let may_be_memory = self.killed || self.group_exceeded != Some(false);
        match (self.exit, self.signal) {
            // One of its processes perhaps, without which it went on.
            _ if self.native && self.group_exceeded == Some(true) => Ending::Memory,
            (Some(0), _) => Ending::Finished,
            (Some(EXIT_MEMORY), _) if !self.native => Ending::Memory,
            (_, Some(libc::SIGSYS)) => Ending::Security,
            // No guest can send it to itself, lower the limit of CPU time at which the kernel sends it
            // (`seccomp::cpu_limit_filter`), or have a child send it; the system may, when memory is short.
            (_, Some(libc::SIGKILL)) if holds_much && may_be_memory => Ending::Memory,
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
    /// Notes whether processes of the slot were killed because it held too much.
    pub(crate) fn note_group(&mut self, exceeded: bool) {
        for end in [Some(&mut self.guest), self.tester.as_mut()].into_iter().flatten() {
            end.group_exceeded = Some(exceeded);
        }
    }

    /// The end of the submission's process with blame.
    pub fn ending(&self, limits: &Limits) -> Ending {
        let ending = self.guest.ending(limits);
        if self.is_truncated && ending != Ending::Security { Ending::Output } else { ending }
    }
}

/// Whether a limit by the clock was reached because the machine kept the program or its compiler from
/// running, as `was_starved` says of its processor time. Others ran then: it did not sleep.
pub(crate) fn is_starved(
    ending: Ending,
    process: &ProcessEnd,
    was_starved: impl FnOnce(Duration) -> bool,
) -> bool {
    ending == Ending::Time(LimitReached::Wall) && was_starved(Duration::from_micros(process.cpu_us))
}

/// What the end of a compiler says of a text.
pub(crate) fn not_compiled(
    process: &ProcessEnd,
    message: &[u8],
    limits: &Limits,
    was_starved: impl FnOnce(Duration) -> bool,
) -> Result<Loaded, SandboxError> {
    let ending = process.ending(limits);
    if is_starved(ending, process, was_starved) {
        return Err(SandboxError::Starved);
    }
    match ending {
        Ending::Broken => Err(SandboxError::GuestKilled),
        Ending::Time(_) | Ending::Memory => {
            Ok(Loaded::NotCompiled(format!("the compiler met its limit: {ending:?}")))
        }
        Ending::Finished | Ending::Failed | Ending::Output | Ending::Security => {
            Ok(Loaded::NotCompiled(String::from_utf8_lossy(message).into_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn end(exit: Option<i32>, reached: &Value, cpu_us: u64, killed: bool) -> ProcessEnd {
        let end = serde_json::json!({"exit": exit, "signal": exit.is_none().then_some(9),
            "cpu_us": cpu_us, "peak_kib": 1, "native": false, "started": true, "killed": killed,
            "reached": reached});
        serde_json::from_value(end).expect("an end")
    }

    #[test]
    fn late_program_is_starved_if_the_machine_was_and_it_ran() {
        let limits = Limits::with_cpu(Duration::from_secs(10));
        for (reached, cpu_us, expected) in [
            (serde_json::json!("wall"), 9_000_000, true),
            // It slept.
            (serde_json::json!("wall"), 1000, false),
            // Its own fault, whatever the machine did.
            (serde_json::json!("cpu"), 10_000_000, false),
            (Value::Null, 9_000_000, false),
        ] {
            let guest = end(None, &reached, cpu_us, true);
            let was_starved = |cpu: Duration| cpu >= limits.wall / 10;
            let found = is_starved(guest.ending(&limits), &guest, was_starved);
            assert_eq!(found, expected, "{guest:?}");
        }
    }

    #[test]
    fn kill_for_memory_is_blamed_on_what_held_it() {
        let limits = Limits { memory_bytes: 100 << 20, ..Limits::default() };
        for (native, peak_mib, exceeded, expected) in [
            // Without a group what was held says it.
            (false, 60, None, Ending::Memory),
            (false, 40, None, Ending::Broken),
            (false, 60, Some(true), Ending::Memory),
            // Another process of the slot held it.
            (false, 40, Some(true), Ending::Broken),
            // The machine or a group above had no memory.
            (false, 60, Some(false), Ending::Broken),
            // The processes of a program count together.
            (true, 40, Some(true), Ending::Memory),
        ] {
            let mut killed = end(None, &Value::Null, 1000, false);
            (killed.native, killed.peak_kib) = (native, peak_mib * 1024);
            killed.group_exceeded = exceeded;
            assert_eq!(killed.ending(&limits), expected, "{killed:?}");
        }
    }

    #[test]
    fn late_compiler_is_starved_if_the_machine_was_and_it_ran() {
        let limits = Limits::with_cpu(Duration::from_secs(10));
        let (wall, cpu) = (serde_json::json!("wall"), serde_json::json!("cpu"));
        let met = |limit: &str| {
            Ok(Loaded::NotCompiled(format!("the compiler met its limit: Time({limit})")))
        };
        for (end, expected) in [
            (end(None, &wall, 9_000_000, true), Err(SandboxError::Starved)),
            // It slept.
            (end(None, &wall, 1000, true), met("Wall")),
            // Its own fault, whatever the machine did.
            (end(None, &cpu, 10_000_000, true), met("Cpu")),
            (end(None, &Value::Null, 9_000_000, false), Err(SandboxError::GuestKilled)),
            (end(Some(1), &Value::Null, 9_000_000, false), Ok(Loaded::NotCompiled("why".into()))),
        ] {
            let was_starved = |cpu: Duration| cpu >= limits.wall / 10;
            assert_eq!(not_compiled(&end, b"why", &limits, was_starved), expected, "{end:?}");
        }
    }
}

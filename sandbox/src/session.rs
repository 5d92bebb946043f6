//! A submission in a worker.

use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::config::{Limits, SandboxConfig};
use crate::pressure::PressureWatch;
use crate::report::{Ending, LimitReached, Loaded, ProcessEnd, Report};
use crate::status::{Counts, NOT_COMPILED, add};
use crate::worker::{Isolation, SandboxError, Start, Worker, is_lean, names};

/// One test of a submission. Expected values are in [`Test::Tests`] and [`Test::Check`] alone,
/// whose text reaches a process of its own, after the submission's process was made.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Test {
    /// Runs the submission as a program.
    Program {
        /// What it reads.
        stdin: String,
    },
    /// Calls a function of the submission, or a method of its class `Solution`.
    Call {
        /// The function.
        function: String,
        /// Its positional arguments.
        args: Vec<Value>,
        /// Its named arguments.
        kwargs: Map<String, Value>,
        /// Whether the result is the first argument after the call.
        in_place: bool,
    },
    /// Runs the loaded program with the names of three files as its arguments: `input.txt`,
    /// `correct_output.txt` and `solution_output.txt`. They are in its memory alone.
    Check(#[serde(skip)] CheckFiles),
    /// Runs tests in one process, which call the submission in another.
    Tests(#[serde(skip)] TestFile),
}

/// Python tests. They see the submission's functions as their own.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct TestFile {
    /// Code that runs first: imports, helpers, `check(candidate)`, functions `test_*`, classes of
    /// `unittest.TestCase`.
    pub code: String,
    /// The function that `candidate` names.
    pub entry: Option<String>,
    /// Statements, each of which is a test.
    pub asserts: Vec<String>,
    /// Names of the submission's module beside `solution`.
    pub modules: Vec<String>,
}

/// The files of a program that checks an output.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct CheckFiles {
    /// What a submission read.
    pub input: String,
    /// The output of the reference.
    pub expected: String,
    /// The output of the submission.
    pub output: String,
}

/// What the threads of a sandbox share.
#[derive(Debug)]
pub(crate) struct SandboxState {
    pub(crate) config: SandboxConfig,
    /// What the kernel allows, once a worker was started.
    isolation: Mutex<Option<Isolation>>,
    pub(crate) counts: Counts,
}

impl SandboxState {
    pub(crate) fn new(config: SandboxConfig) -> Self {
        Self { config, isolation: Mutex::new(None), counts: Counts::default() }
    }

    /// What is in force; `None` before the first worker.
    pub(crate) fn isolation(&self) -> Option<Isolation> {
        self.isolation.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Starts a worker with the rungs that the kernel allows, if the floor accepts them.
    fn start(&self) -> Result<Worker, SandboxError> {
        let known = self.isolation();
        let mut rungs =
            known.as_ref().map_or(self.config.rungs.clone(), |known| known.rungs.clone());
        let mut refused = known.map_or(Vec::new(), |known| known.refused);
        loop {
            if !self.config.floor.accepts(&rungs) {
                let refused: Vec<String> =
                    refused.iter().map(|(rung, why)| format!("{} ({why})", rung.name())).collect();
                return Err(SandboxError::BelowFloor {
                    rungs: names(&rungs),
                    refused: refused.join(", "),
                });
            }
            match Worker::start(&self.config, &rungs)? {
                Start::Refused(rung, why) => {
                    rungs.retain(|other| *other != rung);
                    refused.push((rung, why));
                }
                Start::Ready(worker, isolation) => {
                    add(&self.counts.workers, 1);
                    let isolation = Isolation { refused, ..isolation };
                    *self.isolation.lock().unwrap_or_else(PoisonError::into_inner) =
                        Some(isolation);
                    return Ok(worker);
                }
            }
        }
    }
}

/// Cancels a submission from another thread.
#[derive(Debug, Default)]
pub(crate) struct Cancel {
    state: Mutex<CancelState>,
}

#[derive(Debug, Default)]
struct CancelState {
    is_cancelled: bool,
    /// Of the worker that runs the submission.
    socket: Option<UnixStream>,
}

impl Cancel {
    /// Ends the submission and its processes.
    pub(crate) fn cancel(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_cancelled = true;
        if let Some(socket) = state.socket.take() {
            // The worker ends, and with it what its thread waits for. It fails only for one that is gone.
            let _ = socket.shutdown(Shutdown::Write);
        }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).is_cancelled
    }

    /// Attaches the worker that runs the submission now.
    fn attach(&self, worker: &Worker) -> Result<(), SandboxError> {
        let socket =
            worker.socket().map_err(|error| SandboxError::WorkerLost(error.to_string()))?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.is_cancelled {
            return Err(SandboxError::Cancelled);
        }
        state.socket = Some(socket);
        Ok(())
    }

    /// Detaches it, so that cancelling late does not end another submission.
    fn detach(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).socket = None;
    }
}

/// A slot's worker for the time of one submission.
#[derive(Debug)]
pub struct Session<'s> {
    shared: &'s SandboxState,
    cancel: &'s Arc<Cancel>,
    /// The slot's worker; `None` before the first submission and after a loss.
    worker: &'s mut Option<Worker>,
    /// The text and its limits.
    loaded: Option<(String, Limits)>,
}

#[derive(Serialize)]
struct LoadMessage<'a> {
    source: &'a str,
    lean: bool,
    limits: LoadLimits,
}

#[derive(Serialize)]
struct LoadLimits {
    cpu_ms: u64,
    wall_ms: u64,
    memory: u64,
    output: u64,
}

#[derive(Deserialize)]
struct CompileHead {
    /// The process that compiled it, which ended if it could not.
    process: Option<ProcessEnd>,
    stderr: usize,
}

#[derive(Deserialize)]
struct TestHead {
    #[serde(flatten)]
    guest: ProcessEnd,
    tester: Option<ProcessEnd>,
    too_long: bool,
    stdout: usize,
    stderr: usize,
    /// Bytes of the framed result; -1 if there is none.
    result: i64,
    wall_us: u64,
}

/// Time beyond the limits of a test after which its worker counts as lost.
const SILENCE: Duration = Duration::from_secs(30);

impl<'s> Session<'s> {
    pub(crate) fn new(
        shared: &'s SandboxState,
        cancel: &'s Arc<Cancel>,
        worker: &'s mut Option<Worker>,
    ) -> Self {
        Self { shared, cancel, worker, loaded: None }
    }

    /// What is in force.
    pub fn isolation(&self) -> Option<Isolation> {
        self.shared.isolation()
    }

    /// Compiles a submission, whose tests [`Session::run`] runs under `limits`.
    ///
    /// # Errors
    /// Every [`SandboxError`] but [`SandboxError::QueueFull`].
    pub fn load(&mut self, source: &str, limits: Limits) -> Result<Loaded, SandboxError> {
        self.finish()?;
        let loaded = self.twice(|session| session.compile(source, limits))?;
        match loaded {
            Loaded::Ready => self.loaded = Some((source.to_owned(), limits)),
            Loaded::NotCompiled(_) => self.shared.counts.ended_as(NOT_COMPILED),
        }
        Ok(loaded)
    }

    /// Runs one test of the submission.
    ///
    /// # Errors
    /// Every [`SandboxError`] but [`SandboxError::QueueFull`].
    pub fn run(&mut self, test: &Test) -> Result<Report, SandboxError> {
        let (source, limits) = self.loaded.clone().expect("a submission was loaded");
        let watch = PressureWatch::start();
        let report = self.twice(|session| {
            if session.worker.is_none() {
                session.compile(&source, limits)?;
            }
            session.test(test, &limits)
        })?;
        let counts = &self.shared.counts;
        if is_starved(&report, &limits, |cpu| watch.was_starved(cpu)) {
            counts.failed(&SandboxError::Starved);
            return Err(SandboxError::Starved);
        }
        counts.ended(report.ending(&limits), report.wall);
        Ok(report)
    }

    /// Ends the submission.
    pub(crate) fn finish(&mut self) -> Result<(), SandboxError> {
        if let (Some(_), Some(worker)) = (self.loaded.take(), self.worker.as_mut()) {
            worker.send(&Value::Null)?;
        }
        Ok(())
    }

    /// Runs `step`, and once more with a new worker if the first one was lost. Counts a failure.
    fn twice<T>(
        &mut self,
        step: impl Fn(&mut Self) -> Result<T, SandboxError>,
    ) -> Result<T, SandboxError> {
        let result = self.uncounted(step);
        if let Err(error) = &result {
            self.shared.counts.failed(error);
        }
        result
    }

    fn uncounted<T>(
        &mut self,
        step: impl Fn(&mut Self) -> Result<T, SandboxError>,
    ) -> Result<T, SandboxError> {
        let mut result = Err(SandboxError::Cancelled);
        for _ in 0..2 {
            if self.cancel.is_cancelled() {
                return Err(SandboxError::Cancelled);
            }
            result = step(self);
            let Err(error) = &result else { return result };
            if matches!(error, SandboxError::WorkerLost(_)) && !self.cancel.is_cancelled() {
                add(&self.shared.counts.worker_deaths, 1);
            }
            *self.worker = None;
            self.cancel.detach();
            if !matches!(error, SandboxError::WorkerLost(_) | SandboxError::GuestKilled) {
                return result;
            }
        }
        if self.cancel.is_cancelled() { Err(SandboxError::Cancelled) } else { result }
    }

    /// The slot's worker, which is started if there is none.
    fn worker(&mut self) -> Result<&mut Worker, SandboxError> {
        if self.worker.is_none() {
            *self.worker = Some(self.shared.start()?);
        }
        let worker = self.worker.as_mut().expect("just started");
        self.cancel.attach(worker)?;
        Ok(worker)
    }

    fn compile(&mut self, source: &str, limits: Limits) -> Result<Loaded, SandboxError> {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1);
        let message = LoadMessage {
            source,
            lean: is_lean(source),
            limits: LoadLimits {
                cpu_ms: millis(limits.cpu),
                wall_ms: millis(limits.wall),
                memory: limits.memory_bytes,
                output: limits.output_bytes,
            },
        };
        let worker = self.worker()?;
        worker.expect_within(limits.wall + SILENCE)?;
        worker.send(&message)?;
        let head: CompileHead = worker.receive()?;
        let message = worker.receive_bytes(head.stderr)?;
        let Some(process) = head.process else { return Ok(Loaded::Ready) };
        worker.send(&Value::Null)?;
        match process.ending(&limits) {
            Ending::Broken => Err(SandboxError::GuestKilled),
            ending @ (Ending::Time(_) | Ending::Memory) => {
                Ok(Loaded::NotCompiled(format!("the compiler met its limit: {ending:?}")))
            }
            Ending::Finished | Ending::Failed | Ending::Output | Ending::Security => {
                Ok(Loaded::NotCompiled(String::from_utf8_lossy(&message).into_owned()))
            }
        }
    }

    fn test(&mut self, test: &Test, limits: &Limits) -> Result<Report, SandboxError> {
        let worker = self.worker()?;
        worker.expect_within(limits.wall + SILENCE)?;
        worker.send(test)?;
        match test {
            Test::Tests(file) => worker.send(file)?,
            Test::Check(files) => worker.send(files)?,
            Test::Program { .. } | Test::Call { .. } => {}
        }
        let head: TestHead = worker.receive()?;
        let stdout = worker.receive_bytes(head.stdout)?;
        let stderr = worker.receive_bytes(head.stderr)?;
        let result = usize::try_from(head.result).ok();
        let result = result.map(|length| worker.receive_bytes(length)).transpose()?;
        let report = Report {
            guest: head.guest,
            tester: head.tester,
            stdout,
            stderr,
            is_truncated: head.too_long,
            result,
            wall: Duration::from_micros(head.wall_us),
        };
        let is_broken = |end: &ProcessEnd| end.ending(limits) == Ending::Broken;
        if is_broken(&report.guest) || report.tester.as_ref().is_some_and(is_broken) {
            return Err(SandboxError::GuestKilled);
        }
        Ok(report)
    }
}

/// Whether a limit by the clock was reached because the machine kept the program from running, as
/// `was_starved` says of its processor time. Others ran then: it did not sleep.
fn is_starved(
    report: &Report,
    limits: &Limits,
    was_starved: impl FnOnce(Duration) -> bool,
) -> bool {
    report.ending(limits) == Ending::Time(LimitReached::Wall)
        && was_starved(Duration::from_micros(report.guest.cpu_us))
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        if self.finish().is_err() {
            *self.worker = None;
        }
        self.cancel.detach();
        // The worker of a cancelled submission is gone or about to be.
        if self.cancel.is_cancelled() {
            *self.worker = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let end = serde_json::json!({"exit": null, "signal": 9, "cpu_us": cpu_us,
                "peak_kib": 1, "started": true, "killed": true, "reached": reached});
            let report = Report {
                guest: serde_json::from_value(end).expect("an end"),
                tester: None,
                stdout: Vec::new(),
                stderr: Vec::new(),
                is_truncated: false,
                result: None,
                wall: limits.wall,
            };
            let was_starved = |cpu: Duration| cpu >= limits.wall / 10;
            assert_eq!(is_starved(&report, &limits, was_starved), expected, "{report:?}");
        }
    }
}

//! A submission in a worker.

use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::config::{Limits, SandboxConfig};
use crate::languages::tool_files;
use crate::native::{COMPILER_BYTES, NativeMessage, NativeProgram};
use crate::pressure::PressureWatch;
use crate::report::{Ending, Loaded, ProcessEnd, Report, is_starved, not_compiled};
use crate::status::{NOT_COMPILED, SandboxCounts, add};
use crate::worker::{Isolation, SandboxError, Start, ToolFiles, Worker, is_lean, names};

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
    pub(crate) counts: SandboxCounts,
}

impl SandboxState {
    pub(crate) fn new(config: SandboxConfig) -> Self {
        Self { config, isolation: Mutex::new(None), counts: SandboxCounts::default() }
    }

    /// What is in force; `None` before the first worker.
    pub(crate) fn isolation(&self) -> Option<Isolation> {
        self.isolation.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Starts a worker with the rungs that the kernel allows, if the floor accepts them.
    fn start(&self, kind: WorkerKind) -> Result<Worker, SandboxError> {
        let tools = match kind {
            WorkerKind::Python => ToolFiles::default(),
            WorkerKind::Native => tool_files(),
        };
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
            match Worker::start(&self.config, &rungs, &tools)? {
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

/// What a worker runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkerKind {
    /// Python, in forks of its interpreter.
    Python,
    /// Installed tools and what they compile.
    Native,
}

/// The workers of a slot, each `None` before its first submission and after a loss.
#[derive(Debug, Default)]
pub(crate) struct SlotWorkers {
    python: Option<Worker>,
    native: Option<Worker>,
}

impl SlotWorkers {
    fn of(&mut self, kind: WorkerKind) -> &mut Option<Worker> {
        match kind {
            WorkerKind::Python => &mut self.python,
            WorkerKind::Native => &mut self.native,
        }
    }
}

/// A slot's workers for the time of one submission.
#[derive(Debug)]
pub struct Session<'s> {
    shared: &'s SandboxState,
    cancel: &'s Arc<Cancel>,
    workers: &'s mut SlotWorkers,
    /// A text in Python and its limits.
    loaded: Option<(String, Limits)>,
    /// A program of another language and its limits.
    compiled: Option<(NativeProgram, Limits)>,
}

#[derive(Serialize)]
struct NativeLoadMessage<'a> {
    program: NativeMessage<'a, LoadLimits>,
    limits: LoadLimits,
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

impl From<&Limits> for LoadLimits {
    fn from(limits: &Limits) -> Self {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1);
        Self {
            cpu_ms: millis(limits.cpu),
            wall_ms: millis(limits.wall),
            memory: limits.memory_bytes,
            output: limits.output_bytes,
        }
    }
}

#[derive(Deserialize)]
struct CompileHead {
    /// The process that compiled it, which ended if it could not.
    process: Option<ProcessEnd>,
    stderr: usize,
    /// A tool that the worker may not run.
    #[serde(default)]
    unusable: Option<String>,
    /// Whether it would start processes that no limit counts.
    #[serde(default)]
    is_uncounted: bool,
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
        workers: &'s mut SlotWorkers,
    ) -> Self {
        Self { shared, cancel, workers, loaded: None, compiled: None }
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
        self.finish(WorkerKind::Python);
        let loaded = self.twice(WorkerKind::Python, |session| session.compile(source, limits))?;
        match loaded {
            Loaded::Ready => self.loaded = Some((source.to_owned(), limits)),
            Loaded::NotCompiled(_) => self.shared.counts.ended_as(NOT_COMPILED),
        }
        Ok(loaded)
    }

    /// Compiles a program of another language, which [`Session::run_native`] runs under `limits`. A
    /// text that [`Session::load`] loaded stays loaded.
    ///
    /// # Errors
    /// Every [`SandboxError`] but [`SandboxError::QueueFull`].
    pub fn load_native(
        &mut self,
        program: &NativeProgram,
        limits: Limits,
    ) -> Result<Loaded, SandboxError> {
        self.finish(WorkerKind::Native);
        let loaded =
            self.twice(WorkerKind::Native, |session| session.compile_native(program, limits))?;
        match loaded {
            Loaded::Ready => self.compiled = Some((program.clone(), limits)),
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
        self.counted(&limits, |session| {
            session.twice(WorkerKind::Python, |session| {
                if session.workers.python.is_none() {
                    session.compile(&source, limits)?.again()?;
                }
                session.test(WorkerKind::Python, test, &limits)
            })
        })
    }

    /// Runs one test of the compiled program: [`Test::Program`], or [`Test::Call`] if it has a command
    /// for calls.
    ///
    /// # Errors
    /// Every [`SandboxError`] but [`SandboxError::QueueFull`].
    pub fn run_native(&mut self, test: &Test) -> Result<Report, SandboxError> {
        let (program, limits) = self.compiled.clone().expect("a program was compiled");
        self.counted(&limits, |session| {
            session.twice(WorkerKind::Native, |session| {
                if session.workers.native.is_none() {
                    session.compile_native(&program, limits)?.again()?;
                }
                session.test(WorkerKind::Native, test, &limits)
            })
        })
    }

    /// Counts what a test ends as. One that the machine kept from running is a failure.
    fn counted(
        &mut self,
        limits: &Limits,
        run: impl FnOnce(&mut Self) -> Result<Report, SandboxError>,
    ) -> Result<Report, SandboxError> {
        let watch = PressureWatch::start();
        let report = run(self)?;
        let counts = &self.shared.counts;
        if is_starved(report.ending(limits), &report.guest, |cpu| watch.was_starved(cpu)) {
            counts.failed(&SandboxError::Starved);
            return Err(SandboxError::Starved);
        }
        counts.ended(report.ending(limits), report.wall);
        Ok(report)
    }

    /// Ends the submission of a worker. One that was lost since its last test is replaced by the next.
    fn finish(&mut self, kind: WorkerKind) {
        let was_loaded = match kind {
            WorkerKind::Python => self.loaded.take().is_some(),
            WorkerKind::Native => self.compiled.take().is_some(),
        };
        if let (true, Some(worker)) = (was_loaded, self.workers.of(kind))
            && worker.send(&Value::Null).is_err()
        {
            if !self.cancel.is_cancelled() {
                add(&self.shared.counts.worker_deaths, 1);
            }
            *self.workers.of(kind) = None;
            self.cancel.detach();
        }
    }

    /// Runs `step`, and once more with a new worker if the first one was lost. Counts a failure.
    fn twice<T>(
        &mut self,
        kind: WorkerKind,
        step: impl Fn(&mut Self) -> Result<T, SandboxError>,
    ) -> Result<T, SandboxError> {
        let result = self.uncounted(kind, step);
        if let Err(error) = &result {
            self.shared.counts.failed(error);
        }
        result
    }

    fn uncounted<T>(
        &mut self,
        kind: WorkerKind,
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
            *self.workers.of(kind) = None;
            self.cancel.detach();
            if !matches!(error, SandboxError::WorkerLost(_) | SandboxError::GuestKilled) {
                return result;
            }
        }
        if self.cancel.is_cancelled() { Err(SandboxError::Cancelled) } else { result }
    }

    /// The slot's worker, which is started if there is none.
    fn worker(&mut self, kind: WorkerKind) -> Result<&mut Worker, SandboxError> {
        let place = self.workers.of(kind);
        if place.is_none() {
            *place = Some(self.shared.start(kind)?);
        }
        let worker = place.as_mut().expect("just started");
        self.cancel.attach(worker)?;
        Ok(worker)
    }

    fn compile(&mut self, source: &str, limits: Limits) -> Result<Loaded, SandboxError> {
        let message =
            LoadMessage { source, lean: is_lean(source), limits: LoadLimits::from(&limits) };
        let worker = self.worker(WorkerKind::Python)?;
        worker.expect_within(limits.wall + SILENCE)?;
        let watch = PressureWatch::start();
        worker.send(&message)?;
        self.compiled_as(WorkerKind::Python, &limits, watch)
    }

    fn compile_native(
        &mut self,
        program: &NativeProgram,
        limits: Limits,
    ) -> Result<Loaded, SandboxError> {
        let compile =
            Limits { memory_bytes: COMPILER_BYTES, ..Limits::with_cpu(program.compile_time) };
        let message = NativeLoadMessage {
            program: program.message(LoadLimits::from(&compile)),
            limits: LoadLimits::from(&limits),
        };
        let steps = u32::try_from(program.compile.len()).unwrap_or(u32::MAX);
        let worker = self.worker(WorkerKind::Native)?;
        worker.expect_within((compile.wall * steps).saturating_add(SILENCE))?;
        let watch = PressureWatch::start();
        worker.send(&message)?;
        self.compiled_as(WorkerKind::Native, &compile, watch)
    }

    /// What a worker says of a text that it was sent when `watch` began.
    fn compiled_as(
        &mut self,
        kind: WorkerKind,
        limits: &Limits,
        watch: PressureWatch,
    ) -> Result<Loaded, SandboxError> {
        let worker = self.worker(kind)?;
        let head: CompileHead = worker.receive()?;
        let message = worker.receive_bytes(head.stderr)?;
        if head.process.is_some() || head.unusable.is_some() || head.is_uncounted {
            worker.send(&Value::Null)?;
        }
        if let Some(tool) = head.unusable {
            return Err(SandboxError::UnusableTool(tool));
        }
        if head.is_uncounted {
            let rungs = self.isolation().map_or(String::new(), |isolation| isolation.names());
            let refused = "a limit of processes (namespaces or a start by root)".to_owned();
            return Err(SandboxError::BelowFloor { rungs, refused });
        }
        let Some(process) = head.process else { return Ok(Loaded::Ready) };
        not_compiled(&process, &message, limits, |cpu| watch.was_starved(cpu))
    }

    fn test(
        &mut self,
        kind: WorkerKind,
        test: &Test,
        limits: &Limits,
    ) -> Result<Report, SandboxError> {
        let worker = self.worker(kind)?;
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

impl Drop for Session<'_> {
    fn drop(&mut self) {
        for kind in [WorkerKind::Python, WorkerKind::Native] {
            self.finish(kind);
        }
        self.cancel.detach();
        // The worker of a cancelled submission is gone or about to be.
        if self.cancel.is_cancelled() {
            *self.workers = SlotWorkers::default();
        }
    }
}

//! A submission in a worker.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cancel::Cancel;
use crate::config::{Limits, Rung, SandboxConfig};
use crate::group::SlotGroup;
use crate::languages::tool_files;
use crate::native::{COMPILER_BYTES, NativeMessage, NativeProgram};
use crate::pressure::PressureWatch;
use crate::report::{Ending, Loaded, ProcessEnd, Report, is_starved, not_compiled};
use crate::status::{NOT_COMPILED, SandboxCounts, add};
use crate::test::Test;
use crate::worker::{Isolation, SandboxError, Start, ToolFiles, Worker, is_lean, names};

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

    /// Starts a worker with the rungs that the kernel allows, if the floor accepts them, in the group of its slot.
    fn start(
        &self,
        kind: WorkerKind,
        group: &mut Option<SlotGroup>,
    ) -> Result<Worker, SandboxError> {
        let tools = match kind {
            WorkerKind::Python => ToolFiles::default(),
            WorkerKind::Native => tool_files(),
        };
        let known = self.isolation();
        if known.is_none() {
            SlotGroup::remove_stale();
        }
        let mut rungs =
            known.as_ref().map_or(self.config.rungs.clone(), |known| known.rungs.clone());
        let mut refused = known.map_or(Vec::new(), |known| known.refused);
        if rungs.contains(&Rung::Cgroups) && group.is_none() {
            match SlotGroup::make(self.config.processes) {
                Ok(made) => *group = Some(made),
                Err(why) => {
                    rungs.retain(|other| *other != Rung::Cgroups);
                    refused.push((Rung::Cgroups, why.to_string()));
                }
            }
        }
        loop {
            if !self.config.floor.accepts(&rungs) {
                let refused: Vec<String> =
                    refused.iter().map(|(rung, why)| format!("{} ({why})", rung.name())).collect();
                return Err(SandboxError::BelowFloor {
                    rungs: names(&rungs),
                    refused: refused.join(", "),
                });
            }
            match Worker::start(&self.config, &rungs, &tools, group.as_ref())? {
                Start::Refused(rung, why) => {
                    if rung == Rung::Cgroups {
                        *group = None;
                    }
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
    /// Of both, which end before it.
    group: Option<SlotGroup>,
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
    /// Tests of the text in Python that its worker was sent, and whose reports were not read.
    ahead: VecDeque<Test>,
    /// The worker that cancelling ends.
    attached: Option<WorkerKind>,
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

/// Tests for a worker.
#[derive(Serialize)]
struct Batch<'a> {
    tests: &'a [&'a Test],
    /// Whether the submission has no others, so that the worker may end it while their reports are read. One that has
    /// is run again.
    is_last: bool,
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

/// What a test wrote: to stdout, to stderr, and as its framed result.
type Outputs = (Vec<u8>, Vec<u8>, Option<Vec<u8>>);

impl TestHead {
    /// Receives what follows it.
    fn outputs(&self, worker: &mut Worker) -> Result<Outputs, SandboxError> {
        let stdout = worker.receive_bytes(self.stdout)?;
        let stderr = worker.receive_bytes(self.stderr)?;
        let result = usize::try_from(self.result).ok();
        let result = result.map(|length| worker.receive_bytes(length)).transpose()?;
        Ok((stdout, stderr, result))
    }
}

/// Bytes of tests that a worker is sent ahead: less than its socket holds, so that none is sent while it does not
/// read.
const AHEAD_BYTES: usize = 16 << 10;
/// The most tests that a worker is sent at once.
const AHEAD_TESTS: usize = 128;

/// Time beyond the limits of a test after which its worker counts as lost.
const SILENCE: Duration = Duration::from_secs(30);

impl<'s> Session<'s> {
    pub(crate) fn new(
        shared: &'s SandboxState,
        cancel: &'s Arc<Cancel>,
        workers: &'s mut SlotWorkers,
    ) -> Self {
        Self {
            shared,
            cancel,
            workers,
            loaded: None,
            compiled: None,
            ahead: VecDeque::new(),
            attached: None,
        }
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
        self.run_before(test, &std::iter::empty(), 0)
    }

    /// Runs one test of the submission, before those that follow it: the worker begins with `ahead` of them while this
    /// one's report is read, and they are ended if the next call is not for the first of them.
    ///
    /// # Errors
    /// Every [`SandboxError`] but [`SandboxError::QueueFull`].
    pub fn run_before<'t>(
        &mut self,
        test: &Test,
        following: &(impl Iterator<Item = &'t Test> + Clone),
        ahead: usize,
    ) -> Result<Report, SandboxError> {
        let limits = self.loaded.as_ref().expect("a submission was loaded").1;
        self.counted(&limits, |session| {
            session.twice(WorkerKind::Python, |session| {
                if session.workers.python.is_none() {
                    let (source, _) = session.loaded.clone().expect("a submission was loaded");
                    session.compile(&source, limits)?.again()?;
                }
                session.send_tests(test, following.clone(), ahead, &limits)?;
                session.report(WorkerKind::Python, &limits)
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
                let spare = program.data_spare.unwrap_or_default();
                session.limit_group(limits.memory_bytes.saturating_add(spare))?;
                let worker = session.worker(WorkerKind::Native)?;
                worker.expect_within(limits.wall + SILENCE)?;
                worker.send(&Batch { tests: &[test], is_last: false })?;
                session.report(WorkerKind::Native, &limits)
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
        if was_loaded && self.end(kind).is_err() {
            if !self.cancel.is_cancelled() {
                add(&self.shared.counts.worker_deaths, 1);
            }
            *self.workers.of(kind) = None;
            self.detach();
        }
    }

    fn detach(&mut self) {
        self.cancel.detach();
        self.attached = None;
    }

    /// Tells a worker that its submission has ended.
    fn end(&mut self, kind: WorkerKind) -> Result<(), SandboxError> {
        if kind == WorkerKind::Python {
            self.stop()?;
        }
        self.workers.of(kind).as_mut().map_or(Ok(()), |worker| worker.send(&Value::Null))
    }

    /// Ends the tests that the worker was sent ahead.
    fn stop(&mut self) -> Result<(), SandboxError> {
        let was_ahead = !std::mem::take(&mut self.ahead).is_empty();
        let Some(worker) = self.workers.python.as_mut().filter(|_| was_ahead) else {
            return Ok(());
        };
        worker.send(&Batch { tests: &[], is_last: false })?;
        // What it had reported until then.
        while let Some(head) = worker.receive::<Option<TestHead>>()? {
            head.outputs(worker)?;
        }
        Ok(())
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
            self.ahead.clear();
            self.detach();
            if !matches!(error, SandboxError::WorkerLost(_) | SandboxError::GuestKilled) {
                return result;
            }
        }
        if self.cancel.is_cancelled() { Err(SandboxError::Cancelled) } else { result }
    }

    /// The slot's worker, which is started if there is none.
    fn worker(&mut self, kind: WorkerKind) -> Result<&mut Worker, SandboxError> {
        if self.workers.of(kind).is_none() {
            let started = self.shared.start(kind, &mut self.workers.group)?;
            *self.workers.of(kind) = Some(started);
        }
        let worker = self.workers.of(kind).as_mut().expect("just started");
        if self.attached != Some(kind) {
            self.cancel.attach(worker)?;
            self.attached = Some(kind);
        }
        Ok(worker)
    }

    /// Limits what the processes of the slot hold together.
    fn limit_group(&mut self, bytes: u64) -> Result<(), SandboxError> {
        let limited = self.workers.group.as_mut().map_or(Ok(()), |group| group.limit_memory(bytes));
        limited.map_err(|error| SandboxError::WorkerLost(error.to_string()))
    }

    fn compile(&mut self, source: &str, limits: Limits) -> Result<Loaded, SandboxError> {
        let message =
            LoadMessage { source, lean: is_lean(source), limits: LoadLimits::from(&limits) };
        self.worker(WorkerKind::Python)?;
        // Of the submission, and of a process of its tests.
        self.limit_group(limits.memory_bytes.saturating_mul(2))?;
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
        self.worker(WorkerKind::Native)?;
        self.limit_group(COMPILER_BYTES)?;
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

    /// Sends a test in Python, unless it was sent ahead, and as many of those that follow it as are small and may be.
    fn send_tests<'t>(
        &mut self,
        test: &Test,
        following: impl Iterator<Item = &'t Test>,
        ahead: usize,
        limits: &Limits,
    ) -> Result<(), SandboxError> {
        if self.ahead.front() == Some(test) {
            self.ahead.pop_front();
            return Ok(());
        }
        self.stop()?;
        let is_lean = self.loaded.as_ref().is_some_and(|(source, _)| is_lean(source));
        let mut left = AHEAD_BYTES;
        let mut batch = vec![test];
        let mut fits = test.bytes_ahead(is_lean).is_some();
        for next in following.take(if fits { AHEAD_TESTS } else { 0 }) {
            let bytes = next.bytes_ahead(is_lean).and_then(|bytes| left.checked_sub(bytes));
            fits = bytes.is_some() && batch.len() <= ahead.min(AHEAD_TESTS - 1);
            if !fits {
                break;
            }
            left = bytes.unwrap_or_default();
            batch.push(next);
        }
        // A caller that names none that follow may have others.
        let is_last = fits && batch.len() > 1;
        let worker = self.worker(WorkerKind::Python)?;
        worker.expect_within(limits.wall + SILENCE)?;
        worker.send(&Batch { tests: &batch, is_last })?;
        match test {
            Test::Tests(file) => worker.send(file)?,
            Test::Check(files) => worker.send(files)?,
            Test::Program { .. } | Test::Call { .. } => {}
        }
        self.ahead = batch.into_iter().skip(1).cloned().collect();
        Ok(())
    }

    /// The report of the test that a worker runs.
    fn report(&mut self, kind: WorkerKind, limits: &Limits) -> Result<Report, SandboxError> {
        let worker = self.worker(kind)?;
        let head: TestHead = worker.receive()?;
        let (stdout, stderr, result) = head.outputs(worker)?;
        let mut report = Report {
            guest: head.guest,
            tester: head.tester,
            stdout,
            stderr,
            is_truncated: head.too_long,
            result,
            wall: Duration::from_micros(head.wall_us),
        };
        let was_killed =
            report.guest.was_killed() || report.tester.is_some_and(|end| end.was_killed());
        if let Some(group) = &mut self.workers.group
            && (kind == WorkerKind::Native || was_killed)
        {
            report.note_group(group.has_exceeded());
        }
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
        self.detach();
        // The worker of a cancelled submission is gone or about to be.
        if self.cancel.is_cancelled() {
            *self.workers = SlotWorkers::default();
        }
    }
}

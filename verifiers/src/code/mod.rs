//! Verdicts by running code: a submission, the tests of a task, and what its process did.
//!
//! The submission runs in a [`sandbox::Session`]. Outputs and values are compared here, outside of
//! it, so that no object of a submission can take part in a comparison. This is no
//! [`Verifier`](crate::Verifier): it waits for processes, and time is one of its limits.

mod checker;
mod compare;
mod extract;
mod task;

use std::time::{Duration, Instant};

use sandbox::{
    Ending, Language, LimitReached, Limits, Loaded, NativeProgram, PressureWatch, Report,
    SandboxError, Session, Test,
};
use serde::Serialize;
use serde_json::Value;

use checker::Checker;
pub use compare::{OutputRule, ValueRule};
pub(crate) use extract::fenced;
pub use extract::{marked_language, source};
pub use task::{ExpectedResult, Task, TaskTest};

/// What became of a test or of a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CodeVerdict {
    /// As expected.
    Ok,
    /// Another output or value.
    WrongAnswer,
    /// An exception, an exit code other than 0, a signal, or no result.
    RuntimeError,
    /// More CPU time than allowed.
    TimeLimitCpu,
    /// More time by the clock than allowed.
    TimeLimitWall,
    /// More memory than allowed.
    MemoryLimit,
    /// More output than allowed.
    OutputLimit,
    /// No program of its language.
    CompileError,
    /// A forbidden system call.
    Security,
}

impl CodeVerdict {
    /// The code in reasons.
    pub fn code(self) -> &'static str {
        match self {
            Self::Ok => "tests_passed",
            Self::WrongAnswer => "wrong_answer",
            Self::RuntimeError => "runtime_error",
            Self::TimeLimitCpu => "time_limit_cpu",
            Self::TimeLimitWall => "time_limit_wall",
            Self::MemoryLimit => "memory_limit",
            Self::OutputLimit => "output_limit",
            Self::CompileError => "compile_error",
            Self::Security => "security_violation",
        }
    }

    /// The usual abbreviation, as a label.
    pub fn label(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::WrongAnswer => "wa",
            Self::RuntimeError => "re",
            Self::TimeLimitCpu | Self::TimeLimitWall => "tle",
            Self::MemoryLimit => "mle",
            Self::OutputLimit => "ole",
            Self::CompileError => "ce",
            Self::Security => "security",
        }
    }
}

/// How a submission is judged.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CodePolicy {
    /// Limits of a test; a task may set its own.
    pub limits: Limits,
    /// Time by the clock for all tests; those that did not begin count as [`CodeVerdict::TimeLimitWall`].
    pub total: Duration,
    /// Whether judging ends at the first test that is not passed.
    pub stop_early: bool,
    /// Comparison of outputs, unless the task has its own.
    pub output: OutputRule,
    /// Comparison of values, unless the task has its own.
    pub values: ValueRule,
}

impl Default for CodePolicy {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            total: Duration::from_mins(2),
            stop_early: true,
            output: OutputRule::default(),
            values: ValueRule::default(),
        }
    }
}

/// The result of a submission.
#[derive(Debug, Clone, PartialEq)]
pub struct CodeResult {
    /// [`CodeVerdict::Ok`] if every test passed, else the verdict of the first that did not; a
    /// violation anywhere is [`CodeVerdict::Security`].
    pub verdict: CodeVerdict,
    /// Tests that passed; 0 after a violation.
    pub passed: usize,
    /// Tests that were judged.
    pub judged: usize,
    /// Tests of the task.
    pub total: usize,
    /// What the first failed test did, for people.
    pub detail: String,
    /// CPU time of the submission over all tests.
    pub cpu: Duration,
    /// Whether the total time ended before the last test began; the tests after it count as not passed.
    pub is_cut: bool,
}

/// Why there is no result. Never the submission's fault, and never a score.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JudgeError {
    /// The sandbox failed.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The task's checker cannot judge.
    #[error("the checker of the task failed: {0}")]
    Checker(String),
    /// The task's tests are no Python, or import what is not there.
    #[error("the tests of the task cannot be run: {0}")]
    Tests(String),
}

/// A submission as the sandbox takes it.
enum Submission {
    Python(String),
    Native(NativeProgram),
}

impl Submission {
    fn new(source: &str, language: Language, task: &Task) -> Result<Self, SandboxError> {
        let program = language.program(source)?;
        Ok(program.map_or_else(|| Self::Python(task.with_prompt(source)), Self::Native))
    }

    fn load(&self, limits: Limits, session: &mut Session<'_>) -> Result<Loaded, SandboxError> {
        match self {
            Self::Python(source) => session.load(source, limits),
            Self::Native(program) => session.load_native(program, limits),
        }
    }

    /// Runs a test, before those that follow it, of which `ahead` may begin before its report is read.
    fn run<'t>(
        &self,
        test: &Test,
        following: &(impl Iterator<Item = &'t Test> + Clone),
        ahead: usize,
        session: &mut Session<'_>,
    ) -> Result<Report, SandboxError> {
        match self {
            Self::Python(_) => session.run_before(test, following, ahead),
            Self::Native(_) => session.run_native(test),
        }
    }
}

/// Judges a submission by the tests of a task, which must accept its language
/// ([`Task::check_language`]).
///
/// # Errors
/// [`JudgeError`].
pub fn judge(
    source: &str,
    language: Language,
    task: &Task,
    policy: &CodePolicy,
    session: &mut Session<'_>,
) -> Result<CodeResult, JudgeError> {
    let (start, watch) = (Instant::now(), PressureWatch::start());
    let limits = task.limits(&policy.limits);
    let mut result = CodeResult {
        verdict: CodeVerdict::Ok,
        passed: 0,
        judged: 0,
        total: task.n_tests(),
        detail: String::new(),
        cpu: Duration::ZERO,
        is_cut: false,
    };
    let submission = Submission::new(source, language, task)?;
    if let Loaded::NotCompiled(message) = submission.load(limits, session)? {
        result.fail(CodeVerdict::CompileError, message);
        return Ok(result);
    }
    for (index, test) in task.tests.iter().enumerate() {
        let left = policy.total.saturating_sub(start.elapsed());
        if left.is_zero() {
            if watch.was_starved(result.cpu) {
                return Err(SandboxError::Starved.into());
            }
            result.is_cut = true;
            result.fail(
                CodeVerdict::TimeLimitWall,
                "the tests before took the total time".to_owned(),
            );
            break;
        }
        let following = task.tests.iter().skip(index + 1).map(|test| &test.run);
        let ahead = match task.checker {
            // It runs between two tests.
            Some(_) => 0,
            // As many as have passed: most that fail fail early.
            None if policy.stop_early => index,
            None => task.tests.len(),
        };
        let report = submission.run(&test.run, &following, ahead, session)?;
        result.cpu += Duration::from_micros(report.guest.cpu_us);
        let accepted = match &task.checker {
            Some(checker) if limit_verdict(report.ending(&limits)).is_none() => {
                let checker = Checker { source: checker, limits: policy.limits };
                let accepted = checker.accepts(test, &report, session)?;
                // A checker takes the place of Python alone.
                if let Submission::Python(source) = &submission {
                    session.load(source, limits)?.again()?;
                }
                accepted
            }
            Some(_) | None => None,
        };
        let rules = Rules { limits: &limits, language, policy, accepted };
        result.count(index, test, &report, &rules)?;
        if result.verdict == CodeVerdict::Security
            || (policy.stop_early && result.verdict != CodeVerdict::Ok)
        {
            break;
        }
    }
    Ok(result)
}

/// What a test is judged by.
struct Rules<'a> {
    limits: &'a Limits,
    language: Language,
    policy: &'a CodePolicy,
    /// What the task's checker says of the output.
    accepted: Option<bool>,
}

impl Rules<'_> {
    /// The verdict on a test with an output or a value, and what it did.
    fn verdict(&self, test: &TaskTest, report: &Report) -> (CodeVerdict, String) {
        if let Some(verdict) = limit_verdict(report.ending(self.limits)) {
            return (verdict, stderr(report));
        }
        let (is_right, detail) = match &test.expected {
            ExpectedResult::Output(expected) => {
                let rule = test.output.unwrap_or(self.policy.output);
                let found = String::from_utf8_lossy(&report.stdout);
                let is_right =
                    self.accepted.unwrap_or_else(|| rule.accepts(expected, &report.stdout));
                (is_right, shown(expected, &found))
            }
            ExpectedResult::Value(expected) => {
                let value = report.result.as_deref().map(serde_json::from_slice::<Value>);
                let Some(Ok(value)) = value else {
                    return (CodeVerdict::RuntimeError, "it ended without a result".to_owned());
                };
                // Numbers have one type there.
                let default = match self.language {
                    Language::JavaScript => ValueRule::Python,
                    Language::Python
                    | Language::C
                    | Language::Cpp
                    | Language::Bash
                    | Language::Rust => self.policy.values,
                };
                let rule = test.values.unwrap_or(default);
                (rule.accepts(expected, &value), shown(&expected.to_string(), &value.to_string()))
            }
            ExpectedResult::Outcomes(_) => {
                unreachable!("files of tests are counted by their outcomes")
            }
        };
        if is_right { (CodeVerdict::Ok, detail) } else { (CodeVerdict::WrongAnswer, detail) }
    }
}

impl CodeResult {
    fn fail(&mut self, verdict: CodeVerdict, detail: String) {
        if self.verdict == CodeVerdict::Ok {
            (self.verdict, self.detail) = (verdict, detail);
        }
        if verdict == CodeVerdict::Security {
            (self.verdict, self.passed) = (verdict, 0);
        }
    }

    /// Adds what a test showed.
    fn count(
        &mut self,
        index: usize,
        test: &TaskTest,
        report: &Report,
        rules: &Rules<'_>,
    ) -> Result<(), JudgeError> {
        if let ExpectedResult::Outcomes(n_expected) = test.expected {
            return self.count_outcomes(report, rules.limits, n_expected);
        }
        self.judged += 1;
        let (verdict, detail) = rules.verdict(test, report);
        if verdict == CodeVerdict::Ok {
            self.passed += 1;
        } else {
            self.fail(verdict, format!("test {}: {}: {detail}", index + 1, verdict.code()));
        }
        Ok(())
    }

    /// Adds the outcomes that a process of tests reported.
    fn count_outcomes(
        &mut self,
        report: &Report,
        limits: &Limits,
        n_expected: usize,
    ) -> Result<(), JudgeError> {
        let outcomes: Vec<(String, String, String)> = report
            .result
            .as_deref()
            .and_then(|text| serde_json::from_slice(text).ok())
            .unwrap_or_default();
        // Found before the submission was called, and reported by a process that it cannot reach.
        if let Some((_, _, why)) = outcomes.iter().find(|(_, outcome, _)| outcome == "malformed") {
            return Err(JudgeError::Tests(why.clone()));
        }
        self.add_outcomes(outcomes, report, limits, n_expected);
        Ok(())
    }

    fn add_outcomes(
        &mut self,
        outcomes: Vec<(String, String, String)>,
        report: &Report,
        limits: &Limits,
        n_expected: usize,
    ) {
        let tester = report.tester.map_or(Ending::Failed, |end| end.ending(limits));
        self.total = self.total.max(n_expected);
        self.judged += outcomes.len();
        let guest = limit_verdict(report.ending(limits));
        if guest == Some(CodeVerdict::Security) {
            return self.fail(CodeVerdict::Security, "a forbidden system call".to_owned());
        }
        if let Some(verdict) = limit_verdict(tester).filter(|_| outcomes.is_empty()) {
            return self.fail(guest.unwrap_or(verdict), stderr(report));
        }
        // A file of tests says how many it has by running them.
        self.total = self.total.max(self.judged);
        for (name, outcome, detail) in outcomes {
            let verdict = match outcome.as_str() {
                "passed" => {
                    self.passed += 1;
                    continue;
                }
                "failed" => CodeVerdict::WrongAnswer,
                "ended" => guest.unwrap_or(CodeVerdict::RuntimeError),
                _ => CodeVerdict::RuntimeError,
            };
            self.fail(verdict, format!("{name}: {detail}"));
        }
        if self.passed < self.total || self.total == 0 {
            self.fail(CodeVerdict::RuntimeError, "not every test was run".to_owned());
        }
    }

    /// The share of the tests that passed.
    pub fn pass_rate(&self) -> f64 {
        if self.total == 0 { 0.0 } else { ratio(self.passed, self.total) }
    }
}

#[expect(clippy::cast_precision_loss, reason = "numbers of tests are far below 2^52")]
fn ratio(part: usize, whole: usize) -> f64 {
    part.min(whole) as f64 / whole as f64
}

/// The verdict that an end of the process alone decides.
pub(crate) fn limit_verdict(ending: Ending) -> Option<CodeVerdict> {
    match ending {
        Ending::Finished => None,
        // The sandbox returns an error instead of a report of a broken guest.
        Ending::Failed | Ending::Broken => Some(CodeVerdict::RuntimeError),
        Ending::Time(LimitReached::Cpu) => Some(CodeVerdict::TimeLimitCpu),
        Ending::Time(LimitReached::Wall) => Some(CodeVerdict::TimeLimitWall),
        Ending::Memory => Some(CodeVerdict::MemoryLimit),
        Ending::Output => Some(CodeVerdict::OutputLimit),
        Ending::Security => Some(CodeVerdict::Security),
    }
}

/// Characters of a text that a detail shows.
const SHOWN_CHARS: usize = 200;

pub(crate) fn cut(text: &str) -> String {
    let mut cut: String = text.chars().take(SHOWN_CHARS).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    cut
}

fn shown(expected: &str, found: &str) -> String {
    format!("expected {}, found {}", cut(expected.trim_end()), cut(found.trim_end()))
}

/// The last line of stderr, which names the exception.
pub(crate) fn stderr(report: &Report) -> String {
    let text = String::from_utf8_lossy(&report.stderr);
    let exit = match (report.guest.exit, report.guest.signal) {
        (Some(code), _) => format!("exit code {code}"),
        (None, signal) => format!("signal {}", signal.unwrap_or_default()),
    };
    match text.trim_end().lines().last() {
        Some(line) => format!("{exit}, {}", cut(line)),
        None => exit,
    }
}

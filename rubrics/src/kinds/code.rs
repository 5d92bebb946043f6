//! `kind = "code"`: runs the program of a response against the tests of its reference.
//!
//! The program runs in the crate `sandbox`; the tests are read and the results compared by
//! `verifiers::code`. A failure of the sandbox is no score. The scorer calls no model; it is async
//! because a verdict waits for processes, which would hold a verifier thread for seconds.

use std::time::{Duration, Instant};

use sandbox::{Floor, Isolation, Language, Limits, SandboxConfig, SandboxError, Session};
use serde::Serialize;
use serde_json::{Value, json};
use verifiers::code::{
    self, CodePolicy, CodeResult, CodeVerdict, JudgeError, OutputRule, Task, ValueRule,
};
use verifiers::{Certainty, Reason, Verdict, VerifyError};

use super::{KindContext, ScoreFuture, ScorerKind};
use crate::config::Section;
use crate::outcome::{Evidence, Failure, Outcome, Score};
use crate::programs::{Programs, failure};
use crate::sample::Sample;

/// Name of the kind in configurations.
pub(crate) const NAME: &str = "code";

/// A policy and the sandbox that it is applied in.
struct CodeScorer {
    policy: CodePolicy,
    reward: Reward,
    language: Languages,
    programs: Programs,
}

/// The language of responses whose task names none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Languages {
    /// This one.
    Fixed(Language),
    /// That of the word after the fence of the last block that has one; Python without such a block.
    Fence,
}

/// The score of a submission.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Reward {
    /// 1 if every test passed.
    #[default]
    All,
    /// The share of the tests that passed.
    PassRate,
}

pub(crate) fn read(section: &Section<'_, '_>) -> Box<dyn ScorerKind> {
    let rewards = [("all", Reward::All), ("pass_rate", Reward::PassRate)];
    let outputs =
        [("exact", OutputRule::Exact), ("lines", OutputRule::Lines), ("words", OutputRule::Words)];
    let values = [("typed", ValueRule::Typed), ("python", ValueRule::Python)];
    let languages: Vec<(&str, Languages)> = Language::ALL
        .into_iter()
        .map(|language| (language.name(), Languages::Fixed(language)))
        .chain([("fence", Languages::Fence)])
        .collect();
    let language =
        section.word("language", &languages).unwrap_or(Languages::Fixed(Language::Python));
    let reward = section.word("reward", &rewards).unwrap_or_default();
    let default = CodePolicy::default();
    let total = section.integer("total_ms", 1..3_600_001).map(Duration::from_millis);
    let policy = CodePolicy {
        limits: read_limits(section),
        total: total.unwrap_or(default.total),
        stop_early: reward == Reward::All,
        output: section.word("output", &outputs).unwrap_or_default(),
        values: section.word("values", &values).unwrap_or_default(),
    };
    let programs = Programs::new(read_sandbox(section));
    Box::new(CodeScorer { policy, reward, language, programs })
}

/// The limits of a run.
pub(crate) fn read_limits(section: &Section<'_, '_>) -> Limits {
    let limits = section
        .integer("cpu_ms", 1..3_600_001)
        .map_or_else(Limits::default, |ms| Limits::with_cpu(Duration::from_millis(ms)));
    Limits {
        wall: section.integer("wall_ms", 1..3_600_001).map_or(limits.wall, Duration::from_millis),
        memory_bytes: section
            .integer("memory_mb", 64..1 << 20)
            .map_or(limits.memory_bytes, |megabytes| megabytes << 20),
        output_bytes: section
            .integer("output_bytes", 1..(64 << 20) + 1)
            .unwrap_or(limits.output_bytes),
        ..limits
    }
}

/// The sandbox.
pub(crate) fn read_sandbox(section: &Section<'_, '_>) -> SandboxConfig {
    let floors = [
        ("limits", Floor::Limits),
        ("calls", Floor::Calls),
        ("files", Floor::Files),
        ("all", Floor::All),
    ];
    let config = SandboxConfig::default();
    SandboxConfig {
        python: section.text("python").map_or(config.python, Into::into),
        slots: super::sql::read_slots(section).unwrap_or(config.slots),
        floor: section.word("floor", &floors).unwrap_or_default(),
        ..config
    }
}

impl ScorerKind for CodeScorer {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "runs the program of a response against tests"
    }

    fn revision(&self) -> u32 {
        2
    }

    /// The options that may change a score. Slots and the interpreter's path do not.
    fn options(&self) -> Value {
        json!({
            "policy": self.policy,
            "reward": self.reward,
            "language": self.language,
            "floor": self.programs.config().floor,
        })
    }

    fn programs(&self) -> Option<&Programs> {
        Some(&self.programs)
    }

    fn evaluate<'a>(&'a self, sample: Sample<'a>, context: KindContext<'a>) -> ScoreFuture<'a> {
        Box::pin(self.evaluate_sample(sample, context))
    }
}

/// The score of a response in a language that is not run.
fn unknown_language(word: &str, explain: bool) -> Score {
    let detail = || format!("'{word}' is none of {}", Language::ALL.map(Language::name).join(", "));
    wrong_language(Reason::explained("unknown_language", explain, detail))
}

/// The score of a response that chose a language in which its tests cannot be run.
fn untested_language(language: Language, explain: bool) -> Score {
    let detail = || format!("the response is in {}; its tests are not", language.name());
    wrong_language(Reason::explained("language_not_tested", explain, detail))
}

fn wrong_language(reason: Reason) -> Score {
    Score {
        score: 0.0,
        raw: None,
        label: Some(CodeVerdict::CompileError.label().into()),
        reason,
        certainty: Certainty::Proven,
        evidence: Evidence::default(),
    }
}

/// The failure of a task whose own programs cannot be run.
fn bad_reference(code: &'static str, why: &str) -> Failure {
    let reason = Reason::with(code, why.to_owned());
    Failure::from_error(VerifyError::BadReference(reason), Evidence::default())
}

/// What a slot returns.
struct Judged {
    result: Result<CodeResult, JudgeError>,
    isolation: Option<Isolation>,
    queue: Duration,
}

impl CodeScorer {
    async fn evaluate_sample(&self, sample: Sample<'_>, context: KindContext<'_>) -> Outcome {
        let task = Task::read(super::answer::gold(sample.input.reference.as_ref()))
            .map_err(|error: VerifyError| Failure::from_error(error, Evidence::default()))?;
        let explain = context.client.options().explain;
        let language = match (task.language, self.language) {
            (Some(language), _) | (None, Languages::Fixed(language)) => language,
            (None, Languages::Fence) => match code::marked_language(sample.response) {
                None => Language::Python,
                Some(word) => match Language::from_word(&word) {
                    Some(language) => language,
                    None => return Ok(unknown_language(&word, explain)),
                },
            },
        };
        if let Err(error) = task.check_language(language) {
            // What a response chooses is no fault of its tests.
            return match (task.language, self.language) {
                (None, Languages::Fence) => Ok(untested_language(language, explain)),
                (Some(_), _) | (None, Languages::Fixed(_)) => {
                    Err(Failure::from_error(error, Evidence::default()))
                }
            };
        }
        let Some(source) = code::source(sample.response, language) else {
            return Ok(Score::from_verdict(Verdict::no_answer(), Evidence::default()));
        };
        let deadline = context.client.options().deadline;
        let judged = self.judge(source, language, task, deadline).await?;
        match &judged.result {
            Ok(result) => {
                let micros = u64::try_from(result.cpu.as_micros()).unwrap_or(u64::MAX);
                context.client.bounds().spend(micros);
                Ok(self.score(result, &judged, explain))
            }
            Err(JudgeError::Sandbox(error)) => Err(failure(error)),
            Err(JudgeError::Checker(why)) => Err(bad_reference("checker_failed", why)),
            Err(JudgeError::Tests(why)) => Err(bad_reference("malformed_tests", why)),
        }
    }

    /// Judges in a slot. Dropping the future ends the submission and its processes.
    async fn judge(
        &self,
        source: String,
        language: Language,
        task: Task,
        deadline: Option<Instant>,
    ) -> Result<Judged, Failure> {
        let (submitted, policy) = (Instant::now(), self.policy);
        let work = move |session: &mut Session<'_>| {
            let start = Instant::now();
            let left = deadline.map_or(policy.total, |end| end.saturating_duration_since(start));
            let is_late = deadline.is_some() && left < policy.total;
            let policy = CodePolicy { total: policy.total.min(left), ..policy };
            let result = code::judge(&source, language, &task, &policy, session);
            // A deadline of the request is no limit of the submission.
            let result = match result {
                Ok(result) if is_late && result.is_cut => Err(SandboxError::Cancelled.into()),
                result => result,
            };
            Judged { result, isolation: session.isolation(), queue: start - submitted }
        };
        self.programs.in_slot(work).await
    }

    fn score(&self, result: &CodeResult, judged: &Judged, explain: bool) -> Score {
        let score = match self.reward {
            Reward::All if result.verdict == CodeVerdict::Ok => 1.0,
            Reward::All => 0.0,
            Reward::PassRate => result.pass_rate(),
        };
        let detail = || {
            let rungs = judged.isolation.as_ref().map_or(String::new(), Isolation::names);
            let counts = format!(
                "{} of {} tests passed, {} run; CPU time {} ms, queue {} ms; isolation: {rungs}",
                result.passed,
                result.total,
                result.judged,
                result.cpu.as_millis(),
                judged.queue.as_millis(),
            );
            if result.detail.is_empty() { counts } else { format!("{}; {counts}", result.detail) }
        };
        Score {
            score,
            raw: None,
            label: Some(result.verdict.label().into()),
            reason: Reason::explained(result.verdict.code(), explain, detail),
            certainty: Certainty::Proven,
            evidence: Evidence::default(),
        }
    }
}

#[cfg(test)]
mod tests;

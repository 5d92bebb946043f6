//! `tribunal doctor --judge`: how often a judge rewards responses that deserve nothing.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use rubrics::{
    Evidence, Failure, Input, Passage, Priority, Reference, Responses, ScoreOptions, Scorer, Tools,
    VerifierPool,
};
use scoring::backend::block_on;
use scoring::scorers;
use serde::Serialize;

use super::canary::{CANARIES, PROBES, Probe};
use crate::error::{CliError, CommandOutcome};

/// Jobs that may wait; far more than there are.
const POOL_JOBS: usize = 1 << 16;

/// Options of the check of a judge.
#[derive(Debug, Clone, Copy)]
pub(super) struct JudgeProbe<'a> {
    /// The scorer.
    pub(super) judge: &'a str,
    /// The file that configures it.
    pub(super) config: Option<&'a Path>,
    /// From which score on a response counts as rewarded.
    pub(super) threshold: f64,
    /// The share of questions on which a canary may be rewarded.
    pub(super) allow: f64,
}

/// Result of the check of a judge.
#[derive(Debug, Serialize)]
struct JudgeReport<'a> {
    judge: &'a str,
    kind: &'static str,
    digest: String,
    threshold: f64,
    allow: f64,
    questions: usize,
    /// What the judge says of good answers: one that rewards nothing passes every canary.
    right: Tally,
    canaries: Vec<Finding>,
    ok: bool,
}

/// What the judge says of a canary.
#[derive(Debug, Serialize)]
struct Finding {
    name: &'static str,
    description: &'static str,
    #[serde(flatten)]
    tally: Tally,
    ok: bool,
}

/// Scores of one response a question.
#[derive(Debug, Default, Serialize)]
struct Tally {
    /// Responses with a score from the threshold on.
    rewarded: usize,
    /// Responses with a score.
    scored: usize,
    /// The mean of the scores.
    mean: Option<f64>,
    /// The highest score.
    highest: Option<f64>,
    /// The reasons of those without a score, each once.
    failures: Vec<&'static str>,
}

/// Scores every canary and prints how often it was rewarded.
pub(super) fn check_judge(
    question: JudgeProbe<'_>,
    json: bool,
) -> Result<CommandOutcome, CliError> {
    let registry = scorers::registry(question.config)?;
    let names = [question.judge.to_owned()];
    let (found, models) = scorers::load_by_name(&registry, (question.config, None), &names)?;
    let scorer = &found[0];
    let pool = VerifierPool::new(models::threads(), POOL_JOBS)
        .map_err(|error| CliError::Failed(format!("cannot start threads: {error}")))?;
    let tools = Tools { pool, models, recorder: None };
    let report = examine(question, scorer, &tools);
    crate::print(&report.table())?;
    if json {
        let line = serde_json::to_string(&report).expect("a report serialises");
        crate::print(&(line + "\n"))?;
    }
    Ok(CommandOutcome::failed_if(!report.ok))
}

fn examine<'a>(question: JudgeProbe<'a>, scorer: &Arc<Scorer>, tools: &Tools) -> JudgeReport<'a> {
    let tally = |response: &dyn Fn(&Probe) -> String, place: usize| {
        let inputs = PROBES.iter().map(|probe| {
            let own = response(probe);
            Arc::new(probe_input(probe, own, scorer.is_pairwise().then_some(place)))
        });
        let inputs: Vec<Arc<Input>> = inputs.collect();
        let place = scorer.is_pairwise().then_some(place);
        Tally::of(&score_inputs(scorer, &inputs, tools, place), question.threshold)
    };
    let right = tally(&|probe| probe.right.to_owned(), 0);
    let canaries: Vec<Finding> = CANARIES
        .iter()
        .map(|canary| {
            let tally = tally(&|probe| canary.response(probe), 1);
            Finding {
                name: canary.name,
                description: canary.description,
                ok: tally.share(PROBES.len()) <= question.allow,
                tally,
            }
        })
        .collect();
    JudgeReport {
        judge: question.judge,
        kind: scorer.kind(),
        digest: scorer.digest_text(),
        threshold: question.threshold,
        allow: question.allow,
        questions: PROBES.len(),
        ok: right.scored > 0 && canaries.iter().all(|finding| finding.ok),
        right,
        canaries,
    }
}

/// The response by itself, or for a judge that compares: at its place beside the right answer, or
/// beside the wrong one where it is itself the right one.
fn probe_input(probe: &Probe, response: String, place: Option<usize>) -> Input {
    let text = |text: &str| Passage::Text(text.to_owned());
    let responses = match place {
        None => Responses::One(Passage::Text(response)),
        Some(0) => Responses::Group(vec![Passage::Text(response), text(probe.wrong)]),
        Some(_) => Responses::Group(vec![text(probe.right), Passage::Text(response)]),
    };
    Input {
        prompt: Some(text(probe.question).into()),
        reference: Some(Reference::Text(probe.reference.to_owned())),
        responses,
        ..Input::of("")
    }
}

/// The score of the response in question for each input.
fn score_inputs(
    scorer: &Arc<Scorer>,
    inputs: &[Arc<Input>],
    tools: &Tools,
    place: Option<usize>,
) -> Vec<Result<f64, Failure>> {
    let options = ScoreOptions { priority: Priority::Batch, ..ScoreOptions::default() };
    let scored = block_on(rubrics::score(scorer, inputs, options, tools));
    let own = scored.into_iter().map(|scored| match place {
        None => scored.outcome.map(|reward| reward.score),
        Some(place) => {
            let evidence = Evidence::of(&scored.outcome);
            let member = evidence.members.as_ref().and_then(|all| all.get(place));
            match member {
                Some(member) => member.outcome.clone().map(|reward| reward.score),
                None => scored.outcome.map(|reward| reward.score),
            }
        }
    });
    own.collect()
}

impl Tally {
    fn of(outcomes: &[Result<f64, Failure>], threshold: f64) -> Self {
        let scores: Vec<f64> = outcomes.iter().flatten().copied().collect();
        let mut failures: Vec<&'static str> = Vec::new();
        for failure in outcomes.iter().filter_map(|outcome| outcome.as_ref().err()) {
            if !failures.contains(&failure.reason.code) {
                failures.push(failure.reason.code);
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "there are few questions")]
        let count = scores.len() as f64;
        let some = !scores.is_empty();
        Self {
            rewarded: scores.iter().filter(|score| **score >= threshold).count(),
            scored: scores.len(),
            mean: some.then(|| scores.iter().sum::<f64>() / count),
            highest: some.then(|| scores.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
            failures,
        }
    }

    /// Rewarded responses as a share of all questions.
    #[expect(clippy::cast_precision_loss, reason = "there are few questions")]
    fn share(&self, questions: usize) -> f64 {
        self.rewarded as f64 / questions as f64
    }

    fn line(&self, questions: usize) -> String {
        let mut line = format!("rewarded {} of {questions}", self.rewarded);
        if let (Some(mean), Some(highest)) = (self.mean, self.highest) {
            write!(line, ", mean {mean:.3}, highest {highest:.3}").expect("memory takes it");
        }
        if !self.failures.is_empty() {
            let missing = questions - self.scored;
            write!(line, "; {missing} without a score: {}", self.failures.join(", "))
                .expect("memory takes it");
        }
        line
    }
}

impl JudgeReport<'_> {
    /// Plain text for people.
    fn table(&self) -> String {
        let n = self.questions;
        let mut text = format!(
            "{:17} {} ({}), {n} questions, rewarded from {} on\n",
            "judge", self.judge, self.kind, self.threshold
        );
        writeln!(text, "{:17} {:8} {}", "right answers", "", self.right.line(n))
            .expect("memory takes it");
        for finding in &self.canaries {
            let status = if finding.ok { "ok" } else { "FAILED" };
            let (name, tally) = (finding.name, finding.tally.line(n));
            writeln!(text, "{name:17} {status:8} {tally} ({})", finding.description)
                .expect("memory takes it");
        }
        text.push_str(match (self.ok, self.right.scored) {
            (true, _) => "\nNo canary is rewarded more often than is allowed.\n",
            (false, 0) => "\nThe judge has no score for any right answer, so nothing is shown.\n",
            (false, _) => "\nCanaries are rewarded; the lines above say which.\n",
        });
        text
    }
}

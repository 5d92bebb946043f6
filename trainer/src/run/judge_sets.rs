//! Measures how well the model judges: its scorers on solutions with known truth.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rubrics::calibration::Prediction;
use rubrics::{Input, Message, Outcome, Passage};
use serde::{Deserialize, Serialize};
use toytask::make::Difficulty;
use toytask::sets::{self, Case, PolicyProblem, SolutionSource};

use super::sources;
use crate::error::{Result, TrainError};
use crate::figures::{first_below_half, first_error, judge_figures, within_problems};
use crate::item::{ItemRole, TrainingItem};
use crate::methods::RunNames;
use crate::metrics::Metrics;
use crate::rollout::{DrawParams, RewardManager, RolloutParams, SampleRequest, Sampler};

/// `[[evaluation.judge]]`: a set of solutions and the scorers measured on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JudgeSet {
    /// Prefix of its figures in the log.
    pub name: String,
    /// The source of its solutions.
    pub set: SetSource,
    /// A file of cases, one JSON object per line: read by `set = "file"`, written by
    /// `set = "policy"`, so that later judges can be measured on the same cases.
    #[serde(default)]
    pub path: Option<PathBuf>,
    /// Maximum number of solutions.
    #[serde(default = "default_count")]
    pub count: usize,
    /// Solutions to each problem that the model writes.
    #[serde(default = "one")]
    pub samples: usize,
    /// The fewest and the most operations.
    #[serde(default = "sources::lengths")]
    pub lengths: [usize; 2],
    /// Share of multiplications.
    #[serde(default = "sources::times")]
    pub times: f64,
    /// The least and the most that is added or subtracted.
    #[serde(default = "sources::addends")]
    pub addends: [u8; 2],
    /// The least and the most that is multiplied by.
    #[serde(default = "sources::multipliers")]
    pub multipliers: [u8; 2],
    /// Seeds the choice of solutions and samples.
    #[serde(default)]
    pub seed: u64,
    /// The scorer whose score is the probability that the solution is right.
    #[serde(default)]
    pub scorer: Option<String>,
    /// The scorer that judges steps.
    #[serde(default)]
    pub steps: Option<String>,
}

/// The source of solutions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SetSource {
    /// One digit of a right solution changed; half of them right.
    NearMisses,
    /// A mistake that later steps build on; half of them right.
    Slips,
    /// Solutions of the current model to held-out problems.
    Policy,
    /// An existing file.
    File,
}

fn default_count() -> usize {
    200
}

fn one() -> usize {
    1
}

impl JudgeSet {
    /// Lists what cannot work, in sentences.
    pub(super) fn check(&self, run: &RunNames<'_>) -> Vec<String> {
        let lacks_path = self.set == SetSource::File && self.path.is_none();
        let path = lacks_path.then(|| "`set = \"file\"` needs a `path`".to_owned());
        let difficulty = self.difficulty().check().err();
        let scorers = [&self.scorer, &self.steps].into_iter().flatten();
        let scorers = scorers.filter_map(|name| run.missing_scorer(name));
        let problems = path.into_iter().chain(difficulty).chain(scorers);
        problems.map(|what| format!("evaluation.judge '{}': {what}", self.name)).collect()
    }

    fn difficulty(&self) -> Difficulty {
        sources::difficulty(self.lengths, self.times, self.addends, self.multipliers)
    }

    /// Makes, samples or loads the cases. Solutions of the current model are those of an adapter, or of
    /// the model itself.
    ///
    /// # Errors
    /// A file that cannot be read, and errors of the engine.
    pub fn cases(
        &self,
        base: &Path,
        solver: (&Sampler, Option<&Arc<str>>),
        max_tokens: usize,
    ) -> Result<Vec<Case>> {
        let difficulty = self.difficulty();
        match self.set {
            SetSource::NearMisses => Ok(sets::near_misses(self.seed, &difficulty, self.count)),
            SetSource::Slips => Ok(sets::slips(self.seed, &difficulty, self.count)),
            SetSource::Policy => {
                let cases = self.sampled(solver, &difficulty, max_tokens)?;
                self.save(base, &cases)?;
                Ok(cases)
            }
            SetSource::File => self.load(base),
        }
    }

    fn load(&self, base: &Path) -> Result<Vec<Case>> {
        let path = self.path.as_ref().ok_or_else(|| {
            TrainError::Invalid(format!("evaluation.judge '{}' needs a `path`", self.name))
        })?;
        let path = base.join(path);
        let text = std::fs::read_to_string(&path)
            .map_err(|source| TrainError::File { path: path.display().to_string(), source })?;
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let case = |(index, line): (usize, &str)| {
            serde_json::from_str(line).map_err(|error| {
                TrainError::Invalid(format!("{}:{}: {error}", path.display(), index + 1))
            })
        };
        lines.enumerate().take(self.count).map(case).collect()
    }

    fn save(&self, base: &Path, cases: &[Case]) -> Result<()> {
        let Some(path) = &self.path else {
            return Ok(());
        };
        let path = base.join(path);
        let line = |case: &Case| {
            let line = serde_json::to_string(case).expect("texts and numbers become JSON");
            line + "\n"
        };
        let text: String = cases.iter().map(line).collect();
        std::fs::write(&path, text)
            .map_err(|source| TrainError::File { path: path.display().to_string(), source })
    }

    /// Samples solutions from the model.
    fn sampled(
        &self,
        (sampler, adapter): (&Sampler, Option<&Arc<str>>),
        difficulty: &Difficulty,
        max_tokens: usize,
    ) -> Result<Vec<Case>> {
        let samples = self.samples.max(1);
        let problems = sets::problems(self.seed, difficulty, self.count.div_ceil(samples));
        let each = problems.iter().flat_map(|problem| std::iter::repeat_n(problem, samples));
        let each: Vec<&PolicyProblem> = each.take(self.count).collect();
        let requests = each.iter().enumerate().map(|(index, problem)| {
            let turns = vec![user(&problem.problem)];
            let item = TrainingItem {
                index: (index / samples) as u64,
                role: ItemRole::Policy,
                problem: problem.problem.as_str().into(),
                turns,
                gold: None,
                scorer: "".into(),
                category: None,
                parent: None,
                audit: None,
                fields: Arc::default(),
            };
            Ok(SampleRequest::new(sampler.prompt(&item)?, adapter.cloned(), index as u64))
        });
        let requests: Vec<SampleRequest> = requests.collect::<Result<_>>()?;
        let params = RolloutParams { seed: self.seed, max_tokens, draws: DrawParams::FULL };
        let mut cases = Vec::new();
        for (problem, sample) in each.iter().zip(sampler.sample(&requests, params)?) {
            let text = sampler.text(&sample.tokens)?;
            cases.extend(Case::of(SolutionSource::CurrentPolicy, &problem.problem, &text));
        }
        Ok(cases)
    }

    /// Measures the scorers on the cases. A case without a verdict is counted and left out.
    ///
    /// # Errors
    /// An unknown scorer.
    pub fn measure(&self, cases: &[Case], rewards: &RewardManager) -> Result<Metrics> {
        let mut metrics = Metrics::default();
        metrics.set("cases", cases.len() as f64);
        let inputs: Vec<Arc<Input>> = cases.iter().map(|case| Arc::new(case_input(case))).collect();
        if let Some(scorer) = &self.scorer {
            let outcomes = rewards.outcomes(scorer, &inputs, self.seed)?;
            report_answers(cases, &outcomes, &mut metrics);
        }
        if let Some(scorer) = &self.steps {
            let outcomes = rewards.outcomes(scorer, &inputs, self.seed)?;
            report_steps(cases, &outcomes, &mut metrics);
        }
        Ok(metrics)
    }
}

fn user(problem: &str) -> Message {
    Message { role: "user".to_owned(), content: problem.to_owned() }
}

fn case_input(case: &Case) -> Input {
    let mut input = Input::of(case.solution.clone());
    input.prompt = Some(Passage::Messages(vec![user(&case.problem)]).into());
    input
}

/// Reports the quality of scores as predictions of whether the final answer is right.
fn report_answers(cases: &[Case], outcomes: &[Outcome], metrics: &mut Metrics) {
    let mut by_problem: BTreeMap<&str, Vec<Prediction>> = BTreeMap::new();
    for (case, outcome) in cases.iter().zip(outcomes) {
        if let Ok(reward) = outcome {
            by_problem
                .entry(&case.problem)
                .or_default()
                .push(Prediction { probability: reward.score, right: case.is_final_right });
        }
    }
    let groups: Vec<Vec<Prediction>> = by_problem.into_values().collect();
    let predictions = groups.concat();
    let missing = cases.len() - predictions.len();
    metrics.set("without_verdict", missing as f64);
    if let Some(figures) = judge_figures(&predictions) {
        metrics.add_all("", &figures);
    }
    if let Some(share) = within_problems(&groups) {
        metrics.set("within_problems", share);
    }
}

/// Reports the accuracy of finding the first wrong step.
fn report_steps(cases: &[Case], outcomes: &[Outcome], metrics: &mut Metrics) {
    let mut found = Vec::new();
    let mut missing = 0.0;
    for (case, outcome) in cases.iter().zip(outcomes) {
        let steps = outcome.as_ref().ok().and_then(|reward| reward.evidence.steps.as_ref());
        let scores: Option<Vec<f64>> =
            steps.and_then(|steps| steps.iter().map(|step| step.score).collect());
        match scores {
            Some(scores) => found.push((case.first_error, first_below_half(&scores))),
            None => missing += 1.0,
        }
    }
    metrics.set("steps/without_verdict", missing);
    if let Some(figures) = first_error(&found) {
        metrics.add_all("steps/", &figures);
    }
}

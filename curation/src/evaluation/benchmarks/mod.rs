//! Benchmark layouts: the scorer inputs of a row, and the metrics of their scores.

mod completions;
mod fields;
mod pairs;
mod samples;
mod solutions;

use datasets::json_rows::JsonRow;
use openapi::{Content, ScoreInput};

use self::completions::{RewardBench2, RmBench};
use self::pairs::{JudgeBench, RewardBench};
use self::samples::BestOfN;
use self::solutions::{Prm800k, PrmBench, ProcessBench};
use super::input_scores::InputScores;
use super::metrics::{BenchmarkReport, IntervalOptions};

/// A public benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Benchmark {
    /// `RewardBench`: pairs in 23 subsets, weighted sections.
    RewardBench,
    /// `RewardBench` 2: the best of four, and Ties.
    RewardBench2,
    /// `RM-Bench`: three styles against three, easy to hard.
    RmBench,
    /// `JudgeBench`: pairs judged in both orders.
    JudgeBench,
    /// `ProcessBench`: the first wrong step.
    ProcessBench,
    /// `PRMBench`: steps spoilt in nine ways.
    PrmBench,
    /// `PRM800K`: steps with human ratings.
    Prm800k,
    /// Best of n over samples with known outcomes, as in the repository of `PRM800K`.
    BestOfN,
}

/// Label of a step with the rating 0 of `PRM800K`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeutralLabel {
    /// Right.
    Right,
    /// Wrong.
    Wrong,
    /// Unlabelled.
    Skip,
}

/// Options of single benchmarks.
#[derive(Debug, Clone)]
pub struct BenchmarkOptions {
    /// Steps with a lower score count as wrong (`ProcessBench`, `PRMBench`, `PRM800K`).
    pub threshold: f64,
    /// Judge pairs in one order instead of both (`JudgeBench`).
    pub single_order: bool,
    /// Label of neutral steps (`PRM800K`).
    pub neutral: NeutralLabel,
    /// Numbers of samples to choose among (best of n).
    pub best_of: Vec<usize>,
}

/// Rows of a benchmark: turns each into inputs, keeps its labels, and computes the metrics.
pub trait BenchmarkRows {
    /// Adds a row and returns the inputs to score. `source` is the file name without its endings.
    ///
    /// # Errors
    /// A row without the layout, as a sentence without its full stop.
    fn add(&mut self, row: &JsonRow, source: &str) -> Result<Vec<ScoreInput>, String>;

    /// Computes the metrics from the scores of the inputs of each added row.
    fn report(&self, scores: &[Vec<InputScores>], intervals: IntervalOptions) -> BenchmarkReport;

    /// Remarks about the rows themselves, such as duplicates that were skipped.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

impl Benchmark {
    /// Starts an empty set of rows.
    pub fn rows(self, options: &BenchmarkOptions) -> Box<dyn BenchmarkRows> {
        match self {
            Self::RewardBench => Box::<RewardBench>::default(),
            Self::RewardBench2 => Box::<RewardBench2>::default(),
            Self::RmBench => Box::<RmBench>::default(),
            Self::JudgeBench => Box::new(JudgeBench::new(options.single_order)),
            Self::ProcessBench => Box::new(ProcessBench::new(options.threshold)),
            Self::PrmBench => Box::new(PrmBench::new(options.threshold)),
            Self::Prm800k => Box::new(Prm800k::new(options.threshold, options.neutral)),
            Self::BestOfN => Box::new(BestOfN::new(&options.best_of)),
        }
    }

    /// Its name for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::RewardBench => "RewardBench",
            Self::RewardBench2 => "RewardBench 2",
            Self::RmBench => "RM-Bench",
            Self::JudgeBench => "JudgeBench",
            Self::ProcessBench => "ProcessBench",
            Self::PrmBench => "PRMBench",
            Self::Prm800k => "PRM800K",
            Self::BestOfN => "best of n",
        }
    }

    /// The columns that are read.
    pub fn columns(self) -> &'static str {
        match self {
            Self::RewardBench => "prompt, chosen, rejected and subset",
            Self::RewardBench2 => "id, prompt, chosen, rejected and subset",
            Self::RmBench => "prompt, chosen, rejected and domain",
            Self::JudgeBench => "question, response_A, response_B, label and source",
            Self::ProcessBench => "problem, steps and label",
            Self::PrmBench => {
                "modified_question, modified_process, error_steps, classification and idx"
            }
            Self::Prm800k => "question.problem and label.steps",
            Self::BestOfN => "problem, is_correct, and one of response, solution and steps",
        }
    }
}

/// An input that scores a group of responses.
fn group_input(prompt: Content, responses: Vec<String>) -> ScoreInput {
    ScoreInput {
        prompt: Some(prompt),
        responses: Some(responses.into_iter().map(Content::Text).collect()),
        ..ScoreInput::default()
    }
}

/// An input that scores the steps of a solution; the response joins them by empty lines.
fn steps_input(problem: &str, steps: Vec<String>) -> ScoreInput {
    ScoreInput {
        prompt: Some(Content::Text(problem.to_owned())),
        response: Some(Content::Text(steps.join("\n\n"))),
        steps: Some(steps),
        ..ScoreInput::default()
    }
}

/// The scores of a row that has one input.
fn only(scores: &[InputScores]) -> &InputScores {
    scores.first().expect("the row has one input")
}

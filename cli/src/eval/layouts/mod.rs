//! Layouts of benchmarks: what a row asks, and what is made of the answers.

mod completions;
mod pairs;
mod samples;
mod solutions;

use curation::evaluation::{Report, Sampling};
use datasets::json_rows::Row;
use openapi::{Content, ScoreInput};

use self::completions::{RewardBench2, RmBench};
use self::pairs::{JudgeBench, RewardBench};
use self::samples::BestOfN;
use self::solutions::{Prm800k, PrmBench, ProcessBench};
use super::ReadingArgs;
use super::answer::Answer;

/// A benchmark and its layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Benchmark {
    /// `RewardBench`: pairs in 23 subsets, weighted sections
    RewardBench,
    /// `RewardBench` 2: the best of four, and Ties
    #[value(name = "reward-bench-2")]
    RewardBench2,
    /// `RM-Bench`: three styles against three, easy to hard
    RmBench,
    /// `JudgeBench`: pairs judged in both orders
    JudgeBench,
    /// `ProcessBench`: the first wrong step
    ProcessBench,
    /// `PRMBench`: steps spoilt in nine ways
    PrmBench,
    /// `PRM800K`: steps with people's ratings
    Prm800k,
    /// Best of n over samples with known outcomes, as `PRM800K`'s repository evaluates
    BestOfN,
}

/// What a step with the rating 0 counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum NeutralArg {
    /// A right step
    Right,
    /// A wrong step
    Wrong,
    /// A step without a label
    Skip,
}

/// Reads rows, remembers what the metrics need, and computes them.
pub(super) trait Layout {
    /// What a row asks; the error is a sentence without its full stop. `source` is the name of the
    /// file without its endings.
    fn read(&mut self, row: &Row, source: &str) -> Result<Vec<ScoreInput>, String>;

    /// The metrics of the answers to the inputs of each row that was read.
    fn report(&self, answers: &[Vec<Answer>], sampling: Sampling) -> Report;

    /// What a careful reader should know of the rows, whoever judges them.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

impl Benchmark {
    /// The layout, with no row read yet.
    pub(super) fn layout(self, reading: &ReadingArgs) -> Box<dyn Layout> {
        match self {
            Self::RewardBench => Box::<RewardBench>::default(),
            Self::RewardBench2 => Box::<RewardBench2>::default(),
            Self::RmBench => Box::<RmBench>::default(),
            Self::JudgeBench => Box::new(JudgeBench::new(reading.single_order)),
            Self::ProcessBench => Box::new(ProcessBench::new(reading.threshold)),
            Self::PrmBench => Box::new(PrmBench::new(reading.threshold)),
            Self::Prm800k => Box::new(Prm800k::new(reading.threshold, reading.neutral)),
            Self::BestOfN => Box::new(BestOfN::new(&reading.best_of)),
        }
    }

    /// Its name, for people.
    pub(super) fn title(self) -> &'static str {
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

    /// Its name on the command line.
    pub(super) fn word(self) -> String {
        use clap::ValueEnum as _;
        let value = self.to_possible_value().expect("no value is hidden");
        value.get_name().to_owned()
    }

    /// The columns that are read.
    pub(super) fn columns(self) -> &'static str {
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

/// A question about a group of responses.
fn about_responses(prompt: Content, responses: Vec<String>) -> ScoreInput {
    ScoreInput {
        prompt: Some(prompt),
        responses: Some(responses.into_iter().map(Content::Text).collect()),
        ..ScoreInput::default()
    }
}

/// A question about the steps of a solution. The solution is its steps with an empty line between
/// them.
fn about_steps(problem: &str, steps: Vec<String>) -> ScoreInput {
    ScoreInput {
        prompt: Some(Content::Text(problem.to_owned())),
        response: Some(Content::Text(steps.join("\n\n"))),
        steps: Some(steps),
        ..ScoreInput::default()
    }
}

/// The only answer of a row that asks one thing.
fn only(answers: &[Answer]) -> &Answer {
    answers.first().expect("the row has one input")
}

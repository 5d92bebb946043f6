//! What graders find, and what goes wrong meanwhile.

use std::collections::BTreeMap;

use super::reply_types::{GraderErrors, GraderNotes, GraderProblem};

/// What a grader found.
#[derive(Debug, Default)]
pub(super) struct Grade {
    /// None where it could not be found.
    pub(super) reward: Option<f64>,
    pub(super) problems: Vec<Problem>,
    /// The rewards of a formula's names.
    pub(super) parts: BTreeMap<String, Option<f64>>,
    /// Tokens of each model that was asked.
    pub(super) tokens: BTreeMap<String, u64>,
}

impl Grade {
    /// A reward.
    pub(super) fn of(reward: f64) -> Grade {
        Grade { reward: Some(reward), ..Grade::default() }
    }

    /// No reward.
    pub(super) fn failed(problem: Problem) -> Grade {
        Grade { problems: vec![problem], ..Grade::default() }
    }
}

/// Something that went wrong.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) flag: Flag,
    path: String,
    pub(super) message: String,
}

/// How it is told in the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flag {
    /// The sample is no JSON.
    SampleParse,
    /// A text is longer than what reads it takes.
    TooLong,
    /// A formula came to no number.
    NoNumber,
    /// A template's variable is not there.
    InvalidVariable,
    /// A model failed.
    ModelFailed,
    /// A model's text is not whole.
    ModelParse,
}

impl Problem {
    /// About the part of the request at `path`.
    pub(super) fn new(flag: Flag, path: impl Into<String>, message: impl Into<String>) -> Problem {
        Problem { flag, path: path.into(), message: message.into() }
    }
}

/// The flags of all problems.
pub(super) fn errors(problems: &[Problem]) -> GraderErrors {
    let mut errors = GraderErrors::default();
    for problem in problems {
        match problem.flag {
            Flag::SampleParse => errors.sample_parse_error = true,
            Flag::TooLong => errors.truncated_observation_error = true,
            Flag::NoNumber => errors.unresponsive_reward_error = true,
            Flag::InvalidVariable => errors.invalid_variable_error = true,
            Flag::ModelParse => errors.model_grader_parse_error = true,
            Flag::ModelFailed => {
                errors.model_grader_server_error = true;
                errors
                    .model_grader_server_error_details
                    .get_or_insert_with(|| problem.message.clone());
            }
        }
    }
    errors
}

/// The problems in words.
pub(super) fn notes(problems: Vec<Problem>) -> GraderNotes {
    let problems = problems
        .into_iter()
        .map(|problem| GraderProblem { param: problem.path, message: problem.message });
    GraderNotes { problems: problems.collect() }
}

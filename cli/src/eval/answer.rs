//! What of a scorer's result the metrics read.

use openapi::{ScoreResult, Status};

/// The number of a verdict that responses are compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ValueArg {
    /// The score: calibrated or defined
    Score,
    /// The raw value: an unbounded logit; a scorer without one has judged nothing
    Raw,
}

/// What a scorer said of one input. Whatever it could not measure is `None`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Answer {
    /// Of the response as a whole.
    pub(crate) whole: Option<f64>,
    /// Of each response of a group.
    pub(crate) responses: Vec<Option<f64>>,
    /// Of each step; a step in which nothing could be checked has no score.
    pub(crate) steps: Option<Vec<Option<f64>>>,
}

impl Answer {
    /// Reads a result.
    pub(crate) fn of(result: &ScoreResult, value: ValueArg) -> Self {
        let is_ok = |status: Status| status == Status::Ok;
        let pick = |score: Option<f64>, raw: Option<f64>| match value {
            ValueArg::Score => score,
            ValueArg::Raw => raw,
        };
        let candidates = result.candidates.iter().flatten();
        let responses = candidates.map(|candidate| {
            let value = pick(candidate.score, candidate.raw);
            value.filter(|_| is_ok(candidate.status))
        });
        let steps = result.steps.as_ref().filter(|_| is_ok(result.status));
        Self {
            whole: pick(result.score, result.raw).filter(|_| is_ok(result.status)),
            responses: responses.collect(),
            steps: steps.map(|steps| steps.iter().map(|step| step.score).collect()),
        }
    }

    /// The score of a response of a group.
    pub(crate) fn response(&self, index: usize) -> Option<f64> {
        self.responses.get(index).copied().flatten()
    }

    /// The scores of the steps, if there is one for each of `n`.
    pub(crate) fn steps(&self, n: usize) -> Option<&[Option<f64>]> {
        self.steps.as_deref().filter(|steps| steps.len() == n)
    }
}

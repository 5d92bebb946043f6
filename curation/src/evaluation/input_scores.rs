//! Scores of one input, as benchmark metrics read them.

use openapi::{ScoreResult, Status};

/// The number of a verdict that is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerdictValue {
    /// The score: calibrated or defined.
    Score,
    /// The raw value: an unbounded logit; `None` for a scorer without one.
    Raw,
}

/// Scores that a scorer gave one input; `None` where nothing could be measured.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InputScores {
    /// Score of the response.
    pub response: Option<f64>,
    /// Score of each response of a group.
    pub group: Vec<Option<f64>>,
    /// Score of each step; `None` for a step in which nothing could be checked.
    pub steps: Option<Vec<Option<f64>>>,
}

impl InputScores {
    /// Extracts the scores of a result; only status `ok` counts as measured.
    pub fn new(result: &ScoreResult, value: VerdictValue) -> Self {
        let is_ok = |status: Status| status == Status::Ok;
        let pick = |score: Option<f64>, raw: Option<f64>| match value {
            VerdictValue::Score => score,
            VerdictValue::Raw => raw,
        };
        let group = result.candidates.iter().flatten().map(|candidate| {
            pick(candidate.score, candidate.raw).filter(|_| is_ok(candidate.status))
        });
        let steps = result.steps.as_ref().filter(|_| is_ok(result.status));
        Self {
            response: pick(result.score, result.raw).filter(|_| is_ok(result.status)),
            group: group.collect(),
            steps: steps.map(|steps| steps.iter().map(|step| step.score).collect()),
        }
    }

    /// Score of the response at `index` of a group.
    pub fn group_response(&self, index: usize) -> Option<f64> {
        self.group.get(index).copied().flatten()
    }

    /// Scores of the steps, if there are exactly `n`.
    pub fn steps(&self, n: usize) -> Option<&[Option<f64>]> {
        self.steps.as_deref().filter(|steps| steps.len() == n)
    }
}

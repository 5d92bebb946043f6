//! Responses whose scores are read, alone and in lists.

use models::{Output, OutputSpec};
use rubrics::Message;

use crate::data::{Ranked, TrainingRow};
use crate::error::{Result, TrainError};
use crate::methods::context::{StepContext, wrong_kind};
use crate::policy::{Grad, PolicySequence};

/// Lists of responses, padded to one length by sequences that nothing is read of, so that each list
/// stays in one micro-batch.
pub(super) struct Lists {
    pub(super) sequences: Vec<PolicySequence>,
    /// Length of each list with its padding.
    pub(super) length: usize,
}

impl Lists {
    pub(super) fn padded(lists: Vec<Vec<PolicySequence>>, adapter: Option<usize>) -> Lists {
        let length = lists.iter().map(Vec::len).max().unwrap_or(0);
        let filler = || PolicySequence {
            token_ids: Vec::new(),
            reads: Vec::new(),
            adapter,
            logit_scale: None,
        };
        let padded = lists.into_iter().flat_map(|list| {
            let missing = length - list.len();
            list.into_iter().chain(std::iter::repeat_with(filler).take(missing))
        });
        Lists { sequences: padded.collect(), length }
    }

    /// The offsets of the lists of a micro-batch among its scores.
    pub(super) fn offsets(&self, members: &[usize]) -> Vec<usize> {
        let mut offsets = vec![0];
        for list in members.chunk_by(|a, b| a / self.length == b / self.length) {
            offsets.push(offsets[offsets.len() - 1] + list.len());
        }
        offsets
    }
}

/// The responses of a row, in the order of its fields, and the conversation before them.
pub(super) fn responses(row: &TrainingRow) -> Result<(Vec<Message>, Vec<&str>)> {
    match row {
        TrainingRow::Preference(row) => {
            Ok((row.turns.clone(), vec![row.chosen.as_str(), row.rejected.as_str()]))
        }
        TrainingRow::Ranked(row) => {
            Ok((question(row), row.candidates.iter().map(String::as_str).collect()))
        }
        TrainingRow::Supervised(_)
        | TrainingRow::Process(_)
        | TrainingRow::Problem(_)
        | TrainingRow::Tokenized(_)
        | TrainingRow::Open(_) => Err(wrong_kind(row, "preference")),
    }
}

/// The conversation before the candidates of a row.
pub(super) fn question(row: &Ranked) -> Vec<Message> {
    vec![Message { role: "user".to_owned(), content: row.problem.clone() }]
}

/// A response whose score is read at its end.
pub(super) fn scored(
    step: &StepContext<'_>,
    turns: &[Message],
    response: &str,
    adapter: Option<usize>,
) -> Result<PolicySequence> {
    let token_ids = step.encoder.with_response(turns, response)?;
    let at = step.policy.config().whole_text_position(&token_ids);
    let reads = vec![(at, OutputSpec::Head)];
    Ok(PolicySequence { reads, token_ids, adapter, logit_scale: None })
}

/// The scores of some responses, the first output of each.
pub(super) fn head_scores(outputs: &[Vec<Output>]) -> Result<Vec<f64>> {
    let score = |outputs: &Vec<Output>| match outputs.first() {
        Some(Output::Head(values)) if values.len() == 1 => Ok(f64::from(values[0])),
        _ => Err(TrainError::Invalid("a reward model has a score head of one output".to_owned())),
    };
    outputs.iter().map(score).collect()
}

#[expect(clippy::cast_possible_truncation, reason = "rounded to the type of gradients")]
pub(super) fn head_grad(grad: f64) -> Grad {
    Grad::Head(vec![grad as f32])
}

//! Rollouts as sequences that auxiliary models read, and the outputs read of them.

use models::{Output, OutputSpec};

use super::super::rollouts::ScoredGroup;
use crate::error::{Result, TrainError};
use crate::policy::{Grad, Policy, PolicySequence};

/// The rollouts of groups, in order, without adapters; the log-probability of each token is read at the
/// temperature of sampling.
pub(super) fn logprob_sequences(
    groups: &[ScoredGroup],
    logit_scale: Option<f32>,
) -> Vec<PolicySequence> {
    let mut sequences = Vec::new();
    for scored in groups {
        for rollout in &scored.group.rollouts {
            sequences.push(PolicySequence::rollout(&scored.prompt, rollout, logit_scale));
        }
    }
    sequences
}

/// A response behind a prompt, whose head is read at these positions.
pub(in super::super) fn scored_sequence(
    prompt: &[u32],
    ids: &[u32],
    positions: impl Iterator<Item = usize>,
) -> PolicySequence {
    PolicySequence {
        token_ids: [prompt, ids].concat(),
        reads: positions.map(|at| (at, OutputSpec::Head)).collect(),
        adapter: None,
        logit_scale: None,
    }
}

/// The numbers that a model reads of each sequence, without gradients.
pub(super) fn read(
    model: &Policy,
    sequences: &[PolicySequence],
    tokens: usize,
    numbers: impl Fn(&[Output]) -> Result<Vec<f64>>,
) -> Result<Vec<Vec<f64>>> {
    let outputs = model.read(sequences, tokens)?;
    outputs.iter().map(|outputs| numbers(outputs)).collect()
}

/// Cuts numbers of responses into groups.
pub(super) fn grouped<T>(groups: &[ScoredGroup], responses: Vec<T>) -> Vec<Vec<T>> {
    let mut responses = responses.into_iter();
    let group = |scored: &ScoredGroup| {
        responses.by_ref().take(scored.group.rollouts.len()).collect::<Vec<T>>()
    };
    groups.iter().map(group).collect()
}

/// Takes the scores of one sequence.
pub(in super::super) fn scores(outputs: &[Output]) -> Result<Vec<f64>> {
    let score = |output: &Output| match output {
        Output::Head(values) if values.len() == 1 => Ok(f64::from(values[0])),
        Output::Head(_)
        | Output::Logprob { .. }
        | Output::Vocab(_)
        | Output::Labels { .. }
        | Output::Hidden(_) => {
            Err(TrainError::Invalid("an auxiliary model has a head of one output".to_owned()))
        }
    };
    outputs.iter().map(score).collect()
}

/// Gradients with respect to the outputs of a head.
#[expect(clippy::cast_possible_truncation, reason = "rounded to the type of gradients")]
pub(in super::super) fn head_grads(grad: &[f64], weight: f64) -> Vec<Grad> {
    grad.iter().map(|slope| Grad::Head(vec![(weight * slope) as f32])).collect()
}

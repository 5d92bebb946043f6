//! The contrastive term of a batch of pairs: the representation of a response is the hidden state that
//! its score is read from.

use models::{Output, OutputSpec};
use rand::RngExt as _;

use crate::error::{Result, TrainError};
use crate::losses::Loss;
use crate::losses::preference::Contrastive;
use crate::methods::context::StepContext;
use crate::policy::PolicySequence;
use base::seeded::decision;

/// The term of a batch.
pub(super) struct Contrast {
    pub(super) loss: Loss,
    /// The derivative by the representation of each response.
    pub(super) grads: Vec<Vec<f32>>,
}

/// Adds the representation to what is read of each response, behind its score.
pub(super) fn read_states(sequences: &mut [PolicySequence]) {
    for sequence in sequences {
        sequence.reads.push((scored_at(sequence), OutputSpec::Hidden));
    }
}

/// Evaluates the term on pairs of responses. Negatives come from the whole batch, so that all
/// representations are computed before the first gradient.
pub(super) fn contrast(
    options: Contrastive,
    step: &StepContext<'_>,
    pairs: &[PolicySequence],
) -> Result<Contrast> {
    let states = step.policy.read(&states_alone(pairs), step.micro_tokens)?;
    let states: Vec<Vec<f64>> =
        states.iter().map(|outputs| state(outputs)).collect::<Result<_>>()?;
    let width = states.first().map_or(0, Vec::len);
    let masks = |view: u64| -> Vec<f64> {
        let masks = (0..states.len() as u64 / 2).flat_map(|pair| {
            let mut rng = decision(step.seed, "dropout of a pair", &[step.step, pair, view]);
            let keep = 1.0 / (1.0 - options.dropout);
            let one = move || if rng.random_bool(options.dropout) { 0.0 } else { keep };
            std::iter::repeat_with(one).take(width)
        });
        masks.collect()
    };
    let (first, second) = (masks(0), masks(1));
    let differences: Vec<f64> = states
        .chunks_exact(2)
        .flat_map(|pair| pair[0].iter().zip(&pair[1]).map(|(chosen, rejected)| chosen - rejected))
        .collect();
    let view = |mask: &[f64]| -> Vec<f64> {
        differences.iter().zip(mask).map(|(number, mask)| number * mask).collect()
    };
    let loss = options.evaluate(width, &view(&first), &view(&second))?;
    let (by_first, by_second) = loss.grad.split_at(differences.len());
    let both = by_first.iter().zip(&first).zip(by_second.iter().zip(&second));
    let grad: Vec<f64> = both.map(|((a, first), (b, second))| a * first + b * second).collect();
    let grads =
        grad.chunks(width.max(1)).flat_map(|grad| [rounded(grad, 1.0), rounded(grad, -1.0)]);
    Ok(Contrast { grads: grads.collect(), loss })
}

fn states_alone(pairs: &[PolicySequence]) -> Vec<PolicySequence> {
    let state = |sequence: &PolicySequence| PolicySequence {
        reads: vec![(scored_at(sequence), OutputSpec::Hidden)],
        ..sequence.clone()
    };
    pairs.iter().map(state).collect()
}

/// The position of a response's score.
fn scored_at(sequence: &PolicySequence) -> usize {
    sequence.reads[0].0
}

fn state(outputs: &[Output]) -> Result<Vec<f64>> {
    match outputs {
        [Output::Hidden(values)] => Ok(values.iter().map(|value| f64::from(*value)).collect()),
        _ => Err(TrainError::Invalid("a representation is a hidden state".to_owned())),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "rounded to the type of gradients")]
fn rounded(grad: &[f64], sign: f64) -> Vec<f32> {
    grad.iter().map(|slope| (sign * slope) as f32).collect()
}

//! `MetaRM`: the gradient of a reward model's loss is taken at weights that tell responses of a shifted
//! distribution further apart.

use candle_core::{Device, Tensor, Var};
use serde::{Deserialize, Serialize};

use super::scores::{Lists, head_grad, head_scores, responses, scored};
use crate::data::{RowsSource, TrainingRow};
use crate::error::{Result, TrainError};
use crate::losses::preference::score_difference;
use crate::methods::context::{MethodOutput, StepContext};
use crate::policy::{Gradients, Policy, PolicySequence};

/// `meta` of the method `reward`: Secrets of RLHF Part II (2401.06080), as reported. With `J` the
/// difference of scores ([`score_difference`]) of shifted responses, the gradient of the loss at
/// `theta + rate grad J(theta)` is applied to `theta`: the first order, which leaves the derivative of the
/// move out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetaSection {
    /// The rate of the move; the published one is not known.
    pub rate: f64,
    /// Rows of a step; those of the method by default.
    #[serde(default)]
    pub rows: Option<usize>,
    /// The shifted responses: rows of pairs or lists, whose order is not read.
    pub data: RowsSource,
}

impl MetaSection {
    pub(super) fn check(&self) -> Vec<String> {
        let rate = (!(self.rate.is_finite() && self.rate > 0.0))
            .then(|| "`meta.rate` is a positive number".to_owned());
        let rows = (self.rows == Some(0)).then(|| "`meta.rows` is at least 1".to_owned());
        rate.into_iter().chain(rows).collect()
    }
}

/// The gradients of the difference of scores on shifted rows.
pub(super) fn difference(
    step: &StepContext<'_>,
    adapter: Option<usize>,
    rows: &[TrainingRow],
) -> Result<MethodOutput> {
    let mut lists = Vec::with_capacity(rows.len());
    for row in rows {
        let (turns, responses) = responses(row)?;
        let list = responses.into_iter().map(|response| scored(step, &turns, response, adapter));
        lists.push(list.collect::<Result<Vec<PolicySequence>>>()?);
    }
    let lists = Lists::padded(lists, adapter);
    step.loss_gradients(&lists.sequences, lists.length, rows.len(), |members, outputs, meter| {
        let scores = head_scores(outputs)?;
        let loss = score_difference(&scores, &lists.offsets(members), rows.len())?;
        meter.add(&loss);
        Ok(loss.grad.iter().map(|grad| vec![head_grad(*grad)]).collect())
    })
}

/// Runs `read` at weights that are moved by `rate` times a gradient, and puts the weights back.
pub(super) fn at_moved<T>(
    policy: &Policy,
    gradients: &Gradients,
    rate: f64,
    read: impl FnOnce() -> Result<T>,
) -> Result<T> {
    if !gradients.norm().is_finite() {
        return Err(TrainError::Invalid(
            "the gradient of the difference of shifted responses is not finite".to_owned(),
        ));
    }
    let parts = policy.parameters().iter().zip(&gradients.parts);
    let mut before: Vec<(&Var, Tensor)> = Vec::new();
    for (parameter, gradient) in parts {
        let Some(gradient) = gradient else { continue };
        let weights = parameter.var.as_detached_tensor();
        let gradient = Tensor::from_slice(gradient, weights.shape(), &Device::Cpu)?;
        before.push((&parameter.var, weights.copy()?));
        parameter.var.set(&(weights + (gradient * rate)?)?)?;
    }
    let result = read();
    for (var, weights) in before {
        var.set(&weights)?;
    }
    result
}

#[cfg(test)]
mod tests {
    use models::OutputSpec;
    use tiny_models::{Preset, TinyHead, TinySpec, make};

    use super::*;
    use crate::policy::{Grad, Packing};

    /// A step up the gradient of a score raises it, and the weights come back bit for bit.
    #[test]
    fn weights_are_moved_for_a_reading_alone() {
        let dir = tempfile::tempdir().expect("a folder");
        let spec = TinySpec { head: TinyHead::Sequence, ..TinySpec::from(Preset::Qwen3) };
        make(dir.path(), &spec).expect("a made model");
        let policy = Policy::full(dir.path()).expect("it loads");
        let sequence = PolicySequence {
            reads: vec![(2, OutputSpec::Head)],
            ..PolicySequence::continued(&[1, 2], &[3])
        };
        let score = || -> Result<f64> {
            let read = policy.read(std::slice::from_ref(&sequence), 100)?;
            Ok(head_scores(&read)?[0])
        };
        let mut gradients = Gradients::new(&policy);
        policy
            .gradients(std::slice::from_ref(&sequence), Packing::of(100), &mut gradients, |_, _| {
                Ok(vec![vec![Grad::Head(vec![1.0])]])
            })
            .expect("a backward");
        let before = score().expect("a score");
        let square = gradients.norm().powi(2);
        let rate = 1e-3 / square.max(1.0);
        let moved = at_moved(&policy, &gradients, rate, score).expect("a score");
        let expected = rate * square;
        assert!((moved - before - expected).abs() < 0.1 * expected, "{before} to {moved}");
        let back = score().expect("a score");
        assert_eq!(back.to_bits(), before.to_bits());
        let failed = at_moved(&policy, &gradients, rate, || {
            Err::<f64, _>(TrainError::Invalid("a failure".to_owned()))
        });
        assert!(failed.is_err());
        assert_eq!(score().expect("a score").to_bits(), before.to_bits());
        gradients.scale(f64::INFINITY);
        assert!(at_moved(&policy, &gradients, rate, score).is_err());
    }
}

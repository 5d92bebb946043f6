//! Judging items as supervised rows: the reply is known, so it can be taught as it is, with no rollout
//! in between. Beside rewards or in their place; which of them a judge learns from is a question of
//! its own (arXiv 2510.12157 finds that rewards alone need not make a better verifier).

use std::sync::Arc;
use std::time::Instant;

use models::Output;
use serde::{Deserialize, Serialize};

use super::{Apply, PolicyGradient};
use crate::error::{Result, TrainError};
use crate::item::Item;
use crate::methods::supervised::{logprobs, mean_slope};
use crate::methods::{Step, tokens};
use crate::metrics::Metrics;
use crate::policy::{Gradients, Packing, Sequence};
use crate::recycle::{TemplateKind, Templates};

/// What recycled items teach by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Teach {
    /// Replies are sampled, and those that agree with the label are rewarded: SPARK's way.
    #[default]
    Rewards,
    /// The label is the reply, and its cross-entropy is the loss. Reflections, whose reply is not
    /// known, are left out.
    Labels,
    /// First the one, then the other.
    Both,
}

/// The scorer of items whose whole reply is the label.
const WHOLE: &str = "reply";

impl Teach {
    pub(super) fn samples(self) -> bool {
        match self {
            Teach::Rewards | Teach::Both => true,
            Teach::Labels => false,
        }
    }

    pub(super) fn writes(self) -> bool {
        match self {
            Teach::Labels | Teach::Both => true,
            Teach::Rewards => false,
        }
    }

    /// Refuses wordings whose labels are only a part of the reply.
    pub(super) fn check(self, templates: &Templates) -> Result<()> {
        let kinds = [TemplateKind::Pointwise, TemplateKind::Pairwise];
        let mut asked = kinds.iter().flat_map(|kind| templates.of(*kind));
        if self.writes() && asked.any(|template| &*template.scorer != WHOLE) {
            return Err(TrainError::Invalid(format!(
                "spark: labels are taught where they are the whole reply; these templates have \
                 wordings with another scorer than `{WHOLE}`"
            )));
        }
        Ok(())
    }
}

impl PolicyGradient {
    /// The items whose label is known, each with its label as the reply.
    pub(super) fn labelled(&self, step: &Step<'_>, items: &[Item]) -> Result<Vec<Sequence>> {
        let mut sequences = Vec::new();
        for item in items.iter().filter(|item| item.role.judges()) {
            let Some(label) = &item.gold else { continue };
            let prompt: Arc<[u32]> = self.actor.prompt(item)?;
            let adapter = self.adapter(item.role);
            sequences.push(Sequence {
                adapter: step.adapter(adapter.as_deref())?,
                ..Sequence::continued(&prompt, &step.encoder.completion(label)?)
            });
        }
        Ok(sequences)
    }

    /// A step of the optimiser on the labels of items, the mean over their tokens.
    pub(super) fn teach_labels(
        &self,
        step: &Step<'_>,
        items: &[Item],
        apply: &mut Apply<'_>,
    ) -> Result<Metrics> {
        let mut metrics = Metrics::default();
        let labels = self.labelled(step, items)?;
        metrics.set("items", labels.len() as f64);
        if labels.is_empty() {
            return Ok(metrics);
        }
        let begin = Instant::now();
        let mut gradients = Gradients::new(step.policy);
        let pass = pass(step, &labels, 1.0, &mut gradients)?;
        metrics.extend("", &pass);
        metrics.set("tokens_forward", tokens(&labels));
        metrics.set("gradient_norm", apply(&mut gradients)?);
        metrics.set("time/train", begin.elapsed().as_secs_f64());
        Ok(metrics)
    }
}

/// Adds the gradient of `share` times the mean cross-entropy of the labels' tokens; reports that mean and
/// their number.
pub(super) fn pass(
    step: &Step<'_>,
    labels: &[Sequence],
    share: f64,
    gradients: &mut Gradients,
) -> Result<Metrics> {
    let n: usize = labels.iter().map(|sequence| sequence.reads.len()).sum();
    let mut sum = 0.0;
    let loss = |_: &[usize], outputs: &[Vec<Output>]| {
        let slopes = |outputs: &Vec<Output>| {
            sum -= logprobs(outputs)?.iter().sum::<f64>();
            Ok(vec![mean_slope(n, share); outputs.len()])
        };
        outputs.iter().map(slopes).collect()
    };
    let packing = Packing::of(step.micro_tokens);
    step.policy.gradients(labels, packing, gradients, loss)?;
    let mut metrics = Metrics::default();
    metrics.set("loss", sum / n as f64);
    metrics.set("tokens", n as f64);
    Ok(metrics)
}

//! Groups to gradients: advantages, the loss on the tokens' log-probabilities, and the assertion
//! that training sees the probabilities that sampling saw.

use std::time::Instant;

use models::Output;

use super::roll::Rolled;
use super::{Apply, PolicyGradientConfig, labels};
use crate::advantages::Episode;
use crate::error::{Result, TrainError};
use crate::item::Role;
use crate::losses::correction::{Correction, M2po};
use crate::losses::length::without_truncated;
use crate::losses::{Denominators, Layout, Limits, Loss, Stats, Stream, Tokens};
use crate::methods::preference::slopes;
use crate::methods::supervised::logprobs;
use crate::methods::{Step, report};
use crate::metrics::Metrics;
use crate::policy::{Gradients, Packing, Sequence, Slope, micro_batches};

/// All answers of a batch, packed: one entry a token in each list.
#[derive(Debug, Default)]
struct Batch {
    sequences: Vec<Sequence>,
    cu_seqlens: Vec<usize>,
    streams: Vec<Stream>,
    positive: Vec<bool>,
    mask: Vec<bool>,
    advantages: Vec<f64>,
    /// Under the weights that sampled.
    behaviour: Vec<f64>,
    /// Whether those are the weights of now.
    fresh: Vec<bool>,
    reference: Option<Vec<f64>>,
    /// What the policy term of each token is multiplied by.
    factors: Option<Vec<f64>>,
}

/// What a step of the optimiser learns from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lesson<'a> {
    /// Answers and their rewards.
    pub(super) groups: &'a [Rolled],
    /// Replies that are given, the stream [`Stream::Ce`].
    pub(super) labels: &'a [Sequence],
}

/// Trains on a lesson; an empty one takes no step.
pub(super) fn learn(
    config: &PolicyGradientConfig,
    step: &Step<'_>,
    lesson: &Lesson<'_>,
    apply: &mut Apply<'_>,
) -> Result<Metrics> {
    let mut metrics = Metrics::default();
    metrics.set("groups/teaching", lesson.groups.len() as f64);
    let batch = Batch::teaching(config, step, lesson.groups, &mut metrics)?;
    if batch.is_none() && lesson.labels.is_empty() {
        return Ok(metrics);
    }
    let sequences = batch.iter().flat_map(|(batch, _)| &batch.sequences);
    let read = sequences.chain(lesson.labels);
    metrics.set("tokens_forward", crate::methods::tokens(read));
    for epoch in 0..config.epochs {
        let begin = Instant::now();
        let mut gradients = Gradients::new(step.policy);
        if let Some((batch, old)) = &batch {
            let pass = batch.pass(config, step, old, &mut gradients)?;
            if epoch == 0 {
                pass.report(&mut metrics);
            }
        }
        if !lesson.labels.is_empty() {
            let share = config.streams.ce;
            let pass = labels::pass(step, lesson.labels, share, &mut gradients)?;
            if epoch == 0 {
                metrics.extend("labels/", &pass);
            }
        }
        metrics.add("time/train", begin.elapsed().as_secs_f64());
        metrics.add("time/forward", gradients.forward);
        metrics.add("time/backward", gradients.backward);
        let begin = Instant::now();
        metrics.set("gradient_norm", apply(&mut gradients)?);
        metrics.add("time/optimiser", begin.elapsed().as_secs_f64());
    }
    Ok(metrics)
}

/// What one pass over a batch gave.
#[derive(Debug, Default)]
struct Pass {
    value: f64,
    stats: Stats,
    /// Over tokens that were sampled with the weights of now.
    max_abs_dlogp: f64,
    mismatch_k3: f64,
    entropy: f64,
}

impl Pass {
    fn report(&self, metrics: &mut Metrics) {
        metrics.set("loss", self.value);
        metrics.set("max_abs_dlogp", self.max_abs_dlogp);
        metrics.set("mismatch_k3", self.mismatch_k3);
        metrics.set("entropy", self.entropy);
        report(metrics, &self.stats);
    }
}

impl Batch {
    /// Groups as a batch, and the log-probabilities that the loss is relative to: those that it was
    /// sampled with, unless some of it is older than the weights are; then those of now are read
    /// once, before the first step. None where nothing is left to train on.
    fn teaching(
        config: &PolicyGradientConfig,
        step: &Step<'_>,
        groups: &[Rolled],
        metrics: &mut Metrics,
    ) -> Result<Option<(Batch, Vec<f64>)>> {
        if groups.is_empty() {
            return Ok(None);
        }
        let mut batch = Batch::new(config, step, groups)?;
        metrics.set("tokens", batch.mask.len() as f64);
        if config.partial.is_some() {
            let stale = groups
                .iter()
                .flat_map(|rolled| &rolled.group.rollouts)
                .flat_map(|rollout| &rollout.tokens)
                .filter(|token| is_stale(config, step, token.revision));
            metrics.set("tokens_stale", stale.count() as f64);
            let fresh = batch.fresh.iter().filter(|fresh| **fresh).count();
            metrics.set("tokens_old", (batch.fresh.len() - fresh) as f64);
        }
        if !batch.mask.contains(&true) {
            return Ok(None);
        }
        let old = if batch.fresh.iter().all(|fresh| *fresh) {
            batch.behaviour.clone()
        } else {
            let read = step.policy.read(&batch.sequences, step.micro_tokens)?;
            let read: Vec<Vec<f64>> = read.iter().map(|o| logprobs(o)).collect::<Result<_>>()?;
            read.concat()
        };
        if let Some(Correction::M2po(m2po)) = &config.objective.correction {
            batch.mask_by(*m2po, &old, metrics)?;
        }
        Ok(Some((batch, old)))
    }

    fn new(config: &PolicyGradientConfig, step: &Step<'_>, groups: &[Rolled]) -> Result<Batch> {
        let episodes: Vec<Vec<Episode<'_>>> = groups
            .iter()
            .map(|rolled| {
                let all = rolled.rewards.iter().zip(&rolled.group.rollouts);
                all.zip(&rolled.steps)
                    .map(|((reward, rollout), steps)| {
                        Episode::new(*reward, rollout.tokens.len()).with_steps(steps)
                    })
                    .collect()
            })
            .collect();
        let advantages = config.advantage.evaluate(&episodes)?;
        let mut batch = Batch { cu_seqlens: vec![0], ..Batch::default() };
        let (mut truncated, mut factors) = (Vec::new(), Vec::new());
        for (rolled, advantages) in groups.iter().zip(advantages) {
            let first = batch.positive.len();
            let answers = rolled.group.rollouts.iter().zip(advantages);
            for ((rollout, advantages), reward) in answers.zip(&rolled.rewards) {
                let at = batch.positive.len() - first;
                let trust = rolled.trust[at];
                let ids: Vec<u32> = rollout.tokens.iter().map(|token| token.id).collect();
                batch.sequences.push(Sequence {
                    adapter: step.adapter(rolled.adapter.as_deref())?,
                    ..Sequence::continued(&rolled.prompt, &ids)
                });
                batch.streams.push(stream(rolled.group.item.role));
                batch.positive.push(*reward > 0.0);
                batch.advantages.extend(advantages);
                truncated.push(rollout.truncated);
                for token in &rollout.tokens {
                    batch.behaviour.push(f64::from(token.logprob));
                    batch.fresh.push(token.revision == step.revision);
                    batch.mask.push(!is_stale(config, step, token.revision));
                    factors.push(trust);
                }
                batch.cu_seqlens.push(batch.mask.len());
            }
        }
        if config.overlong.filter {
            let layout = Layout::new(&batch.cu_seqlens, &batch.mask);
            batch.mask = without_truncated(&layout, &truncated)?;
        }
        if config.guard.as_ref().is_some_and(|guard| guard.weigh) {
            batch.factors = Some(factors);
        }
        if config.objective.kl.is_some() {
            batch.reference = Some(batch.read_reference(step)?);
        }
        Ok(batch)
    }

    /// M2PO's mask, which only the whole batch can say.
    fn mask_by(&mut self, m2po: M2po, old: &[f64], metrics: &mut Metrics) -> Result<()> {
        let tokens = Tokens {
            behaviour: Some(&self.behaviour),
            ..Tokens::new(self.layout(), old, old, &self.advantages)
        };
        let keep = m2po.keep(&tokens)?;
        let kept = keep.iter().sum::<f64>() / keep.len().max(1) as f64;
        metrics.set("m2po_kept", kept);
        let given = self.factors.take().unwrap_or_else(|| vec![1.0; keep.len()]);
        let both = keep.iter().zip(given);
        self.factors = Some(both.map(|(keep, given)| keep * given).collect());
        Ok(())
    }

    fn read_reference(&self, step: &Step<'_>) -> Result<Vec<f64>> {
        let reference = step.reference.ok_or_else(|| {
            TrainError::Invalid("a divergence needs a reference, and there is none".to_owned())
        })?;
        let bare: Vec<Sequence> = self
            .sequences
            .iter()
            .map(|sequence| Sequence { adapter: None, ..sequence.clone() })
            .collect();
        let read = reference.read(&bare, step.micro_tokens)?;
        let read: Vec<Vec<f64>> = read.iter().map(|o| logprobs(o)).collect::<Result<_>>()?;
        Ok(read.concat())
    }

    fn layout(&self) -> Layout<'_> {
        Layout {
            streams: Some(&self.streams),
            positive: Some(&self.positive),
            ..Layout::new(&self.cu_seqlens, &self.mask)
        }
    }

    fn pass(
        &self,
        config: &PolicyGradientConfig,
        step: &Step<'_>,
        old: &[f64],
        gradients: &mut Gradients,
    ) -> Result<Pass> {
        let packing = Packing::of(step.micro_tokens);
        let limits = Limits {
            max_tokens: config.max_tokens,
            micro_batches: micro_batches(&self.sequences, packing)?.len().max(1),
        };
        let denominators = Denominators::of(&self.layout(), &config.streams, limits)?;
        let mut pass = Pass::default();
        let (mut k3, mut entropy) = (0.0, 0.0);
        let loss = |members: &[usize], outputs: &[Vec<Output>]| {
            let part = Part::new(self, members, outputs, old)?;
            let loss = config.objective.evaluate(&part.tokens(), &denominators)?;
            pass.value += loss.value;
            pass.stats.merge(&loss.stats);
            pass.max_abs_dlogp = pass.max_abs_dlogp.max(part.max_abs_dlogp());
            k3 += part.k3();
            entropy += part.entropies.iter().sum::<f64>();
            Ok(part.slopes(&loss))
        };
        step.policy.gradients(&self.sequences, packing, gradients, loss)?;
        let n = self.mask.len() as f64;
        pass.mismatch_k3 = k3 / n;
        pass.entropy = entropy / n;
        Ok(pass)
    }
}

/// Whether a token is older than the run allows.
fn is_stale(config: &PolicyGradientConfig, step: &Step<'_>, revision: u64) -> bool {
    let most = config.partial.and_then(|partial| partial.max_staleness);
    most.is_some_and(|most| step.revision.wrapping_sub(revision) > most)
}

fn stream(role: Role) -> Stream {
    if role.judges() { Stream::Judge } else { Stream::Player }
}

/// The part of a batch that a micro-batch holds.
#[derive(Debug, Default)]
struct Part {
    cu_seqlens: Vec<usize>,
    streams: Vec<Stream>,
    positive: Vec<bool>,
    mask: Vec<bool>,
    logp: Vec<f64>,
    entropies: Vec<f64>,
    old: Vec<f64>,
    behaviour: Vec<f64>,
    fresh: Vec<bool>,
    advantages: Vec<f64>,
    reference: Option<Vec<f64>>,
    factors: Option<Vec<f64>>,
}

impl Part {
    fn new(batch: &Batch, members: &[usize], outputs: &[Vec<Output>], old: &[f64]) -> Result<Part> {
        let mut part = Part {
            cu_seqlens: vec![0],
            reference: batch.reference.as_ref().map(|_| Vec::new()),
            factors: batch.factors.as_ref().map(|_| Vec::new()),
            ..Part::default()
        };
        for (member, outputs) in members.iter().zip(outputs) {
            let span = batch.cu_seqlens[*member]..batch.cu_seqlens[member + 1];
            part.streams.push(batch.streams[*member]);
            part.positive.push(batch.positive[*member]);
            part.logp.extend(logprobs(outputs)?);
            part.entropies.extend(outputs.iter().map(entropy));
            part.mask.extend_from_slice(&batch.mask[span.clone()]);
            part.old.extend_from_slice(&old[span.clone()]);
            part.behaviour.extend_from_slice(&batch.behaviour[span.clone()]);
            part.fresh.extend_from_slice(&batch.fresh[span.clone()]);
            part.advantages.extend_from_slice(&batch.advantages[span.clone()]);
            if let (Some(part), Some(all)) = (&mut part.reference, &batch.reference) {
                part.extend_from_slice(&all[span.clone()]);
            }
            if let (Some(part), Some(all)) = (&mut part.factors, &batch.factors) {
                part.extend_from_slice(&all[span]);
            }
            part.cu_seqlens.push(part.mask.len());
        }
        Ok(part)
    }

    fn tokens(&self) -> Tokens<'_> {
        let layout = Layout {
            streams: Some(&self.streams),
            positive: Some(&self.positive),
            ..Layout::new(&self.cu_seqlens, &self.mask)
        };
        Tokens {
            behaviour: Some(&self.behaviour),
            reference: self.reference.as_deref(),
            factors: self.factors.as_deref(),
            entropies: Some(&self.entropies),
            ..Tokens::new(layout, &self.logp, &self.old, &self.advantages)
        }
    }

    /// The largest difference between what was sampled with and what is trained on, over tokens
    /// of the weights of now. Before the first step of the optimiser it is 0.
    fn max_abs_dlogp(&self) -> f64 {
        let pairs = self.logp.iter().zip(&self.behaviour).zip(&self.fresh);
        pairs
            .filter(|(_, fresh)| **fresh)
            .map(|((now, then), _)| (now - then).abs())
            .fold(0.0, f64::max)
    }

    /// The sum of exp(−d) + d − 1 over all tokens, d the difference to what was sampled with.
    fn k3(&self) -> f64 {
        let pairs = self.logp.iter().zip(&self.behaviour);
        pairs
            .map(|(now, then)| {
                let d = now - then;
                (-d).exp() + d - 1.0
            })
            .sum()
    }

    #[expect(clippy::cast_possible_truncation, reason = "slopes, rounded to the gradients' type")]
    fn slopes(&self, loss: &Loss) -> Vec<Vec<Slope>> {
        let mut all = slopes(&loss.grad);
        for (slope, entropy_slope) in all.iter_mut().zip(&loss.entropy_grad) {
            if let Slope::Logprob { entropy, .. } = slope {
                *entropy = *entropy_slope as f32;
            }
        }
        let mut all = all.into_iter();
        let lengths = self.cu_seqlens.windows(2).map(|ends| ends[1] - ends[0]);
        lengths.map(|n| all.by_ref().take(n).collect()).collect()
    }
}

fn entropy(output: &Output) -> f64 {
    match output {
        Output::Logprob { entropy, .. } => f64::from(*entropy),
        Output::Head(_) | Output::Vocab(_) | Output::Labels { .. } | Output::Hidden(_) => 0.0,
    }
}

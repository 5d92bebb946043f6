//! The batch of one optimiser step: scored groups, packed into the tokens that a loss is computed
//! on.

use base::stats::mean;
use models::Output;

use super::auxiliary::Judged;
use super::config::PolicyGradientConfig;
use super::rollouts::ScoredGroup;
use crate::advantages::TokenAdvantages;
use crate::error::Result;
use crate::item::ItemRole;
use crate::losses::correction::{Correction, M2po};
use crate::losses::length::without_truncated;
use crate::losses::{BatchLimits, Denominators, Layout, Loss, Stats, Stream, Tokens};
use crate::methods::context::{StepContext, report};
use crate::methods::outputs::{entropy, logprobs, output_grads};
use crate::metrics::Metrics;
use crate::policy::{Grad, Gradients, Packing, Policy, PolicySequence, micro_batches};

/// Takes a step of the optimiser with these gradients and returns their norm.
pub type Apply<'a> = dyn FnMut(&mut Gradients) -> Result<f64> + 'a;

/// The batch of one step of the optimiser.
#[derive(Debug, Default)]
pub(super) struct UpdateBatch {
    /// Groups of scored rollouts, for the policy gradient.
    pub(super) train_groups: Vec<ScoredGroup>,
    /// Given replies, for cross-entropy.
    pub(super) labels: Vec<PolicySequence>,
}

/// The rollouts of an [`UpdateBatch`] packed for the loss: one entry per token in each list.
#[derive(Debug, Default)]
pub(super) struct TokenBatch {
    sequences: Vec<PolicySequence>,
    cu_seqlens: Vec<usize>,
    streams: Vec<Stream>,
    positive: Vec<bool>,
    mask: Vec<bool>,
    advantages: Vec<f64>,
    /// Log-probabilities under the weights that sampled the tokens.
    rollout_logprobs: Vec<f64>,
    /// Log-probabilities under the weights at the beginning of the step, the denominators of
    /// ratios; `None` if they are those that the only epoch computes anyway.
    old_logprobs: Option<Vec<f64>>,
    /// Whether the current weights sampled the token from this prompt.
    on_policy: Vec<bool>,
    /// Whether the token was sampled from another prompt: one with a scaffold.
    transferred: Vec<bool>,
    reference: Option<Vec<f64>>,
    /// Factors of the policy term.
    factors: Option<Vec<f64>>,
    /// The share of right responses in the whole group of each sequence.
    pass_rates: Vec<f64>,
    /// A token reward model's probabilities that a response is right so far.
    credit: Option<Vec<f64>>,
}

/// Loss of one epoch over a batch.
#[derive(Debug, Default)]
pub(super) struct EpochLoss {
    value: f64,
    stats: Stats,
    /// Largest difference to the sampled log-probability, over on-policy tokens.
    max_abs_dlogp: f64,
    mismatch_k3: f64,
    entropy: f64,
}

impl EpochLoss {
    pub(super) fn report(&self, metrics: &mut Metrics) {
        metrics.set("loss", self.value);
        metrics.set("max_abs_dlogp", self.max_abs_dlogp);
        metrics.set("mismatch_k3", self.mismatch_k3);
        metrics.set("entropy", self.entropy);
        report(metrics, &self.stats);
    }
}

impl TokenBatch {
    /// Packs groups with their advantages. Old log-probabilities are those of sampling; if some
    /// tokens are off-policy, all are those of the current weights, unless the run samples ahead.
    /// `None` if nothing is left to train on.
    pub(super) fn new(
        config: &PolicyGradientConfig,
        step: &StepContext<'_>,
        (groups, judged): (&[ScoredGroup], &Judged),
        advantages: TokenAdvantages,
        metrics: &mut Metrics,
    ) -> Result<Option<TokenBatch>> {
        let mut batch = TokenBatch::pack(config, step, (groups, judged), advantages)?;
        metrics.set("tokens", batch.mask.len() as f64);
        if config.has_waiting() {
            report_ages(step, groups, metrics);
            let stale = groups
                .iter()
                .flat_map(|scored| &scored.group.rollouts)
                .flat_map(|rollout| &rollout.tokens)
                .filter(|token| is_stale(config, step, token.revision));
            metrics.set("tokens_stale", stale.count() as f64);
            let on_policy = batch.on_policy.iter().filter(|on_policy| **on_policy).count();
            metrics.set("tokens_old", (batch.on_policy.len() - on_policy) as f64);
        }
        if !batch.mask.contains(&true) {
            return Ok(None);
        }
        let by_sampler = batch.on_policy.iter().all(|on_policy| *on_policy);
        let m2po = match config.objective.correction {
            Some(Correction::M2po(m2po)) => Some(m2po),
            Some(_) | None => None,
        };
        let old = if by_sampler || config.sample_ahead.is_some() {
            batch.rollout_logprobs.clone()
        } else if config.epochs == 1 && m2po.is_none() {
            return Ok(Some(batch));
        } else {
            read_logprobs(step.policy, &batch.sequences, step.micro_tokens)?
        };
        with_own_prompt(&batch.transferred, &old, &mut batch.rollout_logprobs);
        if let Some(m2po) = m2po {
            batch.mask_by(m2po, &old, metrics)?;
        }
        batch.old_logprobs = Some(old);
        Ok(Some(batch))
    }

    fn pack(
        config: &PolicyGradientConfig,
        step: &StepContext<'_>,
        (groups, judged): (&[ScoredGroup], &Judged),
        advantages: TokenAdvantages,
    ) -> Result<TokenBatch> {
        let mut batch = TokenBatch { cu_seqlens: vec![0], ..TokenBatch::default() };
        batch.credit = judged.credit.as_ref().map(|_| Vec::new());
        let (mut truncated, mut factors) = (Vec::new(), Vec::new());
        for (group, (scored, advantages)) in groups.iter().zip(advantages).enumerate() {
            let group_weight = judged.weights.as_ref().map_or(1.0, |weights| weights[group]);
            for (at, advantages) in advantages.into_iter().enumerate() {
                let (rollout, weight) = (&scored.group.rollouts[at], scored.weights[at]);
                let is_zero = advantages.iter().all(|advantage| *advantage == 0.0);
                let is_left_out = judged.kept.as_ref().is_some_and(|kept| !kept[group][at]);
                if is_left_out || (is_zero && config.advantage.leaves_out_zeros()) {
                    continue;
                }
                batch.sequences.push(PolicySequence {
                    adapter: step.adapter(scored.adapter.as_deref())?,
                    ..PolicySequence::rollout(
                        scored.prompt_of(at),
                        rollout,
                        config.sampling.logit_scale(),
                    )
                });
                batch.streams.push(stream(scored.group.item.role));
                batch.positive.push(scored.rewards[at] > 0.0);
                batch.pass_rates.push(scored.pass_rate());
                batch.advantages.extend(advantages);
                if let (Some(batch), Some(all)) = (&mut batch.credit, &judged.credit) {
                    batch.extend_from_slice(&all[group][at]);
                }
                truncated.push(rollout.truncated);
                for token in &rollout.tokens {
                    batch.rollout_logprobs.push(f64::from(token.logprob));
                    let transferred = scored.is_transferred(at);
                    batch.on_policy.push(token.revision == step.revision && !transferred);
                    batch.transferred.push(transferred);
                    batch.mask.push(!is_stale(config, step, token.revision));
                    factors.push(weight * group_weight);
                }
                batch.cu_seqlens.push(batch.mask.len());
            }
        }
        if config.overlong.filter {
            let layout = Layout::new(&batch.cu_seqlens, &batch.mask);
            batch.mask = without_truncated(&layout, &truncated)?;
        }
        let weighed = config.trust.is_some() || config.guard.as_ref().is_some_and(|own| own.weigh);
        if weighed || judged.weights.is_some() {
            batch.factors = Some(factors);
        }
        if config.objective.kl.is_some() {
            batch.reference = Some(step.reference_logprobs(&batch.sequences)?.concat());
        }
        Ok(batch)
    }

    /// The sequences that the policy computes.
    pub(super) fn sequences(&self) -> &[PolicySequence] {
        &self.sequences
    }

    /// Whether each token counts, one entry per token of all sequences.
    pub(super) fn counted(&self) -> &[bool] {
        &self.mask
    }

    /// Multiplies M2PO's mask, which depends on all of the batch, into the factors.
    fn mask_by(&mut self, m2po: M2po, old: &[f64], metrics: &mut Metrics) -> Result<()> {
        let tokens = Tokens {
            rollout_logprobs: Some(&self.rollout_logprobs),
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

    fn layout(&self) -> Layout<'_> {
        Layout {
            streams: Some(&self.streams),
            positive: Some(&self.positive),
            pass_rates: Some(&self.pass_rates),
            ..Layout::new(&self.cu_seqlens, &self.mask)
        }
    }

    /// Adds the gradients of one epoch's loss.
    pub(super) fn add_gradients(
        &self,
        config: &PolicyGradientConfig,
        step: &StepContext<'_>,
        gradients: &mut Gradients,
    ) -> Result<EpochLoss> {
        let packing = Packing::of(step.micro_tokens);
        let limits = BatchLimits {
            max_tokens: config.max_tokens,
            micro_batches: micro_batches(&self.sequences, packing)?.len().max(1),
        };
        let denominators = Denominators::of(&self.layout(), &config.streams, limits)?;
        let mut epoch = EpochLoss::default();
        let (mut k3, mut entropy) = (0.0, 0.0);
        let loss = |members: &[usize], outputs: &[Vec<Output>]| {
            let part = MicroTokens::new(self, members, outputs)?;
            let loss = config.objective.evaluate(&part.tokens(), &denominators)?;
            epoch.value += loss.value;
            epoch.stats.merge(&loss.stats);
            epoch.max_abs_dlogp = epoch.max_abs_dlogp.max(part.max_abs_dlogp());
            k3 += part.k3();
            entropy += part.entropies.iter().sum::<f64>();
            Ok(part.output_grads(&loss))
        };
        step.policy.gradients(&self.sequences, packing, gradients, loss)?;
        let n = self.mask.len() as f64;
        epoch.mismatch_k3 = k3 / n;
        epoch.entropy = entropy / n;
        Ok(epoch)
    }
}

/// Computes the log-probabilities of all read tokens, without gradients.
pub(super) fn read_logprobs(
    model: &Policy,
    sequences: &[PolicySequence],
    tokens: usize,
) -> Result<Vec<f64>> {
    let outputs = model.read(sequences, tokens)?;
    let read: Vec<Vec<f64>> = outputs.iter().map(|o| logprobs(o)).collect::<Result<_>>()?;
    Ok(read.concat())
}

/// Whether a token is older than the run allows.
fn is_stale(config: &PolicyGradientConfig, step: &StepContext<'_>, revision: u64) -> bool {
    let most = config.partial.and_then(|partial| partial.max_staleness);
    most.is_some_and(|most| step.revision.wrapping_sub(revision) > most)
}

/// Reports by how many updates of the weights the tokens of a batch are older than these.
fn report_ages(step: &StepContext<'_>, groups: &[ScoredGroup], metrics: &mut Metrics) {
    let rollouts = groups.iter().flat_map(|scored| &scored.group.rollouts);
    let tokens = rollouts.flat_map(|rollout| &rollout.tokens);
    let ages: Vec<f64> =
        tokens.map(|token| step.revision.wrapping_sub(token.revision) as f64).collect();
    if let Some(mean) = mean(&ages) {
        metrics.set("staleness", mean);
        metrics.set("staleness/most", ages.into_iter().fold(0.0, f64::max));
    }
}

/// Sets the log-probabilities of tokens that were sampled from another prompt, whose own belong to that
/// prompt.
fn with_own_prompt(transferred: &[bool], from: &[f64], to: &mut [f64]) {
    for ((_, from), to) in transferred.iter().zip(from).zip(to).filter(|((other, _), _)| **other) {
        *to = *from;
    }
}

fn stream(role: ItemRole) -> Stream {
    if role.judges() { Stream::Judge } else { Stream::Policy }
}

/// The tokens of a micro-batch.
#[derive(Debug, Default)]
struct MicroTokens {
    cu_seqlens: Vec<usize>,
    streams: Vec<Stream>,
    positive: Vec<bool>,
    pass_rates: Vec<f64>,
    mask: Vec<bool>,
    logp: Vec<f64>,
    entropies: Vec<f64>,
    old_logprobs: Vec<f64>,
    rollout_logprobs: Vec<f64>,
    on_policy: Vec<bool>,
    advantages: Vec<f64>,
    reference: Option<Vec<f64>>,
    factors: Option<Vec<f64>>,
    credit: Option<Vec<f64>>,
}

impl MicroTokens {
    fn new(batch: &TokenBatch, members: &[usize], outputs: &[Vec<Output>]) -> Result<MicroTokens> {
        let mut part = MicroTokens {
            cu_seqlens: vec![0],
            reference: batch.reference.as_ref().map(|_| Vec::new()),
            factors: batch.factors.as_ref().map(|_| Vec::new()),
            credit: batch.credit.as_ref().map(|_| Vec::new()),
            ..MicroTokens::default()
        };
        for (member, outputs) in members.iter().zip(outputs) {
            let span = batch.cu_seqlens[*member]..batch.cu_seqlens[member + 1];
            part.streams.push(batch.streams[*member]);
            part.positive.push(batch.positive[*member]);
            part.pass_rates.push(batch.pass_rates[*member]);
            part.logp.extend(logprobs(outputs)?);
            part.entropies.extend(outputs.iter().map(entropy));
            part.mask.extend_from_slice(&batch.mask[span.clone()]);
            part.rollout_logprobs.extend_from_slice(&batch.rollout_logprobs[span.clone()]);
            if let Some(old) = &batch.old_logprobs {
                part.old_logprobs.extend_from_slice(&old[span.clone()]);
            } else {
                let now = part.mask.len() - span.len();
                part.old_logprobs.extend_from_slice(&part.logp[now..]);
                let (from, to) = (&part.logp[now..], &mut part.rollout_logprobs[now..]);
                with_own_prompt(&batch.transferred[span.clone()], from, to);
            }
            part.on_policy.extend_from_slice(&batch.on_policy[span.clone()]);
            part.advantages.extend_from_slice(&batch.advantages[span.clone()]);
            for (part, all) in [
                (&mut part.reference, &batch.reference),
                (&mut part.factors, &batch.factors),
                (&mut part.credit, &batch.credit),
            ] {
                if let (Some(part), Some(all)) = (part, all) {
                    part.extend_from_slice(&all[span.clone()]);
                }
            }
            part.cu_seqlens.push(part.mask.len());
        }
        Ok(part)
    }

    fn tokens(&self) -> Tokens<'_> {
        let layout = Layout {
            streams: Some(&self.streams),
            positive: Some(&self.positive),
            pass_rates: Some(&self.pass_rates),
            ..Layout::new(&self.cu_seqlens, &self.mask)
        };
        Tokens {
            rollout_logprobs: Some(&self.rollout_logprobs),
            reference: self.reference.as_deref(),
            factors: self.factors.as_deref(),
            credit: self.credit.as_deref(),
            entropies: Some(&self.entropies),
            ..Tokens::new(layout, &self.logp, &self.old_logprobs, &self.advantages)
        }
    }

    /// Largest difference between the sampled and the computed log-probability over on-policy
    /// tokens; 0 before the first step of the optimiser.
    fn max_abs_dlogp(&self) -> f64 {
        let pairs = self.logp.iter().zip(&self.rollout_logprobs).zip(&self.on_policy);
        pairs
            .filter(|(_, on_policy)| **on_policy)
            .map(|((now, then), _)| (now - then).abs())
            .fold(0.0, f64::max)
    }

    /// Sum of exp(−d) + d − 1 over all tokens, d being the difference to the sampled
    /// log-probability.
    fn k3(&self) -> f64 {
        let pairs = self.logp.iter().zip(&self.rollout_logprobs);
        pairs
            .map(|(now, then)| {
                let d = now - then;
                (-d).exp() + d - 1.0
            })
            .sum()
    }

    #[expect(clippy::cast_possible_truncation, reason = "rounded to the type of gradients")]
    fn output_grads(&self, loss: &Loss) -> Vec<Vec<Grad>> {
        let mut all = output_grads(&loss.grad);
        for (grad, entropy_grad) in all.iter_mut().zip(&loss.entropy_grad) {
            if let Grad::Logprob { entropy, .. } = grad {
                *entropy = *entropy_grad as f32;
            }
        }
        let mut all = all.into_iter();
        let lengths = self.cu_seqlens.windows(2).map(|ends| ends[1] - ends[0]);
        lengths.map(|n| all.by_ref().take(n).collect()).collect()
    }
}

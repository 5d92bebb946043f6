//! Rounds of pairs (`[method.round]`; `StepORLM`, arXiv 2509.22558): the responses to a problem are paired by
//! their outcomes and their shares of right steps, and a loss of pairs is trained on in the place of
//! advantages. Judgements of the batch, such as CRL's critiques, are imitated where they were right.

use std::ops::Range;
use std::time::Instant;

use base::stats::mean;
use models::Output;

use super::config::{PolicyGradientConfig, RoundReference, RoundSection, RoundWeights};
use super::labels;
use super::rollouts::ScoredGroup;
use super::update_batch::{Apply, UpdateBatch, read_logprobs};
use crate::error::Result;
use crate::item::Rollout;
use crate::losses::preference::PreferredResponses;
use crate::losses::preference::weights::{JudgedSolution, step_orlm};
use crate::losses::{Layout, Loss};
use crate::methods::context::{StepContext, count_tokens, report};
use crate::methods::outputs::{logprobs, output_grads};
use crate::metrics::Metrics;
use crate::policy::{Gradients, Packing, PolicySequence};

/// The score above which a step is right.
const RIGHT: f64 = 0.5;

/// Two responses, by their places among those of a group or of a batch.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pair {
    chosen: usize,
    rejected: usize,
    weight: f64,
}

/// The paired responses of a batch.
#[derive(Debug, Default)]
struct PairedResponses {
    sequences: Vec<PolicySequence>,
    pairs: Vec<Pair>,
    /// Places of the tokens of each response in the lists.
    spans: Vec<Range<usize>>,
    /// Log-probabilities under the weights that sampled the tokens.
    sampled: Vec<f64>,
    /// Whether the current weights sampled the token.
    on_policy: Vec<bool>,
}

/// Trains on the pairs and judgements of a batch for the configured number of epochs; takes no step if
/// there are none.
pub(super) fn update(
    (config, section): (&PolicyGradientConfig, &RoundSection),
    step: &StepContext<'_>,
    batch: &UpdateBatch,
    apply: &mut Apply<'_>,
) -> Result<Metrics> {
    let mut metrics = Metrics::default();
    let (mut paired, mut imitated) = (PairedResponses::default(), batch.labels.clone());
    for scored in &batch.train_groups {
        if scored.group.item.role.judges() {
            for at in right_judgements(scored) {
                imitated.push(sequence(config, step, scored, at)?);
            }
        } else {
            paired.add((config, section), step, scored)?;
        }
    }
    metrics.set("groups/teaching", batch.train_groups.len() as f64);
    metrics.set("round/pairs", paired.pairs.len() as f64);
    metrics.set("round/judgements", imitated.len() as f64);
    if paired.pairs.is_empty() && imitated.is_empty() {
        return Ok(metrics);
    }
    metrics.set("tokens", paired.sampled.len() as f64);
    metrics.set("tokens_forward", count_tokens(paired.sequences.iter().chain(&imitated)));
    let reference = paired.reference(section, step)?;
    for epoch in 0..config.epochs {
        let begin = Instant::now();
        let mut gradients = Gradients::new(step.policy);
        if !paired.pairs.is_empty() {
            let own = (section, reference.as_deref());
            let loss = paired.add_gradients(own, (step, epoch), &mut gradients, &mut metrics)?;
            if epoch == 0 {
                metrics.set("loss", loss.value);
                report(&mut metrics, &loss.stats);
            }
        }
        if !imitated.is_empty() {
            let share = config.streams.ce;
            let loss = labels::add_gradients(step, &imitated, share, &mut gradients)?;
            if epoch == 0 {
                metrics.extend("labels/", &loss);
            }
        }
        metrics.add("time/train", begin.elapsed().as_secs_f64());
        metrics.set("gradient_norm", apply(&mut gradients)?);
    }
    Ok(metrics)
}

impl PairedResponses {
    /// Adds the responses of a group that have a pair.
    fn add(
        &mut self,
        (config, section): (&PolicyGradientConfig, &RoundSection),
        step: &StepContext<'_>,
        scored: &ScoredGroup,
    ) -> Result<()> {
        let pairs = pairs(section, &scored.group.rollouts)?;
        let mut places = vec![None; scored.group.rollouts.len()];
        for pair in pairs {
            let mut place = |at: usize| -> Result<usize> {
                if let Some(place) = places[at] {
                    return Ok(place);
                }
                let place = self.sequences.len();
                self.sequences.push(sequence(config, step, scored, at)?);
                let tokens = &scored.group.rollouts[at].tokens;
                let begin = self.sampled.len();
                self.sampled.extend(tokens.iter().map(|token| f64::from(token.logprob)));
                self.on_policy.extend(tokens.iter().map(|token| token.revision == step.revision));
                self.spans.push(begin..self.sampled.len());
                places[at] = Some(place);
                Ok(place)
            };
            let (chosen, rejected) = (place(pair.chosen)?, place(pair.rejected)?);
            self.pairs.push(Pair { chosen, rejected, ..pair });
        }
        Ok(())
    }

    /// The log-probabilities that those of the policy are compared with; `None` for a loss without any.
    fn reference(
        &self,
        section: &RoundSection,
        step: &StepContext<'_>,
    ) -> Result<Option<Vec<f64>>> {
        match section.reference {
            RoundReference::None => Ok(None),
            RoundReference::Sampler => Ok(Some(self.sampled.clone())),
            RoundReference::Frozen => Ok(Some(step.reference_logprobs(&self.sequences)?.concat())),
        }
    }

    fn add_gradients(
        &self,
        (section, reference): (&RoundSection, Option<&[f64]>),
        (step, epoch): (&StepContext<'_>, u64),
        gradients: &mut Gradients,
        metrics: &mut Metrics,
    ) -> Result<Loss> {
        let is_sampled = epoch == 0 && self.on_policy.iter().all(|on_policy| *on_policy);
        let logp = if is_sampled {
            self.sampled.clone()
        } else {
            read_logprobs(step.policy, &self.sequences, step.micro_tokens)?
        };
        let (loss, slopes) = self.loss(section, &logp, reference)?;
        let mut max_abs_dlogp = 0.0_f64;
        let by_token = |members: &[usize], outputs: &[Vec<Output>]| {
            let mut grads = Vec::with_capacity(members.len());
            for (member, outputs) in members.iter().zip(outputs) {
                let span = self.spans[*member].clone();
                for (at, now) in span.clone().zip(logprobs(outputs)?) {
                    if self.on_policy[at] {
                        max_abs_dlogp = max_abs_dlogp.max((now - self.sampled[at]).abs());
                    }
                }
                grads.push(output_grads(&slopes[span]));
            }
            Ok(grads)
        };
        let packing = Packing::of(step.micro_tokens);
        step.policy.gradients(&self.sequences, packing, gradients, by_token)?;
        if epoch == 0 {
            let weights: Vec<f64> = self.pairs.iter().map(|pair| pair.weight).collect();
            metrics.set("preference/weight", mean(&weights).unwrap_or_default());
            metrics.set("max_abs_dlogp", max_abs_dlogp);
        }
        Ok(loss)
    }

    /// The loss of all pairs, and its derivative by the log-probability of each token.
    fn loss(
        &self,
        section: &RoundSection,
        logp: &[f64],
        reference: Option<&[f64]>,
    ) -> Result<(Loss, Vec<f64>)> {
        let (mut now, mut before, mut cu_seqlens) = (Vec::new(), Vec::new(), vec![0]);
        let of_pairs = || self.pairs.iter().flat_map(|pair| [pair.chosen, pair.rejected]);
        for at in of_pairs() {
            now.extend_from_slice(&logp[self.spans[at].clone()]);
            if let Some(reference) = reference {
                before.extend_from_slice(&reference[self.spans[at].clone()]);
            }
            cu_seqlens.push(now.len());
        }
        let mask = vec![true; now.len()];
        let weights: Vec<f64> = self.pairs.iter().map(|pair| pair.weight).collect();
        let responses = PreferredResponses {
            reference: reference.map(|_| before.as_slice()),
            weights: Some(&weights),
            ..PreferredResponses::new(Layout::new(&cu_seqlens, &mask), &now)
        };
        let loss = section.loss.evaluate(&responses, self.pairs.len())?;
        let mut slopes = vec![0.0; logp.len()];
        for (at, begin) in of_pairs().zip(&cu_seqlens) {
            for (slope, own) in slopes[self.spans[at].clone()].iter_mut().zip(&loss.grad[*begin..])
            {
                *slope += own;
            }
        }
        Ok((loss, slopes))
    }
}

/// All pairs of a group that a weight sets apart.
fn pairs(section: &RoundSection, rollouts: &[Rollout]) -> Result<Vec<Pair>> {
    let judged: Vec<Option<JudgedSolution>> = rollouts.iter().map(judged).collect();
    let mut pairs = Vec::new();
    for (i, first) in judged.iter().enumerate() {
        for (j, second) in judged.iter().enumerate().skip(i + 1) {
            let (Some(first), Some(second)) = (first, second) else { continue };
            if !section.wrong_pairs && !first.is_right && !second.is_right {
                continue;
            }
            let Some(preference) = step_orlm(*first, *second)? else { continue };
            let (chosen, rejected) = if preference.prefers_first { (i, j) } else { (j, i) };
            let weight = match section.weights {
                RoundWeights::WDpo => preference.weight,
                RoundWeights::Even => 1.0,
            };
            pairs.push(Pair { chosen, rejected, weight });
        }
    }
    Ok(pairs)
}

/// Outcome and share of right steps of a rollout; `None` without an outcome or without a token.
fn judged(rollout: &Rollout) -> Option<JudgedSolution> {
    let is_right = rollout.right.filter(|_| !rollout.tokens.is_empty())?;
    let steps = rollout.steps.iter().flatten().filter_map(|step| step.score);
    let right: Vec<f64> = steps.map(|score| f64::from(u8::from(score > RIGHT))).collect();
    Some(JudgedSolution { is_right, right_share: mean(&right).unwrap_or_default() })
}

/// The rollouts of judgements that agree with their labels.
fn right_judgements(scored: &ScoredGroup) -> impl Iterator<Item = usize> {
    let rewards = scored.rewards.iter().enumerate();
    rewards.filter(|(_, reward)| **reward > RIGHT).map(|(at, _)| at)
}

fn sequence(
    config: &PolicyGradientConfig,
    step: &StepContext<'_>,
    scored: &ScoredGroup,
    at: usize,
) -> Result<PolicySequence> {
    let rollout = &scored.group.rollouts[at];
    let scale = config.sampling.logit_scale();
    Ok(PolicySequence {
        adapter: step.adapter(scored.adapter.as_deref())?,
        ..PolicySequence::rollout(scored.prompt_of(at), rollout, scale)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::{JudgedStep, Token};
    use crate::judge_data::fixtures::none;

    fn rollout(right: Option<bool>, steps: &[f64]) -> Rollout {
        let step = |score: &f64| JudgedStep {
            span: 0..1,
            score: Some(*score),
            reward: None,
            label: String::new(),
        };
        Rollout {
            tokens: vec![Token { id: 1, logprob: -1.0, revision: 0 }],
            right,
            steps: Some(steps.iter().map(step).collect()),
            ..none()
        }
    }

    /// METHODS C9 and METHODS2 F5: outcomes first, then shares of right steps; equals are no pair.
    #[test]
    fn f5_responses_are_paired_by_outcomes_and_steps() {
        let group = [
            rollout(Some(true), &[1.0, 1.0, 1.0, 0.0]),
            rollout(Some(false), &[1.0, 1.0]),
            rollout(Some(true), &[0.9, 0.1, 0.2, 0.3]),
            rollout(None, &[1.0]),
            rollout(Some(false), &[0.0, 1.0]),
        ];
        let check = |section: RoundSection, expected: &[(usize, usize, f64)]| {
            let found = pairs(&section, &group).expect("shares");
            let expected = expected.iter();
            let expected = expected.map(|(chosen, rejected, weight)| Pair {
                chosen: *chosen,
                rejected: *rejected,
                weight: *weight,
            });
            assert_eq!(found, expected.collect::<Vec<_>>(), "{section:?}");
        };
        let all = [(0, 1, 1.0), (0, 2, 0.5), (0, 4, 1.0), (2, 1, 1.0), (1, 4, 0.5), (2, 4, 1.0)];
        check(RoundSection::default(), &all);
        let even = RoundSection { weights: RoundWeights::Even, ..RoundSection::default() };
        check(even, &all.map(|(chosen, rejected, _)| (chosen, rejected, 1.0)));
        let trusted = RoundSection { wrong_pairs: false, ..RoundSection::default() };
        let without: Vec<_> = all.into_iter().filter(|pair| *pair != (1, 4, 0.5)).collect();
        check(trusted, &without);
        let equal = vec![rollout(Some(true), &[1.0]); 3];
        assert_eq!(pairs(&RoundSection::default(), &equal).expect("shares"), []);
    }

    /// METHODS2 F5: a pair with `beta D` of 0.3 at the weights 1 and 0.5, and the derivative of a response
    /// in two pairs is the sum of both.
    #[test]
    fn f5_pairs_share_responses() {
        let section = RoundSection {
            loss: toml::from_str("kind = 'dpo'\nbeta = 0.5").expect("a loss"),
            ..RoundSection::default()
        };
        let of = |pairs: Vec<Pair>, logp: &[f64]| {
            let paired = PairedResponses {
                pairs,
                spans: vec![0..2, 2..3, 3..4],
                ..PairedResponses::default()
            };
            paired.loss(&section, logp, Some(&[-1.0; 4])).expect("good numbers")
        };
        let pair = |chosen, rejected, weight| Pair { chosen, rejected, weight };
        let logp = [-0.7, -0.8, -1.1, -1.1];
        for (weight, value) in [(1.0, 0.55436), (0.5, 0.27718)] {
            let (loss, _) = of(vec![pair(0, 1, weight)], &logp);
            assert!((loss.value - value).abs() < 5e-6, "{}", loss.value);
        }
        let pairs = vec![pair(0, 1, 1.0), pair(0, 2, 0.5)];
        let (loss, slopes) = of(pairs.clone(), &logp);
        for at in 0..4 {
            let mut moved = logp;
            moved[at] += 1e-6;
            let slope = (of(pairs.clone(), &moved).0.value - loss.value) / 1e-6;
            assert!((slope - slopes[at]).abs() < 1e-5, "{at}: {slope} and {}", slopes[at]);
        }
    }
}

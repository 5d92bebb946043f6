//! Items to groups: sampled, judged, and sorted into those that teach and those that do not.

use std::sync::Arc;
use std::time::Instant;

use rand::Rng as _;

use super::{Period, PolicyGradient, ZeroVariance};
use crate::error::Result;
use crate::item::{Group, Item, Role, Rollout};
use crate::losses::length::overlong_penalty;
use crate::methods::Step;
use crate::metrics::Metrics;
use crate::random::decision;
use crate::rollout::{How, Order, Sample, failures};

/// A group, and what training needs of it beside.
#[derive(Clone, Debug)]
pub(crate) struct Rolled {
    pub(crate) group: Group,
    pub(crate) prompt: Arc<[u32]>,
    pub(crate) adapter: Option<Arc<str>>,
    /// The rewards with what over-long answers lose; what advantages are made of.
    pub(crate) rewards: Vec<f64>,
}

impl PolicyGradient {
    /// Samples and judges answers to items. Groups with an answer that has no reward are dropped
    /// and counted, and so are groups of equal rewards where the run says so.
    pub(super) fn roll(
        &self,
        step: &Step<'_>,
        items: &[Item],
        period: Period,
        metrics: &mut Metrics,
    ) -> Result<Vec<Rolled>> {
        let prefix = period.prefix();
        let begin = Instant::now();
        let (orders, prompts) = self.orders(items)?;
        let how = How {
            seed: decision(step.seed, "rollouts", &[step.step, period.number()]).next_u64(),
            max_tokens: self.config.max_tokens,
            temperature: 1.0,
        };
        let samples = self.actor.sample(&orders, how)?;
        metrics.add(
            &format!("{prefix}time/rollout"),
            begin.elapsed().as_secs_f64(),
        );
        let begin = Instant::now();
        let mut groups = self.groups(items, samples)?;
        let mut pairs = Vec::new();
        for group in &mut groups {
            let item = group.item.clone();
            pairs.extend(
                group
                    .rollouts
                    .iter_mut()
                    .map(|rollout| (item.clone(), rollout)),
            );
        }
        let mut borrowed: Vec<(&Item, &mut Rollout)> = pairs
            .iter_mut()
            .map(|(item, rollout)| (&**item, &mut **rollout))
            .collect();
        self.judge.reward(&mut borrowed, how.seed)?;
        metrics.add(
            &format!("{prefix}time/reward"),
            begin.elapsed().as_secs_f64(),
        );
        count(&groups, prefix, metrics);
        let rolled = groups.into_iter().zip(prompts);
        let mut teaching = Vec::new();
        for (group, prompt) in rolled {
            if let Some(rolled) = self.teaching(group, prompt, prefix, metrics)? {
                teaching.push(rolled);
            }
        }
        Ok(teaching)
    }

    /// `group` orders for each item, and the items' prompts.
    fn orders(&self, items: &[Item]) -> Result<(Vec<Order>, Vec<Arc<[u32]>>)> {
        let (mut orders, mut prompts) = (Vec::new(), Vec::new());
        for item in items {
            let prompt = self.actor.prompt(item)?;
            for _ in 0..self.config.group {
                orders.push(Order {
                    prompt: prompt.clone(),
                    adapter: self.adapter(item.role),
                    stream: orders.len() as u64,
                    partial: Vec::new(),
                });
            }
            prompts.push(prompt);
        }
        Ok((orders, prompts))
    }

    /// The adapter that answers an item of a role.
    fn adapter(&self, role: Role) -> Option<Arc<str>> {
        let judge = self.config.judge_adapter.as_deref();
        let own = judge.filter(|_| role.judges());
        own.or(self.config.adapter.as_deref()).map(Into::into)
    }

    fn groups(&self, items: &[Item], samples: Vec<Sample>) -> Result<Vec<Group>> {
        let mut samples = samples.into_iter();
        let mut groups = Vec::with_capacity(items.len());
        for item in items {
            let mut rollouts = Vec::with_capacity(self.config.group);
            for sample in samples.by_ref().take(self.config.group) {
                rollouts.push(Rollout {
                    text: self.actor.text(&sample.tokens)?,
                    truncated: !sample.ended,
                    tokens: sample.tokens,
                    answer: None,
                    // Until it is judged there is none.
                    reward: Err(rubrics::FailureKind::Internal),
                });
            }
            groups.push(Group {
                item: Arc::new(item.clone()),
                rollouts,
            });
        }
        Ok(groups)
    }

    fn teaching(
        &self,
        group: Group,
        prompt: Arc<[u32]>,
        prefix: &str,
        metrics: &mut Metrics,
    ) -> Result<Option<Rolled>> {
        let Some(mut rewards) = group.rewards() else {
            metrics.add(&format!("{prefix}groups/without_reward"), 1.0);
            return Ok(None);
        };
        if let Some(buffer) = self.config.overlong.buffer {
            for (reward, rollout) in rewards.iter_mut().zip(&group.rollouts) {
                let n = rollout.tokens.len();
                *reward += overlong_penalty(n, self.config.max_tokens, buffer)?;
            }
        }
        if all_equal(&rewards) {
            metrics.add(&format!("{prefix}groups/equal"), 1.0);
            match self.config.zero_variance {
                ZeroVariance::Drop => return Ok(None),
                ZeroVariance::Keep => {}
            }
        }
        Ok(Some(Rolled {
            adapter: self.adapter(group.item.role),
            group,
            prompt,
            rewards,
        }))
    }
}

#[expect(clippy::float_cmp, reason = "the very same number is meant")]
fn all_equal(rewards: &[f64]) -> bool {
    rewards.windows(2).all(|pair| pair[0] == pair[1])
}

/// What was sampled and how it was rewarded.
fn count(groups: &[Group], prefix: &str, metrics: &mut Metrics) {
    let rollouts = || groups.iter().flat_map(|group| &group.rollouts);
    let n = rollouts().count().max(1) as f64;
    let rewards: Vec<f64> = rollouts()
        .filter_map(|rollout| rollout.reward.ok())
        .collect();
    if !rewards.is_empty() {
        let mean = rewards.iter().sum::<f64>() / rewards.len() as f64;
        metrics.set(format!("{prefix}reward"), mean);
    }
    for (kind, count) in failures(rollouts()) {
        metrics.add(&format!("{prefix}status/{kind}"), count as f64);
    }
    let tokens: usize = rollouts().map(|rollout| rollout.tokens.len()).sum();
    metrics.add(&format!("{prefix}rollout/tokens"), tokens as f64);
    metrics.set(format!("{prefix}rollout/length"), tokens as f64 / n);
    let cut = rollouts().filter(|rollout| rollout.truncated).count();
    metrics.set(format!("{prefix}rollout/truncated"), cut as f64 / n);
    metrics.add(&format!("{prefix}groups/sampled"), groups.len() as f64);
}

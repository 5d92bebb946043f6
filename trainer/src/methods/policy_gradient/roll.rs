//! Items to groups: sampled, judged, and sorted into those that are trained on and those that are
//! not.

use std::sync::Arc;
use std::time::Instant;

use rand::Rng as _;

use super::partial::Round;
use super::process::Signals;
use super::{Period, PolicyGradient, verifier, vote};
use crate::advantages;
use crate::curriculum::{Fate, Keep, KeepCounts};
use crate::error::Result;
use crate::item::{Group, Item, Role, Rollout};
use crate::losses::length::overlong_penalty;
use crate::methods::Step;
use crate::metrics::Metrics;
use crate::random::decision;
use crate::recycle::urpo;
use crate::rollout::{How, Order, Sample, failures};

/// A group, and what training needs of it beside.
#[derive(Clone, Debug)]
pub(crate) struct Rolled {
    pub(crate) group: Group,
    pub(crate) prompt: Arc<[u32]>,
    pub(crate) adapter: Option<Arc<str>>,
    /// The rewards with what over-long answers lose; what advantages are made of.
    pub(crate) rewards: Vec<f64>,
    /// What each answer counts for.
    pub(crate) trust: Vec<f64>,
    /// The steps of each answer, for process-aware advantages; empty for others.
    pub(crate) steps: Vec<Vec<advantages::Step>>,
}

/// What became of items.
#[derive(Debug, Default)]
pub(crate) struct Rolls {
    /// The groups that are trained on.
    pub(crate) teaching: Vec<Rolled>,
    /// All of them.
    pub(crate) all: Vec<Group>,
    /// How many there were of which fate.
    pub(crate) counts: KeepCounts,
}

impl Rolls {
    /// Takes in another round.
    pub(crate) fn extend(&mut self, other: Rolls) {
        self.teaching.extend(other.teaching);
        self.all.extend(other.all);
        self.counts.add(other.counts);
    }
}

impl PolicyGradient {
    /// Samples and judges answers to items. Groups with an answer that has no reward are dropped
    /// and counted, and so are those that the run does not keep.
    pub(super) fn roll(
        &self,
        step: &Step<'_>,
        items: &[Item],
        period: Period,
        metrics: &mut Metrics,
    ) -> Result<Rolls> {
        if items.is_empty() {
            return Ok(Rolls::default());
        }
        let begin = Instant::now();
        let how = self.how(step, period);
        let samples = self.actor.sample(&self.orders(items)?, how)?;
        metrics.add(&format!("{}time/rollout", period.prefix()), begin.elapsed().as_secs_f64());
        let mut samples = samples.into_iter();
        let of = |item: &Item| {
            let samples = samples.by_ref().take(self.config.group).collect();
            (item.clone(), samples)
        };
        let whole = items.iter().map(of).collect();
        self.judged(step, whole, period, metrics)
    }

    /// The same for `want` problems of which some were begun in earlier steps.
    pub(super) fn roll_ahead(
        &mut self,
        step: &Step<'_>,
        want: usize,
        period: Period,
        metrics: &mut Metrics,
    ) -> Result<Rolls> {
        let begin = Instant::now();
        let round = Round {
            want,
            group: self.config.group,
            adapter: self.adapter(Role::Player),
            how: self.how(step, period),
            actor: &self.actor,
        };
        let Some(ahead) = &mut self.ahead else {
            return Ok(Rolls::default());
        };
        let whole = ahead.round(&round, &mut self.problems)?;
        metrics.set("partial/waiting", ahead.waiting() as f64);
        metrics.add("time/rollout", begin.elapsed().as_secs_f64());
        let rolls = self.judged(step, whole, period, metrics)?;
        if let Some(ahead) = &mut self.ahead {
            for number in 0..rolls.all.len() {
                ahead.judged(number < rolls.teaching.len())?;
            }
        }
        Ok(rolls)
    }

    fn how(&self, step: &Step<'_>, period: Period) -> How {
        How {
            seed: decision(step.seed, "rollouts", &[step.step, period.number()]).next_u64(),
            max_tokens: self.config.max_tokens,
            temperature: 1.0,
        }
    }

    /// Judges answers and sorts their groups.
    fn judged(
        &self,
        step: &Step<'_>,
        whole: Vec<(Item, Vec<Sample>)>,
        period: Period,
        metrics: &mut Metrics,
    ) -> Result<Rolls> {
        let prefix = period.prefix();
        let mut rolls = Rolls::default();
        if whole.is_empty() {
            return Ok(rolls);
        }
        let begin = Instant::now();
        let mut groups = self.groups(whole)?;
        self.reward(&mut groups, self.how(step, period).seed)?;
        self.reward_mixed(&mut groups, step, metrics)?;
        metrics.add(&format!("{prefix}time/reward"), begin.elapsed().as_secs_f64());
        count(&groups, prefix, metrics);
        for mut group in groups {
            let trust = self.trust(&mut group, metrics)?;
            let keep = self.keep(&group.item);
            match keep.judge(&group, &mut rolls.counts) {
                Fate::Kept => rolls.teaching.push(self.rolled(group.clone(), trust)?),
                Fate::Failed | Fate::Equal(_) | Fate::TooHard | Fate::TooEasy => {}
            }
            rolls.all.push(group);
        }
        metrics.add_all(&format!("{prefix}groups/"), &rolls.counts);
        Ok(rolls)
    }

    /// The rule for groups of an item. Rewards that are no verdicts of right and wrong have no pass
    /// rate that a band could be about.
    fn keep(&self, item: &Item) -> Keep {
        match self.config.keep {
            Keep::Band { .. } if &*item.scorer == urpo::SCORER => Keep::Varied,
            keep @ (Keep::All | Keep::Varied | Keep::Band { .. }) => keep,
        }
    }

    /// Asks the scorers, of the player's answers also the one that looks at steps.
    fn reward(&self, groups: &mut [Group], seed: u64) -> Result<()> {
        let mut pairs: Vec<(Arc<Item>, &mut Rollout)> = Vec::new();
        let judged = |group: &&mut Group| &*group.item.scorer != urpo::SCORER;
        for group in groups.iter_mut().filter(judged) {
            let item = if vote::votes(group) {
                let verifier = verifier(&self.config, &group.item).into();
                let Some(item) = vote::elected(group, &verifier) else {
                    continue;
                };
                item
            } else {
                group.item.clone()
            };
            pairs.extend(group.rollouts.iter_mut().map(|r| (item.clone(), r)));
        }
        let mut borrowed: Vec<(&Item, &mut Rollout)> =
            pairs.iter_mut().map(|(item, rollout)| (&**item, &mut **rollout)).collect();
        self.judge.reward(&mut borrowed, seed)?;
        if let Some(name) = &self.config.steps_scorer {
            borrowed.retain(|(item, rollout)| item.role == Role::Player && rollout.reward.is_ok());
            self.judge.steps(name, &mut borrowed, seed)?;
        }
        Ok(())
    }

    /// `group` orders for each item.
    fn orders(&self, items: &[Item]) -> Result<Vec<Order>> {
        let mut orders = Vec::with_capacity(items.len() * self.config.group);
        for item in items {
            let prompt = self.actor.prompt(item)?;
            for _ in 0..self.config.group {
                orders.push(Order {
                    prompt: prompt.clone(),
                    adapter: self.adapter(item.role),
                    stream: orders.len() as u64,
                    partial: Vec::new(),
                    most: None,
                });
            }
        }
        Ok(orders)
    }

    /// The adapter that answers an item of a role.
    pub(super) fn adapter(&self, role: Role) -> Option<Arc<str>> {
        let judge = self.config.judge_adapter.as_deref();
        let own = judge.filter(|_| role.judges());
        own.or(self.config.adapter.as_deref()).map(Into::into)
    }

    fn groups(&self, whole: Vec<(Item, Vec<Sample>)>) -> Result<Vec<Group>> {
        let mut groups = Vec::with_capacity(whole.len());
        for (item, samples) in whole {
            let mut rollouts = Vec::with_capacity(samples.len());
            for sample in samples {
                rollouts.push(Rollout {
                    text: self.actor.text(&sample.tokens)?,
                    truncated: !sample.ended,
                    tokens: sample.tokens,
                    answer: None,
                    // Until it is judged there is none.
                    reward: Err(rubrics::FailureKind::Internal),
                    steps: None,
                });
            }
            groups.push(Group { item: Arc::new(item), rollouts });
        }
        Ok(groups)
    }

    /// What training needs of a group whose answers all have rewards.
    fn rolled(&self, group: Group, trust: Vec<f64>) -> Result<Rolled> {
        let mut rewards = group.rewards().expect("a group that is kept has rewards");
        if let Some(buffer) = self.config.overlong.buffer {
            for (reward, rollout) in rewards.iter_mut().zip(&group.rollouts) {
                let n = rollout.tokens.len();
                *reward += overlong_penalty(n, self.config.max_tokens, buffer)?;
            }
        }
        // Judgements have no steps: a process-aware advantage sees their outcomes alone.
        let signals = Signals::of(&self.config.advantage);
        let signals = signals.filter(|_| group.item.role == Role::Player);
        let steps = group.rollouts.iter().map(|rollout| match signals {
            Some(signals) => signals.steps(&self.actor, &group.item, rollout),
            None => Ok(Vec::new()),
        });
        Ok(Rolled {
            steps: steps.collect::<Result<_>>()?,
            adapter: self.adapter(group.item.role),
            prompt: self.actor.prompt(&group.item)?,
            group,
            rewards,
            trust,
        })
    }
}

/// What was sampled and how it was rewarded.
fn count(groups: &[Group], prefix: &str, metrics: &mut Metrics) {
    let rollouts = || groups.iter().flat_map(|group| &group.rollouts);
    let n = rollouts().count().max(1) as f64;
    let rewards: Vec<f64> = rollouts().filter_map(|rollout| rollout.reward.ok()).collect();
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
}

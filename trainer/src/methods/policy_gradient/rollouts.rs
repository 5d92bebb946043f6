//! From items to scored groups: sampled, scored, and separated by whether they are trained on.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Instant;

use base::stats::mean;
use rand::Rng as _;
use rubrics::{FailureKind, Message};

use super::config::PolicyGradientConfig;
use super::majority_vote;
use super::responder::Responder;
use super::step_signals::{StepSignal, split_steps, turn_steps};
use crate::advantages;
use crate::curriculum::{Fate, Keep, KeepCounts};
use crate::error::Result;
use crate::item::{EarlyEnd, Group, ItemRole, Rollout, TrainingItem};
use crate::losses::length::overlong_penalty;
use crate::methods::context::StepContext;
use crate::metrics::Metrics;
use crate::rollout::{
    AtLimit, PartMeans, RewardManager, RolloutParams, SampleRequest, SampledResponse, Sampler,
    failures,
};
use base::seeded::decision;

/// Samples rollouts from the live policy and scores them.
#[derive(Debug)]
pub(super) struct Rollouts {
    pub(super) config: Arc<PolicyGradientConfig>,
    pub(super) sampler: Sampler,
    pub(super) rewards: Arc<RewardManager>,
    pub(super) responder: Responder,
    pub(super) reward_hooks: Vec<Box<dyn RewardHook>>,
}

/// Rewards or weighs rollouts beside the scorers of `rubrics`.
pub(super) trait RewardHook: Debug + Send {
    /// Whether it rewards the rollouts of an item in place of a scorer.
    fn rewards(&self, _item: &TrainingItem) -> bool {
        false
    }

    /// Fills in the rewards of its groups.
    fn reward(
        &self,
        _rollouts: &Rollouts,
        _step: &StepContext<'_>,
        _groups: &mut [Group],
        _metrics: &mut Metrics,
    ) -> Result<()> {
        Ok(())
    }

    /// Weighs the rollouts of a group, and may remove some; `None` leaves the group unchanged.
    fn weights(
        &self,
        _rollouts: &Rollouts,
        _group: &mut Group,
        _metrics: &mut Metrics,
    ) -> Result<Option<Vec<f64>>> {
        Ok(None)
    }
}

/// An item and its complete responses.
pub(super) type SampledGroup = (TrainingItem, Vec<SampledResponse>);

/// A group that is trained on.
#[derive(Clone, Debug)]
pub(super) struct ScoredGroup {
    pub(super) group: Group,
    pub(super) prompt: Arc<[u32]>,
    /// Whether responses are trained on the scaffold that they were sampled with.
    pub(super) trains_on_scaffold: bool,
    pub(super) adapter: Option<Arc<str>>,
    /// Rewards less the over-long penalty; advantages are computed from these.
    pub(super) rewards: Vec<f64>,
    /// Weight of each rollout in the loss.
    pub(super) weights: Vec<f64>,
    /// Steps of each rollout, for process-aware advantages; empty for others.
    pub(super) steps: Vec<Vec<advantages::ResponseStep>>,
}

impl ScoredGroup {
    /// The prompt that a response is trained on: the item's, or with `train_on_scaffold` the one that it
    /// was sampled from.
    pub(super) fn prompt_of(&self, at: usize) -> &[u32] {
        let own = self.group.rollouts[at].scaffold.as_deref();
        own.filter(|_| self.trains_on_scaffold).unwrap_or(&self.prompt)
    }

    /// Whether a response is trained on another prompt than it was sampled from.
    pub(super) fn is_transferred(&self, at: usize) -> bool {
        self.group.rollouts[at].scaffold.is_some() && !self.trains_on_scaffold
    }

    /// The group of these responses, some perhaps several times.
    pub(super) fn picked(&self, rows: &[usize]) -> ScoredGroup {
        let rollouts = rows.iter().map(|row| self.group.rollouts[*row].clone()).collect();
        ScoredGroup {
            group: Group { item: self.group.item.clone(), rollouts },
            prompt: self.prompt.clone(),
            trains_on_scaffold: self.trains_on_scaffold,
            adapter: self.adapter.clone(),
            rewards: rows.iter().map(|row| self.rewards[*row]).collect(),
            weights: rows.iter().map(|row| self.weights[*row]).collect(),
            steps: rows.iter().map(|row| self.steps[*row].clone()).collect(),
        }
    }

    /// The share of its responses with a positive reward.
    pub(super) fn pass_rate(&self) -> f64 {
        let right = self.rewards.iter().filter(|reward| **reward > 0.0).count();
        right as f64 / self.rewards.len().max(1) as f64
    }
}

/// Scored groups of one round or step.
#[derive(Debug, Default)]
pub(super) struct ScoredGroups {
    /// The groups that are trained on.
    pub(super) train_groups: Vec<ScoredGroup>,
    /// All of them.
    pub(super) groups: Vec<Group>,
    /// Counts by fate.
    pub(super) counts: KeepCounts,
}

impl ScoredGroups {
    /// Appends another round.
    pub(super) fn extend(&mut self, other: ScoredGroups) {
        self.train_groups.extend(other.train_groups);
        self.groups.extend(other.groups);
        self.counts.add(other.counts);
    }
}

/// The purpose of sampling. Each phase of a step has its own random draws and log names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Problems for the policy, with the number of sampling rounds before.
    Policy(u32),
    /// Judge data.
    Judge,
    /// Critiques in the policy's batch.
    Critic,
    /// Ranked rows in the policy's batch.
    RankJudge,
    /// Open rows in the policy's batch.
    Open,
    /// Problems that measure a judge.
    Trust,
}

impl Phase {
    fn number(self) -> u64 {
        match self {
            Phase::Judge => 0,
            Phase::Critic => u64::MAX,
            Phase::RankJudge => u64::MAX - 1,
            Phase::Open => u64::MAX - 2,
            Phase::Trust => u64::MAX - 3,
            Phase::Policy(round) => u64::from(round) + 1,
        }
    }

    /// The prefix of its metrics, in which the rank judge is called `referee`.
    fn prefix(self) -> &'static str {
        match self {
            Phase::Judge => "judge/",
            Phase::Critic => "crl/",
            Phase::RankJudge => "referee/",
            Phase::Open => "open/",
            Phase::Trust => "trust/",
            Phase::Policy(_) => "",
        }
    }
}

impl Rollouts {
    /// Samples and scores `group` rollouts of each item. A group is dropped and counted if one of
    /// them has no reward, or by the run's `keep` rule.
    pub(super) fn roll_out(
        &self,
        step: &StepContext<'_>,
        items: &[TrainingItem],
        phase: Phase,
        metrics: &mut Metrics,
    ) -> Result<ScoredGroups> {
        if items.is_empty() {
            return Ok(ScoredGroups::default());
        }
        let begin = Instant::now();
        let sampled = self.sample(items.to_vec(), self.params(step, phase), step)?;
        metrics.add(&format!("{}time/rollout", phase.prefix()), begin.elapsed().as_secs_f64());
        self.score(step, sampled, phase, metrics)
    }

    /// Samples `group` responses to each item.
    pub(super) fn sample(
        &self,
        items: Vec<TrainingItem>,
        params: RolloutParams,
        step: &StepContext<'_>,
    ) -> Result<Vec<SampledGroup>> {
        let mut requests = Vec::with_capacity(items.len() * self.config.group);
        let mut scaffolds = Vec::with_capacity(requests.capacity());
        for item in &items {
            let prompt = self.sampler.prompt(item)?;
            for scaffold in self.scaffolds(item, step)? {
                let (adapter, stream) = (self.adapter(item.role), requests.len() as u64);
                let prompt = scaffold.clone().unwrap_or_else(|| prompt.clone());
                requests.push((SampleRequest::new(prompt, adapter, stream), item));
                scaffolds.push(scaffold);
            }
        }
        let mut samples = self.responder.respond(requests, params)?;
        for (sample, scaffold) in samples.iter_mut().zip(scaffolds) {
            sample.scaffold = scaffold;
        }
        let mut samples = samples.into_iter();
        let group = |item| (item, samples.by_ref().take(self.config.group).collect());
        Ok(items.into_iter().map(group).collect())
    }

    /// The prompt with its scaffold of each response to an item; `None` without one.
    fn scaffolds(
        &self,
        item: &TrainingItem,
        step: &StepContext<'_>,
    ) -> Result<Vec<Option<Arc<[u32]>>>> {
        let group = self.config.group;
        let Some(section) = self.config.scaffold.filter(|_| item.role == ItemRole::Policy) else {
            return Ok(vec![None; group]);
        };
        let conversations = section.conversations(item, group, (step, &self.rewards))?.into_iter();
        let prompt = |turns: Option<Vec<Message>>| {
            let scaffolded = turns.map(|turns| TrainingItem { turns, ..item.clone() });
            scaffolded.map(|item| self.sampler.prompt(&item)).transpose()
        };
        conversations.map(prompt).collect()
    }

    /// Sampling parameters of a phase.
    pub(super) fn params(&self, step: &StepContext<'_>, phase: Phase) -> RolloutParams {
        RolloutParams {
            seed: decision(step.seed, "rollouts", &[step.step, phase.number()]).next_u64(),
            max_tokens: self.config.max_tokens,
            draws: self.config.sampling.draws(),
        }
    }

    /// Scores sampled groups and sorts them by the run's `keep` rule.
    pub(super) fn score(
        &self,
        step: &StepContext<'_>,
        sampled: Vec<SampledGroup>,
        phase: Phase,
        metrics: &mut Metrics,
    ) -> Result<ScoredGroups> {
        let prefix = phase.prefix();
        let mut scored = ScoredGroups::default();
        if sampled.is_empty() {
            return Ok(scored);
        }
        let begin = Instant::now();
        let mut groups = self.groups(sampled)?;
        let parts = self.reward_by_scorers(&mut groups, self.params(step, phase).seed)?;
        parts.report(prefix, metrics);
        for hook in &self.reward_hooks {
            hook.reward(self, step, &mut groups, metrics)?;
        }
        let rollouts = groups.iter_mut().flat_map(|group| &mut group.rollouts);
        rollouts.for_each(Rollout::keep_tool_failure);
        metrics.add(&format!("{prefix}time/reward"), begin.elapsed().as_secs_f64());
        report(&groups, prefix, metrics);
        self.report_right(&groups, prefix, metrics)?;
        if let Some(tools) = self.responder.tools() {
            report_turns(&groups, prefix, metrics);
            let times = tools.take_times();
            metrics.add(&format!("{prefix}time/tools"), times.tools.as_secs_f64());
            metrics.add(&format!("{prefix}time/turns"), times.between.as_secs_f64());
        }
        for mut group in groups {
            self.drop_cut_short(&mut group, prefix, metrics);
            let weights = self.weights(&mut group, metrics)?;
            if !weights.is_empty() && weights.iter().all(|weight| *weight == 0.0) {
                metrics.add(&format!("{prefix}groups/without_weight"), 1.0);
                scored.groups.push(group);
                continue;
            }
            match self.keep(&group.item).judge(&group, &mut scored.counts) {
                Fate::Kept => {
                    scored.train_groups.push(self.scored_group(group.clone(), weights)?);
                }
                Fate::Failed | Fate::Equal(_) | Fate::TooHard | Fate::TooEasy => {}
            }
            scored.groups.push(group);
        }
        metrics.add_all(&format!("{prefix}groups/"), &scored.counts);
        Ok(scored)
    }

    /// Removes the rollouts that ran out of turns or tokens, if the run drops them; all of a group of
    /// which fewer than two are left.
    fn drop_cut_short(&self, group: &mut Group, prefix: &str, metrics: &mut Metrics) {
        let tools = self.responder.tools();
        let drops = tools.is_some_and(|tools| tools.at_limit() == AtLimit::Drop);
        if !drops || group.item.role != ItemRole::Policy {
            return;
        }
        let n = group.rollouts.len();
        group.rollouts.retain(|rollout| !rollout.truncated || rollout.tool_failure().is_some());
        metrics.add(&format!("{prefix}tools/dropped"), (n - group.rollouts.len()) as f64);
        if group.rollouts.len() < 2 {
            group.rollouts.clear();
        }
    }

    /// Weight of each rollout; a hook may remove rollouts from the group.
    fn weights(&self, group: &mut Group, metrics: &mut Metrics) -> Result<Vec<f64>> {
        for hook in &self.reward_hooks {
            if let Some(weights) = hook.weights(self, group, metrics)? {
                return Ok(weights);
            }
        }
        Ok(vec![1.0; group.rollouts.len()])
    }

    /// Whether a hook, and not a scorer, rewards the rollouts of an item.
    fn is_rewarded_by_hook(&self, item: &TrainingItem) -> bool {
        self.reward_hooks.iter().any(|hook| hook.rewards(item))
    }

    /// The `keep` rule for groups of an item. A reward that is not a verdict of right and wrong has
    /// no pass rate, so a band does not apply to it.
    fn keep(&self, item: &TrainingItem) -> Keep {
        match self.config.keep {
            Keep::Band { .. } if self.is_rewarded_by_hook(item) => Keep::Varied,
            keep @ (Keep::All | Keep::Varied | Keep::Band { .. }) => keep,
        }
    }

    /// Fills in rewards by the scorers and, for the policy's rollouts, verdicts on steps; returns the means
    /// of the rewards' parts.
    fn reward_by_scorers(&self, groups: &mut [Group], seed: u64) -> Result<PartMeans> {
        let mut pairs: Vec<(Arc<TrainingItem>, &mut Rollout)> = Vec::new();
        for group in groups.iter_mut().filter(|group| !self.is_rewarded_by_hook(&group.item)) {
            let item = if majority_vote::applies(group) {
                let verifier = self.config.verifier(&group.item).into();
                let Some(item) = majority_vote::elect(group, &verifier) else {
                    continue;
                };
                item
            } else {
                group.item.clone()
            };
            pairs.extend(group.rollouts.iter_mut().map(|rollout| (item.clone(), rollout)));
        }
        let mut borrowed: Vec<(&TrainingItem, &mut Rollout)> =
            pairs.iter_mut().map(|(item, rollout)| (&**item, &mut **rollout)).collect();
        let parts = self.rewards.reward(&mut borrowed, seed)?;
        if let Some(name) = &self.config.steps_scorer {
            borrowed
                .retain(|(item, rollout)| item.role == ItemRole::Policy && rollout.reward.is_ok());
            self.rewards.steps(name, &mut borrowed, seed)?;
        }
        Ok(parts)
    }

    /// Whether the rewards of a group come from the model itself.
    pub(super) fn is_self_rewarded(&self, group: &Group) -> Result<bool> {
        let item = &group.item;
        let by_model = self.is_rewarded_by_hook(item)
            || majority_vote::applies(group)
            || self.rewards.uses_models(&item.scorer)?;
        Ok(item.role == ItemRole::Policy && !item.has_reference() && by_model)
    }

    /// Copies groups without the rewards that the model gave itself.
    pub(super) fn without_self_rewards(&self, groups: &[Group]) -> Result<Vec<Group>> {
        let mut groups = groups.to_vec();
        for group in &mut groups {
            if self.is_self_rewarded(group)? {
                for rollout in &mut group.rollouts {
                    rollout.reward = Err(FailureKind::Abstain);
                    rollout.right = None;
                }
            }
        }
        Ok(groups)
    }

    /// Reports the share of right answers and the number of answers without a verdict, of groups
    /// whose rewards are not self-given.
    fn report_right(&self, groups: &[Group], prefix: &str, metrics: &mut Metrics) -> Result<()> {
        let mut verdicts = Vec::new();
        for group in groups {
            if !self.is_self_rewarded(group)? {
                verdicts.extend(group.rollouts.iter().map(|rollout| rollout.right));
            }
        }
        let known: Vec<f64> =
            verdicts.iter().flatten().map(|right| f64::from(u8::from(*right))).collect();
        if let Some(share) = mean(&known) {
            metrics.add_mean(format!("{prefix}right_share"), share, known.len() as f64);
            metrics.add(&format!("{prefix}without_verdict"), (verdicts.len() - known.len()) as f64);
        }
        Ok(())
    }

    /// The adapter that responds to items of a role; `None` is the model itself.
    pub(super) fn adapter(&self, role: ItemRole) -> Option<Arc<str>> {
        let judge = self.config.judge_adapter.as_deref().filter(|_| role.judges());
        judge.or(self.config.adapter.as_deref()).map(Into::into)
    }

    pub(super) fn groups(&self, sampled: Vec<SampledGroup>) -> Result<Vec<Group>> {
        let mut groups = Vec::with_capacity(sampled.len());
        for (item, samples) in sampled {
            let rollouts = samples.into_iter().map(|sample| self.sampler.rollout(sample));
            groups.push(Group { item: Arc::new(item), rollouts: rollouts.collect::<Result<_>>()? });
        }
        Ok(groups)
    }

    /// The training data of a group whose rollouts all have rewards.
    fn scored_group(&self, group: Group, weights: Vec<f64>) -> Result<ScoredGroup> {
        let mut rewards = group.rewards().expect("a group that is kept has rewards");
        if let Some(buffer) = self.config.overlong.buffer {
            for (reward, rollout) in rewards.iter_mut().zip(&group.rollouts) {
                let n = rollout.tokens.len();
                *reward += overlong_penalty(n, self.config.max_tokens, buffer)?;
            }
        }
        // Judgements have no steps: a process-aware advantage uses their outcomes alone.
        let signal = StepSignal::of(&self.config.advantage);
        let signal = signal.filter(|_| group.item.role == ItemRole::Policy);
        if signal.is_some_and(StepSignal::needs_right) && self.config.right.is_some() {
            for (reward, rollout) in rewards.iter_mut().zip(&group.rollouts) {
                *reward = f64::from(u8::from(rollout.is_right()));
            }
        }
        let steps = group.rollouts.iter().zip(&rewards).map(|(rollout, reward)| {
            match (signal, &self.config.step_model) {
                (None, _) => Ok(Vec::new()),
                (Some(_), Some(model)) if self.config.steps_scorer.is_none() => {
                    match model.split().splitter() {
                        Some(splitter) => split_steps(&self.sampler, rollout, splitter),
                        None => Ok(turn_steps(rollout)),
                    }
                }
                (Some(_), Some(_)) => {
                    StepSignal::Scores.steps(&self.sampler, &group.item, rollout, *reward)
                }
                (Some(signal), None) => signal.steps(&self.sampler, &group.item, rollout, *reward),
            }
        });
        Ok(ScoredGroup {
            steps: steps.collect::<Result<_>>()?,
            adapter: self.adapter(group.item.role),
            prompt: self.sampler.prompt(&group.item)?,
            trains_on_scaffold: self.config.scaffold.is_some_and(|own| own.train_on_scaffold),
            group,
            rewards,
            weights,
        })
    }
}

/// Reports counts and rewards of the sampled groups. Means are over all rounds of the step so far.
fn report(groups: &[Group], prefix: &str, metrics: &mut Metrics) {
    let rollouts = || groups.iter().flat_map(|group| &group.rollouts);
    let n = rollouts().count() as f64;
    let rewards: Vec<f64> = rollouts().filter_map(|rollout| rollout.reward.ok()).collect();
    if let Some(mean) = mean(&rewards) {
        metrics.add_mean(format!("{prefix}reward"), mean, rewards.len() as f64);
    }
    for (kind, count) in failures(rollouts()) {
        metrics.add(&format!("{prefix}status/{kind}"), count as f64);
    }
    let tokens: usize = rollouts().map(|rollout| rollout.tokens.len()).sum();
    metrics.add(&format!("{prefix}rollout/tokens"), tokens as f64);
    metrics.add_mean(format!("{prefix}rollout/length"), tokens as f64 / n, n);
    let truncated = rollouts().filter(|rollout| rollout.truncated).count();
    metrics.add_mean(format!("{prefix}rollout/truncated"), truncated as f64 / n, n);
}

/// Reports turns and calls of the sampled groups. Means are over all rounds of the step so far.
fn report_turns(groups: &[Group], prefix: &str, metrics: &mut Metrics) {
    let rollouts = || groups.iter().flat_map(|group| &group.rollouts);
    let observations = || rollouts().flat_map(|rollout| &rollout.observations);
    let n = rollouts().count() as f64;
    metrics.add_mean(format!("{prefix}tools/turns"), 1.0 + observations().count() as f64 / n, n);
    let out_of_turns = rollouts().filter(|rollout| rollout.early_end == Some(EarlyEnd::Turns));
    let out_of_turns = out_of_turns.count() as f64 / n;
    metrics.add_mean(format!("{prefix}tools/out_of_turns"), out_of_turns, n);
    for (name, count) in [
        ("calls", observations().map(|observation| observation.calls).sum::<usize>()),
        ("failed", observations().map(|observation| observation.failed).sum()),
        ("tokens", observations().map(|observation| observation.token_ids.len()).sum()),
    ] {
        metrics.add(&format!("{prefix}tools/{name}"), count as f64);
    }
}

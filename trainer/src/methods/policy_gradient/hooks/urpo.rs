//! URPO (`[method.urpo]`): two other kinds of rows beside problems. Ranked candidates, which the
//! model scores as a rank judge, and instructions without a reference answer, which it solves and
//! scores itself.

use rand::Rng as _;
use rubrics::FailureKind;

use super::super::config::UrpoSection;
use super::super::hook::{Hook, HookContext, StepData};
use super::super::prompts::Prompts;
use super::super::rollouts::{Phase, RewardHook, Rollouts};
use super::super::state::{PolicyGradientState, UrpoState};
use crate::curriculum::{Curriculum, CurriculumConfig};
use crate::data::Ranked;
use crate::error::{Result, TrainError};
use crate::item::{Group, ItemRole, TrainingItem};
use crate::judge_data::urpo::{self, Call, Open, OpenRule, RankJudgeConfig, Schedule};
use crate::judge_data::{StepSeed, Templates};
use crate::methods::context::StepContext;
use crate::metrics::Metrics;
use crate::rollout::{DrawParams, RolloutParams, SampleRequest};
use base::seeded::decision;

/// Adds ranked and open rows to the batch.
#[derive(Debug)]
pub(in super::super) struct UrpoHook {
    config: UrpoSection,
    templates: Templates,
    schedule: Schedule,
    ranked: Vec<Ranked>,
    order: Option<Curriculum>,
    /// Ranked rows that measure the rank judge and are never trained on.
    held_out: Vec<Ranked>,
    open: Option<Prompts>,
}

impl UrpoHook {
    /// `ranked` and `open` are the rows of a run beside its problems.
    ///
    /// # Errors
    /// Invalid options, and a share of a kind that has no rows.
    pub(in super::super) fn new(
        config: UrpoSection,
        mut ranked: Vec<Ranked>,
        open: Vec<TrainingItem>,
        seed: u64,
    ) -> Result<UrpoHook> {
        config.rank_judge.check()?;
        if !(0.0..1.0).contains(&config.held_out) || config.every == 0 {
            return Err(TrainError::Invalid(
                "urpo: `held_out` is at least 0 and below 1, and `every` at least 1".to_owned(),
            ));
        }
        let schedule = Schedule::new(config.mix, config.open)?;
        let gated = config.mix.open > 0.0 && matches!(config.open, OpenRule::Gate { .. });
        let kept = if gated { held_out(ranked.len(), config.held_out) } else { 0 };
        let held_out = ranked.split_off(ranked.len().saturating_sub(kept));
        for (share, rows, kind) in [
            (config.mix.preference, ranked.len(), "preference"),
            (config.mix.open, open.len(), "open"),
        ] {
            if share > 0.0 && rows == 0 {
                return Err(TrainError::Invalid(format!(
                    "urpo: the mixture has a share of {kind} rows, and there are none to train on"
                )));
            }
        }
        let uniform = || CurriculumConfig::Uniform;
        let indices = (0..ranked.len() as u64).map(|index| (index, None));
        let order_seed = decision(seed, "ranked rows", &[]).next_u64();
        let open_seed = decision(seed, "open rows", &[]).next_u64();
        Ok(UrpoHook {
            templates: Templates::built_in(&config.templates)?,
            order: match ranked.len() {
                0 => None,
                _ => Some(Curriculum::new(uniform(), indices, order_seed)?),
            },
            open: match open.len() {
                0 => None,
                _ => Some(Prompts::new(uniform(), open, open_seed)?),
            },
            schedule,
            ranked,
            held_out,
            config,
        })
    }

    /// The rewards of its rows.
    pub(in super::super) fn rewards(&self) -> UrpoRewards {
        UrpoRewards { config: self.config.rank_judge.clone(), templates: self.templates.clone() }
    }

    /// Draws the rank-judge items of a step.
    fn draw_ranked(&mut self, n: usize, seed: StepSeed) -> Result<Vec<TrainingItem>> {
        let drawn = match &mut self.order {
            Some(order) if n > 0 => order.draw(n, |_| Ok(Vec::new()))?,
            Some(_) | None => Vec::new(),
        };
        let item = |index: u64| {
            let at = usize::try_from(index).expect("an index of a row");
            rank_item(&self.ranked[at], index, &self.templates, seed)
        };
        drawn.into_iter().map(item).collect()
    }

    /// Draws the open instructions of a step.
    fn draw_open(&mut self, n: usize, cx: &HookContext<'_>) -> Result<Vec<TrainingItem>> {
        match &mut self.open {
            Some(open) if n > 0 => open.draw(n, (&cx.rollouts.sampler, cx.step)),
            Some(_) | None => Ok(Vec::new()),
        }
    }
}

impl Hook for UrpoHook {
    /// Measures the rank judge on held-out rows, for the gate that admits open rows.
    fn before_sampling(&mut self, cx: &mut HookContext<'_>, _new_pass: bool) -> Result<()> {
        let due = (cx.step.step - 1).is_multiple_of(self.config.every);
        if self.held_out.is_empty() || !due {
            return Ok(());
        }
        // The same order of candidates at every measurement.
        let seed = StepSeed { seed: cx.step.seed, step: 0 };
        let rows = (0..).zip(&self.held_out);
        let items: Vec<TrainingItem> = rows
            .map(|(index, row)| rank_item(row, index, &self.templates, seed))
            .collect::<Result<_>>()?;
        let texts = replies(cx.rollouts, &items, cx.step.seed, 0.0)?;
        let read = items.iter().zip(&texts).map(|(item, text)| {
            let ranks: Vec<f64> = serde_json::from_str(item.gold.as_deref().unwrap_or("[]"))
                .expect("ranks that were written here");
            (self.config.rank_judge.scores(text, ranks.len()).ok(), ranks)
        });
        let accuracy = urpo::rank_judge::pairwise_accuracy(&read.collect::<Vec<_>>());
        if let Some(accuracy) = accuracy {
            cx.metrics.set("referee/held_out_accuracy", accuracy);
        }
        self.schedule.observe(accuracy);
        Ok(())
    }

    fn problems(&self, step: u64, batch: usize) -> Option<usize> {
        Some(self.schedule.batch(step, batch).verifiable)
    }

    fn after_scoring(&mut self, cx: &mut HookContext<'_>, data: &mut StepData) -> Result<()> {
        let kinds = self.schedule.batch(cx.step.step, cx.config.prompts);
        cx.metrics.add_all("urpo/", &kinds);
        let ranked = self.draw_ranked(kinds.preference, cx.seed())?;
        let open = self.draw_open(kinds.open, cx)?;
        for (items, phase) in [(ranked, Phase::RankJudge), (open, Phase::Open)] {
            data.extend(cx.rollouts.roll_out(cx.step, &items, phase, cx.metrics)?);
        }
        Ok(())
    }

    fn save(&self, state: &mut PolicyGradientState) {
        state.urpo = Some(UrpoState {
            schedule: self.schedule,
            order: self.order.as_ref().map(Curriculum::state),
            open: self.open.as_ref().map(Prompts::state),
        });
    }

    fn restore(&mut self, state: &PolicyGradientState) -> Result<()> {
        let Some(state) = &state.urpo else {
            return Ok(());
        };
        self.schedule = state.schedule;
        if let (Some(order), Some(state)) = (&mut self.order, &state.order) {
            order.resume(state.clone())?;
        }
        if let (Some(open), Some(state)) = (&mut self.open, &state.open) {
            open.restore(state.clone())?;
        }
        Ok(())
    }
}

/// Rewards without a scorer: of the rank judge by known ranks, of responses to open instructions by
/// listwise calls of the model itself, whose tokens are not trained on.
#[derive(Debug)]
pub(in super::super) struct UrpoRewards {
    config: RankJudgeConfig,
    templates: Templates,
}

impl RewardHook for UrpoRewards {
    fn rewards(&self, item: &TrainingItem) -> bool {
        &*item.scorer == urpo::SCORER
    }

    fn reward(
        &self,
        rollouts: &Rollouts,
        step: &StepContext<'_>,
        groups: &mut [Group],
        metrics: &mut Metrics,
    ) -> Result<()> {
        let mut open: Vec<(&mut Group, Vec<Call>)> = Vec::new();
        for group in groups.iter_mut().filter(|group| self.rewards(&group.item)) {
            if group.item.role == ItemRole::RankJudge {
                for rollout in &mut group.rollouts {
                    rollout.reward = urpo::reward(&group.item, &rollout.text, &self.config);
                }
            } else {
                let seed = StepSeed { seed: step.seed, step: step.step };
                let calls = urpo::calls(group, &self.config, &self.templates, seed)?;
                open.push((group, calls));
            }
        }
        let items: Vec<TrainingItem> =
            open.iter().flat_map(|(_, calls)| calls.iter().map(|call| call.item.clone())).collect();
        let seed = decision(step.seed, "urpo replies", &[step.step]).next_u64();
        let mut texts = replies(rollouts, &items, seed, 1.0)?.into_iter();
        for (group, calls) in open {
            let texts: Vec<String> = texts.by_ref().take(calls.len()).collect();
            let replies: Vec<(&Call, &str)> =
                calls.iter().zip(texts.iter().map(String::as_str)).collect();
            apply(
                group,
                &urpo::self_rewards(&replies, group.rollouts.len(), &self.config),
                metrics,
            );
        }
        let rewarded = groups
            .iter()
            .filter(|group| self.rewards(&group.item) && group.item.role != ItemRole::RankJudge);
        if let Some(correlation) = urpo::length_correlation(rewarded) {
            metrics.set("open/length_correlation", correlation);
        }
        Ok(())
    }
}

/// Samples one reply to each item; the replies are not trained on.
fn replies(
    rollouts: &Rollouts,
    items: &[TrainingItem],
    seed: u64,
    temperature: f32,
) -> Result<Vec<String>> {
    let mut requests = Vec::with_capacity(items.len());
    for item in items {
        let prompt = rollouts.sampler.prompt(item)?;
        let adapter = rollouts.adapter(item.role);
        requests.push(SampleRequest::new(prompt, adapter, requests.len() as u64));
    }
    let draws = DrawParams { temperature, ..DrawParams::FULL };
    let params = RolloutParams { seed, max_tokens: rollouts.config.max_tokens, draws };
    let samples = rollouts.sampler.sample(&requests, params)?;
    samples.iter().map(|sample| rollouts.sampler.text(&sample.tokens)).collect()
}

fn rank_item(
    row: &Ranked,
    index: u64,
    templates: &Templates,
    seed: StepSeed,
) -> Result<TrainingItem> {
    let texts = row.candidates.iter().map(String::as_str);
    let ranked: Vec<(&str, f64)> = texts.zip(row.ranks.iter().copied()).collect();
    urpo::preference_item(index, &row.problem, &ranked, templates, seed)
}

/// Number of rows to hold out: a share, at least one and never all.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a count is a count"
)]
fn held_out(rows: usize, share: f64) -> usize {
    let wanted = (rows as f64 * share).round() as usize;
    wanted.max(1).min(rows.saturating_sub(1))
}

/// Applies the rewards of calls; without readable or differing scores the rollouts have none.
fn apply(group: &mut Group, open: &Open, metrics: &mut Metrics) {
    let failure = match open {
        Open::Rewards(rewards) => {
            for (rollout, reward) in group.rollouts.iter_mut().zip(rewards) {
                rollout.reward = Ok(*reward);
            }
            return;
        }
        Open::NoneReadable => {
            metrics.add("open/unreadable", 1.0);
            FailureKind::ParseError
        }
        Open::NoSpread => {
            metrics.add("open/no_spread", 1.0);
            FailureKind::Abstain
        }
    };
    for rollout in &mut group.rollouts {
        rollout.reward = Err(failure);
    }
}

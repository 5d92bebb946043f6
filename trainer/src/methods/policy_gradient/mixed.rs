//! URPO's other kinds of rows beside problems: ranked candidates, which the model scores as a referee,
//! and instructions without a right answer, which it solves and scores itself.

use serde::{Deserialize, Serialize};

use super::choose::{Problems, ProblemsState};
use super::{PolicyGradient, at};
use crate::curriculum::{Curriculum, CurriculumConfig, CurriculumState};
use crate::data::Ranked;
use crate::error::{Result, TrainError};
use crate::item::{Group, Item, Role};
use crate::methods::Step;
use crate::metrics::Metrics;
use crate::random::decision;
use crate::recycle::urpo::{
    self, Call, Mix, Open, OpenRule, RefereeConfig, Schedule, schedule::Kinds,
};
use crate::recycle::{At, Templates};
use crate::rollout::{How, Order};
use rand::Rng as _;
use rubrics::FailureKind;

/// `[method.urpo]`. All defaults are our reconstruction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UrpoSection {
    /// How much of a batch each kind is.
    pub mix: Mix,
    /// When open rows come in.
    pub open: OpenRule,
    /// How replies of the referee are read.
    pub referee: RefereeConfig,
    /// The wordings; `urpo` by default.
    pub templates: String,
    /// The share of ranked rows that is never trained on and measures the referee for the gate; 0.1.
    pub held_out: f64,
    /// Steps between those measurements; 10.
    pub every: u64,
}

impl Default for UrpoSection {
    fn default() -> Self {
        Self {
            mix: Mix::default(),
            open: OpenRule::default(),
            referee: RefereeConfig::default(),
            templates: "urpo".to_owned(),
            held_out: 0.1,
            every: 10,
        }
    }
}

/// Rows of the other kinds, and what is known of the referee.
#[derive(Debug)]
pub(super) struct Mixed {
    config: UrpoSection,
    templates: Templates,
    schedule: Schedule,
    ranked: Vec<Ranked>,
    order: Option<Curriculum>,
    held_out: Vec<Ranked>,
    open: Option<Problems>,
}

/// What a checkpoint holds of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MixedState {
    schedule: Schedule,
    order: Option<CurriculumState>,
    open: Option<ProblemsState>,
}

impl Mixed {
    /// Over the rows of a run that are not verifiable.
    ///
    /// # Errors
    /// Options without meaning, and shares of kinds of which there are no rows.
    pub(super) fn new(
        config: UrpoSection,
        mut ranked: Vec<Ranked>,
        open: Vec<Item>,
        seed: u64,
    ) -> Result<Mixed> {
        config.referee.check()?;
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
        let places = (0..ranked.len() as u64).map(|index| (index, None));
        let order_seed = decision(seed, "ranked rows", &[]).next_u64();
        let open_seed = decision(seed, "open rows", &[]).next_u64();
        Ok(Mixed {
            templates: Templates::built_in(&config.templates)?,
            order: match ranked.len() {
                0 => None,
                _ => Some(Curriculum::new(uniform(), places, order_seed)?),
            },
            open: match open.len() {
                0 => None,
                _ => Some(Problems::new(uniform(), open, open_seed)?),
            },
            schedule,
            ranked,
            held_out,
            config,
        })
    }

    /// Items of each kind in a batch.
    pub(super) fn kinds(&self, step: u64, size: usize) -> Kinds {
        self.schedule.batch(step, size)
    }

    /// Referee items and open instructions of a step.
    pub(super) fn draw(&mut self, kinds: Kinds, at: At) -> Result<(Vec<Item>, Vec<Item>)> {
        let drawn = match &mut self.order {
            Some(order) if kinds.preference > 0 => {
                order.draw(kinds.preference, |_| Ok(Vec::new()))?
            }
            Some(_) | None => Vec::new(),
        };
        let referee = drawn.into_iter().map(|index| {
            let place = usize::try_from(index).expect("a place among rows");
            item(&self.ranked[place], index, &self.templates, at)
        });
        let referee = referee.collect::<Result<_>>()?;
        let open = match &mut self.open {
            Some(open) if kinds.open > 0 => open.draw(kinds.open)?,
            Some(_) | None => Vec::new(),
        };
        Ok((referee, open))
    }

    pub(super) fn state(&self) -> MixedState {
        MixedState {
            schedule: self.schedule,
            order: self.order.as_ref().map(Curriculum::state),
            open: self.open.as_ref().map(Problems::state),
        }
    }

    pub(super) fn restore(&mut self, state: MixedState) -> Result<()> {
        self.schedule = state.schedule;
        if let (Some(order), Some(state)) = (&mut self.order, state.order) {
            order.resume(state)?;
        }
        if let (Some(open), Some(state)) = (&mut self.open, state.open) {
            open.restore(state)?;
        }
        Ok(())
    }
}

fn item(row: &Ranked, index: u64, templates: &Templates, at: At) -> Result<Item> {
    let texts = row.candidates.iter().map(String::as_str);
    let ranked: Vec<(&str, f64)> = texts.zip(row.ranks.iter().copied()).collect();
    urpo::preference_item(index, &row.problem, &ranked, templates, at)
}

/// A share of rows, at least one and never all.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a count is a count"
)]
fn held_out(rows: usize, share: f64) -> usize {
    let wanted = (rows as f64 * share).round() as usize;
    wanted.max(1).min(rows.saturating_sub(1))
}

impl PolicyGradient {
    /// Measures the referee on rows that are never trained on, where a gate waits for it.
    pub(super) fn measure_referee(&mut self, step: &Step<'_>, metrics: &mut Metrics) -> Result<()> {
        let Some(mixed) = &self.mixed else {
            return Ok(());
        };
        let due = (step.step - 1).is_multiple_of(mixed.config.every);
        if mixed.held_out.is_empty() || !due {
            return Ok(());
        }
        let first = At { seed: step.seed, step: 0 };
        let rows = (0..).zip(&mixed.held_out);
        let items = rows.map(|(index, row)| item(row, index, &mixed.templates, first));
        let items: Vec<Item> = items.collect::<Result<_>>()?;
        let texts = self.replies(&items, (step.seed, 0.0))?;
        let read = items.iter().zip(&texts).map(|(item, text)| {
            let ranks: Vec<f64> = serde_json::from_str(item.gold.as_deref().unwrap_or("[]"))
                .expect("ranks that were written here");
            (mixed.config.referee.scores(text, ranks.len()).ok(), ranks)
        });
        let accuracy = urpo::referee::pairwise_accuracy(&read.collect::<Vec<_>>());
        if let Some(accuracy) = accuracy {
            metrics.set("referee/held_out_accuracy", accuracy);
        }
        if let Some(mixed) = &mut self.mixed {
            mixed.schedule.observe(accuracy);
        }
        Ok(())
    }

    /// One reply to each item by whoever judges, as texts; nothing of it is trained on.
    fn replies(&self, items: &[Item], (seed, temperature): (u64, f32)) -> Result<Vec<String>> {
        let mut orders = Vec::with_capacity(items.len());
        for item in items {
            orders.push(Order {
                prompt: self.actor.prompt(item)?,
                adapter: self.adapter(item.role),
                stream: orders.len() as u64,
                partial: Vec::new(),
                most: None,
            });
        }
        let how = How { seed, max_tokens: self.config.max_tokens, temperature };
        let samples = self.actor.sample(&orders, how)?;
        samples.iter().map(|sample| self.actor.text(&sample.tokens)).collect()
    }

    /// Rewards of what no scorer judges: a referee's replies by the ranks that are known, answers to
    /// open instructions by listwise calls of the model itself, whose tokens teach nothing.
    pub(super) fn reward_mixed(
        &self,
        groups: &mut [Group],
        step: &Step<'_>,
        metrics: &mut Metrics,
    ) -> Result<()> {
        let Some(mixed) = &self.mixed else {
            return Ok(());
        };
        let referee = &mixed.config.referee;
        let mut open: Vec<(&mut Group, Vec<Call>)> = Vec::new();
        for group in groups.iter_mut().filter(|group| &*group.item.scorer == urpo::SCORER) {
            if group.item.role == Role::Referee {
                for rollout in &mut group.rollouts {
                    rollout.reward = urpo::reward(&group.item, &rollout.text, referee);
                }
            } else {
                let calls = urpo::calls(group, referee, &mixed.templates, at(step))?;
                open.push((group, calls));
            }
        }
        let asked: Vec<Item> =
            open.iter().flat_map(|(_, calls)| calls.iter().map(|call| call.item.clone())).collect();
        let seed = decision(step.seed, "urpo replies", &[step.step]).next_u64();
        let mut texts = self.replies(&asked, (seed, 1.0))?.into_iter();
        for (group, calls) in open {
            let texts: Vec<String> = texts.by_ref().take(calls.len()).collect();
            let replies = calls.iter().zip(texts.iter().map(String::as_str));
            let replies: Vec<(&Call, &str)> = replies.collect();
            apply(group, &urpo::self_rewards(&replies, group.rollouts.len(), referee), metrics);
        }
        Ok(())
    }
}

/// The rewards that calls gave; where they gave none the answers have none.
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

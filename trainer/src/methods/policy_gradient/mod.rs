//! Policy gradients on rollouts: solve, be judged, learn; and, where a run asks for it, learn to judge
//! from the same rollouts.
//!
//! A step has one period or two. In the first the model solves problems. What it wrote may become
//! judging and reflection items ([`crate::recycle::spark`]), which the second period answers, judged
//! by the same scorers and trained by the same loss.

mod config;
mod learn;
mod roll;

use std::sync::Arc;

use crate::error::{Result, TrainError};
use crate::item::{Group, Item};
use crate::metrics::Metrics;
use crate::policy::Gradients;
use crate::recycle::{At, Cache, Spark, Templates};
use crate::rollout::{Actor, Judge};
use crate::run::{Row, Rows};

pub use config::{Overlong, PolicyGradientConfig, SparkSection, ZeroVariance};

use super::{Step, wrong_kind};

/// Takes a step of the optimiser with these gradients, and gives their norm.
pub type Apply<'a> = dyn FnMut(&mut Gradients) -> Result<f64> + 'a;

/// The state of a run of policy gradients.
#[derive(Debug)]
pub struct PolicyGradient {
    config: PolicyGradientConfig,
    actor: Actor,
    judge: Judge,
    spark: Option<Spark>,
    cache: Cache,
    /// Steps that left nothing to learn from, one after the other.
    barren: u64,
    /// Rows that were taken from the data, over all steps.
    taken: u64,
}

/// What of it a checkpoint holds.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyGradientState {
    cache: Cache,
    barren: u64,
    taken: u64,
}

impl PolicyGradient {
    /// Over a served policy.
    ///
    /// # Errors
    /// Options without meaning.
    pub fn new(config: PolicyGradientConfig, actor: Actor, judge: Judge) -> Result<PolicyGradient> {
        let spark = match &config.spark {
            None => None,
            Some(section) => Some(Spark::new(
                section.options.clone(),
                Templates::built_in(&section.templates)?,
            )?),
        };
        let batch = config.spark.as_ref().and_then(|section| section.batch);
        Ok(PolicyGradient {
            cache: Cache::new(batch.unwrap_or(config.prompts)),
            config,
            actor,
            judge,
            spark,
            barren: 0,
            taken: 0,
        })
    }

    /// Its engine.
    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// The adapter that solves, where it is not the model itself.
    pub fn player(&self) -> Option<Arc<str>> {
        self.config.adapter.as_deref().map(Into::into)
    }

    /// Its scorers.
    pub fn judge(&self) -> &Judge {
        &self.judge
    }

    /// What a checkpoint holds.
    pub fn state(&self) -> PolicyGradientState {
        PolicyGradientState {
            cache: self.cache.clone(),
            barren: self.barren,
            taken: self.taken,
        }
    }

    /// Goes on from a checkpoint.
    pub fn restore(&mut self, state: PolicyGradientState) {
        self.cache = state.cache;
        self.barren = state.barren;
        self.taken = state.taken;
    }

    /// One step: the player's period, and the judge's where one is due.
    ///
    /// # Errors
    /// [`TrainError::Stuck`] after too many steps without anything to learn from.
    pub fn step(
        &mut self,
        step: &Step<'_>,
        rows: &mut Rows,
        apply: &mut Apply<'_>,
    ) -> Result<Metrics> {
        let mut metrics = Metrics::default();
        let groups = self.solve(step, rows, &mut metrics)?;
        let learned = learn::learn(&self.config, step, &groups, apply)?;
        metrics.extend("", &learned);
        self.count_barren(learned.get("tokens").is_none(), step.step)?;
        if let Some(spark) = &self.spark {
            let at = At {
                seed: step.seed,
                step: step.step,
            };
            let groups: Vec<Group> = groups.iter().map(|rolled| rolled.group.clone()).collect();
            let recycled = spark.recycle(&groups, at, None);
            metrics.add_all("spark/", &recycled.counts);
            self.cache.end_of_normal_step(recycled.items);
            metrics.set("spark/waiting", self.cache.len() as f64);
            if let Some(items) = self.cache.take() {
                let groups = self.roll(step, &items, Period::Judge, &mut metrics)?;
                let learned = learn::learn(&self.config, step, &groups, apply)?;
                metrics.extend("judge/", &learned);
            }
        }
        Ok(metrics)
    }

    /// Groups of the player, drawn again until enough of them have something to teach.
    fn solve(
        &mut self,
        step: &Step<'_>,
        rows: &mut Rows,
        metrics: &mut Metrics,
    ) -> Result<Vec<roll::Rolled>> {
        let mut groups: Vec<roll::Rolled> = Vec::new();
        for round in 0..=self.config.resample {
            let wanted = self.config.prompts - groups.len();
            let items = self.problems(rows, wanted)?;
            groups.extend(self.roll(step, &items, Period::Player(round), metrics)?);
            if groups.len() >= self.config.prompts {
                break;
            }
        }
        Ok(groups)
    }

    fn problems(&mut self, rows: &mut Rows, n: usize) -> Result<Vec<Item>> {
        let first = self.taken;
        self.taken += n as u64;
        let rows = rows.take(first, n)?.into_iter();
        rows.map(|row| match row {
            Row::Problem(item) => Ok(item),
            Row::Supervised(_) | Row::Preference(_) | Row::Process(_) | Row::Written(_) => {
                Err(wrong_kind(&row, "problem"))
            }
        })
        .collect()
    }

    fn count_barren(&mut self, barren: bool, step: u64) -> Result<()> {
        self.barren = if barren { self.barren + 1 } else { 0 };
        if self.config.stuck_after > 0 && self.barren >= self.config.stuck_after {
            return Err(TrainError::Stuck(format!(
                "step {step}: for {} steps all answers to a problem have had the same reward, so \
                 there is nothing to learn from. Choose problems that the model solves sometimes, \
                 or `zero_variance = \"keep\"` with a divergence from the reference",
                self.barren
            )));
        }
        Ok(())
    }
}

/// Which period of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Period {
    /// The player's, and how often problems were drawn for it before.
    Player(usize),
    /// The judge's.
    Judge,
}

impl Period {
    fn number(self) -> u64 {
        match self {
            Period::Judge => 0,
            Period::Player(round) => round as u64 + 1,
        }
    }

    fn prefix(self) -> &'static str {
        match self {
            Period::Judge => "judge/",
            Period::Player(_) => "",
        }
    }
}

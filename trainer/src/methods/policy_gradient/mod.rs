//! Policy gradients on rollouts: solve, be judged, learn; and, where a run asks for it, learn to judge
//! from the same rollouts.
//!
//! A step has one period or two. In the first the model solves problems. What it wrote may become
//! judging and reflection items ([`crate::recycle::spark`]), which the second period answers, judged
//! by the same scorers and trained by the same loss.

mod choose;
mod config;
mod learn;
mod process;
mod roll;

use std::sync::Arc;

use crate::curriculum::fill::Next;
use crate::curriculum::{Fill, FillConfig, StuckRule};
use crate::error::{Result, TrainError};
use crate::item::Item;
use crate::metrics::Metrics;
use crate::policy::Gradients;
use crate::recycle::{At, Cache, Spark, Templates};
use crate::rollout::{Actor, Judge};
use crate::run::{Row, Rows};

use choose::{Problems, ProblemsState};
use roll::Rolls;

pub use config::{Overlong, PolicyGradientConfig, SparkSection};

use super::{Step, wrong_kind};

/// Takes a step of the optimiser with these gradients, and gives their norm.
pub type Apply<'a> = dyn FnMut(&mut Gradients) -> Result<f64> + 'a;

/// A step that samples once and takes what comes.
const ONCE: FillConfig = FillConfig {
    rounds: 1,
    groups: None,
    shortfall: crate::curriculum::fill::Shortfall::Train,
};

/// The state of a run of policy gradients.
#[derive(Debug)]
pub struct PolicyGradient {
    config: PolicyGradientConfig,
    actor: Actor,
    judge: Judge,
    problems: Problems,
    stuck: StuckRule,
    spark: Option<Spark>,
    cache: Cache,
}

/// What of it a checkpoint holds.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyGradientState {
    problems: ProblemsState,
    stuck: StuckRule,
    cache: Cache,
}

impl PolicyGradient {
    /// Over a served policy and the rows of a run.
    ///
    /// # Errors
    /// Options without meaning, and rows that are no problems.
    pub fn new(
        config: PolicyGradientConfig,
        actor: Actor,
        judge: Judge,
        rows: &Rows,
        seed: u64,
    ) -> Result<PolicyGradient> {
        let spark = match &config.spark {
            None => None,
            Some(section) => Some(Spark::new(
                section.options.clone(),
                Templates::built_in(&section.templates)?,
            )?),
        };
        let batch = config.spark.as_ref().and_then(|section| section.batch);
        let items = problems(rows)?;
        for item in &items {
            judge.scorer(&item.scorer)?;
        }
        Ok(PolicyGradient {
            problems: Problems::new(config.curriculum.clone(), items, seed)?,
            stuck: StuckRule::new(config.stuck_after),
            cache: Cache::new(batch.unwrap_or(config.prompts)),
            config,
            actor,
            judge,
            spark,
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
            problems: self.problems.state(),
            stuck: self.stuck,
            cache: self.cache.clone(),
        }
    }

    /// Goes on from a checkpoint.
    ///
    /// # Errors
    /// A checkpoint of other problems.
    pub fn restore(&mut self, state: PolicyGradientState) -> Result<()> {
        self.problems.restore(state.problems)?;
        self.stuck = state.stuck;
        self.cache = state.cache;
        Ok(())
    }

    /// One step: the player's period, and the judge's where one is due.
    ///
    /// # Errors
    /// [`TrainError::Stuck`] after too many steps without anything to learn from.
    pub fn step(&mut self, step: &Step<'_>, apply: &mut Apply<'_>) -> Result<Metrics> {
        let mut metrics = Metrics::default();
        if self.problems.begins_episode() {
            self.cache.begin_episode();
        }
        let solved = self.solve(step, &mut metrics)?;
        self.problems.observe(&solved.all)?;
        self.problems.report(&mut metrics);
        let learned = learn::learn(&self.config, step, &solved.teaching, apply)?;
        metrics.extend("", &learned);
        self.stuck.observe(&solved.counts)?;
        self.recycle(step, &solved, apply, &mut metrics)?;
        Ok(metrics)
    }

    /// The judge's period: items of the step's answers, and what waits of earlier ones.
    fn recycle(
        &mut self,
        step: &Step<'_>,
        solved: &Rolls,
        apply: &mut Apply<'_>,
        metrics: &mut Metrics,
    ) -> Result<()> {
        let Some(spark) = &self.spark else {
            return Ok(());
        };
        let recycled = spark.recycle(&solved.all, at(step), None);
        metrics.add_all("spark/", &recycled.counts);
        self.cache.end_of_normal_step(recycled.items);
        metrics.set("spark/waiting", self.cache.len() as f64);
        if let Some(items) = self.cache.take() {
            let rolls = self.roll(step, &items, Period::Judge, metrics)?;
            let learned = learn::learn(&self.config, step, &rolls.teaching, apply)?;
            metrics.extend("judge/", &learned);
        }
        Ok(())
    }

    /// Groups of the player, drawn again until enough of them are worth training on.
    fn solve(&mut self, step: &Step<'_>, metrics: &mut Metrics) -> Result<Rolls> {
        let mut fill = Fill::new(self.config.fill.unwrap_or(ONCE), self.config.prompts)?;
        let mut solved = Rolls::default();
        loop {
            match fill.next()? {
                Next::Sample(n) => {
                    let items = self.problems.draw(n)?;
                    let period = Period::Player(fill.rounds());
                    let rolls = self.roll(step, &items, period, metrics)?;
                    fill.add(rolls.teaching.len());
                    solved.extend(rolls);
                }
                Next::Train(n) => {
                    solved.teaching.truncate(n);
                    metrics.set("groups/surplus", fill.surplus() as f64);
                    metrics.set("rollout/rounds", f64::from(fill.rounds()));
                    return Ok(solved);
                }
            }
        }
    }
}

/// The problems among the rows of a run, which are all of them.
fn problems(rows: &Rows) -> Result<Vec<Item>> {
    let Rows::Stored { rows, .. } = rows else {
        return Err(TrainError::Invalid(
            "the method needs problem rows, and a mixture has texts to write".to_owned(),
        ));
    };
    let item = |row: &Row| match row {
        Row::Problem(item) => Ok(item.clone()),
        Row::Supervised(_) | Row::Preference(_) | Row::Process(_) | Row::Written(_) => {
            Err(wrong_kind(row, "problem"))
        }
    };
    rows.iter().map(item).collect()
}

fn at(step: &Step<'_>) -> At {
    At {
        seed: step.seed,
        step: step.step,
    }
}

/// Which period of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Period {
    /// The player's, and how often problems were drawn for it before.
    Player(u32),
    /// The judge's.
    Judge,
}

impl Period {
    fn number(self) -> u64 {
        match self {
            Period::Judge => 0,
            Period::Player(round) => u64::from(round) + 1,
        }
    }

    fn prefix(self) -> &'static str {
        match self {
            Period::Judge => "judge/",
            Period::Player(_) => "",
        }
    }
}

//! Policy gradients on rollouts: solve, be judged, learn; and, where a run asks for it, learn to judge
//! from the same rollouts.
//!
//! A step has one period or two. In the first the model solves problems. What it wrote may become
//! judging and reflection items ([`crate::recycle::spark`]), which the second period answers, judged
//! by the same scorers and trained by the same loss: in a step of the optimiser of its own, or in one
//! with the player's ([`Update`]).

mod choose;
mod config;
mod labels;
mod learn;
mod mixed;
mod own;
mod partial;
mod period;
mod process;
mod roll;
mod vote;

use std::sync::Arc;

use crate::curriculum::fill::Next;
use crate::curriculum::{Fill, FillConfig, StuckRule};
use crate::data::{Ranked, Row, Rows};
use crate::error::{Result, TrainError};
use crate::item::Item;
use crate::metrics::Metrics;
use crate::policy::Gradients;
use crate::recycle::crl::Crl;
use crate::recycle::guard::GapStop;
use crate::recycle::{At, Cache, Reservoir, Spark, Templates};
use crate::rollout::{Actor, Judge};

use choose::{Problems, ProblemsState};
use mixed::{Mixed, MixedState};
use partial::{Ahead, AheadState};
use roll::{Rolled, Rolls};

pub use config::{CrlSection, Overlong, PolicyGradientConfig, SparkSection};
pub use labels::Teach;
pub use mixed::UrpoSection;
pub use own::GuardSection;
pub use partial::PartialSection;
pub use period::Update;

use super::{Step, wrong_kind};

/// Takes a step of the optimiser with these gradients, and gives their norm.
pub type Apply<'a> = dyn FnMut(&mut Gradients) -> Result<f64> + 'a;

/// A step that samples once and takes what comes.
const ONCE: FillConfig =
    FillConfig { rounds: 1, groups: None, shortfall: crate::curriculum::fill::Shortfall::Train };

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
    crl: Option<Crl>,
    reservoir: Reservoir,
    mixed: Option<Mixed>,
    ahead: Option<Ahead>,
    gap: Option<GapStop>,
}

/// What of it a checkpoint holds.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyGradientState {
    problems: ProblemsState,
    stuck: StuckRule,
    cache: Cache,
    reservoir: Reservoir,
    mixed: Option<MixedState>,
    ahead: Option<AheadState>,
    gap: Option<GapStop>,
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
            Some(section) => {
                let templates = Templates::built_in(&section.templates)?;
                section.teach.check(&templates)?;
                Some(Spark::new(section.options.clone(), templates)?)
            }
        };
        let batch = config.spark.as_ref().and_then(|section| section.batch);
        let crl = match &config.crl {
            None => None,
            Some(section) => {
                Some(Crl::new(section.options.clone(), Templates::built_in(&section.templates)?)?)
            }
        };
        let kinds = Kinds::of(rows, config.urpo.is_some())?;
        for item in &kinds.problems {
            judge.scorer(verifier(&config, item))?;
        }
        let urpo = config.urpo.clone();
        let mixed = urpo.map(|section| Mixed::new(section, kinds.ranked, kinds.open, seed));
        let ahead = config.partial.map(|section| Ahead::new(section, config.prompts));
        Ok(PolicyGradient {
            problems: Problems::new(config.curriculum.clone(), kinds.problems, seed)?,
            stuck: StuckRule::new(config.stuck_after),
            cache: Cache::new(batch.unwrap_or(config.prompts)),
            reservoir: Reservoir::new(config.reservoir, seed),
            gap: own::stop(config.guard.as_ref())?,
            mixed: mixed.transpose()?,
            ahead: ahead.transpose()?,
            crl,
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
            reservoir: self.reservoir.clone(),
            mixed: self.mixed.as_ref().map(Mixed::state),
            ahead: self.ahead.as_ref().map(|ahead| ahead.state(self.revision())),
            gap: self.gap,
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
        self.reservoir = state.reservoir;
        self.gap = state.gap;
        if let (Some(mixed), Some(state)) = (&mut self.mixed, state.mixed) {
            mixed.restore(state)?;
        }
        let revision = self.revision();
        if let (Some(ahead), Some(state)) = (&mut self.ahead, state.ahead) {
            ahead.restore(state, revision);
        }
        Ok(())
    }

    /// The revision of the weights that are served.
    fn revision(&self) -> u64 {
        self.actor.host().engine.revision()
    }

    /// One step: the player's period, and the judge's where one is due. A step that failed before
    /// it changed the weights has drawn no problem and taught no judge: it can be taken again.
    ///
    /// # Errors
    /// [`TrainError::Stuck`] after too many steps without anything to learn from.
    pub fn step(&mut self, step: &Step<'_>, apply: &mut Apply<'_>) -> Result<Metrics> {
        let before = self.state();
        let mut changed = false;
        let mut apply = |gradients: &mut Gradients| {
            let norm = apply(gradients)?;
            changed = true;
            Ok(norm)
        };
        let stepped = self.periods(step, &mut apply);
        if stepped.is_err() && !changed {
            self.restore(before)?;
        }
        stepped
    }

    fn periods(&mut self, step: &Step<'_>, apply: &mut Apply<'_>) -> Result<Metrics> {
        let mut metrics = Metrics::default();
        if self.problems.begins_episode() {
            self.cache.begin_episode();
        }
        self.measure_referee(step, &mut metrics)?;
        let prompts = self.config.prompts;
        let kinds = self.mixed.as_ref().map(|mixed| mixed.kinds(step.step, prompts));
        let verifiable = kinds.map_or(prompts, |kinds| kinds.verifiable);
        let mut solved = self.solve(step, verifiable, &mut metrics)?;
        self.problems.observe(&solved.all)?;
        self.problems.report(&mut metrics);
        let mut audits = solved.all.clone();
        self.forget_own(&mut solved.all)?;
        let mut batch = std::mem::take(&mut solved.teaching);
        batch.extend(self.criticise(step, &solved, batch.len(), &mut metrics)?);
        let mut counts = solved.counts;
        if let Some(mixed) = &mut self.mixed
            && let Some(kinds) = kinds
        {
            metrics.add_all("urpo/", &kinds);
            let (referee, open) = mixed.draw(kinds, at(step))?;
            for (items, period) in [(referee, Period::Referee), (open, Period::Open)] {
                let rolls = self.roll(step, &items, period, &mut metrics)?;
                batch.extend(rolls.teaching);
                counts.add(rolls.counts);
                audits.extend(rolls.all);
            }
        }
        self.audit(&audits, step, &mut metrics)?;
        let items = self.recycle(step, &solved, &mut metrics);
        let mut labels = Vec::new();
        if self.update() == Update::Joint {
            labels = self.beside(step, &items, &mut batch, &mut metrics)?;
        }
        let lesson = learn::Lesson { groups: &batch, labels: &labels };
        let learned = learn::learn(&self.config, step, &lesson, apply)?;
        metrics.extend("", &learned);
        if let Some(ahead) = &mut self.ahead {
            ahead.updated();
        }
        self.stuck.observe(&counts)?;
        if self.update() == Update::Own {
            self.judge_period(step, &items, apply, &mut metrics)?;
        }
        self.reservoir.observe(&solved.all);
        Ok(metrics)
    }

    /// CRL's critiques of the step's answers, which stand in one batch with the `beside` groups of
    /// the player.
    fn criticise(
        &self,
        step: &Step<'_>,
        solved: &Rolls,
        beside: usize,
        metrics: &mut Metrics,
    ) -> Result<Vec<Rolled>> {
        let Some(crl) = &self.crl else {
            return Ok(Vec::new());
        };
        let count = crl.beside(beside);
        let (items, counts) = crl.draw(&solved.all, count, at(step), self.old());
        metrics.add_all("crl/", &counts);
        Ok(self.roll(step, &items, Period::Critic, metrics)?.teaching)
    }

    /// Old mistakes, where they are kept.
    fn old(&self) -> Option<&Reservoir> {
        Some(&self.reservoir).filter(|_| self.config.reservoir > 0)
    }

    /// Groups of the player, drawn again until enough of them are worth training on.
    fn solve(&mut self, step: &Step<'_>, want: usize, metrics: &mut Metrics) -> Result<Rolls> {
        let mut solved = Rolls::default();
        if want == 0 {
            return Ok(solved);
        }
        let mut fill = Fill::new(self.config.fill.unwrap_or(ONCE), want)?;
        loop {
            match fill.next()? {
                Next::Sample(n) => {
                    let period = Period::Player(fill.rounds());
                    let rolls = if self.ahead.is_some() {
                        self.roll_ahead(step, n, period, metrics)?
                    } else {
                        let items = self.problems.draw(n)?;
                        self.roll(step, &items, period, metrics)?
                    };
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

/// The scorer of `rubrics` that judges answers to an item; after a vote it is the run's own.
fn verifier<'a>(config: &'a PolicyGradientConfig, item: &'a Item) -> &'a str {
    match &*item.scorer {
        vote::SCORER => config.scorer.as_deref().unwrap_or("math"),
        scorer => scorer,
    }
}

/// The rows of a run by their kinds.
#[derive(Debug, Default)]
struct Kinds {
    problems: Vec<Item>,
    ranked: Vec<Ranked>,
    open: Vec<Item>,
}

impl Kinds {
    /// All rows; those that are no problems only where the run mixes kinds.
    fn of(rows: &Rows, mixes: bool) -> Result<Kinds> {
        let Rows::Stored { rows, .. } = rows else {
            return Err(TrainError::Invalid(
                "the method needs problem rows, and a mixture has texts to write".to_owned(),
            ));
        };
        let mut kinds = Kinds::default();
        for row in rows {
            match row {
                Row::Problem(item) => kinds.problems.push(item.clone()),
                Row::Ranked(ranked) if mixes => kinds.ranked.push(ranked.clone()),
                Row::Preference(pair) if mixes => kinds.ranked.push(Ranked {
                    problem: pair.turns.last().map_or("", |turn| &turn.content).to_owned(),
                    candidates: vec![pair.chosen.clone(), pair.rejected.clone()],
                    ranks: vec![1.0, 2.0],
                }),
                Row::Open(item) if mixes => kinds.open.push(item.clone()),
                Row::Supervised(_)
                | Row::Preference(_)
                | Row::Process(_)
                | Row::Tokenized(_)
                | Row::Ranked(_)
                | Row::Open(_) => return Err(wrong_kind(row, "problem")),
            }
        }
        Ok(kinds)
    }
}

fn at(step: &Step<'_>) -> At {
    At { seed: step.seed, step: step.step }
}

/// Which period of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Period {
    /// The player's, and how often problems were drawn for it before.
    Player(u32),
    /// The judge's.
    Judge,
    /// Critiques beside the player's answers.
    Critic,
    /// Ranked rows beside them.
    Referee,
    /// Open rows beside them.
    Open,
}

impl Period {
    fn number(self) -> u64 {
        match self {
            Period::Judge => 0,
            Period::Critic => u64::MAX,
            Period::Referee => u64::MAX - 1,
            Period::Open => u64::MAX - 2,
            Period::Player(round) => u64::from(round) + 1,
        }
    }

    fn prefix(self) -> &'static str {
        match self {
            Period::Judge => "judge/",
            Period::Critic => "crl/",
            Period::Referee => "referee/",
            Period::Open => "open/",
            Period::Player(_) => "",
        }
    }
}

//! Curricula: the choice of the next problems and of the groups worth a gradient.
//!
//! [`Curriculum`] draws problems: uniformly, by the learnability of their categories (DUMP, SEC),
//! or by a value model's estimate of their difficulty (PCL). [`keep`] filters groups by their
//! rewards: a difficulty band (ODF), or any difference (DAPO); [`fill`] samples until a batch is
//! full. All state is plain data, and a resumed run draws the problems of an uninterrupted one.

mod arms;
pub mod fill;
pub mod keep;
pub mod pcl;
mod pool;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use base::stats::softmax_with_temperature;
use serde::{Deserialize, Serialize};

use crate::error::{Result, TrainError};
use arms::Arm;
use base::seeded::decision;
pub use fill::{DiscardRate, Fill, FillConfig};
pub use keep::{Fate, Keep, KeepCounts, NoProgressRule};
use pool::PoolPosition;

/// The choice of problems.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case", tag = "kind")]
pub enum CurriculumConfig {
    /// All problems in a new random order in each pass.
    #[default]
    Uniform,
    /// A fixed share of each batch for each category, each in a random order of its own.
    Shares {
        /// The share of each category; they add up to 1.
        shares: BTreeMap<String, f64>,
    },
    /// DUMP (arXiv 2504.09710, the id is unconfirmed): categories by an upper confidence bound of
    /// their mean absolute advantage.
    Dump {
        /// Advantages that the mean is over: the last 300 of a category, as in the authors' code.
        #[serde(default = "default_window")]
        window: usize,
        /// Temperature of the softmax over bounds: 0.1, as in the authors' code.
        #[serde(default = "default_dump_temperature")]
        temperature: f64,
    },
    /// SEC (arXiv 2505.14970): categories by a running estimate of their mean absolute advantage.
    Sec {
        /// Weight of the newest batch in the estimate: 0.1, from a re-implementation.
        #[serde(default = "default_rate")]
        rate: f64,
        /// Temperature of the softmax over estimates: 1, from a re-implementation.
        #[serde(default = "default_sec_temperature")]
        temperature: f64,
    },
    /// PCL (arXiv 2510.01135): of several times as many candidates, those that a value model finds
    /// nearest to the target ([`pcl`]).
    Pcl {
        /// The expected reward with the best learning signal: 0.5, as reported.
        #[serde(default = "default_target")]
        target: f64,
        /// Candidates per drawn problem: 4, as reported.
        #[serde(default = "default_candidates")]
        candidates: usize,
        /// The value model; `None` takes the last mean reward of a problem, and for one that was never
        /// sampled the mean of the others.
        #[serde(default)]
        value: Option<ProblemValueSection>,
    },
}

/// The value model of PCL, from the policy's model with a score head of zeros.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProblemValueSection {
    /// Its learning rate.
    pub rate: f64,
}

fn default_window() -> usize {
    300
}

fn default_dump_temperature() -> f64 {
    0.1
}

fn default_rate() -> f64 {
    0.1
}

fn default_sec_temperature() -> f64 {
    1.0
}

fn default_target() -> f64 {
    0.5
}

fn default_candidates() -> usize {
    4
}

impl CurriculumConfig {
    /// Checks the options.
    ///
    /// # Errors
    /// One that is out of its range.
    pub fn check(&self) -> Result<()> {
        let positive = |value: f64| value > 0.0 && value.is_finite();
        let problem = match self {
            Self::Dump { window: 0, .. } => "a window holds at least one advantage",
            Self::Dump { temperature, .. } | Self::Sec { temperature, .. }
                if !positive(*temperature) =>
            {
                "a temperature is above 0"
            }
            Self::Sec { rate, .. } if !positive(*rate) || *rate > 1.0 => {
                "a rate is above 0 and at most 1"
            }
            Self::Pcl { candidates: 0, .. } => "there is at least one candidate a problem",
            Self::Pcl { target, .. } if !target.is_finite() => "a target is finite",
            Self::Pcl { value: Some(own), .. } if !positive(own.rate) => {
                "the `rate` of a value model is a positive number"
            }
            Self::Shares { shares }
                if shares.values().any(|share| !positive(*share))
                    || (shares.values().sum::<f64>() - 1.0).abs() > 1e-6 =>
            {
                "`shares` are above 0 and add up to 1"
            }
            Self::Uniform
            | Self::Shares { .. }
            | Self::Dump { .. }
            | Self::Sec { .. }
            | Self::Pcl { .. } => {
                return Ok(());
            }
        };
        Err(TrainError::Invalid(format!("curriculum: {problem}")))
    }

    /// Whether problems are chosen by category.
    fn by_category(&self) -> bool {
        match self {
            Self::Uniform | Self::Pcl { .. } => false,
            Self::Shares { .. } | Self::Dump { .. } | Self::Sec { .. } => true,
        }
    }
}

/// Draws problems.
#[derive(Clone, Debug)]
pub struct Curriculum {
    config: CurriculumConfig,
    seed: u64,
    drawn: u64,
    problems: u64,
    arms: BTreeMap<String, Arm>,
}

/// The state of a curriculum for checkpoints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CurriculumState {
    drawn: u64,
    arms: BTreeMap<String, ArmState>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ArmState {
    problems: u64,
    place: PoolPosition,
    #[serde(with = "crate::float_bits::list")]
    window: Vec<f64>,
    seen: u64,
    #[serde(with = "crate::float_bits")]
    estimate: f64,
}

/// The advantages of one group of rollouts, which measure how far its rewards differ.
#[derive(Clone, Copy, Debug)]
pub struct GroupAdvantages<'a> {
    /// The problem's category.
    pub category: Option<&'a str>,
    /// The advantages of its rollouts.
    pub advantages: &'a [f64],
}

/// The category of problems without one, and of all problems if categories are not used.
const ALL: &str = "";

impl Curriculum {
    /// Draws from `problems`, each an index of the data with its category.
    ///
    /// # Errors
    /// No problem, or options out of range.
    pub fn new<'a>(
        config: CurriculumConfig,
        problems: impl IntoIterator<Item = (u64, Option<&'a str>)>,
        seed: u64,
    ) -> Result<Self> {
        config.check()?;
        let mut members: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for (index, category) in problems {
            let category = category.filter(|_| config.by_category()).unwrap_or(ALL);
            members.entry(category.to_owned()).or_default().push(index);
        }
        if members.is_empty() {
            return Err(TrainError::Invalid("there are no problems".to_owned()));
        }
        if let CurriculumConfig::Shares { shares } = &config
            && !shares.keys().eq(members.keys())
        {
            return Err(TrainError::Invalid(format!(
                "curriculum: the categories of `shares` are {:?}, and those of the problems {:?}",
                shares.keys().collect::<Vec<_>>(),
                members.keys().collect::<Vec<_>>()
            )));
        }
        let problems = members.values().map(|of| of.len() as u64).sum();
        let arms = members.into_iter().map(|(name, members)| {
            let arm = Arm::new(&name, members, seed);
            (name, arm)
        });
        Ok(Self { config, seed, drawn: 0, problems, arms: arms.collect() })
    }

    /// Draws the next `count` problems. Only PCL calls `value`, the expected reward of each given
    /// problem.
    ///
    /// # Errors
    /// Errors of `value`, and values that are not finite or not one for each.
    pub fn draw(
        &mut self,
        count: usize,
        mut value: impl FnMut(&[u64]) -> Result<Vec<f64>>,
    ) -> Result<Vec<u64>> {
        match &self.config {
            CurriculumConfig::Shares { .. } => {
                Ok((0..count).map(|_| self.next_by_share()).collect())
            }
            CurriculumConfig::Uniform
            | CurriculumConfig::Dump { .. }
            | CurriculumConfig::Sec { .. } => {
                let weights: Vec<f64> = self.weights().into_iter().map(|(_, w)| w).collect();
                Ok((0..count).map(|_| self.next(&weights)).collect())
            }
            CurriculumConfig::Pcl { target, candidates, .. } => {
                let (target, candidates) = (*target, *candidates);
                let before = self.state();
                let wanted = count.saturating_mul(candidates);
                let candidates: Vec<u64> = (0..wanted).map(|_| self.next(&[1.0])).collect();
                let chosen = value(&candidates)
                    .and_then(|values| pcl::nearest(&candidates, &values, target, count));
                if chosen.is_err() {
                    self.resume(before).expect("its own state is of its own problems");
                }
                chosen
            }
        }
    }

    /// Updates the statistics with the advantages of a batch. Groups in unknown categories are
    /// skipped, and all groups if categories are not used.
    ///
    /// # Errors
    /// An advantage that is not finite; nothing is changed then.
    pub fn observe(&mut self, groups: &[GroupAdvantages<'_>]) -> Result<()> {
        let advantages = groups.iter().flat_map(|group| group.advantages);
        if advantages.clone().any(|advantage| !advantage.is_finite()) {
            return Err(TrainError::Invalid("curriculum: an advantage is not finite".to_owned()));
        }
        for (name, arm) in &mut self.arms {
            let own = groups.iter().filter(|l| l.category.unwrap_or(ALL) == name);
            let sizes = own.flat_map(|group| group.advantages).map(|a| a.abs());
            let sizes: Vec<f64> = sizes.collect();
            match self.config {
                CurriculumConfig::Uniform
                | CurriculumConfig::Shares { .. }
                | CurriculumConfig::Pcl { .. } => {}
                CurriculumConfig::Dump { window, .. } => arm.remember(&sizes, window),
                CurriculumConfig::Sec { rate, .. } => arm.estimate(&sizes, rate),
            }
        }
        Ok(())
    }

    /// The probability of each category, by name.
    pub fn weights(&self) -> Vec<(&str, f64)> {
        let names = self.arms.keys().map(String::as_str);
        let arms: Vec<&Arm> = self.arms.values().collect();
        let weights = match &self.config {
            CurriculumConfig::Uniform | CurriculumConfig::Pcl { .. } => vec![1.0; arms.len()],
            CurriculumConfig::Shares { shares } => shares.values().copied().collect(),
            CurriculumConfig::Dump { temperature, .. } => {
                softmax_with_temperature(&arms::upper_bounds(&arms), *temperature)
            }
            CurriculumConfig::Sec { temperature, .. } => {
                let estimates: Vec<f64> = arms.iter().map(|arm| arm.estimate).collect();
                softmax_with_temperature(&estimates, *temperature)
            }
        };
        names.zip(weights).collect()
    }

    /// The pass through all problems that the next draw belongs to, from 0: the number of problems
    /// drawn over the number of problems, rounded down.
    pub fn pass(&self) -> u64 {
        self.drawn / self.problems
    }

    /// The state for a checkpoint.
    pub fn state(&self) -> CurriculumState {
        let arms = self.arms.iter().map(|(name, arm)| {
            let state = ArmState {
                problems: arm.pool.len() as u64,
                place: arm.pool.place(),
                window: arm.window.iter().copied().collect(),
                seen: arm.seen,
                estimate: arm.estimate,
            };
            (name.clone(), state)
        });
        CurriculumState { drawn: self.drawn, arms: arms.collect() }
    }

    /// Resumes from a checkpoint of the same problems, options and seed.
    ///
    /// # Errors
    /// Categories that are not those of the checkpoint, or have other numbers of problems.
    pub fn resume(&mut self, state: CurriculumState) -> Result<()> {
        let have = self.arms.iter().map(|(name, arm)| (name, arm.pool.len() as u64));
        let had = state.arms.iter().map(|(name, arm)| (name, arm.problems));
        if !have.clone().eq(had.clone()) {
            return Err(TrainError::Invalid(format!(
                "curriculum: the checkpoint was made with other problems: {:?} then, {:?} now",
                had.collect::<Vec<_>>(),
                have.collect::<Vec<_>>()
            )));
        }
        self.drawn = state.drawn;
        for (arm, state) in self.arms.values_mut().zip(state.arms.into_values()) {
            arm.pool.go_to(state.place)?;
            arm.window = state.window.into();
            arm.seen = state.seen;
            arm.estimate = state.estimate;
        }
        Ok(())
    }

    /// The next problem of the category that is furthest below its share of all that were drawn; of
    /// equal ones the first.
    fn next_by_share(&mut self) -> u64 {
        self.drawn += 1;
        let drawn = self.drawn as f64;
        let missing = |arm: &Arm, share: f64| share * drawn - arm.pool.drawn() as f64;
        let weights: Vec<f64> = self.weights().into_iter().map(|(_, share)| share).collect();
        let arms = self.arms.values_mut().zip(weights);
        let furthest = arms.reduce(|most, next| {
            if missing(next.0, next.1) > missing(most.0, most.1) + 1e-9 { next } else { most }
        });
        furthest.expect("there are problems").0.pool.next()
    }

    /// The next problem of an arm drawn by weight.
    fn next(&mut self, weights: &[f64]) -> u64 {
        let mut rng = decision(self.seed, "curriculum", &[self.drawn]);
        self.drawn += 1;
        let arm = arms::drawn(weights, &mut rng);
        let arm = self.arms.values_mut().nth(arm);
        arm.expect("there is a weight for each arm").pool.next()
    }
}

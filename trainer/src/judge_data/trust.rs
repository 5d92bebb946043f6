//! How far rewards by a judge are trusted: by how well it tells right from wrong answers to one
//! problem.
//!
//! A gate of labelled problems that are never trained on is sampled and judged every few steps. Of
//! the pairs of a right and a wrong answer to one problem, the judge orders a share correctly; `L` is
//! the lower bound of its bootstrap interval over problems, and the weight of self-given rewards is
//! `max(0, 2 L - 1)`, a bound of the judge's sensitivity and specificity less 1 (Youden's J). With a
//! J of 0 a policy drifts, and below it collapses (arXiv 2601.04411). The rule, the schedule and
//! their numbers are ours.

use rand::RngExt as _;
use rubrics::calibration::Prediction;
use serde::{Deserialize, Serialize};

use crate::error::{Result, TrainError};
use crate::figures::ordered_pairs;
use base::seeded::decision;

/// Samples of problems behind an interval.
const BOOTSTRAP: usize = 1000;

/// Options of the gate's weight.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrustConfig {
    /// Probability that the interval covers: 0.95, of which each side misses half of the rest.
    pub confidence: f64,
    /// Steps without self-given rewards at the start: 30.
    pub warmup: u64,
    /// Steps over which the weight rises after the warm-up, and each time the gate opens: 20.
    pub ramp: u64,
    /// The least difference of rewards within a group that is trained on: 0.
    pub least_range: f64,
}

impl Default for TrustConfig {
    fn default() -> Self {
        Self { confidence: 0.95, warmup: 30, ramp: 20, least_range: 0.0 }
    }
}

impl TrustConfig {
    /// Checks the ranges.
    ///
    /// # Errors
    /// The first option that is out of its range.
    pub fn check(&self) -> Result<()> {
        let problem = if !(self.confidence > 0.0 && self.confidence < 1.0) {
            "`confidence` is between 0 and 1"
        } else if !(self.least_range >= 0.0 && self.least_range.is_finite()) {
            "`least_range` is 0 or more"
        } else {
            return Ok(());
        };
        Err(TrainError::Invalid(format!("trust: {problem}")))
    }

    /// Whether the rewards of a group differ enough.
    pub fn tells_apart(&self, rewards: &[f64]) -> bool {
        let most = rewards.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let least = rewards.iter().copied().fold(f64::INFINITY, f64::min);
        most - least >= self.least_range
    }
}

/// The gate between measurements. Serialisable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trust {
    /// `max(0, 2 L - 1)` at the last measurement.
    #[serde(with = "crate::float_bits")]
    gate: f64,
    /// The step of the measurement that opened the gate.
    opened: Option<u64>,
}

impl Trust {
    /// Takes a measurement at the beginning of a step; `None`, no pair of answers, closes the gate.
    pub fn observe(&mut self, step: u64, lower_bound: Option<f64>) {
        self.gate = lower_bound.map_or(0.0, gate_weight);
        self.opened = (self.gate > 0.0).then(|| self.opened.unwrap_or(step));
    }

    /// The weight of self-given rewards in a step: the gate's, times a ramp from 0 to 1.
    pub fn weight(&self, step: u64, config: &TrustConfig) -> f64 {
        let Some(opened) = self.opened else {
            return 0.0;
        };
        let begin = opened.max(config.warmup.saturating_add(1));
        let done = (step + 1).saturating_sub(begin);
        self.gate * (done as f64 / config.ramp.max(1) as f64).min(1.0)
    }
}

/// The weight of rewards by a judge whose share of correctly ordered pairs is at least `bound`.
pub fn gate_weight(bound: f64) -> f64 {
    (2.0 * bound - 1.0).max(0.0)
}

/// The lower bound of the share of pairs of a right and a wrong answer to one problem that a judge
/// orders correctly ([`crate::figures::within_problems`]): a percentile of that share over samples,
/// with replacement, of problems that have both. `None` without such a problem.
pub fn lower_bound(groups: &[Vec<Prediction>], confidence: f64, seed: u64) -> Option<f64> {
    let mut counts: Vec<(f64, f64)> = groups.iter().map(|group| ordered_pairs(group)).collect();
    counts.retain(|(_, pairs)| *pairs > 0.0);
    if counts.is_empty() {
        return None;
    }
    let mut rng = decision(seed, "trust", &[]);
    let mut shares: Vec<f64> = (0..BOOTSTRAP)
        .map(|_| {
            let (mut above, mut all) = (0.0, 0.0);
            for _ in 0..counts.len() {
                let drawn = counts[rng.random_range(0..counts.len())];
                above += drawn.0;
                all += drawn.1;
            }
            above / all
        })
        .collect();
    shares.sort_by(f64::total_cmp);
    let missed = (1.0 - confidence) / 2.0 * BOOTSTRAP as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a place among the samples, since a confidence is between 0 and 1"
    )]
    let place = missed.floor() as usize;
    shares.get(place).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) -> bool {
        (found - expected).abs() < 1e-9
    }

    /// METHODS2 K3: the weights of four bounds.
    #[test]
    fn k3_weight_of_a_lower_bound() {
        let check = |bound: f64, expected: f64| {
            assert!(close(gate_weight(bound), expected), "{bound}");
        };
        check(0.53, 0.06);
        check(0.60, 0.20);
        check(0.65, 0.30);
        check(0.80, 0.60);
        check(0.50, 0.0);
        check(0.31, 0.0);
        check(1.0, 1.0);
    }

    #[test]
    fn weight_rises_after_the_warm_up_and_each_opening() {
        let config = TrustConfig { warmup: 4, ramp: 4, ..TrustConfig::default() };
        let mut trust = Trust::default();
        let check = |trust: &Trust, steps: std::ops::RangeInclusive<u64>, expected: &[f64]| {
            let found: Vec<f64> = steps.map(|step| trust.weight(step, &config)).collect();
            let near = found.iter().zip(expected).all(|(found, expected)| close(*found, *expected));
            assert!(near && found.len() == expected.len(), "{found:?} {expected:?}");
        };
        check(&trust, 1..=9, &[0.0; 9]);
        trust.observe(1, Some(0.9));
        check(&trust, 1..=9, &[0.0, 0.0, 0.0, 0.0, 0.2, 0.4, 0.6, 0.8, 0.8]);
        trust.observe(11, Some(0.75));
        check(&trust, 11..=12, &[0.5, 0.5]);
        trust.observe(21, Some(0.5));
        check(&trust, 21..=22, &[0.0, 0.0]);
        trust.observe(31, None);
        check(&trust, 31..=32, &[0.0, 0.0]);
        trust.observe(41, Some(1.0));
        check(&trust, 41..=45, &[0.25, 0.5, 0.75, 1.0, 1.0]);
    }

    fn group(answers: &[(f64, bool)]) -> Vec<Prediction> {
        let answer = |(probability, right): &(f64, bool)| Prediction {
            probability: *probability,
            right: *right,
        };
        answers.iter().map(answer).collect()
    }

    #[test]
    fn bound_is_below_the_share() {
        let good = group(&[(0.9, true), (0.1, false)]);
        let bad = group(&[(0.2, true), (0.6, false)]);
        let same = group(&[(0.9, true), (0.8, true)]);
        let bound = |groups: &[Vec<Prediction>]| lower_bound(groups, 0.95, 7);
        assert_eq!(bound(&[]), None);
        assert_eq!(bound(&[same.clone(), same.clone()]), None);
        assert_eq!(bound(&vec![good.clone(); 9]), Some(1.0));
        assert_eq!(bound(&vec![bad.clone(); 9]), Some(0.0));
        // 24 of 32 pairs: the percentile of a binomial share with a deviation of 0.077 is near 0.6.
        let mixed = [vec![good.clone(); 24], vec![bad; 8], vec![same; 5]].concat();
        let found = bound(&mixed).expect("pairs");
        assert!((0.53..0.66).contains(&found), "{found}");
        assert_eq!(bound(&mixed), Some(found), "it follows from the seed");
        assert!(lower_bound(&mixed, 0.5, 7) > Some(found));
    }

    #[test]
    fn equal_rewards_tell_nothing_apart() {
        let config = TrustConfig { least_range: 0.1, ..TrustConfig::default() };
        assert!(config.tells_apart(&[0.2, 0.5, 0.25]));
        assert!(!config.tells_apart(&[0.2, 0.29]));
        assert!(TrustConfig::default().tells_apart(&[0.2, 0.2]), "`keep` decides about equal ones");
        for bad in [
            TrustConfig { confidence: 1.0, ..config },
            TrustConfig { confidence: f64::NAN, ..config },
            TrustConfig { least_range: -1.0, ..config },
        ] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
    }
}

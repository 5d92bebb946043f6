//! Guards against a policy that optimises for its own judge: audits, abstention and a stop rule.

use rand::RngExt as _;
use serde::{Deserialize, Serialize};

use crate::error::{Result, TrainError};
use base::seeded::decision;

/// Mean self-given reward less mean true reward of the same answers, `(self, true)` each. It rises
/// if the policy pleases its judge instead of solving the task. `None` without answers or if a
/// number is not finite.
pub fn reward_gap(pairs: &[(f64, f64)]) -> Option<f64> {
    let sum: f64 = pairs.iter().map(|(own, truth)| own - truth).sum();
    let gap = sum / pairs.len() as f64;
    gap.is_finite().then_some(gap)
}

/// Whether a self-judged group also goes to the verifier, for the log alone. True for a `share` of
/// the groups; 0.05 is the project's rule.
pub fn audited(share: f64, seed: u64, step: u64, group: u64) -> bool {
    decision(seed, "audit", &[step, group]).random::<f64>() < share
}

/// A judge's probability as a verdict with a weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Opinion {
    /// Whether the probability is over a half: the answer counts as right.
    pub right: bool,
    /// The confidence, |2p - 1| in [0, 1]: the weight of the advantage. With the sign of `right` it
    /// is 2p - 1.
    pub weight: f64,
}

/// Converts the probability `p` that an answer is right to an opinion; `None`, an abstention, if |p
/// - 1/2| is below `tau` or exactly 0.
///
/// # Errors
/// A number that is not a probability: it is a failed measurement, not an opinion.
pub fn opinion(p: f64, tau: f64) -> Result<Option<Opinion>> {
    for (what, value) in [("probability", p), ("threshold", tau)] {
        if !(0.0..=1.0).contains(&value) {
            return Err(TrainError::Invalid(format!(
                "a judge's {what} is between 0 and 1, not {value}"
            )));
        }
    }
    let distance = (p - 0.5).abs();
    let sure = distance > 0.0 && distance >= tau;
    Ok(sure.then_some(Opinion { right: p > 0.5, weight: 2.0 * distance }))
}

/// Stops a run whose self-given rewards exceed the true ones. Serialisable.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GapStop {
    /// Gaps above this are too large. An option without a published value; 0.15 by default.
    pub limit: f64,
    /// Number in a row that ends the run; 3 by default.
    pub patience: u32,
    /// Number in a row so far.
    #[serde(default)]
    pub in_a_row: u32,
}

impl Default for GapStop {
    fn default() -> Self {
        Self { limit: 0.15, patience: 3, in_a_row: 0 }
    }
}

impl GapStop {
    /// Adds the gap of one evaluation; `None` changes nothing.
    ///
    /// # Errors
    /// [`TrainError::NoProgress`] after too many gaps in a row above the limit.
    pub fn observe(&mut self, gap: Option<f64>) -> Result<()> {
        let Some(gap) = gap else {
            return Ok(());
        };
        self.in_a_row = if gap > self.limit { self.in_a_row.saturating_add(1) } else { 0 };
        if self.in_a_row < self.patience.max(1) {
            return Ok(());
        }
        Err(TrainError::NoProgress(format!(
            "the model's rewards for itself are {gap:.3} above the true ones, more than {} for {} \
             evaluations: it is learning to please its judge. Give the judge more verified items, \
             or judge with a frozen one",
            self.limit, self.in_a_row
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gap_is_self_reward_minus_true_reward() {
        let check = |pairs: &[(f64, f64)], expected: Option<f64>| {
            let gap = reward_gap(pairs);
            let close = match (gap, expected) {
                (Some(gap), Some(expected)) => (gap - expected).abs() < 1e-12,
                (gap, expected) => gap == expected,
            };
            assert!(close, "{pairs:?} {gap:?}");
        };
        check(&[(1.0, 0.0), (1.0, 1.0)], Some(0.5));
        check(&[(0.0, 1.0)], Some(-1.0));
        check(&[], None);
        check(&[(f64::NAN, 1.0)], None);
    }

    #[test]
    fn unsure_probabilities_abstain() {
        let check = |p, tau, expected: Option<(bool, f64)>| {
            let found = opinion(p, tau).expect("probabilities");
            assert_eq!(found.map(|o| o.right), expected.map(|e| e.0), "{p} {tau}");
            if let (Some(found), Some((_, weight))) = (found, expected) {
                assert!((found.weight - weight).abs() < 1e-12, "{p} {tau}");
            }
        };
        check(0.9, 0.1, Some((true, 0.8)));
        check(0.1, 0.1, Some((false, 0.8)));
        check(1.0, 0.5, Some((true, 1.0)));
        check(0.55, 0.1, None);
        check(0.45, 0.1, None);
        check(0.5, 0.0, None);
        check(0.75, 0.25, Some((true, 0.5)));
        for (p, tau) in [(f64::NAN, 0.0), (1.5, 0.0), (-0.1, 0.0), (0.5, f64::NAN)] {
            assert!(opinion(p, tau).is_err(), "{p} {tau}");
        }
    }

    #[test]
    fn audited_share_is_repeatable() {
        let all = |share| (0..4000).filter(|g| audited(share, 3, 1, *g)).count();
        assert_eq!(all(0.0), 0);
        assert_eq!(all(1.0), 4000);
        // Six deviations of a binomial with 4000 draws of 0.05 are 83.
        assert!((117..=283).contains(&all(0.05)));
        assert_eq!(audited(0.5, 1, 2, 3), audited(0.5, 1, 2, 3));
    }

    #[test]
    fn too_large_reward_gaps_in_a_row_stop_the_run() {
        let mut stop = GapStop::default();
        let mut see = |gap| stop.observe(gap).is_ok();
        assert!(see(Some(0.2)) && see(Some(0.2)));
        assert!(see(Some(0.1)), "the row is broken");
        assert!(see(Some(0.2)) && see(None) && see(Some(0.2)));
        assert!(!see(Some(0.2)));
        let error = stop.observe(Some(0.3)).expect_err("still too large");
        assert!(matches!(error, TrainError::NoProgress(_)), "{error}");
    }
}

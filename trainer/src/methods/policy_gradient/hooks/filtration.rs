//! Policy filtration inside a run (`[method.filtration]`; PF-PPO, arXiv 2409.06957): responses are drawn
//! again, with replacement, by filters that prefer those that rewards are reliable on, before values and
//! advantages are computed.

use base::seeded::decision;
use rand::{Rng, RngExt as _};

use super::super::config::{Filter, FilterOver, FiltrationSection};
use super::super::hook::{Hook, HookContext, StepData};
use super::super::rollouts::ScoredGroup;
use crate::error::Result;
use crate::item::ItemRole;
use crate::judge_data::balance::correlation;

/// Draws the responses of a batch again.
#[derive(Debug)]
pub(in super::super) struct FiltrationHook(pub(in super::super) FiltrationSection);

/// Added to squared rewards, as in verl, so that a batch without rewards is drawn evenly.
const FLOOR: f64 = 1e-8;

impl Hook for FiltrationHook {
    fn after_scoring(&mut self, cx: &mut HookContext<'_>, data: &mut StepData) -> Result<()> {
        let groups = &mut data.batch.train_groups;
        let own = |group: &ScoredGroup| group.group.item.role == ItemRole::Policy;
        let places = groups.iter().enumerate().filter(|(_, group)| own(group));
        let rows =
            places.flat_map(|(at, group)| (0..group.rewards.len()).map(move |row| (at, row)));
        let rows: Vec<(usize, usize)> = rows.collect();
        let pools: Vec<&[(usize, usize)]> = match self.0.over {
            FilterOver::Prompt => rows.chunk_by(|a, b| a.0 == b.0).collect(),
            FilterOver::Batch => vec![&rows[..]],
        };
        let mut picked = vec![Vec::new(); groups.len()];
        for (number, pool) in (0..).zip(pools).filter(|(_, pool)| !pool.is_empty()) {
            let rewards: Vec<f64> =
                pool.iter().map(|(at, row)| groups[*at].rewards[*row]).collect();
            let weights = weights(self.0.filter, &rewards);
            let mut rng = decision(cx.step.seed, "filtration", &[cx.step.step, number]);
            for _ in 0..pool.len() {
                let (at, row) = pool[drawn(&weights, &mut rng)];
                picked[at].push(row);
            }
        }
        let mut distinct = 0;
        for (group, mut rows) in groups.iter_mut().zip(picked) {
            if own(group) {
                rows.sort_unstable();
                *group = group.picked(&rows);
                rows.dedup();
                distinct += rows.len();
            }
        }
        groups.retain(|group| !group.rewards.is_empty());
        let known = groups.iter().filter(|group| own(group)).flat_map(known);
        if let Some(r_squared) = r_squared(known) {
            cx.metrics.set("filtration/r_squared", r_squared);
        }
        cx.metrics.set("filtration/distinct", distinct as f64 / rows.len().max(1) as f64);
        Ok(())
    }
}

/// The rewards of responses of which it is known whether they are right.
fn known(group: &ScoredGroup) -> impl Iterator<Item = (f64, bool)> {
    let responses = group.rewards.iter().zip(&group.group.rollouts);
    responses.filter_map(|(reward, rollout)| Some((*reward, rollout.right?)))
}

/// R², the share of the variance of being right that a line through the rewards explains: by this,
/// measured on filtered responses, the authors choose the filter. `None` where it is undefined.
fn r_squared(responses: impl Iterator<Item = (f64, bool)>) -> Option<f64> {
    let responses = responses.map(|(reward, is_right)| (reward, f64::from(u8::from(is_right))));
    let (rewards, right): (Vec<f64>, Vec<f64>) = responses.unzip();
    Some(correlation(&rewards, &right)?.powi(2))
}

/// The probability of each response; the first of equal rewards is the best and the worst one.
fn weights(filter: Filter, rewards: &[f64]) -> Vec<f64> {
    let extreme = |sign: f64| {
        let order = |a: &usize, b: &usize| (sign * rewards[*b]).total_cmp(&(sign * rewards[*a]));
        (0..rewards.len()).min_by(order)
    };
    let (best, worst) = (extreme(1.0), extreme(-1.0));
    let others = rewards.len().saturating_sub(1).max(1) as f64;
    let weight = |(at, reward): (usize, &f64)| match filter {
        Filter::BestOfN => f64::from(u8::from(Some(at) == best)),
        Filter::BestRandom if Some(at) == best => 1.0,
        Filter::BestRandom => 1.0 / others,
        Filter::BestWorst => f64::from(u8::from(Some(at) == best || Some(at) == worst)),
        Filter::Reweight => reward * reward + FLOOR,
    };
    let weights: Vec<f64> = rewards.iter().enumerate().map(weight).collect();
    let whole: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / whole).collect()
}

/// The place of a draw by weights that add up to 1.
fn drawn(weights: &[f64], rng: &mut impl Rng) -> usize {
    let mut left: f64 = rng.random();
    for (at, weight) in weights.iter().enumerate() {
        left -= weight;
        if left < 0.0 {
            return at;
        }
    }
    // Weights that add up to a little less than 1.
    weights.iter().rposition(|weight| *weight > 0.0).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c8_filters_have_the_weights_of_the_code() {
        let check = |filter, rewards: &[f64], expected: &[f64]| {
            let got = weights(filter, rewards);
            for (got, expected) in got.iter().zip(expected) {
                assert!((got - expected).abs() < 1e-4, "{filter:?}: {got} for {expected}");
            }
        };
        let five = [0.5, 2.0, -1.0, 0.0, 1.0];
        check(Filter::BestOfN, &five, &[0.0, 1.0, 0.0, 0.0, 0.0]);
        check(Filter::BestRandom, &five, &[0.125, 0.5, 0.125, 0.125, 0.125]);
        check(Filter::BestWorst, &five, &[0.0, 0.5, 0.5, 0.0, 0.0]);
        // METHODS2 F6.
        check(Filter::Reweight, &[1.0, -2.0, 0.5, 0.0], &[0.1905, 0.7619, 0.0476, 0.0]);
        check(Filter::Reweight, &[0.0, 0.0], &[0.5, 0.5]);
        check(Filter::BestWorst, &[1.0, 1.0], &[1.0, 0.0]);
        check(Filter::BestRandom, &[1.0], &[1.0]);
    }

    #[test]
    fn r_squared_is_that_of_a_line() {
        let check = |responses: &[(f64, bool)], expected: Option<f64>| {
            let found = r_squared(responses.iter().copied());
            let is_near = |(a, b): (f64, f64)| (a - b).abs() < 1e-12;
            assert!(found.zip(expected).map_or(found == expected, is_near), "{found:?}");
        };
        // Means 2 and 1/3; sums of products 1, of squares 2 and 2/3.
        check(&[(1.0, false), (2.0, false), (3.0, true)], Some(0.75));
        check(&[(1.0, true), (0.0, false)], Some(1.0));
        check(&[(1.0, true), (1.0, false)], None);
        check(&[(1.0, true), (2.0, true)], None);
        check(&[(f64::NAN, true), (2.0, false)], None);
        check(&[], None);
    }

    #[test]
    fn draws_have_their_weights() {
        let mut rng = decision(3, "filtration", &[1]);
        let mut counts = [0; 4];
        for _ in 0..4000 {
            counts[drawn(&[0.5, 0.0, 0.3, 0.2], &mut rng)] += 1;
        }
        let near = |count: i32, share: f64| (f64::from(count) / 4000.0 - share).abs() < 0.03;
        assert!(counts[1] == 0 && near(counts[0], 0.5) && near(counts[2], 0.3), "{counts:?}");
    }
}

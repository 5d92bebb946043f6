//! What must hold for all numbers: the methods sheet's section E, as far as it is arithmetic.

use proptest::prelude::*;

use super::near;
use crate::combine::Variance::{self, Population, Unbiased};
use crate::combine::critique::{Weights, step_rewards};
use crate::combine::ensemble::{mean, uncertainty_weighted};
use crate::combine::gate::gated;
use crate::combine::group::{Normalisation, SPARK, advantages};
use crate::combine::product::r1_reward;
use crate::combine::renorm::{OutcomeAt, renorm};
use crate::combine::shaping::{Ending, Shaping, shape};

/// Scores on a coarse grid, so that equal ones happen.
fn scores(least: usize) -> impl Strategy<Value = Vec<f64>> {
    let score = (0_u32..=8).prop_map(|eighths| f64::from(eighths) / 8.0);
    prop::collection::vec(score, least..8)
}

fn shapings() -> impl Strategy<Value = Shaping> {
    let ending = || prop_oneof![Just(Ending::SuccessOnly), Just(Ending::OwnScore)];
    prop_oneof![
        Just(Shaping::Clip { eta: 0.5 }),
        ending().prop_map(|ending| Shaping::Delta { ending }),
        ending().prop_map(|ending| Shaping::ClipThenDelta { eta: 0.5, ending }),
    ]
}

fn sum(values: &[f64]) -> f64 {
    values.iter().sum()
}

/// Whether more steps may raise the sum: only where Delta's last step gets nothing and there was
/// only one step, whose score counted for nothing before.
fn has_an_unpaid_lone_step(scores: &[f64], how: Shaping) -> bool {
    let unpaid = Shaping::Delta { ending: Ending::SuccessOnly };
    scores.len() == 1 && how == unpaid
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn e4_repeating_a_right_step_cannot_raise_the_return(
        scores in scores(1), how in shapings(), at in any::<prop::sample::Index>(), times in 1_usize..6,
    ) {
        prop_assume!(!has_an_unpaid_lone_step(&scores, how));
        let at = at.index(scores.len());
        let mut repeated = scores.clone();
        repeated.splice(at..at, vec![scores[at]; times]);
        let total = |scores: &[f64]| shape(scores, how).expect("finite").iter().sum::<f64>();
        prop_assert!(total(&repeated) <= total(&scores) + 1e-12);
    }

    #[test]
    fn b1_returns_telescope(scores in scores(1)) {
        for (ending, paid) in [
            (Ending::SuccessOnly, scores.len() - 1),
            (Ending::OwnScore, scores.len()),
        ] {
            let rewards = shape(&scores, Shaping::Delta { ending }).expect("finite");
            for index in 0..rewards.len() {
                let value: f64 = rewards[index..].iter().sum();
                let expected = if index < paid { scores[index] } else { 0.0 };
                prop_assert!((value - expected).abs() < 1e-12, "{rewards:?} of {scores:?}");
            }
        }
    }

    #[test]
    fn b1_clip_rewards_are_not_positive(scores in scores(0)) {
        let rewards = shape(&scores, Shaping::Clip { eta: 0.5 }).expect("finite");
        prop_assert!(rewards.iter().all(|reward| *reward <= 0.0));
    }

    #[test]
    fn b2_pessimistic_rewards_are_at_most_the_mean(rewards in scores(2)) {
        let mean = mean(&rewards).expect("finite");
        let weighted = |how| uncertainty_weighted(&rewards, 0.5, how).expect("finite");
        prop_assert!(weighted(Population) <= mean + 1e-12);
        prop_assert!(weighted(Unbiased) <= weighted(Population) + 1e-12);
    }

    #[test]
    fn e4_empty_patch_earns_nothing(rest in scores(0)) {
        let mut rewards = vec![0.0];
        rewards.extend(&rest);
        let gates = vec![0.0; rest.len()];
        let counted = gated(&rewards, &gates).expect("finite");
        prop_assert_eq!(counted, vec![0.0; rewards.len()]);
    }

    #[test]
    fn b4_failed_episode_has_no_positive_reward(process in scores(1)) {
        let rewards = renorm(&process, 0.0, OutcomeAt::EveryStep).expect("in range");
        prop_assert!(rewards.iter().all(|reward| *reward <= 0.0));
    }

    #[test]
    fn advantages_sum_to_zero_and_keep_the_order(rewards in scores(1), how in 0_usize..4) {
        let how = [
            SPARK,
            Normalisation::Grpo { variance: Population, epsilon: 0.0 },
            Normalisation::Mean,
            Normalisation::LeaveOneOut,
        ][how];
        let values = advantages(&rewards, how).expect("finite");
        prop_assert!(sum(&values).abs() < 1e-9);
        for (a, x) in rewards.iter().zip(&values) {
            for (b, y) in rewards.iter().zip(&values) {
                prop_assert_eq!(a.total_cmp(b), x.total_cmp(y));
            }
        }
    }
}

#[test]
fn e4_consistency_alone_earns_nothing() {
    for format in [0.0, 1.0] {
        let without = r1_reward(format, 0.0, 0.0).expect("in range");
        for consistency in [-1.0, 1.0] {
            near(r1_reward(format, 0.0, consistency), without);
        }
    }
}

#[test]
fn e5_equal_rewards_have_zero_advantages() {
    let grpo = |variance| Normalisation::Grpo { variance, epsilon: 0.0 };
    let all =
        [SPARK, grpo(Population), grpo(Unbiased), Normalisation::Mean, Normalisation::LeaveOneOut];
    for how in all {
        // Ten times 0.1 is not 1 in binary: rounding must not become a difference.
        for rewards in [&[0.7][..], &[0.1; 10], &[1.0, 1.0], &[-3.5; 3]] {
            let expected = vec![0.0; rewards.len()];
            assert_eq!(advantages(rewards, how), Ok(expected), "{rewards:?} {how:?}");
        }
    }
}

#[test]
fn e8_both_variances_are_kept() {
    let spread = |how: Variance| {
        let value = uncertainty_weighted(&[0.0, 1.0], 1.0, how).expect("finite");
        0.5 - value
    };
    near(Ok(spread(Population)), 0.25);
    near(Ok(spread(Unbiased)), 0.5);
}

#[test]
fn a3_a_right_answer_with_a_wrong_step_outranks_a_wrong_answer_without_one() {
    let weights = Weights::default();
    let right = step_rewards(true, &[1.0; 3], weights).expect("in range");
    let wrong = step_rewards(false, &[0.0; 3], weights).expect("in range");
    for (a, b) in right.iter().zip(&wrong) {
        assert!(a > b);
    }
}

#[test]
fn b1_single_step_under_success_only_gets_zero() {
    // The one place where a second step pays: documented at `Ending::SuccessOnly`.
    let how = Shaping::Delta { ending: Ending::SuccessOnly };
    let earned = |scores: &[f64]| sum(&shape(scores, how).expect("finite"));
    near(Ok(earned(&[0.5])), 0.0);
    near(Ok(earned(&[0.5, 0.5])), 0.5);
    near(Ok(earned(&[0.5, 0.5, 0.5])), 0.5);
}

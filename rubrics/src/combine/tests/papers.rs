//! Each test is named after the section of the methods sheet whose formula it pins.

use super::{all_near, near};
use crate::combine::Variance::{Population, Unbiased};
use crate::combine::critique::{self, Vote, Weights};
use crate::combine::ensemble::{self, Standard};
use crate::combine::gate::gated;
use crate::combine::group::{self, Normalisation};
use crate::combine::preference::preference;
use crate::combine::product::r1_reward;
use crate::combine::renorm::{OutcomeAt, renorm};
use crate::combine::selection::{best, weighted_vote};
use crate::combine::shaping::{Ending, Shaping, shape};
use crate::combine::steps::{Aggregation, aggregate, first_error, share_right, sum_of_logits};
use crate::combine::thoughts::{self, ThoughtLabel};

#[test]
fn a0_grpo_advantages() {
    let grpo = |variance, epsilon| Normalisation::Grpo { variance, epsilon };
    // Mean 0.5, squared deviations 4 x 0.25: the standard deviations are 0.5 and sqrt(1/3).
    let rewards = [1.0, 0.0, 0.0, 1.0];
    all_near(group::advantages(&rewards, grpo(Population, 0.0)), &[1.0, -1.0, -1.0, 1.0]);
    let unbiased = 0.75_f64.sqrt();
    all_near(
        group::advantages(&rewards, grpo(Unbiased, 0.0)),
        &[unbiased, -unbiased, -unbiased, unbiased],
    );
    all_near(group::advantages(&rewards, grpo(Population, 0.5)), &[0.5, -0.5, -0.5, 0.5]);
    all_near(group::advantages(&[3.0, 0.0, 0.0], Normalisation::Mean), &[2.0, -1.0, -1.0]);
    // Others' means: 0, 1.5, 1.5.
    all_near(group::advantages(&[3.0, 0.0, 0.0], Normalisation::LeaveOneOut), &[3.0, -1.5, -1.5]);
    near(group::pass_rate(&rewards, 1.0), 0.5);
    near(group::pass_rate(&[0.2, 0.5, 0.9], 0.5), 2.0 / 3.0);
}

#[test]
fn a3_capo_votes() {
    let check = |critiques: &[Option<&[usize]>], how, readable, expected: &[f64]| {
        let critiques: Vec<_> =
            critiques.iter().map(|critique| critique.map(<[usize]>::to_vec)).collect();
        let wrong = critique::vote(&critiques, 3, how);
        assert_eq!(wrong.readable, readable, "{critiques:?}");
        all_near(Ok(wrong.weights), expected);
    };
    let four: &[Option<&[usize]>] = &[Some(&[2, 3]), Some(&[2]), Some(&[2, 3]), Some(&[2])];
    check(four, Vote::Intersection, 4, &[0.0, 1.0, 0.0]);
    check(four, Vote::Majority, 4, &[0.0, 1.0, 1.0]);
    check(four, Vote::Union, 4, &[0.0, 1.0, 1.0]);
    check(four, Vote::Average, 4, &[0.0, 1.0, 0.5]);
    check(four, Vote::Greedy, 1, &[0.0, 1.0, 1.0]);
    // One of three is less than half, two are not.
    let three: &[Option<&[usize]>] = &[Some(&[1]), Some(&[3]), Some(&[3])];
    check(three, Vote::Majority, 3, &[0.0, 0.0, 1.0]);
    check(three, Vote::Union, 3, &[1.0, 0.0, 1.0]);
    check(three, Vote::Intersection, 3, &[0.0, 0.0, 0.0]);
    // What cannot be read leaves k; numbers of no step and repetitions count for nothing.
    let broken: &[Option<&[usize]>] = &[None, Some(&[0, 1, 1, 4, usize::MAX]), Some(&[])];
    check(broken, Vote::Majority, 2, &[1.0, 0.0, 0.0]);
    check(broken, Vote::Average, 2, &[0.5, 0.0, 0.0]);
    check(broken, Vote::Greedy, 0, &[0.0, 0.0, 0.0]);
    for how in [Vote::Intersection, Vote::Majority, Vote::Union, Vote::Average, Vote::Greedy] {
        check(&[None, None], how, 0, &[0.0, 0.0, 0.0]);
        check(&[], how, 0, &[0.0, 0.0, 0.0]);
        check(&[Some(&[])], how, 1, &[0.0, 0.0, 0.0]);
    }
    assert_eq!(critique::vote(&[Some(vec![1])], 0, Vote::Union).weights, [0.0; 0]);
}

#[test]
fn a3_capo_token_rewards() {
    let rewards =
        |is_right, wrong: &[f64]| critique::step_rewards(is_right, wrong, Weights::default());
    all_near(rewards(true, &[0.0, 1.0]), &[2.0, 1.0]);
    all_near(rewards(false, &[0.0, 1.0]), &[0.0, -1.0]);
    all_near(rewards(true, &[0.5]), &[1.5]);
    let group = [vec![2.0, 1.0], vec![], vec![0.0, -1.0]];
    let advantages = critique::token_advantages(&group, Normalisation::Mean);
    let expected = [vec![1.5, 0.5], vec![], vec![-0.5, -1.5]];
    assert_eq!(advantages, Ok(expected.to_vec()));
}

#[test]
fn a4_tp_grpo_thoughts() {
    use ThoughtLabel::{Matching, Mismatched, Right, Wrong};
    let check = |labels: &[ThoughtLabel], expected: &[(ThoughtLabel, std::ops::Range<usize>)]| {
        let thoughts = thoughts::merge(labels);
        let thoughts: Vec<_> = thoughts.into_iter().map(|t| (t.label, t.steps)).collect();
        assert_eq!(thoughts, expected);
    };
    check(&[], &[]);
    check(&[Right], &[(Right, 0..1)]);
    check(&[Right, Right, Wrong, Right], &[(Right, 0..2), (Wrong, 2..3), (Right, 3..4)]);
    check(&[Mismatched, Mismatched, Matching], &[(Mismatched, 0..2), (Matching, 2..3)]);
    // alpha 0.5, three of four right: r_c = 0.375.
    let r_c = thoughts::capability(0.5, 0.75);
    near(r_c, 0.375);
    let advantage = |label, outcome| thoughts::advantage(label, outcome, 0.375);
    near(advantage(Right, 1.25), 1.25);
    near(advantage(Wrong, 1.25), 0.875);
    near(advantage(Matching, -0.75), -0.75);
    near(advantage(Mismatched, -0.75), 0.0);
}

#[test]
fn a5_share_of_right_steps() {
    near(share_right(&[true, false, true, true]), 0.75);
    near(share_right(&[false]), 0.0);
}

#[test]
fn a6_best_of_and_weighted_vote() {
    let check = |answers: &[&str], weights: &[f64], expected| {
        let answers: Vec<_> =
            answers.iter().map(|answer| (!answer.is_empty()).then_some(*answer)).collect();
        assert_eq!(weighted_vote(&answers, weights), Ok(expected), "{answers:?}");
    };
    check(&["3", "4", "3"], &[0.3, 0.5, 0.4], Some(0));
    check(&["3", "4", "3"], &[0.1, 0.5, 0.3], Some(1));
    // Equal sums: the answer that came first.
    check(&["", "4", "3"], &[9.0, 0.5, 0.5], Some(1));
    check(&["", ""], &[1.0, 1.0], None);
    check(&[], &[], None);
    check(&["3", "4"], &[0.0, 0.0], Some(0));
    assert_eq!(best(&[0.1, 0.9, 0.9]), Ok(1));
    assert_eq!(best(&[-1.0]), Ok(0));
}

#[test]
fn a8_both_orders() {
    let check = |in_order, swapped, probability, bias, consistent| {
        let got = preference(in_order, swapped).expect("probabilities");
        near(Ok(got.probability), probability);
        near(Ok(got.position_bias), bias);
        assert_eq!(got.is_consistent, consistent, "{in_order} {swapped}");
    };
    check(0.9, 0.2, 0.85, 0.1, true);
    check(0.2, 0.9, 0.15, 0.1, true);
    // A judge that always names the first: no preference, and no consistency.
    check(1.0, 1.0, 0.5, 1.0, false);
    check(0.0, 0.0, 0.5, -1.0, false);
    check(0.5, 0.5, 0.5, 0.0, true);
    check(0.5, 0.4, 0.55, -0.1, false);
    check(0.7, 0.4, 0.65, 0.1, true);
}

#[test]
fn a10_argmax() {
    assert_eq!(best(&[0.25, 0.75, 0.75]), Ok(1));
}

#[test]
fn step_aggregates() {
    let check = |scores: &[f64], how, expected| near(aggregate(scores, how), expected);
    let scores = [0.8, 0.5, 0.9];
    check(&scores, Aggregation::Min, 0.5);
    check(&scores, Aggregation::Product, 0.36);
    check(&scores, Aggregation::Mean, 2.2 / 3.0);
    check(&scores, Aggregation::Last, 0.9);
    // Odds 4, 1 and 9.
    check(&scores, Aggregation::SumOfLogits, 36.0_f64.ln());
    near(sum_of_logits(&[1.5, -2.0]), -0.5);
    for how in [Aggregation::Min, Aggregation::Product, Aggregation::Mean, Aggregation::Last] {
        check(&[0.25], how, 0.25);
    }
    for (scores, expected) in
        [(&[0.9, 0.4, 0.1][..], Some(1)), (&[0.5, 0.5], None), (&[0.49], Some(0)), (&[], None)]
    {
        assert_eq!(first_error(scores, 0.5), Ok(expected), "{scores:?}");
    }
}

#[test]
fn b1_clip_and_delta() {
    let check = |scores: &[f64], how, expected: &[f64]| all_near(shape(scores, how), expected);
    let clip = Shaping::Clip { eta: 0.5 };
    check(&[0.75, 0.25, 0.5], clip, &[0.0, -0.25, 0.0]);
    let recalled = Shaping::Delta { ending: Ending::SuccessOnly };
    check(&[0.75, 0.25, 0.5, 0.9], recalled, &[0.5, -0.25, 0.5, 0.0]);
    check(&[0.75, 0.25], recalled, &[0.75, 0.0]);
    check(&[0.75], recalled, &[0.0]);
    check(&[], recalled, &[]);
    let own = Shaping::Delta { ending: Ending::OwnScore };
    check(&[0.75, 0.25, 0.5], own, &[0.5, -0.25, 0.5]);
    check(&[0.75], own, &[0.75]);
    let both = Shaping::ClipThenDelta { eta: 0.5, ending: Ending::SuccessOnly };
    // Clipped: 0, -0.25, 0, 0.
    check(&[0.75, 0.25, 0.5, 0.9], both, &[0.25, -0.25, 0.0, 0.0]);
}

#[test]
fn b2_ensembles() {
    let rewards = [1.0, 2.0, 3.0, 6.0];
    near(ensemble::mean(&rewards), 3.0);
    // Squared deviations 4 + 1 + 0 + 9 = 14: variances 3.5 and 14/3.
    near(ensemble::uncertainty_weighted(&rewards, 0.5, Population), 1.25);
    near(ensemble::uncertainty_weighted(&rewards, 0.3, Unbiased), 3.0 - 1.4);
    near(ensemble::uncertainty_weighted(&[2.0], 0.5, Population), 2.0);
    let scale = Standard::of(&rewards, Population).expect("they differ");
    near(scale.apply(3.0 + 3.5_f64.sqrt()), 1.0);
    let scale = Standard::of(&rewards, Unbiased).expect("they differ");
    near(scale.apply(3.0), 0.0);
    near(Standard::new(1.0, 2.0).expect("it is a scale").apply(0.0), -0.5);
}

#[test]
fn b3_gates() {
    let check = |rewards: &[f64], thresholds: &[f64], expected: &[f64]| {
        all_near(gated(rewards, thresholds), expected);
    };
    check(&[1.0, 0.5, 0.2], &[0.0, 0.0], &[1.0, 0.5, 0.2]);
    // An empty patch: the outcome is not above its gate, so form and tools earn nothing.
    check(&[0.0, 0.5, 0.2], &[0.0, 0.0], &[0.0, 0.0, 0.0]);
    check(&[1.0, 0.3, 0.2], &[0.0, 0.3], &[1.0, 0.3, 0.0]);
    // A closed gate stays closed for everything behind it.
    check(&[0.1, 0.9, 0.9], &[0.5, 0.5], &[0.1, 0.0, 0.0]);
    check(&[0.7], &[], &[0.7]);
    check(&[], &[], &[]);
}

#[test]
fn b4_renorm() {
    let check = |process: &[f64], outcome, at, expected: &[f64]| {
        all_near(renorm(process, outcome, at), expected);
    };
    check(&[1.0, 0.25], 1.0, OutcomeAt::EveryStep, &[1.0, 0.25]);
    check(&[1.0, 0.25], 0.0, OutcomeAt::EveryStep, &[0.0, -0.75]);
    check(&[1.0, 0.25], 1.0, OutcomeAt::LastStep, &[0.5, 0.25]);
    check(&[1.0, 0.25], 0.0, OutcomeAt::LastStep, &[0.5, -0.75]);
    check(&[0.5], 0.5, OutcomeAt::default(), &[0.0]);
}

#[test]
fn b5_r1_reward() {
    let check = |format, accuracy, consistency, expected| {
        near(r1_reward(format, accuracy, consistency), expected);
    };
    check(1.0, 1.0, 1.0, 2.0);
    check(1.0, 1.0, 0.0, 1.5);
    check(1.0, 1.0, -1.0, 1.0);
    check(1.0, 0.0, 1.0, 0.5);
    check(0.0, 0.0, 0.0, 0.0);
    check(0.0, 1.0, 1.0, 1.5);
    check(0.0, 1.0, 0.0, 1.0);
    check(0.0, 1.0, -1.0, 0.5);
}

/// Scores become relative to their group.
#[test]
fn k2_centred_and_divided() {
    let check = |scores: &[f64], how, expected: &[f64]| {
        all_near(group::advantages(scores, how), expected);
    };
    let centred = [-0.1, 0.2, 0.1, -0.2];
    check(&[0.2, 0.5, 0.4, 0.1], Normalisation::Mean, &centred);
    check(&[0.57, 0.87, 0.77, 0.47], Normalisation::Mean, &centred);
    let root = 1.5_f64.sqrt();
    let grpo = Normalisation::Grpo { variance: Unbiased, epsilon: 0.0 };
    check(&[0.501, 0.5, 0.499, 0.5], grpo, &[root, 0.0, -root, 0.0]);
}

//! Published formulas by hand-computed numbers, and invariants of the first step.

use proptest::prelude::*;

use super::gradients::batches;
use super::{Batch, LIMITS, all_near, near, objective};
use crate::losses::aggregate::Aggregation;
use crate::losses::kl::{Estimator, Kl, penalties};
use crate::losses::length::{overlong_penalty, without_truncated};
use crate::losses::policy::{PolicyLossKind, credit, token_reward_loss};
use crate::losses::preference::weights::{JudgedSolution, Preference, confidence, step_orlm, wpo};
use crate::losses::preference::{
    BradleyTerry, DirectPreference, Pairs, PreferredResponses, plackett_luce,
};
use crate::losses::{Layout, Objective};

/// Tokens of one sequence with the given ratios and advantages.
fn batch(ratios: &[f64], advantages: &[f64]) -> Batch {
    let n = ratios.len();
    Batch {
        cu_seqlens: vec![0, n],
        mask: vec![true; n],
        logp: ratios.iter().map(|ratio| ratio.ln() - 1.0).collect(),
        old_logprobs: vec![-1.0; n],
        advantages: advantages.to_vec(),
        ..Batch::default()
    }
}

/// The token losses of an objective, one token at a time.
#[track_caller]
fn check(text: &str, ratios: &[f64], advantages: &[f64], values: &[f64], slopes: &[f64]) {
    let objective = objective(text);
    for at in 0..ratios.len() {
        let loss = batch(&ratios[at..=at], &advantages[at..=at]).loss(&objective);
        let what = format!("{text}, token {at}");
        near(&what, loss.value, values[at]);
        near(&what, loss.grad[0], slopes[at]);
    }
}

#[test]
fn ppo_clips_on_the_side_of_the_advantage() {
    let ratios = [1.0, 1.5, 0.5, 1.5, 0.5];
    let advantages = [2.0, 1.0, 1.0, -1.0, -1.0];
    let values = [-2.0, -1.2, -0.5, 1.5, 0.8];
    let slopes = [-2.0, 0.0, -0.5, 1.5, 0.0];
    check("policy = { kind = 'ppo' }", &ratios, &advantages, &values, &slopes);
    check("policy = { kind = 'grpo' }", &ratios, &advantages, &values, &slopes);
    check(
        "policy = { kind = 'dapo' }",
        &ratios,
        &advantages,
        &[-2.0, -1.28, -0.5, 1.5, 0.8],
        &slopes,
    );
}

#[test]
fn second_bounds_for_negative_advantages() {
    let capped = "policy = { kind = 'ppo', ratio_cap = 3.0 }";
    check(capped, &[2.0, 5.0, 5.0], &[-1.0, -1.0, 1.0], &[2.0, 3.0, -1.2], &[2.0, 0.0, 0.0]);
    let dual = "policy = { kind = 'ppo', dual_clip = 3.0 }";
    check(dual, &[2.0, 5.0, 5.0], &[-1.0, -2.0, 1.0], &[2.0, 6.0, -1.2], &[2.0, 0.0, 0.0]);
}

#[test]
fn cispo_by_three_conventions() {
    let (ratios, advantages) = ([0.1, 3.0, 7.0], [1.0, 1.0, -1.0]);
    let values = |held: [f64; 3]| {
        let logp = |at: usize| f64::ln(ratios[at]) - 1.0;
        [0, 1, 2].map(|at| -held[at] * advantages[at] * logp(at))
    };
    for (kind, held) in [
        ("cispo_trl", [0.1, 3.0, 5.0]),
        ("cispo_verl", [0.8, 1.2, 1.2]),
        ("cispo_skyrl", [0.1, 3.0, 5.0]),
    ] {
        let text = format!("policy = {{ kind = '{kind}' }}");
        let slopes = [-held[0], -held[1], held[2]];
        check(&text, &ratios, &advantages, &values(held), &slopes);
    }
}

#[test]
fn sapo_is_soft() {
    let loss = batch(&[1.0], &[3.0]).loss(&objective("policy = { kind = 'sapo' }"));
    near("at ratio 1", loss.value, -6.0);
    near("at ratio 1", loss.grad[0], -3.0);
    let far = batch(&[8.0], &[3.0]).loss(&objective("policy = { kind = 'sapo' }"));
    assert!(far.grad[0] < 0.0 && far.grad[0] > -0.1);
}

#[test]
fn gspo_has_one_ratio_a_sequence() {
    // The geometric mean of 2, 1 and 1/2 is 1.
    let whole = batch(&[2.0, 1.0, 0.5], &[1.0; 3]);
    let loss = whole.loss(&objective("policy = { kind = 'gspo' }"));
    near("value", loss.value, -1.0);
    all_near("slopes", &loss.grad, &[-1.0 / 3.0; 3]);
}

#[test]
fn dppo_drops_tokens_that_moved_too_far() {
    let text = "policy = { kind = 'dppo', kl_weight = 0.0 }";
    // From probability 0.368: 1.5 times it is 0.18 more, 1.6 times 0.22 more.
    check(text, &[1.5, 1.6], &[1.0, 1.0], &[-1.5, 0.0], &[-1.5, 0.0]);
    check(text, &[1.6, 0.5, 0.4], &[-1.0; 3], &[1.6, 0.5, 0.0], &[1.6, 0.5, 0.0]);
}

#[test]
fn c7_stable_reinforce_clips_before_the_exponential() {
    let text = "policy = { kind = 'stable_reinforce' }";
    check(
        text,
        &[999.0, 1e6, 1e-6],
        &[-1.0, -1.0, 1.0],
        &[999.0, 1000.0, -1e-3],
        &[999.0, 0.0, 0.0],
    );
}

#[test]
fn c10_decoupled_ppo_weighs_by_staleness() {
    // rho = 1.5 is clipped to 1.2; w = 2 and 6.
    let mut stale = batch(&[1.5], &[1.0]);
    for (w, kind, expected) in [
        (2.0, "", -2.4),
        (6.0, "", 0.0),
        (6.0, ", beyond_cap = 'clamp'", -6.0),
        (2.0, ", proximal = 'behaviour'", -1.2),
    ] {
        stale.rollout_logprobs = Some(vec![-1.0 - f64::ln(w)]);
        let text = format!("policy = {{ kind = 'decoupled_ppo'{kind} }}");
        near(&text, stale.loss(&objective(&text)).value, expected);
    }
}

#[test]
fn c10_rejected_tokens_stay_in_the_denominator() {
    let mut stale = batch(&[1.0, 1.0], &[1.0, 1.0]);
    stale.rollout_logprobs = Some(vec![-1.0, -1.0 - f64::ln(9.0)]);
    let loss = stale.loss(&objective("policy = { kind = 'decoupled_ppo' }"));
    near("one of two", loss.value, -0.5);
    near("dropped", loss.stats.get("player/dropped").expect("counted").total, 1.0);
}

#[test]
fn c11_aipo_truncates_above_alone() {
    let mut stale = batch(&[1.0, 1.0], &[1.0, 1.0]);
    stale.rollout_logprobs = Some(vec![-1.0 - f64::ln(4.0), -1.0 + f64::ln(4.0)]);
    let loss = stale.loss(&objective("policy = { kind = 'aipo' }"));
    all_near("slopes", &loss.grad, &[-1.0, -0.125]);
}

#[test]
fn c4_oreal_weights() {
    let text = "policy = { kind = 'oreal' }";
    let mut responses = Batch {
        cu_seqlens: vec![0, 3, 5],
        positive: Some(vec![true, false]),
        credit: Some(vec![0.25, 0.75, 1.0, 0.25, 0.75]),
        ..batch(&[1.0; 5], &[2.0, 2.0, 2.0, -2.0, -2.0])
    };
    let loss = responses.loss(&objective(text));
    // w+ is 0, 1/2, 1 by 3 tokens; w- is 1/2, 0 by 2 tokens and halved.
    all_near("slopes", &loss.grad, &[0.0, -1.0 / 3.0, -2.0 / 3.0, 0.25, 0.0]);
    near("value", loss.value, 1.0 + 0.25);
    let even = "policy = { kind = 'oreal', credit = 'even', positive_times_advantage = false }";
    responses.credit = None;
    let loss = responses.loss(&objective(even));
    let third = -1.0 / 3.0;
    all_near("slopes", &loss.grad, &[third, third, third, 0.5, 0.5]);
}

#[test]
fn c9_step_orlm_pairs() {
    let judged = |is_right, right_share| JudgedSolution { is_right, right_share };
    let preferred = |prefers_first, weight| Some(Preference { prefers_first, weight });
    for (first, second, expected) in [
        (judged(true, 0.2), judged(false, 0.9), preferred(true, 1.0)),
        (judged(false, 0.9), judged(true, 0.2), preferred(false, 1.0)),
        (judged(true, 0.75), judged(true, 0.25), preferred(true, 0.5)),
        (judged(false, 0.25), judged(false, 0.75), preferred(false, 0.5)),
        (judged(true, 0.5), judged(true, 0.5), None),
    ] {
        assert_eq!(step_orlm(first, second), Ok(expected));
    }
}

#[test]
fn weights_of_pairs() {
    // Two tokens, each with its distribution's log of the sum of squares.
    let weight = wpo(&[f64::ln(0.5), f64::ln(0.25)], &[f64::ln(0.5), f64::ln(0.5)]);
    near("wpo", weight.expect("good numbers"), f64::sqrt(0.5));
    for (p, expected) in [(0.5, 0.0), (0.9, 0.8), (0.1, 0.8), (1.0, 1.0)] {
        near("confidence", confidence(p).expect("a probability"), expected);
    }
}

/// A loss to the five digits that the sheet of methods gives.
fn to_five_digits(what: &str, value: f64, expected: f64) {
    assert!((value - expected).abs() < 6e-6, "{what}: {value} instead of {expected}");
}

/// Pairs of one token each, by the difference of their log-probabilities.
fn pair_loss(loss: DirectPreference, gap: f64, of: impl Fn(&mut PreferredResponses<'_>)) -> f64 {
    let (mask, logp) = ([true, true], [gap - 5.0, -5.0]);
    let mut responses = PreferredResponses::new(Layout::new(&[0, 1, 2], &mask), &logp);
    of(&mut responses);
    loss.evaluate(&responses, 1).expect("good numbers").value
}

#[test]
fn f4_and_f5_weights_of_pairs() {
    let probabilities: [f64; 3] = [0.7, 0.2, 0.1];
    let squares = probabilities.iter().map(|p| p * p).sum::<f64>().ln();
    for (tokens, expected) in [([0, 1], 0.69290), ([0, 0], 1.29630)] {
        let logp = tokens.map(|token: usize| probabilities[token].ln());
        to_five_digits("wpo", wpo(&logp, &[squares; 2]).expect("good numbers"), expected);
    }
    let uniform = f64::ln(0.25);
    to_five_digits("uniform", wpo(&[uniform], &[uniform]).expect("good numbers"), 1.0);
    let dpo = DirectPreference::Dpo { beta: 1.0, smoothing: 0.0 };
    for (weight, expected) in [(1.0, 0.55436), (0.5, 0.27718)] {
        let value = pair_loss(dpo, 0.3, |pairs| {
            pairs.weights = Some(if weight < 1.0 { &[0.5] } else { &[1.0] });
        });
        to_five_digits("w-dpo", value, expected);
    }
}

#[test]
fn h2_soft_labels_and_margins() {
    let dpo = DirectPreference::Dpo { beta: 1.0, smoothing: 0.0 };
    let smooth = DirectPreference::Dpo { beta: 1.0, smoothing: 0.2 };
    to_five_digits("plain", pair_loss(dpo, 1.0, |_| {}), 0.31326);
    to_five_digits("margin", pair_loss(dpo, 1.0, |pairs| pairs.margins = Some(&[0.7])), 0.55436);
    to_five_digits("label", pair_loss(dpo, 1.0, |pairs| pairs.labels = Some(&[0.8])), 0.51326);
    // A label of one half does not prefer either response.
    let even = |gap| pair_loss(dpo, gap, |pairs| pairs.labels = Some(&[0.5]));
    near("even", even(1.5), even(-1.5));
    // cDPO smooths each label: q = (1 - s) y + s (1 - y).
    near(
        "smoothed",
        pair_loss(smooth, 1.0, |_| {}),
        pair_loss(dpo, 1.0, |p| p.labels = Some(&[0.8])),
    );
    let flipped = pair_loss(smooth, 1.0, |pairs| pairs.labels = Some(&[0.0]));
    near("flipped", flipped, pair_loss(smooth, -1.0, |_| {}));
    let ipo = DirectPreference::Ipo { beta: 0.1 };
    let (mask, logp) = ([true, true], [-1.0, -2.0]);
    let pairs = PreferredResponses {
        margins: Some(&[0.5]),
        ..PreferredResponses::new(Layout::new(&[0, 1, 2], &mask), &logp)
    };
    assert!(ipo.evaluate(&pairs, 1).is_err());
    let (a, b) = ([1.0], [0.0]);
    let bt = |pairs: Pairs<'_>| BradleyTerry::default().evaluate(&pairs, 1).expect("good").value;
    to_five_digits("bt", bt(Pairs::new(&a, &b)), 0.31326);
    to_five_digits("bt margin", bt(Pairs { margins: Some(&[0.7]), ..Pairs::new(&a, &b) }), 0.55436);
    to_five_digits("bt label", bt(Pairs { doubts: Some(&[0.2]), ..Pairs::new(&a, &b) }), 0.51326);
}

#[test]
fn d_secrets_ii_flips() {
    // A label that is certainly wrong is the other label.
    let (a, b) = ([0.3], [1.1]);
    let flipped = Pairs { doubts: Some(&[1.0]), ..Pairs::new(&a, &b) };
    let plain = BradleyTerry::default();
    near(
        "flipped",
        plain.evaluate(&flipped, 1).expect("good numbers").value,
        plain.evaluate(&Pairs::new(&b, &a), 1).expect("good numbers").value,
    );
}

#[test]
fn a_list_of_two_is_a_pair() {
    let list = plackett_luce(&[1.5, -0.5], &[0, 2], 1).expect("good numbers");
    let pair =
        BradleyTerry::default().evaluate(&Pairs::new(&[1.5], &[-0.5]), 1).expect("good numbers");
    near("value", list.value, pair.value);
    all_near("gradient", &list.grad, &pair.grad);
}

#[test]
fn dapo_overlong() {
    for (n, expected) in [(0, 0.0), (80, 0.0), (85, -0.25), (90, -0.5), (100, -1.0), (101, -1.0)] {
        near("penalty", overlong_penalty(n, 100, 20).expect("a good buffer"), expected);
    }
    assert!(overlong_penalty(1, 100, 0).is_err());
    assert!(overlong_penalty(1, 100, 101).is_err());
    let layout = Layout::new(&[0, 2, 3], &[true, false, true]);
    assert_eq!(without_truncated(&layout, &[true, false]), Ok(vec![false, false, true]));
}

#[test]
fn divergence_penalty_is_its_negative_estimate() {
    let check = |estimator, expected: f64| {
        let kl = Kl { weight: 0.1, estimator };
        let penalty = penalties(&kl, &[-1.0], &[-2.0]).expect("good numbers");
        all_near(&format!("{estimator:?}"), &penalty, &[expected]);
    };
    check(Estimator::K1, -0.1);
    check(Estimator::K2, -0.05);
    let k3 = -0.1 * f64::exp(-1.0);
    check(Estimator::K3, k3);
    check(Estimator::K3Plus, k3);
    check(Estimator::Unbiased, k3);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// With the weights that sampled, every ratio is 1: the value of a clipped loss is minus the
    /// weighted advantage, and all gradients are those of REINFORCE.
    #[test]
    fn first_step_equals_reinforce(mut batch in batches()) {
        batch.old_logprobs.clone_from(&batch.logp);
        batch.rollout_logprobs = Some(batch.logp.clone());
        batch.factors = None;
        for kind in [
            "ppo", "grpo", "dr_grpo", "dapo", "gspo", "stable_reinforce", "decoupled_ppo", "dppo",
            "cispo_trl", "cispo_verl", "cispo_skyrl", "aipo", "sapo",
        ] {
            let clipped = objective(&format!("policy = {{ kind = '{kind}' }}"));
            let aggregation = clipped.aggregation();
            let plain = Objective {
                policy: PolicyLossKind::Reinforce(crate::losses::policy::Reinforce {}),
                aggregation: Some(aggregation),
                ..Objective::default()
            };
            let loss = batch.loss(&clipped);
            all_near(kind, &loss.grad, &batch.loss(&plain).grad);
            if matches!(kind, "ppo" | "grpo" | "dr_grpo" | "dapo" | "gspo" | "decoupled_ppo") {
                let weights = batch.denominators(LIMITS)
                    .weights(aggregation, &batch.layout())
                    .expect("a good layout");
                let mean: f64 = weights.iter().zip(&batch.advantages).map(|(w, a)| w * a).sum();
                near(kind, loss.value, -mean);
            }
            if let Some(equal) = loss.stats.get("player/equal") {
                prop_assert_eq!(equal.mean(), Some(1.0));
                prop_assert_eq!(loss.stats.get("player/abs_dlogp").map(|tally| tally.max), Some(0.0));
            }
        }
    }

    /// Corrections do not change on-policy rollouts.
    #[test]
    fn corrections_do_not_change_the_first_step(mut batch in batches()) {
        batch.rollout_logprobs = Some(batch.old_logprobs.clone());
        let plain = batch.loss(&objective("policy = { kind = 'dapo' }"));
        for kind in ["tis", "ice_pop", "sequence_mis", "geometric_mask", "m2po"] {
            let text = format!("policy = {{ kind = 'dapo' }}\ncorrection = {{ kind = '{kind}' }}");
            let corrected = batch.loss(&objective(&text));
            near(kind, corrected.value, plain.value);
            all_near(kind, &corrected.grad, &plain.grad);
        }
    }

    /// A group in which all advantages are 0 has no gradient.
    #[test]
    fn zero_advantages_have_no_gradient(mut batch in batches()) {
        batch.advantages.fill(0.0);
        for kind in ["reinforce", "ppo", "gspo", "cispo_trl", "sapo", "aipo", "oreal", "decoupled_ppo"] {
            let loss = batch.loss(&objective(&format!("policy = {{ kind = '{kind}' }}")));
            prop_assert!(loss.value == 0.0 && loss.grad.iter().all(|slope| *slope == 0.0));
        }
    }
}

#[test]
fn every_method_has_the_aggregation_of_its_paper() {
    for (kind, expected) in [
        ("grpo", Aggregation::SeqMeanTokenMean),
        ("gspo", Aggregation::SeqMeanTokenMean),
        ("dr_grpo", Aggregation::DrGrpo),
        ("dapo", Aggregation::TokenMean),
        ("decoupled_ppo", Aggregation::TokenMean),
    ] {
        let named = objective(&format!("policy = {{ kind = '{kind}' }}"));
        assert_eq!(named.aggregation(), expected, "{kind}");
    }
}

/// OREAL as its published code has it.
#[test]
fn h1_oreal_by_hand() {
    let scores = [0.5, 1.5, -1.0];
    let response = Batch {
        positive: Some(vec![true]),
        credit: Some(credit(&scores, &[0, 3]).expect("good numbers")),
        ..batch(&[1.0; 3], &[1.0; 3])
    };
    let loss = response.loss(&objective("policy = { kind = 'oreal' }"));
    for (slope, weight) in loss.grad.iter().zip([0.24492, 0.46212, 0.16514]) {
        to_five_digits("weight", -3.0 * slope, weight);
    }
    for (right, expected) in [(true, 0.54031), (false, 0.87364)] {
        let loss = token_reward_loss(&scores, &[0, 3], &[right], 1).expect("good numbers");
        to_five_digits("cross-entropy", loss.value, expected);
    }
}

/// A token's log-probabilities now, at the beginning of the step, and when it was sampled.
#[test]
fn i1_stale_tokens_by_hand() {
    let of = |text: &str, [now, begin, sampled]: [f64; 3], advantage: f64| {
        let stale = Batch {
            logp: vec![now],
            old_logprobs: vec![begin],
            rollout_logprobs: Some(vec![sampled]),
            ..batch(&[1.0], &[advantage])
        };
        stale.loss(&objective(text))
    };
    let decoupled = "policy = { kind = 'decoupled_ppo' }";
    for (advantage, expected) in [(1.0, -1.79019), (-1.0, 1.82212)] {
        to_five_digits(decoupled, of(decoupled, [-1.4, -1.6, -2.0], advantage).value, expected);
    }
    let aipo = "policy = { kind = 'aipo' }";
    for (now, sampled, expected) in [(-1.4, -2.0, 1.82212), (-1.0, -3.0, 2.0)] {
        to_five_digits(aipo, -of(aipo, [now, now, sampled], 1.0).grad[0], expected);
    }
}

/// A ratio of e^10 becomes 1000, and 1.2 where PPO clips.
#[test]
fn j1_ratios_are_clipped_twice() {
    let text = "policy = { kind = 'stable_reinforce' }";
    check(text, &[10.0_f64.exp(); 2], &[1.0, -1.0], &[-1.2, 1000.0], &[0.0, 0.0]);
}

//! Gradients against finite differences, and against the formula where something is held constant.

use proptest::prelude::*;

use super::{Batch, LIMITS, all_near, near, objective};
use crate::losses::preference::{
    BradleyTerry, Contrastive, DirectPreference, Pairs, PreferredResponses, plackett_luce,
    score_difference,
};
use crate::losses::process::{binary, progress, two_class};
use crate::losses::{FormulaError, Layout};
use crate::losses::{Loss, Objective};

/// Sequences of random tokens with every list that a loss may read.
pub(super) fn batches() -> impl Strategy<Value = Batch> {
    prop::collection::vec(1_usize..5, 1..5).prop_flat_map(|lengths| {
        let n: usize = lengths.iter().sum();
        let list = |low: f64, high: f64| prop::collection::vec(low..high, n);
        let log_probabilities =
            (list(-3.0, -0.1), list(-0.6, 0.6), list(-0.6, 0.6), list(-1.0, 1.0));
        let own = prop::collection::vec(-2.0_f64..2.0, lengths.len());
        (
            Just(lengths),
            prop::collection::vec(prop::bool::weighted(0.8), n),
            log_probabilities,
            own,
            (list(0.0, 2.0), list(0.0, 1.0)),
        )
            .prop_map(
                |(lengths, mask, (old, now, mu, reference), own, (factors, credit))| {
                    let shifted = |by: &[f64]| -> Vec<f64> {
                        old.iter().zip(by).map(|(old, by)| old + by).collect()
                    };
                    let mut batch = Batch {
                        cu_seqlens: vec![0],
                        mask,
                        logp: shifted(&now),
                        rollout_logprobs: Some(shifted(&mu)),
                        reference: Some(shifted(&reference)),
                        positive: Some(own.iter().map(|own| *own > 0.0).collect()),
                        entropies: Some(credit.clone()),
                        factors: Some(factors),
                        credit: Some(credit),
                        ..Batch::default()
                    };
                    for (length, own) in lengths.iter().zip(&own) {
                        batch.advantages.extend(vec![*own; *length]);
                        batch.cu_seqlens.push(batch.advantages.len());
                    }
                    batch.old_logprobs = old;
                    batch
                },
            )
    })
}

/// Objectives without stopped gradients.
const SMOOTH: &[&str] = &[
    "policy = { kind = 'reinforce' }",
    "policy = { kind = 'ppo', ratio_cap = 1.4, dual_clip = 1.5 }",
    "policy = { kind = 'grpo' }\nkl = { weight = 0.3 }",
    "policy = { kind = 'dr_grpo' }",
    "policy = { kind = 'dapo' }\nkl = { weight = 0.2, estimator = 'k2' }",
    "policy = { kind = 'gspo', low = 0.1, high = 0.2 }",
    "policy = { kind = 'sapo' }\nkl = { weight = 0.2, estimator = 'unbiased' }",
    "policy = { kind = 'dppo', low = 0.05, high = 0.05, kl_weight = 0.3 }",
    "policy = { kind = 'stable_reinforce', least_ratio = 0.7, most_ratio = 1.5 }",
    "policy = { kind = 'decoupled_ppo', weight_cap = 1.2, dual_clip = 1.3 }",
    "policy = { kind = 'decoupled_ppo', level = 'sequence', beyond_cap = 'clamp', weight_cap = 1.1 }",
    "policy = { kind = 'decoupled_ppo', proximal = 'behaviour' }",
    "policy = { kind = 'grpo' }\ncorrection = { kind = 'tis' }",
    "policy = { kind = 'grpo' }\ncorrection = { kind = 'ice_pop' }\nentropy = 0.1",
    "policy = { kind = 'gspo', low = 0.5, high = 0.5 }\ncorrection = { kind = 'sequence_mis' }",
    "policy = { kind = 'ppo' }\nkl = { weight = 0.3, estimator = 'k1' }",
    "policy = { kind = 'ppo' }\naggregation = 'seq_mean_token_sum'",
    "policy = { kind = 'ppo' }\naggregation = 'bnpo'",
];

/// Compares a gradient with central differences, except where the two one-sided ones differ: there
/// is a kink or a jump.
fn follows(
    grad: &[f64],
    inputs: &[f64],
    value: impl Fn(&[f64]) -> f64,
) -> Result<(), TestCaseError> {
    let step = 1e-5;
    let here = value(inputs);
    for (at, slope) in grad.iter().enumerate() {
        let moved = |by: f64| {
            let mut inputs = inputs.to_vec();
            inputs[at] += by;
            value(&inputs)
        };
        let above = (moved(step) - here) / step;
        let below = (here - moved(-step)) / step;
        if (above - below).abs() > 1e-3 * (1.0 + above.abs()) {
            continue;
        }
        let central = f64::midpoint(above, below);
        prop_assert!(
            (central - slope).abs() <= 1e-5 * (1.0 + slope.abs()),
            "at {at}: {slope}, by differences {central}"
        );
    }
    Ok(())
}

fn value_at(batch: &Batch, objective: &Objective, logp: &[f64]) -> f64 {
    let moved = Batch { logp: logp.to_vec(), ..batch.clone() };
    moved.loss(objective).value
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn policy_losses_follow_finite_differences(mut batch in batches()) {
        for text in SMOOTH {
            let objective = objective(text);
            if text.contains("gspo") {
                // Its token form is the gradient of the sequence form if all tokens of a sequence
                // have one factor.
                batch.factors = None;
            }
            let loss = batch.loss(&objective);
            follows(&loss.grad, &batch.logp, |logp| value_at(&batch, &objective, logp))?;
        }
    }

    #[test]
    fn losses_on_given_tokens_follow_finite_differences(mut batch in batches(), on_reference: bool) {
        use crate::losses::Stream::{Ce, RefKl};
        let stream = if on_reference { RefKl } else { Ce };
        batch.streams = Some(vec![stream; batch.cu_seqlens.len() - 1]);
        let objective = Objective::default();
        let loss = batch.loss(&objective);
        follows(&loss.grad, &batch.logp, |logp| value_at(&batch, &objective, logp))?;
    }

    /// `-c A logp` with a constant `c A` is linear: the value is the gradient times the
    /// log-probability.
    #[test]
    fn weighted_log_probabilities_are_linear(batch in batches()) {
        for text in [
            "policy = { kind = 'reinforce' }",
            "policy = { kind = 'cispo_trl', high = 1.2 }",
            "policy = { kind = 'cispo_verl' }",
            "policy = { kind = 'cispo_skyrl', high = 0.4 }",
            "policy = { kind = 'aipo', cap = 1.2 }",
        ] {
            let loss = batch.loss(&objective(text));
            near(text, loss.value, dot(&loss.grad, &batch.logp));
        }
    }

    /// The negative term of OREAL has ratio 1 and the gradient of a ratio; the positive one is
    /// linear.
    #[test]
    fn c4_oreal_terms(mut batch in batches()) {
        let policy = objective("policy = { kind = 'oreal' }");
        let n = batch.cu_seqlens.len() - 1;
        batch.positive = Some(vec![false; n]);
        let loss = batch.loss(&policy);
        near("negative", loss.value, loss.grad.iter().sum());
        batch.positive = Some(vec![true; n]);
        let loss = batch.loss(&policy);
        near("positive", loss.value, dot(&loss.grad, &batch.logp));
    }

    #[test]
    fn k3_plus_has_the_value_of_k3_and_the_gradient_of_k2(mut batch in batches()) {
        batch.advantages.fill(0.0);
        let loss = |estimator: &str| batch.loss(&objective(&format!(
            "policy = {{ kind = 'ppo' }}\nkl = {{ weight = 1.0, estimator = '{estimator}' }}"
        )));
        near("value", loss("k3_plus").value, loss("k3").value);
        all_near("gradient", &loss("k3_plus").grad, &loss("k2").grad);
        batch.old_logprobs.clone_from(&batch.logp);
        let loss = |estimator: &str| batch.loss(&objective(&format!(
            "policy = {{ kind = 'ppo' }}\nkl = {{ weight = 1.0, estimator = '{estimator}' }}"
        )));
        near("first step", loss("unbiased").value, loss("k3").value);
        all_near("first step", &loss("unbiased").grad, &loss("k2").grad);
    }

    #[test]
    fn entropies_have_their_weight(batch in batches()) {
        let plain = batch.loss(&objective("policy = { kind = 'dapo' }"));
        let with = batch.loss(&objective("policy = { kind = 'dapo' }\nentropy = 0.7"));
        let entropies = batch.entropies.clone().expect("they are given");
        near("value", with.value - plain.value, dot(&with.entropy_grad, &entropies));
        prop_assert_eq!(plain.grad, with.grad);
        let weights = batch.denominators(LIMITS)
            .weights(crate::losses::Aggregation::TokenMean, &batch.layout())
            .expect("a good layout");
        for (slope, weight) in with.entropy_grad.iter().zip(weights) {
            near("slope", *slope, -0.7 * weight);
        }
    }

    #[test]
    fn score_losses_follow_finite_differences(
        scores in prop::collection::vec(-4.0_f64..4.0, 8),
        centring in 0.0_f64..0.1,
        smoothing in 0.0_f64..0.5,
    ) {
        let evaluate = |scores: &[f64]| {
            let margins = [0.3, -0.2, 0.0, 1.0];
            let doubts = [0.0, 0.2, 1.0, 0.5];
            let pairs = Pairs {
                margins: Some(&margins),
                doubts: Some(&doubts),
                ..Pairs::new(&scores[..4], &scores[4..])
            };
            BradleyTerry { centring, smoothing }.evaluate(&pairs, 5)
        };
        followed(&scores, evaluate)?;
        followed(&scores, |scores| plackett_luce(scores, &[0, 3, 3, 8], 3))?;
        followed(&scores, |scores| score_difference(scores, &[0, 3, 3, 8], 3))?;
        followed(&scores, |scores| {
            let contrastive = Contrastive { temperature: 0.5, ..Contrastive::default() };
            contrastive.evaluate(2, &scores[..4], &scores[4..])
        })?;
        let labels = [Some(1.0), None, Some(0.3), Some(0.0), None, Some(0.9), Some(1.0), None];
        followed(&scores, |scores| binary(scores, &labels, 6))?;
        followed(&scores, |scores| {
            let logits: Vec<[f64; 2]> = scores.chunks(2).map(|two| [two[0], two[1]]).collect();
            two_class(&logits, &labels[..4], 3)
        })?;
        followed(&scores, |scores| progress(scores, &[0, 5, 8], &[1.0, 0.0], 2))?;
    }

    #[test]
    fn direct_preferences_follow_finite_differences(
        logp in prop::collection::vec(-3.0_f64..-0.1, 9),
        share in 0.0_f64..0.4,
        beta in 0.05_f64..1.0,
    ) {
        let reference = [-1.0; 9];
        let mut mask = [true; 9];
        mask[1] = false;
        for kind in [
            DirectPreference::Dpo { beta, smoothing: share },
            DirectPreference::Robust { beta, flips: share },
            DirectPreference::Ipo { beta },
        ] {
            followed(&logp, |logp| {
                let responses = PreferredResponses {
                    layout: Layout::new(&[0, 3, 4, 7, 9], &mask),
                    logp,
                    reference: Some(&reference),
                    weights: Some(&[0.4, 1.3]),
                    labels: None,
                    margins: None,
                };
                kind.evaluate(&responses, 3)
            })?;
        }
    }
}

fn followed(
    inputs: &[f64],
    evaluate: impl Fn(&[f64]) -> Result<Loss, FormulaError>,
) -> Result<(), TestCaseError> {
    let value = |inputs: &[f64]| evaluate(inputs).expect("good numbers").value;
    let loss = evaluate(inputs).expect("good numbers");
    follows(&loss.grad, inputs, value)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

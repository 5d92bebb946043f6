//! Numbers that are no numbers, lists that do not fit: an error, and never a reward.

use crate::combine::CombineError;
use crate::combine::Variance::{Population, Unbiased};
use crate::combine::critique::{Weights, step_rewards, token_advantages};
use crate::combine::ensemble::{Standard, mean, uncertainty_weighted, worst_case};
use crate::combine::gate::gated;
use crate::combine::group::{Normalisation, SPARK, advantages, pass_rate};
use crate::combine::preference::preference;
use crate::combine::product::{answer_text, r1_reward};
use crate::combine::renorm::{OutcomeAt, renorm};
use crate::combine::selection::{best, mean_yes, weighted_vote};
use crate::combine::sentences::{SentenceVerdict, SentenceWeights, sentence_reward};
use crate::combine::shaping::{Ending, Shaping, returns, shape, total};
use crate::combine::steps::{Aggregation, aggregate, first_error, share_right, sum_of_logits};
use crate::combine::thoughts::{Label, advantage, capability};

const AGGREGATIONS: [Aggregation; 5] = [
    Aggregation::Min,
    Aggregation::Product,
    Aggregation::Mean,
    Aggregation::Last,
    Aggregation::SumOfLogits,
];

const SHAPINGS: [Shaping; 3] = [
    Shaping::Clip { eta: 0.5 },
    Shaping::Delta { ending: Ending::OwnScore },
    Shaping::ClipThenDelta { eta: 0.5, ending: Ending::SuccessOnly },
];

const NORMALISATIONS: [Normalisation; 3] = [SPARK, Normalisation::Mean, Normalisation::LeaveOneOut];

fn tell<T>(result: Result<T, CombineError>) -> Result<(), String> {
    result.map(drop).map_err(|error| error.to_string())
}

/// Everything that takes a list of numbers, asked with the same one.
fn all_with(values: &[f64]) -> Vec<Result<(), String>> {
    let gates = vec![0.0; values.len().saturating_sub(1)];
    let mut told = vec![
        tell(sum_of_logits(values)),
        tell(first_error(values, 0.5)),
        tell(total(1.0, 0.1, values)),
        tell(returns(values)),
        tell(mean(values)),
        tell(worst_case(values)),
        tell(uncertainty_weighted(values, 0.1, Population)),
        tell(Standard::of(values, Population)),
        tell(gated(values, &gates)),
        tell(renorm(values, 0.5, OutcomeAt::EveryStep)),
        tell(pass_rate(values, 0.5)),
        tell(mean_yes(values)),
        tell(best(values)),
        tell(step_rewards(true, values, Weights::default())),
        tell(token_advantages(&[values.to_vec()], SPARK)),
        tell(weighted_vote(&vec![Some(1); values.len()], values)),
    ];
    told.extend(AGGREGATIONS.map(|how| tell(aggregate(values, how))));
    told.extend(SHAPINGS.map(|how| tell(shape(values, how))));
    told.extend(NORMALISATIONS.map(|how| tell(advantages(values, how))));
    told
}

#[test]
fn what_is_not_finite_never_becomes_a_number() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for values in [&[0.5, bad][..], &[bad, 0.5, 0.25], &[bad]] {
            for (index, told) in all_with(values).into_iter().enumerate() {
                told.expect_err(&format!("function {index} took {values:?}"));
            }
        }
        let scalars = [
            tell(first_error(&[0.5], bad)),
            tell(shape(&[0.5], Shaping::Clip { eta: bad })),
            tell(total(bad, 0.1, &[])),
            tell(total(1.0, bad, &[])),
            tell(uncertainty_weighted(&[0.5], bad, Population)),
            tell(Standard::new(bad, 1.0)),
            tell(Standard::new(0.0, bad)),
            tell(Standard::new(0.0, 1.0).and_then(|scale| scale.apply(bad))),
            tell(gated(&[0.5, 0.5], &[bad])),
            tell(renorm(&[0.5], bad, OutcomeAt::EveryStep)),
            tell(r1_reward(bad, 1.0, 0.0)),
            tell(r1_reward(1.0, bad, 0.0)),
            tell(r1_reward(1.0, 1.0, bad)),
            tell(capability(bad, 0.5)),
            tell(capability(0.5, bad)),
            tell(advantage(Label::Mismatched, bad, 0.1)),
            tell(advantage(Label::Right, 0.1, bad)),
            tell(preference(bad, 0.5)),
            tell(preference(0.5, bad)),
            tell(pass_rate(&[0.5], bad)),
        ];
        for (index, told) in scalars.into_iter().enumerate() {
            told.expect_err(&format!("scalar {index} may be {bad}"));
        }
    }
}

#[test]
fn lists_of_nothing_have_no_value() {
    let check = |told: Result<(), String>, expected: &str| {
        let told = told.expect_err(expected);
        assert!(told.contains(expected), "{told:?} does not hold {expected:?}");
    };
    for how in AGGREGATIONS {
        check(tell(aggregate(&[], how)), "0 step score; at least 1");
    }
    for how in NORMALISATIONS {
        check(tell(advantages(&[], how)), "at least 1");
        check(tell(token_advantages(&[vec![], vec![]], how)), "at least 1");
    }
    check(tell(share_right(&[])), "at least 1");
    check(tell(mean(&[])), "at least 1");
    check(tell(worst_case(&[])), "at least 1");
    check(tell(uncertainty_weighted(&[], 0.1, Population)), "at least 1");
    check(tell(uncertainty_weighted(&[1.0], 0.1, Unbiased)), "at least 2");
    check(tell(Standard::of(&[1.0], Population)), "at least 2");
    check(tell(renorm(&[], 0.5, OutcomeAt::LastStep)), "at least 1");
    check(tell(mean_yes(&[])), "at least 1");
    check(tell(best(&[])), "at least 1");
    check(tell(pass_rate(&[], 0.5)), "at least 1");
}

#[test]
fn what_has_no_meaning_is_refused() {
    let check = |told: Result<(), String>, expected: &str| {
        let told = told.expect_err(expected);
        assert!(told.contains(expected), "{told:?} does not hold {expected:?}");
    };
    check(
        tell(aggregate(&[0.5, 1.0], Aggregation::SumOfLogits)),
        "step score 1 is not strictly between 0 and 1",
    );
    check(tell(aggregate(&[0.0], Aggregation::SumOfLogits)), "step score 0 is not strictly");
    check(tell(gated(&[1.0, 1.0], &[])), "0 thresholds, and 1 belong");
    check(tell(gated(&[1.0], &[0.0])), "1 thresholds, and 0 belong");
    check(tell(weighted_vote(&[Some("a")], &[])), "0 weights, and 1 belong");
    check(tell(weighted_vote(&[Some("a")], &[-0.1])), "weight 0 is not 0 or more");
    check(tell(renorm(&[1.5], 0.5, OutcomeAt::EveryStep)), "from 0 to 1");
    check(tell(renorm(&[0.5], -0.5, OutcomeAt::EveryStep)), "outcome reward");
    check(tell(r1_reward(1.0, 2.0, 0.0)), "accuracy 0 is not from 0 to 1");
    check(tell(r1_reward(1.0, 1.0, 1.5)), "from -1 to 1");
    check(tell(capability(0.0, 0.5)), "alpha 0 is not above 0");
    check(tell(capability(0.5, 1.5)), "accuracy of the group");
    check(tell(preference(1.5, 0.5)), "from 0 to 1");
    check(tell(mean_yes(&[0.5, 1.1])), "probability 1");
    check(tell(uncertainty_weighted(&[0.5], -0.1, Population)), "lambda");
    check(tell(Standard::new(0.0, 0.0)), "above 0");
    check(tell(Standard::of(&[0.1; 10], Population)), "above 0");
    check(tell(step_rewards(true, &[2.0], Weights::default())), "from 0 to 1");
    let negative = Weights { whole: 2.0, process: -1.0 };
    check(tell(step_rewards(true, &[1.0], negative)), "weight 1");
    let epsilon = Normalisation::Grpo { variance: Population, epsilon: -1.0 };
    check(tell(advantages(&[0.0, 1.0], epsilon)), "epsilon");
    let verdict =
        SentenceVerdict { faithfulness_right: true, correctness_right: true, is_incorrect: false };
    let weights = |alpha, detection_bonus| SentenceWeights { alpha, detection_bonus };
    check(tell(sentence_reward(verdict, weights(1.5, 0.0))), "alpha");
    check(tell(sentence_reward(verdict, weights(0.5, f64::NAN))), "bonus");
}

#[test]
fn what_grows_too_large_is_an_error() {
    let huge = [f64::MAX, f64::MAX];
    let apart = [f64::MAX, -f64::MAX];
    for told in [
        tell(aggregate(&huge, Aggregation::Mean)),
        tell(aggregate(&huge, Aggregation::Product)),
        tell(sum_of_logits(&huge)),
        tell(mean(&huge)),
        tell(shape(&apart, SHAPINGS[1])),
        tell(returns(&huge)),
        tell(total(1.0, 0.1, &huge)),
        tell(uncertainty_weighted(&[1e200, -1e200], 0.1, Population)),
        tell(Standard::of(&[1e200, -1e200], Population)),
        tell(advantages(&[1e200, -1e200], SPARK)),
        tell(advantages(&apart, Normalisation::LeaveOneOut)),
        tell(Standard::new(0.0, 1e-300).and_then(|scale| scale.apply(1e300))),
        tell(weighted_vote(&[Some(1), Some(1)], &huge)),
    ] {
        let told = told.expect_err("it is too large");
        assert!(told.contains("not finite"), "{told}");
    }
}

#[test]
fn ten_thousand_steps_and_a_long_output_are_no_trouble() {
    let scores = vec![0.5; 10_000];
    for how in AGGREGATIONS {
        aggregate(&scores, how).expect("finite");
    }
    for how in SHAPINGS {
        shape(&scores, how).expect("finite");
    }
    // What makes a backtracking matcher quadratic.
    let output = "<think>".repeat(50_000) + &"</think><answer".repeat(50_000) + "</answer>";
    assert_eq!(answer_text(&output), None);
}

//! Numbers that are no numbers, lists that do not fit: an error, and never a reward.

use crate::combine::CombineError;
use crate::combine::Variance::{Population, Unbiased};
use crate::combine::critique::{Weights, step_rewards, token_advantages};
use crate::combine::ensemble::{Standard, mean, uncertainty_weighted};
use crate::combine::gate::gated;
use crate::combine::group::{Normalisation, SPARK, advantages, pass_rate};
use crate::combine::preference::preference;
use crate::combine::product::r1_reward;
use crate::combine::renorm::{OutcomeAt, renorm};
use crate::combine::selection::{best, weighted_vote};
use crate::combine::shaping::{Ending, Shaping, shape};
use crate::combine::steps::{Aggregation, aggregate, first_error, share_right, sum_of_logits};
use crate::combine::thoughts::{ThoughtLabel, advantage, capability};

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

fn message_of<T>(result: Result<T, CombineError>) -> Result<(), String> {
    result.map(drop).map_err(|error| error.to_string())
}

/// Calls every function that takes a list of numbers with the same list.
fn all_with(values: &[f64]) -> Vec<Result<(), String>> {
    let gates = vec![0.0; values.len().saturating_sub(1)];
    let mut result = vec![
        message_of(sum_of_logits(values)),
        message_of(first_error(values, 0.5)),
        message_of(mean(values)),
        message_of(uncertainty_weighted(values, 0.1, Population)),
        message_of(Standard::of(values, Population)),
        message_of(gated(values, &gates)),
        message_of(renorm(values, 0.5, OutcomeAt::EveryStep)),
        message_of(pass_rate(values, 0.5)),
        message_of(best(values)),
        message_of(step_rewards(true, values, Weights::default())),
        message_of(token_advantages(&[values.to_vec()], SPARK)),
        message_of(weighted_vote(&vec![Some(1); values.len()], values)),
    ];
    result.extend(AGGREGATIONS.map(|how| message_of(aggregate(values, how))));
    result.extend(SHAPINGS.map(|how| message_of(shape(values, how))));
    result.extend(NORMALISATIONS.map(|how| message_of(advantages(values, how))));
    result
}

#[test]
fn non_finite_input_is_an_error() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for values in [&[0.5, bad][..], &[bad, 0.5, 0.25], &[bad]] {
            for (index, result) in all_with(values).into_iter().enumerate() {
                result.expect_err(&format!("function {index} took {values:?}"));
            }
        }
        let scalars = [
            message_of(first_error(&[0.5], bad)),
            message_of(shape(&[0.5], Shaping::Clip { eta: bad })),
            message_of(uncertainty_weighted(&[0.5], bad, Population)),
            message_of(Standard::new(bad, 1.0)),
            message_of(Standard::new(0.0, bad)),
            message_of(Standard::new(0.0, 1.0).and_then(|scale| scale.apply(bad))),
            message_of(gated(&[0.5, 0.5], &[bad])),
            message_of(renorm(&[0.5], bad, OutcomeAt::EveryStep)),
            message_of(r1_reward(bad, 1.0, 0.0)),
            message_of(r1_reward(1.0, bad, 0.0)),
            message_of(r1_reward(1.0, 1.0, bad)),
            message_of(capability(bad, 0.5)),
            message_of(capability(0.5, bad)),
            message_of(advantage(ThoughtLabel::Mismatched, bad, 0.1)),
            message_of(advantage(ThoughtLabel::Right, 0.1, bad)),
            message_of(preference(bad, 0.5)),
            message_of(preference(0.5, bad)),
            message_of(pass_rate(&[0.5], bad)),
        ];
        for (index, result) in scalars.into_iter().enumerate() {
            result.expect_err(&format!("scalar {index} may be {bad}"));
        }
    }
}

#[test]
fn empty_lists_are_errors() {
    let check = |result: Result<(), String>, expected: &str| {
        let result = result.expect_err(expected);
        assert!(result.contains(expected), "{result:?} does not hold {expected:?}");
    };
    for how in AGGREGATIONS {
        check(message_of(aggregate(&[], how)), "0 step score; at least 1");
    }
    for how in NORMALISATIONS {
        check(message_of(advantages(&[], how)), "at least 1");
        check(message_of(token_advantages(&[vec![], vec![]], how)), "at least 1");
    }
    check(message_of(share_right(&[])), "at least 1");
    check(message_of(mean(&[])), "at least 1");
    check(message_of(uncertainty_weighted(&[], 0.1, Population)), "at least 1");
    check(message_of(uncertainty_weighted(&[1.0], 0.1, Unbiased)), "at least 2");
    check(message_of(Standard::of(&[1.0], Population)), "at least 2");
    check(message_of(renorm(&[], 0.5, OutcomeAt::LastStep)), "at least 1");
    check(message_of(best(&[])), "at least 1");
    check(message_of(pass_rate(&[], 0.5)), "at least 1");
}

#[test]
fn out_of_range_input_is_refused() {
    let check = |result: Result<(), String>, expected: &str| {
        let result = result.expect_err(expected);
        assert!(result.contains(expected), "{result:?} does not hold {expected:?}");
    };
    check(
        message_of(aggregate(&[0.5, 1.0], Aggregation::SumOfLogits)),
        "step score 1 is not strictly between 0 and 1",
    );
    check(message_of(aggregate(&[0.0], Aggregation::SumOfLogits)), "step score 0 is not strictly");
    check(message_of(gated(&[1.0, 1.0], &[])), "0 thresholds, and 1 belong");
    check(message_of(gated(&[1.0], &[0.0])), "1 thresholds, and 0 belong");
    check(message_of(weighted_vote(&[Some("a")], &[])), "0 weights, and 1 belong");
    check(message_of(weighted_vote(&[Some("a")], &[-0.1])), "weight 0 is not 0 or more");
    check(message_of(renorm(&[1.5], 0.5, OutcomeAt::EveryStep)), "from 0 to 1");
    check(message_of(renorm(&[0.5], -0.5, OutcomeAt::EveryStep)), "outcome reward");
    check(message_of(r1_reward(1.0, 2.0, 0.0)), "accuracy 0 is not from 0 to 1");
    check(message_of(r1_reward(1.0, 1.0, 1.5)), "from -1 to 1");
    check(message_of(capability(0.0, 0.5)), "alpha 0 is not above 0");
    check(message_of(capability(0.5, 1.5)), "accuracy of the group");
    check(message_of(preference(1.5, 0.5)), "from 0 to 1");
    check(message_of(uncertainty_weighted(&[0.5], -0.1, Population)), "lambda");
    check(message_of(Standard::new(0.0, 0.0)), "above 0");
    check(message_of(Standard::of(&[0.1; 10], Population)), "above 0");
    check(message_of(step_rewards(true, &[2.0], Weights::default())), "from 0 to 1");
    let negative = Weights { whole: 2.0, process: -1.0 };
    check(message_of(step_rewards(true, &[1.0], negative)), "weight 1");
    let epsilon = Normalisation::Grpo { variance: Population, epsilon: -1.0 };
    check(message_of(advantages(&[0.0, 1.0], epsilon)), "epsilon");
}

#[test]
fn overflow_is_an_error() {
    let huge = [f64::MAX, f64::MAX];
    let apart = [f64::MAX, -f64::MAX];
    for result in [
        message_of(aggregate(&huge, Aggregation::Mean)),
        message_of(aggregate(&huge, Aggregation::Product)),
        message_of(sum_of_logits(&huge)),
        message_of(mean(&huge)),
        message_of(shape(&apart, SHAPINGS[1])),
        message_of(uncertainty_weighted(&[1e200, -1e200], 0.1, Population)),
        message_of(Standard::of(&[1e200, -1e200], Population)),
        message_of(advantages(&[1e200, -1e200], SPARK)),
        message_of(advantages(&apart, Normalisation::LeaveOneOut)),
        message_of(Standard::new(0.0, 1e-300).and_then(|scale| scale.apply(1e300))),
        message_of(weighted_vote(&[Some(1), Some(1)], &huge)),
    ] {
        let result = result.expect_err("it is too large");
        assert!(result.contains("not finite"), "{result}");
    }
}

#[test]
fn ten_thousand_steps_are_combined() {
    let scores = vec![0.5; 10_000];
    for how in AGGREGATIONS {
        aggregate(&scores, how).expect("finite");
    }
    for how in SHAPINGS {
        shape(&scores, how).expect("finite");
    }
}

//! A batch in parts: denominators, streams, and totals independent of the cut.

use proptest::prelude::*;

use super::gradients::batches;
use super::{Batch, LIMITS, all_near, near, objective};
use crate::losses::aggregate::{Aggregation, BatchLimits, Denominators, Streams};
use crate::losses::layout::{Layout, Stream};
use crate::losses::{FormulaError, Objective, Stats};

const OBJECTIVES: &[&str] = &[
    "policy = { kind = 'reinforce' }\naggregation = 'seq_mean_token_sum'",
    "policy = { kind = 'grpo' }\nkl = { weight = 0.1 }\nentropy = 0.01",
    "policy = { kind = 'dr_grpo' }",
    "policy = { kind = 'dapo' }",
    "policy = { kind = 'gspo' }",
    "policy = { kind = 'oreal' }\nkl = { weight = 0.01 }",
    "policy = { kind = 'cispo_trl' }\ncorrection = { kind = 'opsm', delta = 0.1 }",
    "policy = { kind = 'decoupled_ppo', level = 'sequence' }",
    "policy = { kind = 'ppo' }\ncorrection = { kind = 'sequence_mis' }",
];

/// Compares the batch in two parts with the undivided batch.
fn check_split(batch: &Batch, objective: &Objective, cut: usize) {
    let n = batch.cu_seqlens.len() - 1;
    let denominators = batch.denominators(LIMITS);
    let whole = batch.loss(objective);
    let (mut value, mut grad, mut entropy_grad) = (0.0, Vec::new(), Vec::new());
    let mut stats = Stats::default();
    for part in [batch.part(0, cut), batch.part(cut, n)] {
        let loss = objective.evaluate(&part.tokens(), &denominators).expect("good numbers");
        value += loss.value;
        grad.extend(loss.grad);
        entropy_grad.extend(loss.entropy_grad);
        stats.merge(&loss.stats);
    }
    near("value", value, whole.value);
    assert_eq!(grad, whole.grad);
    assert_eq!(entropy_grad, whole.entropy_grad);
    for (name, tally) in whole.stats.iter() {
        let parts = stats.get(name).expect("the parts count it too");
        assert_eq!((tally.count, tally.max), (parts.count, parts.max), "{name}");
        near(name, parts.total, tally.total);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn parts_add_up_to_the_batch(mut batch in batches(), cut in 0_usize..5, seed in 0_usize..64) {
        let n = batch.cu_seqlens.len() - 1;
        for text in OBJECTIVES {
            batch.streams = None;
            check_split(&batch, &objective(text), cut.min(n));
            let stream = |at: usize| Stream::ALL[(seed >> (2 * (at % 3))) % 4];
            batch.streams = Some((0..n).map(stream).collect());
            check_split(&batch, &objective(text), cut.min(n));
        }
    }

    /// The weights of a stream add up to its share, so that no stream dilutes another.
    #[test]
    fn each_stream_has_its_share(mut batch in batches(), seed in 0_usize..64) {
        let n = batch.cu_seqlens.len() - 1;
        let stream = |at: usize| Stream::ALL[(seed >> (2 * (at % 3))) % 4];
        let streams: Vec<Stream> = (0..n).map(stream).collect();
        batch.streams = Some(streams.clone());
        let shares = Streams { policy: 1.0, judge: 0.5, ce: 0.1, ref_kl: 0.0 };
        let layout = batch.layout();
        let denominators = Denominators::of(&layout, &shares, LIMITS).expect("a good layout");
        for how in [Aggregation::SeqMeanTokenMean, Aggregation::TokenMean, Aggregation::Bnpo] {
            let weights = denominators.weights(how, &layout).expect("a good layout");
            for (stream, share) in Stream::ALL.into_iter().zip([1.0, 0.5, 0.1, 0.0]) {
                let sum: f64 = (0..n)
                    .filter(|at| streams[*at] == stream)
                    .flat_map(|at| batch.cu_seqlens[at]..batch.cu_seqlens[at + 1])
                    .map(|token| weights[token])
                    .sum();
                let counted = denominators.counts(stream).tokens > 0;
                near(stream.name(), sum, if counted { share } else { 0.0 });
            }
        }
    }

    /// Judge data cannot change the gradient of the policy's tokens.
    #[test]
    fn judge_tokens_leave_the_policy_gradient_unchanged(mut batch in batches()) {
        let alone = batch.part(0, 1).loss(&Objective::default());
        let n = batch.cu_seqlens.len() - 1;
        let mut streams = vec![Stream::Judge; n];
        streams[0] = Stream::Policy;
        batch.streams = Some(streams);
        let mixed = batch.loss(&Objective::default());
        prop_assert_eq!(&mixed.grad[..alone.grad.len()], &alone.grad[..]);
    }
}

#[test]
fn aggregations_weigh_tokens() {
    let (cu_seqlens, mask) = ([0, 2, 5, 6], [true, true, true, false, true, true]);
    let layout = Layout::new(&cu_seqlens, &mask);
    let limits = BatchLimits { max_tokens: 10, micro_batches: 2 };
    let denominators =
        Denominators::of(&layout, &Streams::default(), limits).expect("a good layout");
    let check = |how, expected: [f64; 6]| {
        let weights = denominators.weights(how, &layout).expect("a good layout");
        all_near(&format!("{how:?}"), &weights, &expected);
    };
    let sixth = 1.0 / 6.0;
    check(Aggregation::SeqMeanTokenMean, [sixth, sixth, sixth, 0.0, sixth, 1.0 / 3.0]);
    check(Aggregation::TokenMean, [0.2, 0.2, 0.2, 0.0, 0.2, 0.2]);
    check(Aggregation::Bnpo, [0.1, 0.1, 0.1, 0.0, 0.1, 0.1]);
    let tenth = 1.0 / 30.0;
    check(Aggregation::DrGrpo, [tenth, tenth, tenth, 0.0, tenth, tenth]);
    let third = 1.0 / 3.0;
    check(Aggregation::SeqMeanTokenSum, [third, third, third, 0.0, third, third]);
}

#[test]
fn filtered_sequence_is_not_counted() {
    let cu_seqlens = [0, 2, 4];
    let layout = Layout::new(&cu_seqlens, &[true, true, false, false]);
    let denominators =
        Denominators::of(&layout, &Streams::default(), LIMITS).expect("a good layout");
    let weights = denominators.weights(Aggregation::SeqMeanTokenMean, &layout);
    assert_eq!(weights, Ok(vec![0.5, 0.5, 0.0, 0.0]));
}

#[test]
fn denominators_of_another_batch_are_refused() {
    let small = Layout::new(&[0, 1], &[true]);
    let large = Layout::new(&[0, 2], &[true, true]);
    let denominators =
        Denominators::of(&small, &Streams::default(), LIMITS).expect("a good layout");
    assert_eq!(
        denominators.weights(Aggregation::TokenMean, &large),
        Err(FormulaError::Denominator { what: "tokens" })
    );
}

#[test]
fn invalid_limits_and_shares_are_refused() {
    let layout = Layout::new(&[0, 1], &[true]);
    let check = |shares: Streams, limits: BatchLimits| {
        let denominators = Denominators::of(&layout, &shares, limits);
        assert!(matches!(denominators, Err(FormulaError::Setting { .. })));
    };
    for share in [-1.0, f64::NAN, f64::INFINITY] {
        let shares = Streams { judge: share, ..Streams::default() };
        check(shares, LIMITS);
    }
    for (max_tokens, micro_batches) in [(0, 1), (1, 0)] {
        let limits = BatchLimits { max_tokens, micro_batches };
        check(Streams::default(), limits);
    }
}

/// Two observed tokens between sampled ones.
#[test]
fn i2_observations_are_in_no_mean() {
    let (cu_seqlens, mask) = ([0, 7], [true, true, true, false, false, true, true]);
    let layout = Layout::new(&cu_seqlens, &mask);
    let denominators =
        Denominators::of(&layout, &Streams::default(), LIMITS).expect("a good layout");
    let weights = denominators.weights(Aggregation::TokenMean, &layout).expect("a good layout");
    let losses = [1.0, 1.0, 1.0, 9.0, 9.0, 2.0, 2.0];
    near("mean", weights.iter().zip(losses).map(|(weight, loss)| weight * loss).sum(), 1.4);
}

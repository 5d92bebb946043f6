use proptest::prelude::*;

use super::{close, rubric};
use crate::rubric::{Interaction, Rubicon, RubricError, Saturation, Shaping, points};

#[test]
fn a12_ruscarl_score() {
    let check = |items: &[(f64, f64)], unclipped: f64, clipped: f64| {
        let items: Vec<_> = items.iter().map(|(p, met)| (*p, Some(*met))).collect();
        let found = points(&items).expect("finite");
        close(found.unclipped, unclipped);
        close(found.clipped, clipped);
    };
    check(&[(5.0, 1.0), (3.0, 0.0), (-2.0, 1.0)], 3.0 / 8.0, 0.375);
    check(&[(5.0, 1.0), (3.0, 1.0), (-2.0, 0.0)], 1.0, 1.0);
    check(&[(5.0, 0.0), (3.0, 0.0), (-2.0, 1.0)], -0.25, 0.0);
    check(&[(5.0, 0.0), (-10.0, 1.0), (-10.0, 1.0)], -4.0, 0.0);
    check(&[(5.0, 0.5), (5.0, 1.0)], 0.75, 0.75);
    // No positive points: 0, as the paper's code has it.
    check(&[(-5.0, 1.0)], 0.0, 0.0);
    check(&[], 0.0, 0.0);
}

#[test]
fn item_without_value_leaves_both_sums() {
    let found = points(&[(5.0, Some(1.0)), (3.0, None), (-2.0, Some(1.0))]).expect("finite");
    close(found.unclipped, 3.0 / 5.0);
    let none = points(&[(5.0, None), (-2.0, Some(1.0))]);
    assert_eq!(none, Err(RubricError::NothingCounted));
}

#[test]
fn b7_saturation() {
    let check = |saturation: Saturation, r: f64, expected: f64| close(saturation.of(r), expected);
    check(Saturation::Tanh(2.0), 0.0, 0.0);
    check(Saturation::Tanh(2.0), 0.5, 0.761_594 / 0.964_028);
    check(Saturation::Tanh(2.0), 1.0, 1.0);
    check(Saturation::Tanh(2.0), -1.0, -1.0);
    check(Saturation::Cap(0.8), 0.9, 0.8);
    check(Saturation::Cap(0.8), 0.3, 0.3);
}

#[test]
fn b7_order_of_the_steps() {
    let full = Rubicon {
        base: 0.0,
        saturation: Some(Saturation::Tanh(2.0)),
        interactions: vec![Interaction { items: (0, 1), gamma: 0.2 }],
        shaping: Some(Shaping { knee: 0.7, power: 2.0, top: 1.0 }),
    };
    let dimensions = [(0.6, Some(0.5)), (0.4, Some(1.0))];
    // g = 0.790013 and 1; 0.474008 + 0.4 + 0.2 * 0.790013 = 1.032010; shaped from 0.7 on.
    close(full.of(&dimensions).expect("finite"), 1.067_436);
    let check = |rubicon: Rubicon, expected: f64| {
        close(rubicon.of(&dimensions).expect("finite"), expected);
    };
    check(Rubicon { shaping: None, ..full.clone() }, 1.032_010);
    check(Rubicon { shaping: None, interactions: Vec::new(), ..full.clone() }, 0.874_008);
    check(Rubicon::default(), 0.7);
    check(Rubicon { base: 1.0, ..Rubicon::default() }, 1.7);
}

#[test]
fn weights_are_rescaled_without_missing_dimensions() {
    let rubicon = Rubicon {
        interactions: vec![Interaction { items: (0, 1), gamma: 5.0 }],
        ..Rubicon::default()
    };
    let found = rubicon.of(&[(0.6, None), (0.3, Some(1.0)), (0.1, Some(0.0))]);
    close(found.expect("finite"), 0.75);
    let none = rubicon.of(&[(0.6, None), (0.0, Some(1.0))]);
    assert_eq!(none, Err(RubricError::NothingCounted));
}

const VETOED: &str = "
[aggregate]
method = 'rubicon'
veto = -1
clip = true
[[items]]
id = 'a'
criterion = 'good'
weight = 3
[[items]]
id = 'safe'
criterion = 'no harm is done'
weight = 0.5
critical = { below = 0.5 }
[[items]]
id = 'flattery'
criterion = 'it flatters'
weight = 0
critical = { above = 0.5 }
";

#[test]
fn b7_the_veto_comes_last() {
    let rubric = rubric(VETOED);
    let check = |values: [f64; 3], score: f64, vetoed_by: Option<usize>| {
        let whole = rubric.aggregate(&values.map(Some)).expect("finite");
        close(whole.score, score);
        assert_eq!(whole.vetoed_by, vetoed_by, "{values:?}");
    };
    check([1.0, 1.0, 0.0], 1.0, None);
    check([0.1, 1.0, 0.5], 0.8, None);
    check([1.0, 0.4, 0.0], -1.0, Some(1));
    check([1.0, 1.0, 0.6], -1.0, Some(2));
    close(rubric.least().expect("finite"), -1.0);
}

#[test]
fn unmeasured_items_give_no_number() {
    let rubric = rubric(VETOED);
    let check = |values: &[Option<f64>], expected: RubricError| {
        assert_eq!(rubric.aggregate(values), Err(expected));
    };
    let id = |id: &str| id.to_owned();
    check(&[Some(1.0)], RubricError::Length { given: 1, items: 3 });
    check(&[Some(f64::NAN), Some(1.0), Some(0.0)], RubricError::NotFinite { id: id("a") });
    check(&[Some(1.0), None, Some(0.0)], RubricError::VetoUnknown { id: id("safe") });
    let skipped = rubric.aggregate(&[None, Some(1.0), Some(0.0)]);
    close(skipped.expect("a value").unclipped, 3.5);
}

proptest! {
    #[test]
    fn b7_shaping_keeps_the_order(a in -2.0..3.0f64, b in -2.0..3.0f64, power in 1.0..6.0f64) {
        let shaping = Shaping { knee: 0.6, power, top: 1.0 };
        prop_assert!(a > b || shaping.of(a) <= shaping.of(b) + 1e-12);
        prop_assert!((shaping.of(1.0) - 1.0).abs() < 1e-12);
        prop_assert!(a > 0.6 || (shaping.of(a) - a).abs() < 1e-12);
        prop_assert!((shaping.of(0.6 + 1e-9) - 0.6).abs() < 1e-7);
    }

    #[test]
    fn a12_meeting_more_never_scores_less(
        items in prop::collection::vec((1.0..10.0f64, -10.0..10.0f64, any::<bool>()), 1..8),
        turned in 0..8usize,
    ) {
        let of = |turn: Option<usize>| {
            let all = items.iter().enumerate().flat_map(|(at, (merit, other, met))| {
                let met = if *met || turn == Some(at) { 1.0 } else { 0.0 };
                [(*merit, Some(met)), (*other, Some(0.0))]
            });
            points(&all.collect::<Vec<_>>()).expect("finite")
        };
        let (before, after) = (of(None), of(Some(turned)));
        prop_assert!(after.unclipped >= before.unclipped);
        prop_assert!((0.0..=1.0).contains(&after.clipped));
    }
}

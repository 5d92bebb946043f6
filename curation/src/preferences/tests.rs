use proptest::prelude::*;

use super::*;
use base::seeded::Draws;

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-12
}

#[test]
fn strength_is_mean_and_deviation() {
    // Differences 1, 2, 6: mean 3, squares 4 + 1 + 9 = 14.
    let differences = [Some(2.0), None, Some(6.0), Some(f64::NAN), Some(1.0)];
    let population = strength(&differences, StdDevKind::Population).expect("measured");
    assert!(near(population.mean, 3.0));
    assert!(near(population.spread.expect("known"), f64::sqrt(14.0 / 3.0)));
    assert_eq!((population.measured, population.unmeasured), (3, 2));
    let sample = strength(&differences, StdDevKind::Sample).expect("measured");
    assert!(near(sample.spread.expect("known"), f64::sqrt(7.0)));
    let one = strength(&[Some(-1.5)], StdDevKind::Sample).expect("measured");
    assert_eq!((one.mean, one.spread, one.against), (-1.5, None, 1));
    assert_eq!(strength(&[Some(-1.5)], StdDevKind::Population).and_then(|s| s.spread), Some(0.0));
    for nothing in [&[][..], &[None][..], &[Some(f64::INFINITY), None][..]] {
        assert_eq!(strength(nothing, StdDevKind::Population), None, "{nothing:?}");
    }
}

#[test]
fn h2_strength_by_hand() {
    let differences = [1.2, 0.8, 1.0, -0.2, 0.7].map(Some);
    for (kind, squares) in [(StdDevKind::Population, 0.232), (StdDevKind::Sample, 0.29)] {
        let found = strength(&differences, kind).expect("measured");
        assert!(near(found.mean, 0.7) && near(found.spread.expect("known"), f64::sqrt(squares)));
    }
}

/// Rows that are no pairs would move percentages and scales.
#[test]
fn rows_that_are_no_pairs_have_no_votes() {
    let mut all = AllVotes::new(2);
    let votes = [[-9.0, 1.0], [3.0, -1.0], [4.0, 1.0]].concat().into_iter().map(Some).collect();
    let refusals = vec![Some("no text".to_owned()), None, None];
    all.add(BatchVotes { votes, refusals });
    let means = |all: &AllVotes| {
        let found = all.strengths(StdDevKind::Population);
        found.map(|strength| strength.map(|strength| strength.mean)).collect::<Vec<_>>()
    };
    assert_eq!(means(&all), [None, Some(1.0), Some(2.5)]);
    all.rescale();
    let root = f64::sqrt(12.5);
    let [second, third] = [f64::midpoint(3.0 / root, -1.0), f64::midpoint(4.0 / root, 1.0)];
    let rescaled = means(&all);
    assert_eq!(rescaled[0], None);
    assert!(
        near(rescaled[1].expect("a pair"), second) && near(rescaled[2].expect("a pair"), third)
    );
}

#[test]
fn rescaling_gives_scorers_equal_weight() {
    // Root mean squares: of 3 and 4 it is sqrt(12.5), of 300 and 400 a hundred times that.
    let pairs = [
        [Some(3.0), Some(-400.0), Some(0.0)],
        [Some(-4.0), Some(300.0), None],
        [None, Some(f64::INFINITY), Some(0.0)],
    ];
    let root = f64::sqrt(12.5);
    let mut votes = Votes::new(3);
    votes.extend(&pairs[..2].concat());
    votes.extend(&pairs[2]);
    assert_eq!(votes.n_pairs(), 3);
    assert_eq!(votes.pair(1), pairs[1]);
    assert_eq!(votes.pair(2), [None, None, Some(0.0)]);
    let scales = votes.scales();
    let value = |pair: usize, scorer: usize| {
        rescaled(&votes.pair(pair), &scales)[scorer].expect("it was measured")
    };
    assert!(near(value(0, 0), 3.0 / root) && near(value(1, 0), -4.0 / root));
    assert!(near(value(0, 1), -4.0 / root) && near(value(1, 1), 3.0 / root));
    assert!(near(value(0, 2), 0.0));
    assert_eq!(rescaled(&votes.pair(1), &scales)[2], None);
    assert_eq!(Votes::new(2).scales(), [1.0, 1.0]);
}

fn of(mean: f64) -> Option<Strength> {
    strength(&[Some(mean)], StdDevKind::Population)
}

/// Rules that flip below one bound, soften below another and drop from a third on.
fn three(flip: StrengthBound, soften: StrengthBound, drop: StrengthBound) -> StrengthRules {
    let rule = |from, below, action| StrengthRule { from, below, action };
    StrengthRules {
        rules: vec![
            rule(None, Some(flip), Action::Flip),
            rule(None, Some(soften), Action::Soften { smoothing: 0.2 }),
            rule(Some(drop), None, Action::Drop),
        ],
        ..StrengthRules::default()
    }
}

fn decisions(rules: &StrengthRules, means: &[f64]) -> Vec<String> {
    let strengths: Vec<Option<Strength>> = means.iter().map(|mean| of(*mean)).collect();
    let resolved = rules.resolve(strengths.iter().copied()).expect("valid rules");
    let shown = |strength: &Option<Strength>| match resolved.decide(strength.as_ref()).0 {
        PairDecision::Row { flipped, label, margin } => {
            format!("{}{label:.2} {margin}", if flipped { "flip " } else { "" })
        }
        PairDecision::Dropped => "drop".to_owned(),
        PairDecision::Disputed => "disputed".to_owned(),
        PairDecision::NotMeasured => "none".to_owned(),
    };
    strengths.iter().map(shown).collect()
}

#[test]
fn first_matching_rule_decides() {
    let rules = three(
        StrengthBound::Strength(-1.0),
        StrengthBound::Strength(0.5),
        StrengthBound::Strength(3.0),
    );
    // Ends: a bound belongs to what begins at it. (1 - 0.2) + 0.2 / 2 = 0.9.
    assert_eq!(
        decisions(&rules, &[-2.0, -1.0, 0.0, 0.5, 2.0, 3.0, 9.0]),
        ["flip 1.00 2", "0.90 -1", "0.90 0", "1.00 0.5", "1.00 2", "drop", "drop"]
    );
}

#[test]
fn quantiles_are_counts_of_the_weakest() {
    let rules = three(
        StrengthBound::Quantile(0.2),
        StrengthBound::Quantile(0.4),
        StrengthBound::Quantile(0.8),
    );
    assert_eq!(
        decisions(&rules, &[5.0, 4.0, 3.0, 2.0, 1.0]),
        ["drop", "1.00 4", "1.00 3", "0.90 2", "flip 1.00 -1"]
    );
    // Equal strengths on both sides of a quantile match no rule.
    assert_eq!(decisions(&rules, &[1.0, 1.0, 1.0, 1.0, 1.0]), ["1.00 1"; 5]);
    for (share, n_flipped) in [(0.0, 0), (0.07, 7), (0.29, 29), (0.555, 55), (1.0, 100)] {
        let rules = StrengthRules {
            rules: vec![StrengthRule {
                from: None,
                below: Some(StrengthBound::Quantile(share)),
                action: Action::Flip,
            }],
            ..StrengthRules::default()
        };
        let means: Vec<f64> = (0..100).map(f64::from).collect();
        let flipped = decisions(&rules, &means);
        let count = flipped.iter().filter(|text| text.starts_with("flip")).count();
        assert_eq!(count, n_flipped, "{share}");
    }
}

#[test]
fn kept_pairs_skip_later_rules() {
    let rule = |from, action| StrengthRule { from, below: None, action };
    let rules = StrengthRules {
        rules: vec![
            rule(Some(StrengthBound::Strength(2.0)), Action::Keep),
            rule(None, Action::Drop),
        ],
        ..StrengthRules::default()
    };
    assert_eq!(decisions(&rules, &[1.0, 2.0]), ["drop", "1.00 2"]);
    let resolved = rules.resolve([]).expect("valid rules");
    let which: Vec<_> =
        [of(1.0), of(2.0), None].iter().map(|s| resolved.decide(s.as_ref()).1).collect();
    assert_eq!(which, [Some(1), Some(0), None]);
    assert!(!rules.need_all_strengths() && !rules.may_flip());
}

#[test]
fn flipping_and_softening_go_together() {
    let rules = StrengthRules {
        rules: vec![StrengthRule {
            from: None,
            below: Some(StrengthBound::Strength(0.0)),
            action: Action::FlipAndSoften { smoothing: 0.1 },
        }],
        ..StrengthRules::default()
    };
    assert_eq!(decisions(&rules, &[-2.0, 2.0]), ["flip 0.95 2", "1.00 2"]);
}

#[test]
fn unmeasured_pairs_are_not_weak() {
    let rules = StrengthRules {
        least_measured: 2,
        most_spread: Some(1.0),
        ..three(
            StrengthBound::Quantile(0.5),
            StrengthBound::Quantile(0.5),
            StrengthBound::Quantile(1.0),
        )
    };
    let strengths = [
        strength(&[Some(1.0), Some(1.5)], StdDevKind::Population),
        strength(&[Some(2.0), Some(2.5)], StdDevKind::Population),
        strength(&[Some(-9.0), None], StdDevKind::Population),
        strength(&[Some(-3.0), Some(9.0)], StdDevKind::Population),
        None,
    ];
    let resolved = rules.resolve(strengths.iter().copied()).expect("valid rules");
    let decided: Vec<PairDecision> =
        strengths.iter().map(|s| resolved.decide(s.as_ref()).0).collect();
    // Of the three that count, the means are 1.25, 2.25 and 3: one lies below the median.
    let row = |flipped, margin| PairDecision::Row { flipped, label: 1.0, margin };
    assert_eq!(
        decided,
        [
            row(true, -1.25),
            row(false, 2.25),
            PairDecision::NotMeasured,
            PairDecision::Disputed,
            PairDecision::NotMeasured
        ]
    );
    // Quantiles of no pairs match nothing.
    let resolved = rules.resolve([None]).expect("valid rules");
    assert_eq!(resolved.decide(strengths[0].as_ref()).0, row(false, 1.25));
}

#[test]
fn bad_rules_are_refused_by_number() {
    let rule = |from, below, action| StrengthRules {
        rules: vec![
            StrengthRule {
                from: None,
                below: Some(StrengthBound::Strength(0.0)),
                action: Action::Flip,
            },
            StrengthRule { from, below, action },
        ],
        ..StrengthRules::default()
    };
    for (from, below, action) in [
        (None, Some(StrengthBound::Quantile(1.5)), Action::Drop),
        (Some(StrengthBound::Quantile(-0.1)), None, Action::Drop),
        (Some(StrengthBound::Quantile(f64::NAN)), None, Action::Drop),
        (Some(StrengthBound::Strength(f64::NAN)), None, Action::Drop),
        (None, None, Action::Soften { smoothing: 1.5 }),
        (None, None, Action::FlipAndSoften { smoothing: f64::NAN }),
        (Some(StrengthBound::Strength(1.0)), Some(StrengthBound::Strength(1.0)), Action::Drop),
    ] {
        let rules = rule(from, below, action);
        let error = rules.resolve([of(1.0)]).expect_err("it is out of range");
        let number = match error {
            RuleError::OutOfRange { rule, .. } | RuleError::Empty { rule, .. } => rule,
            RuleError::Spread(_) => 0,
        };
        assert_eq!(number, 2, "{rules:?}");
    }
    for spread in [-1.0, f64::NAN] {
        let rules = StrengthRules { most_spread: Some(spread), ..StrengthRules::default() };
        assert!(matches!(rules.resolve([]), Err(RuleError::Spread(_))));
    }
}

proptest! {
    #[test]
    fn decisions_do_not_depend_on_pair_order(
        means in prop::collection::vec(-3i8..4, 1..20), share in 0.0f64..1.0, seed in any::<u64>()
    ) {
        let means: Vec<f64> = means.into_iter().map(f64::from).collect();
        let mut turned: Vec<usize> = (0..means.len()).collect();
        let mut draws = Draws::new(seed);
        for at in (1..turned.len()).rev() {
            turned.swap(at, draws.below(at + 1));
        }
        let order: Vec<f64> = turned.iter().map(|at| means[*at]).collect();
        let rules = three(StrengthBound::Quantile(share / 2.0), StrengthBound::Quantile(share), StrengthBound::Strength(2.5));
        let (straight, mixed) = (decisions(&rules, &means), decisions(&rules, &order));
        for (at, from) in turned.iter().enumerate() {
            prop_assert_eq!(&mixed[at], &straight[*from]);
        }
    }
}

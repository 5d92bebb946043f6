use proptest::prelude::*;

use super::*;
use base::seeded::Draws;

fn members<'a>(scored: &[(&'a str, Option<f64>)]) -> Vec<GroupMember<'a>> {
    let member = |(text, score): &(&'a str, Option<f64>)| GroupMember { text, score: *score };
    scored.iter().map(member).collect()
}

/// Distinct texts with these scores.
fn scored(scores: &[Option<f64>]) -> Vec<GroupMember<'static>> {
    const TEXTS: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let pairs: Vec<_> = TEXTS.into_iter().zip(scores.iter().copied()).collect();
    members(&pairs)
}

const SOME: fn(f64) -> Option<f64> = Some;

#[test]
fn pass_rates_leave_out_missing_scores() {
    // scores, mark; passed, measured, unmeasured, rate, bounds
    type Line = (&'static [Option<f64>], (usize, usize, usize), Option<f64>, Option<(f64, f64)>);
    let lines: [Line; 5] = [
        (&[], (0, 0, 0), None, None),
        (&[None, None], (0, 0, 2), None, Some((0.0, 1.0))),
        (&[Some(1.0), Some(0.0), None, Some(0.5)], (2, 3, 1), Some(2.0 / 3.0), Some((0.5, 0.75))),
        (
            &[Some(f64::NAN), Some(f64::INFINITY), Some(1.0)],
            (1, 1, 2),
            Some(1.0),
            Some((1.0 / 3.0, 1.0)),
        ),
        (&[Some(0.49), Some(-1.0)], (0, 2, 0), Some(0.0), Some((0.0, 0.0))),
    ];
    for (scores, (passed, measured, unmeasured), rate, bounds) in lines {
        let found = pass_rate(scores, 0.5);
        let expected = PassRate { passed, measured, unmeasured };
        assert_eq!(found, expected, "{scores:?}");
        assert_eq!(found.rate(), rate, "{scores:?}");
        assert_eq!(found.bounds(), bounds, "{scores:?}");
    }
}

#[test]
fn bands_have_their_ends() {
    let band: Band = "0.25:0.75".parse().expect("a band");
    let place = |passed, measured| {
        let rate = PassRate { passed, measured, unmeasured: 0 };
        band.place(&rate, 2)
    };
    for (passed, measured, expected) in [
        (1, 4, BandPosition::Inside),
        (3, 4, BandPosition::Inside),
        (2, 4, BandPosition::Inside),
        (0, 4, BandPosition::Below),
        (1, 5, BandPosition::Below),
        (4, 4, BandPosition::Above),
        (0, 0, BandPosition::NotMeasured),
        (1, 1, BandPosition::NotMeasured),
    ] {
        assert_eq!(place(passed, measured), expected, "{passed}/{measured}");
    }
    for (text, is_form) in [
        ("0.25", true),
        ("a:b", true),
        ("", true),
        ("0.75:0.25", false),
        ("-0.1:0.5", false),
        ("0.5:1.1", false),
        ("nan:0.5", false),
        ("0:inf", false),
    ] {
        let error = text.parse::<Band>().expect_err(text);
        assert_eq!(matches!(error, BandError::Form(_)), is_form, "{text}");
    }
}

#[test]
fn best_is_chosen_among_measured_responses() {
    for (scores, expected_best, expected_worst) in [
        (&[][..], None, None),
        (&[None][..], None, None),
        (&[Some(f64::NAN), None][..], None, None),
        (&[Some(-2.0), None, Some(-1.0)][..], Some(2), Some(0)),
        (&[Some(3.0)][..], Some(0), Some(0)),
    ] {
        let group = scored(scores);
        assert_eq!(best(&group, 1), expected_best, "{scores:?}");
        assert_eq!(worst(&group, 1), expected_worst, "{scores:?}");
    }
    let group = scored(&[Some(1.0), None, Some(3.0), Some(2.0)]);
    assert_eq!(best_of(&group, 3, 0), Some(2));
    assert_eq!(best_of(&group, 4, 0), None, "only three were measured");
    assert_eq!(best_of(&group, 0, 0), None);
    // The best of one is a draw.
    let drawn: Vec<_> = (0..60).map(|seed| best_of(&group, 1, seed)).collect();
    for position in [0, 2, 3] {
        let times = drawn.iter().filter(|at| **at == Some(position)).count();
        assert!(times > 5, "{position}: {times}");
    }
}

fn pair_of(scores: &[Option<f64>], rule: PairRule) -> Result<(usize, usize), NoPair> {
    let pair = best_worst(&scored(scores), rule, |_, _| None)?;
    assert_eq!(pair.agreement, OrderAgreement::NotAsked);
    Ok((pair.chosen, pair.rejected))
}

#[test]
fn pairs_are_of_the_best_and_the_worst() {
    let margin = |margin| PairRule { margin, ..PairRule::default() };
    for (scores, rule, expected) in [
        (&[Some(0.0), Some(1.0), None][..], margin(0.0), Ok((1, 0))),
        (&[Some(0.0), Some(1.0)][..], margin(1.0), Ok((1, 0))),
        (&[Some(0.0), Some(1.0)][..], margin(1.5), Err(NoPair::WithinMargin { difference: 1.0 })),
        (&[Some(1.0), Some(1.0)][..], margin(0.0), Err(NoPair::Tie)),
        (&[Some(0.0), Some(-0.0)][..], margin(0.0), Err(NoPair::Tie)),
        (
            &[Some(1.0), None, Some(f64::NAN)][..],
            margin(0.0),
            Err(NoPair::TooFewMeasured { measured: 1 }),
        ),
        (&[][..], margin(0.0), Err(NoPair::TooFewMeasured { measured: 0 })),
    ] {
        assert_eq!(pair_of(scores, rule), expected, "{scores:?}");
    }
    let twins = members(&[("same", Some(1.0)), ("same", Some(0.0))]);
    let found = best_worst(&twins, PairRule::default(), |_, _| None);
    assert_eq!(found, Err(NoPair::SameText));
}

#[test]
fn required_orders_must_agree() {
    let group = scored(&[Some(0.0), Some(1.0)]);
    for (first, second, expected) in [
        (Some(0.9), Some(0.6), OrderAgreement::Agrees),
        (Some(0.1), Some(0.4), OrderAgreement::Contradicts),
        (Some(0.9), Some(0.1), OrderAgreement::Inconsistent),
        (Some(0.5), Some(0.9), OrderAgreement::Inconsistent),
        (None, Some(0.9), OrderAgreement::NotMeasured),
        (Some(f64::NAN), Some(0.9), OrderAgreement::NotMeasured),
    ] {
        let orders = |chosen, rejected| {
            assert_eq!((chosen, rejected), (1, 0));
            Some(BothOrders { first, second })
        };
        let strict = PairRule { both_orders: true, ..PairRule::default() };
        let loose = best_worst(&group, PairRule::default(), orders).expect("a pair");
        assert_eq!(loose.agreement, expected);
        let found = best_worst(&group, strict, orders);
        if expected == OrderAgreement::Agrees {
            assert_eq!(found.map(|pair| pair.chosen), Ok(1));
        } else {
            let agreement = expected;
            assert_eq!(found, Err(NoPair::OrdersDisagree { agreement }));
        }
    }
    // Row 1 shown first wins with 0.8; shown second, row 0 wins with 0.3.
    let matrix = vec![vec![None, SOME(0.3)], vec![SOME(0.8), None]];
    let orders = both_orders(&matrix, 1, 0);
    assert_eq!(orders.first, Some(0.8));
    assert!((orders.second.expect("measured") - 0.7).abs() < 1e-12);
    assert_eq!(both_orders(&matrix, 1, 5), BothOrders::default());
}

#[test]
fn rows_carry_texts_and_scores() {
    let group = members(&[("bad", Some(0.25)), ("good", Some(1.0))]);
    let pair = best_worst(&group, PairRule::default(), |_, _| None).expect("a pair");
    let row = pair.row("why?", &group);
    let expected = PreferenceRow {
        prompt: "why?",
        chosen: "good",
        rejected: "bad",
        chosen_score: 1.0,
        rejected_score: 0.25,
        margin: 0.75,
    };
    assert_eq!(row, expected);
}

fn vote(ballots: &[(Option<&str>, Option<f64>)]) -> String {
    let ballots: Vec<Ballot<'_>> = ballots
        .iter()
        .map(|(answer, weight)| Ballot { answer: *answer, weight: *weight })
        .collect();
    match majority(&ballots, normalised) {
        VoteOutcome::Won { answer, voters, share, n_silent } => {
            format!("{answer} {voters:?} {share:.3} {n_silent}")
        }
        VoteOutcome::Tied { answers, n_silent } => format!("tied {answers:?} {n_silent}"),
        VoteOutcome::NoVotes { n_silent } => format!("none {n_silent}"),
    }
}

#[test]
fn greatest_weight_wins() {
    let one = SOME(1.0);
    for (ballots, expected) in [
        (&[][..], "none 0"),
        (&[(None, one), (Some(" "), one)][..], "none 2"),
        (&[(Some("18"), one), (Some("$18$."), one), (Some("17"), one)][..], "18 [0, 1] 0.667 0"),
        (&[(Some("18"), one), (Some("17"), one), (None, one)][..], r#"tied ["17", "18"] 1"#),
        // A failed weight is no vote, and neither is a negative one.
        (
            &[(Some("a"), None), (Some("a"), SOME(-1.0)), (Some("B"), SOME(0.5))][..],
            "b [2] 1.000 2",
        ),
        (
            &[(Some("x"), SOME(0.2)), (Some("y"), SOME(0.5)), (Some("x"), SOME(0.2))][..],
            "y [1] 0.556 0",
        ),
        (&[(Some("x"), SOME(0.0))][..], "none 0"),
    ] {
        assert_eq!(vote(ballots), expected, "{ballots:?}");
    }
}

#[test]
fn votes_compare_normalised_answers() {
    for (answer, expected) in [
        (" 42 ", Some("42")),
        ("$ 42 $.", Some("42")),
        ("A  B\nC", Some("a b c")),
        ("3.5", Some("3.5")),
        ("-1", Some("-1")),
        ("...", Some("..")),
        ("$$", None),
        ("", None),
    ] {
        assert_eq!(normalised(answer).as_deref(), expected, "{answer:?}");
    }
}

#[test]
fn filters_have_the_weights_of_the_code() {
    // Five responses, as in the authors' runs: the best is the third, the worst the second.
    let group = scored(&[Some(1.0), Some(-2.0), Some(3.0), Some(0.0), Some(2.0)]);
    for (filtration, expected) in [
        (Filtration::BestOfN, [0.0, 0.0, 1.0, 0.0, 0.0]),
        // 0.4 for the best and 0.1 for each other, which are eighths of 0.8.
        (Filtration::BestRandom, [0.125, 0.125, 0.5, 0.125, 0.125]),
        (Filtration::BestWorst, [0.0, 0.5, 0.5, 0.0, 0.0]),
        // Squares 1, 4, 9, 0, 4 of 18.
        (Filtration::Reweight, [1.0 / 18.0, 4.0 / 18.0, 0.5, 0.0, 4.0 / 18.0]),
    ] {
        let found = weights(&group, filtration, 0).expect("drawable");
        let difference = found.iter().zip(expected).map(|(a, b)| (a - b).abs());
        assert!(difference.fold(0.0, f64::max) < 1e-12, "{filtration:?} {found:?}");
    }
    let zeros = scored(&[Some(0.0), Some(0.0), None]);
    assert_eq!(weights(&zeros, Filtration::Reweight, 0), None);
    assert_eq!(weights(&scored(&[None]), Filtration::BestOfN, 0), None);
    let one = weights(&scored(&[None, Some(0.5)]), Filtration::BestRandom, 0);
    assert_eq!(one, Some(vec![0.0, 1.0]));
}

#[test]
fn filters_keep_their_extremes() {
    let group = scored(&[Some(1.0), Some(-2.0), Some(3.0), None, Some(2.0)]);
    assert_eq!(keep(&group, Filtration::BestOfN, 2, 0), [2]);
    assert_eq!(keep(&group, Filtration::BestWorst, 2, 0), [1, 2]);
    let others: std::collections::BTreeSet<Vec<usize>> =
        (0..40).map(|seed| keep(&group, Filtration::BestRandom, 2, seed)).collect();
    let expected = [vec![0, 2], vec![1, 2], vec![2, 4]];
    assert_eq!(others, std::collections::BTreeSet::from(expected));
    for n in 0..6 {
        let kept = keep(&group, Filtration::Reweight, n, 3);
        assert_eq!(kept.len(), n.min(4), "{kept:?}");
        assert!(!kept.contains(&3));
    }
    assert_eq!(keep(&scored(&[None]), Filtration::BestRandom, 1, 0), [0; 0]);
}

#[test]
fn reweighting_draws_in_proportion_to_squares() {
    // One of three is drawn with weights 1, 4 and 9 of 14.
    let group = scored(&[Some(1.0), Some(-2.0), Some(3.0)]);
    let mut counts = [0.0; 3];
    for seed in 0..7000 {
        counts[keep(&group, Filtration::Reweight, 1, seed)[0]] += 1.0;
    }
    for (count, square) in counts.iter().zip([1.0, 4.0, 9.0]) {
        let p: f64 = square / 14.0;
        let deviation = f64::sqrt(7000.0 * p * (1.0 - p));
        assert!((count - 7000.0 * p).abs() < 5.0 * deviation, "{counts:?}");
    }
}

/// Scores from few values, so that they tie.
fn groups() -> impl Strategy<Value = Vec<Option<f64>>> {
    let score = prop_oneof![Just(None), (-2_i8..3).prop_map(|s| Some(f64::from(s)))];
    prop::collection::vec(score, 1..8)
}

proptest! {
    #[test]
    fn choices_do_not_depend_on_row_order(scores in groups(), seed in any::<u64>()) {
        let group = scored(&scores);
        let mut turned = group.clone();
        let mut draws = Draws::new(seed);
        for at in (1..turned.len()).rev() {
            turned.swap(at, draws.below(at + 1));
        }
        let text = |group: &[GroupMember<'static>], at: Option<usize>| at.map(|at| group[at].text);
        prop_assert_eq!(text(&group, best(&group, seed)), text(&turned, best(&turned, seed)));
        prop_assert_eq!(text(&group, worst(&group, seed)), text(&turned, worst(&turned, seed)));
        prop_assert_eq!(
            text(&group, best_of(&group, 2, seed)),
            text(&turned, best_of(&turned, 2, seed))
        );
        for filtration in [
            Filtration::BestOfN, Filtration::BestRandom, Filtration::BestWorst, Filtration::Reweight
        ] {
            let kept = |group: &[GroupMember<'static>]| {
                let mut texts: Vec<&str> = keep(group, filtration, 2, seed)
                    .into_iter()
                    .map(|at| group[at].text)
                    .collect();
                texts.sort_unstable();
                texts
            };
            prop_assert_eq!(kept(&group), kept(&turned), "{:?}", filtration);
        }
    }

    #[test]
    fn missing_scores_change_nothing(scores in groups(), seed in any::<u64>()) {
        let group = scored(&scores);
        let all: Vec<GroupMember<'static>> = group.clone();
        let some: Vec<GroupMember<'static>> =
            all.iter().copied().filter(|member| member.score.is_some()).collect();
        let text = |group: &[GroupMember<'static>], at: Option<usize>| at.map(|at| group[at].text);
        prop_assert_eq!(text(&all, best(&all, seed)), text(&some, best(&some, seed)));
        let rate = pass_rate(&scores, 0.0);
        prop_assert_eq!(rate.measured, some.len());
        prop_assert_eq!(rate.measured + rate.unmeasured, scores.len());
        if let Some(weights) = weights(&all, Filtration::BestRandom, seed) {
            let whole: f64 = weights.iter().sum();
            prop_assert!((whole - 1.0).abs() < 1e-9);
            for (member, weight) in all.iter().zip(weights) {
                prop_assert!(member.score.is_some() || weight == 0.0);
            }
        }
    }
}

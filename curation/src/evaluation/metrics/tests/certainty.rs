//! Intervals.

use proptest::prelude::*;

use super::super::*;
use super::near;

#[test]
fn wilson_matches_hand_computed_bounds() {
    // p = 0.5, n = 10, z² = 3.8415: middle 0.5, half 1.96 / 1.38415 × sqrt(0.025 + 0.0096) = 0.2634.
    let found = wilson(5, 10, Confidence::P95).expect("rows");
    assert!(
        (found.low - 0.236_59).abs() < 1e-4 && (found.high - 0.763_41).abs() < 1e-4,
        "{found:?}"
    );
    // 0 of 10: 0 and z² / (n + z²).
    let none = wilson(0, 10, Confidence::P95).expect("rows");
    let z2 = 1.959_963_984_540_054_f64.powi(2);
    assert!(near(none.low, 0.0) && near(none.high, z2 / (10.0 + z2)), "{none:?}");
    let all = wilson(10, 10, Confidence::P95).expect("rows");
    assert!(near(all.high, 1.0) && near(all.low, 1.0 - none.high), "{all:?}");
    assert_eq!(wilson(0, 0, Confidence::P95), None);
    let width = |confidence| {
        let found = wilson(30, 100, confidence).expect("rows");
        found.high - found.low
    };
    assert!(width(Confidence::P90) < width(Confidence::P95));
    assert!(width(Confidence::P95) < width(Confidence::P99));
}

fn pairs(subset: &str, right: usize, n: usize) -> Vec<RewardBenchPair> {
    let pair = |at: usize| RewardBenchPair {
        subset: subset.to_owned(),
        chosen: Some(one_if(at < right)),
        rejected: Some(0.5),
    };
    (0..n).map(pair).collect()
}

fn accuracy(rows: &[&RewardBenchPair]) -> Option<f64> {
    let right = |row: &&RewardBenchPair| one_if(row.chosen > row.rejected);
    mean(rows.iter().map(right))
}

#[test]
fn resampling_agrees_with_wilson() {
    let rows = pairs("a", 120, 400);
    let all: Vec<&RewardBenchPair> = rows.iter().collect();
    let intervals = IntervalOptions { resamples: 4000, ..IntervalOptions::default() };
    let found = bootstrap(&all, &accuracy, intervals).expect("rows");
    let expected = wilson(120, 400, Confidence::P95).expect("rows");
    assert!((found.low - expected.low).abs() < 0.01, "{found:?} {expected:?}");
    assert!((found.high - expected.high).abs() < 0.01, "{found:?} {expected:?}");
    assert_eq!(bootstrap(&all, &accuracy, intervals), Some(found), "the seed decides");
    let other = IntervalOptions { seed: 1, ..intervals };
    assert_ne!(bootstrap(&all, &accuracy, other), Some(found));
}

#[test]
fn resamples_keep_the_strata() {
    // Every row of one stratum is right and every row of the other wrong, so resamples do not vary.
    let rows = [pairs("a", 10, 10), pairs("b", 0, 30)].concat();
    let all: Vec<&RewardBenchPair> = rows.iter().collect();
    let found = bootstrap(&all, &accuracy, IntervalOptions::default()).expect("rows");
    assert!(near(found.low, 0.25) && near(found.high, 0.25), "{found:?}");
}

#[test]
fn undefined_metrics_have_no_interval() {
    let rows = pairs("a", 1, 4);
    let all: Vec<&RewardBenchPair> = rows.iter().collect();
    let never = |_: &[&RewardBenchPair]| None;
    assert_eq!(bootstrap(&all, &never, IntervalOptions::default()), None);
    assert_eq!(bootstrap(&[], &accuracy, IntervalOptions::default()), None);
    let none = IntervalOptions { resamples: 0, ..IntervalOptions::default() };
    assert_eq!(bootstrap(&all, &accuracy, none), None);
}

#[test]
fn shares_of_points_are_resampled() {
    let prompt = |scores: &[f64]| RewardBench2Prompt::Best {
        subset: "Math".to_owned(),
        completions: ScoredCompletions {
            n_right: 1,
            scores: scores.iter().map(|score| Some(*score)).collect(),
        },
    };
    let whole = [prompt(&[1.0, 0.0]), prompt(&[0.0, 1.0])];
    let shared = [prompt(&[1.0, 0.0]), prompt(&[1.0, 1.0])];
    for (rows, expected) in [(whole, IntervalMethod::Wilson), (shared, IntervalMethod::Bootstrap)] {
        let report = reward_bench_2(&rows, IntervalOptions::default());
        let line = report.line("Math").expect("the subset");
        assert_eq!(line.interval.map(|interval| interval.method), Some(expected));
    }
}

fn scores() -> impl Strategy<Value = Option<f64>> {
    prop_oneof![
        1 => Just(None),
        1 => Just(Some(f64::NAN)),
        6 => (-3i8..4).prop_map(|score| Some(f64::from(score))),
    ]
}

proptest! {
    #[test]
    fn interval_covers_its_share(right in 0usize..200, wrong in 0usize..200) {
        let n = right + wrong;
        prop_assume!(n > 0);
        let share = f64::from(u16::try_from(right).expect("small"))
            / f64::from(u16::try_from(n).expect("small"));
        for confidence in [Confidence::P90, Confidence::P95, Confidence::P99] {
            let found = wilson(right, n, confidence).expect("rows");
            prop_assert!(0.0 <= found.low && found.low <= share + 1e-12);
            prop_assert!(share <= found.high + 1e-12 && found.high <= 1.0);
        }
    }

    /// For any scores, `at_least` is a share and not above the metric with any verdicts on the
    /// unjudged rows.
    #[test]
    fn at_least_is_a_lower_bound(
        rows in prop::collection::vec((0usize..3, scores(), scores()), 1..20)
    ) {
        let subsets = ["alpacaeval-easy", "mt-bench-hard", "hep-rust"];
        let pair = |(subset, chosen, rejected): &(usize, Option<f64>, Option<f64>)| RewardBenchPair {
            subset: subsets[*subset].to_owned(),
            chosen: *chosen,
            rejected: *rejected,
        };
        let rows: Vec<RewardBenchPair> = rows.iter().map(pair).collect();
        let intervals = IntervalOptions { resamples: 20, ..IntervalOptions::default() };
        let report = reward_bench(&rows, intervals);
        let right = |row: &RewardBenchPair| {
            if row.is_judged() {
                return row.clone();
            }
            RewardBenchPair { chosen: Some(1.0), rejected: Some(0.0), ..row.clone() }
        };
        let best: Vec<RewardBenchPair> = rows.iter().map(right).collect();
        let best = reward_bench(&best, intervals);
        for line in &report.metrics {
            let at_least = line.estimate.at_least.expect("there are rows");
            prop_assert!((0.0..=1.0).contains(&at_least));
            let most = best.line(&line.name).and_then(|line| line.value).expect("all judged");
            prop_assert!(at_least <= most + 1e-12);
            prop_assert!(line.estimate.judged <= line.estimate.total);
            if let Some(value) = line.estimate.value {
                prop_assert!((0.0..=1.0).contains(&value));
            }
            if line.estimate.judged == line.estimate.total {
                prop_assert_eq!(line.estimate.value, line.estimate.at_least);
            }
        }
    }
}

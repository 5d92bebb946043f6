//! Benchmarks of steps, computed by hand.

use super::super::*;
use super::{PLAIN, check, near};

fn row(subset: &str, label: Option<usize>, found: FirstErrorFinding) -> ProcessBenchRow {
    ProcessBenchRow { subset: subset.to_owned(), label, found }
}

#[test]
fn process_bench_is_a_harmonic_mean() {
    use FirstErrorFinding::{NoError, NotJudged, Step};
    let rows = [
        // With an error: 1 of 3. Without: 2 of 2.
        row("gsm8k", Some(1), Step(1)),
        row("gsm8k", Some(1), Step(2)),
        row("gsm8k", Some(0), NoError),
        row("gsm8k", None, NoError),
        row("gsm8k", None, NoError),
        // 0 of 1 and 0 of 1.
        row("math", Some(1), Step(0)),
        row("math", None, Step(0)),
        // Not judged: with an error 1 of 1, at least 1 of 2.
        row("omnimath", Some(3), Step(3)),
        row("omnimath", Some(3), NotJudged),
        row("omnimath", None, NoError),
    ];
    let report = process_bench(&rows, PLAIN);
    check(&report, "gsm8k error", (Some(1.0 / 3.0), Some(1.0 / 3.0), 3, 3));
    check(&report, "gsm8k correct", (Some(1.0), Some(1.0), 2, 2));
    // 2 × 1/3 × 1 / (4/3) = 1/2
    check(&report, "gsm8k F1", (Some(0.5), Some(0.5), 5, 5));
    check(&report, "math F1", (Some(0.0), Some(0.0), 2, 2));
    // 2 × 1/2 × 1 / (3/2) = 2/3
    check(&report, "omnimath F1", (Some(1.0), Some(2.0 / 3.0), 2, 3));
    let (value, least) = (1.5 / 3.0, (0.5 + 2.0 / 3.0) / 3.0);
    check(&report, "mean F1", (Some(value), Some(least), 9, 10));
    // A subset without right solutions has no F1, and is not in the mean.
    let half = process_bench(&[row("math", Some(1), Step(1))], PLAIN);
    check(&half, "mean F1", (None, None, 1, 1));
    check(&half, "math correct", (None, None, 0, 0));
}

#[test]
fn first_step_below_the_threshold_is_wrong() {
    for (scores, expected) in [
        (&[][..], None),
        (&[Some(0.9), Some(0.5)][..], None),
        (&[Some(0.9), Some(0.49), Some(0.1)][..], Some(1)),
        // Nothing was found in a step without a score.
        (&[None, Some(f64::NAN), Some(0.0)][..], Some(2)),
        (&[None][..], None),
    ] {
        assert_eq!(first_below(scores, 0.5), expected, "{scores:?}");
    }
}

fn flawed(class: &str, is_right: &[u8], said_right: Option<&[u8]>) -> PrmBenchRow {
    let flags = |bits: &[u8]| -> Vec<bool> { bits.iter().map(|bit| *bit == 1).collect() };
    PrmBenchRow {
        class: class.to_owned(),
        is_right: flags(is_right),
        said_right: said_right.map(flags),
    }
}

#[test]
fn prm_score_is_half_of_either_f1() {
    let rows = [
        // TP 2, FN 1, TN 1
        flawed("circular", &[1, 1, 1, 0], Some(&[1, 1, 0, 0])),
        // TP 1, FP 1, TN 1
        flawed("deception", &[1, 0, 0], Some(&[1, 1, 0])),
        // TP 1, FN 1; no wrong step.
        flawed("multi_solutions", &[1, 1], Some(&[1, 0])),
    ];
    let report = prm_bench(&rows, PLAIN);
    // Pooled: TP 4, FP 1, TN 2, FN 2. F1 8/11, negative F1 4/7.
    let pooled = f64::midpoint(8.0 / 11.0, 4.0 / 7.0);
    check(&report, "PRMScore", (Some(pooled), Some(pooled), 3, 3));
    check(&report, "F1 of right steps", (Some(8.0 / 11.0), Some(8.0 / 11.0), 3, 3));
    check(&report, "F1 of wrong steps", (Some(4.0 / 7.0), Some(4.0 / 7.0), 3, 3));
    // circular: F1 4/5, negative 2/3. deception: F1 2/3, negative 2/3. Multi: F1 2/3 alone.
    let circular = f64::midpoint(4.0 / 5.0, 2.0 / 3.0);
    check(&report, "circular", (Some(circular), Some(circular), 1, 1));
    check(&report, "simplicity", (Some(circular), Some(circular), 1, 1));
    check(&report, "sensitivity", (Some(2.0 / 3.0), Some(2.0 / 3.0), 2, 2));
    check(&report, "accuracy of steps", (Some(6.0 / 9.0), Some(6.0 / 9.0), 3, 3));
    // The first wrong step of circular was called wrong, that of deception right.
    check(&report, "first error", (Some(0.5), Some(0.5), 2, 2));
    assert!(report.notes[0].contains("confidence"), "{:?}", report.notes);
}

#[test]
fn unjudged_rows_count_in_the_lower_bound() {
    let rows = [
        flawed("circular", &[1, 0], Some(&[1, 0])),
        flawed("circular", &[1, 0], None),
        flawed("of-mine", &[1], Some(&[1])),
    ];
    let report = prm_bench(&rows, PLAIN);
    // All right of what was judged. At least: TP 2, TN 1, FN 1, FP 1: F1 4/6, negative 2/4.
    let least = f64::midpoint(4.0 / 6.0, 2.0 / 4.0);
    check(&report, "PRMScore", (Some(1.0), Some(least), 2, 3));
    assert!(report.notes.iter().any(|note| note.contains("1 rows are of a class")));
}

#[test]
fn undefined_scores_are_none() {
    for (counts, f1, negative_f1) in [
        ((0, 0, 0, 0), None, None),
        // Everything is called right: no wrong step is found, which is 0 and not undefined.
        ((3, 1, 0, 0), Some(6.0 / 7.0), Some(0.0)),
        ((3, 0, 0, 0), Some(1.0), None),
        // Not one hit.
        ((0, 2, 0, 2), Some(0.0), Some(0.0)),
    ] {
        let (true_positive, false_positive, true_negative, false_negative) = counts;
        let confusion = Confusion { true_positive, false_positive, true_negative, false_negative };
        assert_eq!(confusion.f1(), f1, "{counts:?}");
        assert_eq!(confusion.negative_f1(), negative_f1, "{counts:?}");
        // The same steps with every right finding inverted.
        let turned = Confusion {
            true_positive: 0,
            true_negative: 0,
            false_positive: false_positive + true_negative,
            false_negative: false_negative + true_positive,
        };
        assert!(near(turned.accuracy().unwrap_or(0.0), 0.0));
    }
}

fn labelled(is_right: &[Option<bool>], scores: Option<&[Option<f64>]>) -> Prm800kRow {
    Prm800kRow {
        is_right: is_right.to_vec(),
        scores: scores.map(<[Option<f64>]>::to_vec),
        threshold: 0.5,
    }
}

#[test]
fn labelled_steps_are_counted_once() {
    const R: Option<bool> = Some(true);
    const W: Option<bool> = Some(false);
    let rows = [
        // TP, no label, TN. The first error is found.
        labelled(&[R, None, W], Some(&[Some(0.9), Some(0.8), Some(0.2)])),
        // FN, TP (nothing was found). An error is found where there is none.
        labelled(&[R, R], Some(&[Some(0.1), None])),
        labelled(&[R, W], None),
    ];
    let report = prm800k(&rows, PLAIN);
    // TP 2, TN 1, FN 1: F1 4/5, negative 2/3.
    let value = f64::midpoint(4.0 / 5.0, 2.0 / 3.0);
    // With one more of each, called wrong and right: TP 2, TN 1, FN 2, FP 1: F1 4/7, negative 2/5.
    let least = f64::midpoint(4.0 / 7.0, 2.0 / 5.0);
    check(&report, "mean F1 of steps", (Some(value), Some(least), 2, 3));
    // Right steps at 0.9 and 0.1, the wrong one at 0.2: one pair of two is in order. The third row
    // adds a right step below and a wrong one above all: 1 of 3 × 2 pairs.
    check(&report, "AUROC of steps", (Some(0.5), Some(1.0 / 6.0), 2, 3));
    check(&report, "F1 of the first error", (Some(0.0), Some(0.0), 2, 3));
    assert!(report.notes[1].starts_with("1 of them have no score"), "{:?}", report.notes);
}

#[test]
fn auroc_counts_ordered_pairs() {
    for (steps, expected) in [
        (vec![], None),
        (vec![(0.5, true)], None),
        (vec![(0.9, true), (0.1, false)], Some(1.0)),
        (vec![(0.1, true), (0.9, false)], Some(0.0)),
        (vec![(0.5, true), (0.5, false)], Some(0.5)),
        // Pairs: 0.9 > 0.5, 0.9 > 0.1, 0.5 = 0.5, 0.5 > 0.1: 3.5 of 4.
        (vec![(0.5, true), (0.1, false), (0.9, true), (0.5, false)], Some(0.875)),
    ] {
        assert_eq!(auroc(steps.clone()), expected, "{steps:?}");
    }
}

fn sample(problem: &str, is_right: bool, score: Option<f64>) -> BestOfNSample {
    BestOfNSample { problem: problem.to_owned(), is_right, score, is_answered: true }
}

/// A problem whose samples came to no answer is a problem that is not solved.
#[test]
fn samples_without_an_answer_count_for_their_problem() {
    let silent =
        |problem: &str| BestOfNSample { is_answered: false, ..sample(problem, false, None) };
    let samples = [
        sample("p", true, Some(0.9)),
        sample("p", false, Some(0.5)),
        silent("q"),
        silent("q"),
        sample("r", true, Some(0.1)),
        silent("r"),
    ];
    let report = best_of_n(&samples, &[1, 2], PLAIN);
    for (name, value) in [
        ("best of 1", (0.5 + 0.0 + 0.5) / 3.0),
        ("best of 2", (1.0 + 0.0 + 1.0) / 3.0),
        ("some sample is right", 2.0 / 3.0),
    ] {
        check(&report, name, (Some(value), Some(value), 3, 3));
    }
    let all_silent = best_of_n(&[silent("q"), silent("q")], &[2], PLAIN);
    check(&all_silent, "best of 2", (Some(0.0), Some(0.0), 1, 1));
}

#[test]
fn best_of_n_is_the_mean_over_all_draws() {
    let samples = [
        // In order of score: wrong, right, right.
        sample("p", false, Some(0.9)),
        sample("p", true, Some(0.5)),
        sample("p", true, Some(0.1)),
        // One sample, filled up to three.
        sample("q", true, Some(0.3)),
    ];
    let report = best_of_n(&samples, &[1, 2, 3, 4], PLAIN);
    // Best of 1: p 2/3, q 1/3. Best of 2: p is right if the first is not drawn, 1 of 3 draws; q if
    // its sample is drawn, 2 of 3. Best of 3: p 0, q 1.
    for (n, p, q) in [(1, 2.0 / 3.0, 1.0 / 3.0), (2, 1.0 / 3.0, 2.0 / 3.0), (3, 0.0, 1.0)] {
        let mean = f64::midpoint(p, q);
        check(&report, &format!("best of {n}"), (Some(mean), Some(mean), 2, 2));
    }
    assert_eq!(report.line("best of 4"), None, "no problem has four samples");
    check(&report, "some sample is right", (Some(1.0), Some(1.0), 2, 2));
    // Equals share: three equal samples of which two are right.
    let equal: Vec<BestOfNSample> =
        [true, false, true].map(|right| sample("r", right, Some(1.0))).into();
    for n in 1..=3 {
        let report = best_of_n(&equal, &[n], PLAIN);
        let share = 2.0 / 3.0;
        check(&report, &format!("best of {n}"), (Some(share), Some(share), 1, 1));
    }
}

#[test]
fn unscored_sample_is_the_worst_choice_in_the_lower_bound() {
    let samples = [
        sample("p", true, Some(0.5)),
        sample("p", false, None),
        sample("q", true, Some(0.5)),
        sample("q", false, Some(0.1)),
    ];
    let report = best_of_n(&samples, &[2], PLAIN);
    check(&report, "best of 2", (Some(1.0), Some(0.5), 1, 2));
}

/// The same by drawing.
#[test]
fn the_mean_over_draws_is_what_drawing_gives() {
    let mut draws = base::seeded::Draws::new(4);
    let samples: Vec<BestOfNSample> = (0..12)
        .map(|_| {
            sample(
                "p",
                draws.below(3) == 0,
                Some(f64::from(u8::try_from(draws.below(5)).expect("small"))),
            )
        })
        .collect();
    for n in [1, 3, 7, 12] {
        let (rounds, mut solved) = (20_000, 0.0);
        for _ in 0..rounds {
            let mut order: Vec<usize> = (0..12).collect();
            for at in 0..n {
                order.swap(at, at + draws.below(12 - at));
            }
            let drawn = order[..n].iter().map(|at| &samples[*at]);
            // The order is random, so that the last among equals is a fair choice.
            let best = drawn.max_by(|a, b| a.score.partial_cmp(&b.score).expect("finite"));
            solved += one_if(best.expect("n is positive").is_right);
        }
        let report = best_of_n(&samples, &[n], PLAIN);
        let value = report.metrics[0].estimate.value.expect("judged");
        let deviation = f64::sqrt(0.25 / f64::from(rounds));
        assert!((solved / f64::from(rounds) - value).abs() < 5.0 * deviation, "{n}: {value}");
    }
    assert!(near(harmonic_mean(0.0, 0.0), 0.0));
}

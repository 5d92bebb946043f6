//! Figures of policies and judges: pure functions of rewards and predictions.
//!
//! An undefined figure is `None`, never 0.

use std::cmp::Ordering;

use base::stats::mean;
use rubrics::calibration::{Binning, Prediction, auroc, bins, expected_error};
use serde::Serialize;

/// Pass@k of one problem of which `right` of `samples` answers were right: the probability that at
/// least one of `k` is right, `1 - C(n - c, k) / C(n, k)`, without bias (Chen et al., Evaluating
/// Large Language Models Trained on Code, arXiv 2107.03374). `None` if there are fewer than `k`
/// samples.
pub fn pass_at_k(samples: usize, right: usize, k: usize) -> Option<f64> {
    if k == 0 || samples < k || right > samples {
        return None;
    }
    if samples - right < k {
        return Some(1.0);
    }
    let missed = (samples - right + 1..=samples).map(|n| 1.0 - k as f64 / n as f64);
    Some(1.0 - missed.product::<f64>())
}

/// The mean of the shares of right and of wrong answers that were recognised at a threshold of one
/// half; exactly one half counts as right. `None` unless there are both.
pub fn balanced_accuracy(predictions: &[Prediction]) -> Option<f64> {
    let share = |of: bool| {
        let such = predictions.iter().filter(|it| it.right == of);
        let found: Vec<f64> =
            such.map(|it| f64::from(u8::from((it.probability >= 0.5) == of))).collect();
        mean(&found)
    };
    Some(f64::midpoint(share(true)?, share(false)?))
}

/// Figures of a judge whose scores are probabilities of being right.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct JudgeFigures {
    /// Number of answers judged.
    pub n: usize,
    /// See [`balanced_accuracy`].
    pub balanced_accuracy: f64,
    /// Area under the receiver operating characteristic.
    pub auroc: f64,
    /// Expected calibration error over ten bins of one width.
    pub ece: f64,
    /// Share of wrong answers judged right.
    pub false_positives: f64,
}

/// Computes the figures of a judge; `None` unless there are both right and wrong answers.
pub fn judge_figures(predictions: &[Prediction]) -> Option<JudgeFigures> {
    let wrong = predictions.iter().filter(|it| !it.right);
    let taken: Vec<f64> = wrong.map(|it| f64::from(u8::from(it.probability >= 0.5))).collect();
    Some(JudgeFigures {
        n: predictions.len(),
        balanced_accuracy: balanced_accuracy(predictions)?,
        auroc: auroc(predictions)?,
        ece: expected_error(&bins(predictions, Binning::EqualWidth(10))),
        false_positives: mean(&taken)?,
    })
}

/// The share of pairs of a right and a wrong answer to one problem in which the right one has the
/// higher probability; equal ones count half. `groups` are the answers to each problem. Advantages
/// within groups depend on nothing else: a judge that only separates hard problems from easy ones
/// has a high AUROC over all answers, and one half here. `None` if no problem has both.
pub fn within_problems(groups: &[Vec<Prediction>]) -> Option<f64> {
    let counts = groups.iter().map(|group| ordered_pairs(group));
    let (above, pairs) = counts.fold((0.0, 0.0), |(a, b), (above, pairs)| (a + above, b + pairs));
    (pairs > 0.0).then(|| above / pairs)
}

/// The pairs of a right and a wrong answer in which the right one has the higher probability, of which
/// equal ones are half, and the number of all such pairs.
pub(crate) fn ordered_pairs(answers: &[Prediction]) -> (f64, f64) {
    let (right, wrong): (Vec<&Prediction>, Vec<&Prediction>) =
        answers.iter().partition(|answer| answer.right);
    let (mut above, mut pairs) = (0.0, 0.0);
    for right in &right {
        for wrong in &wrong {
            above += match right.probability.total_cmp(&wrong.probability) {
                Ordering::Greater => 1.0,
                Ordering::Equal => 0.5,
                Ordering::Less => 0.0,
            };
            pairs += 1.0;
        }
    }
    (above, pairs)
}

/// Accuracy of finding the first wrong step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FirstError {
    /// Share of wrong solutions whose first wrong step was named.
    pub erroneous: f64,
    /// Share of right solutions in which no step was called wrong.
    pub correct: f64,
    /// The harmonic mean of the two.
    pub f1: f64,
}

/// The F1 of `ProcessBench` (arXiv 2412.06559) over pairs of the first wrong step and the first
/// step judged wrong, both from 0 and `None` if there is none. `None` unless there are both right
/// and wrong solutions.
pub fn first_error(cases: &[(Option<usize>, Option<usize>)]) -> Option<FirstError> {
    let share = |has_error: bool| {
        let such = cases.iter().filter(|(gold, _)| gold.is_some() == has_error);
        let found: Vec<f64> = such.map(|(gold, said)| f64::from(u8::from(gold == said))).collect();
        mean(&found)
    };
    let (erroneous, correct) = (share(true)?, share(false)?);
    let sum = erroneous + correct;
    let f1 = if sum > 0.0 { 2.0 * erroneous * correct / sum } else { 0.0 };
    Some(FirstError { erroneous, correct, f1 })
}

/// The first step whose probability of being right is below one half.
pub fn first_below_half(steps: &[f64]) -> Option<usize> {
    steps.iter().position(|probability| *probability < 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn near(found: Option<f64>, expected: f64) {
        let found = found.expect("a figure");
        assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    }

    #[test]
    fn pass_at_k_equals_the_count_over_subsets() {
        near(pass_at_k(8, 0, 1), 0.0);
        near(pass_at_k(8, 2, 1), 0.25);
        near(pass_at_k(8, 8, 3), 1.0);
        // 20 of the 56 triples of 8 hold none of the 2 right ones.
        near(pass_at_k(8, 2, 3), 36.0 / 56.0);
        // 1 of the 10 pairs of 5 holds none of the 3 right ones.
        near(pass_at_k(5, 3, 2), 0.9);
        near(pass_at_k(5, 3, 3), 1.0);
        for (n, c, k) in [(2, 1, 3), (2, 1, 0), (2, 3, 1)] {
            assert_eq!(pass_at_k(n, c, k), None);
        }
    }

    fn predictions(of: &[(f64, bool)]) -> Vec<Prediction> {
        of.iter()
            .map(|(probability, right)| Prediction { probability: *probability, right: *right })
            .collect()
    }

    #[test]
    fn judge_figures_need_right_and_wrong_answers() {
        let judged = predictions(&[
            (0.9, true),
            (0.7, true),
            (0.4, true),
            (0.5, true),
            (0.2, false),
            (0.6, false),
        ]);
        let figures = judge_figures(&judged).expect("both sides");
        assert_eq!(figures.n, 6);
        // Three of four right ones, one of two wrong ones.
        near(Some(figures.balanced_accuracy), 0.625);
        near(Some(figures.false_positives), 0.5);
        // In six of eight pairs the right one is above: 0.9 and 0.7 twice each, 0.4 and 0.5 once
        // each.
        near(Some(figures.auroc), 6.0 / 8.0);
        // One in each bin: |p - truth| / 6.
        near(Some(figures.ece), (0.1 + 0.3 + 0.6 + 0.5 + 0.2 + 0.6) / 6.0);
        // Yes to everything is no better than no judge.
        let yes = predictions(&[(1.0, true), (1.0, true), (1.0, true), (1.0, false)]);
        near(balanced_accuracy(&yes), 0.5);
        assert_eq!(balanced_accuracy(&predictions(&[(0.3, true)])), None);
        assert!(judge_figures(&[]).is_none());
    }

    /// A judge, and a scorer that reads the prompt alone: over all answers they look alike.
    #[test]
    fn k2_difficulty_is_no_judgement() {
        let check = |easy: &[(f64, bool)], hard: &[(f64, bool)]| {
            let groups = [predictions(easy), predictions(hard)];
            near(auroc(&groups.concat()), 2.0 / 3.0);
            for group in &groups {
                near(within_problems(std::slice::from_ref(group)), 0.5);
            }
        };
        check(
            &[(0.9, true), (0.8, true), (0.85, false)],
            &[(0.2, true), (0.3, false), (0.1, false)],
        );
        check(
            &[(0.85, true), (0.85, true), (0.85, false)],
            &[(0.2, true), (0.2, false), (0.2, false)],
        );
    }

    #[test]
    fn judge_is_compared_within_problems() {
        let check = |groups: &[&[(f64, bool)]], expected: Option<f64>| {
            let groups: Vec<_> = groups.iter().map(|group| predictions(group)).collect();
            assert_eq!(within_problems(&groups), expected, "{groups:?}");
        };
        check(&[&[(0.9, true), (0.1, false)]], Some(1.0));
        check(&[&[(0.1, true), (0.9, false), (0.1, false)]], Some(0.25));
        // Easy problems from hard ones: no pair of one problem.
        check(&[&[(0.9, true)], &[(0.1, false)]], None);
        check(&[&[(0.9, true), (0.9, false)], &[(0.1, true), (0.1, false)]], Some(0.5));
        check(&[], None);
    }

    #[test]
    fn first_errors_are_scored_as_in_process_bench() {
        let cases = [
            (Some(1), Some(1)),
            (Some(1), Some(2)),
            (Some(0), None),
            (Some(3), Some(3)),
            (None, None),
            (None, Some(0)),
            (None, None),
            (None, None),
        ];
        let found = first_error(&cases).expect("both sides");
        near(Some(found.erroneous), 0.5);
        near(Some(found.correct), 0.75);
        near(Some(found.f1), 0.6);
        let silent = [(Some(1), None), (None, Some(2))];
        near(first_error(&silent).map(|found| found.f1), 0.0);
        assert_eq!(first_error(&cases[..4]), None);
        assert_eq!(first_below_half(&[0.9, 0.5, 0.49, 0.1]), Some(2));
        assert_eq!(first_below_half(&[0.9]), None);
    }
}

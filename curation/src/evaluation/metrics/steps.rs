//! Shared parts of metrics of steps.

use super::finite;

/// A metric of counted steps.
pub(super) type OfSteps = fn(Confusion) -> Option<f64>;

/// Confusion matrix of steps. *Positive* is a right step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Confusion {
    /// Right steps found right.
    pub true_positive: usize,
    /// Wrong steps found right.
    pub false_positive: usize,
    /// Wrong steps found wrong.
    pub true_negative: usize,
    /// Right steps found wrong.
    pub false_negative: usize,
}

impl Confusion {
    /// Counts one step.
    pub fn add(&mut self, is_right: bool, said_right: bool) {
        let count = match (is_right, said_right) {
            (true, true) => &mut self.true_positive,
            (true, false) => &mut self.false_negative,
            (false, true) => &mut self.false_positive,
            (false, false) => &mut self.true_negative,
        };
        *count += 1;
    }

    /// Adds the counts.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            true_positive: self.true_positive + other.true_positive,
            false_positive: self.false_positive + other.false_positive,
            true_negative: self.true_negative + other.true_negative,
            false_negative: self.false_negative + other.false_negative,
        }
    }

    /// F1 of the right steps: 2 TP / (2 TP + FP + FN); `None` if the divisor is 0.
    pub fn f1(self) -> Option<f64> {
        f1(self.true_positive, self.false_positive, self.false_negative)
    }

    /// F1 of the wrong steps: 2 TN / (2 TN + FN + FP).
    pub fn negative_f1(self) -> Option<f64> {
        f1(self.true_negative, self.false_negative, self.false_positive)
    }

    /// Returns the share of right steps found right.
    pub fn right_accuracy(self) -> Option<f64> {
        ratio(self.true_positive, self.true_positive + self.false_negative)
    }

    /// Returns the share of wrong steps found wrong.
    pub fn wrong_accuracy(self) -> Option<f64> {
        ratio(self.true_negative, self.true_negative + self.false_positive)
    }

    /// Returns the share of correct findings.
    pub fn accuracy(self) -> Option<f64> {
        let right = self.true_positive + self.true_negative;
        ratio(right, right + self.false_positive + self.false_negative)
    }
}

fn f1(hits: usize, false_alarms: usize, misses: usize) -> Option<f64> {
    ratio(2 * hits, 2 * hits + false_alarms + misses)
}

#[expect(clippy::cast_precision_loss, reason = "far fewer than 2^53 steps")]
pub(super) fn ratio(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Returns the first step that scores below a threshold, ignoring steps without a score.
pub fn first_below(scores: &[Option<f64>], threshold: f64) -> Option<usize> {
    scores.iter().position(|score| finite(*score).is_some_and(|score| score < threshold))
}

/// Returns the harmonic mean of two shares; 0 if both are 0.
pub fn harmonic_mean(a: f64, b: f64) -> f64 {
    let sum = a + b;
    if sum > 0.0 { 2.0 * a * b / sum } else { 0.0 }
}

/// Returns the area under the receiver operating characteristic: the probability that a right step
/// scores higher than a wrong one, ties as halves. `None` if either kind is missing.
pub fn auroc(mut steps: Vec<(f64, bool)>) -> Option<f64> {
    steps.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (mut wrong_below, mut wins) = (0.0, 0.0);
    let (mut n_right, mut n_wrong) = (0.0, 0.0);
    for tied in steps.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq()) {
        let count = |is_right: bool| tied.iter().filter(|s| s.1 == is_right).map(|_| 1.0).sum();
        let (right, wrong): (f64, f64) = (count(true), count(false));
        wins += right * (wrong_below + wrong / 2.0);
        wrong_below += wrong;
        n_right += right;
        n_wrong += wrong;
    }
    (n_right > 0.0 && n_wrong > 0.0).then(|| wins / (n_right * n_wrong))
}

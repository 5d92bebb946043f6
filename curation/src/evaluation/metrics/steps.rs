//! What metrics of steps have in common.

use super::finite;

/// A metric of counted steps.
pub(super) type OfSteps = fn(Confusion) -> Option<f64>;

/// Right and wrong steps by what was said of them. *Positive* is a step that is right.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Confusion {
    /// Right steps that were called right.
    pub true_positive: usize,
    /// Wrong steps that were called right.
    pub false_positive: usize,
    /// Wrong steps that were called wrong.
    pub true_negative: usize,
    /// Right steps that were called wrong.
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

    /// The counts of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            true_positive: self.true_positive + other.true_positive,
            false_positive: self.false_positive + other.false_positive,
            true_negative: self.true_negative + other.true_negative,
            false_negative: self.false_negative + other.false_negative,
        }
    }

    /// The same steps with the opposite said of each that was called what it is.
    #[must_use]
    pub fn all_wrong(self) -> Self {
        Self {
            true_positive: 0,
            true_negative: 0,
            false_positive: self.false_positive + self.true_negative,
            false_negative: self.false_negative + self.true_positive,
        }
    }

    /// F1 of the right steps: 2 TP / (2 TP + FP + FN); `None` where there is nothing to divide by.
    pub fn f1(self) -> Option<f64> {
        f1(self.true_positive, self.false_positive, self.false_negative)
    }

    /// F1 of the wrong steps: 2 TN / (2 TN + FN + FP).
    pub fn negative_f1(self) -> Option<f64> {
        f1(self.true_negative, self.false_negative, self.false_positive)
    }

    /// The share of right steps that were called right.
    pub fn right_accuracy(self) -> Option<f64> {
        share(self.true_positive, self.true_positive + self.false_negative)
    }

    /// The share of wrong steps that were called wrong.
    pub fn wrong_accuracy(self) -> Option<f64> {
        share(self.true_negative, self.true_negative + self.false_positive)
    }

    /// The share of steps that were called what they are.
    pub fn accuracy(self) -> Option<f64> {
        let right = self.true_positive + self.true_negative;
        share(right, right + self.false_positive + self.false_negative)
    }
}

fn f1(hits: usize, false_alarms: usize, misses: usize) -> Option<f64> {
    share(2 * hits, 2 * hits + false_alarms + misses)
}

#[expect(clippy::cast_precision_loss, reason = "far fewer than 2^53 steps")]
pub(super) fn share(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// The first step that scores below a threshold. A step that could not be measured is none.
pub fn first_below(scores: &[Option<f64>], threshold: f64) -> Option<usize> {
    scores.iter().position(|score| finite(*score).is_some_and(|score| score < threshold))
}

/// The harmonic mean of two shares; 0 where both are 0.
pub fn harmonic_mean(a: f64, b: f64) -> f64 {
    let sum = a + b;
    if sum > 0.0 { 2.0 * a * b / sum } else { 0.0 }
}

/// The probability that a right step scores higher than a wrong one, ties as halves: the area under
/// the receiver operating characteristic. `None` where either kind is missing.
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

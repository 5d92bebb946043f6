//! From what a model says to how often it is right: the maps, how they are fitted on answers that
//! are known ([`fit`]), and how good they are ([`measure`]).
//!
//! Every map is monotone: it never changes which of two answers is the likelier.
//!
//! - Temperature: `softmax(z / T)` (Guo et al., On Calibration of Modern Neural Networks, 2017).
//! - Platt: `1 / (1 + exp(-(a m + b)))` of the margin `m` (Platt, Probabilistic Outputs for Support
//!   Vector Machines, 1999). Platt writes `1 / (1 + exp(A f + B))`; here `a = -A` and `b = -B`, so
//!   that `a = 1`, `b = 0` changes nothing.
//! - Isotonic: a rising line through points (Zadrozny and Elkan, Transforming Classifier Scores
//!   into Accurate Multiclass Probability Estimates, 2002). Theirs is a step function; between two
//!   points we go straight, and beyond the first and the last the value stays.

mod fit;
mod measure;
#[cfg(test)]
mod tests;
mod written;

pub use fit::{FitError, Method, Sample, cross_fit, fit};
pub use measure::{Bin, Binning, Figures, Prediction, auroc, bins, expected_error, figures};
pub use written::{ScorerCalibration, WrittenError};

pub(crate) use written::{WrittenMap, temperature_fault};

/// A map from a margin, such as `log p(Yes) - log p(No)` or the logit of a reward model, to a
/// probability.
#[derive(Debug, Clone, PartialEq)]
pub enum Calibration {
    /// `m / T`.
    Temperature(Temperature),
    /// `a m + b`.
    Platt {
        /// Above 0.
        a: f64,
        /// Any finite number.
        b: f64,
    },
    /// A rising line through points (probability said, probability meant).
    Isotonic {
        /// First numbers rise, second numbers do not fall, all in [0, 1].
        points: Vec<[f64; 2]>,
    },
}

/// A finite number above 0 that log-probabilities are divided by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Temperature(f64);

impl Temperature {
    /// A temperature, if it is finite and above 0.
    pub fn new(value: f64) -> Option<Self> {
        (value.is_finite() && value > 0.0).then_some(Self(value))
    }

    /// The number.
    pub fn value(self) -> f64 {
        self.0
    }
}

impl Calibration {
    /// The probability for a margin.
    pub fn apply(&self, margin: f64) -> f64 {
        match self {
            Self::Temperature(t) => sigmoid(margin / t.0),
            Self::Platt { a, b } => sigmoid(a * margin + b),
            Self::Isotonic { points } => interpolate(points, sigmoid(margin)),
        }
    }
}

/// `1 / (1 + exp(-x))`, without overflow.
pub fn sigmoid(x: f64) -> f64 {
    if x >= 0.0 {
        1.0 / (1.0 + (-x).exp())
    } else {
        let e = x.exp();
        e / (1.0 + e)
    }
}

fn interpolate(points: &[[f64; 2]], x: f64) -> f64 {
    let after = points.partition_point(|point| point[0] <= x);
    match (after.checked_sub(1).map(|before| points[before]), points.get(after)) {
        (None, Some(first)) => first[1],
        (Some(last), None) => last[1],
        (Some([x0, y0]), Some([x1, y1])) => {
            let share = (x - x0) / (x1 - x0);
            // A weighted mean of neighbours stays between them, and with them between 0 and 1.
            (y0 * (1.0 - share) + y1 * share).clamp(y0, *y1)
        }
        (None, None) => x,
    }
}

/// Lists of samples are counted in floating point.
#[expect(clippy::cast_precision_loss, reason = "no file has 2^53 rows")]
fn count(n: usize) -> f64 {
    n as f64
}

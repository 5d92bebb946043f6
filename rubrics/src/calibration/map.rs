//! Maps from a margin to a probability.

use base::stats::sigmoid;

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
    /// A rising line through points (raw probability, calibrated probability).
    Isotonic {
        /// First numbers rise, second numbers do not fall, all in [0, 1].
        points: Vec<[f64; 2]>,
    },
}

/// A divisor of log-probabilities, finite and above 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Temperature(pub(super) f64);

impl Temperature {
    /// Creates a temperature; `None` unless `value` is finite and above 0.
    pub fn new(value: f64) -> Option<Self> {
        (value.is_finite() && value > 0.0).then_some(Self(value))
    }

    /// Returns the number.
    pub fn value(self) -> f64 {
        self.0
    }
}

impl Calibration {
    /// Maps a margin to a probability.
    pub fn apply(&self, margin: f64) -> f64 {
        match self {
            Self::Temperature(t) => sigmoid(margin / t.0),
            Self::Platt { a, b } => sigmoid(a * margin + b),
            Self::Isotonic { points } => interpolate(points, sigmoid(margin)),
        }
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

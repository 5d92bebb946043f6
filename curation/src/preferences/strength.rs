//! The strength of a preference.

use base::stats::from_count;
use serde::Serialize;

/// Divisor of a standard deviation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StdDevKind {
    /// The number of scorers.
    #[default]
    Population,
    /// The number of scorers less one; undefined for one scorer.
    Sample,
}

/// The preference of several scorers on one pair.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Strength {
    /// Mean of the differences, in the unit of the scores.
    pub mean: f64,
    /// Their standard deviation; `None` if undefined.
    pub spread: Option<f64>,
    /// Scorers that measured both responses.
    pub measured: usize,
    /// Scorers that did not.
    pub unmeasured: usize,
    /// Scorers that prefer the rejected response.
    pub against: usize,
}

/// Computes the strength of a pair from each scorer's score of the chosen response less that of the
/// rejected one, `None` if either is missing. `None` if no scorer measured both.
pub fn strength(differences: &[Option<f64>], spread: StdDevKind) -> Option<Strength> {
    let mut found: Vec<f64> =
        differences.iter().flatten().copied().filter(|difference| difference.is_finite()).collect();
    // Sorted, so that sums do not depend on the order of the scorers.
    found.sort_unstable_by(f64::total_cmp);
    let measured = found.len();
    if measured == 0 {
        return None;
    }
    let n = from_count(measured);
    let mean = found.iter().sum::<f64>() / n;
    let squares: f64 = found.iter().map(|difference| (difference - mean).powi(2)).sum();
    let variance = match spread {
        StdDevKind::Population => Some(squares / n),
        StdDevKind::Sample => (measured > 1).then(|| squares / (n - 1.0)),
    };
    Some(Strength {
        mean,
        spread: variance.map(f64::sqrt),
        measured,
        unmeasured: differences.len() - measured,
        against: found.iter().filter(|difference| **difference < 0.0).count(),
    })
}

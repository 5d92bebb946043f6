//! The strength of a preference.

use base::stats::from_count;
use serde::Serialize;

/// How a standard deviation is taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StdDevKind {
    /// Over the scorers as they are: divided by their number.
    #[default]
    Population,
    /// As of a sample of scorers: divided by their number less one, and not known for one scorer.
    Sample,
}

/// What several scorers say of one pair.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Strength {
    /// Mean of the differences, in the unit of the scores.
    pub mean: f64,
    /// Their standard deviation; `None` where it is not known.
    pub spread: Option<f64>,
    /// Scorers that measured both responses.
    pub measured: usize,
    /// Scorers that did not.
    pub unmeasured: usize,
    /// Of the measured, those that prefer the rejected response.
    pub against: usize,
}

/// The strength of a pair from each scorer's score of the chosen response less that of the rejected
/// one, `None` where either is missing. `None` where no scorer measured both.
pub fn strength(differences: &[Option<f64>], spread: StdDevKind) -> Option<Strength> {
    let mut found: Vec<f64> =
        differences.iter().flatten().copied().filter(|difference| difference.is_finite()).collect();
    // Sums are taken in one order, whatever that of the scorers is.
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

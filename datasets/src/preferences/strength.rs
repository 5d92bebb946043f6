//! The strength of a preference.

use serde::Serialize;

/// How a standard deviation is taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spread {
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
pub fn strength(differences: &[Option<f64>], spread: Spread) -> Option<Strength> {
    let mut found: Vec<f64> = differences
        .iter()
        .flatten()
        .copied()
        .filter(|difference| difference.is_finite())
        .collect();
    // Sums are taken in one order, whatever that of the scorers is.
    found.sort_unstable_by(f64::total_cmp);
    let measured = found.len();
    if measured == 0 {
        return None;
    }
    let n = count(measured);
    let mean = found.iter().sum::<f64>() / n;
    let squares: f64 = found
        .iter()
        .map(|difference| (difference - mean).powi(2))
        .sum();
    let variance = match spread {
        Spread::Population => Some(squares / n),
        Spread::Sample => (measured > 1).then(|| squares / (n - 1.0)),
    };
    Some(Strength {
        mean,
        spread: variance.map(f64::sqrt),
        measured,
        unmeasured: differences.len() - measured,
        against: found.iter().filter(|difference| **difference < 0.0).count(),
    })
}

/// Divides each scorer's differences by their root mean square over all pairs, so that a scorer with
/// large numbers does not outvote the others. `pairs[i][m]` is the difference of scorer m on pair
/// i; the zero between the two responses stays where it is. Differences of a scorer that always
/// says zero stay zero.
pub fn rescaled(pairs: &[Vec<Option<f64>>]) -> Vec<Vec<Option<f64>>> {
    let n_scorers = pairs.iter().map(Vec::len).max().unwrap_or(0);
    let scale = |scorer: usize| {
        let all = pairs.iter().filter_map(|pair| *pair.get(scorer)?);
        let mut squares: Vec<f64> = all.filter(|d| d.is_finite()).map(|d| d * d).collect();
        squares.sort_unstable_by(f64::total_cmp);
        let root = f64::sqrt(squares.iter().sum::<f64>() / count(squares.len().max(1)));
        if root > 0.0 && root.is_finite() {
            root
        } else {
            1.0
        }
    };
    let scales: Vec<f64> = (0..n_scorers).map(scale).collect();
    let divided = |pair: &Vec<Option<f64>>| {
        let scaled = pair.iter().zip(&scales);
        scaled.map(|(d, scale)| d.map(|d| d / scale)).collect()
    };
    pairs.iter().map(divided).collect()
}

#[expect(clippy::cast_precision_loss, reason = "far fewer than 2^53")]
fn count(n: usize) -> f64 {
    n as f64
}

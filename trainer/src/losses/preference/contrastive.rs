//! A contrastive term on the representations of pairs.

use base::stats::log_sum_exp;
use serde::{Deserialize, Serialize};

use crate::losses::error::{Result, finite, lengths, setting};
use crate::losses::loss::Loss;
use crate::losses::stats::{Stats, Tally};

/// Options of the contrastive term of a reward model: Secrets of RLHF Part II (2401.06080), in the form
/// of `SimCSE` (2104.08821), as reported.
///
/// A pair is represented by the difference `h` of the representations of its responses, in two views
/// `h` and `h'` under different masks of dropout. With `s_ij = cos(h_i, h'_j) / temperature` it costs
/// `-weight log(exp(s_ii) / sum over j of exp(s_ij))`: the other pairs of the batch are the negatives.
/// That dropout is applied to representations, and not inside of the model, is ours.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Contrastive {
    /// Weight of the term; 1.
    pub weight: f64,
    /// Divides the cosines; 0.05.
    pub temperature: f64,
    /// The share of the numbers of a representation that a mask removes; 0.1.
    pub dropout: f64,
}

impl Default for Contrastive {
    fn default() -> Self {
        Self { weight: 1.0, temperature: 0.05, dropout: 0.1 }
    }
}

/// The least length of a representation, below which its direction is not a number.
const LEAST: f64 = 1e-8;

/// A direction and the length that it was divided by.
struct Direction {
    unit: Vec<f64>,
    length: f64,
}

impl Contrastive {
    /// Checks the options.
    ///
    /// # Errors
    /// An invalid option.
    pub fn check(&self) -> Result<()> {
        setting("weight", "above 0", self.weight.is_finite() && self.weight > 0.0)?;
        let holds = self.temperature.is_finite() && self.temperature > 0.0;
        setting("temperature", "above 0", holds)?;
        setting("dropout", "at least 0 and below 1", (0.0..1.0).contains(&self.dropout))
    }

    /// The term for pairs of `width` numbers in two views, `first` and `second` `[pairs, width]`, as a
    /// mean over the pairs. The gradient has the numbers of the first view, then those of the second.
    ///
    /// # Errors
    /// Invalid options, views that do not belong together, numbers that are not finite.
    pub fn evaluate(&self, width: usize, first: &[f64], second: &[f64]) -> Result<Loss> {
        self.check()?;
        let n = first.len().checked_div(width).unwrap_or(0);
        lengths("numbers of the first view", first.len(), n * width)?;
        lengths("numbers of the second view", second.len(), n * width)?;
        finite("first view", first)?;
        finite("second view", second)?;
        let (a, b) = (directions(first, width), directions(second, width));
        let (mut value, mut grad) = (0.0, vec![0.0; 2 * n * width]);
        let (by_first, by_second) = grad.split_at_mut(n * width);
        let (mut cost, mut accuracy) = (Tally::default(), Tally::default());
        for (i, own) in a.iter().enumerate() {
            let cosines: Vec<f64> = b.iter().map(|other| dot(&own.unit, &other.unit)).collect();
            let scores: Vec<f64> = cosines.iter().map(|cosine| cosine / self.temperature).collect();
            let log_total = log_sum_exp(&scores);
            cost.add(log_total - scores[i]);
            value += self.weight * (log_total - scores[i]) / n as f64;
            accuracy.add(f64::from(u8::from(scores.iter().all(|score| *score <= scores[i]))));
            for (j, other) in b.iter().enumerate() {
                let target = f64::from(u8::from(i == j));
                let slope = ((scores[j] - log_total).exp() - target) * self.weight
                    / (n as f64 * self.temperature);
                own.add_cosine_grad(other, cosines[j], slope, &mut by_first[i * width..]);
                other.add_cosine_grad(own, cosines[j], slope, &mut by_second[j * width..]);
            }
        }
        let mut stats = Stats::default();
        stats.insert("contrastive/loss".to_owned(), &cost);
        stats.insert("contrastive/accuracy".to_owned(), &accuracy);
        Loss::of_scores(value, grad, stats)
    }
}

impl Direction {
    /// Adds `slope` times the derivative of the cosine to another direction by the numbers of this one.
    fn add_cosine_grad(&self, other: &Direction, cosine: f64, slope: f64, grad: &mut [f64]) {
        for ((grad, own), other) in grad.iter_mut().zip(&self.unit).zip(&other.unit) {
            *grad += slope * (other - cosine * own) / self.length;
        }
    }
}

fn directions(numbers: &[f64], width: usize) -> Vec<Direction> {
    let direction = |numbers: &[f64]| {
        let length = dot(numbers, numbers).sqrt().max(LEAST);
        Direction { unit: numbers.iter().map(|number| number / length).collect(), length }
    };
    numbers.chunks(width.max(1)).map(direction).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

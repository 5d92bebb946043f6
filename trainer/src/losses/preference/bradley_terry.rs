//! Bradley-Terry on the scores of pairs, with margins, centring and soft labels.

use serde::{Deserialize, Serialize};

use crate::losses::error::{FormulaError, Result, all, finite, lengths, setting};
use crate::losses::logistic::cross_entropy;
use crate::losses::loss::Loss;
use crate::losses::stats::{Stats, Tally};

/// Options of the Bradley-Terry loss.
///
/// With `z = r_c - r_r - margin` and `q` the probability that the chosen one is the better one, a
/// pair costs `-(q log sigma(z) + (1 - q) log sigma(-z)) + centring (r_c + r_r)^2`. Soft labels and
/// smoothing are those of Secrets of RLHF in Large Language Models Part II (2401.06080), as
/// reported; that a margin is inside both terms is ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BradleyTerry {
    /// The coefficient that holds scores around 0: Helping or Herding (2312.09244), which has
    /// 0.01. 0 by default.
    pub centring: f64,
    /// `epsilon` of label smoothing, `q = (1 - epsilon) y + epsilon / 2`; 0 by default.
    pub smoothing: f64,
}

/// Scores of pairs, one entry per pair in each list.
#[derive(Clone, Copy, Debug)]
pub struct Pairs<'a> {
    /// Scores of the chosen responses.
    pub chosen: &'a [f64],
    /// Scores of the rejected responses.
    pub rejected: &'a [f64],
    /// The target of the difference: a grade difference, or the mean difference among reward models
    /// as an adaptive margin. 0 without it.
    pub margins: Option<&'a [f64]>,
    /// The probability that the label is wrong; 1 flips it. 0 without it.
    pub doubts: Option<&'a [f64]>,
    /// The weight of each pair, 0 or more; 1 without it. Centring is not weighted.
    pub weights: Option<&'a [f64]>,
}

impl<'a> Pairs<'a> {
    /// Pairs with clear labels.
    pub fn new(chosen: &'a [f64], rejected: &'a [f64]) -> Self {
        Self { chosen, rejected, margins: None, doubts: None, weights: None }
    }

    fn check(&self, total: usize) -> Result<()> {
        let n = self.chosen.len();
        finite("chosen score", self.chosen)?;
        finite("rejected score", self.rejected)?;
        lengths("rejected scores", self.rejected.len(), n)?;
        if let Some(margins) = self.margins {
            lengths("margins", margins.len(), n)?;
            finite("margin", margins)?;
        }
        if let Some(doubts) = self.doubts {
            lengths("doubts", doubts.len(), n)?;
            all("doubt", doubts, "from 0 to 1", |p| (0.0..=1.0).contains(&p))?;
        }
        if let Some(weights) = self.weights {
            lengths("weights", weights.len(), n)?;
            all("weight", weights, "0 or more", |weight| weight >= 0.0)?;
        }
        if n > total {
            return Err(FormulaError::Denominator { what: "pairs" });
        }
        Ok(())
    }
}

impl BradleyTerry {
    /// Checks the options.
    ///
    /// # Errors
    /// An invalid option.
    pub fn check(&self) -> Result<()> {
        let holds = self.centring.is_finite() && self.centring >= 0.0;
        setting("centring", "0 or more", holds)?;
        let holds = (0.0..=1.0).contains(&self.smoothing);
        setting("smoothing", "from 0 to 1", holds)
    }

    /// The loss of pairs as a mean over the `total` pairs of the batch. The gradient has the chosen
    /// scores first, then the rejected ones.
    ///
    /// # Errors
    /// Invalid options, lists that do not belong together, numbers that are not finite or out of
    /// range.
    pub fn evaluate(&self, pairs: &Pairs<'_>, total: usize) -> Result<Loss> {
        self.check()?;
        pairs.check(total)?;
        let n = pairs.chosen.len();
        let (mut value, mut grad) = (0.0, vec![0.0; 2 * n]);
        let (mut accuracy, mut difference) = (Tally::default(), Tally::default());
        for at in 0..n {
            let (chosen, rejected) = (pairs.chosen[at], pairs.rejected[at]);
            let margin = pairs.margins.map_or(0.0, |margins| margins[at]);
            let certain = 1.0 - pairs.doubts.map_or(0.0, |doubts| doubts[at]);
            let label = (1.0 - self.smoothing) * certain + self.smoothing / 2.0;
            let weight = pairs.weights.map_or(1.0, |weights| weights[at]) / total as f64;
            let (own, slope) = cross_entropy(chosen - rejected - margin, label);
            let (sum, centring) = (chosen + rejected, self.centring / total as f64);
            value += weight * own + centring * sum * sum;
            grad[at] = weight * slope + 2.0 * centring * sum;
            grad[n + at] = -weight * slope + 2.0 * centring * sum;
            accuracy.add(f64::from(u8::from(chosen > rejected)));
            difference.add(chosen - rejected);
        }
        let mut stats = Stats::default();
        stats.insert("preference/accuracy".to_owned(), &accuracy);
        stats.insert("preference/difference".to_owned(), &difference);
        Loss::of_scores(value, grad, stats)
    }
}

//! OREAL: behaviour cloning on right responses, policy gradient on wrong ones, and a token reward
//! model that assigns the credit.

use serde::{Deserialize, Serialize};

use super::term::{Cut, TokenLoss};
use crate::losses::aggregate::Counts;
use crate::losses::error::{FormulaError, Result, boundaries, finite, lengths, setting};
use crate::losses::layout::LossSequence;
use crate::losses::logistic::{cross_entropy, sigmoid};
use crate::losses::loss::Loss;
use crate::losses::stats::{Stats, Tally};
use crate::losses::tokens::View;

/// OREAL (2502.06781): `w+ (-logp) A` over the tokens of responses with a positive reward, by their
/// number, and `-rho A w-` over those of the others, by theirs, with `rho = exp(logp - sg[logp])`.
/// Its divergence (weight 0.01 in the published code) is [`Kl`](crate::losses::kl::Kl), over all
/// tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Oreal {
    /// The factor of the positive term; 1 in the published code.
    pub positive_factor: f64,
    /// The factor of the negative term; 0.5 in the published code.
    pub negative_factor: f64,
    /// Whether the positive term is multiplied by the advantage; true in the published runs.
    pub positive_times_advantage: bool,
    /// The map from the token reward model's probabilities to weights.
    pub credit: CreditWeights,
}

/// The map from probabilities to weights, over `p` of being right for positive tokens and `1 - p`
/// for the others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum CreditWeights {
    /// `clamp((p - at) / (1 - at), 0, 1)`; the published code has 0.5.
    Threshold {
        /// The probability at which weights start.
        at: f64,
    },
    /// The tokens of a response with the largest values, scaled from 0 to 1; all others 0.
    TopShare {
        /// Their share, rounded to a number of tokens; 0.5 in the published code.
        share: f64,
    },
    /// 1 everywhere: OREAL without a token reward model.
    Even,
}

impl Default for Oreal {
    fn default() -> Self {
        Self {
            positive_factor: 1.0,
            negative_factor: 0.5,
            positive_times_advantage: true,
            credit: CreditWeights::Threshold { at: 0.5 },
        }
    }
}

impl Oreal {
    pub(super) fn check(&self) -> Result<()> {
        let holds = [self.positive_factor, self.negative_factor]
            .iter()
            .all(|factor| factor.is_finite() && *factor >= 0.0);
        setting("a factor of OREAL", "0 or more", holds)?;
        match self.credit {
            CreditWeights::Threshold { at } => {
                setting("at", "from 0 to below 1", (0.0..1.0).contains(&at))
            }
            CreditWeights::TopShare { share } => {
                setting("share", "from 0 to 1", (0.0..=1.0).contains(&share))
            }
            CreditWeights::Even => Ok(()),
        }
    }

    /// The weight of each token of a sequence in the sum: its share over the number of tokens of
    /// its sign.
    pub(super) fn weight(counts: &Counts, sequence: &LossSequence) -> Result<f64> {
        let n = if is_positive(sequence.positive)? { counts.positive } else { counts.negative };
        if sequence.counted == 0 {
            return Ok(0.0);
        }
        if n < sequence.counted {
            let what = "tokens of one sign";
            return Err(FormulaError::Denominator { what });
        }
        Ok(counts.share / n as f64)
    }

    pub(super) fn terms(&self, view: &View<'_>) -> Result<Vec<TokenLoss>> {
        let positive = is_positive(view.positive)?;
        let weights = self.credit_weights(view, positive)?;
        let term = |at: usize| {
            let (weight, advantage) = (weights[at], view.advantages[at]);
            if positive {
                let gain = if self.positive_times_advantage { advantage } else { 1.0 };
                let coefficient = self.positive_factor * weight * gain;
                TokenLoss::linear(coefficient, view.logp[at], Cut::No)
            } else {
                let value = -self.negative_factor * weight * advantage;
                let (slope, cut) = (value, Cut::No);
                TokenLoss { value, slope, cut }
            }
        };
        Ok(view.map(TokenLoss::NONE, term))
    }

    fn credit_weights(&self, view: &View<'_>, positive: bool) -> Result<Vec<f64>> {
        if self.credit == CreditWeights::Even {
            return Ok(vec![1.0; view.mask.len()]);
        }
        let right = view.credit.ok_or(FormulaError::Missing {
            method: "oreal",
            what: "the credit of a token reward model, unless its credit is even",
        })?;
        if let Some(at) = view.places().find(|at| !(0.0..=1.0).contains(&right[*at])) {
            return Err(FormulaError::OutOfRange {
                what: "credit",
                index: view.start + at,
                range: "from 0 to 1",
            });
        }
        let own = view.map(0.0, |at| if positive { right[at] } else { 1.0 - right[at] });
        Ok(match self.credit {
            CreditWeights::Threshold { at } => {
                let weight = |p: &f64| ((p - at) / (1.0 - at)).clamp(0.0, 1.0);
                own.iter().map(weight).collect()
            }
            CreditWeights::TopShare { share } => top_share(view, &own, share),
            CreditWeights::Even => own,
        })
    }
}

fn is_positive(sign: Option<bool>) -> Result<bool> {
    sign.ok_or(FormulaError::Missing {
        method: "oreal",
        what: "to know which sequences earned a positive reward",
    })
}

/// The largest `share` of the counted values, scaled from 0 to 1 between their least and greatest.
/// The earlier of equal values are taken.
fn top_share(view: &View<'_>, values: &[f64], share: f64) -> Vec<f64> {
    let mut places: Vec<usize> = view.places().collect();
    places.sort_by(|a, b| values[*b].total_cmp(&values[*a]));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a count, rounded down"
    )]
    let n = (places.len() as f64 * share) as usize;
    let mut weights = vec![0.0; values.len()];
    let Some(top) = places.get(..n).filter(|top| !top.is_empty()) else {
        return weights;
    };
    let (most, least) = (values[top[0]], values[top[n - 1]]);
    for at in top {
        weights[*at] = if most > least { (values[*at] - least) / (most - least) } else { 1.0 };
    }
    weights
}

/// The token reward model's probability that each response is right so far: `sigma` of the mean of
/// its scores up to each token. These are the [`Tokens::credit`](crate::losses::Tokens::credit) of
/// OREAL.
///
/// # Errors
/// Boundaries that do not cut the scores, or a score that is not finite.
pub fn credit(scores: &[f64], cu_seqlens: &[usize]) -> Result<Vec<f64>> {
    boundaries("cu_seqlens", cu_seqlens, scores.len())?;
    finite("token score", scores)?;
    let mut credit = Vec::with_capacity(scores.len());
    for ends in cu_seqlens.windows(2) {
        let mut sum = 0.0;
        for (index, score) in scores[ends[0]..ends[1]].iter().enumerate() {
            sum += score;
            credit.push(sigmoid(sum / (index + 1) as f64));
        }
    }
    Ok(credit)
}

/// The loss of the token reward model: cross-entropy between `sigma` of the mean score of a
/// response and whether its reward was positive, as a mean over the `total` responses of the batch.
/// The gradient is with respect to each score.
///
/// # Errors
/// Lists that do not belong together, an empty response, or a score that is not finite.
pub fn token_reward_loss(
    scores: &[f64],
    cu_seqlens: &[usize],
    positive: &[bool],
    total: usize,
) -> Result<Loss> {
    boundaries("cu_seqlens", cu_seqlens, scores.len())?;
    finite("token score", scores)?;
    lengths("signs of rewards", positive.len(), cu_seqlens.len() - 1)?;
    if positive.len() > total {
        return Err(FormulaError::Denominator { what: "responses" });
    }
    let (mut value, mut grad) = (0.0, vec![0.0; scores.len()]);
    let mut accuracy = Tally::default();
    for ((index, ends), positive) in cu_seqlens.windows(2).enumerate().zip(positive) {
        let response = &scores[ends[0]..ends[1]];
        if response.is_empty() {
            return Err(FormulaError::OutOfRange {
                what: "response",
                index,
                range: "one token or more",
            });
        }
        let n = response.len() as f64;
        let mean = response.iter().sum::<f64>() / n;
        let (own, slope) = cross_entropy(mean, f64::from(u8::from(*positive)));
        value += own / total as f64;
        grad[ends[0]..ends[1]].fill(slope / n / total as f64);
        accuracy.add(f64::from(u8::from((mean > 0.0) == *positive)));
    }
    let mut stats = Stats::default();
    stats.insert("token_reward/accuracy".to_owned(), &accuracy);
    Loss::of_scores(value, grad, stats)
}

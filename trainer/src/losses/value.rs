//! The loss of a value model.

use serde::{Deserialize, Serialize};

use super::error::{FormulaError, Result, finite, lengths, setting};
use super::loss::Loss;
use super::stats::{Stats, Tally};

/// PPO's loss of values: half the mean over tokens of `max((V - R)^2, (V_clip - R)^2)`, where `V_clip`
/// is `V` within `clip` of the value at the rollout. Published trainers have it; the paper of PPO
/// (1707.06347) has no clipping of values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ValueLoss {
    /// 0.2 as in TRL; 0.5 in verl.
    pub clip: f64,
}

/// The tokens of a batch, or of a micro-batch: one entry per token in each list.
#[derive(Clone, Copy, Debug)]
pub struct ValueTokens<'a> {
    /// Values under the current weights.
    pub values: &'a [f64],
    /// Values under the weights at the rollout.
    pub old: &'a [f64],
    /// Returns.
    pub returns: &'a [f64],
    /// Whether a token counts.
    pub mask: &'a [bool],
}

impl Default for ValueLoss {
    fn default() -> Self {
        Self { clip: 0.2 }
    }
}

impl ValueLoss {
    /// Checks the options.
    ///
    /// # Errors
    /// A bound that is not above 0.
    pub fn check(&self) -> Result<()> {
        setting("clip", "above 0", self.clip.is_finite() && self.clip > 0.0)
    }

    /// The loss of tokens, as their share of the `total` counted tokens of the batch; the gradient
    /// is with respect to each value, 0 for uncounted ones.
    ///
    /// # Errors
    /// Lists of different lengths, more counted tokens than `total`, or numbers that are not finite.
    pub fn evaluate(&self, tokens: &ValueTokens<'_>, total: usize) -> Result<Loss> {
        self.check()?;
        let n = tokens.values.len();
        for (what, list) in
            [("value", tokens.values), ("old value", tokens.old), ("return", tokens.returns)]
        {
            lengths(what, list.len(), n)?;
            finite(what, list)?;
        }
        lengths("mask", tokens.mask.len(), n)?;
        let counted = tokens.mask.iter().filter(|counts| **counts).count();
        if counted > total {
            return Err(FormulaError::Denominator { what: "tokens" });
        }
        let (mut value, mut grad) = (0.0, vec![0.0; n]);
        let (mut clipped_share, mut mean) = (Tally::default(), Tally::default());
        for at in (0..n).filter(|at| tokens.mask[*at]) {
            let (own, old) = (tokens.values[at], tokens.old[at]);
            let free = own - tokens.returns[at];
            let held = own.clamp(old - self.clip, old + self.clip) - tokens.returns[at];
            let is_held = held * held > free * free;
            let error = if is_held { held } else { free };
            value += 0.5 * error * error / total as f64;
            if !is_held {
                grad[at] = free / total as f64;
            }
            clipped_share.add(f64::from(u8::from(is_held)));
            mean.add(own);
        }
        let mut stats = Stats::default();
        stats.insert("value/clipped".to_owned(), &clipped_share);
        stats.insert("value/mean".to_owned(), &mean);
        Loss::of_scores(value, grad, stats)
    }
}

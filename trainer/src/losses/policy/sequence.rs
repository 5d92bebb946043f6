//! GSPO: one ratio per sequence.

use serde::{Deserialize, Serialize};

use super::clip::Clip;
use super::term::TokenLoss;
use crate::losses::tokens::{Ratio, View};

/// Above this the log-ratio of a sequence is constant, as in published trainers.
const MAX_LOG: f64 = 10.0;

/// GSPO (Group Sequence Policy Optimization, 2507.18071): the ratio of a sequence is
/// `s = exp(mean of log-ratios)`, and this ratio is clipped.
///
/// It is computed in the paper's token form, `log s_t = sg[log s] + logp_t - sg[logp_t]`: every
/// token has the value of `s` and the gradient `s A_t` for itself. With one advantage per sequence
/// and the default aggregation (mean over tokens, then over sequences) this equals the gradient of
/// the sequence form.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Gspo {
    /// `s` is clipped below 1 - this; 3e-4, as reported for the paper.
    pub low: f64,
    /// `s` is clipped above 1 + this; 4e-4, as reported for the paper.
    pub high: f64,
}

impl Default for Gspo {
    fn default() -> Self {
        Self { low: 3e-4, high: 4e-4 }
    }
}

impl Gspo {
    pub(super) fn clip(&self) -> Clip {
        Clip::plain(self.low, self.high)
    }

    pub(super) fn terms(&self, view: &View<'_>) -> Vec<TokenLoss> {
        let log_ratio = view.mean_log_ratio(view.logp, view.old_logprobs);
        let ratio = Ratio::within(log_ratio, f64::NEG_INFINITY, MAX_LOG);
        let clip = self.clip();
        view.map(TokenLoss::NONE, |at| clip.term(ratio, view.advantages[at]))
    }
}

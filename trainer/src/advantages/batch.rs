//! Advantages relative to the batch: REINFORCE++, its baseline form, and the filter of
//! `StableReinforce`.

use rubrics::combine::Variance;
use rubrics::combine::group::Normalisation;
use serde::{Deserialize, Serialize};

use super::group::{check_normalisation, of_outcomes};
use super::steps::{check_gamma, token_returns};
use super::{ScoredResponse, TokenAdvantages};
use crate::losses::error::{FormulaError, Result, finite, setting};

/// Whitening of the numbers of a batch: `(x - mean) / sqrt(max(variance, floor))`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Whitening {
    /// The divisor of the squared deviations; n, as in published trainers of REINFORCE++.
    pub variance: Variance,
    /// The least variance; 1e-8, as in published trainers of REINFORCE++.
    pub floor: f64,
}

/// REINFORCE++ (2501.03262): per-token returns, whitened over all tokens of the batch. Groups are
/// ignored, so that a group of equal rewards is not at 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReinforcePlusPlus {
    /// The discount from token to token; 1 by default.
    pub gamma: f64,
    /// The whitening of returns.
    pub whitening: Whitening,
}

/// REINFORCE++ with a baseline (2501.03262): rewards relative to their group, then whitened over
/// all tokens of the batch.
///
/// A group of equal rewards stays at exactly 0 (ours: whitening would give all its responses the
/// same small push, determined by other groups); its tokens count in mean and variance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReinforcePlusPlusBaseline {
    /// The normalisation within the group; the mean is subtracted by default. GRPO's is that of
    /// `AReaL`'s published runs.
    pub group: Normalisation,
    /// The whitening over the batch.
    pub whitening: Whitening,
}

/// `StableReinforce` (R1-Reward, 2505.02835): REINFORCE++ whose whitened advantages are set to 0
/// outside a band, because values outside are noise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StableReinforce {
    /// The discount from token to token; 1 by default.
    pub gamma: f64,
    /// The whitening of returns.
    pub whitening: Whitening,
    /// Half the width of the band; 3 in the published code.
    pub width: f64,
    /// The middle of the band.
    pub middle: Middle,
    /// Advantages above this size are 0; 10 in the published code.
    pub most: f64,
}

/// The middle of the band of [`StableReinforce`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Middle {
    /// At the mean before whitening, as in the published code.
    #[default]
    RawMean,
    /// At 0: three standard deviations around the mean, which is the literal reading of the rule.
    Zero,
}

impl Default for Whitening {
    fn default() -> Self {
        Self { variance: Variance::Population, floor: 1e-8 }
    }
}

impl Default for ReinforcePlusPlus {
    fn default() -> Self {
        Self { gamma: 1.0, whitening: Whitening::default() }
    }
}

impl Default for ReinforcePlusPlusBaseline {
    fn default() -> Self {
        Self { group: Normalisation::Mean, whitening: Whitening::default() }
    }
}

impl Default for StableReinforce {
    fn default() -> Self {
        Self {
            gamma: 1.0,
            whitening: Whitening::default(),
            width: 3.0,
            middle: Middle::RawMean,
            most: 10.0,
        }
    }
}

impl Whitening {
    fn check(&self) -> Result<()> {
        let holds = self.floor.is_finite() && self.floor > 0.0;
        setting("floor", "above 0", holds)
    }

    /// Whitens numbers; returns them and their mean before. Equal numbers become exactly 0, and so
    /// does a single one.
    ///
    /// # Errors
    /// A floor that is not above 0, or a number that is not finite or too large.
    pub fn apply(&self, values: &[f64]) -> Result<(Vec<f64>, f64)> {
        self.check()?;
        finite("value", values)?;
        let Some(first) = values.first() else {
            return Ok((Vec::new(), 0.0));
        };
        #[expect(clippy::float_cmp, reason = "the very same number is meant")]
        if values.iter().all(|value| value == first) {
            return Ok((vec![0.0; values.len()], *first));
        }
        let n = values.len() as f64;
        let divisor = match self.variance {
            Variance::Population => n,
            Variance::Unbiased => n - 1.0,
        };
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let std = (squares / divisor).max(self.floor).sqrt();
        if !(mean.is_finite() && std.is_finite()) {
            let what = "a mean or variance of the batch";
            return Err(FormulaError::Overflow { what });
        }
        let whitened = values.iter().map(|value| (value - mean) / std).collect();
        Ok((whitened, mean))
    }
}

impl ReinforcePlusPlus {
    pub(super) fn check(&self) -> Result<()> {
        check_gamma(self.gamma)?;
        self.whitening.check()
    }

    pub(super) fn evaluate(&self, groups: &[Vec<ScoredResponse<'_>>]) -> Result<TokenAdvantages> {
        let returns = returns(groups, self.gamma)?;
        let (whitened, _) = self.whitening.apply(&flat(&returns))?;
        Ok(shaped_as(&returns, whitened))
    }
}

impl ReinforcePlusPlusBaseline {
    pub(super) fn check(&self) -> Result<()> {
        check_normalisation(self.group)?;
        self.whitening.check()
    }

    pub(super) fn evaluate(&self, groups: &[Vec<ScoredResponse<'_>>]) -> Result<TokenAdvantages> {
        let relative = of_outcomes(groups, self.group)?;
        let (whitened, _) = self.whitening.apply(&flat(&relative))?;
        let mut advantages = shaped_as(&relative, whitened);
        for (group, relative) in advantages.iter_mut().zip(&relative) {
            if relative.iter().flatten().all(|value| *value == 0.0) {
                group.iter_mut().flatten().for_each(|value| *value = 0.0);
            }
        }
        Ok(advantages)
    }
}

impl StableReinforce {
    pub(super) fn check(&self) -> Result<()> {
        check_gamma(self.gamma)?;
        let holds = self.width > 0.0 && self.most > 0.0;
        setting("width and most", "above 0", holds)?;
        self.whitening.check()
    }

    pub(super) fn evaluate(&self, groups: &[Vec<ScoredResponse<'_>>]) -> Result<TokenAdvantages> {
        let returns = returns(groups, self.gamma)?;
        let (mut whitened, mean) = self.whitening.apply(&flat(&returns))?;
        let middle = match self.middle {
            Middle::RawMean => mean,
            Middle::Zero => 0.0,
        };
        for value in &mut whitened {
            if (*value - middle).abs() > self.width || value.abs() > self.most {
                *value = 0.0;
            }
        }
        Ok(shaped_as(&returns, whitened))
    }
}

/// The return of each token: its own rewards and all later ones, the outcome at the last.
fn returns(groups: &[Vec<ScoredResponse<'_>>], gamma: f64) -> Result<TokenAdvantages> {
    let token_rewards = |response: &ScoredResponse<'_>| {
        let mut rewards = match response.token_rewards {
            [] => vec![0.0; response.n_tokens],
            given => given.to_vec(),
        };
        if let Some(last) = rewards.last_mut() {
            *last += response.reward;
        }
        token_returns(&rewards, gamma)
    };
    let group = |group: &Vec<ScoredResponse<'_>>| group.iter().map(token_rewards).collect();
    groups.iter().map(group).collect()
}

pub(super) fn flat(values: &TokenAdvantages) -> Vec<f64> {
    values.iter().flatten().flatten().copied().collect()
}

pub(super) fn shaped_as(shape: &TokenAdvantages, values: Vec<f64>) -> TokenAdvantages {
    let mut left = values.into_iter();
    let mut take = |n: usize| left.by_ref().take(n).collect();
    let group = |group: &Vec<Vec<f64>>| group.iter().map(|tokens| take(tokens.len())).collect();
    shape.iter().map(group).collect()
}

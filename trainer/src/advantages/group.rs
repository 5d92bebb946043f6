//! One advantage per response, relative to the other responses to its prompt. The normalisations
//! are those of [`rubrics::combine::group`], which the server's pipelines use.

use rubrics::combine::Variance;
use rubrics::combine::group::{Normalisation, advantages};
use serde::{Deserialize, Serialize};

use super::{ScoredResponse, TokenAdvantages};
use crate::losses::error::{Result, all, setting};

/// GRPO (2402.03300): `(R - mean) / (std + epsilon)`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Grpo {
    /// The divisor of the squared deviations; unbiased (n - 1) as in TRL and SPARK.
    pub variance: Variance,
    /// 1e-4 as in TRL; SPARK (2509.22624) has 1e-9.
    pub epsilon: f64,
}

/// Dr.GRPO (2503.20783): `R - mean`, without a division, which would favour easy and hard prompts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mean {}

/// RLOO (Back to Basics, 2402.14740; OREAL, 2502.06781): `R` less the mean of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rloo {}

/// `MaxRL` (Maximum Likelihood Reinforcement Learning; paper id unknown): `(R - mean) / mean` for
/// rewards of 0 or more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MaxRl {}

impl Default for Grpo {
    fn default() -> Self {
        Self { variance: Variance::Unbiased, epsilon: 1e-4 }
    }
}

impl Grpo {
    pub(super) fn check(&self) -> Result<()> {
        check_epsilon(self.epsilon)
    }

    pub(super) fn normalisation(&self) -> Normalisation {
        Normalisation::Grpo { variance: self.variance, epsilon: self.epsilon }
    }
}

pub(super) fn check_epsilon(epsilon: f64) -> Result<()> {
    let holds = epsilon.is_finite() && epsilon >= 0.0;
    setting("epsilon", "0 or more", holds)
}

/// Refuses invalid options of a normalisation.
pub(super) fn check_normalisation(how: Normalisation) -> Result<()> {
    match how {
        Normalisation::Grpo { epsilon, .. } => check_epsilon(epsilon),
        Normalisation::Mean | Normalisation::LeaveOneOut => Ok(()),
    }
}

impl Mean {
    pub(super) const NORMALISATION: Normalisation = Normalisation::Mean;
}

impl Rloo {
    pub(super) const NORMALISATION: Normalisation = Normalisation::LeaveOneOut;
}

impl MaxRl {
    pub(super) fn evaluate(groups: &[Vec<ScoredResponse<'_>>]) -> Result<TokenAdvantages> {
        each_outcome(groups, |rewards| {
            all("reward", rewards, "0 or more", |reward| reward >= 0.0)?;
            let mean = rewards.iter().sum::<f64>() / rewards.len() as f64;
            let centred = advantages(rewards, Normalisation::Mean)?;
            // Zeros are not divided, so the mean is above 0 at every division.
            let relative = |value: f64| if value == 0.0 { 0.0 } else { value / mean };
            Ok(centred.into_iter().map(relative).collect())
        })
    }
}

/// Gives every token of a response the response's advantage.
pub(super) fn of_outcomes(
    groups: &[Vec<ScoredResponse<'_>>],
    how: Normalisation,
) -> Result<TokenAdvantages> {
    each_outcome(groups, |rewards| Ok(advantages(rewards, how)?))
}

/// The advantages of responses, from the rewards of a group.
pub(super) fn outcomes(group: &[ScoredResponse<'_>], how: Normalisation) -> Result<Vec<f64>> {
    let rewards: Vec<f64> = group.iter().map(ScoredResponse::total).collect();
    Ok(advantages(&rewards, how)?)
}

fn each_outcome(
    groups: &[Vec<ScoredResponse<'_>>],
    of: impl Fn(&[f64]) -> Result<Vec<f64>>,
) -> Result<TokenAdvantages> {
    let group = |group: &Vec<ScoredResponse<'_>>| {
        if group.is_empty() {
            return Ok(Vec::new());
        }
        let rewards: Vec<f64> = group.iter().map(ScoredResponse::total).collect();
        let tokens =
            |(response, advantage): (&ScoredResponse<'_>, f64)| vec![advantage; response.n_tokens];
        Ok(group.iter().zip(of(&rewards)?).map(tokens).collect())
    };
    groups.iter().map(group).collect()
}

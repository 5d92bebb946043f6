//! The Rubicon score: weighted, saturated dimensions with interactions and shaping.
//!
//! Rubicon (Reinforcement Learning with Rubric Anchors, 2508.12790) describes in prose that it
//! weighs dimensions, saturates them, lets them interact, stretches the high end and vetoes. It has
//! no equations: these are ours, in this order and with every number an option.
//!
//! 1. each dimension `r_k` by itself: saturated, `g(r_k)`;
//! 2. the sum `base + Σ w_k g(r_k) + Σ γ_kl g(r_k) g(r_l)`;
//! 3. shaping of that sum;
//! 4. the cut to `[0, 1]`, if configured;
//! 5. vetoes, on the values before saturation.

use serde::Serialize;

use super::error::RubricError;

/// Combination of dimensions.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Rubicon {
    /// Constant term.
    pub base: f64,
    /// Saturation of each dimension.
    pub saturation: Option<Saturation>,
    /// Products of pairs of dimensions.
    pub interactions: Vec<Interaction>,
    /// Shaping of the sum.
    pub shaping: Option<Shaping>,
}

/// A bound on what more of one dimension can earn.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Saturation {
    /// `tanh(a r) / tanh(a)`: 1 stays 1, and beyond it little is left to earn. `a` is positive.
    Tanh(f64),
    /// `min(r, cap)`.
    Cap(f64),
}

/// An interaction of two dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interaction {
    /// The items, by their places in the rubric, the smaller first.
    pub items: (usize, usize),
    /// Positive for synergy, negative for conflict.
    pub gamma: f64,
}

/// A stretch of the crowded high end: `k + (t - k) ((R - k) / (t - k))^p` above the knee `k`, and
/// `R` below it. It is continuous, keeps the order, and leaves `t` where it is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Shaping {
    /// Value at which it begins.
    pub knee: f64,
    /// At least 1.
    pub power: f64,
    /// The value that stays, above the knee.
    pub top: f64,
}

impl Saturation {
    /// `g(r)`.
    pub fn of(self, r: f64) -> f64 {
        match self {
            Self::Tanh(a) => (a * r).tanh() / a.tanh(),
            Self::Cap(cap) => r.min(cap),
        }
    }
}

impl Shaping {
    /// The sum after it.
    pub fn of(self, sum: f64) -> f64 {
        if sum <= self.knee {
            return sum;
        }
        let width = self.top - self.knee;
        self.knee + width * ((sum - self.knee) / width).powf(self.power)
    }
}

impl Rubicon {
    /// Applies steps 1 to 3 to dimensions given as weight and value. If a dimension has no value,
    /// the weights of the others are scaled to the same total of absolute values, and its
    /// interactions are left out.
    ///
    /// # Errors
    /// [`RubricError::NothingCounted`] and [`RubricError::Overflow`].
    pub fn of(&self, dimensions: &[(f64, Option<f64>)]) -> Result<f64, RubricError> {
        let saturated: Vec<Option<f64>> = dimensions
            .iter()
            .map(|(_, r)| r.map(|r| self.saturation.map_or(r, |saturation| saturation.of(r))))
            .collect();
        let weights = || dimensions.iter().map(|(weight, _)| weight).zip(&saturated);
        let total: f64 = weights().map(|(weight, _)| weight.abs()).sum();
        let counted = weights().filter_map(|(weight, g)| Some((weight, (*g)?)));
        let held: f64 = counted.clone().map(|(weight, _)| weight.abs()).sum();
        if total > 0.0 && held == 0.0 {
            return Err(RubricError::NothingCounted);
        }
        let sum: f64 = counted.map(|(weight, g)| weight * g).sum();
        let scaled = if held < total { sum * (total / held) } else { sum };
        let pairs = self.interactions.iter().filter_map(|pair| {
            let (k, l) = pair.items;
            Some(pair.gamma * saturated.get(k).copied()?? * saturated.get(l).copied()??)
        });
        let sum = self.base + scaled + pairs.sum::<f64>();
        let shaped = self.shaping.map_or(sum, |shaping| shaping.of(sum));
        if shaped.is_finite() { Ok(shaped) } else { Err(RubricError::Overflow) }
    }
}

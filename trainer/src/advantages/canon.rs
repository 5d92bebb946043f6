//! CANON: advantages against the other half of a group.

use serde::{Deserialize, Serialize};

use super::{ScoredResponse, TokenAdvantages};
use crate::losses::error::{FormulaError, Result, setting};

/// CANON (2509.23962): a response is compared with the other half of its group, and with its own. The
/// favoured half, the shorter one or the one of the higher entropy, has `mu (r - alpha m_other + beta) +
/// (1 - mu) (r - m_own)`, the other half `mu (alpha r - m_other - beta) + (1 - mu) (r - m_own)`, with the
/// mean rewards `m` of the halves. Equal responses are ordered by the number of the rollout. With
/// `mu = 0.5`, `alpha = 1` and `beta = 0` it is `r - mean`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Canon {
    /// What a group is halved by.
    pub metric: CanonMetric,
    /// Weight of the comparison with the other half; 1.
    pub mu: f64,
    /// Below 1 it favours a half; 1.
    pub alpha: f64,
    /// Added to the favoured half's comparison and taken off the other's, for the entropy alone; 0.
    pub beta: f64,
    /// How `mu` moves during training.
    pub anneal: CanonAnneal,
    /// Steps of the rise of `anneal = "cosine"`; 5.
    pub warmup: u64,
    /// Its cycles; 3.
    pub cycles: u64,
}

/// What CANON halves a group by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CanonMetric {
    /// The number of sampled tokens.
    #[default]
    Length,
    /// The mean entropy of the distributions that the tokens were drawn from.
    Entropy,
}

/// How CANON's `mu` moves during training.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CanonAnneal {
    /// It stays.
    #[default]
    None,
    /// It is the share of responses of the batch with a positive reward: first the own half counts, later
    /// the other one. The batch is that of the groups that are trained on, which is ours.
    Accuracy,
    /// It rises from 0 to 1 over `warmup` steps, and then falls to 0 along a cosine in each of `cycles`
    /// cycles, as learning rates do with hard restarts; the direction is ours.
    Cosine,
}

impl Default for Canon {
    fn default() -> Self {
        Self {
            metric: CanonMetric::default(),
            mu: 1.0,
            alpha: 1.0,
            beta: 0.0,
            anneal: CanonAnneal::default(),
            warmup: 5,
            cycles: 3,
        }
    }
}

impl Canon {
    pub(super) fn check(&self) -> Result<()> {
        setting("mu", "from 0 to 1", (0.0..=1.0).contains(&self.mu))?;
        setting("alpha", "from 0 to 1", (0.0..=1.0).contains(&self.alpha))?;
        let holds = match self.metric {
            CanonMetric::Length => self.beta == 0.0,
            CanonMetric::Entropy => self.beta.is_finite() && self.beta >= 0.0,
        };
        setting("beta", "0 or more, and 0 by length", holds)?;
        setting("cycles", "1 or more", self.cycles > 0)
    }

    /// Its options in one step of a run, counted from 1.
    pub(super) fn at(self, step: u64, steps: u64) -> Self {
        match self.anneal {
            CanonAnneal::None | CanonAnneal::Accuracy => self,
            CanonAnneal::Cosine => {
                let mu = self.cosine(step.saturating_sub(1), steps);
                Self { mu, anneal: CanonAnneal::None, ..self }
            }
        }
    }

    /// `mu` after `done` of the steps of a run.
    fn cosine(&self, done: u64, steps: u64) -> f64 {
        if done < self.warmup {
            return done as f64 / self.warmup as f64;
        }
        let rest = steps.saturating_sub(self.warmup).max(1);
        let progress = (done - self.warmup) as f64 / rest as f64;
        let cycle = (progress * self.cycles as f64).fract();
        f64::midpoint(1.0, (std::f64::consts::PI * cycle).cos())
    }

    pub(super) fn evaluate(&self, groups: &[Vec<ScoredResponse<'_>>]) -> Result<TokenAdvantages> {
        let mu = match self.anneal {
            CanonAnneal::None | CanonAnneal::Cosine => self.mu,
            CanonAnneal::Accuracy => {
                let all = || groups.iter().flatten();
                let right = all().filter(|response| response.total() > 0.0).count();
                right as f64 / all().count().max(1) as f64
            }
        };
        let canon = Self { mu, ..*self };
        super::each(groups, |group| canon.group(group))
    }

    /// The responses from the first to the last of the metric.
    fn order(&self, group: &[ScoredResponse<'_>]) -> Result<Vec<usize>> {
        let mut order: Vec<usize> = (0..group.len()).collect();
        match self.metric {
            CanonMetric::Length => order.sort_by_key(|at| group[*at].n_tokens),
            CanonMetric::Entropy => {
                let entropies: Option<Vec<f64>> =
                    group.iter().map(|response| response.entropy).collect();
                let what = "the mean entropy of each response";
                let entropies = entropies.ok_or(FormulaError::Missing { method: "canon", what })?;
                order.sort_by(|a, b| entropies[*a].total_cmp(&entropies[*b]));
            }
        }
        Ok(order)
    }

    fn group(&self, group: &[ScoredResponse<'_>]) -> Result<Vec<Vec<f64>>> {
        let n = group.len();
        if !n.is_multiple_of(2) {
            let (what, range) = ("the size of a group", "even, so that it has two halves");
            return Err(FormulaError::OutOfRange { what, index: n, range });
        }
        let mut order = self.order(group)?;
        if self.metric == CanonMetric::Entropy {
            order.reverse();
        }
        let (favoured, others) = order.split_at(n / 2);
        let mean = |half: &[usize]| {
            let sum: f64 = half.iter().map(|at| group[*at].total()).sum();
            sum / half.len().max(1) as f64
        };
        let (m_favoured, m_others) = (mean(favoured), mean(others));
        let mut advantages = vec![Vec::new(); n];
        for (place, at) in order.iter().enumerate() {
            let r = group[*at].total();
            let (other, own) = if place < n / 2 {
                (r - self.alpha * m_others + self.beta, r - m_favoured)
            } else {
                (self.alpha * r - m_favoured - self.beta, r - m_others)
            };
            let advantage = self.mu * other + (1.0 - self.mu) * own;
            advantages[*at] = vec![advantage; group[*at].n_tokens];
        }
        Ok(advantages)
    }
}

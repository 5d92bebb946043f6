//! Corrections for rollouts that other weights or another engine sampled.
//!
//! Each is a constant factor of the policy term of a token, computed from the ratio `w` between the
//! weights at the beginning of the step and those that sampled. Divergence and entropy terms are
//! not corrected, and dropped tokens stay in the denominators.

use serde::{Deserialize, Serialize};

use super::error::{FormulaError, Result, setting};
use super::tokens::{Ratio, Tokens, View};

/// The correction and its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Correction {
    /// See [`Tis`].
    Tis(Tis),
    /// See [`IcePop`].
    IcePop(IcePop),
    /// See [`SequenceMis`].
    SequenceMis(SequenceMis),
    /// See [`GeometricMask`].
    GeometricMask(GeometricMask),
    /// See [`Opsm`].
    Opsm(Opsm),
    /// See [`M2po`].
    M2po(M2po),
}

/// TIS, truncated importance sampling of tokens: `min(w, cap)`, as in published trainers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tis {
    /// The largest factor; 2 by common practice.
    pub cap: f64,
}

/// `IcePop`: `w` within bounds and 0 outside, as in published trainers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IcePop {
    /// 0.5.
    pub low: f64,
    /// 5; reports range from 2 to 5.
    pub high: f64,
}

/// Masked importance sampling of sequences, as in published trainers: the product of a sequence's
/// ratios within bounds, and 0 outside. A product over many tokens soon leaves any bounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SequenceMis {
    /// 1/2.
    pub low: f64,
    /// 2.
    pub high: f64,
    /// Whether a kept sequence is weighted by its product, or by 1. Weighting by default is ours;
    /// trainers differ.
    pub weighted: bool,
}

/// Drops sequences whose geometric mean ratio leaves a narrow band, as in `SkyRL` and verl; the
/// others count fully.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GeometricMask {
    /// 0.99, as in `SkyRL`; 0.999 in verl.
    pub low: f64,
    /// 1.01, as in `SkyRL`; 1.001 in verl.
    pub high: f64,
}

/// Off-policy sequence masking of DeepSeek-V3.2 (2512.02556): a sequence with a negative advantage
/// is dropped if the mean over its tokens of `log mu - log pi` is above `delta`, that is, if the
/// policy has moved away from it. This is the reported form, with one advantage per sequence; with
/// one per token, the tokens with a negative one are dropped, which is ours.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opsm {
    /// In nats per token. The paper's value is not known, so there is no default; TRL suggests 0.5.
    pub delta: f64,
}

/// M2PO (Prosperity before Collapse, 2510.01161): the tokens with the largest `(log w)^2` are
/// dropped until the mean over the others is below the bound. The choice depends on the batch, so
/// the mask is made once ([`M2po::keep`]) and passed as [`Tokens::factors`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct M2po {
    /// 0.04, as reported for the paper.
    pub bound: f64,
}

impl Default for Tis {
    fn default() -> Self {
        Self { cap: 2.0 }
    }
}

impl Default for IcePop {
    fn default() -> Self {
        Self { low: 0.5, high: 5.0 }
    }
}

impl Default for SequenceMis {
    fn default() -> Self {
        Self { low: 0.5, high: 2.0, weighted: true }
    }
}

impl Default for GeometricMask {
    fn default() -> Self {
        Self { low: 0.99, high: 1.01 }
    }
}

impl Default for M2po {
    fn default() -> Self {
        Self { bound: 0.04 }
    }
}

impl Correction {
    /// Checks the options.
    ///
    /// # Errors
    /// Invalid bounds.
    pub fn check(&self) -> Result<()> {
        let band = |low: f64, high: f64| {
            let holds = low > 0.0 && low <= 1.0 && high >= 1.0 && high.is_finite();
            setting("low and high of a correction", "above 0, and on either side of 1", holds)
        };
        let above_zero =
            |name, value: f64| setting(name, "above 0", value.is_finite() && value > 0.0);
        match self {
            Self::Tis(tis) => above_zero("cap", tis.cap),
            Self::IcePop(pop) => band(pop.low, pop.high),
            Self::SequenceMis(mis) => band(mis.low, mis.high),
            Self::GeometricMask(mask) => band(mask.low, mask.high),
            Self::Opsm(opsm) => above_zero("delta", opsm.delta),
            Self::M2po(m2po) => above_zero("bound", m2po.bound),
        }
    }

    /// Whether it uses the ratio between the step's beginning and the weights that sampled.
    pub(super) fn weighs(&self) -> bool {
        match self {
            Self::Tis(_) | Self::IcePop(_) | Self::SequenceMis(_) => true,
            Self::GeometricMask(_) | Self::Opsm(_) | Self::M2po(_) => false,
        }
    }

    /// The factor of each token of a sequence.
    pub(super) fn factors(&self, view: &View<'_>) -> Result<Vec<f64>> {
        let rollout_logprobs = view.needs_rollout_logprobs("a correction")?;
        let token = |at: usize| Ratio::of(view.old_logprobs[at] - rollout_logprobs[at]).value;
        let all = |factor: f64| view.map(0.0, |_| factor);
        Ok(match self {
            Self::Tis(tis) => view.map(0.0, |at| token(at).min(tis.cap)),
            Self::IcePop(pop) => view.map(0.0, |at| ratio_if_within(token(at), pop.low, pop.high)),
            Self::SequenceMis(mis) => {
                let mean = view.mean_log_ratio(view.old_logprobs, rollout_logprobs);
                let product = Ratio::of(mean * view.counted as f64).value;
                let kept = ratio_if_within(product, mis.low, mis.high);
                all(if mis.weighted { kept } else { is_kept(kept) })
            }
            Self::GeometricMask(mask) => {
                let mean =
                    Ratio::of(view.mean_log_ratio(view.old_logprobs, rollout_logprobs)).value;
                all(is_kept(ratio_if_within(mean, mask.low, mask.high)))
            }
            Self::Opsm(opsm) => {
                let has_moved = view.mean_log_ratio(rollout_logprobs, view.logp) > opsm.delta;
                view.map(0.0, |at| {
                    let dropped = has_moved && view.advantages[at] < 0.0;
                    f64::from(u8::from(!dropped))
                })
            }
            Self::M2po(_) => {
                if view.factors.is_none() {
                    return Err(FormulaError::Missing {
                        method: "m2po",
                        what: "its mask of the whole batch as factors",
                    });
                }
                all(1.0)
            }
        })
    }
}

fn ratio_if_within(ratio: f64, low: f64, high: f64) -> f64 {
    if (low..=high).contains(&ratio) { ratio } else { 0.0 }
}

fn is_kept(factor: f64) -> f64 {
    f64::from(u8::from(factor > 0.0))
}

impl M2po {
    /// The mask of a batch: 1 for kept and 0 for dropped tokens, and 1 for those that do not count
    /// or have no policy loss. As in published code the ratio is that of the step's beginning to
    /// the weights that sampled, and the last token is kept even if its own square is above the
    /// bound. The earlier of equal squares are dropped first.
    ///
    /// # Errors
    /// Lists that do not belong together, numbers that are not finite, or no rollout
    /// log-probabilities.
    pub fn keep(&self, tokens: &Tokens<'_>) -> Result<Vec<f64>> {
        Correction::M2po(*self).check()?;
        let sequences = tokens.checked()?;
        let rollout_logprobs = tokens
            .rollout_logprobs
            .ok_or(FormulaError::Missing { method: "m2po", what: "rollout log-probabilities" })?;
        let square = |at: &usize| (tokens.old_logprobs[*at] - rollout_logprobs[*at]).powi(2);
        let mask = tokens.layout.mask;
        let mut places: Vec<usize> = sequences
            .into_iter()
            .filter(|sequence| sequence.stream.has_policy_loss())
            .flat_map(|sequence| sequence.tokens)
            .filter(|at| mask[*at])
            .collect();
        places.sort_by(|a, b| square(a).total_cmp(&square(b)).then(b.cmp(a)));
        let mut keep = vec![1.0; mask.len()];
        let mut sums = Vec::with_capacity(places.len());
        let mut sum = 0.0;
        for at in &places {
            sum += square(at);
            sums.push(sum);
        }
        while places.len() > 1 && sums[places.len() - 1] / places.len() as f64 >= self.bound {
            let dropped = places.pop().expect("there is more than one");
            keep[dropped] = 0.0;
        }
        Ok(keep)
    }
}

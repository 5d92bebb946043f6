//! The mixture of kinds in a batch, and the rule that admits self-scored data.

use serde::{Deserialize, Serialize};

use crate::error::{Result, TrainError};

/// Shares of a batch with all of the open data; their sum need not be 1. Our reconstruction: 2 : 1
/// : 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Mix {
    /// Problems with gold answers.
    pub verifiable: f64,
    /// Ranked candidates.
    pub preference: f64,
    /// Open instructions.
    pub open: f64,
}

impl Default for Mix {
    fn default() -> Self {
        Self { verifiable: 2.0, preference: 1.0, open: 1.0 }
    }
}

/// The rule that admits open data. Our reconstruction; the gate at 0.75 is the default.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case", tag = "rule")]
pub enum OpenRule {
    /// Once the rank judge's accuracy on held-out pairs is at least this.
    Gate {
        /// 0.75 by default.
        #[serde(default = "gate")]
        accuracy: f64,
        /// Whether it closes again if the accuracy falls below; by default it does.
        #[serde(default = "closes")]
        closes: bool,
    },
    /// None up to `from`, all of it from `to` on, linear between.
    Ramp {
        /// A step.
        from: u64,
        /// A later step.
        to: u64,
    },
    /// From the beginning.
    Always,
}

impl Default for OpenRule {
    fn default() -> Self {
        Self::Gate { accuracy: gate(), closes: closes() }
    }
}

fn gate() -> f64 {
    0.75
}

fn closes() -> bool {
    true
}

/// The mixture over a run. Serialisable.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    mix: Mix,
    rule: OpenRule,
    passed: bool,
}

/// Items of each kind in one batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BatchKinds {
    /// Problems with gold answers.
    pub verifiable: usize,
    /// Ranked candidates.
    pub preference: usize,
    /// Open instructions.
    pub open: usize,
}

impl Schedule {
    /// Starts with this mixture and rule.
    ///
    /// # Errors
    /// Shares that are negative, not finite or all 0; open data without preference data, which
    /// would leave the judge without an anchor; a gate that is not a probability; a ramp that
    /// falls.
    pub fn new(mix: Mix, rule: OpenRule) -> Result<Self> {
        let shares = [mix.verifiable, mix.preference, mix.open];
        let problem = match rule {
            _ if shares.iter().any(|share| !(0.0..f64::INFINITY).contains(share)) => {
                "shares are finite and not negative"
            }
            _ if mix.verifiable + mix.preference <= 0.0 => {
                "some share of verifiable or preference data is needed"
            }
            _ if mix.open > 0.0 && mix.preference <= 0.0 => {
                "open data needs preference data beside it to the end: a judge is never trained on \
                 its own opinion alone"
            }
            OpenRule::Gate { accuracy, .. } if !(0.0..=1.0).contains(&accuracy) => {
                "the gate is an accuracy between 0 and 1"
            }
            OpenRule::Ramp { from, to } if from > to => "the ramp ends after it begins",
            OpenRule::Gate { .. } | OpenRule::Ramp { .. } | OpenRule::Always => {
                return Ok(Self { mix, rule, passed: false });
            }
        };
        Err(TrainError::Invalid(format!("urpo: {problem}")))
    }

    /// Updates the gate with the rank judge's accuracy on held-out pairs; `None` changes nothing.
    pub fn observe(&mut self, accuracy: Option<f64>) {
        match (self.rule, accuracy) {
            (OpenRule::Gate { accuracy, closes }, Some(found)) if !found.is_nan() => {
                self.passed = found >= accuracy || (self.passed && !closes);
            }
            (OpenRule::Gate { .. } | OpenRule::Ramp { .. } | OpenRule::Always, _) => {}
        }
    }

    /// The admitted part of the open share at `step`, from 0 to 1.
    pub fn open_part(&self, step: u64) -> f64 {
        match self.rule {
            OpenRule::Gate { .. } => f64::from(u8::from(self.passed)),
            OpenRule::Ramp { to, .. } if step >= to => 1.0,
            OpenRule::Ramp { from, .. } if step <= from => 0.0,
            OpenRule::Ramp { from, to } => (step - from) as f64 / (to - from) as f64,
            OpenRule::Always => 1.0,
        }
    }

    /// Items of each kind in a batch of `size` at `step`: shares by largest remainder; the share
    /// that open data does not take goes to the others in their proportion. A mixture with open
    /// data has at least one preference item.
    pub fn batch(&self, step: u64, size: usize) -> BatchKinds {
        let all = self.mix.verifiable + self.mix.preference + self.mix.open;
        let open = self.open_part(step) * self.mix.open / all;
        let judged = self.mix.verifiable + self.mix.preference;
        let shares = [
            (1.0 - open) * self.mix.verifiable / judged,
            (1.0 - open) * self.mix.preference / judged,
            open,
        ];
        let [verifiable, mut preference, mut open] = apportion(size, shares);
        if open > 0 && preference == 0 {
            (preference, open) = (1, open - 1);
        }
        BatchKinds { verifiable, preference, open }
    }
}

/// Splits `size` in three parts by largest remainder; the first of equal remainders wins.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "shares are in [0, 1], so the floors are at most `size`"
)]
fn apportion(size: usize, shares: [f64; 3]) -> [usize; 3] {
    let exact = shares.map(|share| share * size as f64);
    let mut counts = exact.map(|part| part.floor() as usize);
    let mut order = [0, 1, 2];
    let rest = |place: &usize| exact[*place].fract();
    order.sort_by(|a, b| rest(b).total_cmp(&rest(a)));
    let left = size.saturating_sub(counts.iter().sum());
    for place in order.into_iter().cycle().take(left) {
        counts[place] += 1;
    }
    counts
}

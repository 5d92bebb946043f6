//! Pass rates, and bands of them.
//!
//! Online difficulty filtering (2504.03380) keeps a prompt if the share of its rollouts that pass
//! lies in a band. The paper's thresholds are not known to us, so there is no default band.

use std::str::FromStr;

use serde::Serialize;

/// Number of passing responses of a group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct PassRate {
    /// Number of responses with at least the pass mark.
    pub passed: usize,
    /// Number of responses with a score.
    pub measured: usize,
    /// Number of responses without a score.
    pub unmeasured: usize,
}

/// Counts the scores of a group that are at least `mark`.
pub fn pass_rate(scores: &[Option<f64>], mark: f64) -> PassRate {
    let measured = || scores.iter().flatten().filter(|score| score.is_finite());
    let n_measured = measured().count();
    PassRate {
        passed: measured().filter(|score| **score >= mark).count(),
        measured: n_measured,
        unmeasured: scores.len() - n_measured,
    }
}

impl PassRate {
    /// Share of the measured responses that pass; `None` if none was measured.
    pub fn rate(&self) -> Option<f64> {
        (self.measured > 0).then(|| ratio(self.passed, self.measured))
    }

    /// Bounds of the pass rate over all responses, whatever the unmeasured ones are worth; `None` for
    /// an empty group.
    pub fn bounds(&self) -> Option<(f64, f64)> {
        let all = self.measured + self.unmeasured;
        let bounds = || (ratio(self.passed, all), ratio(self.passed + self.unmeasured, all));
        (all > 0).then(bounds)
    }
}

#[expect(clippy::cast_precision_loss, reason = "far fewer than 2^53 responses")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

/// A closed interval of pass rates.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Band {
    low: f64,
    high: f64,
}

/// Position of a group relative to a band.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BandPosition {
    /// The rate lies in the band, ends included.
    Inside,
    /// Too few pass: the prompt is too hard.
    Below,
    /// Too many pass: the prompt is too easy.
    Above,
    /// Too few responses were measured.
    NotMeasured,
}

/// Error of a band.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BandError {
    /// It is not two numbers.
    #[error("'{0}' is no band of pass rates; write LOW:HIGH, such as 0.25:0.75")]
    Form(String),
    /// The numbers are not rates in order.
    #[error("the band {low}:{high} must be two rates from 0 to 1, the lower one first")]
    Range {
        /// The lower end.
        low: f64,
        /// The upper end.
        high: f64,
    },
}

impl Band {
    /// The band from `low` to `high`.
    ///
    /// # Errors
    /// [`BandError::Range`] unless 0 ≤ low ≤ high ≤ 1.
    pub fn new(low: f64, high: f64) -> Result<Self, BandError> {
        if 0.0 <= low && low <= high && high <= 1.0 {
            Ok(Self { low, high })
        } else {
            Err(BandError::Range { low, high })
        }
    }

    /// The ends.
    pub fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// Position of a group, of which at least `least` responses, and at least one, must be measured.
    pub fn place(&self, rate: &PassRate, least: usize) -> BandPosition {
        match rate.rate() {
            None => BandPosition::NotMeasured,
            Some(_) if rate.measured < least => BandPosition::NotMeasured,
            Some(rate) if rate < self.low => BandPosition::Below,
            Some(rate) if rate > self.high => BandPosition::Above,
            Some(_) => BandPosition::Inside,
        }
    }
}

impl FromStr for Band {
    type Err = BandError;

    /// Parses `LOW:HIGH`.
    fn from_str(text: &str) -> Result<Self, BandError> {
        let form = || BandError::Form(text.to_owned());
        let (low, high) = text.split_once(':').ok_or_else(form)?;
        let number = |text: &str| text.trim().parse::<f64>().map_err(|_| form());
        Self::new(number(low)?, number(high)?)
    }
}

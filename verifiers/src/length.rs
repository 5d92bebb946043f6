//! `length`: no shorter and no longer than configured.

use serde::{Deserialize, Serialize};

use crate::accepted::{candidate, scan_cost};
use crate::{
    Claim, ConfigError, Fuel, Reason, UnitScore, Verdict, Verifier, VerifierId, VerifyError,
};

#[cfg(test)]
mod tests;

/// Bytes that one unit of fuel counts.
const BYTES_PER_UNIT: u64 = 64;

/// The unit of length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LengthUnit {
    /// Unicode code points.
    #[default]
    Chars,
    /// Runs of characters that are not white space.
    Words,
    /// Lines; a line feed at the very end begins no new one.
    Lines,
    /// Bytes of UTF-8.
    Bytes,
}

/// The accepted lengths.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LengthConfig {
    /// The smallest accepted length.
    pub min: u64,
    /// The largest accepted length; none means no limit.
    pub max: Option<u64>,
    /// Unit of length.
    pub unit: LengthUnit,
    /// Units beyond a bound over which the score falls linearly from 1 to 0. With 0, the default,
    /// every length outside the bounds scores 0.
    ///
    /// The soft overlong punishment of DAPO (arXiv 2503.14476) with a cache of n
    /// tokens is `falloff = n` with its reward raised by 1, so that it lies in [0, 1].
    pub falloff: u64,
}

/// Right when the length of the candidate lies within bounds. The gold answer is not used.
#[derive(Debug, Clone)]
pub struct LengthVerifier {
    config: LengthConfig,
}

impl LengthVerifier {
    /// Creates a verifier with this configuration.
    ///
    /// # Errors
    /// [`ConfigError::NoBounds`] and [`ConfigError::BoundsCrossed`].
    pub fn new(config: LengthConfig) -> Result<Self, ConfigError> {
        match config.max {
            None if config.min == 0 => Err(ConfigError::NoBounds),
            Some(max) if max < config.min => {
                Err(ConfigError::BoundsCrossed { min: config.min, max })
            }
            None | Some(_) => Ok(Self { config }),
        }
    }

    fn judge(&self, text: &str, explain: bool) -> Verdict {
        let length = length_in(text, self.config.unit);
        let max = self.config.max.unwrap_or(u64::MAX);
        let (label, code, beyond) = if length < self.config.min {
            ("too_short", "length_below", self.config.min - length)
        } else if length > max {
            ("too_long", "length_above", length - max)
        } else {
            ("within", "length_within", 0)
        };
        let reason = Reason::explained(code, explain, || self.describe(length));
        Verdict::proven(declining(beyond, self.config.falloff), label, reason)
    }

    fn describe(&self, length: u64) -> String {
        let unit = match self.config.unit {
            LengthUnit::Chars => "characters",
            LengthUnit::Words => "words",
            LengthUnit::Lines => "lines",
            LengthUnit::Bytes => "bytes",
        };
        let min = self.config.min;
        match self.config.max {
            Some(max) => format!("{length} {unit}, asked for {min} to {max}"),
            None => format!("{length} {unit}, asked for at least {min}"),
        }
    }
}

impl Verifier for LengthVerifier {
    fn id(&self) -> VerifierId {
        VerifierId { name: "length", revision: 1 }
    }

    fn verify(&self, claim: &Claim<'_>, fuel: &mut Fuel) -> Result<Verdict, VerifyError> {
        let given = candidate(claim.candidate, fuel, |text| scan_cost(text.len(), BYTES_PER_UNIT));
        Ok(match given {
            Ok(text) => self.judge(text, claim.explain),
            Err(verdict) => verdict,
        })
    }
}

fn length_in(text: &str, unit: LengthUnit) -> u64 {
    let count = match unit {
        LengthUnit::Chars => text.chars().count(),
        LengthUnit::Words => text.split_whitespace().count(),
        LengthUnit::Lines => text.lines().count(),
        LengthUnit::Bytes => text.len(),
    };
    count as u64
}

/// Returns 1 at the bound, 0 from `falloff` units beyond it.
fn declining(beyond: u64, falloff: u64) -> UnitScore {
    if beyond == 0 {
        return UnitScore::ONE;
    }
    if beyond >= falloff {
        return UnitScore::ZERO;
    }
    #[expect(
        clippy::cast_precision_loss,
        reason = "a length of 2^53 does not fit in memory, and a falloff beyond it is a rounding of 1"
    )]
    let share = (falloff - beyond) as f64 / falloff as f64;
    UnitScore::new(share).expect("beyond lies between 0 and falloff")
}

//! `exact`: the same bytes.

use serde::{Deserialize, Serialize};

use crate::accepted::{Accepted, candidate, charge_gold, quoted, scan_cost};
use crate::{Claim, Fuel, Reason, Verdict, Verifier, VerifierId, VerifyError};

/// Bytes that one unit of fuel compares.
const BYTES_PER_UNIT: u64 = 64;

/// Options of the comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExactConfig {
    /// Whether white space around gold and candidate is ignored. On by default.
    pub trim: bool,
}

impl Default for ExactConfig {
    fn default() -> Self {
        Self { trim: true }
    }
}

/// Right when candidate and gold are the same bytes. No normalisation: `É` in one code point is
/// not `É` in two.
#[derive(Debug, Clone)]
pub struct ExactVerifier {
    config: ExactConfig,
}

impl ExactVerifier {
    /// Creates a verifier with this configuration.
    pub fn new(config: ExactConfig) -> Self {
        Self { config }
    }

    fn trimmed<'a>(&self, text: &'a str) -> &'a str {
        if self.config.trim { text.trim() } else { text }
    }

    fn compare(&self, gold: &str, candidate: &str, explain: bool) -> Verdict {
        let candidate = self.trimmed(candidate);
        if gold == candidate {
            return Verdict::proven(true, "equal", Reason::code("bytes_equal"));
        }
        let reason = Reason::explained("bytes_differ", explain, || {
            format!("{} is not {}", quoted(candidate), quoted(gold))
        });
        Verdict::proven(false, "not_equal", reason)
    }
}

impl Verifier for ExactVerifier {
    fn id(&self) -> VerifierId {
        VerifierId { name: "exact", revision: 1 }
    }

    fn verify(&self, claim: &Claim<'_>, fuel: &mut Fuel) -> Result<Verdict, VerifyError> {
        let accepted = Accepted::of(claim.gold)?;
        for text in accepted.texts() {
            charge_gold(fuel, scan_cost(text.len(), BYTES_PER_UNIT))?;
        }
        let given = candidate(claim.candidate, fuel, |text| scan_cost(text.len(), BYTES_PER_UNIT));
        accepted.judge(|text| {
            let gold = self.trimmed(text);
            if gold.is_empty() {
                // Empty is never right, so an empty gold could only ever be wrong.
                return Err(Reason::with("reference_empty", "the accepted text is empty"));
            }
            match &given {
                Ok(candidate) => Ok(self.compare(gold, candidate, claim.explain)),
                Err(verdict) => Ok(verdict.clone()),
            }
        })
    }
}

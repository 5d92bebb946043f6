//! The law that every text that can be read equals itself.

use verifiers::math::Math;
use verifiers::{Candidate, Claim, Fuel, Gold, UnitScore, Verifier, VerifyError};

/// Judges `text` against itself.
pub fn check(text: &str) {
    let claim = Claim {
        gold: Gold::Text(text),
        candidate: Candidate::Text(text),
        explain: true,
    };
    let mut fuel = Fuel::default();
    match Math::default().verify(&claim, &mut fuel) {
        Ok(verdict) => assert!(
            verdict.score == UnitScore::ONE || verdict.label == "too_costly",
            "{text:?}: {verdict:?}"
        ),
        Err(VerifyError::BadReference(_)) => {}
        Err(VerifyError::Undecided(reason)) => panic!("{text:?}: {reason:?}"),
    }
    assert!(fuel.used() <= Fuel::DEFAULT);
}

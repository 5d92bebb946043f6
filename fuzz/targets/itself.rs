//! The law that every text that can be read equals itself.

use verifiers::math::Math;
use verifiers::{Candidate, Claim, Gold, UnitScore, Verifier, VerifyError};

#[path = "budget.rs"]
mod budget;

/// Judges `text` against itself.
pub fn check(text: &str) {
    let claim = Claim {
        gold: Gold::Text(text),
        candidate: Candidate::Text(text),
        response: None,
        question: None,
        explain: true,
    };
    let mut fuel = budget::of(text);
    match Math::default().verify(&claim, &mut fuel) {
        Ok(verdict) => assert!(
            verdict.score == UnitScore::ONE || verdict.label == "too_costly",
            "{text:?}: {verdict:?}"
        ),
        Err(VerifyError::BadReference(_)) => {}
        Err(VerifyError::Undecided(reason)) => panic!("{text:?}: {reason:?}"),
    }
}

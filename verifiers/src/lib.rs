//! Answer verifiers: pure, deterministic functions with a work budget.
//!
//! A verifier compares a *candidate* (what was extracted from a response) with a *gold* answer and
//! returns a [`Verdict`] in [0, 1] or a [`VerifyError`]. It knows no models, HTTP, clocks or other
//! candidates. Extraction is a separate stage ([`extract`]).
//!
//! The rule that every verifier follows: a candidate that is missing, unreadable or too costly is
//! a verdict of 0 with its reason, because the response earned it; a gold answer that cannot be
//! used is an error, because the response did not cause it.

mod accepted;
pub mod arithmetic;
pub mod choice;
mod claim;
mod config;
pub mod exact;
pub mod extract;
pub mod format;
pub mod json;
pub mod length;
pub mod math;
pub mod pattern;
pub mod similarity;
pub mod text;
mod verdict;

#[cfg(test)]
mod testing;

pub use claim::{Candidate, Claim, Gold};
pub use config::ConfigError;
pub use maths::{Exhausted, Fuel};
pub use verdict::{Certainty, Reason, UnitScore, Verdict, VerifierId, VerifyError};

/// One way to check a candidate against a gold answer. An open set: a new check is a new type.
pub trait Verifier: Send + Sync {
    /// Returns name and revision. The revision moves with every change of behaviour, so that stored
    /// verdicts of the old behaviour are not taken for new ones.
    fn id(&self) -> VerifierId;

    /// Judges `claim`.
    ///
    /// Deterministic: the same claim and the same fuel give the same answer on every machine, in
    /// any order and on any thread. Gold is looked at before the candidate, so that an unusable
    /// gold answer is reported even where the candidate is missing.
    ///
    /// # Errors
    /// [`VerifyError::BadReference`] when the gold answer is missing or cannot be used, and
    /// [`VerifyError::Undecided`] when this verifier cannot tell and the candidate is not to blame.
    fn verify(&self, claim: &Claim<'_>, fuel: &mut Fuel) -> Result<Verdict, VerifyError>;
}

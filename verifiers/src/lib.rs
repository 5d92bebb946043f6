//! Answer verifiers: pure, deterministic functions with a work budget.
//!
//! A verifier compares a *candidate* (what was extracted from a response) with a *gold* answer and
//! returns a [`Verdict`] in [0, 1] or a [`VerifyError`]. Neither depends on models, HTTP, clocks or
//! other candidates. Extraction is a separate stage ([`extract`]).
//!
//! The rule that every verifier follows: a candidate that is missing, unreadable or too costly is
//! a verdict of 0 with its reason, because the response earned it; a gold answer that cannot be
//! used is an error, because the response did not cause it.
//!
//! To add a verifier as a scorer kind:
//!
//! 1. a module here with a type that implements [`Verifier`], its configuration and tests;
//! 2. a row of `KINDS` in `rubrics/src/kinds/answer/options.rs`, and the function there that reads
//!    its options;
//! 3. if it works without options, a section of `rubrics/src/registry/built_in.rs`, and its name in
//!    the first paragraph of `docs/scorers.md`;
//! 4. a row of the table of kinds in `docs/scorers.md`;
//! 5. a row of the first table of `docs/verifiers.md`, and a section with a table of its options
//!    and one of examples. `tests/docs.rs` runs them: an arm of its `verifier`, a row of its
//!    `known`.
//!
//! Six modules are no rows of `KINDS`: [`similarity`] is used by OpenAI's graders alone,
//! [`tool_calls`] reads what the kind `tool` runs,
//! [`arithmetic`] checks the steps of a solution and not one answer, [`code`] and [`verilog`]
//! wait for processes, and [`sql`] has rewards beyond [0, 1]; the last four are kinds of their own
//! (`rubrics/src/kinds`).

mod accepted;
pub mod arithmetic;
pub mod choice;
mod claim;
pub mod code;
mod config;
pub mod exact;
pub mod extract;
pub mod format;
pub mod instructions;
pub mod json;
pub mod length;
pub mod lp;
pub mod math;
pub mod pattern;
pub mod similarity;
pub mod sql;
pub mod text;
mod verdict;
pub mod verilog;

#[cfg(test)]
mod testing;

pub use claim::{Candidate, Claim, Gold};
pub use config::ConfigError;
pub use json::tool_calls;
pub use maths::{Exhausted, Fuel};
pub use verdict::{Certainty, Reason, UnitScore, Verdict, VerifierId, VerifyError};

/// Checks a candidate against a gold answer. Each check is a type of its own.
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

//! Texts that are the same, or one within the other.

use caseless::Caseless as _;

/// Checks of two texts, character by character.
///
/// Whether a text *contains* another is a weak test of an answer: a response that lists every
/// answer passes. It is what some graders ask for; no verifier of this crate does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextCheck {
    /// They are the same.
    Equal,
    /// They are not the same.
    Differs,
    /// The input contains the reference.
    Contains,
    /// Containment under Unicode case folding.
    ContainsFolded,
}

impl TextCheck {
    /// Returns whether `input` passes.
    pub fn passes(self, input: &str, reference: &str) -> bool {
        match self {
            Self::Equal => input == reference,
            Self::Differs => input != reference,
            Self::Contains => input.contains(reference),
            Self::ContainsFolded => folded(input).contains(&folded(reference)),
        }
    }
}

fn folded(text: &str) -> String {
    text.chars().default_case_fold().collect()
}

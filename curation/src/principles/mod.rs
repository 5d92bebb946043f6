//! Binary principles from human feedback, after RLBFF (2509.21319).
//!
//! A judge model lists the principles in each annotator's feedback, with a verdict and the words
//! that state it. The list passes through steps, each a function: the words must be found in the
//! feedback ([`with_evidence`]), each other annotator must have a similar principle
//! ([`with_consensus`]), some principles and verdicts are left out ([`without_named`],
//! [`without_partial`]), and of similar principles one is kept ([`without_contradictions`],
//! [`without_repeats`]). [`Extraction`] runs the steps and counts what each drops.
//!
//! Known of the data set: spans are kept whose `partial_ratio` with the feedback is over 60; each
//! of the other two annotators must have a principle whose embedding has a cosine over 0.8; then
//! duplicates go, and "helpfulness" and "partially". How duplicates are found is not known: ours
//! are principles of one response that are alike by the same cosine and have the same verdict. That
//! principles on which annotators contradict each other go is ours too. The order of the last steps
//! changes nothing but which of two alike principles stays.

mod extraction;
mod partial_ratio;
mod rows;
mod similarity;
mod steps;
mod table;
#[cfg(test)]
mod tests;

pub use extraction::{
    Extraction, ExtractionCounts, ExtractionOptions, JudgeAnswer, JudgeFailure, ListedPrinciple,
    RowPrinciples, UsableRows,
};
pub use partial_ratio::partial_ratio;
pub use rows::{FeedbackColumns, FeedbackRow};
pub use similarity::{cosine, ngram_vectors, normalised, unit_vector};
pub use steps::{
    PrincipleVerdict, StatedPrinciple, SupportedPrinciple, with_consensus, with_evidence,
    without_contradictions, without_named, without_partial, without_repeats,
};
pub use table::{PrincipleRow, PrincipleTable};

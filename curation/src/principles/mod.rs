//! From what annotators wrote about a response to binary principles, after RLBFF (2509.21319).
//!
//! A judge model lists the principles that each annotator's feedback speaks of, with a verdict and
//! the words that say so. What it lists passes through steps, each a function of its own: the words
//! must be found in the feedback ([`evidence`]), each other annotator must have a principle that is
//! alike ([`consensus`]), some principles and verdicts are left out ([`listed`], [`partial`]), and what
//! says the same stays once ([`contradicted`], [`repeated`]).
//!
//! What is known of the data set: spans are kept whose `partial_ratio` with the feedback is over 60;
//! each of the other two annotators must have a principle whose embedding has a cosine over 0.8;
//! then duplicates go, and "helpfulness" and "partially". How duplicates are found is not known: ours
//! are principles of one response that are alike by the same cosine and have the same verdict. That
//! principles on which annotators contradict each other go is ours too. The order of the last steps
//! changes nothing but which of two alike principles stays.

mod partial_ratio;
mod similarity;
mod steps;
mod table;
#[cfg(test)]
mod tests;

pub use partial_ratio::partial_ratio;
pub use similarity::{cosine, ngram_vectors, plain, unit};
pub use steps::{
    Found, Stated, Verdict, consensus, contradicted, evidence, listed, partial, repeated,
};
pub use table::{Line, Table};

//! Curation of datasets: which rows, responses and preference pairs are worth keeping, and how good
//! a scorer is on a public benchmark.
//!
//! [`filter`] runs conditions, near-duplicate removal and decisions over groups as passes over a
//! dataset. The functions that decide are pure and take texts and scores: near-duplicates
//! ([`minhash`]), groups of responses to one prompt ([`groups`]), denoising of preference pairs
//! ([`preferences`]), principles found in human feedback ([`principles`]) and benchmark metrics
//! ([`evaluation`]). Random choices follow from content and a seed ([`base::seeded`]), so that the
//! order of rows changes nothing.
//!
//! The crate must not depend on the command line, HTTP routes or model weights.

pub mod contents;
pub mod evaluation;
pub mod filter;
pub mod groups;
pub mod histogram;
pub mod minhash;
pub mod preferences;
pub mod principles;

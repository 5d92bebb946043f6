//! Datasets in files: read in order, written whole, filtered by SQL.

pub mod groups;
pub mod keyed;
pub mod minhash;
pub mod preferences;

//! Datasets in files: read in order, written whole, filtered by SQL.

pub mod eval;
pub mod groups;
pub mod json_rows;
pub mod keyed;
pub mod minhash;
pub mod preferences;

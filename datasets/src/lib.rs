//! Datasets in files: read in order, written whole, filtered by SQL.

pub mod keyed;
pub mod minhash;

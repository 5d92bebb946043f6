//! Datasets in files: read in order, written whole, filtered by SQL, judged by the metrics of public
//! benchmarks.
//!
//! [`source`] turns the inputs that a command line names into Arrow batches that know where each of
//! their rows stands; [`sink`] writes batches to files that appear whole or not at all. The crate
//! knows nothing of scorers, prompts or models: a score is a column like any other.
//!
//! Beside them are pure functions over texts and scores: near-duplicates ([`minhash`]), groups of
//! responses ([`groups`]), preferences that several scorers vote on ([`preferences`]), principles in
//! people's feedback ([`principles`]) and metrics of benchmarks ([`eval`]).

mod adapt;
pub mod column;
pub mod error;
pub mod eval;
pub mod filter;
pub mod format;
pub mod groups;
pub mod json_rows;
pub mod keyed;
mod layout;
pub mod manifest;
pub mod minhash;
pub mod preferences;
pub mod principles;
mod query;
mod scan;
pub mod sink;
pub mod source;

pub use adapt::adapt;
pub use arrow::array::RecordBatch;
pub use arrow::datatypes::SchemaRef;
pub use error::DatasetError;

/// What functions of this crate return.
pub type Result<T> = std::result::Result<T, DatasetError>;

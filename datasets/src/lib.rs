//! Datasets in files: read in order, written whole, filtered by SQL.
//!
//! [`source`] turns the inputs that a command line names into Arrow batches that know where each of
//! their rows stands; [`sink`] writes batches to files that appear whole or not at all. The crate
//! knows nothing of scorers, prompts or models: a score is a column like any other.

mod adapt;
pub mod error;
pub mod filter;
pub mod format;
mod layout;
pub mod manifest;
mod query;
mod scan;
pub mod sink;
pub mod source;

pub use arrow::array::RecordBatch;
pub use arrow::datatypes::SchemaRef;
pub use error::DatasetError;

/// What functions of this crate return.
pub type Result<T> = std::result::Result<T, DatasetError>;

//! Datasets in files: finds, reads and writes them.
//!
//! [`source`] opens files, globs and dataset folders as Arrow batches with row numbers; [`scan`]
//! reads the rows that meet conditions, with several threads and in order; [`sink`] writes batches
//! to files that appear complete or not at all.
//!
//! The crate must not depend on scorers, prompts or models: a score is a column like any other, whose types
//! [`verdict`] has.

mod adapt;
pub mod cell;
pub mod column;
pub mod error;
pub mod format;
pub mod json_array;
pub mod json_rows;
pub mod json_text;
mod layout;
pub mod manifest;
pub mod raw_row;
pub mod scan;
pub mod sink;
pub mod source;
pub mod verdict;

pub use adapt::adapt;
pub use arrow::array::RecordBatch;
pub use arrow::datatypes::SchemaRef;
pub use error::DatasetError;

/// What functions of this crate return.
pub type Result<T> = std::result::Result<T, DatasetError>;

//! Configuration of scorers, and the reader that the server's configuration uses too.

mod problem;
mod reader;
mod schema;
#[cfg(test)]
mod tests;

pub use base::nearest;
pub use problem::{NAME_RULE, PathSegment, Problem, fits_name};
pub use reader::{Document, Section, parse_bytes, parse_duration};
pub(crate) use schema::merge;

//! Error replies of other interfaces.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An error as services written with `FastAPI` answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DetailError {
    /// What went wrong.
    pub detail: Details,
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum Details {
    /// A sentence.
    Text(String),
    /// Faults of the body, each with its place.
    Fields(Vec<FieldError>),
}

/// A fault of the body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FieldError {
    /// What kind of fault.
    #[serde(rename = "type")]
    pub kind: String,
    /// Where: `body`, and the names and indexes that lead to the value.
    pub loc: Vec<PathPart>,
    /// What is wrong.
    pub msg: String,
}

/// A step of a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum PathPart {
    /// Of an object.
    Name(String),
    /// Of a list.
    Index(usize),
}

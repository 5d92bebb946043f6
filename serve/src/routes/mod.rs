//! The routes, one file a resource.

pub(crate) mod chat;
pub(crate) mod completions;
pub(crate) mod decisions;
mod generation;
pub(crate) mod meta;
pub(crate) mod score;

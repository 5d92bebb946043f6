//! The routes, one file a resource.

pub(crate) mod decisions;
pub(crate) mod meta;
pub(crate) mod score;

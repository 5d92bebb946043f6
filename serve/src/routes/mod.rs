//! The native routes, one file a resource.

pub(crate) mod meta;
pub(crate) mod score;

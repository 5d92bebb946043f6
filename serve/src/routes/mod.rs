//! The native routes, one file per resource.

pub(crate) mod keys;
pub(crate) mod meta;
pub(crate) mod score;

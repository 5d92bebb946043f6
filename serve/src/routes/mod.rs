//! The routes, one file a resource.

pub mod meta;
pub mod score;

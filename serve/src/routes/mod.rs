//! The native routes, one file per resource. The steps to add one are on `routes` in
//! `serve/src/app.rs`.

pub(crate) mod keys;
pub(crate) mod meta;
pub(crate) mod score;

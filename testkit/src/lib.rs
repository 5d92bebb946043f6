//! Support for tests of the layers above engines.
//!
//! Only a dev-dependency: no production crate names it (`tests/layering.rs`). Model folders for
//! tests come from `tiny_models`.

pub mod fake;

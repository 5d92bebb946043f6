//! Support for tests of what stands on engines.
//!
//! A dev-dependency alone: no production crate names it (`tests/layering.rs`). Model folders for
//! tests come from `tiny_models`.

pub mod fake;

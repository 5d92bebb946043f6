//! What tests of several crates share: fake models behind real engines, and tiny model folders.
//!
//! Only dev-dependencies name this crate.

pub mod fake;

pub use models::tiny;
pub use models::weights::Storage;

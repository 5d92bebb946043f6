//! Low-rank adapters over one base, chosen by sequence inside a batch.
//!
//! An adapter comes from a PEFT folder ([`Adapter::load`]): its configuration is read field by
//! field (`peft`), each of its tensors is bound to a site of the base (`bind`), and its effect is
//! reported in numbers. A field or tensor that cannot be bound, or changes the result in an
//! unsupported way, is refused by name. [`AdapterTable`] holds the adapters of a runner.

mod bind;
mod copies;
mod digest;
mod fields;
mod load;
mod lora;
mod modules;
mod norm;
mod outline;
mod pattern;
mod peft;
mod report;
mod table;
mod targets;

pub use load::{Base, HEAD_FILE, WEIGHTS_FILE};
pub use lora::{Adapter, LoraPair, RoundedPair};
pub use outline::Outline;
pub use peft::CONFIG as CONFIG_FILE;
pub use report::{AdapterReport, HeadReport, SiteReport};
pub(crate) use table::gathered;
pub use table::{AdapterTable, Segment, factors_at, rounded_factors_at};

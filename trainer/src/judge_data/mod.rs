//! Judge data: training items made of rollouts, so that the model that solves problems also learns
//! to judge. SPARK ([`spark`]), ranked preferences and self-scored responses as in URPO ([`urpo`]),
//! critiques as in CRL ([`crl`]).
//!
//! Everything here is a pure function of groups and random draws; it must not depend on the engine
//! or the optimiser. Labels come from verifiers or from data and never from the model itself,
//! except for URPO's open instructions, which a gate admits. A rollout without a reward is never
//! used and never counts as wrong.

pub mod balance;
pub mod crl;
mod draws;
#[cfg(test)]
pub(crate) mod fixtures;
pub mod item_queue;
pub mod replay_buffer;
pub mod self_reward;
pub mod spark;
pub mod templates;
pub mod trust;
pub mod urpo;

pub use draws::StepSeed;
pub use item_queue::ItemQueue;
pub use replay_buffer::ReplayBuffer;
pub use spark::{Spark, SparkConfig};
pub use templates::{SCORERS, Template, TemplateKind, Templates};

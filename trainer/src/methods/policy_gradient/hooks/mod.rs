//! Extensions of the training loop, one file each, switched on by sections of a run file.

mod asynchronous;
mod compare;
mod crl;
mod filtration;
mod monitor;
mod partial_rollouts;
mod sampled_ahead;
mod self_reward;
mod spark;
mod transcripts;
mod trust;
mod urpo;

pub(super) use asynchronous::Asynchronous;
pub(super) use compare::CompareRewards;
pub(super) use crl::CrlHook;
pub(super) use filtration::FiltrationHook;
pub(super) use monitor::monitor;
pub(super) use partial_rollouts::PartialRollouts;
pub(super) use sampled_ahead::SampledAhead;
pub(super) use self_reward::{ConfidentRewards, GuardHook};
pub(super) use spark::SparkHook;
pub(super) use transcripts::TranscriptHook;
pub(super) use trust::trust;
pub(super) use urpo::UrpoHook;

//! Rollouts: responses sampled by the engine on the weights in training, and their rewards.

mod part_means;
mod remote;
mod reward_manager;
mod right;
mod sampler;
mod tools;

pub use part_means::PartMeans;
pub use remote::{AdapterToLoad, PushedAdapter, RemoteScorers, RemoteSection};
pub use reward_manager::{RewardManager, failures};
pub(crate) use reward_manager::{failure_name, no_scorer};
pub use right::RightRule;
pub use sampler::{DrawParams, RolloutParams, SampleRequest, SampledResponse, Sampler, ScoredText};
pub use tools::{AtLimit, CallFormat, ToolLoop, ToolSection, TurnTimes};

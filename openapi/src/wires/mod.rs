//! Bodies of other interfaces: those that trainers and clients send already.

mod errors;
mod label;
mod nemo_gym;
mod openrlhf;
mod slime;

pub use errors::{DetailError, Details, FieldError, PathPart};
pub use label::Label;
pub use nemo_gym::{
    AggregateReply, AggregateRequest, CompareReply, CompareRequest, Comparison, ReverifyMode,
    SessionSeed, VerifyReply, VerifyRequest,
};
pub use openrlhf::{RewardQuery, RewardReply};
pub use slime::{RemoteReward, RemoteRewardReply, RemoteRewardRequest};

//! Continuous batching over one model: many callers, one thread.
//!
//! Callers submit token sequences with a task: rows to read or tokens to generate. The engine's
//! thread batches the requests of all callers continuously, computes each distinct prefix once, and
//! answers each admitted request exactly once. A sequence's output does not depend on its batch, on
//! chunked prefill, preemption or the prefix cache.
//!
//! This crate must not depend on tensors, HTTP or judgements, and holds no lock. All code except
//! the thread's loop is free of clocks and channels: the scheduler is plain data that a test can
//! step.

pub mod cache;
mod capacity;
mod card;
mod check;
mod command;
pub mod config;
mod device;
mod device_model;
mod device_name;
pub mod engine;
pub mod error;
pub mod host;
pub mod request;
pub mod sampling;
pub mod scheduler;
mod start;
pub mod status;
mod thread;
pub mod ticket;
mod weight_update;

pub use base::Priority;
pub use capacity::Capacity;
pub use card::shared_out;
pub use chat::{
    ChatError, Conversation, DecodeState, DecodeStream, EncodedChat, Folder, LocalTime, Origin,
    Text, Tokenizer,
};
pub use config::{EngineConfig, RequestLimits};
pub use device::Device;
pub use device_model::DeviceModel;
pub use device_name::DeviceName;
pub use engine::Engine;
pub use error::{CardMemory, LoadError, RequestError, SubmitError, WeightUpdateError};
pub use host::{Host, HostSpec, LiveSpec};
pub use models::LoadOptions;
pub use models::batch::{Output, OutputSpec};
pub use models::config::HeadConfig;
pub use request::{
    Request, RequestEvent, RequestOutput, RequestParams, RequestTree, Revisions, Task, TaskOutput,
    TokenMeter, Usage,
};
pub use sampling::{
    Constraint, ConstraintError, FinishReason, Grammar, SampledToken, SamplingParams, StopStrings,
    TextError, TextStream, Vocabulary,
};
pub use start::kv_bytes;
pub use status::{AdapterStatus, EngineStatus};
pub use ticket::Ticket;
pub use weight_update::WeightUpdate;

//! One model, one thread, many callers.
//!
//! Callers submit token sequences and say what they want of them: rows to read, or tokens to
//! generate. The engine thread batches all callers' work continuously, computes every distinct
//! prefix once, and answers each admitted piece of work exactly once. What a sequence is given
//! does not depend on its company: not on batch, chunking, pre-emption or cache.
//!
//! This crate holds no tensor and no lock, and everything but the thread's shell is free of clocks
//! and channels: the scheduler is plain data that can be stepped in a test.

pub mod cache;
mod check;
pub mod error;
pub mod handle;
pub mod host;
pub mod sampling;
pub mod scheduler;
pub mod scripted;
mod thread;
mod update;
pub mod work;

pub use error::{LoadError, RequestError, SubmitError, WeightUpdateError};
pub use handle::{AdapterStatus, Engine, EngineConfig, EngineStatus, Limits, Ticket};
pub use host::{Capacity, Host, HostSpec, LiveSpec};
pub use models::batch::{Output, Read};
pub use models::config::HeadConfig;
pub use models::folder::Folder;
pub use models::template::Conversation;
pub use models::template::{LocalTime, Origin, Text};
pub use models::tokenizer::{DecodeState, DecodeStream, EncodedChat, Tokenizer};
pub use sampling::{
    Constraint, ConstraintError, FinishReason, Grammar, SampledToken, SamplingParams, StopStrings,
    TextError, TextStream, Vocabulary,
};
pub use update::WeightUpdate;
pub use work::{
    Priority, Request, RequestEvent, RequestOutput, RequestParams, RequestTree, Revisions, Task,
    TaskOutput, Usage,
};

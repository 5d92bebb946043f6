//! Errors, by what the caller can do about them.

use std::any::Any;
use std::time::Duration;

use base::memory::mib;
use chat::ChatError;
use gpu::GpuError;
use models::ModelError;

use crate::device_name::DeviceName;

/// Why a submission was refused. Nothing was queued or computed.
#[derive(Clone, Debug, thiserror::Error, PartialEq)]
pub enum SubmitError {
    /// The queue is full: retry later.
    #[error("overloaded: {queued} tokens are in hand and at most {max} may be")]
    Overloaded {
        /// Input tokens of unfinished requests.
        queued: usize,
        /// The queue's capacity.
        max: usize,
    },
    /// The sequence can never fit. Nothing is ever truncated.
    #[error("{given} tokens are more than the {max} that {what} holds")]
    TooLong {
        /// The limit exceeded: `the context`, `the KV memory` or `the queue`.
        what: &'static str,
        /// The limit in tokens.
        max: usize,
        /// Tokens requested; for the context, including those to generate.
        given: usize,
    },
    /// The request is malformed.
    #[error("{what}")]
    Invalid {
        /// The problem, with the index of the request.
        what: String,
    },
    /// No adapter has this name.
    #[error("no adapter is called {name:?}")]
    UnknownAdapter {
        /// The name.
        name: String,
    },
    /// The engine is stopping.
    #[error("the engine is shutting down")]
    ShuttingDown,
}

/// Why an admitted request has no output. A failure never becomes a number.
#[derive(Clone, Debug, thiserror::Error, PartialEq)]
pub enum RequestError {
    /// The deadline passed.
    #[error("the deadline passed")]
    Deadline,
    /// The forward failed or panicked in a step of this sequence.
    #[error("the model failed: {0}")]
    Model(String),
    /// The model gave a non-finite number.
    #[error("the model gave {value} {place}")]
    NotFinite {
        /// The number: `NaN`, `inf` or `-inf`.
        value: f32,
        /// The place: `in the logits at position 12`.
        place: String,
    },
    /// No continuation satisfies the constraint.
    #[error("the constraint cannot be satisfied: {0}")]
    Constraint(String),
    /// The adapter was removed, or replaced by one without the score head that the request reads,
    /// before the request reached the engine's thread.
    #[error("the adapter {0:?} was unloaded")]
    AdapterGone(String),
    /// The engine stopped before the request was done.
    #[error("the engine is shutting down")]
    ShuttingDown,
}

/// Why a weight update failed.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum WeightUpdateError {
    /// The callback panicked; it may have written part of the update.
    #[error("changing the weights panicked: {0}")]
    Panicked(String),
    /// The engine is stopping.
    #[error("the engine is shutting down")]
    ShuttingDown,
}

/// Why a model or an adapter cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A file is missing or invalid.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The KV memory is too small.
    #[error(
        "{given_bytes} bytes of KV memory hold {tokens} tokens; at least {least_tokens} are needed"
    )]
    KvMemory {
        /// The configured memory.
        given_bytes: u64,
        /// Tokens that fit into it.
        tokens: usize,
        /// The least number of tokens.
        least_tokens: usize,
    },
    /// The device cannot be used.
    #[error("device {device}: {source}")]
    Device {
        /// The device as configured.
        device: DeviceName,
        /// Why.
        source: GpuError,
    },
    /// A card's free memory is too small.
    #[error(transparent)]
    CardMemory(Box<CardMemory>),
    /// The engine is stopping, or cannot do what the options ask for.
    #[error("{0}")]
    Refused(String),
    /// The engine's thread could not be spawned.
    #[error("the engine thread cannot be started: {0}")]
    Thread(#[source] std::io::Error),
}

/// What a card has no memory for.
#[derive(Debug, thiserror::Error)]
#[error(
    "{what} takes {}, and {card} has {} of {} free: {fits} would fit",
    mib(*.needed), mib(*.free), mib(*.total)
)]
pub struct CardMemory {
    /// The card.
    pub card: String,
    /// What is missing.
    pub what: String,
    /// Bytes of it.
    pub needed: u64,
    /// Bytes that are free.
    pub free: u64,
    /// Bytes of the card.
    pub total: u64,
    /// What would fit.
    pub fits: String,
}

impl From<ChatError> for LoadError {
    fn from(error: ChatError) -> LoadError {
        LoadError::Model(error.into())
    }
}

/// The time to wait after [`SubmitError::Overloaded`]: the time that the queue takes at the recent
/// rate, between 1 and 60 seconds.
pub fn retry_after(queued_tokens: usize, tokens_per_second: f64) -> Duration {
    #[expect(clippy::cast_precision_loss, reason = "a count of tokens is below 2^53")]
    let seconds = queued_tokens as f64 / tokens_per_second.max(1.0);
    Duration::from_secs_f64(seconds.clamp(1.0, 60.0))
}

/// The message of a caught panic.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "no message".to_owned())
}

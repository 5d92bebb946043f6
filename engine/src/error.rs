//! What can go wrong, by what the caller can do about it.

use std::time::Duration;

use models::ModelError;

/// Why work was not taken. Nothing was computed.
#[derive(Clone, Debug, thiserror::Error, PartialEq)]
pub enum SubmitError {
    /// More tokens are waiting than the queue may hold: come back later.
    #[error("overloaded: {queued} tokens are in hand and at most {max} may be")]
    Overloaded {
        /// Tokens in hand.
        queued: usize,
        /// The most that may be.
        max: usize,
    },
    /// The sequence cannot fit, however long it waits. Nothing is ever cut off.
    #[error("{given} tokens are more than the {max} that {what} holds")]
    TooLong {
        /// What is too small: `the context`, `the KV memory` or `the queue`.
        what: &'static str,
        /// The most tokens that it holds.
        max: usize,
        /// How many were asked for, those to be generated included where they count.
        given: usize,
    },
    /// The request itself makes no sense.
    #[error("{what}")]
    Invalid {
        /// What, naming the piece of work and the place in it.
        what: String,
    },
    /// No adapter goes by this name.
    #[error("no adapter is called {name:?}")]
    UnknownAdapter {
        /// The name asked for.
        name: String,
    },
    /// The engine is stopping.
    #[error("the engine is shutting down")]
    ShuttingDown,
}

/// Why admitted work has no answer. A failure is never a number.
#[derive(Clone, Debug, thiserror::Error, PartialEq)]
pub enum RequestError {
    /// The deadline passed first.
    #[error("the deadline passed")]
    Deadline,
    /// The forward failed or panicked in a step that this sequence was part of.
    #[error("the model failed: {0}")]
    Model(String),
    /// The model gave a number that is not finite.
    #[error("the model gave {value} {place}")]
    NotFinite {
        /// The number: `NaN`, `inf` or `-inf`.
        value: f32,
        /// Where: `in the logits at position 12`.
        place: String,
    },
    /// No text that satisfies the constraint can follow.
    #[error("the constraint cannot be satisfied: {0}")]
    Constraint(String),
    /// The adapter was taken out before the work began.
    #[error("the adapter {0:?} was unloaded")]
    AdapterGone(String),
    /// The engine stopped before the work was done.
    #[error("the engine is shutting down")]
    ShuttingDown,
}

/// Why weights were not changed as was meant.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum WeightUpdateError {
    /// The change panicked; it may have written some of what it meant to.
    #[error("changing the weights panicked: {0}")]
    Panicked(String),
    /// The engine is stopping.
    #[error("the engine is shutting down")]
    ShuttingDown,
}

/// Why a model or an adapter cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A file or its content.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The memory given for keys and values is too small.
    #[error(
        "{given_bytes} bytes of KV memory hold {tokens} tokens; at least {least_tokens} are needed"
    )]
    KvMemory {
        /// What was given.
        given_bytes: u64,
        /// How many tokens that holds.
        tokens: usize,
        /// The least.
        least_tokens: usize,
    },
    /// The engine is stopping, or a name is taken.
    #[error("{0}")]
    Refused(String),
    /// The engine's thread could not be started.
    #[error("the engine thread cannot be started: {0}")]
    Thread(#[source] std::io::Error),
}

/// How long a caller that was refused for load should wait, given what is in hand and the rate at
/// which tokens went lately.
pub fn retry_after(queued_tokens: usize, tokens_per_second: f64) -> Duration {
    #[expect(clippy::cast_precision_loss, reason = "a count of tokens is below 2^53")]
    let seconds = queued_tokens as f64 / tokens_per_second.max(1.0);
    Duration::from_secs_f64(seconds.clamp(1.0, 60.0))
}

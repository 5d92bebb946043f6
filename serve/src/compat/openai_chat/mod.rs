//! Text generation: a request becomes sequences for an engine, and the engine's output a reply,
//! complete or streamed.
//!
//! The two routes differ in how prompts are made ([`chat`], [`completion`]) and in their replies
//! ([`chat_format`], [`completion_format`]); they share the generation itself ([`generation`],
//! [`stream`]). Text is assembled from the same increments in both cases, so that the chunks of a
//! stream join to the complete reply.

mod chat;
mod chat_format;
mod completion;
mod completion_format;
mod constraint;
mod continuation;
mod generation;
mod logprobs;
mod prepared;
mod prompt_logprobs;
pub(crate) mod routes;
mod settings;
mod stream;
mod tool_calls;
pub(crate) mod types;

pub(crate) use chat::{Rendering, chat, render};
pub(crate) use chat_format::ChatFormat;
pub(crate) use completion::completion;
pub(crate) use completion_format::CompletionFormat;
pub(crate) use generation::{Generated, ReplyFormat, RunningGeneration, answer};
pub(crate) use prepared::PreparedRequest;
pub(crate) use stream::stream;

use crate::error::{ApiError, Code};

/// Creates a 422 error at a JSON path.
fn invalid(path: &str, message: impl std::fmt::Display) -> ApiError {
    ApiError::new(Code::InvalidBody, format!("{path}: {message}")).at(path)
}

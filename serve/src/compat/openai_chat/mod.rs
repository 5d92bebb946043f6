//! Text from models: what a request asks becomes works for an engine, and what the engine says
//! becomes a reply, whole or in pieces.
//!
//! The two routes differ in how a prompt is made ([`chat`], [`completion`]) and in how a reply
//! looks ([`chat_format`], [`completion_format`]); between them there is one way ([`generation`],
//! [`stream`]). Text is put together from the same pieces in both cases, so that a stream's pieces
//! joined are the whole.

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
pub(crate) use generation::{Generated, ReplyFormat, answer};
pub(crate) use prepared::PreparedRequest;
pub(crate) use stream::stream;

use crate::error::{ApiError, Code};

/// A value that cannot be used, by its JSON path.
fn invalid(path: &str, message: impl std::fmt::Display) -> ApiError {
    ApiError::new(Code::InvalidBody, format!("{path}: {message}")).at(path)
}

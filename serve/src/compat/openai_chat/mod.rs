//! Text from models: what a request asks becomes works for an engine, and what the engine says
//! becomes a reply, whole or in pieces.
//!
//! The two routes differ in how a prompt is made ([`chat`], [`completion`]) and in how a reply
//! looks ([`chat_reply`], [`completion_reply`]); between them there is one way ([`run`],
//! [`stream`]). Text is put together from the same pieces in both cases, so that a stream's pieces
//! joined are the whole.

mod call;
mod chat;
mod chat_reply;
mod choice;
mod completion;
mod completion_reply;
mod constraint;
mod logprobs;
mod order;
mod prompt_logprobs;
pub(crate) mod routes;
mod run;
mod settings;
mod stream;
pub(crate) mod types;

pub(crate) use chat::{Rendering, chat, render};
pub(crate) use chat_reply::ChatWire;
pub(crate) use completion::completion;
pub(crate) use completion_reply::CompletionWire;
pub(crate) use order::Order;
pub(crate) use run::{Answered, Wire, answer};
pub(crate) use stream::stream;

use crate::error::{ApiError, Code};

/// A value that cannot be used, by its JSON path.
fn invalid(path: &str, message: impl std::fmt::Display) -> ApiError {
    ApiError::new(Code::InvalidBody, format!("{path}: {message}")).at(path)
}

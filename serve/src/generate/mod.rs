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
mod failure;
mod logprobs;
mod order;
mod pace;
mod prompt_logprobs;
mod run;
mod settings;
mod stream;

use engine::{Host, Tokenizer};
use models::template::Part;

pub(crate) use chat::{Rendering, chat, render};
pub(crate) use chat_reply::ChatWire;
pub(crate) use completion::completion;
pub(crate) use completion_reply::CompletionWire;
pub(crate) use failure::{failed, not_taken};
pub(crate) use order::{Asking, Order, in_time};
pub(crate) use run::{Answered, Wire, answer};
pub(crate) use stream::stream;

use pace::Pace;

use crate::error::{ApiError, Code};

/// What generating text with a model takes beside its engine.
#[derive(Debug)]
pub struct Generating {
    /// How fast its tokens go.
    pub(crate) pace: Pace,
    /// Whether the chat template writes the tools into the prompt.
    shows_tools: bool,
}

impl Generating {
    /// For a model that has just been loaded.
    pub(crate) fn new(host: &Host) -> Generating {
        Generating { pace: Pace::default(), shows_tools: shows_tools(&host.tokenizer) }
    }
}

/// A template that cannot be examined is one that cannot be rendered either.
fn shows_tools(tokenizer: &Tokenizer) -> bool {
    let report = tokenizer.template().report();
    report.is_ok_and(|report| {
        let refused = report.refuses.iter().any(|refusal| refusal.part == Part::Tools);
        !report.missing && !refused && !report.drops.contains(&Part::Tools)
    })
}

/// A value that cannot be used, by its JSON path.
fn invalid(path: &str, message: impl std::fmt::Display) -> ApiError {
    ApiError::new(Code::InvalidBody, format!("{path}: {message}")).at(path)
}

//! Text generation: a request becomes sequences for an engine, and the engine's output a reply,
//! complete or streamed.
//!
//! Requests and replies have the form of OpenAI's chats and completions, which vLLM, `SGLang`, NIM
//! and the graders use too. The two differ in how prompts are made ([`chat`], [`completion`]) and in
//! their replies ([`chat_format`], [`completion_format`]); they share the generation itself
//! ([`run`], [`stream`]). Text is assembled from the same increments in both cases, so that
//! the chunks of a stream join to the complete reply.

mod chat;
mod chat_format;
mod completion;
mod completion_format;
mod constraint;
mod continuation;
mod logprobs;
mod prepared;
mod prompt_logprobs;
mod run;
mod settings;
mod stream;
mod tool_calls;
pub(crate) mod types;

pub(crate) use chat::{PreparedChat, Rendering, chat, render_aside};
pub(crate) use chat_format::ChatFormat;
pub(crate) use completion::completion;
pub(crate) use completion_format::CompletionFormat;
pub(crate) use continuation::TextDelta;
pub(crate) use prepared::PreparedRequest;
pub(crate) use run::{Generated, ReplyFormat, RunningGeneration, answer};
pub(crate) use stream::stream;

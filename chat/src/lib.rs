//! Chat text: the files of a model folder, its tokenizer and chat templates, and the conversations
//! that become token ids.
//!
//! [`Tokenizer::encode_chat`] renders a [`Conversation`] with the folder's Jinja template and
//! encodes the prompt. Every byte of a prompt carries its [`Origin`], so that a special token in a
//! message stays text. This crate does not depend on tensors, model configurations, requests or
//! clocks: the time that a template may print comes with the conversation.

#![expect(clippy::cast_precision_loss, reason = "integers of templates become floats as in Python")]

mod conversation;
mod error;
mod folder;
mod positioned;
mod template;
mod text;
mod time;
mod tokenizer;

pub use conversation::Conversation;
pub use error::{ChatError, Result};
pub use folder::Folder;
pub use positioned::Positioned;
pub use template::{ChatPart, ChatTemplate, Refusal, RenderLimits, Rendered, TemplateReport};
pub use text::{Mark, Origin, Text};
pub use time::LocalTime;
pub use tokenizer::config::Declared;
pub use tokenizer::encode::EncodedChat;
pub use tokenizer::stream::{DecodeState, DecodeStream};
pub use tokenizer::{MAX_TEXT_BYTES, Tokenizer};

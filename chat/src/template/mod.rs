//! Chat templates: a conversation becomes the prompt that the model was trained on.
//!
//! The language is Jinja as Hugging Face renders it (`transformers/utils/chat_template_utils.py`):
//! an immutable sandbox with trimmed blocks, loop controls, `tojson` with Python's separators,
//! `raise_exception`, `strftime_now` and generation blocks. minijinja parses it; the evaluation is
//! ours, for two reasons. Each byte of the prompt records whether the template or the conversation
//! wrote it ([`Text`]), so that special tokens in a message stay text. And steps, memory and output
//! are counted ([`RenderLimits`]), so that no template can hang or exhaust the server.
//!
//! Templates come from the model folder, never from a request.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "an operation of the language names the kinds of value it is defined for; for any \
              other, today's or tomorrow's, it is a type error"
)]

mod args;
mod charge;
mod chat_template;
mod collections;
mod compare;
mod error;
mod escapes;
mod eval;
mod filters;
mod format;
mod generation;
mod globals;
mod heap;
mod lists;
mod methods;
mod nesting;
mod operators;
mod predicates;
mod report;
pub(crate) mod source;
mod strftime;
mod strings;
#[cfg(test)]
mod tests;
mod value;
mod write;

pub use self::chat_template::{ChatTemplate, Rendered};
pub use self::heap::RenderLimits;
pub use self::report::{ChatPart, Refusal, TemplateReport};

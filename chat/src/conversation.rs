//! A conversation: messages, tools, documents and the switches of a template.

use serde_json::{Map, Value as Json};

use crate::time::LocalTime;

/// A conversation to render.
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    /// Objects with `role`, `content`, and whatever else the template reads (`tool_calls`, …).
    pub messages: Vec<Json>,
    /// JSON schemas of the tools.
    pub tools: Option<Vec<Json>>,
    /// Documents, as objects.
    pub documents: Option<Vec<Json>>,
    /// Whether the prompt ends with the header of an assistant message, ready for its reply.
    pub add_generation_prompt: bool,
    /// The template's own switches, such as `enable_thinking`.
    pub kwargs: Map<String, Json>,
    /// The time for `strftime_now`; a template that calls it fails without.
    pub now: Option<LocalTime>,
}

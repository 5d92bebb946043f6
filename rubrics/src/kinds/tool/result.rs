//! What a tool answers.

use std::fmt::Write as _;

use serde_json::Value;

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ToolResult {
    /// The text of the result for the model.
    pub(super) text: String,
    pub(super) is_ok: bool,
}

impl ToolResult {
    /// Renders a message as JSON without a closing tag.
    pub(super) fn new(message: &Value, is_ok: bool) -> Self {
        // `\/` is `/` in JSON, and not a closing tag.
        Self { text: message.to_string().replace("</", "<\\/"), is_ok }
    }
}

/// A text of at most `most` bytes, and a note where more was left out.
pub(super) fn cut(mut text: String, most: usize) -> String {
    if text.len() <= most {
        return text;
    }
    let length = text.len();
    let mut end = most;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    write!(text, "… [cut: {end} of {length} bytes]").expect("a string takes everything");
    text
}

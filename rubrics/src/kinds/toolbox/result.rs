//! Results of tools.

use std::fmt::Write as _;

use serde_json::Value;

/// The result of a call. Neither text has a closing tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    /// The result as JSON.
    pub text: String,
    /// The result as plain text: its value or what a program wrote, or `error: …`.
    pub plain: String,
    /// Whether the call succeeded.
    pub is_ok: bool,
}

impl ToolResult {
    pub(crate) fn new(message: &Value, is_ok: bool) -> Self {
        // `\/` is `/` in JSON, and not a closing tag.
        let untagged = |text: String| text.replace("</", "<\\/");
        Self { text: untagged(message.to_string()), plain: untagged(plain(message, is_ok)), is_ok }
    }
}

fn plain(message: &Value, is_ok: bool) -> String {
    let field = |name: &str| message[name].as_str().unwrap_or_default().trim();
    if is_ok {
        let value = if message["result"].is_string() { "result" } else { "stdout" };
        return field(value).to_owned();
    }
    let why = ["error", "ending", "stderr"].map(field);
    let why: Vec<&str> = why.into_iter().filter(|text| !text.is_empty()).collect();
    format!("error: {}", why.join(": "))
}

/// A text of at most `most` bytes, and a note where more was left out.
pub(crate) fn cut(mut text: String, most: usize) -> String {
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

//! Conversations and texts as quotations: only our own lines begin at the margin.

use crate::Message;

/// Prefix of quoted lines.
const QUOTE: &str = "> ";

/// A text with `> ` before each of its lines, and a line break at its end.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for line in lines(text) {
        out.push_str(QUOTE);
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// A conversation as text: roles at the margin, contents quoted.
pub(crate) fn transcript(turns: &[Message]) -> String {
    let mut out = String::new();
    for turn in turns {
        out.push_str(speaker(&turn.role));
        out.push('\n');
        out.push_str(&quoted(&turn.content));
    }
    out
}

/// Names the speaker of a role. The set is closed because speakers are outside the quotation, where
/// a role from a request could inject instructions.
fn speaker(role: &str) -> &'static str {
    match role {
        "system" | "developer" => "System:",
        "user" => "User:",
        "assistant" => "Assistant:",
        "tool" => "Tool:",
        _ => "Somebody:",
    }
}

/// The lines of a text. Whatever a reader might take for a line break is one: a model has seen
/// them all.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = &str> {
    let is_break =
        |c: char| matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}');
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let Some((at, c)) = text.char_indices().find(|(_, c)| is_break(*c)) else {
            rest = None;
            return Some(text);
        };
        let mut after = &text[at + c.len_utf8()..];
        if c == '\r' {
            after = after.strip_prefix('\n').unwrap_or(after);
        }
        rest = Some(after);
        Some(&text[..at])
    })
}

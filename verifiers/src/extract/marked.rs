//! Answers between the balanced braces of one marker, such as `\boxed{…}` or `/conclusion{…}`.

use std::ops::Range;

use memchr::memmem;
use serde::Serialize;

use super::{Extracted, trim, visible};

/// The one of several marked answers that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Occurrence {
    /// The one that begins first: of nested ones the outermost.
    First,
    /// The one that begins last: of nested ones the innermost.
    Last,
}

/// Returns what stands between the braces that follow `marker` at once, in the visible text of
/// `response`; `None` if no marker has braces that close.
///
/// Unlike [`answer`](super::answer) this knows one form and guesses at nothing. Braces after a
/// backslash are text. Linear in the response.
pub fn marked<'a>(response: &'a str, marker: &str, which: Occurrence) -> Option<Extracted<'a>> {
    let mut found = Vec::new();
    for part in visible(response).ranges() {
        closed_markers(response, part.clone(), marker, &mut found);
    }
    let chosen = match which {
        Occurrence::First => found.iter().min_by_key(|span| span.start),
        Occurrence::Last => found.iter().max_by_key(|span| span.start),
    };
    let span = trim::space(response, chosen?.clone());
    Some(Extracted {
        text: &response[span.clone()],
        span,
        count: found.len(),
        source: "marked",
        flags: Vec::new(),
        members: Vec::new(),
        readings: Vec::new(),
        earlier: Vec::new(),
        parts: None,
    })
}

/// Appends the text between the braces of each marker of `part`, in the order in which they close.
fn closed_markers(text: &str, part: Range<usize>, marker: &str, out: &mut Vec<Range<usize>>) {
    let bytes = &text.as_bytes()[..part.end];
    let opener = format!("{marker}{{");
    let mut markers = memmem::find_iter(&bytes[part.start..], opener.as_bytes())
        .map(|at| part.start + at + opener.len())
        .peekable();
    // Every brace that is open: where the content of a marker starts, or none for another brace.
    let mut open = Vec::new();
    let mut escaped = false;
    for (at, byte) in (part.start..).zip(&bytes[part.start..]) {
        let is_marker = markers.next_if_eq(&(at + 1)).is_some();
        match byte {
            b'{' if is_marker => open.push(Some(at + 1)),
            b'{' if !escaped => open.push(None),
            b'}' if !escaped => {
                if let Some(Some(start)) = open.pop() {
                    out.push(start..at);
                }
            }
            _ => {}
        }
        escaped = *byte == b'\\' && !escaped;
    }
}

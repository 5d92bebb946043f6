//! Steps between `<step>` and `</step>`.

use std::ops::Range;

use super::trimmed;

const OPEN: &str = "<step>";
const CLOSE: &str = "</step>";

/// Splits at tags. A step ends at its closing tag, at the next opening tag or at the end of the
/// text, so that a missing tag loses no step.
pub(super) fn split(text: &str) -> Vec<Range<usize>> {
    let mut steps = Vec::new();
    let mut begun = None;
    for (at, _) in text.match_indices('<') {
        let rest = &text[at..];
        let opens = rest.starts_with(OPEN);
        if !opens && !rest.starts_with(CLOSE) {
            continue;
        }
        if let Some(start) = begun.take() {
            steps.extend(trimmed(text, start..at));
        }
        if opens {
            begun = Some(at + OPEN.len());
        }
    }
    if let Some(start) = begun {
        steps.extend(trimmed(text, start..text.len()));
    }
    steps
}

/// Removes the tags and adds a space at the end; empty if nothing is left.
pub(super) fn without(text: &str) -> String {
    let text = text.replace(OPEN, " ").replace(CLOSE, " ");
    match text.trim() {
        "" => String::new(),
        text => format!("{text} "),
    }
}

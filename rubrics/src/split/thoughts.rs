//! Thoughts of a `<think>` text.
//!
//! TP-GRPO (Smarter Not Harder, 2507.23317) splits the text into semantic steps by a model. This
//! rule is ours and needs no model: a thought is a run of paragraphs, and a paragraph that changes
//! direction (`Wait`, `Alternatively`, `Let me check` …) begins the next one.

use std::ops::Range;

use verifiers::arithmetic;

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// First words of a paragraph that begins a new thought, in lower case.
const TURNS: [&str; 11] = [
    "actually",
    "alternatively",
    "but",
    "hmm",
    "however",
    "let me check",
    "let me verify",
    "let's check",
    "let's verify",
    "on second thought",
    "wait",
];

pub(super) fn split(text: &str) -> Vec<Range<usize>> {
    let Some(inside) = thinking(text) else {
        return Vec::new();
    };
    let paragraphs = arithmetic::split(&text[inside.clone()], arithmetic::Splitter::BlankLines);
    let mut thoughts: Vec<Range<usize>> = Vec::new();
    for paragraph in paragraphs {
        let range = inside.start + paragraph.start..inside.start + paragraph.end;
        let turns = turns(&text[range.clone()]);
        match thoughts.last_mut() {
            Some(thought) if !turns => thought.end = range.end,
            Some(_) | None => thoughts.push(range),
        }
    }
    thoughts
}

/// Returns the range of the thinking. The opening tag is missing if the template wrote it, the
/// closing one if the text was cut.
fn thinking(text: &str) -> Option<Range<usize>> {
    match (text.find(OPEN), text.find(CLOSE)) {
        (Some(open), Some(close)) if close < open => Some(0..close),
        (Some(open), _) => {
            let start = open + OPEN.len();
            let length = text[start..].find(CLOSE);
            Some(start..length.map_or(text.len(), |length| start + length))
        }
        (None, Some(close)) => Some(0..close),
        (None, None) => None,
    }
}

fn turns(paragraph: &str) -> bool {
    let begins = |words: &&str| {
        let found = paragraph.get(..words.len());
        found.is_some_and(|found| found.eq_ignore_ascii_case(words))
            && !paragraph[words.len()..].starts_with(char::is_alphanumeric)
    };
    TURNS.iter().any(begins)
}

//! Splitting of a response into steps: pure functions over text.
//!
//! Steps are half-open byte ranges in order, without overlap, none of them empty. Work is linear in
//! the length of any text.

mod tags;
#[cfg(test)]
mod tests;
mod thoughts;

use std::ops::Range;

use serde::Serialize;
use verifiers::arithmetic;

/// Separator of steps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Splitter {
    /// Paragraphs with blank lines between them.
    #[default]
    BlankLines,
    /// Every line that is not blank is a step.
    Lines,
    /// Lines that start with `1.`, `2)`, `(3)` or `Step 4` each begin a step.
    Numbered,
    /// Sentences, within lines.
    Sentences,
    /// Text between `<step>` and `</step>`.
    Tags,
    /// The thoughts of a `<think>` text.
    Thoughts,
}

/// Names in configurations.
pub(crate) const SPLITTERS: &[(&str, Splitter)] = &[
    ("blank_lines", Splitter::BlankLines),
    ("lines", Splitter::Lines),
    ("numbered", Splitter::Numbered),
    ("sentences", Splitter::Sentences),
    ("tags", Splitter::Tags),
    ("thoughts", Splitter::Thoughts),
];

impl Splitter {
    /// Splits a text into steps.
    pub(crate) fn split(self, text: &str) -> Vec<Range<usize>> {
        let by = |splitter| arithmetic::split(text, splitter);
        match self {
            Self::BlankLines => by(arithmetic::Splitter::BlankLines),
            Self::Lines => by(arithmetic::Splitter::Lines),
            Self::Numbered => by(arithmetic::Splitter::Numbered),
            Self::Sentences => by(arithmetic::Splitter::Sentences),
            Self::Tags => tags::split(text),
            Self::Thoughts => thoughts::split(text),
        }
    }

    /// Message for a text without steps.
    pub(crate) fn missing(self) -> &'static str {
        match self {
            Self::BlankLines | Self::Lines | Self::Numbered | Self::Sentences => {
                "the response has nothing but white space"
            }
            Self::Tags => "the response has no <step> with something in it",
            Self::Thoughts => "the response has no <think> text",
        }
    }

    /// Returns the text between two steps for a prompt, without the tags of the splitter.
    pub(crate) fn between(self, gap: &str) -> String {
        match self {
            Self::Tags => tags::without(gap),
            Self::BlankLines | Self::Lines | Self::Numbered | Self::Sentences | Self::Thoughts
                if gap.trim().is_empty() =>
            {
                String::new()
            }
            Self::BlankLines | Self::Lines | Self::Numbered | Self::Sentences | Self::Thoughts => {
                gap.trim_start().to_owned()
            }
        }
    }
}

/// Trims white space from `range` of `text`; `None` if nothing is left.
fn trimmed(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let slice = &text[range.clone()];
    let start = range.start + (slice.len() - slice.trim_start().len());
    let end = start + slice.trim().len();
    (start < end).then_some(start..end)
}

//! A string that carries the origin of each byte.
//!
//! A chat prompt has two authors: the template, whose special tokens steer the model, and the
//! people and programs of the conversation, whose words must stay words. After rendering both are
//! one string, and no search can tell them apart. Every string of a render therefore carries its
//! origins, and every operation of the template language keeps them.

use std::ops::Range;

/// The author of a piece of text, from the most to the least trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The template: added tokens in it take effect.
    Template,
    /// The model or a tool, in an earlier turn: added tokens that are not special (a thinking tag)
    /// take effect, special ones are text.
    Reply,
    /// A person, or any other part of the request: added tokens are text.
    Request,
}

/// A range of bytes that does not come from the template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Bytes of the text.
    pub range: Range<usize>,
    /// Their origin; never [`Origin::Template`].
    pub origin: Origin,
}

/// A string with the origin of each byte. Bytes outside every mark are the template's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    string: String,
    /// In order, not empty, not overlapping.
    marks: Vec<Mark>,
}

impl Text {
    /// Text of a single origin.
    pub fn new(string: impl Into<String>, origin: Origin) -> Text {
        let string = string.into();
        let mut marks = Vec::new();
        if origin != Origin::Template && !string.is_empty() {
            marks.push(Mark { range: 0..string.len(), origin });
        }
        Text { string, marks }
    }

    /// Text with the template's origin.
    pub fn template(string: impl Into<String>) -> Text {
        Text::new(string, Origin::Template)
    }

    /// The characters.
    pub fn as_str(&self) -> &str {
        &self.string
    }

    /// The ranges that do not come from the template, in order and not overlapping.
    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// The string alone.
    pub fn into_string(self) -> String {
        self.string
    }

    /// Bytes.
    pub(crate) fn len(&self) -> usize {
        self.string.len()
    }

    /// The least trusted origin of the bytes in `range`.
    pub fn origin_of(&self, range: Range<usize>) -> Origin {
        let first = self.marks.partition_point(|m| m.range.end <= range.start);
        self.marks[first..]
            .iter()
            .take_while(|m| m.range.start < range.end)
            .map(|m| m.origin)
            .max()
            .unwrap_or(Origin::Template)
    }

    /// Appends a string of one origin.
    pub fn push_str(&mut self, string: &str, origin: Origin) {
        let start = self.string.len();
        self.string.push_str(string);
        self.mark(start..self.string.len(), origin);
    }

    /// Appends a text with its origins.
    pub(crate) fn push(&mut self, other: &Text) {
        let start = self.string.len();
        self.string.push_str(&other.string);
        for mark in &other.marks {
            self.mark(start + mark.range.start..start + mark.range.end, mark.origin);
        }
    }

    /// Appends the part `range` of a text, with its origins.
    ///
    /// # Panics
    /// Where `range` does not lie on character boundaries.
    pub(crate) fn push_part(&mut self, other: &Text, range: Range<usize>) {
        let start = self.string.len();
        self.string.push_str(&other.string[range.clone()]);
        let first = other.marks.partition_point(|m| m.range.end <= range.start);
        for mark in &other.marks[first..] {
            if mark.range.start >= range.end {
                break;
            }
            let from = mark.range.start.max(range.start) - range.start;
            let to = mark.range.end.min(range.end) - range.start;
            self.mark(start + from..start + to, mark.origin);
        }
    }

    /// The part `range` of the bytes, with its origins.
    ///
    /// # Panics
    /// Where `range` does not lie on character boundaries.
    #[must_use]
    pub fn part(&self, range: Range<usize>) -> Text {
        let mut out = Text::default();
        out.push_part(self, range);
        out
    }

    /// A part of this text, given as a slice of its string.
    pub(crate) fn part_of(&self, slice: &str) -> Text {
        let start = slice.as_ptr() as usize - self.string.as_ptr() as usize;
        self.part(start..start + slice.len())
    }

    /// Replaces each character by a string, which inherits the character's origin.
    pub(crate) fn map_chars(&self, mut f: impl FnMut(char, &mut String)) -> Text {
        let mut out = Text::default();
        let mut buffer = String::new();
        let mut marks = self.marks.iter().peekable();
        for (at, c) in self.string.char_indices() {
            while marks.peek().is_some_and(|m| m.range.end <= at) {
                marks.next();
            }
            let origin =
                marks.peek().filter(|m| m.range.start <= at).map_or(Origin::Template, |m| m.origin);
            buffer.clear();
            f(c, &mut buffer);
            out.push_str(&buffer, origin);
        }
        out
    }

    fn mark(&mut self, range: Range<usize>, origin: Origin) {
        if origin == Origin::Template || range.is_empty() {
            return;
        }
        match self.marks.last_mut() {
            Some(last) if last.range.end == range.start && last.origin == origin => {
                last.range.end = range.end;
            }
            _ => self.marks.push(Mark { range, origin }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Origin, Text};

    fn sample() -> Text {
        let mut text = Text::template("<|");
        text.push_str("user", Origin::Request);
        text.push_str("|>é", Origin::Template);
        text.push_str("ok", Origin::Reply);
        text
    }

    #[test]
    fn parts_keep_origins() {
        let text = sample();
        for start in 0..=text.len() {
            for end in start..=text.len() {
                let whole = text.as_str();
                if !whole.is_char_boundary(start) || !whole.is_char_boundary(end) {
                    continue;
                }
                let part = text.part(start..end);
                assert_eq!(part.as_str(), &whole[start..end]);
                for at in 0..part.len() {
                    let expected = text.origin_of(start + at..start + at + 1);
                    assert_eq!(part.origin_of(at..at + 1), expected, "{start}..{end} at {at}");
                }
            }
        }
    }

    #[test]
    fn range_has_the_least_trusted_origin_of_its_bytes() {
        let text = sample();
        assert_eq!(text.origin_of(0..2), Origin::Template);
        assert_eq!(text.origin_of(0..3), Origin::Request);
        assert_eq!(text.origin_of(6..11), Origin::Reply);
        assert_eq!(text.origin_of(0..text.len()), Origin::Request);
    }

    #[test]
    fn mapped_characters_keep_their_origin() {
        let upper = sample().map_chars(|c, out| out.extend(c.to_uppercase()));
        assert_eq!(upper.as_str(), "<|USER|>ÉOK");
        assert_eq!(upper.marks(), sample().marks());
    }
}

//! The visible text of a response: everything outside its thinking.

use std::ops::Range;

use memchr::memchr_iter;

/// The visible parts of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visible(VisibleParts);

/// Most responses have one part; only those with thinking tags pay for a list.
#[derive(Debug, Clone, PartialEq, Eq)]
enum VisibleParts {
    Whole([Range<usize>; 1]),
    Some(Vec<Range<usize>>),
}

impl Visible {
    /// Returns the half-open byte ranges, in order, none of them empty (except that of an empty
    /// response).
    pub fn ranges(&self) -> &[Range<usize>] {
        match &self.0 {
            VisibleParts::Whole(range) => range,
            VisibleParts::Some(ranges) => ranges,
        }
    }
}

/// The two spellings; one does not close the other.
const NAMES: [&str; 2] = ["think", "thinking"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tag {
    /// Index into [`NAMES`].
    name: usize,
    closes: bool,
    start: usize,
    end: usize,
}

/// Returns the text of `response` outside `<think>…</think>` and `<thinking>…</thinking>`.
///
/// An opening tag that is never closed hides all the rest. A closing tag with no opening one
/// before it hides all before it, because chat templates prefill the opening tag. Thinking does
/// not nest. A response without tags is visible as a whole.
pub fn visible(response: &str) -> Visible {
    let mut tags =
        memchr_iter(b'<', response.as_bytes()).filter_map(|at| tag_at(response, at)).peekable();
    if tags.peek().is_none() {
        let range = 0..response.len();
        return Visible(VisibleParts::Whole([range]));
    }
    let mut ranges = Vec::new();
    let mut open = None;
    let mut from = 0;
    for tag in tags {
        match (open, tag.closes) {
            (None, false) => {
                ranges.push(from..tag.start);
                open = Some(tag.name);
            }
            (None, true) => {
                ranges.clear();
                from = tag.end;
            }
            (Some(name), true) if name == tag.name => {
                open = None;
                from = tag.end;
            }
            (Some(_), _) => {}
        }
    }
    if open.is_none() {
        ranges.push(from..response.len());
    }
    ranges.retain(|range| !range.is_empty());
    Visible(VisibleParts::Some(ranges))
}

/// Returns the thinking tag at `start`, where a `<` stands.
fn tag_at(response: &str, start: usize) -> Option<Tag> {
    let bytes = response.as_bytes();
    let closes = bytes.get(start + 1) == Some(&b'/');
    let from = start + 1 + usize::from(closes);
    NAMES.iter().enumerate().find_map(|(name, word)| {
        let end = from + word.len();
        let found = bytes.get(from..end)?;
        let whole = found.eq_ignore_ascii_case(word.as_bytes()) && bytes.get(end) == Some(&b'>');
        whole.then_some(Tag { name, closes, start, end: end + 1 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(response: &str, expected: &[&str]) {
        let visible = visible(response);
        let found: Vec<&str> = visible.ranges().iter().map(|r| &response[r.clone()]).collect();
        assert_eq!(found, expected, "{response}");
    }

    #[test]
    fn thinking_is_hidden() {
        check("plain", &["plain"]);
        check("a < b > c </b> <thin> <thinker>", &["a < b > c </b> <thin> <thinker>"]);
        check("<think>x</think>y", &["y"]);
        check("a<think>x</think>b<thinking>z</thinking>c", &["a", "b", "c"]);
        check("<THINK>x</Think>y", &["y"]);
        check("<think></think>", &[]);
    }

    #[test]
    fn unclosed_tag_hides_the_rest() {
        check("<think>x", &[]);
        check("a<think>x", &["a"]);
        check("<think>x</think>y<think>z", &["y"]);
        check("<think>x</thinking>y", &[]);
        check("<thinking>x</think>y", &[]);
        check("<think>x<think>y</think>z", &["z"]);
    }

    #[test]
    fn lone_closing_tag_hides_the_text_before() {
        check("x</think>y", &["y"]);
        check("x</thinking>y", &["y"]);
        check("a<think>b</think>c</think>d", &["d"]);
        check("a</think>b</think>c", &["c"]);
        check("x</think>", &[]);
    }
}

//! Boxes: `\boxed{…}`, `\fbox{…}`, `boxed(…)`, `\boxed 5`.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memchr;
use memchr::memmem::Finder;

use super::{FoundAnswer, Note, statement, trim};

/// A box and the place where its content starts.
#[derive(Debug)]
struct Opener {
    /// Whether a backslash opens it, and not the word alone: `boxed(5)`.
    is_command: bool,
    start: usize,
    content: usize,
    end: BoxEnd,
}

/// The ways in which a box ends.
#[derive(Debug, Clone, Copy)]
enum BoxEnd {
    /// A closing mark, with as many opening ones inside as further closing ones.
    Pair(u8, u8),
    /// White space or `$`: `\boxed 5`.
    Bare,
}

/// Appends the boxes of `part` that hold no other box.
///
/// Each box is searched for its end only up to the start of the next one, which makes the search
/// linear. A box that has not ended by then is an outer box where both stand on one line, and an
/// unclosed one otherwise.
pub(super) fn find_boxes(text: &str, part: Range<usize>, out: &mut Vec<FoundAnswer>) {
    static NAME: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("box"));
    let haystack = &text.as_bytes()[part.clone()];
    let openers = NAME.find_iter(haystack).filter_map(|at| opener_at(text, &part, part.start + at));
    let mut openers: Vec<Opener> = openers.collect();
    // What is boxed by name alone counts only where no command boxes anything.
    if openers.iter().any(|opener| opener.is_command) {
        openers.retain(|opener| opener.is_command);
    }
    let mut openers = openers.into_iter().peekable();
    let mut end_of_last = None;
    while let Some(opener) = openers.next() {
        let limit = openers.peek().map_or(part.end, |next| next.start);
        let is_last = openers.peek().is_none();
        let Some((mut candidate, end)) = close(text, &opener, limit, is_last) else {
            continue;
        };
        if let Some(last) = end_of_last {
            let gap = &text[last..opener.start];
            if approximates(gap, &text[candidate.span.clone()]) {
                if candidate.note == Note::None {
                    candidate.note = Note::Approximation;
                }
            } else {
                candidate.continues = continues(gap);
            }
        }
        end_of_last = Some(end);
        out.push(candidate);
    }
}

/// Returns the box whose name contains the "box" at `at`.
fn opener_at(text: &str, part: &Range<usize>, at: usize) -> Option<Opener> {
    let bytes = &text.as_bytes()[..part.end];
    let before = &bytes[part.start..at];
    let (start, name_end) = if bytes[at..].starts_with(b"boxed") {
        (at - usize::from(before.ends_with(b"\\")), at + 5)
    } else if before.ends_with(b"\\f") {
        (at - 2, at + 3)
    } else {
        return None;
    };
    if bytes[start] == b'\\' {
        return command(bytes, start, name_end);
    }
    let in_word = before.last().is_some_and(u8::is_ascii_alphanumeric);
    let end = closing_bracket(*bytes.get(name_end)?)?;
    (!in_word).then_some(Opener { is_command: false, start, content: name_end + 1, end })
}

/// Returns the box of a command whose name ends at `name_end`; `None` if the text only mentions it.
fn command(bytes: &[u8], start: usize, name_end: usize) -> Option<Opener> {
    let spaces = bytes[name_end..].iter().take_while(|b| b.is_ascii_whitespace());
    let content = name_end + spaces.count();
    let first = *bytes.get(content)?;
    let square = (first == b'[').then_some(BoxEnd::Pair(b'[', b']'));
    if let Some(end) = closing_bracket(first).or(square) {
        return Some(Opener { is_command: true, start, content: content + 1, end });
    }
    let second_is_letter = bytes.get(content + 1).is_some_and(u8::is_ascii_alphabetic);
    let is_value = match first {
        b'0'..=b'9' | b'-' | b'+' => true,
        b'\\' => second_is_letter,
        b'a'..=b'z' | b'A'..=b'Z' => content > name_end && !second_is_letter,
        _ => false,
    };
    is_value.then_some(Opener { is_command: true, start, content, end: BoxEnd::Bare })
}

fn closing_bracket(open: u8) -> Option<BoxEnd> {
    match open {
        b'{' => Some(BoxEnd::Pair(b'{', b'}')),
        b'(' => Some(BoxEnd::Pair(b'(', b')')),
        _ => None,
    }
}

/// Returns the candidate in a box and where the box ends, if it is not an outer one.
fn close(text: &str, opener: &Opener, limit: usize, is_last: bool) -> Option<(FoundAnswer, usize)> {
    let bytes = &text.as_bytes()[..limit];
    let from = opener.content;
    let closed = |end: usize, after: usize| {
        let span = trim::space(text, from..end);
        Some((FoundAnswer::new(span, Note::None), after))
    };
    match opener.end {
        BoxEnd::Bare => {
            let end = bare_end(bytes, from);
            closed(end, end)
        }
        BoxEnd::Pair(open, shut) => match balanced_end(bytes, from, open, shut) {
            Some(end) => closed(end, end + 1),
            None => unclosed(text, from..limit, is_last),
        },
    }
}

/// Ends a box without a closing brace at the end of its line.
fn unclosed(text: &str, rest: Range<usize>, is_last: bool) -> Option<(FoundAnswer, usize)> {
    let line = memchr(b'\n', &text.as_bytes()[rest.clone()]);
    if line.is_none() && !is_last {
        return None;
    }
    let end = line.map_or(rest.end, |length| rest.start + length);
    let content = text[rest.start..end].trim_end();
    let content = ["$", "\\)", "\\]"]
        .iter()
        .fold(content, |c, delimiter| c.strip_suffix(delimiter).unwrap_or(c));
    let span = trim::space(text, rest.start..rest.start + content.len());
    Some((FoundAnswer::new(span, Note::Unclosed), end))
}

/// Finds where the mark stands that closes what was opened before `from`. A backslash escapes.
fn balanced_end(bytes: &[u8], from: usize, open: u8, shut: u8) -> Option<usize> {
    let mut depth = 0usize;
    let mut at = from;
    while let Some(&byte) = bytes.get(at) {
        if byte == b'\\' {
            at += 1;
        } else if byte == open {
            depth += 1;
        } else if byte == shut {
            if depth == 0 {
                return Some(at);
            }
            depth -= 1;
        }
        at += 1;
    }
    None
}

/// Finds where a box without braces ends: at white space or `$`, less the punctuation of its
/// sentence.
fn bare_end(bytes: &[u8], from: usize) -> usize {
    let run = &bytes[from..];
    let length =
        run.iter().position(|b| b.is_ascii_whitespace() || *b == b'$').unwrap_or(run.len());
    let mut run = &run[..length];
    loop {
        let shorter = [".", ",", ";", ":", "\\)", "\\]"]
            .iter()
            .find_map(|mark| run.strip_suffix(mark.as_bytes()));
        match shorter {
            Some(shorter) => run = shorter,
            None => return from + run.len(),
        }
    }
}

/// Signs and words before an approximation, of which the longest come first.
const APPROXIMATELY: [&str; 9] =
    ["≈", "\\approx", "\\simeq", "≃", "≅", "approximately", "roughly", "about", "approx."];

/// What may stand between an exact value and its approximation beside those.
const RESTATING: [&str; 13] = [
    "\\text{", "which is", "that is", "i.e.", "or", "$", "\\(", "\\)", "\\[", "\\]", ",", ";", "=",
];

/// Returns whether a box only restates the one before it: nothing but delimiters and an
/// approximation sign stands between them, or the sign opens the box.
fn approximates(gap: &str, content: &str) -> bool {
    // The longest gap that qualifies: delimiters, "or", a sign, and spaces.
    if gap.len() > 64 {
        return false;
    }
    let mut signs = APPROXIMATELY.iter();
    if !signs.any(|sign| gap.contains(sign) || content.starts_with(sign)) {
        return false;
    }
    let words = APPROXIMATELY
        .iter()
        .chain(&RESTATING)
        .fold(gap.to_owned(), |rest, mark| rest.replace(mark, " "));
    words.trim_matches([' ', '\n', '(', ')', '}']).is_empty()
}

/// Returns the boxes that answer the parts of a question, each behind the label of its part, if the last
/// of `boxes` does.
pub(super) fn parts(text: &str, boxes: &[FoundAnswer]) -> Option<Vec<Range<usize>>> {
    /// Bytes before a box in which its label may stand.
    const MAX_BYTES: usize = 600;
    if boxes.len() < 2 {
        return None;
    }
    let label = |at: usize| {
        let end = boxes[at].span.start;
        let mut start = end.saturating_sub(MAX_BYTES);
        if let Some(before) = at.checked_sub(1) {
            start = start.max(boxes[before].span.end);
        }
        while !text.is_char_boundary(start) {
            start += 1;
        }
        last_label(&text[start..end])
    };
    let mut first = boxes.len();
    let mut wanted = label(boxes.len() - 1)?;
    loop {
        first = first.checked_sub(1)?;
        if label(first) != Some(wanted) {
            return None;
        }
        if wanted == 0 {
            break;
        }
        wanted -= 1;
    }
    let parts = &boxes[first..];
    (parts.len() > 1).then(|| parts.iter().map(|part| part.span.clone()).collect())
}

/// Returns the last of `boxes` with the names that stand before them on their lines, "Maximum value: …" and
/// "Minimum value: …", two at least.
pub(super) fn named(text: &str, boxes: &[FoundAnswer]) -> Option<Vec<Range<usize>>> {
    if boxes.len() < 2 {
        return None;
    }
    let mut found = Vec::new();
    for (at, own) in boxes.iter().enumerate().rev() {
        let from = at.checked_sub(1).map_or(0, |before| boxes[before].span.end);
        let line = &text[from..own.span.start];
        let line = line.rsplit('\n').next().unwrap_or(line);
        let start = statement::named_from(line).map(|start| own.span.start - line.len() + start);
        let Some(start) = start else {
            break;
        };
        let after = &text[own.span.end..];
        let end = after.find(|c| !matches!(c, '}' | '$' | ')')).unwrap_or(after.len());
        found.push(start..own.span.end + end);
    }
    found.reverse();
    (found.len() > 1).then_some(found)
}

/// Returns the place of the last label in `text`, `(b)` or `Part b`, among all labels.
fn last_label(text: &str) -> Option<u8> {
    let bytes = text.as_bytes();
    (0..bytes.len()).rev().find_map(|at| {
        let letter = bytes[at].to_ascii_lowercase();
        let place = match letter {
            b'a'..=b'h' => letter - b'a',
            b'1'..=b'9' => letter - b'1',
            _ => return None,
        };
        let is_enclosed = at > 0 && bytes[at - 1] == b'(' && bytes.get(at + 1) == Some(&b')');
        let is_named = bytes[..at].ends_with(b"art ")
            && bytes.get(at + 1).is_none_or(|next| !next.is_ascii_alphanumeric());
        (is_enclosed || is_named).then_some(place)
    })
}

/// Words that join the members of a list.
const JOINERS: [&str; 15] =
    ["and", "or", "und", "oder", "et", "ou", "y", "o", "e", "и", "или", "和", "或", "と", "و"];

/// Those of them that leave open which member is meant.
const ALTERNATIVES: [&str; 6] = ["or", "oder", "ou", "o", "или", "或"];

/// Returns whether an "or" stands in `gap`, between two boxes of a list.
pub(super) fn offers_choice(gap: &str) -> bool {
    gap.split(|c: char| !c.is_alphabetic()).any(|word| ALTERNATIVES.contains(&word))
}

/// Commands that only set type.
const SPACES: [&str; 4] = ["quad", "qquad", "left", "right"];

/// Returns whether `gap`, between two boxes, holds nothing but commas, words that join, delimiters
/// and names of variables with their equals signs: `, \text{ and } x_2 = `.
fn continues(gap: &str) -> bool {
    // The longest gap that qualifies: two variables with words, delimiters and spaces.
    if gap.len() > 64 || gap.contains("\n\n") {
        return false;
    }
    let mut joins = false;
    let mut rest = gap;
    while let Some(first) = rest.chars().next() {
        if first.is_alphabetic() {
            let end = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            let Some(after) = after_word(word, after) else {
                return false;
            };
            joins |= JOINERS.contains(&word);
            rest = after;
            continue;
        }
        let is_plain = first.is_whitespace() || "$\\()[]{}~&;,，、；.".contains(first);
        if !is_plain {
            return false;
        }
        joins |= matches!(first, ',' | ';' | '，' | '、' | '；' | '&');
        rest = &rest[first.len_utf8()..];
        if first == '\\' {
            rest = after_command(rest);
        }
    }
    // Boxes on lines of their own are steps, unless something joins them.
    joins || !gap.contains(['\n', '.'])
}

/// Returns what follows a word between boxes, if it names a variable with an equals sign or joins.
fn after_word<'a>(word: &str, after: &'a str) -> Option<&'a str> {
    let index = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '{' | '}' | ' ' | '$');
    let rest = after.trim_start_matches(index);
    let is_short = word.len() <= 2 && after.len() - rest.len() <= 8;
    let behind = rest.strip_prefix('=').filter(|_| is_short);
    behind.or_else(|| JOINERS.contains(&word).then_some(after))
}

/// Returns what follows a command that only sets type, or the name of `\text`.
fn after_command(rest: &str) -> &str {
    let is_known = |name: &&&str| {
        let after = rest.strip_prefix(**name);
        after.is_some_and(|after| !after.starts_with(|c: char| c.is_ascii_alphabetic()))
    };
    let names = ["text", "textbf", "mathrm", "mbox"];
    match SPACES.iter().chain(&names).find(is_known) {
        Some(name) => &rest[name.len()..],
        None => rest,
    }
}

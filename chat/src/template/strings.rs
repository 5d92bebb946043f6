//! Python's string methods, with origins kept.

use std::ops::Range;

use super::error::RenderError;
use super::heap::Heap;
use crate::text::{Origin, Text};

/// Python's `str.isspace` of one character.
pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\x1c'..='\x1f').contains(&c)
}

/// The ends of a string that a method changes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    Both,
    Start,
    End,
}

/// `strip`, `lstrip`, `rstrip`: white space, or any of `chars`.
pub(super) fn strip(text: &Text, ends: Ends, chars: Option<&str>) -> Text {
    let drop = |c: char| chars.map_or_else(|| is_space(c), |chars| chars.contains(c));
    let string = text.as_str();
    let kept = match ends {
        Ends::Both => string.trim_matches(drop),
        Ends::Start => string.trim_start_matches(drop),
        Ends::End => string.trim_end_matches(drop),
    };
    text.part_of(kept)
}

/// `replace`, at most `count` times.
pub(super) fn replace(
    heap: &Heap,
    text: &Text,
    old: &str,
    new: &Text,
    count: usize,
) -> Result<Text, RenderError> {
    heap.chars(text.len().saturating_add(old.len()))?;
    let found = text.as_str().matches(old).take(count).count();
    let each = new.len() + new.marks().len() * size_of::<Range<usize>>();
    heap.room(text.len().saturating_add(found.saturating_mul(each)))?;
    let mut out = Text::default();
    let mut done = 0;
    for (at, _) in text.as_str().match_indices(old).take(count) {
        out.push_part(text, done..at);
        out.push(new);
        done = at + old.len();
    }
    out.push_part(text, done..text.len());
    Ok(out)
}

/// `split` and `rsplit`: at `separator`, or at runs of white space; at most `most` cuts.
pub(super) fn split(
    heap: &Heap,
    text: &Text,
    separator: Option<&str>,
    most: usize,
    from_end: bool,
) -> Result<Vec<Text>, RenderError> {
    let string = text.as_str();
    let cuts = match separator {
        Some(s) => string.matches(s).take(most).count(),
        None => string.split(is_space).filter(|word| !word.is_empty()).take(most).count(),
    };
    heap.room_for(cuts)?;
    let parts: Vec<&str> = match (separator, from_end) {
        (Some(s), false) => string.splitn(most.saturating_add(1), s).collect(),
        (Some(s), true) => {
            let mut parts: Vec<&str> = string.rsplitn(most.saturating_add(1), s).collect();
            parts.reverse();
            parts
        }
        (None, false) => split_spaces(string, most),
        (None, true) => rsplit_spaces(string, most),
    };
    Ok(parts.into_iter().map(|p| text.part_of(p)).collect())
}

fn split_spaces(string: &str, most: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = string.trim_start_matches(is_space);
    while !rest.is_empty() {
        if parts.len() == most {
            parts.push(rest);
            break;
        }
        let end = rest.find(is_space).unwrap_or(rest.len());
        parts.push(&rest[..end]);
        rest = rest[end..].trim_start_matches(is_space);
    }
    parts
}

fn rsplit_spaces(string: &str, most: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = string.trim_end_matches(is_space);
    while !rest.is_empty() {
        if parts.len() == most {
            parts.push(rest);
            break;
        }
        let start = rest
            .char_indices()
            .rev()
            .find(|(_, c)| is_space(*c))
            .map_or(0, |(at, c)| at + c.len_utf8());
        parts.push(&rest[start..]);
        rest = rest[..start].trim_end_matches(is_space);
    }
    parts.reverse();
    parts
}

/// `splitlines`.
pub(super) fn split_lines(
    heap: &Heap,
    text: &Text,
    keep_ends: bool,
) -> Result<Vec<Text>, RenderError> {
    heap.room_for(lines(text.as_str()).count())?;
    let lines = lines(text.as_str());
    Ok(lines.map(|(line, ended)| text.part_of(if keep_ends { ended } else { line })).collect())
}

/// The lines of a string, each without and with its end.
fn lines(mut rest: &str) -> impl Iterator<Item = (&str, &str)> {
    std::iter::from_fn(move || {
        let at = rest.find(is_line_end).unwrap_or(rest.len());
        let end = match rest[at..].chars().next() {
            None if at == 0 => return None,
            Some('\r') if rest[at..].starts_with("\r\n") => at + 2,
            last => at + last.map_or(0, char::len_utf8),
        };
        let (ended, later) = rest.split_at(end);
        rest = later;
        Some((&ended[..at], ended))
    })
}

fn is_line_end(c: char) -> bool {
    matches!(
        c,
        '\n' | '\r' | '\x0b' | '\x0c' | '\x1c'..='\x1e' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// The number of words, as Jinja's `wordcount` has it: runs of letters, digits and underscores.
/// The vowel signs of Indic scripts count as letters here; Python ends a word at them.
pub(super) fn words(string: &str) -> usize {
    let parts = string.split(|c: char| c != '_' && !c.is_alphanumeric());
    parts.filter(|part| !part.is_empty()).count()
}

/// Python's `str.title`: a capital after every character that is not a letter.
pub(super) fn title(text: &Text) -> Text {
    let mut inside = false;
    text.map_chars(|c, out| {
        if inside {
            out.extend(c.to_lowercase());
        } else {
            out.extend(c.to_uppercase());
        }
        inside = c.is_alphabetic();
    })
}

/// Jinja's `title` filter: a capital after a space, a hyphen or an opening bracket.
pub(super) fn title_words(text: &Text) -> Text {
    let mut inside = false;
    text.map_chars(|c, out| {
        if inside {
            out.extend(c.to_lowercase());
        } else {
            out.extend(c.to_uppercase());
        }
        inside = !(is_space(c) || matches!(c, '-' | '(' | '{' | '[' | '<'));
    })
}

/// `capitalize`.
pub(super) fn capitalize(text: &Text) -> Text {
    let mut first = true;
    text.map_chars(|c, out| {
        if std::mem::take(&mut first) {
            out.extend(c.to_uppercase());
        } else {
            out.extend(c.to_lowercase());
        }
    })
}

/// `center`, `ljust`, `rjust`: padded with `fill` to `width` characters.
pub(super) fn pad(
    heap: &Heap,
    text: &Text,
    width: usize,
    ends: Ends,
    fill: &Text,
) -> Result<Text, RenderError> {
    let missing = width.saturating_sub(text.as_str().chars().count());
    heap.room(missing.saturating_mul(fill.len()).saturating_add(text.len()))?;
    let left = match ends {
        Ends::Start => missing,
        Ends::End => 0,
        // Python gives the odd one to the left where the width is odd.
        Ends::Both => missing / 2 + (missing & width & 1),
    };
    let mut out = Text::default();
    for _ in 0..left {
        out.push(fill);
    }
    out.push(text);
    for _ in left..missing {
        out.push(fill);
    }
    Ok(out)
}

/// Jinja's `indent` filter: puts `prefix` before every line; before the first and before blank
/// lines only if `first` and `blank` are set. Whatever ends a line becomes a newline.
pub(super) fn indent(
    heap: &Heap,
    text: &Text,
    prefix: &Text,
    (first, blank): (bool, bool),
) -> Result<Text, RenderError> {
    heap.room(text.len())?;
    let mut ended = text.clone();
    // As in Jinja: an empty text, and one that ends with a line, has another line.
    ended.push_str("\n", Origin::Template);
    let count = lines(ended.as_str()).count();
    heap.room(text.len().saturating_add(count.saturating_mul(prefix.len())))?;
    let mut out = Text::default();
    for (i, (line, _)) in lines(ended.as_str()).enumerate() {
        if i > 0 {
            out.push_str("\n", Origin::Template);
        }
        let wanted = if i == 0 { first } else { blank || !line.is_empty() };
        if wanted {
            out.push(prefix);
        }
        out.push(&ended.part_of(line));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::super::heap::RenderLimits;
    use super::{Heap, Text, split, split_lines, title, title_words};

    fn strings(parts: &[Text]) -> Vec<&str> {
        parts.iter().map(Text::as_str).collect()
    }

    fn heap() -> Heap {
        Heap::new(RenderLimits::default())
    }

    #[test]
    fn split_follows_python() {
        let text = Text::template("  a b\x1cc  ");
        let check = |separator, most, from_end, expected: &[&str]| {
            let parts = split(&heap(), &text, separator, most, from_end).expect("small");
            assert_eq!(strings(&parts), expected);
        };
        check(None, usize::MAX, false, &["a", "b", "c"]);
        check(None, 1, false, &["a", "b\x1cc  "]);
        check(None, 1, true, &["  a b", "c"]);
        check(Some(" "), usize::MAX, false, &["", "", "a", "b\x1cc", "", ""]);
        check(Some(" "), 1, true, &["  a b\x1cc ", ""]);
        check(Some("zz"), usize::MAX, false, &["  a b\x1cc  "]);
    }

    #[test]
    fn lines_end_as_in_python() {
        let text = Text::template("a\r\nb\rc\u{2028}d\n");
        let check = |keep_ends, expected: &[&str]| {
            let lines = split_lines(&heap(), &text, keep_ends).expect("small");
            assert_eq!(strings(&lines), expected);
        };
        check(false, &["a", "b", "c", "d"]);
        check(true, &["a\r\n", "b\r", "c\u{2028}", "d\n"]);
    }

    /// The parts of a text take many times its bytes.
    #[test]
    fn many_parts_are_refused_before_they_are_made() {
        let text = Text::template("a\n".repeat(100_000));
        let heap = Heap::new(RenderLimits { live_bytes: 1 << 20, ..RenderLimits::default() });
        let fits = |parts: Result<Vec<Text>, _>| parts.map(|parts| parts.len()).ok();
        for from_end in [false, true] {
            for separator in [None, Some("a"), Some("\n")] {
                assert_eq!(fits(split(&heap, &text, separator, usize::MAX, from_end)), None);
                assert_eq!(fits(split(&heap, &text, separator, 3, from_end)), Some(4));
            }
        }
        assert_eq!(fits(split_lines(&heap, &text, true)), None);
    }

    #[test]
    fn python_and_jinja_title_differ() {
        let text = Text::template("it's a TEST-case");
        assert_eq!(title(&text).as_str(), "It'S A Test-Case");
        assert_eq!(title_words(&text).as_str(), "It's A Test-Case");
    }
}

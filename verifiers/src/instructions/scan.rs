//! Scans of a response. Each is one pass, without compiled patterns.

use std::borrow::Cow;
use std::ops::Range;

use whatlang::Lang;

/// `text` in lower case.
pub(super) fn lower(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        Cow::Owned(text.to_ascii_lowercase())
    } else {
        Cow::Owned(text.to_lowercase())
    }
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether `word` stands in `text` with a word boundary on both sides.
pub(super) fn has_word(text: &str, word: &str) -> bool {
    let is_boundary = |inner: Option<char>, outer: Option<char>| {
        inner.is_some_and(is_word_char) != outer.is_some_and(is_word_char)
    };
    text.match_indices(word).any(|(start, found)| {
        let end = start + found.len();
        is_boundary(found.chars().next(), text[..start].chars().next_back())
            && is_boundary(found.chars().next_back(), text[end..].chars().next())
    })
}

/// Runs of letters, digits and underscores.
pub(super) fn words(text: &str) -> usize {
    if text.is_ascii() {
        let mut was_word = false;
        return text
            .bytes()
            .filter(|byte| {
                let is_word = byte.is_ascii_alphanumeric() || *byte == b'_';
                let begins = is_word && !was_word;
                was_word = is_word;
                begins
            })
            .count();
    }
    word_runs(text).count()
}

/// The runs that [`words`] counts.
pub(super) fn word_runs(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_word_char(c)).filter(|word| !word.is_empty())
}

/// Words before a full stop that ends no sentence.
const ABBREVIATIONS: &[&str] = &[
    "mr", "mrs", "ms", "dr", "prof", "st", "jr", "sr", "vs", "e.g", "i.e", "etc", "inc", "ltd",
    "co", "no", "fig", "cf", "al",
];

/// Number of [`sentence_ranges`].
pub(super) fn sentences(text: &str) -> usize {
    sentence_ranges(text).count()
}

/// Sentences: runs of text that end in `.`, `!`, `?` (or their full-width forms) before white space,
/// or at the end. A full stop after an abbreviation, an initial or a number of a list ends none.
pub(super) fn sentence_ranges(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut chars = text.char_indices().peekable();
    let (mut start, mut start_of_word) = (0, 0);
    std::iter::from_fn(move || {
        let mut has_text = false;
        while let Some((at, c)) = chars.next() {
            let end = match c {
                '。' | '！' | '？' | '।' => Some(at + c.len_utf8()),
                '.' | '!' | '?' => {
                    let mut end = at + 1;
                    while let Some((next, c)) = chars.next_if(|(_, c)| is_closing(*c)) {
                        end = next + c.len_utf8();
                    }
                    let is_last = chars.peek().is_none_or(|(_, c)| c.is_whitespace());
                    let word = &text[start_of_word..at];
                    let ends = is_last && (end > at + 1 || c != '.' || ends_sentence(word));
                    ends.then_some(end)
                }
                c => {
                    if c.is_whitespace() {
                        start_of_word = at + c.len_utf8();
                    }
                    has_text |= c.is_alphanumeric();
                    None
                }
            };
            if let Some(end) = end.filter(|_| has_text) {
                return Some(std::mem::replace(&mut start, end)..end);
            }
        }
        has_text.then(|| std::mem::replace(&mut start, text.len())..text.len())
    })
}

/// Whether a character after the mark that ends a sentence still belongs to it.
fn is_closing(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | '"' | '\'' | ')' | '*' | '”')
}

/// Whether a full stop after `word` ends a sentence.
fn ends_sentence(word: &str) -> bool {
    let word = word.trim_start_matches(|c: char| !c.is_alphanumeric());
    let is_initial =
        word.chars().count() == 1 && word.chars().all(char::is_uppercase) && word != "I";
    let is_list_number =
        !word.is_empty() && word.len() < 3 && word.bytes().all(|b| b.is_ascii_digit());
    !is_initial && !is_list_number && !ABBREVIATIONS.contains(&word.to_lowercase().as_str())
}

/// The parts between separators; blank ones at both ends do not count, and a blank one elsewhere
/// makes the text malformed.
pub(super) fn parts<'t>(text: &'t str, separator: &str) -> Option<Vec<&'t str>> {
    let all: Vec<&str> = text.split(separator).collect();
    let last = all.len() - 1;
    let is_inner_blank =
        |(index, part): (usize, &&str)| part.trim().is_empty() && index != 0 && index != last;
    if all.iter().enumerate().any(is_inner_blank) {
        return None;
    }
    Some(all.into_iter().filter(|part| !part.trim().is_empty()).collect())
}

/// Whether there are `n_paragraphs`, separated by empty lines, and the `nth` begins with `word`.
pub(super) fn has_first_word(text: &str, n_paragraphs: u64, nth: usize, word: &str) -> bool {
    let paragraphs: Vec<&str> = text.split("\n\n").collect();
    let count = paragraphs.iter().filter(|paragraph| !paragraph.trim().is_empty()).count();
    let Some(paragraph) = nth.checked_sub(1).and_then(|index| paragraphs.get(index)) else {
        return false;
    };
    let first = paragraph.split_whitespace().next().unwrap_or_default();
    let first = first.trim_start_matches('\'').trim_start_matches('"');
    let end = first.find(['.', ',', '?', '!', '\'', '"']).unwrap_or(first.len());
    nth <= count
        && count as u64 == n_paragraphs
        && !first[..end].is_empty()
        && first[..end].to_lowercase() == word
}

/// Stretches in square brackets on one line.
pub(super) fn placeholders(text: &str) -> usize {
    text.lines().map(|line| closed(line, "[", "]").count()).sum()
}

/// The contents between `open` and the next `close`, one after the other.
fn closed<'t>(line: &'t str, open: &'t str, close: &'t str) -> impl Iterator<Item = &'t str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let (_, after) = rest.split_once(open)?;
        let (inside, after) = after.split_once(close)?;
        rest = after;
        Some(inside)
    })
}

/// Lines that begin with `-`, or with one `*`.
pub(super) fn bullets(text: &str) -> usize {
    let is_bullet = |line: &str| {
        let line = line.trim_start();
        let after_star = line.strip_prefix('*').and_then(|rest| rest.chars().next());
        line.starts_with('-') || after_star.is_some_and(|c| c != '*')
    };
    text.lines().filter(|line| is_bullet(line)).count()
}

/// Stretches between single or double asterisks on one line that are not blank.
pub(super) fn highlights(text: &str) -> usize {
    let is_some = |inside: &&str| !inside.trim().is_empty();
    let in_line = |line: &str| {
        if !line.contains('*') {
            return 0;
        }
        let single = closed(line, "*", "*").filter(is_some).count();
        let double =
            closed(line, "**", "**").filter(|inside| !inside.contains('*') && is_some(inside));
        single + double.count()
    };
    text.lines().map(in_line).sum()
}

/// Occurrences of `splitter` with a number behind it.
pub(super) fn sections(text: &str, splitter: &str) -> usize {
    let is_numbered = |(start, found): &(usize, &str)| {
        let rest = &text[start + found.len()..];
        let rest = rest.strip_prefix(char::is_whitespace).unwrap_or(rest);
        rest.starts_with(|c: char| c.is_ascii_digit())
    };
    text.match_indices(splitter).filter(is_numbered).count()
}

/// Whether the text, without a fence around it, is JSON.
pub(super) fn is_json(text: &str) -> bool {
    let text = text.trim();
    let inner = ["```json", "```Json", "```JSON", "```"].iter().find_map(|f| text.strip_prefix(f));
    let inner = inner.unwrap_or(text).trim_end();
    let inner = inner.strip_suffix("```").unwrap_or(inner).trim();
    serde_json::from_str::<serde::de::IgnoredAny>(inner).is_ok()
}

/// Whether a line has a title in double angular brackets.
pub(super) fn has_title(text: &str) -> bool {
    text.lines().any(|line| {
        let (Some(start), Some(end)) = (line.find("<<"), line.rfind(">>")) else { return false };
        start + 2 < end && !line[start..end].trim_matches(['<', '>']).trim().is_empty()
    })
}

/// Whether the text has the postscript `marker`; both in lower case. White space may stand between
/// the letters of P.S. and P.P.S.
pub(super) fn has_postscript(text: &str, marker: &str) -> bool {
    let letters: &[&str] = match marker {
        "p.s." => &["p.", "s."],
        "p.p.s" => &["p.", "p.", "s"],
        marker => return text.contains(marker),
    };
    text.match_indices(letters[0]).any(|(start, _)| {
        let mut rest = &text[start..];
        letters.iter().enumerate().all(|(index, letter)| {
            if index > 0 {
                rest = rest.strip_prefix(char::is_whitespace).unwrap_or(rest);
            }
            rest.strip_prefix(letter).map(|after| rest = after).is_some()
        })
    })
}

/// Words without a lower-case letter and with an upper-case one.
pub(super) fn capital_words(text: &str) -> usize {
    text.split_whitespace().filter(|word| is_upper(word)).count()
}

/// Whether there is an upper-case letter and no lower-case one.
pub(super) fn is_upper(text: &str) -> bool {
    text.chars().any(char::is_uppercase) && !text.chars().any(char::is_lowercase)
}

/// Whether there is a lower-case letter and no upper-case one.
pub(super) fn is_lower(text: &str) -> bool {
    text.chars().any(char::is_lowercase) && !text.chars().any(char::is_uppercase)
}

pub(super) fn is_english(text: &str) -> bool {
    whatlang::detect_lang(text) == Some(Lang::Eng)
}

//! Forms of a response that `IFBench` demands: nests, quotes, bullets, emoji and titles.

use std::collections::HashSet;

use super::scan;
use super::words::{MINOR_WORDS, is_emoji, is_mark, sentence_types, sentences, words};

/// Depth of the deepest brackets that are all closed. A bracket of another kind in the place of the
/// closing one begins anew.
pub(super) fn deepest_brackets(text: &str) -> usize {
    let mut nest = Nest::default();
    for c in text.chars() {
        match c {
            '(' => nest.open(')'),
            '[' => nest.open(']'),
            '{' => nest.open('}'),
            ')' | ']' | '}' if !nest.close(c) => nest.stack.clear(),
            _ => {}
        }
    }
    nest.deepest
}

/// Depth of the deepest quotes in quotes, of the two kinds by turns. An apostrophe in a word is none.
pub(super) fn deepest_quotes(text: &str) -> usize {
    let mut nest = Nest::default();
    let mut before = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let is_inner = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let quote = match c {
            '"' | '“' | '”' => Some('"'),
            '\'' | '‘' | '’' if is_inner(before) && is_inner(chars.peek().copied()) => None,
            '\'' | '‘' | '’' => Some('\''),
            _ => None,
        };
        if let Some(quote) = quote
            && !nest.close(quote)
        {
            nest.open(quote);
        }
        before = Some(c);
    }
    nest.deepest
}

/// Open marks, each with what closes it and the depth of what was closed inside.
#[derive(Default)]
struct Nest {
    stack: Vec<(char, usize)>,
    deepest: usize,
}

impl Nest {
    fn open(&mut self, close: char) {
        self.stack.push((close, 0));
    }

    /// Closes the innermost mark; false if `c` does not.
    fn close(&mut self, c: char) -> bool {
        let Some((_, inner)) = self.stack.pop_if(|(close, _)| *close == c) else { return false };
        let depth = inner + 1;
        self.deepest = self.deepest.max(depth);
        if let Some((_, outer)) = self.stack.last_mut() {
            *outer = depth.max(*outer);
        }
        true
    }
}

/// Whether an emoji ends each sentence, before its last mark or after it.
pub(super) fn has_emoji_at_ends(text: &str) -> bool {
    let is_shape =
        |c: char| is_mark(c) || c.is_whitespace() || matches!(c, '\u{fe0f}' | '\u{200d}');
    let mut ranges = scan::sentence_ranges(text).peekable();
    ranges.peek().is_some()
        && ranges.all(|range| {
            let last = text[range.clone()].trim_end_matches(is_shape).chars().next_back();
            let next = text[range.end..].trim_start().chars().next();
            last.is_some_and(is_emoji) || next.is_some_and(is_emoji)
        })
}

/// Whether there are three sentences of one length, and no word in two of them.
pub(super) fn has_equal_sentences(text: &str) -> bool {
    let sentences: Vec<&str> = sentences(text).map(str::trim).collect();
    let lengths: HashSet<usize> = sentences.iter().map(|text| text.chars().count()).collect();
    let sets = sentences
        .iter()
        .map(|sentence| words(sentence).map(str::to_lowercase).collect::<HashSet<String>>());
    let sets: Vec<HashSet<String>> = sets.collect();
    let n_words: usize = sets.iter().map(HashSet::len).sum();
    let all: HashSet<&String> = sets.iter().flatten().collect();
    sentences.len() == 3 && lengths.len() == 1 && all.len() == n_words
}

/// Whether letters outside of quotes stand between each quote and the next, and after the last.
pub(super) fn has_explained_quotes(text: &str) -> bool {
    let (mut is_open, mut is_explained) = (false, true);
    // A quote in apostrophes is spoken of, not opened.
    for c in text.replace("'\"'", "").chars() {
        match c {
            '"' | '“' | '”' if is_open => (is_open, is_explained) = (false, false),
            '"' | '“' | '”' if !is_explained => return false,
            '"' | '“' | '”' => is_open = true,
            c => is_explained |= !is_open && c.is_alphabetic(),
        }
    }
    !is_open && is_explained
}

fn is_bullet(line: &str) -> bool {
    line.starts_with('*') && !line.starts_with("**")
}

/// Whether there are bullets, and a line that begins with `-` after each.
pub(super) fn has_sub_bullets(text: &str) -> bool {
    let (mut has_bullet, mut is_open) = (false, false);
    for line in text.lines().map(str::trim_start) {
        if is_bullet(line) {
            if is_open {
                return false;
            }
            (has_bullet, is_open) = (true, true);
        } else if line.starts_with('-') {
            is_open = false;
        }
    }
    has_bullet && !is_open
}

/// Whether two statements or more are before two bullets or more, and nothing is after these.
pub(super) fn has_sentences_then_bullets(text: &str) -> bool {
    let (mut n_statements, mut n_bullets) = (0, 0);
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if is_bullet(line) {
            n_bullets += 1;
        } else if n_bullets > 0 {
            return false;
        } else {
            n_statements += sentence_types(line)[0];
        }
    }
    n_statements >= 2 && n_bullets >= 2
}

/// Whether each word begins with a capital letter, but for the small ones after the first.
pub(super) fn has_title_case(text: &str) -> bool {
    let mut has_capital = false;
    for (index, word) in words(text).enumerate() {
        let is_small = word.starts_with(char::is_lowercase);
        if is_small && (index == 0 || !MINOR_WORDS.contains(word)) {
            return false;
        }
        has_capital |= word.starts_with(char::is_uppercase);
    }
    has_capital
}

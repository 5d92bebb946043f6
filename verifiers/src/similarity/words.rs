//! Texts as words.

use std::collections::HashMap;

/// Returns a text with its tokens set apart by spaces, as the `mteval-v13a` script of machine
/// translation does it for languages that are written with spaces.
pub(super) fn sentence(text: &str) -> String {
    let text = text.replace("<skipped>", "").replace("-\n", "").replace('\n', " ");
    let text = text
        .replace("&quot;", "\"")
        .replace("&amp;", "&")
        .replace("&lt;", "<")
        .replace("&gt;", ">");
    let mut padded = vec![' '];
    for c in text.chars() {
        if is_symbol(c) {
            padded.extend([' ', c, ' ']);
        } else {
            padded.push(c);
        }
    }
    padded.push(' ');
    let is_digit = |c: char| c.is_ascii_digit();
    let is_mark = |c: char| matches!(c, '.' | ',');
    let apart = write_pairs(&padded, |a, b| !is_digit(a) && is_mark(b), |a, b| [a, ' ', b, ' ']);
    let apart = write_pairs(&apart, |a, b| is_mark(a) && !is_digit(b), |a, b| [' ', a, ' ', b]);
    let apart = write_pairs(&apart, |a, b| is_digit(a) && b == '-', |a, b| [a, ' ', b, ' ']);
    apart.into_iter().collect()
}

/// Returns whether `c` is a token wherever it stands. Full stop, comma, hyphen and apostrophe are
/// not among them.
fn is_symbol(c: char) -> bool {
    matches!(c, '{'..='~' | '['..='`' | ' '..='&' | '('..='+' | ':'..='@' | '/')
}

/// Rewrites pairs of neighbours that fit; a character belongs to at most one pair.
fn write_pairs(
    text: &[char],
    fits: impl Fn(char, char) -> bool,
    write: impl Fn(char, char) -> [char; 4],
) -> Vec<char> {
    let mut out = Vec::with_capacity(text.len() + 16);
    let mut at = 0;
    while at < text.len() {
        let here = text[at];
        match text.get(at + 1) {
            Some(&next) if fits(here, next) => {
                out.extend(write(here, next));
                at += 2;
            }
            Some(_) | None => {
                out.push(here);
                at += 1;
            }
        }
    }
    out
}

/// Runs of letters and digits, in lower case.
pub(super) fn plain_words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Replaces the words of two texts by numbers.
pub(super) fn ids(one: Vec<String>, other: Vec<String>) -> (Vec<u32>, Vec<u32>) {
    let mut known: HashMap<String, u32> = HashMap::new();
    let mut number = |word: String| {
        let next = u32::try_from(known.len()).expect("fuel ends long before");
        *known.entry(word).or_insert(next)
    };
    let one = one.into_iter().map(&mut number).collect();
    let other = other.into_iter().map(&mut number).collect();
    (one, other)
}

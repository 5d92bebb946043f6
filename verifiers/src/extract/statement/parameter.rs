//! What a text says behind a formula of its letter: ", where $n$ is any integer", "(k ∈ ℤ)".

use std::ops::Range;

use super::Reader;

/// The longest such words, in bytes.
const MAX_BYTES: usize = 80;

/// Sets of integers, as a text writes them.
const SETS: [&str; 7] = ["\\mathbb{Z}", "\\mathbb Z", "\\mathbf{Z}", "\\mathbf Z", "\\Z", "ℤ", "Z"];

impl Reader<'_> {
    /// Returns where words end that say behind `value` that a letter of it is any integer.
    pub(super) fn parameter_end(&self, value: &Range<usize>) -> Option<usize> {
        let formula = &self.text[value.clone()];
        let mut rest = self.text[value.end..self.window.end].lines().next()?;
        let line = rest;
        let (mut has_letter, mut says_integers, mut is_open) = (false, false, false);
        let mut end = None;
        while let Some(first) = rest.chars().next() {
            let at = line.len() - rest.len();
            if at > MAX_BYTES {
                break;
            }
            let is_whole = |after: &&str| !after.starts_with(char::is_alphanumeric);
            let set = SETS.iter().find_map(|set| rest.strip_prefix(*set).filter(is_whole));
            if let Some(after) = set {
                if !has_letter {
                    break;
                }
                says_integers = true;
                rest = after;
            } else if first.is_alphabetic() {
                let letters = if first.is_ascii() || !is_ideograph(first) {
                    rest.find(|c: char| !c.is_alphabetic() || is_ideograph(c)).unwrap_or(rest.len())
                } else {
                    first.len_utf8()
                };
                let (word, after) = rest.split_at(letters);
                if maths::says_integers(word) {
                    says_integers = true;
                } else if word.len() == 1 && formula.contains(word) {
                    has_letter = true;
                } else if !maths::is_of_integers(word) {
                    break;
                }
                rest = after;
            } else {
                let is_mark = first.is_whitespace() || "$*_`,，;.∈\\(（".contains(first);
                let after = rest.strip_prefix("\\in").unwrap_or(&rest[first.len_utf8()..]);
                // What ends the sentence or the line ends these words.
                if !is_mark || matches!(first, '.' | ';') {
                    is_open &= !matches!(first, ')' | '）');
                    if matches!(first, ')' | '）') && end.is_some() {
                        end = Some(value.end + at + first.len_utf8());
                    }
                    break;
                }
                is_open |= matches!(first, '(' | '（');
                rest = after;
            }
            if has_letter && says_integers {
                end = Some(value.end + line.len() - rest.len());
            }
        }
        // `$n \in \mathbb{Z}$`
        let end = end.map(|end| {
            let shut = self.text[end..].strip_prefix('$').is_some();
            let opened = self.text[value.end..end].matches('$').count();
            end + usize::from(shut && opened % 2 == 1)
        });
        end.filter(|_| !is_open)
    }
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}')
}

//! What formulas say of letters: the values that they give, and what a text says behind one of its letter: ", where
//! $n$ is any integer", "(k ∈ ℤ)".

use std::ops::Range;

use super::Reader;
use super::clauses::is_of_letter;
use super::pieces::{Piece, PieceKind};

/// The longest such words, in bytes.
const MAX_BYTES: usize = 80;

/// Sets of integers, as a text writes them.
const SETS: [&str; 7] = ["\\mathbb{Z}", "\\mathbb Z", "\\mathbf{Z}", "\\mathbf Z", "\\Z", "ℤ", "Z"];

/// The set of the reals, as a text writes it.
const REALS: [&str; 4] = ["\\mathbb{R}", "\\mathbb R", "\\R", "ℝ"];

/// Commands of letters that name unknowns.
const GREEK: [&str; 12] = [
    "alpha", "beta", "gamma", "delta", "theta", "lambda", "mu", "sigma", "tau", "phi", "psi",
    "omega",
];

impl<'t> Reader<'t> {
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

    /// Returns where a formula ends that says behind `value` and a comma that a letter of it is any real number:
    /// `, $s \in \mathbb{R}$`.
    pub(super) fn reals_end(&self, value: &Range<usize>) -> Option<usize> {
        let line = self.text[value.end..self.window.end].lines().next()?;
        let rest = line.trim_start().strip_prefix([',', '，'])?.trim_start();
        let (rest, shut) = match rest.strip_prefix('$') {
            Some(rest) => (rest, "$"),
            None => (rest.strip_prefix("\\(")?, "\\)"),
        };
        let rest = rest.trim_start();
        let letter = rest.chars().next().filter(char::is_ascii_alphabetic)?;
        let rest = rest[1..].trim_start();
        let rest = rest.strip_prefix("\\in").or_else(|| rest.strip_prefix('∈'))?.trim_start();
        let rest = REALS.iter().find_map(|set| rest.strip_prefix(set))?.trim_start();
        let rest = rest.strip_prefix(shut)?;
        let is_of_it = self.text[value.clone()].contains(letter);
        is_of_it.then(|| value.end + line.len() - rest.len())
    }

    /// Returns what stands before the equals sign of a formula.
    pub(super) fn left_side(&self, piece: &Piece) -> Option<&'t str> {
        let is_formula = matches!(piece.kind, PieceKind::Formula { .. });
        let text = &self.text[piece.span.clone()];
        let (left, _) = text.split_once('=').or_else(|| text.split_once("\\equiv"))?;
        is_formula.then_some(left)
    }

    pub(super) fn has_left_side(&self, piece: &Piece) -> bool {
        self.left_side(piece).is_some()
    }

    /// Returns whether a formula gives the value of more than a letter with its index: `x + y = 7`
    /// is no member of the list that `x = 3` is of.
    pub(super) fn is_compound(&self, piece: &Piece) -> bool {
        self.left_side(piece).is_some_and(|left| {
            // `(m, n) = (2, 3)`
            if left.starts_with('(') && left.contains(',') {
                return false;
            }
            let name = left.split('_').next().unwrap_or(left);
            let name = name.trim_start_matches("\\(").trim_start_matches('$').trim();
            let is_greek = name.strip_prefix('\\').is_some_and(|name| GREEK.contains(&name));
            let letters = name.chars().filter(|c| c.is_alphabetic()).count();
            let is_multiple = name.starts_with(|c: char| c.is_ascii_digit());
            let is_long =
                is_multiple || letters != 1 || name.contains(['+', '-', '*', '/', '(', '^', '\\']);
            is_long && !is_greek && !is_of_letter(name)
        })
    }
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}')
}

//! Values that a response gives to parts by their names: "the center is $(2, -3)$", "- **Radius:** $5$".

use std::ops::Range;

use super::pieces::{Piece, PieceKind, pieces, with_unit};
use super::sentences::sentences;
use super::words::WordList;
use super::{Reader, trim};

/// The end of a response in which names are looked for, in bytes.
const MAX_BYTES: usize = 3000;
/// Pieces between a name and its value, and those that say more of what is named.
const MAX_GAP: usize = 12;
const MAX_QUALIFIED: usize = 8;

/// Words of several languages that give a name its value.
static GIVING: WordList = WordList::new(&[
    "are",
    "cost",
    "costs",
    "weighs",
    "measures",
    "kostet",
    "coûte",
    "cuesta",
    "custa",
    "equal",
    "equals",
    "is",
    "was",
    "becomes",
    "beträgt",
    "ist",
    "lautet",
    "liegt",
    "sind",
    "est",
    "sont",
    "vaut",
    "valent",
    "es",
    "son",
    "vale",
    "é",
    "são",
    "è",
    "sono",
    "равен",
    "равна",
    "равно",
    "равны",
    "составляет",
    "是",
    "为",
    "等",
    "于",
    "は",
    "が",
    "هو",
    "هي",
    "है",
    "हैं",
]);

/// Words that may stand between a name and its value and say nothing of either.
static FILLING: WordList = WordList::new(&[
    "a",
    "currently",
    "now",
    "exactly",
    "also",
    "an",
    "at",
    "by",
    "given",
    "located",
    "point",
    "the",
    "therefore",
    "then",
    "thus",
    "to",
    "value",
    "values",
    "bei",
    "der",
    "die",
    "das",
    "gleich",
    "im",
    "in",
    "punkt",
    "à",
    "au",
    "donc",
    "en",
    "le",
    "la",
    "égal",
    "égale",
    "el",
    "igual",
    "ponto",
    "punto",
    "em",
    "o",
    "в",
    "точке",
    "точка",
    "在",
    "点",
    "に",
    "で",
]);

/// Words that open what a part is of: "the maximum of $f$ on $[0, 1]$ is 5".
static QUALIFYING: WordList = WordList::new(&[
    "of", "on", "for", "over", "von", "des", "auf", "für", "de", "du", "sur", "pour", "del",
    "sobre", "para", "do", "da", "di", "для", "на", "का", "की",
]);

/// Returns the value that the end of `part` gives to each name, where all have one: the last of each. A name is
/// any of its wordings.
pub(in crate::extract) fn named_parts(
    text: &str,
    part: &Range<usize>,
    names: &[Vec<&str>],
) -> Option<Vec<Range<usize>>> {
    let window = super::end_of(text, part, MAX_BYTES);
    let pieces = pieces(text, &window)?;
    let reader = Reader { text, window };
    let checks: Vec<Range<usize>> = sentences(&pieces, text)
        .into_iter()
        .filter(|sentence| reader.is_check(sentence))
        .map(|sentence| sentence[0].span.start..sentence[sentence.len() - 1].span.end)
        .collect();
    let is_said = |at: &usize| !checks.iter().any(|check| check.contains(&pieces[*at].span.start));
    let value = |wordings: &Vec<&str>| {
        (0..pieces.len()).rev().filter(is_said).find_map(|at| {
            let ends = wordings.iter().filter_map(|name| reader.name_end(&pieces, at, name));
            reader.value_after(&pieces, ends.max()?)
        })
    };
    names.iter().map(value).collect()
}

impl Reader<'_> {
    /// Returns the index behind `name` where it opens at `at`, in any case and with any marks of emphasis.
    fn name_end(&self, pieces: &[Piece], at: usize, name: &str) -> Option<usize> {
        let is_emphasis = |piece: &Piece| matches!(piece.kind, PieceKind::Mark('*' | '_'));
        let is_hyphen = |piece: &Piece| matches!(piece.kind, PieceKind::Mark('-' | '‑'));
        let mut next = at;
        for word in parts_of_name(name) {
            while next > at && pieces.get(next).is_some_and(is_emphasis) {
                next += 1;
            }
            if self.is_said(pieces.get(next)?, &word) {
                next += 1;
                continue;
            }
            // `$y$-intercept`
            for (place, half) in word.split(['-', '‑']).enumerate() {
                next += usize::from(place > 0 && pieces.get(next).is_some_and(is_hyphen));
                self.is_said(pieces.get(next)?, half).then_some(())?;
                next += 1;
            }
        }
        (next > at).then_some(next)
    }

    /// Returns whether a piece says `word`, in any case and perhaps in a formula of its own.
    fn is_said(&self, piece: &Piece, word: &str) -> bool {
        let text = &self.text[piece.span.clone()];
        let said = match piece.kind {
            PieceKind::Word => text,
            PieceKind::Formula { .. } => text.trim_matches(['$', '\\', '(', ')']),
            PieceKind::Number | PieceKind::Mark(_) | PieceKind::Break { .. } => return false,
        };
        said.trim_start_matches(['-', '‑']).to_lowercase() == word
    }

    /// Returns the value that stands behind a name, from `from` on.
    fn value_after(&self, pieces: &[Piece], from: usize) -> Option<Range<usize>> {
        let mut is_qualified = false;
        let mut limit = from + MAX_GAP;
        let mut at = from;
        while at < limit {
            let piece = pieces.get(at)?;
            match piece.kind {
                PieceKind::Mark(':' | '：' | '=' | '→' | '≈') => is_qualified = false,
                PieceKind::Mark('*' | '_' | '|' | '–' | '—' | '-') => {}
                // "the radius (r) is 5"
                PieceKind::Mark('(') => {
                    at += pieces[at..].iter().take(MAX_GAP).position(|piece| piece.is_mark(')'))?;
                }
                PieceKind::Break { .. } => {
                    let is_led = pieces[..at].iter().rev().find(|piece| !piece.is_mark('*'));
                    let goes_on = is_led.is_some_and(|piece| piece.is_mark(':'))
                        || pieces.get(at + 1).is_some_and(super::is_display);
                    goes_on.then_some(())?;
                }
                PieceKind::Word if self.is_word(Some(piece), &GIVING) => is_qualified = false,
                PieceKind::Word if self.is_word(Some(piece), &QUALIFYING) => {
                    is_qualified = true;
                    limit = limit.max(at + MAX_QUALIFIED);
                }
                PieceKind::Word if is_qualified || self.is_word(Some(piece), &FILLING) => {}
                // The symbol of the part: "the radius $r$ is 5".
                PieceKind::Formula { .. } if self.is_symbol(pieces, at) => {}
                PieceKind::Formula { .. } | PieceKind::Number if is_qualified => {}
                PieceKind::Formula { .. } | PieceKind::Number => {
                    let span = with_unit(self.text, &self.window, piece);
                    return Some(trim::clean(self.text, span));
                }
                PieceKind::Word | PieceKind::Mark(_) => return None,
            }
            at += 1;
        }
        None
    }

    /// Returns whether the formula at `at` is a letter before its value.
    fn is_symbol(&self, pieces: &[Piece], at: usize) -> bool {
        let next = pieces.get(at + 1);
        let is_given = next.is_some_and(|next| next.is_mark('=')) || self.is_word(next, &GIVING);
        let inner = self.text[pieces[at].span.clone()].trim_matches(['$', '\\', '(', ')', ' ']);
        is_given && !inner.contains(|c: char| c.is_ascii_digit() || c == '=')
    }
}

/// Returns the words of a name in small letters; those of Chinese and Japanese have a character each.
fn parts_of_name(name: &str) -> impl Iterator<Item = String> {
    let is_single = |c: char| ('\u{3040}'..='\u{9FFF}').contains(&c);
    name.split(' ').filter(|word| !word.is_empty()).flat_map(move |word| {
        let word = word.to_lowercase();
        let singles: Vec<String> = if word.contains(is_single) {
            word.chars().map(String::from).collect()
        } else {
            vec![word]
        };
        singles
    })
}

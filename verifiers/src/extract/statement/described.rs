//! Values that a statement describes in words: numbers below, above or between others, and chances.

use std::ops::Range;

use super::super::trim;
use super::pieces::{Piece, PieceKind};
use super::{Reader, words};

/// Pieces of a chance, "one in six".
const MAX_CHANCE: usize = 7;

impl Reader<'_> {
    /// Returns readings with the numbers that a sentence describes in words behind the first of them.
    pub(super) fn with_region(
        &self,
        mut readings: Vec<Vec<Range<usize>>>,
        sentence: &[Piece],
    ) -> Vec<Vec<Range<usize>>> {
        if let Some(region) = self.region_in_words(sentence) {
            readings.insert(readings.len().min(1), vec![region]);
        }
        readings
    }

    /// Returns the words of the last description of numbers by their order: "all real numbers less than
    /// 2", "$x$ is at least 4".
    fn region_in_words(&self, sentence: &[Piece]) -> Option<Range<usize>> {
        let mut found = None;
        let mut at = 0;
        while at < sentence.len() {
            let end = self.region_at(sentence, at);
            if let Some(end) = end {
                let span = sentence[at].span.start..sentence[end - 1].span.end;
                found = Some(trim::clean(self.text, span));
            }
            at = end.unwrap_or(at + 1);
        }
        found
    }

    /// Returns where the description of numbers ends that begins at `at`.
    fn region_at(&self, sentence: &[Piece], at: usize) -> Option<usize> {
        let is_letter = |piece: &Piece| {
            piece.is_value() && self.is_name(piece)
                || piece.kind == PieceKind::Word && piece.span.len() == 1
        };
        let first = &sentence[at];
        if !(self.is_word(Some(first), &["all", "every", "any", "each"]) || is_letter(first)) {
            return None;
        }
        let mut end = None;
        let mut is_ordered = false;
        let mut is_kind = false;
        // "does not hold for every real number"
        let is_denied =
            sentence[..at].iter().any(|piece| self.is_word(Some(piece), &words::DENYING));
        for (index, piece) in sentence.iter().enumerate().skip(at + 1) {
            if piece.is_value() && !self.is_name(piece) {
                if !is_ordered {
                    break;
                }
                end = Some(index + 1);
            } else if self.is_word(Some(piece), &words::ORDERING) {
                is_ordered = true;
            } else if self.is_word(Some(piece), &words::SIGNED) {
                is_kind = true;
            } else if self.is_word(Some(piece), &["real", "reals"]) {
                is_kind |= !is_denied && !is_letter(first);
                if is_kind && self.text[piece.span.clone()].ends_with('s') {
                    end = Some(index + 1);
                }
            } else if self.is_word(Some(piece), &["inclusive", "exclusive"]) && end.is_some() {
                end = Some(index + 1);
            } else if self.is_word(
                Some(piece),
                &["numbers", "number", "reals", "integers", "value", "values"],
            ) {
                if is_kind {
                    end = Some(index + 1);
                }
            } else {
                let is_inside = self.is_word(Some(piece), &words::DESCRIBING)
                    || is_letter(piece)
                    || matches!(piece.kind, PieceKind::Mark('*' | ',' | '-' | '=' | '≠'));
                if !is_inside {
                    break;
                }
                // "every real $a$"
                if is_letter(piece) && is_kind && !is_ordered {
                    end = Some(index + 1);
                }
            }
        }
        end
    }

    /// Returns the words that name all odd or all even numbers: "exactly the odd integers".
    pub(super) fn parity_in_words(&self, sentence: &[Piece]) -> Option<Range<usize>> {
        const NOUNS: [&str; 5] = ["integer", "integers", "number", "numbers", "n"];
        let at = sentence.iter().rposition(|piece| self.is_word(Some(piece), &["odd", "even"]))?;
        let before = sentence[..at].iter().rev().find(|piece| !piece.is_mark('*'));
        let names_all =
            self.is_word(before, &["all", "the", "every", "exactly", "only", "precisely"]);
        let noun = sentence[at + 1..].iter().find(|piece| !piece.is_mark('*'));
        let noun = noun.filter(|noun| {
            let text = self.text[noun.span.clone()].trim_matches('$');
            NOUNS.contains(&text)
        })?;
        names_all.then(|| trim::clean(self.text, sentence[at].span.start..noun.span.end))
    }

    /// Returns the words that say by how much percent something changed: "decreased by 4 %", "4 %
    /// gesunken".
    pub(super) fn change_in_words(&self, sentence: &[Piece]) -> Option<Range<usize>> {
        /// Pieces between the number and the word that says which way.
        const REACH: usize = 4;
        let is_percentage = |piece: &Piece| {
            piece.is_value() && self.text[piece.span.clone()].contains('%')
                || piece.kind == PieceKind::Number
                    && self.text[piece.span.end..self.window.end].trim_start().starts_with('%')
        };
        let at = sentence.iter().rposition(is_percentage)?;
        let is_mark = |piece: &&Piece| piece.is_mark('*') || piece.is_mark('%');
        let after = sentence[at + 1..].iter().take_while(is_mark).count() + at;
        let before = (at.saturating_sub(REACH)..at).rev().map(|from| (from, after));
        let behind = (after + 1..sentence.len()).take(REACH).map(|to| (at, to));
        let span = |(from, to): (usize, usize)| sentence[from].span.start..sentence[to].span.end;
        let mut spans = before.chain(behind).map(span);
        let found = spans.find(|span| maths::is_percent_change(&self.text[span.clone()]))?;
        Some(trim::clean(self.text, found))
    }

    /// Returns "1 in 6", "three out of ten" of a sentence that speaks of a chance, and the number that another counts
    /// before it lists.
    pub(super) fn chance(&self, sentence: &[Piece]) -> Option<Range<usize>> {
        if !sentence.iter().any(|piece| self.is_word(Some(piece), &words::CHANCE)) {
            return self.counted_namely(sentence);
        }
        let is_number = |piece: &Piece| {
            piece.kind == PieceKind::Number
                || self.word(piece).is_some_and(maths::is_number_word)
                || piece.is_value() && self.is_whole(piece)
        };
        let joint = sentence.iter().rposition(|piece| self.is_word(Some(piece), &["in", "out"]))?;
        let is_out = self.is_word(Some(&sentence[joint]), &["out"]);
        let is_of = self.is_word(sentence.get(joint + 1), &["of"]);
        let from = joint + 1 + usize::from(is_out);
        let count =
            sentence.get(from..)?.iter().take(MAX_CHANCE).take_while(|p| is_number(p)).count();
        let before = sentence[..joint].iter().rev().take_while(|piece| is_number(piece)).count();
        (is_out == is_of && count > 0 && before > 0)
            .then(|| sentence[joint - before].span.start..sentence[from + count - 1].span.end)
    }

    /// Returns the number in words of "there are exactly two real roots, namely $1$ and $4$".
    fn counted_namely(&self, sentence: &[Piece]) -> Option<Range<usize>> {
        /// Pieces from the verb to the number.
        const MAX_PIECES: usize = 4;
        let there = sentence.iter().position(|piece| self.is_word(Some(piece), &["there"]))?;
        let is_verb = self.is_word(sentence.get(there + 1), &["are", "exist"]);
        let rest = is_verb.then(|| &sentence[there + 2..])?;
        let is_number = |piece: &Piece| self.word(piece).is_some_and(maths::is_number_word);
        let at = rest.iter().take(MAX_PIECES).position(is_number)?;
        // "There are two roots: 1 and 2" states the roots, and their number beside.
        let counts = |piece| self.is_word(Some(piece), &["exactly", "precisely"]);
        let number = rest[..at].iter().any(counts).then(|| &rest[at])?;
        let lists = |piece: &Piece| {
            self.is_word(Some(piece), &["namely"]) || piece.is_mark(':') || piece.is_mark('：')
        };
        rest.iter().any(lists).then(|| number.span.clone())
    }

    /// Returns whether a sentence says that what it lists is in order: "from smallest to largest", "in
    /// increasing order".
    pub(super) fn says_order(&self, sentence: &[Piece]) -> bool {
        let is_superlative = |piece: Option<&Piece>| {
            self.is_word(piece, &["smallest", "least", "largest", "greatest"])
        };
        sentence.windows(3).any(|three| {
            let is_range = self.is_word(three.get(1), &["to"])
                && is_superlative(three.first())
                && is_superlative(three.get(2));
            let is_named = self.is_word(three.first(), &["in"])
                && self.is_word(
                    three.get(1),
                    &["increasing", "ascending", "decreasing", "descending"],
                )
                && self.is_word(three.get(2), &["order"]);
            is_range || is_named
        })
    }

    fn is_whole(&self, piece: &Piece) -> bool {
        let inner = self.text[piece.span.clone()].trim_matches(['$', '\\', '(', ')', ' ']);
        inner.bytes().all(|b| b.is_ascii_digit())
    }
}

//! What a statement emphasises: values in bold, and numbers in words where there is no other value.

use std::ops::Range;

use super::super::trim;
use super::pieces::{Piece, PieceKind, with_unit};
use super::words::{self, Words as _};
use super::{Clause, Rank, Reader};

/// Words of a bold text that is taken whole.
const MAX_WORDS: usize = 6;
/// Words of a bold text without a value.
const MAX_BOLD_WORDS: usize = 8;

/// Returns the range from the first to the last of `pieces`, at least one.
fn span_of(pieces: &[Piece]) -> Range<usize> {
    pieces[0].span.start..pieces[pieces.len() - 1].span.end
}

impl Reader<'_> {
    /// Returns the bold spans of a sentence that hold a value and head nothing.
    fn bold(&self, sentence: &[Piece]) -> Vec<Range<usize>> {
        let spans = bold_parts(sentence).into_iter();
        let spans = spans.filter(|inner| !self.is_head(sentence, inner));
        let spans = spans.filter(|inner| inner.iter().any(Piece::is_value));
        spans.map(span_of).collect()
    }

    /// Returns the last bold words of a sentence, which hold no value and head nothing: "is thus
    /// **false**".
    pub(super) fn bold_words(&self, sentence: &[Piece]) -> Option<Range<usize>> {
        let parts = bold_parts(sentence);
        let is_plain = |inner: &&&[Piece]| {
            let words = inner.iter().filter(|piece| piece.kind == PieceKind::Word).count();
            !self.is_head(sentence, inner)
                && !inner.iter().any(Piece::is_value)
                && (1..=MAX_BOLD_WORDS).contains(&words)
        };
        parts.iter().rfind(is_plain).map(|inner| span_of(inner))
    }

    /// Returns what follows a bold head at the start of a sentence: "**Domain:** all real numbers".
    pub(super) fn headed(&self, sentence: &[Piece]) -> Option<Range<usize>> {
        let inner = *bold_parts(sentence).first()?;
        let is_first = sentence.iter().take(2).all(|piece| piece.is_mark('*'));
        let after = sentence.iter().position(|piece| piece.span.start >= inner[0].span.start)?;
        // The closing asterisks, and the colon behind them.
        let is_border = |piece: &&Piece| matches!(piece.kind, PieceKind::Mark('*' | ':'));
        let rest = &sentence[after + inner.len()..];
        let rest = &rest[rest.iter().take_while(is_border).count()..];
        let is_headed = is_first && self.is_head(sentence, inner) && !rest.is_empty();
        is_headed.then(|| trim::clean(self.text, span_of(rest)))
    }

    /// Returns whether bold pieces head what follows them.
    fn is_head(&self, sentence: &[Piece], inner: &[Piece]) -> bool {
        let end = inner[inner.len() - 1].span.end;
        let after = sentence.iter().find(|piece| piece.span.start >= end && !piece.is_mark('*'));
        inner[inner.len() - 1].is_mark(':')
            || after.is_some_and(|piece| piece.is_mark(':'))
            || self.is_word(inner.first(), &words::HEADING)
    }

    /// Puts the values that `sentence` sets in bold before its others; a single bold text is an answer
    /// as a whole, too: `**2 hours and 24 minutes**`.
    pub(super) fn emphasised(
        &self,
        sentence: &[Piece],
        readings: Vec<Vec<Range<usize>>>,
    ) -> Vec<Vec<Range<usize>>> {
        let bold = self.bold(sentence);
        if bold.is_empty() {
            return readings;
        }
        let touches = |reading: &Vec<Range<usize>>| {
            let overlaps = |span: &Range<usize>, bold: &Range<usize>| {
                span.start < bold.end && bold.start < span.end
            };
            reading.iter().any(|span| bold.iter().any(|bold| overlaps(span, bold)))
        };
        let (mut first, rest): (Vec<_>, Vec<_>) = readings.into_iter().partition(touches);
        if let [only] = bold.as_slice() {
            // "2, 4, 8, 16, **32**": the member in bold is the answer.
            let is_last = |reading: &&Vec<Range<usize>>| {
                let others = &reading[..reading.len().saturating_sub(1)];
                let last = reading.last().filter(|last| {
                    self.text[only.clone()].trim_matches('*') == &self.text[(*last).clone()]
                });
                last.is_some() && others.len() > 1 && others.iter().all(|own| own.end <= only.start)
            };
            let last = first.iter().find(is_last).and_then(|reading| reading.last().cloned());
            first.splice(0..0, last.map(|span| vec![span]));
            let is_joined = first.iter().any(|reading| reading.len() > 1);
            let text = &self.text[only.clone()];
            let is_short = text.split_whitespace().count() <= MAX_WORDS;
            // A number with its noun is found as the number.
            let is_more = first.len() > 1 || text.contains(['(', '=', '≈', ':', ')']);
            if is_short
                && is_more
                && (!is_joined || first.len() == 1)
                && !text.contains(['$', '\\'])
            {
                first.insert(0, vec![self.without_head(only.clone())]);
            }
        }
        first.extend(rest);
        first
    }

    /// Returns a bold text without the words before its colon: "CH₂O" of "Empirical formula: CH₂O".
    fn without_head(&self, span: Range<usize>) -> Range<usize> {
        let text = &self.text[span.clone()];
        // "Hence, p² − 4q = 1"
        if let Some((opening, rest)) = text.split_once([',', ' '])
            && words::CONCLUDING.have(opening)
            && !rest.trim().is_empty()
        {
            return trim::range_in(self.text, rest.trim_start_matches([',', ' ']));
        }
        // "The ratio is 8 : 1"
        if let Some((subject, value)) = text.split_once(" is ")
            && subject.starts_with(|c: char| c.is_uppercase())
            && value.starts_with(|c: char| c.is_ascii_digit())
            && !value.contains(|c: char| c.is_alphabetic())
        {
            return trim::range_in(self.text, value);
        }
        let is_head =
            |head: &str| head.len() > 2 && head.chars().all(|c| c.is_alphabetic() || c == ' ');
        match text.split_once(": ") {
            Some((head, value)) if is_head(head) && !value.contains(':') => {
                trim::range_in(self.text, value)
            }
            Some(_) | None => span,
        }
    }

    /// Returns the value that a sentence calls exact beside one that it calls an approximation: "roughly a 51.8% chance —
    /// exactly 671/1296".
    pub(super) fn exact_value(&self, sentence: &[Piece]) -> Option<Range<usize>> {
        const EXACT: [&str; 6] =
            ["exactly", "precisely", "genau", "exactamente", "exactement", "точно"];
        const ROUGH: [&str; 8] = [
            "about",
            "approximately",
            "around",
            "nearly",
            "roughly",
            "ungefähr",
            "environ",
            "примерно",
        ];
        let at = sentence.iter().rposition(|piece| self.is_word(Some(piece), &EXACT))?;
        let rough = sentence.iter().position(|piece| self.is_word(Some(piece), &ROUGH))?;
        let value = sentence[at + 1..].iter().find(|piece| !piece.is_mark('*'))?;
        let (first, second) = (rough.min(at), rough.max(at));
        let has_both = sentence[first..second].iter().any(Piece::is_value);
        (value.is_value() && has_both).then(|| with_unit(self.text, &self.window, value))
    }

    /// Returns the number in words with which the last clause that states something concludes: "…, so
    /// there are five", "the maximal value is two". Where the clause has a value before it, a verb must
    /// give it: "$I = V/R$ equals one ampere".
    pub(super) fn concluding_number(&self, clauses: &[Clause<'_>]) -> Option<Range<usize>> {
        let clause = clauses.iter().rfind(|clause| clause.rank == Rank::Statement)?;
        let pieces = clause.pieces;
        let is_number = |piece: &Piece| self.word(piece).is_some_and(maths::is_number_word);
        let is_value = |piece: &Piece| piece.is_value() && !self.is_name(piece);
        let from = pieces.iter().rposition(is_value).map_or(0, |last| last + 1);
        let start = from + pieces[from..].iter().position(is_number)?;
        let end = start + pieces[start..].iter().take_while(|piece| is_number(piece)).count();
        let before = start.checked_sub(1).map(|before| &pieces[before]);
        let gives = self.is_word(before, &["is", "are", "equals", "exactly", "precisely"]);
        let concludes = from == 0 && clauses.len() > 1 && self.is_concluded(pieces);
        let is_pronoun = end == start + 1 && self.is_word(pieces.get(start), &["one"]);
        let is_of = self.is_word(pieces.get(end), &["of"]);
        let first = self.phrase_start(pieces, start);
        ((gives || concludes || first < start) && !(is_pronoun && (is_of || !gives)))
            .then(|| span_of(&pieces[first..end]))
    }

    /// Returns whether the word before `pieces` or one of them concludes.
    fn is_concluded(&self, pieces: &[Piece]) -> bool {
        let start = pieces[0].span.start;
        let before = self.text[self.window.start..start].trim_end();
        let word = before.rsplit(|c: char| !c.is_alphabetic()).next().unwrap_or("");
        words::CONCLUDING.have(word)
            || before.ends_with('—')
            || pieces.iter().any(|piece| self.is_word(Some(piece), &words::COUNTING))
    }

    /// Returns the numbers in words of a sentence that concludes with one: "So there are fourteen
    /// triangulations."
    pub(super) fn number_words(&self, sentence: &[Piece]) -> Vec<Vec<Range<usize>>> {
        /// Nouns before which "zero" is no number.
        const KINDS: [&str; 8] =
            ["vector", "matrix", "element", "divisor", "divisors", "function", "polynomial", "map"];
        // "a one-in-three chance"
        let is_joint = |c: char| matches!(c, '-' | '‑');
        let is_alone = |piece: &Piece| {
            !self.text[..piece.span.start].ends_with(is_joint)
                && !self.text[piece.span.end..].starts_with(is_joint)
        };
        let is_number =
            |piece: &Piece| self.word(piece).is_some_and(maths::is_number_word) && is_alone(piece);
        let is_number = |piece: &Piece| is_number(piece) || self.is_word(Some(piece), &["zero"]);
        let is_kind = |run: &[Piece]| {
            let after =
                sentence.iter().find(|piece| piece.span.start >= run[run.len() - 1].span.end);
            self.is_word(run.last(), &["zero"]) && self.is_word(after, &KINDS)
        };
        // "the set has measure zero"
        let last = sentence.iter().rfind(|piece| piece.kind == PieceKind::Word);
        let ends = last.is_some_and(is_number) && !self.is_word(last, &["one"]);
        let concludes = ends
            || sentence.iter().any(|piece| {
                self.is_word(Some(piece), &words::CONCLUDING)
                    || self.is_word(Some(piece), &words::COUNTING)
            });
        if !concludes {
            return Vec::new();
        }
        let runs = sentence.chunk_by(|left, right| is_number(left) && is_number(right));
        let mut found = Vec::new();
        let mut before: Option<&Piece> = None;
        for run in runs {
            // "one" alone is a pronoun, and "exactly one" is not.
            let is_pronoun = run.len() == 1
                && self.is_word(run.first(), &["one"])
                && !self.is_word(before, &words::COUNTING);
            if is_number(&run[0]) && !is_pronoun && !is_kind(run) {
                let at = sentence.partition_point(|piece| piece.span.start < run[0].span.start);
                let first = self.phrase_start(sentence, at);
                let span = sentence[first].span.start..span_of(run).end;
                found.push(vec![span]);
            }
            before = run.last();
        }
        found.reverse();
        found
    }
}

/// Returns the bold parts of a sentence.
fn bold_parts(sentence: &[Piece]) -> Vec<&[Piece]> {
    let mut spans = Vec::new();
    let mut open: Option<usize> = None;
    for (at, pair) in sentence.windows(2).enumerate() {
        let is_sign =
            pair.iter().all(|piece| piece.is_mark('*')) && pair[0].span.end == pair[1].span.start;
        let is_repeat = at > 0 && sentence[at - 1].is_mark('*') && open.is_none_or(|o| o == at + 1);
        if !is_sign || is_repeat {
            continue;
        }
        match open.take() {
            None => open = Some(at + 2),
            Some(from) if from < at => spans.push(&sentence[from..at]),
            Some(_) => {}
        }
    }
    // The full stop of a sentence may stand before the sign that shuts.
    spans.extend(open.filter(|from| *from < sentence.len()).map(|from| &sentence[from..]));
    spans
}

//! What a statement emphasises: values in bold, and numbers in words where there is no other value.

use std::ops::Range;

use super::pieces::{Piece, PieceKind};
use super::{Reader, words};

/// Words of a bold text that is taken whole.
const MAX_WORDS: usize = 6;

impl Reader<'_> {
    /// Returns the bold spans of a sentence that hold a value and head nothing.
    pub(super) fn bold(&self, sentence: &[Piece]) -> Vec<Range<usize>> {
        let mut spans = Vec::new();
        let mut open: Option<usize> = None;
        for (at, pair) in sentence.windows(2).enumerate() {
            let is_sign = pair.iter().all(|piece| piece.is_mark('*'))
                && pair[0].span.end == pair[1].span.start;
            let is_repeat =
                at > 0 && sentence[at - 1].is_mark('*') && open.is_none_or(|o| o == at + 1);
            if !is_sign || is_repeat {
                continue;
            }
            match open.take() {
                None => open = Some(at + 2),
                Some(from) if from < at => {
                    let inner = &sentence[from..at];
                    let is_head = inner.last().is_some_and(|piece| piece.is_mark(':'))
                        || sentence.get(at + 2).is_some_and(|piece| piece.is_mark(':'))
                        || self.is_word(inner.first(), &words::HEADING);
                    if !is_head && inner.iter().any(Piece::is_value) {
                        spans.push(inner[0].span.start..inner[inner.len() - 1].span.end);
                    }
                }
                Some(_) => {}
            }
        }
        spans
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
            let is_joined = first.iter().any(|reading| reading.len() > 1);
            let text = &self.text[only.clone()];
            let is_short = text.split_whitespace().count() <= MAX_WORDS;
            // A number with its noun is found as the number.
            let is_more = first.len() > 1 || text.contains(['(', '=', '≈']);
            if is_short
                && is_more
                && (!is_joined || first.len() == 1)
                && !text.contains(['$', '\\'])
            {
                first.insert(0, vec![only.clone()]);
            }
        }
        first.extend(rest);
        first
    }

    /// Returns the numbers in words of a sentence that concludes with one: "So there are fourteen
    /// triangulations."
    pub(super) fn number_words(&self, sentence: &[Piece]) -> Vec<Vec<Range<usize>>> {
        let is_number = |piece: &Piece| self.is_word(Some(piece), &words::NUMBERS);
        let concludes = sentence.iter().any(|piece| {
            self.is_word(Some(piece), &words::CONCLUDING)
                || self.is_word(Some(piece), &["average", "needs", "tends", "takes"])
        });
        let runs = sentence.chunk_by(|left, right| is_number(left) && is_number(right));
        let mut found = Vec::new();
        for run in runs.filter(|run| is_number(&run[0])) {
            let span = run[0].span.start..run[run.len() - 1].span.end;
            let is_plain = run.iter().all(|piece| piece.kind == PieceKind::Word);
            // "one" alone is a pronoun.
            let is_pronoun = run.len() == 1 && self.is_word(run.first(), &["one"]);
            if concludes && is_plain && !is_pronoun {
                found.push(vec![span]);
            }
        }
        found.reverse();
        found
    }
}

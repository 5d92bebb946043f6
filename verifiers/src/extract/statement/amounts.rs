//! What belongs to a value beside its digits: words of its unit, of a function before it, and letters of choices.

use std::ops::Range;

use super::pieces::{Piece, PieceKind, unit_length, with_unit};
use super::words::{self, Words as _};
use super::{MAX_MEMBERS, Reader};

impl Reader<'_> {
    /// Returns the readings of a sentence, each number that words of a unit follow once more with these: `90` and
    /// `90 minutes`. A Chinese numeral behind the last value stands first.
    pub(super) fn with_amounts(
        &self,
        readings: Vec<Vec<Range<usize>>>,
        sentence: &[Piece],
    ) -> Vec<Vec<Range<usize>>> {
        let mut found: Vec<Vec<Range<usize>>> = Vec::with_capacity(readings.len());
        found.extend(self.chinese_amount(sentence).map(|span| vec![span]));
        for reading in readings {
            let amount = match reading.as_slice() {
                [only] => self.amount(only),
                _ => None,
            };
            found.push(reading);
            found.extend(amount.map(|span| vec![span]));
        }
        found
    }

    /// Returns a number with the words of its unit, and with the delimiters that stand between.
    fn amount(&self, number: &Range<usize>) -> Option<Range<usize>> {
        let is_number = self.text[number.clone()].contains(|c: char| c.is_numeric());
        let after = &self.text[number.end..self.window.end];
        let unit = after.trim_start_matches(['$', '*', '\\', ')']);
        let delimiters = &after[..after.len() - unit.len()];
        let before = &self.text[self.window.start..number.start];
        let opening = match delimiters {
            "" => "",
            "\\)" => "\\(",
            same => same,
        };
        let unit = unit.strip_prefix(' ').filter(|_| is_number && before.ends_with(opening))?;
        let start = number.start - opening.len();
        let from = self.window.end - unit.len();
        unit_length(unit).map(|length| start..from + length)
    }

    /// Returns the place of the first word of a function, a quotient or an opposite in words whose value
    /// stands at `at`: "the natural logarithm of 2", "pi over four", "minus seven"; `at` where there is none.
    pub(super) fn phrase_start(&self, pieces: &[Piece], at: usize) -> usize {
        let word = |back: usize| at.checked_sub(back).and_then(|at| pieces.get(at));
        let is_function = self.is_word(word(1), &["of"])
            && self.is_word(word(2), &["root", "logarithm", "log"])
            && self.is_word(word(3), &["square", "cube", "fourth", "natural", "common"]);
        if is_function {
            return at - 3;
        }
        let is_dividend = |piece: &Piece| {
            self.is_word(Some(piece), &["pi", "π"])
                || self.word(piece).is_some_and(maths::is_number_word)
                || piece.is_value() && self.text[piece.span.clone()].trim_matches('$') == "\\pi"
        };
        if self.is_word(word(1), &["over"]) && word(2).is_some_and(is_dividend) {
            return at - 2;
        }
        let is_difference = word(2).is_some_and(Piece::is_value);
        if self.is_word(word(1), &["minus", "negative"]) && !is_difference {
            return at - 1;
        }
        at
    }

    /// Returns the amounts of a sentence that say how wide, long or high something is: "5 cm wide and 12 cm long".
    pub(super) fn dimensions(&self, sentence: &[Piece]) -> Option<Vec<Range<usize>>> {
        const ADJECTIVES: [&str; 9] =
            ["wide", "long", "high", "tall", "deep", "thick", "breit", "lang", "hoch"];
        let mut found = Vec::new();
        for piece in sentence.iter().filter(|piece| piece.is_value()) {
            let span = with_unit(self.text, &self.window, piece);
            let after = sentence.iter().find(|next| next.span.start >= span.end);
            if !self.is_word(after, &ADJECTIVES) {
                return None;
            }
            found.push(span);
        }
        (2..=3).contains(&found.len()).then_some(found)
    }

    /// Returns the letters of several choices that a sentence names last and does not call false: "the correct choices
    /// are **A and C**", "A and C are true, while B and D are false".
    pub(super) fn letters_of_choices(&self, sentence: &[Piece]) -> Option<Vec<Range<usize>>> {
        let letter = |at: usize| {
            let text = self.word(sentence.get(at)?)?;
            let is_label = text.len() == 1 && ("A"..="H").contains(&text);
            is_label.then(|| sentence[at].span.clone())
        };
        // "B and D are false", "B and D are not"
        let are_false = |at: usize| {
            let said = sentence[at..].iter().take_while(|piece| piece.kind == PieceKind::Word);
            let is_denied = self.is_word(sentence.get(at), &["are", "is", "do"])
                && self.is_word(sentence.get(at + 1), &words::DENYING);
            is_denied
                || said
                    .take(2)
                    .any(|piece| self.is_word(Some(piece), &["false", "wrong", "incorrect"]))
        };
        let (mut last, mut run): (Vec<Range<usize>>, Vec<Range<usize>>) = (Vec::new(), Vec::new());
        let mut is_denied = false;
        let mut at = 0;
        while at < sentence.len() {
            let piece = &sentence[at];
            let is_joint =
                matches!(piece.kind, PieceKind::Mark(',' | ';' | '、' | '，' | '*' | '&' | ')'))
                    || self.is_word(Some(piece), &words::JOINING)
                        && self.word(piece).is_some_and(|word| {
                            !matches!(word, "or" | "oder" | "ou" | "o" | "или")
                        });
            if let Some(span) = letter(at) {
                run.push(span);
            } else if piece.is_mark('(') {
                // "(A) and (C)", "A (2) and C (11)"
                if letter(at + 1).is_none() && !run.is_empty() {
                    at += sentence[at..].iter().position(|piece| piece.is_mark(')')).unwrap_or(0);
                }
            } else if !is_joint {
                is_denied = words::DENYING.have(self.word(piece).unwrap_or(""))
                    || self.is_word(Some(piece), &["except", "without", "besides"]);
                if run.len() > 1 && !are_false(at) {
                    last = std::mem::take(&mut run);
                }
                run.clear();
            }
            if is_denied && !run.is_empty() {
                run.clear();
            }
            at += 1;
        }
        let found = if run.len() > 1 { run } else { last };
        (2..=MAX_MEMBERS).contains(&found.len()).then_some(found)
    }

    /// Returns the statement that a letter is divisible by a number or a multiple of it.
    pub(super) fn divisibility(&self, sentence: &[Piece]) -> Option<Range<usize>> {
        // "$n$ must be odd"
        let last = sentence.iter().rposition(|piece| !matches!(piece.kind, PieceKind::Mark(_)));
        if let Some(at) = last.filter(|at| self.is_word(sentence.get(*at), &["odd", "even"])) {
            return self.statement_of_letter(sentence, at, at);
        }
        let key = sentence.windows(2).rposition(|two| {
            self.is_word(two.first(), &["divisible"]) && self.is_word(two.last(), &["by"])
                || self.is_word(two.first(), &["multiple", "multiples"])
                    && self.is_word(two.last(), &["of"])
        })?;
        let number = sentence.get(key + 2).filter(|piece| piece.is_value());
        number.and_then(|_| self.statement_of_letter(sentence, key, key + 2))
    }

    /// Returns what is said of the letter before the words at `key`, up to the piece at `last`.
    fn statement_of_letter(
        &self,
        sentence: &[Piece],
        key: usize,
        last: usize,
    ) -> Option<Range<usize>> {
        let is_filler =
            |piece: &&Piece| self.is_word(Some(piece), &["is", "are", "be", "must", "a", "an"]);
        let fillers = sentence[..key].iter().rev().take_while(is_filler).count();
        let letter = &sentence[(key - fillers).checked_sub(1)?];
        let is_letter = letter.kind == PieceKind::Word && letter.span.len() == 1
            || letter.is_value() && self.is_name(letter);
        (fillers > 0 && is_letter).then_some(letter.span.start..sentence[last].span.end)
    }
}

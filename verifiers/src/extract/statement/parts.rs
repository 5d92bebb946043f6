//! Answers in parts: with the labels of a question's parts, `(a) … (b) …`, or with names, "the maximum
//! is 5 and the minimum is -3".

use std::ops::Range;

use super::super::trim;
use super::pieces::{Piece, PieceKind};
use super::sentences::sentences;
use super::words::{self, Words};
use super::{MAX_MEMBERS, MAX_SENTENCES, Reader};

/// Words of the name of a part.
const MAX_NAME: usize = 4;
/// Pieces between a name and its verb: "the maximum of $f$ on $[0, 1]$ is".
const MAX_QUALIFIED: usize = 8;

/// The labels of parts, by family, in order.
const LABELS: [[&str; 6]; 4] = [
    ["a", "b", "c", "d", "e", "f"],
    ["i", "ii", "iii", "iv", "v", "vi"],
    ["1", "2", "3", "4", "5", "6"],
    ["A", "B", "C", "D", "E", "F"],
];

/// A label, where it begins and where what it labels begins.
#[derive(Clone, Copy)]
struct PartStart<'t> {
    label: &'t str,
    start: usize,
    content: usize,
}

/// Returns the last run of labels of `family`, from its first on and two at least.
fn labelled<'t>(starts: &[PartStart<'t>], family: &[&str]) -> Option<Vec<PartStart<'t>>> {
    let mut found: Vec<PartStart<'t>> = Vec::new();
    for start in starts {
        let Some(at) = family.iter().position(|label| *label == start.label) else {
            continue;
        };
        if at == 0 {
            found.clear();
        }
        if at == found.len() && found.last().is_none_or(|last| last.content <= start.start) {
            found.push(*start);
        }
    }
    (2..=MAX_MEMBERS).contains(&found.len()).then_some(found)
}

impl Reader<'_> {
    /// Returns what the last parts of a text answer, one for each label.
    pub(super) fn parts(&self, pieces: &[Piece]) -> Option<Vec<Range<usize>>> {
        let starts: Vec<PartStart<'_>> =
            (0..pieces.len()).filter_map(|at| self.label(pieces, at)).collect();
        let all = LABELS.iter().filter_map(|family| labelled(&starts, family));
        let labels = all.max_by_key(|labels| labels[0].start)?;
        let ends = labels[1..].iter().map(|next| next.start).chain([pieces.len()]);
        labels.iter().zip(ends).map(|(own, end)| self.part(&pieces[own.content..end])).collect()
    }

    /// Returns the label that may open at `at`: `(a)`, `a)` at the start of a line, or `Part a:`.
    fn label<'p>(&'p self, pieces: &[Piece], at: usize) -> Option<PartStart<'p>> {
        let is_mark = |at: usize, mark: char| pieces.get(at).is_some_and(|p| p.is_mark(mark));
        let border = |piece: &Piece| {
            matches!(piece.kind, PieceKind::Break { .. } | PieceKind::Mark('*' | '-' | '•' | '#'))
        };
        let opens_line = || at.checked_sub(1).is_none_or(|before| border(&pieces[before]));
        let (label, after) = if is_mark(at, '(') && is_mark(at + 2, ')') {
            (at + 1, at + 3)
        } else if is_mark(at + 1, ')') && opens_line() {
            (at, at + 2)
        } else if self.is_word(pieces.get(at), &["part"]) {
            (at + 1, at + 2)
        } else {
            return None;
        };
        let label = &self.text[pieces.get(label)?.span.clone()];
        let is_sign = |piece: &&Piece| matches!(piece.kind, PieceKind::Mark('*' | ':' | '='));
        let content = after + pieces[after..].iter().take_while(is_sign).count();
        Some(PartStart { label, start: at, content })
    }

    /// Returns what one part answers: the value that its last sentence states first, or its words.
    fn part(&self, pieces: &[Piece]) -> Option<Range<usize>> {
        let sentences = sentences(pieces, self.text);
        for sentence in sentences.iter().rev().filter(|sentence| !self.is_check(sentence)) {
            let clauses = self.clauses(sentence);
            let values = self.emphasised(sentence, self.values(&clauses));
            match values.first().map(Vec::as_slice) {
                Some([only]) => return Some(only.clone()),
                Some([first, .., last]) => return Some(first.start..last.end),
                Some([]) | None => {}
            }
            if let Some(words) = self.bold_words(sentence).or_else(|| self.predicate(&clauses)) {
                return Some(words);
            }
        }
        let [only] = sentences.as_slice() else {
            return None;
        };
        let words = only.iter().filter(|piece| piece.kind == PieceKind::Word).count();
        let is_name = (1..=MAX_NAME).contains(&words);
        let span = only.first()?.span.start..only.last()?.span.end;
        is_name.then(|| trim::clean(self.text, span))
    }

    /// Returns the named values of the last sentences that state nothing else: "its maximum value is 5",
    /// "the minimum is $-3$".
    pub(super) fn named_values(&self, sentences: &[&[Piece]]) -> Option<Vec<Range<usize>>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        for sentence in sentences.iter().rev().take(MAX_SENTENCES) {
            let is_border = |piece: &Piece| {
                matches!(piece.kind, PieceKind::Mark(',' | ';' | '.') | PieceKind::Break { .. })
                    || self.is_word(Some(piece), &words::JOINING)
                    || self.is_word(Some(piece), &words::PARTING)
            };
            let own: Vec<_> =
                sentence.split(is_border).filter_map(|clause| self.named_value(clause)).collect();
            if own.is_empty() {
                break;
            }
            found.splice(0..0, own);
        }
        (2..=MAX_MEMBERS).contains(&found.len()).then_some(found)
    }

    /// Returns what the last sentences say that things with names are: "A is a knight", "B – knave".
    pub(super) fn classified<'p>(&self, sentences: &[&'p [Piece]]) -> Option<Vec<Range<usize>>> {
        const OPENERS: [&str; 9] =
            ["if", "suppose", "assume", "assuming", "let", "since", "because", "case", "when"];
        let mut found: Vec<(&str, Range<usize>)> = Vec::new();
        for sentence in sentences.iter().rev().take(MAX_SENTENCES) {
            let mut said = sentence.iter().filter(|piece| piece.kind == PieceKind::Word);
            if self.is_word(said.next(), &OPENERS) || self.rejection(sentence).0 {
                break;
            }
            let is_border = |piece: &Piece| {
                matches!(piece.kind, PieceKind::Mark(',' | ';' | '.') | PieceKind::Break { .. })
                    || self.is_word(Some(piece), &words::JOINING)
                    || self.is_word(Some(piece), &words::PARTING)
                    || self.is_word(Some(piece), &words::CONCLUDING)
            };
            let clauses = sentence.split(is_border);
            // "So A tells the truth: A is a knight"
            let last = |clause: &'p [Piece]| clause.rsplit(|piece| piece.is_mark(':')).next();
            let own: Vec<_> = clauses
                .filter_map(|clause| {
                    let own = self.classification(clause);
                    own.or_else(|| self.classification(last(clause)?))
                })
                .collect();
            if own.is_empty() {
                break;
            }
            found.splice(0..0, own);
        }
        let is_new = |at: usize| found[..at].iter().all(|(name, _)| *name != found[at].0);
        let is_list = (2..=MAX_MEMBERS).contains(&found.len()) && (1..found.len()).all(is_new);
        is_list.then(|| found.into_iter().map(|(_, span)| span).collect())
    }

    /// Returns the name of a thing and the clause that says of what kind it is.
    fn classification(&self, clause: &[Piece]) -> Option<(&str, Range<usize>)> {
        let is_sign = |piece: &&Piece| !matches!(piece.kind, PieceKind::Mark('*' | '•' | '_'));
        let said: Vec<&Piece> = clause.iter().filter(is_sign).collect();
        // The bullet of a line.
        let said = match said.as_slice() {
            [bullet, rest @ ..] if bullet.is_mark('-') => rest,
            all => all,
        };
        let (name, verb, rest) = match said {
            [name, verb, rest @ ..] => (*name, *verb, rest),
            _ => return None,
        };
        let text = &self.text[name.span.clone()];
        let is_letter = text.len() == 1 && text.bytes().all(|b| b.is_ascii_uppercase());
        let is_name = name.kind == PieceKind::Word && (is_letter || self.is_person(name));
        let is_verb = self.is_word(Some(verb), &["is"])
            || matches!(verb.kind, PieceKind::Mark(':' | '–' | '—' | '→'));
        let has_article = self.is_word(rest.first().copied(), &["a", "an", "the"]);
        let nouns = &rest[usize::from(has_article)..];
        let is_noun = |piece: &&&Piece| {
            self.word(piece).is_some_and(|word| {
                word.len() > 2 && word.chars().all(char::is_lowercase) && !words::DENYING.have(word)
            })
        };
        let are_nouns = (1..=2).contains(&nouns.len()) && nouns.iter().all(|noun| is_noun(&noun));
        let last = nouns.last()?;
        (is_name && is_verb && are_nouns).then_some((text, name.span.start..last.span.end))
    }

    /// Returns whether a word is the name of a person: a capital and small letters, and no word that opens a
    /// sentence.
    pub(super) fn is_person(&self, piece: &Piece) -> bool {
        let text = &self.text[piece.span.clone()];
        let mut letters = text.chars();
        letters.next().is_some_and(char::is_uppercase)
            && letters.clone().next().is_some()
            && letters.all(char::is_lowercase)
            && !words::OPENERS.have(text)
            && !words::CONCLUDING.have(text)
            && !words::ACCOMPANYING.have(text)
    }

    /// Returns the numbers of a sentence with the things that they count, where "and" or commas join them: "5
    /// nickels and 7 dimes".
    pub(super) fn counted(&self, sentence: &[Piece]) -> Option<Vec<Range<usize>>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        let mut at = 0;
        while at < sentence.len() {
            let noun = sentence.get(at + 1).filter(|noun| {
                let is_noun = noun.kind == PieceKind::Word && noun.span.len() > 2;
                is_noun && !self.is_word(Some(noun), &words::JOINING)
            });
            match noun {
                Some(noun) if sentence[at].kind == PieceKind::Number => {
                    found.push(sentence[at].span.start..noun.span.end);
                    at += 2;
                }
                Some(_) | None => {
                    let joins = sentence[at].is_mark(',')
                        || self.is_word(Some(&sentence[at]), &words::JOINING);
                    if !joins && found.len() == 1 {
                        found.clear();
                    } else if !joins && found.len() > 1 {
                        break;
                    }
                    at += 1;
                }
            }
        }
        (2..=MAX_MEMBERS).contains(&found.len()).then_some(found)
    }

    /// Returns the name of an extremum or of another thing, "the son", and its value in a clause.
    fn named_value(&self, clause: &[Piece]) -> Option<Range<usize>> {
        let clause: Vec<&Piece> = clause.iter().filter(|piece| !piece.is_mark('*')).collect();
        let is_word = |at: usize, list: &dyn Words| self.is_word(clause.get(at).copied(), list);
        let is_noun = |at: usize| clause[at].kind == PieceKind::Word && clause[at].span.len() > 2;
        let is_verb = |at: usize| {
            is_word(at, &["is", "are", "equals", "has", "gets", "receives"])
                || matches!(clause[at].kind, PieceKind::Mark('=' | ':'))
        };
        let is_named = |at: &usize| {
            // "the son is 12"
            let is_thing = |at: usize| {
                let is_known = at > 0
                    && (is_word(at - 1, &["the", "his", "her", "its", "their"])
                        || self
                            .word(clause[at - 1])
                            .is_some_and(|word| word.ends_with("'s") || word.ends_with("’s")));
                // "the sum of the roots is 5" names the sum.
                let is_part = at > 1 && is_word(at - 2, &["of"]);
                let is_whole = is_word(at + 1, &["of"]);
                is_known && !is_part && is_noun(at) && (is_whole || is_word(at + 1, &["is", "has"]))
            };
            // "Area = 24"
            let is_head = |at: usize| {
                let is_sign =
                    clause.get(at + 1).is_some_and(|next| next.is_mark('=') || next.is_mark(':'));
                at == 0 && is_noun(at) && is_sign
            };
            // "Anna is 12", "Tom has 18"
            let is_person = |at: usize| {
                clause[at].kind == PieceKind::Word
                    && self.is_person(clause[at])
                    && is_word(at + 1, &["is", "has", "gets", "receives"])
            };
            is_word(*at, &words::NAMING) || is_thing(*at) || is_head(*at) || is_person(*at)
        };
        let at = (0..clause.len()).find(is_named)?;
        let from = at + 1 + usize::from(is_word(at + 1, &["value", "values"]));
        let until = clause.len().min(from + MAX_QUALIFIED);
        let verb = (from..until).find(|at| is_verb(*at));
        // "a local maximum at x = 1"
        let verb = verb.or_else(|| (from..until).find(|at| is_word(*at, &["at"])));
        let value = clause.get(verb.map_or(from, |verb| verb + 1)).filter(|p| p.is_value())?;
        Some(clause[at].span.start..value.span.end)
    }

    /// Returns the equations among the readings of a sentence, where none of these has several members: "a vertical
    /// asymptote at x = 1 and a horizontal one at y = 2".
    pub(super) fn equations_of(
        &self,
        readings: &[Vec<Range<usize>>],
        sentence: &[Piece],
    ) -> Option<Vec<Range<usize>>> {
        let from = sentence.first()?.span.start;
        let mut found = Vec::new();
        for reading in readings {
            let [only] = reading.as_slice() else {
                return None;
            };
            let text = &self.text[only.clone()];
            // `2a = 6` gives no letter its value.
            let left = text.split('=').next().unwrap_or("");
            let left = left.trim_start_matches(['$', '\\', '(', ' ']);
            let is_multiple = left.starts_with(|c: char| c.is_ascii_digit())
                && left.chars().filter(|c| c.is_alphabetic()).count() == 1
                && !left.contains(['+', '-', '−', '^']);
            let is_equation =
                text.matches('=').count() == 1 && !is_multiple && !text.contains(['<', '>']);
            if only.start >= from && is_equation {
                found.push(only.clone());
            }
        }
        found.sort_by_key(|span| span.start);
        found.dedup();
        (found.len() > 1).then_some(found)
    }
}

/// Returns where the last name of an extremum or the like stands in `line`, with no digit behind it.
pub(in crate::extract) fn named_from(line: &str) -> Option<usize> {
    let mut end = line.len();
    while let Some(last) = line[..end].rfind(char::is_alphabetic) {
        let word = line[..last].rfind(|c: char| !c.is_alphabetic());
        let start = word.map_or(0, |at| at + line[at..].chars().next().map_or(1, char::len_utf8));
        let stop = last + line[last..].chars().next().map_or(1, char::len_utf8);
        if line[stop..end].contains(|c: char| c.is_numeric()) {
            return None;
        }
        if words::NAMING.have(&line[start..stop]) {
            return Some(start);
        }
        end = start;
    }
    let names = maths::extremum_names(line);
    let (name, _) = names.last()?;
    (!line[name.end..].contains(|c: char| c.is_numeric())).then_some(name.start)
}

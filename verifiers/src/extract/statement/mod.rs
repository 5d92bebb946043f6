//! The last statement of a text that marks no answer, read whole.
//!
//! A statement is more than its last formula: members of a list stand in formulas of their own,
//! and much that stands after an answer only accompanies it. The last sentence is parted into
//! clauses; of those that state something, the last one answers. What it joins by commas, "and",
//! "or" and bullets is one answer.
//!
//! Which of several values is meant can depend on the type of the gold answer, and never on its
//! value. So a statement has several readings, in order: the answer by these rules, the other
//! values of the sentence from its end on, and the predicate of the sentence in words. See ADR 27.

mod amounts;
mod checks;
mod clauses;
mod described;
mod emphasis;
mod hedges;
mod languages;
mod listing;
mod named;
mod parameter;
mod parts;
mod pieces;
mod plain;
mod predicate;
mod sentences;
mod words;

use std::ops::Range;

pub(super) use self::hedges::left_open;
pub(super) use self::languages::chinese_number;
pub(super) use self::named::named_parts;
pub(super) use self::parts::named_from;
use self::pieces::{Piece, PieceKind, pieces, with_unit};
use self::sentences::sentences;
use self::words::Words;

use super::trim;

/// The longest part of a text in which its last statement is looked for, in bytes.
const MAX_WINDOW: usize = 1000;
/// Sentences that are looked at, from the end on.
const MAX_SENTENCES: usize = 4;
/// Readings of one statement.
const MAX_READINGS: usize = 6;
/// Members of one list.
const MAX_MEMBERS: usize = 24;
/// Words of a predicate.
const MAX_PREDICATE: usize = 6;
/// Words between a denial and what it denies.
const DENIAL_REACH: usize = 4;

/// What a text states last.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Statement {
    /// Its readings as values, in order, each of one span or more.
    pub(super) values: Vec<Vec<Range<usize>>>,
    /// Values of the sentences before it, in the order of readings.
    pub(super) earlier: Vec<Vec<Range<usize>>>,
    /// What the parts of a question are answered with, in order.
    pub(super) parts: Option<Vec<Range<usize>>>,
    /// Whether its first reading is said to be in order: "from smallest to largest".
    pub(super) is_ordered: bool,
    /// Its reading in words.
    pub(super) predicate: Option<Range<usize>>,
    /// The yes or no that opens a sentence.
    pub(super) verdict: Option<Range<usize>>,
    /// The letter of whom or what it speaks.
    pub(super) letter: Option<Range<usize>>,
    /// Whether it rejects what it names, so that no value before it is the answer.
    pub(super) is_rejection: bool,
    /// Whether the first reading is a formula between delimiters.
    pub(super) is_formula: bool,
}

/// Relation of a clause to the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rank {
    Statement,
    Remark,
}

/// A part of a sentence.
#[derive(Debug, Clone)]
struct Clause<'p> {
    rank: Rank,
    pieces: &'p [Piece],
}

/// A text with its window.
struct Reader<'t> {
    text: &'t str,
    window: Range<usize>,
}

/// Returns what `part` states last.
#[expect(clippy::too_many_lines, reason = "readings in their order, one after the other")]
pub(super) fn last_statement(text: &str, part: &Range<usize>) -> Statement {
    let window = window(text, part);
    let Some(pieces) = pieces(text, &window) else {
        return Statement::default();
    };
    let reader = Reader { text, window };
    let mut statement = Statement::default();
    let stated = sentences(&pieces, text);
    let stated = reader.without_checks(&stated);
    let last_ones = stated.iter().rev().take(MAX_SENTENCES);
    let end = stated.last().and_then(|sentence| sentence.last()).map_or(0, |last| last.span.end);
    let mut is_found = false;
    let verdict = last_ones.clone().find_map(|sentence| reader.any_verdict(sentence));
    for (index, sentence) in last_ones.enumerate() {
        let clauses = reader.clauses(sentence);
        // Values of sentences before count where the last one has none of the gold answer's type.
        if is_found {
            if reader.rejection(sentence).0 {
                break;
            }
            statement.earlier.extend(reader.emphasised(sentence, reader.values(&clauses)));
            continue;
        }
        if index == 0 {
            let predicate = reader.whole_predicate(sentence, &clauses);
            statement.predicate = predicate
                .or_else(|| reader.chinese_predicate(sentence))
                .or_else(|| reader.foreign_wording(sentence));
            if let Some(words) = reader.nothing_said(sentence) {
                statement.predicate = Some(words);
                statement.is_rejection = true;
                break;
            }
        }
        statement.values = reader.emphasised(sentence, reader.values(&clauses));
        let numbers = reader.number_words(sentence);
        let values = || statement.values.iter().flatten();
        if values().all(|span| reader.is_mere_name(span)) {
            statement.values.splice(0..0, numbers);
        } else if !values().any(|span| text[span.clone()].contains('=')) {
            statement.values.extend(numbers);
        }
        statement.values.splice(0..0, reader.concluding_number(&clauses).map(|span| vec![span]));
        statement.values.sort_by_key(|reading| reader.is_worse(sentence, reading));
        if index == 0 {
            let zero = statement.predicate.clone().and_then(|span| vanishing(text, span));
            statement.values.splice(0..0, zero.map(|span| vec![span]));
        }
        statement.values.splice(0..0, reader.exact_value(sentence).map(|span| vec![span]));
        statement.values.splice(0..0, reader.chance(sentence).map(|span| vec![span]));
        statement.values = reader.with_amounts(statement.values, sentence);
        statement.values.extend(reader.headed(sentence).map(|span| vec![span]));
        statement.values = reader.with_region(statement.values, sentence);
        statement.values.extend(reader.parity_in_words(sentence).map(|span| vec![span]));
        statement.values.extend(reader.change_in_words(sentence).map(|span| vec![span]));
        statement.is_rejection = reader.rejection(sentence).0;
        if index == 0 {
            let letter = reader.lettered_subject(&clauses).or_else(|| reader.choices(&clauses));
            statement.letter = letter.or_else(|| reader.named_choice(sentence));
        }
        statement.is_ordered = reader.says_order(sentence);
        is_found = !statement.values.is_empty();
        statement.is_rejection |= index == 0 && !is_found && reader.says_none(&statement);
        if statement.is_rejection {
            break;
        }
    }
    statement.earlier.truncate(MAX_READINGS);
    statement.verdict = verdict;
    // Members of a list that stand in words of their own count where the gold answer is a list.
    let until = pieces.partition_point(|piece| piece.span.start < end);
    if let Some(listing) = reader.listing(&pieces[..until]) {
        // A list in one of the lines is no more than a part of it.
        let block = listing[0].start..listing[listing.len() - 1].end;
        let is_set = |span: &Range<usize>| {
            ["\\{", "{", "\\emptyset", "\\varnothing", "∅"]
                .iter()
                .any(|open| text[span.clone()].starts_with(open))
        };
        let are_sets = listing.iter().all(is_set);
        let is_part = |reading: &Vec<Range<usize>>| {
            let only = &text[reading[0].clone()];
            let is_list = reading.len() > 1
                || only.contains(", ")
                || only.contains(",\\")
                || are_sets && only.contains(',');
            is_list && reading.iter().all(|span| block.start <= span.start && span.end <= block.end)
        };
        let place = statement.values.iter().position(is_part);
        statement.values.insert(place.unwrap_or(statement.values.len()), listing);
    }
    statement.parts = reader.parts(&pieces[..until]);
    statement.values.extend(reader.named_values(&stated));
    statement.values.extend(reader.classified(&stated));
    if let Some(last) = stated.last() {
        let equations = reader.equations_of(&statement.values, last);
        statement.values.extend(equations);
        statement.values.extend(reader.counted(last));
        statement.values.extend(reader.dimensions(last));
        statement.values.extend(reader.divisibility(last).map(|span| vec![span]));
        statement.values.extend(reader.letters_of_choices(last));
        statement.values.splice(0..0, reader.extrema(last));
    }
    let last = statement.values.first().and_then(|reading| reading.last());
    let holds_last = |piece: &Piece| {
        let is_enclosed = text[piece.span.clone()].starts_with(['$', '\\']);
        matches!(piece.kind, PieceKind::Formula { .. })
            && is_enclosed
            && last
                .is_some_and(|span| piece.span.start <= span.start && span.start < piece.span.end)
    };
    statement.is_formula = pieces.iter().any(holds_last);
    statement
}

/// Returns `span`, whose first clause answers, without the remarks after it.
pub(super) fn without_remarks(text: &str, span: Range<usize>) -> Range<usize> {
    // A remark has words; most labelled answers have no space.
    if span.len() > MAX_WINDOW || !text[span.clone()].contains(' ') {
        return span;
    }
    let Some(pieces) = pieces(text, &span) else {
        return span;
    };
    let reader = Reader { text, window: span.clone() };
    let clauses = reader.clauses(&pieces);
    let [first, rest @ ..] = clauses.as_slice() else {
        return span;
    };
    let is_cut = !rest.is_empty()
        && first.rank == Rank::Statement
        && first.pieces.iter().any(Piece::is_value)
        && rest.iter().all(|clause| clause.rank == Rank::Remark);
    let is_odd = first.pieces.iter().filter(|piece| piece.is_mark('*')).count() % 4 != 0;
    let is_border = |piece: &&Piece| {
        matches!(piece.kind, PieceKind::Break { .. } | PieceKind::Mark(',' | ';' | '('))
            || is_odd && piece.is_mark('*')
    };
    match first.pieces.iter().rfind(|piece| !is_border(piece)) {
        Some(last) if is_cut => trim::clean(text, span.start..last.span.end),
        Some(_) | None => span,
    }
}

/// Returns the part of a text in which its last statement is looked for.
fn window(text: &str, part: &Range<usize>) -> Range<usize> {
    end_of(text, part, MAX_WINDOW)
}

/// Returns the last `most` bytes of `part` from the start of a line on, or of a sentence in a long line.
fn end_of(text: &str, part: &Range<usize>, most: usize) -> Range<usize> {
    let mut start = part.end.saturating_sub(most).max(part.start);
    if start > part.start {
        while !text.is_char_boundary(start) {
            start += 1;
        }
        let rest = &text[start..part.end];
        let border = rest.find('\n').or_else(|| rest.find(". "));
        start += border.map_or(0, |at| at + 1);
    }
    trim::space(text, start..part.end)
}

/// Returns the word of a predicate that says of a quantity that it is zero or goes to infinity.
fn vanishing(text: &str, predicate: Range<usize>) -> Option<Range<usize>> {
    ["vanishes", "to infinity"].into_iter().find_map(|words| {
        let is_last = text[predicate.clone()].ends_with(words);
        let said = words.rsplit(' ').next().unwrap_or(words);
        is_last.then(|| predicate.end - said.len()..predicate.end)
    })
}

/// Returns where `x =` starts before the plain value at `index`.
fn name(text: &str, pieces: &[Piece], index: usize) -> Option<usize> {
    let [.., name, equals] = &pieces[..index] else {
        return None;
    };
    let is_plain = pieces[index].kind == PieceKind::Number;
    (is_plain && is_variable(text, name) && equals.is_mark('=')).then_some(name.span.start)
}

/// Returns whether a word is short enough for the name of a variable with its index: `x₁`, `λ₁`.
fn is_variable(text: &str, piece: &Piece) -> bool {
    let name = text[piece.span.clone()].trim_end_matches(|c: char| ('₀'..='₉').contains(&c));
    piece.kind == PieceKind::Word && (name.len() <= 2 || name.chars().count() == 1)
}

/// Returns whether a formula states an order, or where a variable lies.
fn holds_condition(text: &str) -> bool {
    const COMMANDS: [&str; 11] =
        ["le", "leq", "leqslant", "lt", "ge", "geq", "geqslant", "gt", "ne", "neq", "in"];
    let command = |at: usize| {
        let rest = &text[at + 1..];
        &rest[..rest.bytes().take_while(u8::is_ascii_alphabetic).count()]
    };
    text.contains(['≤', '≥', '≠', '∈', '<', '>'])
        || memchr::memchr_iter(b'\\', text.as_bytes()).any(|at| COMMANDS.contains(&command(at)))
}

fn is_display(piece: &Piece) -> bool {
    piece.kind == PieceKind::Formula { is_display: true }
}

impl<'t> Reader<'t> {
    fn word(&self, piece: &Piece) -> Option<&'t str> {
        (piece.kind == PieceKind::Word).then(|| &self.text[piece.span.clone()])
    }

    fn is_word(&self, piece: Option<&Piece>, list: &(impl Words + ?Sized)) -> bool {
        piece.and_then(|piece| self.word(piece)).is_some_and(|word| list.have(word))
    }

    /// Returns the values of a sentence in the order of its readings.
    fn values(&self, clauses: &[Clause<'_>]) -> Vec<Vec<Range<usize>>> {
        let mut found: Vec<(Rank, Vec<Vec<Range<usize>>>)> = Vec::new();
        for clause in clauses {
            let groups = self.groups(clause.pieces);
            let (is_rejecting, from) = self.rejection(clause.pieces);
            if is_rejecting {
                // It rejects what stands before the rejecting word, here or in the clause before.
                if self.points_back(clause.pieces)
                    && let Some((_, last)) = found.last_mut()
                {
                    last.pop();
                }
                self.without_rejected(&mut found, &groups, from);
                let kept = groups.into_iter().filter(|group| group[0].start > from).collect();
                found.push((clause.rank, kept));
                continue;
            }
            let groups = if self.is_existential(clause.pieces) {
                groups.into_iter().rev().collect()
            } else {
                groups
            };
            found.push((clause.rank, groups));
        }
        // "There are 4 such subsets" says what was sought, whatever follows from it.
        let mut order: Vec<&Clause<'_>> = clauses.iter().collect();
        if let Some(place) = clauses.iter().position(|clause| self.is_sought(clause)) {
            let sought = found.remove(place);
            found.push(sought);
            let clause = order.remove(place);
            order.push(clause);
        }
        let mut readings = self.only_value_said(clauses);
        for rank in [Rank::Statement, Rank::Remark] {
            for ((_, groups), clause) in
                found.iter().zip(&order).rev().filter(|((own, _), _)| *own == rank)
            {
                // "when k = 6" is no answer beside one.
                let is_condition = self
                    .is_word(clause.pieces.first(), &["when", "if", "unless", "while", "whereas"]);
                if rank == Rank::Remark && is_condition && !readings.is_empty() {
                    continue;
                }
                readings.extend(groups.iter().rev().cloned());
            }
        }
        readings.truncate(MAX_READINGS);
        for clause in clauses.iter().rev().filter(|clause| clause.rank == Rank::Statement) {
            readings.extend(self.scores(clause.pieces).map(|span| vec![span]));
        }
        readings
    }

    /// Returns whether a clause speaks of the value before it: "which is not valid".
    fn points_back(&self, pieces: &[Piece]) -> bool {
        let mut words = pieces.iter().filter(|piece| piece.kind == PieceKind::Word);
        let first = words.find(|piece| !self.is_word(Some(piece), &words::PARTING));
        self.is_word(first, &["which", "that", "this", "it", "they", "these", "neither"])
    }

    /// Returns the spans of "39 to 33", which are answers in words.
    fn scores(&self, pieces: &[Piece]) -> impl Iterator<Item = Range<usize>> {
        pieces.windows(3).filter_map(|three| {
            let [first, to, last] = three else {
                return None;
            };
            let are_numbers = first.kind == PieceKind::Number && last.kind == PieceKind::Number;
            let is_to = self.is_word(Some(to), &["to"]);
            (are_numbers && is_to).then_some(first.span.start..last.span.end)
        })
    }

    /// Returns the values of a clause; those that a list joins are one.
    fn groups(&self, pieces: &[Piece]) -> Vec<Vec<Range<usize>>> {
        // "positive and not 1"
        let is_denied = |index: usize| {
            index.checked_sub(1).is_some_and(|before| self.is_word(pieces.get(before), &["not"]))
        };
        let mut until = 0;
        let mut is_aside = |index: usize| {
            until = self.aside(pieces, index).unwrap_or(until);
            index < until
        };
        let values = pieces.iter().enumerate();
        let values = values.filter(|(index, _)| !is_aside(*index));
        let values = values.filter(|(index, piece)| piece.is_value() && !is_denied(*index));
        let mut spans: Vec<(usize, Range<usize>)> = values
            .map(|(index, piece)| {
                let exact = self.exact_before(pieces, index);
                let span = exact.unwrap_or_else(|| with_unit(self.text, &self.window, piece));
                let first = self.phrase_start(pieces, index);
                let is_alone = first == index;
                (index, if is_alone { span } else { pieces[first].span.start..span.end })
            })
            .collect();
        let mut covered = 0;
        spans.retain_mut(|(index, span)| {
            let own = &pieces[*index].span;
            if own.start < covered {
                return false;
            }
            if let Some(end) = self.parameter_end(own).or_else(|| self.reals_end(own)) {
                *span = own.start.min(span.start)..end;
                covered = end;
            }
            true
        });
        let mut groups: Vec<Vec<Range<usize>>> = Vec::new();
        let mut before: Option<(usize, usize)> = None;
        for (index, span) in spans {
            let joins = before.is_some_and(|(first, end)| {
                // A display after a formula of the line before it is a statement of its own.
                if is_display(&pieces[index]) && !is_display(&pieces[first]) {
                    return false;
                }
                let gap = &pieces[first + 1..index];
                let from = gap.iter().position(|piece| piece.span.start >= end);
                self.joins(&gap[from.unwrap_or(gap.len())..])
                    && self.are_members(pieces, first, index)
            });
            let named =
                name(self.text, pieces, index).map_or(span.start, |start| start.min(span.start));
            let end = pieces[index].span.end.max(span.end);
            match groups.last_mut() {
                // Conditions keep the words between them: "x < 1 or x > 3" is one set.
                Some(group) if joins && self.are_conditions(pieces, before, index) => {
                    let last = group.last_mut().expect("groups have members");
                    if let Some((place, _)) = before {
                        last.start = last.start.min(pieces[place].span.start);
                    }
                    last.end = end;
                }
                Some(group) if joins && group.len() < MAX_MEMBERS => {
                    // The first member was taken without its name until it had a second one.
                    if let ([first], Some((place, _))) = (group.as_mut_slice(), before) {
                        let start = name(self.text, pieces, place).unwrap_or(first.start);
                        first.start = start.min(first.start);
                    }
                    group.push(named..span.end);
                }
                Some(_) | None => groups.push(vec![span]),
            }
            before = Some((index, end));
        }
        groups
    }

    /// Returns the plain formula between `=` and `≈` where the value at `index` approximates it:
    /// `π²/6 − 1` of "π²/6 − 1 ≈ 0.645".
    fn exact_before(&self, pieces: &[Piece], index: usize) -> Option<Range<usize>> {
        let sign = index.checked_sub(1).filter(|sign| pieces[*sign].is_mark('≈'))?;
        let from = pieces[..sign].iter().rposition(|piece| piece.is_mark('='))? + 1;
        let chunk = &pieces[from..sign];
        let is_mathematical = |piece: &Piece| {
            piece.kind != PieceKind::Word
                || piece.span.len() <= 2
                || self.is_word(Some(piece), &["sqrt", "sin", "cos", "tan", "log", "exp"])
        };
        let is_formula = chunk.len() > 1 && chunk.iter().all(is_mathematical);
        is_formula.then(|| chunk[0].span.start..chunk[chunk.len() - 1].span.end)
    }

    /// Returns whether two joined formulas state an order, or where a variable lies.
    fn are_conditions(
        &self,
        pieces: &[Piece],
        before: Option<(usize, usize)>,
        index: usize,
    ) -> bool {
        let is_condition = |index: usize| {
            let text = &self.text[pieces[index].span.clone()];
            matches!(pieces[index].kind, PieceKind::Formula { .. }) && holds_condition(text)
        };
        before.is_some_and(|(place, _)| is_condition(place) || is_condition(index))
    }

    /// Returns whether two values may be members of one list: both give the value of a letter, or
    /// neither does.
    fn are_members(&self, pieces: &[Piece], first: usize, second: usize) -> bool {
        let is_named =
            |index| name(self.text, pieces, index).is_some() || self.has_left_side(&pieces[index]);
        let is_simple = |index: usize| !self.is_compound(&pieces[index]);
        // "x = 1, 2": the name is that of all members.
        let is_number = |index: usize| pieces[index].kind == PieceKind::Number;
        let ends = pieces.get(second + 1).is_none_or(|next| {
            next.kind != PieceKind::Word || self.is_word(Some(next), &words::JOINING)
        });
        let opens = |index: usize| self.text[pieces[index].span.clone()].starts_with('(');
        let is_first = is_number(first) || self.has_left_side(&pieces[first]) && opens(first);
        let is_shared = is_named(first)
            && is_first
            && is_number(second)
            && is_number(first) != opens(second)
            && ends;
        (is_named(first) == is_named(second) || is_shared) && is_simple(first) && is_simple(second)
    }

    /// Returns whether `gap` holds nothing but commas, words that join, bullets, Markdown and names
    /// of variables with their equals signs, and joins at all.
    fn joins(&self, gap: &[Piece]) -> bool {
        let mut joins = false;
        let mut at = 0;
        while let Some(piece) = gap.get(at) {
            if let Some(last) = self.passed(gap, at, joins) {
                at = last + 1;
                continue;
            }
            match piece.kind {
                // What stands in brackets behind a member only accompanies it.
                PieceKind::Mark('(') => {
                    at += gap[at..].iter().position(|piece| piece.is_mark(')')).unwrap_or(0);
                }
                // A variable before its value.
                PieceKind::Word if gap.get(at + 1).is_some_and(|next| next.is_mark('=')) => {
                    if !is_variable(self.text, piece) || at + 2 < gap.len() {
                        return false;
                    }
                    at += 1;
                }
                // Polish and its neighbours write "i" for "and".
                PieceKind::Word if gap.len() == 1 && self.is_word(Some(piece), &["i"]) => {
                    joins = true;
                }
                PieceKind::Word if self.is_word(Some(piece), &words::JOINING) => joins = true,
                // A word of a script without blanks has a piece for each of its characters.
                PieceKind::Word if self.joining_characters(piece) > 0 => {
                    joins = true;
                    at += self.joining_characters(piece) - 1;
                }
                PieceKind::Word
                    if joins && self.is_word(Some(piece), &["when", "if", "where", "on", "at"]) => {
                }
                PieceKind::Mark(',' | '，' | '、' | ';') => joins = true,
                PieceKind::Mark('*' | '-' | '•' | '_') => {}
                PieceKind::Break { .. } => {
                    joins |= gap
                        .get(at + 1)
                        .is_some_and(|next| matches!(next.kind, PieceKind::Mark('-' | '•' | '*')));
                }
                PieceKind::Formula { .. }
                | PieceKind::Number
                | PieceKind::Word
                | PieceKind::Mark(_) => return false,
            }
            at += 1;
        }
        joins
    }

    /// Counts the characters of the word for "and" or "or" that begins with `piece`.
    fn joining_characters(&self, piece: &Piece) -> usize {
        const WORDS: [&str; 7] = ["または", "又は", "或者", "かつ", "および", "以及", "并且"];
        let rest = &self.text[piece.span.start..self.window.end];
        let word = WORDS.iter().find(|word| rest.starts_with(**word));
        word.map_or(0, |word| word.chars().count())
    }

    /// Returns whether words of `pieces` reject a value, and where the first of them stands.
    fn rejection(&self, pieces: &[Piece]) -> (bool, usize) {
        for (index, piece) in pieces.iter().enumerate() {
            let denied = || {
                let before = &pieces[index.saturating_sub(DENIAL_REACH)..index];
                before.iter().any(|word| self.is_word(Some(word), &words::DENYING))
            };
            let rejects = self.is_word(Some(piece), &words::REJECTING)
                || self.is_word(Some(piece), &words::REJECTED) && denied();
            if rejects {
                return (true, piece.span.start);
            }
        }
        (false, 0)
    }
}

#[cfg(test)]
mod tests;

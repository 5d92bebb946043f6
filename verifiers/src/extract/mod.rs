//! Extraction of the answer from a response.
//!
//! Extraction knows nothing of any gold answer. It looks at the visible text only (see
//! [`visible`]), tries its sources from the most to the least explicit one, and takes the last
//! candidate of the first source that has any:
//!
//! | source | what | when there are several |
//! |---|---|---|
//! | `boxed` | `\boxed{…}`, `\fbox{…}`, `boxed(…)`, `\boxed 5` | innermost of nested ones |
//! | `answer_tag` | `<answer>…</answer>` | the last |
//! | `hash_marks` | the line after `####` | the last |
//! | `answer_line` | a line `A: …`, `Answer: …`, `**Answer:** …`, `答案：…` | the last |
//! | `answer_phrase` | "the answer is …", "final answer: …", "la réponse est …" | the last |
//! | `whole_text` | all of a short line that holds mathematics and no sentence | |
//! | `last_formula` | the last statement of the text, see [`statement`], flagged `fallback` | by its readings |
//! | `last_number` | the same, where it is a number in prose | by its readings |
//! | `last_words` | the same, where it is in words alone | |
//!
//! A formula between `$` or `\(` ends on its line. One that a line break cuts is no answer, and
//! neither is a number in it: then there is none.
//!
//! Lines and phrases are known in English, French, German, Spanish, Portuguese, Russian, Chinese,
//! Japanese, Arabic and Hindi.
//!
//! An empty candidate (`\boxed{}`) is extracted as empty text, and later sources are not tried.
//! Time and memory are linear in the response, and there is no limit on the distance of an answer
//! from the end: the verifier limits the size of an answer.

mod boxed;
mod broken;
mod labelled;
mod marked;
mod phrases;
mod prose;
mod statement;
mod tail;
mod thinking;
mod trim;
mod unmarked;

use std::collections::HashSet;
use std::ops::Range;

use serde::Serialize;

pub use marked::{Occurrence, marked};
pub use thinking::{Visible, visible};

use crate::Candidate;

/// An extracted answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extracted<'a> {
    /// The answer, a slice of the response.
    pub text: &'a str,
    /// Its half-open byte range in the response.
    pub span: Range<usize>,
    /// Candidates of the same source in the response; the last one is `text`.
    pub count: usize,
    /// Name of its source.
    pub source: &'static str,
    /// Warnings about the answer.
    pub flags: Vec<&'static str>,
    /// The boxes that make one list with the last one, `text` among them, where nothing but commas,
    /// "and", "or" and delimiters stand between them; else empty. For gold answers that are lists, and
    /// for choices.
    pub members: Vec<Range<usize>>,
    /// Where nothing marks an answer: the ways to read the last statement, in order, each a value or
    /// the members of a list. `text` is the last member of the first. The type of the gold answer
    /// may choose among them.
    pub readings: Vec<Vec<Range<usize>>>,
    /// Readings of the sentences before it, for gold answers of a type that none of `readings` has.
    pub earlier: Vec<Vec<Range<usize>>>,
    /// The one of `readings` whose members answer the parts of a question, in order.
    pub parts: Option<usize>,
}

/// The texts of an answer in the response it was found in.
#[derive(Debug)]
pub struct ExtractedTexts<'a> {
    text: &'a str,
    members: Vec<&'a str>,
    /// Whether an "or" stands between two of the members.
    either: bool,
    readings: Vec<Vec<&'a str>>,
    own: usize,
    parts: Option<usize>,
}

impl Extracted<'_> {
    /// Returns the texts of the answer; `response` is what it was found in.
    pub fn texts<'r>(&self, response: &'r str) -> ExtractedTexts<'r> {
        let texts =
            |spans: &Vec<Range<usize>>| spans.iter().map(|span| &response[span.clone()]).collect();
        let offers_choice = |two: &[Range<usize>]| {
            response.get(two[0].end..two[1].start).is_some_and(boxed::offers_choice)
        };
        ExtractedTexts {
            text: &response[self.span.clone()],
            members: texts(&self.members),
            either: self.members.windows(2).any(offers_choice),
            readings: self.readings.iter().chain(&self.earlier).map(texts).collect(),
            own: self.readings.len(),
            parts: self.parts,
        }
    }
}

impl ExtractedTexts<'_> {
    /// Returns the candidate for a verifier.
    pub fn candidate(&self) -> Candidate<'_> {
        if !self.readings.is_empty() {
            let (readings, own, parts) = (&self.readings, self.own, self.parts);
            return Candidate::Statement { last: self.text, readings, own, parts };
        }
        match self.members.as_slice() {
            [] => Candidate::Text(self.text),
            all => Candidate::Several { last: self.text, all, either: self.either },
        }
    }
}

/// The source of an answer that a phrase announces.
const PHRASE: &str = "answer_phrase";

/// The source of an answer in words that nothing marks.
const WORDS: &str = "last_words";

/// The flag of a response with more different candidates than [`AnswerPolicy::max_candidates`].
pub const MANY_CANDIDATES: &str = "many_candidates";

/// The policy for answers that are not marked, and for warnings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AnswerPolicy {
    /// Whether "the answer is …" counts. On by default.
    pub phrases: bool,
    /// Whether an answer is guessed in a text without a marked one: all of a short text, else its
    /// last formula, else its last number. On by default.
    pub last_number: bool,
    /// A response with more different candidates of the chosen source than this is flagged
    /// `many_candidates`: the last one still answers, but rewards should know that others were
    /// tried. 3 by default.
    pub max_candidates: usize,
    /// Whether who scores should give such a response a 0: it hedges. Off by default; extraction
    /// itself only flags it.
    pub refuse_many: bool,
}

impl Default for AnswerPolicy {
    fn default() -> Self {
        Self { phrases: true, last_number: true, max_candidates: 3, refuse_many: false }
    }
}

/// One possible answer of a source.
#[derive(Debug)]
struct FoundAnswer {
    span: Range<usize>,
    note: Note,
    /// Whether it continues a list that the candidate before it belongs to.
    continues: bool,
}

impl FoundAnswer {
    fn new(span: Range<usize>, note: Note) -> Self {
        Self { span, note, continues: false }
    }
}

/// Observations of a source about a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Note {
    None,
    /// Its closing mark is missing.
    Unclosed,
    /// It repeats the candidate before it as a decimal approximation.
    Approximation,
}

/// A source appends its candidates in one visible part of the response, in order.
type AnswerFinder = fn(&str, Range<usize>, &mut Vec<FoundAnswer>);

const MARKED: [(&str, AnswerFinder); 4] = [
    ("boxed", boxed::find_boxes),
    ("answer_tag", labelled::find_tags),
    ("hash_marks", labelled::find_hash_marks),
    ("answer_line", labelled::find_lines),
];

/// Returns the answer in `response`, or `None` if there is none.
pub fn answer<'a>(response: &'a str, policy: &AnswerPolicy) -> Option<Extracted<'a>> {
    let visible = visible(response);
    let phrases: (&str, AnswerFinder) = (PHRASE, labelled::find_phrases);
    let phrases = policy.phrases.then_some(phrases);
    for (source, find) in MARKED.into_iter().chain(phrases) {
        let mut candidates = Vec::new();
        for part in visible.ranges() {
            find(response, part.clone(), &mut candidates);
        }
        if !candidates.is_empty() {
            return choose(response, source, &candidates, policy);
        }
    }
    policy.last_number.then(|| guess(response, &visible))?
}

/// Returns the answer of a text that marks none.
fn guess<'a>(response: &'a str, visible: &Visible) -> Option<Extracted<'a>> {
    let found = |readings: Vec<Vec<Range<usize>>>, source, flags| {
        let span = readings.first()?.last()?.clone();
        let count = 1;
        let text = &response[span.clone()];
        let members = readings[0].clone();
        let members = if members.len() > 1 { members } else { Vec::new() };
        let (earlier, parts) = (Vec::new(), None);
        Some(Extracted { text, span, count, source, flags, members, readings, earlier, parts })
    };
    let whole = visible.ranges().last();
    if let Some(span) = whole.and_then(|part| unmarked::whole_text(response, part)) {
        let number = statement::chinese_number(response, &span).filter(|own| *own != span);
        let readings = [Some(span), number].into_iter().flatten().map(|span| vec![span]);
        return found(readings.collect(), "whole_text", Vec::new());
    }
    let (mut predicate, mut letter) = (None, None);
    let mut verdict = Vec::new();
    for part in visible.ranges().iter().rev() {
        let statement = statement::last_statement(response, part);
        predicate = predicate.or(statement.predicate);
        letter = letter.or(statement.letter.clone());
        verdict.extend(statement.verdict.clone());
        let source = if statement.is_formula { "last_formula" } else { "last_number" };
        let last = statement.values.first().and_then(|reading| reading.last());
        let is_broken =
            !statement.is_formula && last.is_some_and(|span| broken::holds(response, part, span));
        let (mut readings, source) = if is_broken || statement.values.is_empty() {
            match last_in(response, part) {
                _ if statement.is_rejection => (Vec::new(), source),
                Guess::Found(span, source) => (vec![vec![span]], source),
                Guess::Broken => return None,
                Guess::Nothing => continue,
            }
        } else {
            (statement.values, source)
        };
        let parts = statement.parts.map(|parts| {
            readings.push(parts);
            readings.len() - 1
        });
        let parts = parts.or(statement.is_ordered.then_some(0));
        let source = if readings.is_empty() { WORDS } else { source };
        readings.extend(predicate.map(|span| vec![span]));
        readings.extend(statement.letter.map(|span| vec![span]));
        let found = found(readings, source, vec!["fallback"])?;
        let mut earlier = statement.earlier;
        earlier.extend(statement.verdict.map(|span| vec![span]));
        return Some(Extracted { earlier, parts, ..found });
    }
    let words = predicate.into_iter().chain(letter).chain(verdict);
    found(words.map(|span| vec![span]).collect(), WORDS, vec!["fallback"])
}

/// Hints at the end of a text.
enum Guess {
    Found(Range<usize>, &'static str),
    /// The last number stands in a formula that a line break cuts. It is no answer by itself, and
    /// what stands before it is not the last word.
    Broken,
    Nothing,
}

/// Returns the last formula of `part`, or its last number where that follows.
fn last_in(response: &str, part: &Range<usize>) -> Guess {
    let number = tail::last_number(response, part);
    let formula = unmarked::last_formula(response, part)
        .filter(|f| number.as_ref().is_none_or(|n| n.start < f.end));
    match (formula, number) {
        (Some(formula), _) => {
            Guess::Found(tail::completed(response, part, formula), "last_formula")
        }
        (None, Some(number)) if broken::holds(response, part, &number) => Guess::Broken,
        (None, Some(number)) => Guess::Found(number, "last_number"),
        (None, None) => Guess::Nothing,
    }
}

/// Returns the texts that a response states last for parts with names, in the order of `names`, each of which is
/// given by its wordings; `None` where a part has no value.
pub fn named_parts<'r>(response: &'r str, names: &[Vec<&str>]) -> Option<Vec<&'r str>> {
    let visible = visible(response);
    let spans = statement::named_parts(response, visible.ranges().last()?, names)?;
    Some(spans.into_iter().map(|span| &response[span]).collect())
}

/// Returns everything after the thinking, for callers that judge a response as a whole; `None` if
/// no text is visible.
pub fn visible_response(response: &str) -> Option<Extracted<'_>> {
    let visible = visible(response);
    let span = trim::space(response, visible.ranges().last()?.clone());
    (!span.is_empty()).then(|| Extracted {
        text: &response[span.clone()],
        span,
        count: 1,
        source: "whole",
        flags: Vec::new(),
        members: Vec::new(),
        readings: Vec::new(),
        earlier: Vec::new(),
        parts: None,
    })
}

/// Returns the last candidate that is not a mere approximation of the one before it.
fn choose<'a>(
    response: &'a str,
    source: &'static str,
    candidates: &[FoundAnswer],
    policy: &AnswerPolicy,
) -> Option<Extracted<'a>> {
    let exact = candidates.iter().rposition(|c| c.note != Note::Approximation)?;
    let chosen = &candidates[exact];
    let mut flags = Vec::new();
    if exact + 1 < candidates.len() {
        flags.push("approximation_skipped");
    }
    if chosen.note == Note::Unclosed {
        flags.push(if source == "boxed" { "unclosed_box" } else { "unclosed_tag" });
    }
    if has_more_than(policy.max_candidates, response, candidates) {
        flags.push(MANY_CANDIDATES);
    }
    let span = if source == "boxed" {
        chosen.span.clone()
    } else {
        statement::without_remarks(response, labelled::narrow(response, chosen.span.clone()))
    };
    let part = (source == PHRASE).then(|| visible(response).ranges().last().cloned()).flatten();
    let open = part.and_then(|part| statement::left_open(response, &part, &chosen.span));
    let span = open.as_ref().and_then(|open| open.last().cloned()).unwrap_or(span);
    let (readings, parts) = if let Some(open) = open {
        (vec![open], None)
    } else if source == "boxed" {
        match boxed::parts(response, &candidates[..=exact]) {
            Some(parts) => (vec![vec![span.clone()], parts], Some(1)),
            None if chosen.continues => (Vec::new(), None),
            None => match boxed::named(response, &candidates[..=exact]) {
                Some(named) => (vec![vec![span.clone()], named], None),
                None => (Vec::new(), None),
            },
        }
    } else {
        (sentence(response, &span), None)
    };
    Some(Extracted {
        text: &response[span.clone()],
        span,
        count: candidates.len(),
        source,
        flags,
        members: members(&candidates[..=exact]),
        readings,
        earlier: Vec::new(),
        parts,
    })
}

/// Returns whether a text has digits and signs of numbers alone, as most answers do: no word, phrase or remark.
fn is_numeric(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || b".,-+/$% ".contains(&byte))
}

/// Returns the readings of a labelled answer that is a sentence: as it is, and as a statement.
fn sentence(response: &str, span: &Range<usize>) -> Vec<Vec<Range<usize>>> {
    /// Words of the shortest sentence, and those of them that are of no formula in any case.
    const MIN_WORDS: usize = 3;
    const MIN_PROSE: usize = 2;
    if is_numeric(&response[span.clone()]) {
        return Vec::new();
    }
    let words: Vec<&str> = prose::words(&response[span.clone()]).collect();
    let prose = words.iter().filter(|word| prose::is_prose(word)).count();
    // Chinese writes a word in one character or two.
    let is_foreign = words.iter().any(|word| !word.is_ascii());
    if prose < MIN_PROSE && (words.len() < MIN_WORDS || prose == 0 && !is_foreign) {
        return Vec::new();
    }
    let statement = statement::last_statement(response, span);
    if statement.values.is_empty() {
        return Vec::new();
    }
    let mut readings = vec![vec![span.clone()]];
    // What the label announces stands first: "42 seats in all, 6 rows of 7".
    let mut values = statement.values;
    values.sort_by_key(|reading| reading.first().is_none_or(|first| first.start > span.start + 1));
    readings.extend(values);
    readings
}

/// Returns the spans of the list that ends with the last candidate; empty if it is alone.
fn members(candidates: &[FoundAnswer]) -> Vec<Range<usize>> {
    let joined = candidates.iter().rev().take_while(|c| c.continues).count();
    let from = candidates.len() - (joined + 1).min(candidates.len());
    if joined == 0 {
        return Vec::new();
    }
    candidates[from..].iter().map(|c| c.span.clone()).collect()
}

/// Returns whether more than `limit` different texts are among the candidates; a list in one
/// sentence is one of them.
fn has_more_than(limit: usize, response: &str, candidates: &[FoundAnswer]) -> bool {
    if candidates.len() <= limit {
        return false;
    }
    let firsts = candidates.iter().filter(|c| !c.continues);
    let texts = firsts.map(|c| &response[c.span.clone()]);
    texts.collect::<HashSet<_>>().len() > limit
}

#[cfg(test)]
mod tests;

//! Answers that nothing marks: a short text that is one, and the last formula of a longer one.

use std::ops::Range;

use memchr::memmem;

use super::{prose, trim};

/// The longest text that is taken as one answer, in bytes.
const MAX_WHOLE: usize = 200;
/// The longest formula that is taken as an answer, in bytes. A bound, so that many unfinished ones
/// cost linear time.
pub(super) const MAX_FORMULA: usize = 4096;
/// Words that may follow a number in a text that is one answer: its unit.
const MAX_UNIT_WORDS: usize = 3;

/// Words that make a sentence of what a number opens. Sorted.
const SENTENCE_WORDS: [&str; 43] = [
    "answer",
    "are",
    "as",
    "be",
    "because",
    "but",
    "can",
    "equals",
    "exactly",
    "gives",
    "had",
    "has",
    "have",
    "hence",
    "here",
    "if",
    "is",
    "it",
    "makes",
    "means",
    "not",
    "now",
    "since",
    "so",
    "solution",
    "steps",
    "that",
    "the",
    "then",
    "there",
    "therefore",
    "they",
    "this",
    "thus",
    "was",
    "we",
    "were",
    "when",
    "where",
    "which",
    "will",
    "with",
    "would",
];

/// Names of months, which may open a date.
pub(super) const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Returns all of `part`, if it is one short line that holds mathematics and no sentence: the text
/// is the answer.
pub(super) fn whole_text(text: &str, part: &Range<usize>) -> Option<Range<usize>> {
    let span = trim::space(text, part.clone());
    let line = &text[span.clone()];
    // A quotation in Markdown.
    let line = line.strip_prefix("> ").unwrap_or(line);
    if line.len() > MAX_WHOLE || line.contains('\n') {
        return None;
    }
    let is_part = line.ends_with(['?', ':', '：']) || line.contains(". ") || has_label(line);
    if is_part || holds_bold(line) {
        return None;
    }
    let is_whole = if holds_mathematics(line) { is_answer(line) } else { is_few_words(line) };
    // What stands after the arrow of a conclusion.
    let conclusion = ["=>", "⇒", "∴"].into_iter().find_map(|sign| line.strip_prefix(sign));
    is_whole.then(|| trim::clean(text, trim::range_in(text, conclusion.unwrap_or(line))))
}

/// Returns whether `line` sets a part of itself in bold, which is then its answer: `8·7/2 = **28**`. The
/// powers of `x**2 + y**2` touch what is before them.
fn holds_bold(line: &str) -> bool {
    let Some((_, rest)) = line.split_once(" **") else {
        return false;
    };
    let opens = rest.starts_with(|c: char| !c.is_whitespace() && c != '*');
    opens && rest.find("**").is_some_and(|end| !rest[..end].ends_with(char::is_whitespace))
}

/// Returns whether `line` is too short for anything but an answer: `x`, `yes`, `(C)`, `sin(x)`.
fn is_few_words(line: &str) -> bool {
    /// The longest such text, in bytes.
    const MAX_BYTES: usize = 40;
    const MAX_WORDS: usize = 3;
    let words =
        || line.split(|c: char| !(c.is_alphanumeric() || c == '\'')).filter(|w| !w.is_empty());
    let is_sentence = |word: &str| {
        let lower = word.to_lowercase();
        lower.contains('\'') || SENTENCE_WORDS.binary_search(&lower.as_str()).is_ok()
    };
    // "no solution"
    let is_denial = words().next().is_some_and(|word| word.eq_ignore_ascii_case("no"));
    line.len() <= MAX_BYTES
        && (1..=MAX_WORDS).contains(&words().count())
        && (is_denial || !words().any(is_sentence))
}

/// Returns whether a bullet or the letter of an option opens the line: `- 5 apples`, `(A) 5`,
/// `B) 6`.
fn has_label(line: &str) -> bool {
    let is_option = |rest: &str| {
        let rest = rest.strip_prefix(|c: char| c.is_ascii_uppercase());
        rest.is_some_and(|rest| rest.starts_with(") ") || rest.starts_with(". "))
    };
    line.starts_with("- ") || is_option(line.strip_prefix('(').unwrap_or(line))
}

/// A digit, a command or a sign of mathematics.
fn holds_mathematics(line: &str) -> bool {
    let is_sign = |c: char| c.is_numeric() || "$=<>^√π∞∅≤≥".contains(c);
    let has_command = memmem::find_iter(line.as_bytes(), b"\\")
        .any(|at| line[at + 1..].starts_with(|c: char| c.is_ascii_alphabetic()));
    has_command || line.contains(is_sign)
}

/// Returns whether `line` is a formula, or a number with a unit of a few words.
fn is_answer(line: &str) -> bool {
    let mut count = 0;
    for word in prose::words(line).filter(|word| !prose::is_figure(word)) {
        let lower = word.to_lowercase();
        let is_sentence = SENTENCE_WORDS.binary_search(&lower.as_str()).is_ok();
        if is_sentence || !word.is_ascii() && word.chars().nth(1).is_none() {
            return false;
        }
        count += 1;
    }
    let inner = maths::unwrapped(line);
    let opens_date = MONTHS.iter().any(|month| inner.starts_with(month));
    let is_number = inner.starts_with(|c: char| c.is_numeric() || "+-−.$€£¥\\([{".contains(c));
    // `Fe2O3`, `Matrix([[1, 2], [3, 4]])`.
    let is_call = inner.find('(').is_some_and(|open| {
        inner[..open].bytes().all(|b| b.is_ascii_alphabetic()) && inner.ends_with(')')
    });
    let is_token = !inner.contains(char::is_whitespace) && !inner.contains(':');
    count == 0 || is_token || count <= MAX_UNIT_WORDS && (opens_date || is_number || is_call)
}

/// Returns the last formula between `$`, `$$`, `\(` or `\[` in `part`, with its delimiters.
pub(super) fn last_formula(text: &str, part: &Range<usize>) -> Option<Range<usize>> {
    let inner = &text[part.clone()];
    let found = [
        last_between(inner, "\\(", "\\)", |formula| !formula.contains('\n')),
        last_between(inner, "\\[", "\\]", |_| true),
        last_dollars(inner),
    ];
    let last = found.into_iter().flatten().max_by_key(|span| span.end)?;
    Some(part.start + last.start..part.start + last.end)
}

/// Returns the last formula that `open` and `shut` enclose, of those that `is_allowed`.
fn last_between(
    text: &str,
    open: &str,
    shut: &str,
    is_allowed: fn(&str) -> bool,
) -> Option<Range<usize>> {
    let mut limit = text.len();
    // Start of the last opening mark that was tried: no stretch is searched twice.
    let mut right = text.len();
    while let Some(start) = memmem::rfind(&text.as_bytes()[..limit], open.as_bytes()) {
        limit = start;
        // `\\(` and `\\[2pt]` are line breaks.
        if text[..start].ends_with('\\') {
            continue;
        }
        let inner = start + open.len();
        let window = right.min(inner + MAX_FORMULA);
        let length = memmem::find(&text.as_bytes()[inner..window], shut.as_bytes());
        if let Some(length) = length
            && is_formula(&text[inner..inner + length])
            && is_allowed(&text[inner..inner + length])
        {
            return Some(start..inner + length + shut.len());
        }
        right = start;
    }
    None
}

/// Returns the last formula between dollar signs. A sign opens or shuts only where the other one
/// fits, so that amounts of money are none.
fn last_dollars(text: &str) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let is_bare = |at: &usize| *at == 0 || bytes[at - 1] != b'\\';
    let mut shut: Option<Range<usize>> = None;
    let mut signs = memchr::memrchr_iter(b'$', bytes).filter(is_bare).peekable();
    while let Some(at) = signs.next() {
        let end = at + 1;
        let start = match signs.peek() {
            Some(before) if before + 1 == at => signs.next().unwrap_or(at),
            Some(_) | None => at,
        };
        match shut {
            Some(shut) if fits(text, start..end, &shut) => return Some(start..shut.end),
            Some(_) | None => shut = Some(start..end),
        }
    }
    None
}

/// Returns whether the signs at `open` and `shut` enclose a formula.
pub(super) fn fits(text: &str, open: Range<usize>, shut: &Range<usize>) -> bool {
    let inner = &text[open.end..shut.start];
    let is_display = open.len() == 2;
    let is_price = text[shut.end..].starts_with(|c: char| c.is_ascii_digit());
    // Amounts leave no space before the sign of the next one or leave it on one side only.
    let is_even = inner.starts_with(char::is_whitespace) == inner.ends_with(char::is_whitespace);
    open.len() == shut.len()
        && inner.len() <= MAX_FORMULA
        && (is_display || is_even && !is_price && !inner.contains('\n'))
        && is_formula(inner)
}

/// Returns whether `inner` is not empty and holds no prose, unless it is one word, which may be the
/// answer itself.
pub(super) fn is_formula(inner: &str) -> bool {
    let only = inner.trim();
    let is_word = only.chars().all(char::is_alphabetic);
    !only.is_empty() && (is_word || !prose::words(only).any(prose::is_prose))
}

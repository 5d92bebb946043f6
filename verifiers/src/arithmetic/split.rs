//! From a solution to its steps.

use std::ops::Range;

use super::config::Splitter;

/// Words before a full stop that does not end a sentence.
const TITLES: [&str; 9] = ["mr", "mrs", "ms", "dr", "st", "prof", "e.g", "i.e", "vs"];
/// Words before a full stop that ends a sentence only where a capital letter follows.
const ABBREVIATIONS: [&str; 9] = ["no", "etc", "approx", "ft", "in", "lb", "lbs", "oz", "min"];

/// Returns the steps of a solution. They are half-open byte ranges in order, without overlap, none
/// of them empty, and hold all of the text that is not white space. Work is linear in the text.
pub fn split(text: &str, splitter: Splitter) -> Vec<Range<usize>> {
    match splitter {
        Splitter::Lines => lines(text).collect(),
        Splitter::BlankLines => join(lines_and_blanks(text), |_, after_blank| after_blank),
        Splitter::Numbered => {
            join(lines_and_blanks(text), |line, _| starts_numbered_step(&text[line]))
        }
        Splitter::Sentences => lines(text).flat_map(|line| sentences(text, line)).collect(),
    }
}

/// Returns the range of `text` within `range`, without white space around it.
fn trim(text: &str, range: Range<usize>) -> Range<usize> {
    let slice = &text[range.clone()];
    let start = range.start + (slice.len() - slice.trim_start().len());
    start..start.max(range.start + slice.trim_end().len())
}

/// Returns the lines that hold something, trimmed.
fn lines(text: &str) -> impl Iterator<Item = Range<usize>> {
    lines_and_blanks(text).filter_map(|(line, _)| (!line.is_empty()).then_some(line))
}

/// Returns the lines, trimmed, each with whether a blank one stands before it.
fn lines_and_blanks(text: &str) -> impl Iterator<Item = (Range<usize>, bool)> {
    let mut start = 0;
    let mut after_blank = false;
    text.split_inclusive('\n').map(move |line| {
        let range = trim(text, start..start + line.len());
        start += line.len();
        let blank = std::mem::replace(&mut after_blank, range.is_empty());
        (range, blank)
    })
}

/// Joins lines into steps; a line for which `starts` holds begins a new one.
fn join(
    lines: impl Iterator<Item = (Range<usize>, bool)>,
    starts: impl Fn(Range<usize>, bool) -> bool,
) -> Vec<Range<usize>> {
    let mut steps: Vec<Range<usize>> = Vec::new();
    for (line, after_blank) in lines {
        if line.is_empty() {
            continue;
        }
        let new = starts(line.clone(), after_blank);
        match steps.last_mut() {
            Some(step) if !new => step.end = line.end,
            Some(_) | None => steps.push(line),
        }
    }
    steps
}

/// Returns whether `line` starts a numbered step: `1.`, `2)`, `(3)`, `Step 4:`, `**Step 5**`,
/// `### Step 6`.
fn starts_numbered_step(line: &str) -> bool {
    let line = line.trim_start_matches(['#', '*', '_', '>', ' ']);
    let named = line
        .get(..4)
        .filter(|name| name.eq_ignore_ascii_case("step"))
        .map(|_| line[4..].trim_start());
    if let Some(rest) = named {
        return rest.starts_with(|c: char| c.is_ascii_digit());
    }
    let inside = line.strip_prefix('(').unwrap_or(line);
    let rest = inside.trim_start_matches(|c: char| c.is_ascii_digit());
    let n_digits = inside.len() - rest.len();
    let mut after = rest.chars();
    let closes = match after.next() {
        Some(')') => true,
        Some('.') => inside.len() == line.len(),
        _ => false,
    };
    (1..=3).contains(&n_digits) && closes && after.next().is_none_or(char::is_whitespace)
}

/// Returns the sentences of the line at `range`.
fn sentences(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let line = &text[range.clone()];
    let mut steps = Vec::new();
    let mut start = 0;
    for (at, c) in line.char_indices() {
        let end = at + c.len_utf8();
        if matches!(c, '.' | '!' | '?') && ends_sentence(&line[start..at], &line[end..]) {
            steps.push(trim(text, range.start + start..range.start + end));
            start = end;
        }
    }
    let rest = trim(text, range.start + start..range.end);
    if !rest.is_empty() {
        steps.push(rest);
    }
    steps
}

/// Returns whether a full stop between `before` and `after` ends a sentence: a blank follows it,
/// and it belongs neither to a list marker nor to an abbreviation.
fn ends_sentence(before: &str, after: &str) -> bool {
    if !after.starts_with(char::is_whitespace) {
        return false;
    }
    let sentence = before.trim_start();
    let is_marker =
        (1..=3).contains(&sentence.len()) && sentence.bytes().all(|byte| byte.is_ascii_digit());
    let last_word = last_word(before);
    let is_in = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(last_word));
    let capital_follows = after.trim_start().starts_with(char::is_uppercase);
    let is_abbreviation = is_in(&TITLES) || (is_in(&ABBREVIATIONS) && !capital_follows);
    !is_marker && !is_abbreviation
}

/// Returns the last word of `text`, from its last few bytes only.
fn last_word(text: &str) -> &str {
    const LONGEST: usize = 8;
    let mut start = text.len().saturating_sub(LONGEST);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let tail = &text[start..];
    tail.rsplit(char::is_whitespace).next().unwrap_or(tail)
}

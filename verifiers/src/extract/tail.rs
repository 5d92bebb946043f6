//! The last number of a text, for responses that mark no answer.
//!
//! The expression around the last digit is taken completely. The 2 of `3/11/2`, of `2\pi` or of
//! `$\sqrt{2}$` is not an answer, but these texts are candidates, which the verifier reads
//! completely or not at all.

use std::ops::Range;

use memchr::memmem;

use super::{trim, unmarked};

/// Words and signs after a number that change its value.
const SUFFIXES: [&str; 20] = [
    "%",
    "\\%",
    "％",
    "percent",
    "pct",
    "per cent",
    "hundred",
    "thousand",
    "million",
    "billion",
    "trillion",
    "dozen",
    "Prozent",
    "pour cent",
    "por ciento",
    "por cento",
    "per cento",
    "процентов",
    "процента",
    "प्रतिशत",
];

/// Returns the last number in `part`.
pub(super) fn last_number(text: &str, part: &Range<usize>) -> Option<Range<usize>> {
    let mut end = part.end;
    loop {
        let digit = text[part.start..end].rfind(is_digit)? + part.start;
        let token = token_around(text, part, digit);
        if !is_word(&text[token.clone()]) {
            return Some(number_span(text, part, &token));
        }
        end = token.start;
    }
}

/// Digits and vulgar fractions such as `½`.
pub(super) fn is_digit(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, '¼'..='¾' | '⅐'..='⅞' | '０'..='９' | '٠'..='٩' | '۰'..='۹')
}

/// Returns the run of characters around `at` that no separator interrupts.
pub(super) fn token_around(text: &str, part: &Range<usize>, at: usize) -> Range<usize> {
    let start = text[part.start..at].char_indices().rev().find(|(_, c)| is_separator(*c));
    let start = start.map_or(part.start, |(i, c)| part.start + i + c.len_utf8());
    let length = text[at..part.end].find(is_separator);
    let end = length.map_or(part.end, |length| at + length);
    start..with_unit(text, end, part.end)
}

/// Returns the end of a Chinese unit whose first character alone would change the number before it:
/// `千克`.
fn with_unit(text: &str, end: usize, limit: usize) -> usize {
    let next = text[end..limit].chars().next();
    let is_unit = match next {
        Some('克' | '米' | '瓦' | '卡' | '升') => {
            text[..end].ends_with(['千', '分', '百', '万'])
        }
        Some('钟') => text[..end].ends_with('分'),
        Some(_) | None => false,
    };
    next.filter(|_| is_unit).map_or(end, |c| end + c.len_utf8())
}

/// Returns whether `c` separates numbers from words. Chinese is written without spaces, so its
/// characters separate, except those that change the number before them.
fn is_separator(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_whitespace()
            || c == '\u{b}'
            || matches!(c, '=' | '<' | '>' | '"' | '`' | ';' | '|');
    }
    let is_letter = matches!(c, '、'..='〟' | '\u{3040}'..='\u{30FB}' | '\u{3400}'..='\u{9FFF}');
    if is_letter {
        return !"十百千万萬亿億分半多几余".contains(c);
    }
    matches!(c, '“' | '”' | '≈' | '，' | '：' | '；' | '！' | '？' | '（' | '）')
        || c.is_whitespace()
}

/// Whether a token is a word with a digit in it, such as `H2O`, and so not a number.
pub(super) fn is_word(token: &str) -> bool {
    let token = token.trim_matches(|c: char| c.is_ascii_punctuation() && c != '\\' && c != '$');
    token.starts_with(char::is_alphabetic) && token.chars().all(char::is_alphanumeric)
}

/// Returns the number whose last digit stands in `token`, with all that belongs to it.
pub(super) fn number_span(text: &str, part: &Range<usize>, token: &Range<usize>) -> Range<usize> {
    if let Some(formula) = formula_around(text, part, token) {
        return completed(text, part, formula);
    }
    let core = without_exclamation(text, part, undecorated(text, token.clone()));
    let core = with_quotient_of_units(text, part, core);
    let line = line_around(text, part, &core);
    let line = sentence_around(text, line, &core);
    let line = within_bold(text, line, &core);
    if is_operand(&text[line.start..core.start], &text[core.end..line.end]) {
        return trim::space(text, line);
    }
    let core = with_prefix(text, line.start, core);
    with_suffix(text, part, core)
}

/// Returns a formula without its delimiters, or with what changes its value and stands behind it.
pub(super) fn completed(text: &str, part: &Range<usize>, formula: Range<usize>) -> Range<usize> {
    let longer = with_suffix(text, part, formula.clone());
    if longer == formula { trim::clean(text, formula) } else { longer }
}

/// Returns the formula between `$`, `\(` or `\[` that holds `token`, with its delimiters.
fn formula_around(text: &str, part: &Range<usize>, token: &Range<usize>) -> Option<Range<usize>> {
    let line = line_around(text, part, token);
    let digit = token.start + text[token.clone()].rfind(is_digit)?;
    for (open, shut, scope) in [(b'(', b')', &line), (b'[', b']', part)] {
        let before = &text.as_bytes()[scope.start..digit];
        let last = |sign: u8| {
            memchr::memrchr_iter(b'\\', before).find(|at| before.get(at + 1) == Some(&sign))
        };
        if let Some(start) = last(open).filter(|start| last(shut).is_none_or(|end| end < *start))
            && let Some(length) = memmem::find(&text.as_bytes()[digit..scope.end], &[b'\\', shut])
        {
            return Some(scope.start + start..digit + length + 2);
        }
    }
    let formula = dollars_around(text, &line, digit)?;
    let inner = text[formula.clone()].trim_matches('$');
    unmarked::is_formula(inner).then_some(formula)
}

/// Returns the formula between `$` or `$$`: on its line an odd number of them opens before it, and
/// one follows. (A lone `$` before a number is a currency sign.)
fn dollars_around(text: &str, line: &Range<usize>, digit: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let mut open = None;
    let mut at = line.start;
    while let Some(rest) = bytes.get(at..line.end) {
        at += memchr::memchr2(b'$', b'\\', rest)?;
        if bytes[at] == b'\\' {
            at += 2;
            continue;
        }
        let run = bytes[at..line.end].iter().take_while(|b| **b == b'$').count();
        match open {
            Some(start) if at > digit => return Some(start..at + run),
            None if at > digit => return None,
            Some(_) => open = None,
            None => open = Some(at),
        }
        at += run;
    }
    None
}

/// Returns an amount in a unit in Chinese with the unit that it is divided by: `60千米/小时`.
fn with_quotient_of_units(text: &str, part: &Range<usize>, core: Range<usize>) -> Range<usize> {
    /// Characters of the unit below the line.
    const MAX_LETTERS: usize = 2;
    let is_chinese = |c: char| ('\u{4E00}'..='\u{9FFF}').contains(&c);
    let rest = &text[core.end..part.end];
    let above = rest.chars().take(MAX_LETTERS).take_while(|c| is_chinese(*c));
    let above: usize = above.map(char::len_utf8).sum();
    let Some(below) = rest[above..].strip_prefix('/') else {
        return core;
    };
    let length = below.chars().take(MAX_LETTERS).take_while(|c| is_chinese(*c));
    let length: usize = length.map(char::len_utf8).sum();
    let end = core.end + above + 1 + length;
    let is_quotient = text[..core.end + above].ends_with(is_chinese) && length > 0;
    if is_quotient { core.start..end } else { core }
}

/// Returns `core` without the exclamation mark of its sentence. In prose a number at the end of a
/// sentence is exclaimed more often than it is a factorial, which a formula would show.
fn without_exclamation(text: &str, part: &Range<usize>, core: Range<usize>) -> Range<usize> {
    let after = text[core.end..part.end].trim_start_matches(['*', '_', '"', '”']);
    let next = after.trim_start();
    let is_apart = next.len() < after.len() && next.starts_with(char::is_uppercase);
    let ends = next.is_empty() || after.starts_with('\n') || is_apart;
    match text[core.clone()].strip_suffix('!') {
        Some(number) if ends && number.ends_with(is_digit) => core.start..core.end - 1,
        Some(_) | None => core,
    }
}

/// Returns the sentence of `line` that holds `core`: full stops before capital letters part it.
fn sentence_around(text: &str, line: Range<usize>, core: &Range<usize>) -> Range<usize> {
    let ends = |at: usize| {
        let next = text[at + 1..line.end].strip_prefix(' ');
        next.is_some_and(|next| next.starts_with(char::is_uppercase))
    };
    let stops = |range: Range<usize>| {
        let from = range.start;
        memchr::memchr_iter(b'.', text[range].as_bytes()).map(move |at| from + at)
    };
    let start = stops(line.start..core.start).rfind(|at| ends(*at));
    let end = stops(core.end..line.end).find(|at| ends(*at));
    start.map_or(line.start, |at| at + 2)..end.unwrap_or(line.end)
}

/// Returns the part of `line` around `core` on its side of a bold result: of `50 − 22 = **28**`.
fn within_bold(text: &str, line: Range<usize>, core: &Range<usize>) -> Range<usize> {
    if memchr::memchr(b'*', &text.as_bytes()[line.clone()]).is_none() {
        return line.start..line.end.max(core.end);
    }
    let opens = |at: &usize| text[line.start..*at].trim_end().ends_with('=');
    let before = text[line.start..core.start].rfind("**").map(|at| line.start + at).filter(opens);
    let after = text[core.end..line.end].find("**").map(|at| core.end + at).filter(opens);
    let end = after.map_or(line.end, |at| {
        line.start + text[line.start..at].trim_end().trim_end_matches('=').trim_end().len()
    });
    before.map_or(line.start, |at| at + 2)..end.max(core.end)
}

fn line_around(text: &str, part: &Range<usize>, token: &Range<usize>) -> Range<usize> {
    let start = memchr::memrchr(b'\n', &text.as_bytes()[part.start..token.start]);
    let start = start.map_or(part.start, |length| part.start + length + 1);
    let length = memchr::memchr(b'\n', &text.as_bytes()[token.end..part.end]);
    start..length.map_or(part.end, |length| token.end + length)
}

/// Returns `token` without the punctuation of its sentence and without enclosing marks.
fn undecorated(text: &str, token: Range<usize>) -> Range<usize> {
    let mut inner = &text[token];
    for _ in 0..maths::MAX_LAYERS {
        let before = inner.len();
        // The last digits of a number: "ends in ...01".
        inner = inner.strip_prefix("...").or_else(|| inner.strip_prefix('…')).unwrap_or(inner);
        inner = inner.trim_end_matches([',', ':', '*', '_', '\'', '’']);
        inner = inner.trim_start_matches([',', ':', '*', '_', '\'', '‘', '~']);
        for (open, shut) in [('(', ')'), ('[', ']')] {
            let opens = inner.starts_with(open);
            let shuts = inner.ends_with(shut);
            if opens && (shuts || !inner.contains(shut)) {
                inner = &inner[1..];
            }
            if shuts && (opens || !inner.contains(open)) {
                inner = &inner[..inner.len() - 1];
            }
        }
        inner = maths::unwrapped(inner);
        if inner.len() == before {
            break;
        }
    }
    trim::range_in(text, inner)
}

/// Returns whether a number between `before` and `after` on its line is part of a longer
/// expression.
fn is_operand(before: &str, after: &str) -> bool {
    let after = after.trim_start();
    let command = after.strip_prefix('\\');
    let is_factor = command.is_some_and(|c| {
        let is_text = ["text", "mathrm", "mbox"].iter().any(|name| c.starts_with(name));
        c.starts_with(char::is_alphabetic) && !is_text
    });
    if is_factor || after.starts_with(['^', '+', '×', '·', '÷', '/']) {
        return true;
    }
    let before = before.trim_end();
    let Some(operator) = before.chars().next_back() else {
        return false;
    };
    let operand = before[..before.len() - operator.len_utf8()].trim_end();
    let ends_value = operand.ends_with(|c: char| is_digit(c) || matches!(c, ')' | '}'));
    match operator {
        '-' | '−' => ends_value,
        '+' | '*' | '/' | '^' | '×' | '·' | '÷' => {
            ends_value || operand.ends_with(char::is_alphabetic)
        }
        _ => false,
    }
}

/// Returns `core` with the whole part of a mixed number (`1 1/2`) or the groups before it
/// (`12 500`).
fn with_prefix(text: &str, line_start: usize, core: Range<usize>) -> Range<usize> {
    let mut start = core.start;
    let is_fraction = text[core.clone()].contains(['/', '⁄', '¼', '½', '¾', '⅓', '⅔']);
    loop {
        let group = text[start..core.end].bytes().take_while(u8::is_ascii_digit).count();
        let Some(before) = text[line_start..start].strip_suffix(' ') else {
            break;
        };
        let digits = before.bytes().rev().take_while(u8::is_ascii_digit).count();
        let is_whole = before[..before.len() - digits]
            .chars()
            .next_back()
            .is_none_or(|c| c.is_whitespace() || matches!(c, '=' | '>' | '(' | '-' | '−' | '$'));
        let joins = if is_fraction { start == core.start } else { group == 3 };
        if !is_whole || !joins || !(1..=3).contains(&digits) {
            break;
        }
        start -= digits + 1;
    }
    start..core.end
}

/// Returns `core` with a percent sign or a scale word after it.
fn with_suffix(text: &str, part: &Range<usize>, core: Range<usize>) -> Range<usize> {
    let after = &text[core.end..part.end];
    let rest = after.trim_start_matches(' ');
    let first = rest.bytes().next();
    let found = SUFFIXES.iter().filter(|suffix| suffix.bytes().next() == first).find(|suffix| {
        let next = rest.strip_prefix(**suffix);
        next.is_some_and(|next| !next.starts_with(char::is_alphanumeric))
    });
    let length = found.map_or(0, |suffix| after.len() - rest.len() + suffix.len());
    core.start..core.end + length
}

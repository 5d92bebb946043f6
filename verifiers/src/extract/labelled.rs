//! Answers that a label announces: `<answer>`, `####`, `A:`, "the answer is".

use std::ops::Range;

use memchr::{memchr, memmem};

use super::{FoundAnswer, Note, phrases, trim};

/// Bytes within which a formula that starts a line of its own must end. A bound, so that many
/// unfinished formulas cost linear time.
const FORMULA_WINDOW: usize = 4096;

/// Appends `<answer>…</answer>` and `[ANSWER]…[/ANSWER]`; an unclosed one runs to the next one or to
/// the end.
pub(super) fn find_tags(text: &str, part: Range<usize>, out: &mut Vec<FoundAnswer>) {
    for (open, shut) in [("<answer>", "</answer>"), ("[ANSWER]", "[/ANSWER]")] {
        let bytes = &text.as_bytes()[..part.end];
        if memchr(open.as_bytes()[0], &bytes[part.start..]).is_none() {
            continue;
        }
        let starts = memmem::find_iter(&bytes[part.start..], open.as_bytes());
        let mut starts = starts.map(|at| part.start + at).peekable();
        while let Some(start) = starts.next() {
            let limit = starts.peek().copied().unwrap_or(part.end);
            let from = start + open.len();
            let closed = memmem::find(&bytes[from..limit], shut.as_bytes());
            let span = trim::space(text, from..closed.map_or(limit, |length| from + length));
            let note = if closed.is_some() { Note::None } else { Note::Unclosed };
            out.push(FoundAnswer::new(span, note));
        }
    }
    out.sort_by_key(|found| found.span.start);
}

/// Appends what follows `####`, up to the end of its line. More or fewer marks are a heading, and
/// so are words that more text follows; a heading "Final answer" is a label of the line after it.
pub(super) fn find_hash_marks(text: &str, part: Range<usize>, out: &mut Vec<FoundAnswer>) {
    let bytes = &text.as_bytes()[..part.end];
    if memchr(b'#', &bytes[part.start..]).is_none() {
        return;
    }
    let mut starts = memmem::find_iter(&bytes[part.start..], b"####")
        .map(|at| part.start + at)
        .filter(|at| *at == part.start || bytes[at - 1] != b'#')
        .filter(|at| bytes.get(at + 4) != Some(&b'#'))
        .peekable();
    while let Some(start) = starts.next() {
        let limit = starts.peek().copied().unwrap_or(part.end);
        let line = trim::space(text, line_from(bytes, start + 4, limit));
        let heading =
            text[line.clone()].trim_end_matches([':', '*']).trim_start_matches('*').trim();
        let is_label = ["answer", "final answer", "the answer", "the final answer"]
            .iter()
            .any(|label| heading.eq_ignore_ascii_case(label));
        let span = if is_label {
            value(text, line.end, limit)
        } else if is_section_heading(text, &line, part.end) {
            continue;
        } else {
            line
        };
        out.push(FoundAnswer::new(span, Note::None));
    }
}

/// Returns whether words without a digit head a section that follows: `#### Conclusion` opens a
/// section of a Markdown text and answers nothing.
fn is_section_heading(text: &str, line: &Range<usize>, end: usize) -> bool {
    let words = !line.is_empty() && !text[line.clone()].contains(|c: char| c.is_numeric());
    words && !text[line.end..end].trim_start().is_empty()
}

/// Appends the values of lines `A: …`, `Answer: …`, `**Final answer:** …`.
///
/// An `A:` line directly before a `B:` line is an option of a multiple choice and no answer.
pub(super) fn find_lines(text: &str, part: Range<usize>, out: &mut Vec<FoundAnswer>) {
    let bytes = &text.as_bytes()[..part.end];
    let mut start = part.start;
    while start < part.end {
        let line = line_from(bytes, start, part.end);
        start = line.end + 1;
        let Some(label_length) = line_label(&text[line.clone()]) else {
            continue;
        };
        if text[line.clone()].trim_start().starts_with("A:") && is_option_b(bytes, start) {
            continue;
        }
        let span = value(text, line.start + label_length, part.end);
        if heads_solution(text, line.start..line.start + label_length, part.end) {
            continue;
        }
        if span.is_empty() && label_length == line.len() && !text[line].contains([':', '：']) {
            // A heading over nothing.
            continue;
        }
        out.push(FoundAnswer::new(span, Note::None));
    }
}

/// Returns whether `label` heads a solution of several lines, and no answer: `解答:` on a line of its own.
fn heads_solution(text: &str, label: Range<usize>, limit: usize) -> bool {
    if !text[label.clone()].contains("解答") {
        return false;
    }
    let rest = text[label.end..limit].trim_start_matches(['*', ' ', '\r']);
    let body = rest.strip_prefix('\n').map_or("", str::trim_start);
    let goes_on = |at: usize| body[at..].contains(|c: char| !c.is_whitespace());
    body.find('\n').is_some_and(goes_on)
}

fn is_option_b(bytes: &[u8], line_start: usize) -> bool {
    let rest = bytes.get(line_start..).unwrap_or_default();
    rest.trim_ascii_start().starts_with(b"B:")
}

/// Counts the bytes of the label that opens `line`, with its colon and Markdown.
fn line_label(line: &str) -> Option<usize> {
    let is_mark = |c: char| c.is_whitespace() || matches!(c, '*' | '#' | '>' | '_');
    let rest = line.trim_start_matches(is_mark);
    let english = || {
        let rest = without_prefix(rest, "the ").unwrap_or(rest);
        let rest = without_prefix(rest, "final ").unwrap_or(rest);
        let correct = without_prefix(rest, "correct ");
        let option = correct.and_then(|rest| {
            ["option", "choice", "statement"].iter().find_map(|noun| without_prefix(rest, noun))
        });
        let answer = || without_prefix(correct.unwrap_or(rest), "answer");
        phrases::after_colon(option.or_else(answer)?)
    };
    let after = rest
        .strip_prefix("A:")
        .or_else(english)
        .or_else(|| heading(line, rest))
        .or_else(|| phrases::label(rest))?;
    Some(line.len() - after.len())
}

/// Returns the empty rest of a line that is nothing but a bold or Markdown heading "Final answer",
/// which is a label of what follows.
fn heading<'a>(line: &'a str, rest: &'a str) -> Option<&'a str> {
    let is_marked = line.trim_start().starts_with(['*', '#', '_']);
    let rest = without_prefix(rest, "the ").unwrap_or(rest);
    let after =
        without_prefix(rest, "final answer")?.trim_start_matches(['*', '_', '#', ' ', '\t', '\r']);
    (is_marked && after.is_empty()).then_some(after)
}

/// Returns `text` without `prefix` in any case.
fn without_prefix<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let start = text.get(..prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

/// Appends what follows "answer is", "answer:" and the like, up to the end of the sentence.
pub(super) fn find_phrases(text: &str, part: Range<usize>, out: &mut Vec<FoundAnswer>) {
    let mut phrases = phrases::find_phrases(text, &part).into_iter().peekable();
    while let Some((start, from)) = phrases.next() {
        let limit = phrases.peek().map_or(part.end, |next| next.0);
        if heads_solution(text, start..from, limit) {
            continue;
        }
        let line = value(text, from, limit);
        let sentence = line.start..sentence_end(text, line);
        let value = phrases::without_last_verb(&text[sentence.clone()]);
        let span = sentence.start..sentence.start + value.len();
        out.push(FoundAnswer::new(span, Note::None));
    }
}

/// Returns the answer inside a labelled text, without its wrappers: the text after the last answer
/// phrase, if there is one; of a sentence such as "The volume is 120", only "120".
pub(super) fn narrow(text: &str, span: Range<usize>) -> Range<usize> {
    if super::is_numeric(&text[span.clone()]) {
        return trim::clean(text, span);
    }
    let mut candidates = Vec::new();
    find_phrases(text, span.clone(), &mut candidates);
    // A phrase in the midst of a formula announces nothing outside of it.
    let is_whole = |candidate: &FoundAnswer| {
        let text = &text[candidate.span.clone()];
        text.matches('{').count() == text.matches('}').count()
    };
    let inner = candidates.pop().filter(is_whole).map_or(span, |candidate| candidate.span);
    let inner = trim::clean(text, inner);
    // Bold text that opened before the label shuts behind the answer.
    let is_odd = text[inner.clone()].matches("**").count() % 2 == 1;
    let bare = text[inner.clone()].strip_suffix("**").filter(|_| is_odd);
    let inner = bare.map_or(inner.clone(), |bare| inner.start..inner.start + bare.len());
    let inner = inner.start..inner.start + text[inner.clone()].trim_end_matches('。').len();
    let inner = without_noun(text, inner);
    match predicate(&text[inner.clone()]) {
        Some(value) => {
            let value = inner.end - value.len()..inner.end;
            trim::clean(text, value.start..sentence_end(text, value))
        }
        None => without_exclamation(text, inner),
    }
}

/// Returns the letter of `option (B)`.
fn without_noun(text: &str, span: Range<usize>) -> Range<usize> {
    const NOUNS: [&str; 14] = [
        "option ",
        "choice ",
        "letter ",
        "the letter ",
        "la ",
        "die ",
        "l'option ",
        "la opción ",
        "la opzione ",
        "a alternativa ",
        "a opção ",
        "la réponse ",
        "вариант ",
        "antwort ",
    ];
    let rest = NOUNS.iter().find_map(|noun| without_prefix(&text[span.clone()], noun));
    let is_letter = |rest: &&str| {
        let letter = rest.trim_matches(['(', ')', '.', '*']);
        letter.len() == 1 && letter.bytes().all(|b| b.is_ascii_uppercase())
    };
    rest.filter(is_letter).map_or(span.clone(), |rest| span.end - rest.len()..span.end)
}

/// Returns a number without the exclamation mark of its sentence.
fn without_exclamation(text: &str, span: Range<usize>) -> Range<usize> {
    let is_formula = text[span.end..].starts_with(['$', '\\']);
    let number = text[span.clone()].strip_suffix('!').filter(|_| !is_formula);
    match number {
        Some(number) if number.bytes().all(|b| b.is_ascii_digit() || b == b',') => {
            span.start..span.end - 1
        }
        Some(_) | None => span,
    }
}

/// Returns the predicate of a simple sentence: "120" of "The volume is 120", "5" of "一共是
/// 5".
fn predicate(sentence: &str) -> Option<&str> {
    let is_chinese = |c: char| matches!(c, '\u{3400}'..='\u{9FFF}');
    if sentence.starts_with(is_chinese) {
        let value = sentence.rsplit(['是', '为', '為']).next()?;
        let is_value = value.len() < sentence.len() && value.contains(|c: char| c.is_numeric());
        return is_value.then(|| value.trim_start());
    }
    let rest = without_prefix(sentence, "the ")?;
    let (_, value) = rest.split_once(" is ")?;
    (!value.contains(" is ")).then_some(value)
}

/// Returns the text after a label: the rest of its line or, if that is empty, the next line that is
/// not; a displayed formula is taken whole.
fn value(text: &str, from: usize, limit: usize) -> Range<usize> {
    let bytes = &text.as_bytes()[..limit];
    let is_mark = |c: char| c.is_whitespace() || matches!(c, '*' | '_');
    let blank = text[from..limit].trim_start_matches(is_mark);
    let first = limit - blank.len();
    // Markdown that opens at the value belongs to it: `Answer: **5**` but `**Answer:** 5`.
    let marks = text[from..first].trim_end_matches(['*', '_']);
    let start = from + marks.len();
    let line = trim::space(text, line_from(bytes, start, limit));
    // "There are exactly two such functions:" leads to the display after it.
    let leads = line.len() > 1 && text[line.clone()].ends_with([':', '：']);
    let after = if leads { text[line.end..limit].trim_start() } else { "" };
    let is_display = after.starts_with("$$") || after.starts_with("\\[");
    let from = limit - after.len();
    let line = if is_display { trim::space(text, line_from(bytes, from, limit)) } else { line };
    let line = line.start..line.start + without_bold_end(&text[line]).len();
    for (open, shut) in [("\\[", "\\]"), ("$$", "$$")] {
        if text[line.clone()].starts_with(open) {
            let inner = line.start + open.len();
            let window = inner..limit.min(inner + FORMULA_WINDOW);
            if let Some(length) = memmem::find(&bytes[window], shut.as_bytes()) {
                let end = line_from(bytes, inner + length, limit).end;
                return trim::space(text, line.start..end);
            }
        }
    }
    line
}

/// Returns `line` without the `**` that closes bold text opened before it, as in `**Answer: 5**`.
fn without_bold_end(line: &str) -> &str {
    let bold = line.trim_end_matches(['.', ' ']);
    match bold.strip_suffix("**") {
        Some(inner) if inner.matches("**").count() % 2 == 0 => inner,
        Some(_) | None => line,
    }
}

/// Returns the range from `start` to the end of its line or to `limit`.
fn line_from(bytes: &[u8], start: usize, limit: usize) -> Range<usize> {
    let rest = &bytes[start..limit];
    start..memchr(b'\n', rest).map_or(limit, |length| start + length)
}

/// Finds where the first sentence of `span` ends: before a full stop that white space follows,
/// before an ideographic one, or before the wish that few-shot prompts teach.
fn sentence_end(text: &str, span: Range<usize>) -> usize {
    let sentence = &text[span.clone()];
    let bytes = sentence.as_bytes();
    let stop = memchr::memchr_iter(b'.', bytes)
        .find(|at| bytes.get(at + 1).is_some_and(u8::is_ascii_whitespace));
    let wide = sentence.find(['。', '।']);
    let hope = memmem::find(bytes, b" I hope");
    let ends = [stop, wide, hope].into_iter().flatten();
    ends.min().map_or(span.end, |at| span.start + at)
}

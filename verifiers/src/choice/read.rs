//! Forms of labels: alone, in lists, and before the text of a choice.
//!
//! Everything here reads cleaned text completely. A letter in the middle of prose is never a label,
//! and the article `A` is prose.

use super::labels::{Alphabet, ChoiceLabel, LabelSet};

const QUOTES: [char; 7] = ['"', '\'', '“', '”', '‘', '’', '_'];
const ARTICLES: [&str; 2] = ["the", "my"];
const QUALITIES: [&str; 5] = ["correct", "right", "final", "best", "only"];
const NOUNS: [&str; 6] = ["answer", "answers", "option", "options", "choice", "choices"];
const COPULAS: [&str; 2] = ["is", "are"];
/// Words that make `(B) is wrong` a sentence about B and not an answer.
const VERBS: [&str; 6] = ["is", "isn't", "are", "was", "cannot", "can't"];
/// Words that call a choice right, and those that may stand before them: `B is the only right choice`.
const PRAISE: [&str; 3] = ["correct", "right", "best"];
const BEFORE_PRAISE: [&str; 2] = ["only", "final"];
/// Words that begin a reason.
const REASONS: [&str; 2] = ["because", "since"];
/// `Answer: the correct option is B` has two lead-ins; more are prose.
const MAX_LEAD_INS: usize = 3;

/// Labels and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct List {
    pub(super) labels: LabelSet,
    /// Whether an "or" stands between two of them.
    pub(super) either: bool,
}

/// Returns `text` without lead-ins such as `The answer is` and without what surrounds an answer.
pub(super) fn core(text: &str) -> &str {
    let mut text = outer(text);
    for _ in 0..MAX_LEAD_INS {
        match after_lead_in(text) {
            Some(rest) => text = outer(rest),
            None => break,
        }
    }
    text
}

/// Returns `text` without quotes, white space and closing punctuation at its ends.
pub(super) fn outer(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_whitespace() || QUOTES.contains(&c)).trim_end_matches(
        |c: char| {
            c.is_whitespace() || QUOTES.contains(&c) || matches!(c, '.' | ',' | ';' | '!' | '。')
        },
    )
}

/// Returns what follows `the correct answer is:`; `None` if the text does not begin so.
fn after_lead_in(text: &str) -> Option<&str> {
    let rest = skip_word(text, &ARTICLES).unwrap_or(text);
    let rest = skip_word(rest, &QUALITIES).unwrap_or(rest);
    let rest = skip_word(rest, &NOUNS)?;
    let rest = skip_word(rest, &COPULAS).unwrap_or(rest);
    Some(rest.strip_prefix([':', '=']).unwrap_or(rest).trim_start())
}

/// Returns what follows the first word of `text` and white space, if that word is one of `words`.
fn skip_word<'a>(text: &'a str, words: &[&str]) -> Option<&'a str> {
    let in_word = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'\'';
    let (word, rest) = text.split_at(text.bytes().take_while(in_word).count());
    let known = words.iter().any(|known| word.eq_ignore_ascii_case(known));
    (known && !starts_in_word(rest)).then(|| rest.trim_start())
}

/// Returns whether `text` goes on with a character of a word.
fn starts_in_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '\'' | '’'))
}

/// Mark of a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LabelForm {
    /// `(B)`, `[B]`, `{B}`
    Bracketed,
    /// `B)`, `B.`, `B:`
    Marked,
    /// `B`
    Bare,
}

/// Returns the label at the start of `text`, and what follows it.
fn token(text: &str, alphabet: Alphabet) -> Option<(ChoiceLabel, LabelForm, &str)> {
    let mut chars = text.chars();
    let first = chars.next()?;
    if let Some(close) = closing(first) {
        let inner = chars.as_str().trim_start();
        let label = label_at(inner, alphabet)?;
        let rest = inner[1..].trim_start().strip_prefix(close)?;
        return Some((label, LabelForm::Bracketed, rest));
    }
    let label = label_at(text, alphabet)?;
    let rest = &text[1..];
    if starts_in_word(rest) {
        return None;
    }
    if let Some(marked) = rest.strip_prefix([')', ']', ':']) {
        return Some((label, LabelForm::Marked, marked));
    }
    match rest.strip_prefix('.') {
        // `U.S.` and `1.5` are not marked labels.
        Some(marked) if !starts_in_word(marked) => Some((label, LabelForm::Marked, marked)),
        Some(_) => None,
        None => Some((label, LabelForm::Bare, rest)),
    }
}

fn label_at(text: &str, alphabet: Alphabet) -> Option<ChoiceLabel> {
    ChoiceLabel::of(text.chars().next()?).filter(|label| label.alphabet() == alphabet)
}

fn closing(open: char) -> Option<char> {
    match open {
        '(' => Some(')'),
        '[' => Some(']'),
        '{' => Some('}'),
        _ => None,
    }
}

/// Returns the labels of a text that holds nothing else: `B`, `(B)`, `A, C and D`, `[A, C]`.
pub(super) fn list(text: &str, alphabet: Alphabet) -> Option<List> {
    plain_list(text, alphabet).or_else(|| {
        let close = closing(text.chars().next()?)?;
        plain_list(outer(text[1..].strip_suffix(close)?), alphabet)
    })
}

fn plain_list(text: &str, alphabet: Alphabet) -> Option<List> {
    let mut labels = LabelSet::default();
    let mut either = false;
    let mut rest = text;
    loop {
        let (label, form, after) = token(rest, alphabet)?;
        labels.insert(label);
        let after = after.trim_start_matches(QUOTES);
        if after.trim().is_empty() {
            return Some(List { labels, either });
        }
        let gap = separator(after);
        // `(A)(C)` needs nothing in between, and `f(x)` is no list.
        if gap.rest.len() == after.len() && form != LabelForm::Bracketed {
            return None;
        }
        either |= gap.either;
        rest = gap.rest;
    }
}

struct Gap<'a> {
    rest: &'a str,
    either: bool,
}

/// Skips what may stand between two labels.
fn separator(text: &str) -> Gap<'_> {
    let mut either = false;
    let mut rest = text;
    loop {
        let before = rest.len();
        rest = rest.trim_start_matches(|c: char| {
            either |= c == '/' || c == '|';
            c.is_whitespace() || QUOTES.contains(&c) || ",;&+、/|".contains(c)
        });
        if let Some(after) = skip_word(rest, &["and"]) {
            rest = after;
        } else if let Some(after) = skip_word(rest, &["or"]) {
            either = true;
            rest = after;
        }
        if rest.len() == before {
            return Gap { rest, either };
        }
    }
}

/// Returns the labels of `AC`: upper-case letters, each once.
pub(super) fn concatenated(text: &str) -> Option<LabelSet> {
    let mut labels = LabelSet::default();
    for c in text.chars() {
        let label = ChoiceLabel::of(c).filter(|_| c.is_ascii_uppercase())?;
        if !labels.insert(label) {
            return None;
        }
    }
    (labels.len() > 1).then_some(labels)
}

/// Returns a label and the text after it: `B) Paris`, `(B) Paris`, `B - Paris`, `B (Paris)`.
pub(super) fn labelled(text: &str, alphabet: Alphabet) -> Option<(ChoiceLabel, &str)> {
    let (label, form, rest) = token(text, alphabet)?;
    let content = match form {
        LabelForm::Bracketed | LabelForm::Marked => rest.trim_start_matches([':', '.', '-', ' ']),
        LabelForm::Bare => {
            let spaced = rest.trim_start();
            if let Some(after) = spaced.strip_prefix(['-', '–', '—']) {
                // `A-level` is a word and `A - level` is a label with its text.
                (spaced.len() < rest.len() && after.starts_with(' ')).then_some(after)?
            } else {
                spaced.strip_prefix('(')?.strip_suffix(')')?
            }
        }
    };
    let content = content.trim();
    (!content.is_empty() && skip_word(content, &VERBS).is_none()).then_some((label, content))
}

/// Returns the label of `B is correct` and of `B because the others fail`, where the reason names no
/// other label as an answer.
pub(super) fn asserted(text: &str, alphabet: Alphabet) -> Option<ChoiceLabel> {
    let (label, form, rest) = token(text, alphabet)?;
    let rest = rest.trim_start();
    let praised = after_praise(rest);
    if praised.is_some_and(str::is_empty) {
        return Some(label);
    }
    // `a because` is no label: a small letter is prose, but for one that is called right.
    let is_small = form == LabelForm::Bare && text.starts_with(|c: char| c.is_ascii_lowercase());
    if is_small && praised.is_none() {
        return None;
    }
    let rest = praised.unwrap_or(rest);
    let reason = rest.trim_start_matches([',', ';', '–', '—', ' ']);
    let why = skip_word(reason, &REASONS)?;
    (!why.is_empty() && !names_another(why, label)).then_some(label)
}

/// Returns what follows `is correct`, `is the answer` or `is the only right choice`.
fn after_praise(text: &str) -> Option<&str> {
    let rest = skip_word(text, &["is"])?;
    let rest = skip_word(rest, &ARTICLES).unwrap_or(rest);
    let rest = skip_word(rest, &BEFORE_PRAISE).unwrap_or(rest);
    let praised = skip_word(rest, &PRAISE);
    skip_word(praised.unwrap_or(rest), &NOUNS).or(praised)
}

/// Returns whether `text` begins as a reason does.
pub(super) fn is_reason(text: &str) -> bool {
    skip_word(text, &REASONS).is_some()
}

/// Returns whether `content`, the text after `label`, names another label as an answer too.
pub(super) fn names_another(content: &str, label: ChoiceLabel) -> bool {
    let mut joined = false;
    for word in content.split(|c: char| c.is_whitespace() || "/|;".contains(c)) {
        if is_marked_label(word, label) || (joined && is_bare_label(word, label)) {
            return true;
        }
        let bare = word.trim_matches(['(', ')']);
        joined = word.is_empty() && joined
            || word.ends_with([',', '&', '+'])
            || ["or", "and", "option", "choice", "answer"]
                .iter()
                .any(|known| bare.eq_ignore_ascii_case(known));
    }
    false
}

/// Returns whether `word` is `(C)`, `C)`, `C.` or `C:` for a label other than `label`.
fn is_marked_label(word: &str, label: ChoiceLabel) -> bool {
    let Some((other, form, _)) = token(word, label.alphabet()) else {
        return false;
    };
    other != label
        && match form {
            LabelForm::Bracketed => true,
            LabelForm::Marked => {
                word.as_bytes()[1] == b')' || word.as_bytes()[0].is_ascii_uppercase()
            }
            LabelForm::Bare => false,
        }
}

/// Returns whether `word` is `C` or `C,` for a label other than `label`.
fn is_bare_label(word: &str, label: ChoiceLabel) -> bool {
    let word = outer(word);
    word.len() == 1
        && !word.as_bytes()[0].is_ascii_lowercase()
        && label_at(word, label.alphabet()).is_some_and(|other| other != label)
}

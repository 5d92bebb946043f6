//! Comparison of answers in words, and of answers that are compared as written.

use std::borrow::Cow;

use dashu::rational::RBig;
use unicode_normalization::UnicodeNormalization as _;

use super::absence::says_no_solution;
use super::outcome::{AnswerTexts, Comparison};
use super::wordings::{self, WORDINGS};
use crate::answer::{Answer, AnswerForm};
use crate::fuel::{Exhausted, Fuel};
use crate::number::DecimalLiteral;
use crate::sufficiency;

/// The wording for texts that say that nothing is such.
const NONE_SUCH: &str = "nothing is such";

/// Nouns of what the word before them classifies: "right triangle".
const CLASSES: [&str; 17] = [
    "triangle",
    "triangles",
    "point",
    "series",
    "sequence",
    "function",
    "number",
    "matrix",
    "curve",
    "graph",
    "reaction",
    "force",
    "gas",
    "lens",
    "image",
    "bond",
    "bonds",
];

/// Returns the ends of "48.04 to 51.96", which says nothing of whether they belong to it.
pub(super) fn range(answer: &Answer) -> Option<[RBig; 2]> {
    let AnswerForm::Text(text) = &answer.form else {
        return None;
    };
    let (from, to) = text.split_once(" to ")?;
    let number = |text: &str| {
        let text = text.trim();
        let (is_negative, digits) = match text.strip_prefix(['-', '−']) {
            Some(digits) => (true, digits),
            None => (false, text),
        };
        let literal = DecimalLiteral::scan(digits)?;
        let is_whole = literal.byte_len() == digits.len() && literal.byte_len() <= MAX_DIGITS;
        let value = is_whole.then(|| literal.value())?;
        Some(if is_negative { -value } else { value })
    };
    Some([number(from)?, number(to)?])
}

/// Digits of the end of a range.
const MAX_DIGITS: usize = 19;

/// Returns whether two forms may be words: a text on either side, or letters that read as a
/// product.
pub(super) fn may_be_words(gold: &AnswerForm, candidate: &AnswerForm) -> bool {
    let is_text = |form: &AnswerForm| matches!(form, AnswerForm::Text(_));
    is_text(gold) || is_text(candidate)
}

/// Decides whether both sides are the same letters in the same case, with nothing but typesetting
/// around them: `E` and `\text{E}`, whatever else these may stand for.
pub(super) fn are_same_letters(texts: AnswerTexts<'_>, fuel: &mut Fuel) -> Result<bool, Exhausted> {
    let bytes = texts.gold.len() + texts.candidate.len();
    fuel.spend(1 + bytes as u64 / 8)?;
    let letters = |text: &str| without_typesetting(text).trim().to_owned();
    let gold = letters(texts.gold);
    let is_word = !gold.is_empty() && gold.chars().all(char::is_alphabetic);
    Ok(is_word && gold == letters(texts.candidate))
}

/// Compares the sides as words; `None` if either has no letters.
pub(super) fn compare(
    texts: AnswerTexts<'_>,
    fuel: &mut Fuel,
) -> Result<Option<Comparison>, Exhausted> {
    let bytes = texts.gold.len() + texts.candidate.len();
    fuel.spend(1 + bytes as u64 / 8)?;
    let (gold, candidate) = (words(texts.gold), words(texts.candidate));
    if !gold.chars().any(char::is_alphabetic) || !candidate.chars().any(char::is_alphabetic) {
        return Ok(None);
    }
    let (own, other) = (wordings::meaning(&gold), wordings::meaning(&candidate));
    // That no number is such, and that there is no solution, is one.
    let denies = |meaning: &str| matches!(meaning, "does not exist" | "no solution");
    let is_same = gold == candidate
        || own == other
        || own == NONE_SUCH && denies(other)
        || other == NONE_SUCH && denies(own);
    let is_same =
        is_same || skeleton(texts.gold).is_some_and(|own| Some(own) == skeleton(texts.candidate));
    Ok(Some(if is_same || is_qualified(&gold, &candidate) {
        Comparison::equal("text_equal")
    } else {
        // Two different wordings may still mean the same.
        Comparison::incomparable("text_differs")
    }))
}

/// Returns whether a candidate says of the gold answer's words only where, of what or why: "an ellipse centred
/// at the origin".
fn is_qualified(gold: &str, candidate: &str) -> bool {
    const QUALIFYING: [&str; 23] = [
        "along", "as", "at", "because", "by", "centered", "centred", "for", "from", "given",
        "having", "in", "of", "on", "over", "since", "that", "to", "under", "when", "where",
        "which", "with",
    ];
    const DENYING: [&str; 10] =
        ["but", "cannot", "except", "if", "neither", "never", "no", "not", "only", "unless"];
    let is_word = gold.len() > 2 && gold.chars().all(|c| c.is_alphabetic() || " -'".contains(c));
    let Some(rest) = candidate.strip_prefix(gold).filter(|_| is_word) else {
        return false;
    };
    // "a saddle point of f" for "saddle"
    let class = CLASSES.iter().find_map(|noun| rest.strip_prefix(' ')?.strip_prefix(noun));
    let rest = class.unwrap_or(rest);
    let mut words = rest.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    rest.starts_with([' ', ','])
        && words.clone().next().is_some_and(|first| QUALIFYING.contains(&first))
        && !words.any(|word| DENYING.contains(&word))
}

/// Returns whether an answer in words affirms or denies what was in question.
pub(super) fn truth(text: &str) -> Option<bool> {
    let words = words(text);
    if words == NONE_SUCH { Some(false) } else { wordings::truth(&words) }
}

/// Returns `text` as words: without typesetting and punctuation at its ends, NFKC, case folded,
/// white space as single spaces, without an article before them, and in one wording for those that
/// have several.
pub(super) fn words(text: &str) -> String {
    let words = plain_words(text);
    // `A B` and `a or b` name choices.
    let is_noun = |rest: &&str| {
        let first = rest.split(' ').next().unwrap_or("");
        first.chars().count() > 2 && first != "and"
    };
    let words =
        words.strip_prefix("it's ").or_else(|| words.strip_prefix("it is ")).unwrap_or(&words);
    // "it doubles"
    let words = words.strip_prefix("it ").filter(|rest| !rest.contains(' ')).unwrap_or(words);
    let articles = ["a ", "an ", "the ", "all "];
    let bare = articles.into_iter().find_map(|article| words.strip_prefix(article));
    let bare = bare.filter(is_noun).unwrap_or(words);
    // "The series is divergent": what is said of one noun.
    let bare = without_subject(bare);
    let bare = articles.into_iter().find_map(|article| bare.strip_prefix(article)).unwrap_or(bare);
    // "I and III only" names no more than "I and III" does.
    let bare = bare.strip_suffix(" only").or_else(|| bare.strip_suffix(" one")).unwrap_or(bare);
    let whole = without_middle_brackets(bare);
    let bare = whole.as_ref();
    // "a saddle point (unstable)", "a right triangle": what is said beside the word that answers.
    let bare = bare.split_once(" (").map_or(bare, |(before, _)| before);
    let noun = CLASSES.iter().find_map(|noun| bare.strip_suffix(noun)?.strip_suffix(' '));
    let bare = noun.unwrap_or(bare);
    // "原方程无解": the equation has no solution.
    if bare.ends_with("无解") {
        return "no solution".to_owned();
    }
    if ["无穷多解", "无穷多个解", "无数解", "无数个解"].iter().any(|end| bare.ends_with(end))
    {
        return "infinitely many".to_owned();
    }
    // "has infinitely many solutions"
    let bare = bare.strip_prefix("has ").filter(|rest| !rest.is_empty()).unwrap_or(bare);
    if let Some(meant) = wordings::without_end(bare) {
        return meant.to_owned();
    }
    if let Some(kind) = sufficiency::kind(bare) {
        return kind.to_owned();
    }
    if lacks_any(bare) || says_nothing_exists(bare) {
        return NONE_SUCH.to_owned();
    }
    let wording = WORDINGS.iter().find(|(wording, _)| *wording == bare);
    let meant = wording.map(|(_, meant)| *meant);
    let meant = meant.or_else(|| says_no_solution(bare).then_some("no solution"));
    meant.unwrap_or(bare).to_owned()
}

/// Returns `words` without brackets before more words: "rectangular" of "a (rectangular) hyperbola".
fn without_middle_brackets(words: &str) -> Cow<'_, str> {
    let Some((before, rest)) = words.split_once('(') else {
        return Cow::Borrowed(words);
    };
    match rest.split_once(") ") {
        Some((_, after)) if before.is_empty() || before.ends_with(' ') => {
            let articles = ["a ", "an ", "the "];
            let before = articles.into_iter().find(|a| *a == before).map_or(before, |_| "");
            Cow::Owned(format!("{before}{after}"))
        }
        Some(_) | None => Cow::Borrowed(words),
    }
}

/// Returns the words of a sentence that carry its meaning, in order: without articles, auxiliaries and pronouns, in
/// one form of a verb, with "not" for contractions and one word for each quantifier. `None` for a text of few words.
fn skeleton(sentence: &str) -> Option<String> {
    /// The shortest sentence, in words.
    const MIN_WORDS: usize = 6;
    const QUANTIFIERS: [(&str, &str); 8] = [
        ("there is a ", "some "),
        ("there is at least one ", "some "),
        ("there exists a ", "some "),
        ("at least one ", "some "),
        ("there are ", "some "),
        ("each ", "every "),
        ("all ", "every "),
        ("n't", " not"),
    ];
    const DROPPED: [&str; 20] = [
        "a", "an", "the", "is", "are", "was", "were", "be", "been", "does", "do", "did", "has",
        "have", "then", "it", "who", "that", "which", "will",
    ];
    let mut text = sentence.to_lowercase().replace('’', "'");
    for (words, one) in QUANTIFIERS {
        text = text.replace(words, one);
    }
    let words = text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    if words.clone().count() < MIN_WORDS || sentence.contains(|c: char| c.is_numeric()) {
        return None;
    }
    let stem = |word: &str| {
        let endings = ["led", "ing", "ed", "es", "s"];
        let bare = endings.iter().find_map(|ending| word.strip_suffix(ending));
        bare.filter(|bare| bare.len() > 2).unwrap_or(word).to_owned()
    };
    let kept: Vec<String> = words.filter(|word| !DROPPED.contains(word)).map(stem).collect();
    Some(kept.join(" "))
}

/// Returns whether words only deny numbers of a kind, or anything that a letter stands for: "no positive integer", "no
/// such n".
fn lacks_any(words: &str) -> bool {
    const KINDS: [&str; 12] = [
        "any",
        "integer",
        "natural",
        "non-negative",
        "nonnegative",
        "positive",
        "prime",
        "rational",
        "real",
        "such",
        "valid",
        "negative",
    ];
    const NOUNS: [&str; 14] = [
        "integer",
        "integers",
        "number",
        "numbers",
        "pair",
        "pairs",
        "value",
        "values",
        "triple",
        "triples",
        "function",
        "functions",
        "prime",
        "primes",
    ];
    let Some(rest) =
        ["no ", "there are no ", "there is no "].iter().find_map(|no| words.strip_prefix(no))
    else {
        return false;
    };
    let mut parts = rest.split(' ').collect::<Vec<&str>>();
    let Some(noun) = parts.pop() else {
        return false;
    };
    let is_letter = noun.len() == 1 && parts.last() == Some(&"such");
    (is_letter || NOUNS.contains(&noun)) && parts.iter().all(|kind| KINDS.contains(kind))
}

/// Returns whether words say that nothing is such: "no such n exists", "there is no integer with that property".
fn says_nothing_exists(words: &str) -> bool {
    let is_denied = words.strip_prefix("no ").is_some_and(|rest| {
        let ends = rest.ends_with(" exist") || rest.ends_with(" exists");
        rest.starts_with("such ") || ends && !rest.contains("solution")
    });
    let openings = ["there is no ", "there are no ", "there exists no ", "there exist no "];
    let rest = openings.into_iter().find_map(|opening| words.strip_prefix(opening));
    let conditions = [" such", "such ", " for which ", " with ", " that ", " satisfying "];
    is_denied || rest.is_some_and(|rest| conditions.iter().any(|known| rest.contains(known)))
}

/// Returns what is said of a noun: "divergent" of "series is divergent", "diverges" of "integral
/// diverges".
fn without_subject(words: &str) -> &str {
    /// Words of a subject.
    const MAX_WORDS: usize = 2;
    let mut start = 0;
    for (count, word) in words.split(' ').enumerate() {
        let end = start + word.len();
        match word {
            "is" | "are" if count > 0 && end < words.len() => return &words[end + 1..],
            "converges" | "diverges" | "exists" | "does" | "do" | "has" | "have" if count > 0 => {
                return &words[start..];
            }
            "no" | "not" | "neither" => return words,
            _ if count >= MAX_WORDS => return words,
            _ => start = end + 1,
        }
    }
    words
}

fn plain_words(text: &str) -> String {
    let bare = without_typesetting(text);
    let folded = caseless::default_case_fold_str(&bare.nfkc().collect::<String>());
    let folded = folded.replace(['*', '`', '“', '”'], "").replace(['‐', '‑'], "-");
    let folded = without_label_brackets(&folded);
    let trimmed = folded.trim_matches(|c: char| {
        c.is_whitespace()
            || matches!(c, '.' | ',' | ';' | ':' | '"' | '“' | '”' | '*' | '$' | '(' | ')')
    });
    let mut out = String::with_capacity(trimmed.len());
    for word in trimmed.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out += word;
    }
    out
}

/// Returns `text` without the brackets of labels: "(i) and (iii)" is "i and iii", and "f(x)" is as it was.
fn without_label_brackets(text: &str) -> String {
    /// The longest label: `viii`.
    const MAX_LABEL: usize = 4;
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('(') {
        out += before;
        let letters = after.bytes().take(MAX_LABEL).take_while(u8::is_ascii_lowercase).count();
        let (label, end) = after.split_at(letters);
        let is_label = letters == 1 || letters > 0 && label.bytes().all(|b| b"ivx".contains(&b));
        let is_apart = out.is_empty() || out.ends_with(char::is_whitespace);
        if let Some(next) = end.strip_prefix(')').filter(|_| is_label && is_apart) {
            out += label;
            rest = next;
        } else {
            out.push('(');
            rest = after;
        }
    }
    out + rest
}

/// Returns `text` without dollar signs, braces, spacing commands and commands that only set a font.
fn without_typesetting(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        rest = match c {
            '$' | '{' | '}' => after,
            // Bold.
            '*' if after.starts_with('*') => &after[1..],
            '~' => {
                out.push(' ');
                after
            }
            '\\' => command(after, &mut out),
            _ => {
                out.push(c);
                after
            }
        };
    }
    out
}

/// Appends what a backslash and what follows it stand for, and gives the rest.
fn command<'a>(after: &'a str, out: &mut String) -> &'a str {
    let length = after.bytes().take_while(u8::is_ascii_alphabetic).count();
    let (name, rest) = after.split_at(length);
    match name {
        "" => match after.chars().next() {
            Some(symbol @ (',' | ';' | ':' | ' ')) => {
                out.push(' ');
                &after[symbol.len_utf8()..]
            }
            Some(symbol @ ('(' | ')' | '[' | ']' | '!')) => &after[symbol.len_utf8()..],
            Some(symbol) => {
                out.push(symbol);
                &after[symbol.len_utf8()..]
            }
            None => after,
        },
        "text" | "textbf" | "textit" | "textrm" | "textsf" | "textnormal" | "mathrm" | "mathbf"
        | "mathit" | "mathsf" | "mbox" | "hbox" | "boxed" | "fbox" | "operatorname" | "left"
        | "right" | "displaystyle" | "textstyle" => rest,
        "quad" | "qquad" => {
            out.push(' ');
            rest
        }
        _ => {
            out.push('\\');
            out.push_str(name);
            rest
        }
    }
}

/// Returns whether words say that nothing is such: "does not exist", "no solution".
pub fn says_none(text: &str) -> bool {
    let words = words(text);
    matches!(wordings::meaning(&words), "does not exist" | "no solution" | NONE_SUCH)
}

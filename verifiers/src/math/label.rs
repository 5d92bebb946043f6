//! Answers that begin with the label of a choice: `(B) 12`, `D) 59 ways`, `\textbf{(B)}\ 12`.
//!
//! A label and its content are two statements of one answer. Which of them is compared is for the
//! gold answer's form to say: a lone letter is a label, and anything else is content.

use maths::unwrapped;

/// An answer without its label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Labelled<'a> {
    /// `A` to `H`.
    label: char,
    /// What follows the label; not empty.
    content: &'a str,
}

/// A text in the parts that it is compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TextParts<'a> {
    /// The label of a choice, which stands before the answer or is all of it.
    pub(super) label: Option<char>,
    /// The text without its label.
    pub(super) content: &'a str,
    /// Whether there is more than the label.
    pub(super) has_content: bool,
}

impl<'a> TextParts<'a> {
    /// Splits a text.
    pub(super) fn of(text: &'a str) -> Self {
        if let Some(Labelled { label, content }) = labelled(text) {
            return Self { label: Some(label), content, has_content: true };
        }
        let label = only_label(text);
        Self { label, content: text, has_content: label.is_none() }
    }

    /// Returns whether a label stands before an answer.
    pub(super) fn is_labelled(&self) -> bool {
        self.label.is_some() && self.has_content
    }
}

/// Fonts that labels are set in.
const FONTS: [&str; 6] =
    ["\\textbf{", "\\text{", "\\mathrm{", "\\mathbf{", "\\textrm{", "\\textit{"];

/// Spaces of a formula.
const SPACES: [&str; 8] = ["\\ ", "\\,", "\\;", "\\:", "~", "\\quad", "\\qquad", " "];

/// Words for "and" between labels.
const CONNECTIVES: [&str; 9] = ["and", "und", "et", "y", "e", "и", "和", "と", "و"];

/// Words that make a sentence about a choice of its label: `(B) is wrong`.
const VERBS: [&str; 7] = ["is", "isn't", "are", "was", "cannot", "can't", "or"];

/// Splits `text` after a label in brackets or with a mark. `None` where there is none, where
/// nothing follows it, or where another label follows.
fn labelled(text: &str) -> Option<Labelled<'_>> {
    if let Some((label, content)) = circled(text) {
        return (!content.is_empty()).then_some(Labelled { label, content });
    }
    if !may_open_with_label(text) {
        return None;
    }
    let text = unwrapped(text);
    let bare = NOUNS.iter().find_map(|noun| text.strip_prefix(*noun));
    // "alternativa B (20 km)"
    if let Some((letter, content)) = bare.and_then(|bare| bare.split_once(" ("))
        && let Some(label) = letter.chars().next().filter(|c| letter.len() == 1 && is_label(*c))
        && let Some(content) = content.strip_suffix(')')
    {
        return Some(Labelled { label, content });
    }
    let text = bare.unwrap_or(text);
    let font = FONTS.iter().find_map(|font| text.strip_prefix(font));
    // `**B**. 12`
    let (label, rest) = match text.strip_prefix("**") {
        Some(bold) => bold_mark(bold)?,
        None => mark(font.unwrap_or(text))?,
    };
    let inner = without_spaces(rest);
    let has_space = inner.len() < rest.len();
    let content = match (font, inner.strip_prefix('}')) {
        (Some(_), Some(after)) => without_spaces(after.strip_prefix('.').unwrap_or(after)),
        (Some(_), None) => inner.strip_suffix('}').filter(|_| has_space)?,
        (None, _) if has_space => inner,
        (None, _) => return None,
    };
    let content = unwrapped(content);
    let first = content.split(|c: char| !c.is_alphabetic() && c != '\'').next().unwrap_or("");
    let is_one = !content.is_empty()
        && !VERBS.contains(&first)
        && !holds_label(content)
        && letter_of_circled(content).is_none();
    is_one.then_some(Labelled { label, content })
}

/// Numbers of choices in circles, and the letters that stand for them.
const CIRCLES: [char; 8] = ['①', '②', '③', '④', '⑤', '⑥', '⑦', '⑧'];
const LETTERS: &str = "ABCDEFGH";

/// Returns the letter of the number in a circle that is all of `text`.
pub(super) fn letter_of_circled(text: &str) -> Option<&'static str> {
    let (at, rest) = behind_circle(text)?;
    rest.is_empty().then(|| &LETTERS[at..=at])
}

/// Returns the place of the number in a circle that opens a text, and the text behind it.
fn behind_circle(text: &str) -> Option<(usize, &str)> {
    let mut rest = text.chars();
    let first = rest.next()?;
    let at = CIRCLES.iter().position(|circle| *circle == first)?;
    Some((at, rest.as_str()))
}

/// Returns the label of the number in a circle that opens a text, and what follows it: `② 3/10`.
fn circled(text: &str) -> Option<(char, &str)> {
    // Nearly every answer ends here.
    if text.is_ascii() {
        return None;
    }
    let (at, rest) = behind_circle(text.trim_matches(['$', '*', ' ']))?;
    let label = char::from(LETTERS.as_bytes()[at]);
    let rest = rest.trim_start_matches(['*', ' ', '.', ':', ')', '번']);
    // Several choices: `①⑤`.
    let is_one = !rest.contains(|c: char| CIRCLES.contains(&c));
    is_one.then(|| (label, unwrapped(rest)))
}

/// Words for a choice before its label.
const NOUNS: [&str; 30] = [
    "alternativa ",
    "Alternativa ",
    "letra ",
    "Letra ",
    "Alternative ",
    "Item ",
    "选项",
    "選項",
    "Option ",
    "option ",
    "Choice ",
    "choice ",
    "Statement ",
    "statement ",
    "Answer ",
    "answer ",
    "Aussage ",
    "Antwort ",
    "Lösung ",
    "Réponse ",
    "réponse ",
    "Opción ",
    "opción ",
    "Opção ",
    "opção ",
    "Opzione ",
    "opzione ",
    "Вариант ",
    "вариант ",
    "Variant ",
];

/// Returns the label that is all of `text`: `B`, `(B)`, `\text{(B)}`, `\textbf{B}`.
pub(super) fn only_label(text: &str) -> Option<char> {
    if let Some((label, content)) = circled(text) {
        return content.is_empty().then_some(label);
    }
    if !may_open_with_label(text) {
        return None;
    }
    let text = unwrapped(text);
    let font = FONTS.iter().find_map(|font| text.strip_prefix(font));
    let inner = match font {
        Some(inner) => inner.strip_suffix('}')?,
        None => text,
    };
    let inner = inner.trim();
    let inner = NOUNS.iter().find_map(|noun| inner.strip_prefix(noun)).unwrap_or(inner).trim();
    let inner = inner.strip_prefix('(').map_or(Some(inner), |rest| rest.strip_suffix(')'))?;
    let mut letters = inner.chars();
    let letter = letters.next().filter(|c| is_label(*c))?;
    letters.next().is_none().then_some(letter)
}

/// Roman numerals of choices.
const NUMERALS: [&str; 8] = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII"];

/// Returns the letters of several choices in order: `AC`, `A, C`, `A and C`, `\text{A, B, D}`; of choices with Roman
/// numerals, `I and III`, their digits.
pub(super) fn several(text: &str) -> Option<Vec<char>> {
    /// The longest such text, in bytes.
    const MAX_BYTES: usize = 48;
    if text.len() > MAX_BYTES || !may_open_with_label(text) && !text.contains('I') {
        return None;
    }
    // `B \text{ and } D`
    let plain = text.contains(" \\text{").then(|| text.replace("\\text{", "").replace('}', ""));
    let text = unwrapped(plain.as_deref().unwrap_or(text));
    let font = FONTS.iter().find_map(|font| text.strip_prefix(font)?.strip_suffix('}'));
    let is_border = |c: char| c.is_whitespace() || ",;&、，()".contains(c);
    let words = font.unwrap_or(text).split(is_border).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.filter(|word| !CONNECTIVES.contains(word)).collect();
    let apart = words.strip_suffix(&["only"]).unwrap_or(&words);
    let numeral = |word: &&str| NUMERALS.iter().position(|numeral| numeral == word);
    let numerals: Option<Vec<usize>> = apart.iter().map(numeral).collect();
    if let Some(numerals) = numerals.filter(|numerals| numerals.len() > 1) {
        let digit = |at: &usize| char::from(b"12345678"[*at]);
        let is_rising = numerals.windows(2).all(|pair| pair[0] < pair[1]);
        return is_rising.then(|| numerals.iter().map(digit).collect());
    }
    let letters: Vec<char> = match words.as_slice() {
        [together] => together.chars().collect(),
        apart if apart.iter().all(|word| word.len() == 1) => apart.concat().chars().collect(),
        _ => return None,
    };
    let is_rising = letters.windows(2).all(|pair| pair[0] < pair[1]);
    (letters.len() > 1 && is_rising && letters.iter().all(|c| is_label(*c))).then_some(letters)
}

/// Returns the Roman numerals of choices that a short text names and does not deny, as [`several`] does: "only series II
/// and III converge".
pub(super) fn numerals_among(text: &str) -> Option<Vec<char>> {
    /// The longest such text, in bytes.
    const MAX_BYTES: usize = 80;
    const DENIALS: [&str; 9] =
        ["not", "no", "false", "neither", "nor", "except", "but", "diverge", "diverges"];
    if text.len() > MAX_BYTES || !text.contains('I') {
        return None;
    }
    let words: Vec<&str> = text.split(|c: char| !c.is_alphabetic()).collect();
    let numerals: Vec<usize> = words
        .iter()
        .filter_map(|word| NUMERALS.iter().position(|numeral| numeral == word))
        .collect();
    let is_denied = words.iter().any(|word| DENIALS.contains(word));
    let is_rising = numerals.windows(2).all(|pair| pair[0] < pair[1]);
    (numerals.len() > 1 && is_rising && !is_denied)
        .then(|| numerals.iter().map(|at| char::from(b"12345678"[*at])).collect())
}

/// Returns whether the letter of a label may stand near the start, behind brackets and fonts. Most
/// answers have none there.
fn may_open_with_label(text: &str) -> bool {
    /// `$\textbf{(` and spaces, in bytes.
    const MAX_BYTES: usize = 24;
    text.bytes().take(MAX_BYTES).any(|byte| byte.is_ascii() && is_label(char::from(byte)))
}

fn is_label(c: char) -> bool {
    c.is_ascii_uppercase() && c <= 'H'
}

/// Returns the label in `(B)`, `B)`, `B.` or `B:` at the start of `text`, and what follows.
fn mark(text: &str) -> Option<(char, &str)> {
    let (is_open, rest) = match text.strip_prefix('(') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let label = rest.chars().next().filter(|c| is_label(*c))?;
    let rest = &rest[1..];
    let after = rest.strip_prefix(')').or_else(|| rest.strip_prefix('.').filter(|_| !is_open));
    // `A: knave, B: knight` has no label.
    let is_only = |after: &&str| !is_open && !after.contains(':');
    let after = after.or_else(|| rest.strip_prefix(':').filter(is_only));
    after.map(|after| (label, after))
}

/// Returns the label in `B**. 12`, `(B)** 12` or `B.** 12` behind the sign of bold text, and what follows.
fn bold_mark(text: &str) -> Option<(char, &str)> {
    if let Some((label, rest)) = mark(text) {
        return Some((label, rest.strip_prefix("**")?));
    }
    let label = text.chars().next().filter(|c| is_label(*c))?;
    let rest = text[1..].strip_prefix("**")?;
    Some((label, rest.strip_prefix(['.', ')', ':'])?))
}

/// Returns `text` without the spaces before it.
fn without_spaces(text: &str) -> &str {
    let mut rest = text;
    while let Some(after) = SPACES.iter().find_map(|space| rest.strip_prefix(space)) {
        rest = after;
    }
    rest
}

/// Returns whether a label in brackets stands in `text`.
fn holds_label(text: &str) -> bool {
    let closes = |at: usize| {
        let before = text[..at].chars().next_back().filter(|c| is_label(*c));
        let opener = before.map(|_| text[..at - 1].chars().next_back());
        opener.is_some_and(|c| c.is_none_or(|c| !c.is_alphanumeric()))
    };
    memchr::memchr_iter(b')', text.as_bytes()).any(closes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_split_from_their_contents() {
        for (text, label, content) in [
            ("(B) 12", 'B', "12"),
            ("D) 59 ways", 'D', "59 ways"),
            ("B. 12", 'B', "12"),
            (r"\textbf{(B)}\ 12", 'B', "12"),
            (r"\textbf{(B) }12", 'B', "12"),
            (r"\text{(B) } 12", 'B', "12"),
            (r"\text{(B) 12 ways}", 'B', "12 ways"),
            (r"\textbf{(A)}\ \frac{1}{2}", 'A', r"\frac{1}{2}"),
            (r"$\textbf{(E)}~\sqrt{2}$", 'E', r"\sqrt{2}"),
            (r"\mathrm{(C)}\quad 5", 'C', "5"),
            ("(C) $x$", 'C', "x"),
            ("E: a risk score", 'E', "a risk score"),
        ] {
            assert_eq!(labelled(text), Some(Labelled { label, content }), "{text}");
        }
        for text in [
            "B",
            "(B)",
            "(B)12",
            "(x) 12",
            "(B) ",
            "B 12",
            "f(B) 12",
            "(A) is wrong",
            "(A) or (B)",
            "(A) 5 (B) 6",
            "A) 5 B) 6",
            "E) ⑧",
            "(Z) 5",
            "3.5",
            "",
            "(",
            "A.5",
            "A: knave, B: knight",
            r"\textbf{B",
        ] {
            assert_eq!(labelled(text), None, "{text}");
        }
    }

    #[test]
    fn several_labels_are_their_letters() {
        for (text, letters) in [
            ("AC", Some("AC")),
            ("A and C", Some("AC")),
            (r"\text{A, B, D}", Some("ABD")),
            ("I and III", Some("13")),
            ("I, II and IV only", Some("124")),
            (r"\text{(I), (III)}", Some("13")),
            ("III and I", None),
            ("I", None),
            ("I think", None),
            ("C and A", None),
        ] {
            let expected = letters.map(|letters| letters.chars().collect());
            assert_eq!(several(text), expected, "{text}");
        }
    }

    #[test]
    fn lone_labels_are_letters() {
        for text in ["B", "(B)", r"\text{B}", r"\text{(B)}", r"\textbf{(B)}", "**B**", "$B$", "B."]
        {
            assert_eq!(only_label(text), Some('B'), "{text}");
        }
        for text in ["b", "BC", "(B", "B)", "Z", "5", "", r"\text{B", "(B) 5"] {
            assert_eq!(only_label(text), None, "{text}");
        }
    }
}

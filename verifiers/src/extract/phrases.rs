//! The phrases that announce an answer, by language.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::Finder;
use memchr::{memchr2, memchr2_iter};

/// Phrases of a language that announce an answer.
struct Language {
    /// The word for "answer" without its first letter, which may be a capital, so that one search
    /// finds both.
    tail: &'static str,
    /// The first letter, small and large; empty where the language has no case.
    first: [&'static str; 2],
    /// Words that may stand between the word and the verb.
    adjectives: &'static [&'static str],
    /// Verbs, of which the longest come first.
    verbs: &'static [&'static str],
    /// Words that may stand before the word on a line of its own.
    openers: &'static [&'static str],
}

const LANGUAGES: [Language; 18] = [
    Language {
        tail: "éponse",
        first: ["r", "R"],
        adjectives: &["finale", "correcte"],
        verbs: &["est donc", "est"],
        openers: &["la ", "votre "],
    },
    Language {
        tail: "ntwort",
        first: ["a", "A"],
        adjectives: &[],
        verbs: &["lautet also", "lautet", "ist also", "ist"],
        openers: &["die ", "endgültige ", "finale "],
    },
    Language {
        tail: "espuesta",
        first: ["r", "R"],
        adjectives: &["final", "correcta"],
        verbs: &["es"],
        openers: &["la "],
    },
    Language {
        tail: "esposta",
        first: ["r", "R"],
        adjectives: &["final", "correta"],
        verbs: &["é"],
        openers: &["a "],
    },
    Language {
        tail: "твет",
        first: ["о", "О"],
        adjectives: &[],
        verbs: &["равен", "это", "—", "–", "-"],
        openers: &["итоговый ", "окончательный "],
    },
    Language {
        tail: "答案",
        first: ["", ""],
        adjectives: &[],
        verbs: &["应该是", "应为", "就是", "是", "为", "為"],
        openers: &["最终", "最終", "正确"],
    },
    Language { tail: "答", first: ["", ""], adjectives: &[], verbs: &[], openers: &[] },
    // "Hence choose", before the letter of a choice.
    Language { tail: "故选", first: ["", ""], adjectives: &[], verbs: &[""], openers: &[] },
    Language { tail: "应选", first: ["", ""], adjectives: &[], verbs: &[""], openers: &[] },
    Language {
        tail: "正确选项",
        first: ["", ""],
        adjectives: &[],
        verbs: &["应为", "是", "为"],
        openers: &[],
    },
    Language { tail: "选", first: ["", ""], adjectives: &[], verbs: &[], openers: &[] },
    Language {
        tail: "答え",
        first: ["", ""],
        adjectives: &[],
        verbs: &["は"],
        openers: &["最終的な"],
    },
    Language { tail: "正解", first: ["", ""], adjectives: &[], verbs: &["は"], openers: &[] },
    Language { tail: "정답", first: ["", ""], adjectives: &[], verbs: &["은"], openers: &[] },
    Language {
        tail: "解答",
        first: ["", ""],
        adjectives: &[],
        verbs: &["は", "是", "为"],
        openers: &[],
    },
    Language {
        tail: "إجابة",
        first: ["", ""],
        adjectives: &["النهائية", "الصحيحة"],
        verbs: &["هي", "هو"],
        openers: &["ال"],
    },
    Language {
        tail: "جواب",
        first: ["", ""],
        adjectives: &["النهائي", "الصحيح"],
        verbs: &["هو", "هي"],
        openers: &["ال"],
    },
    Language {
        tail: "उत्तर", first: ["", ""], adjectives: &[], verbs: &["है"], openers: &["अंतिम "]
    },
];

/// Searches for the words of [`LANGUAGES`], in their order.
static TAILS: LazyLock<[Finder<'static>; 18]> =
    LazyLock::new(|| LANGUAGES.each_ref().map(|language| Finder::new(language.tail)));

/// Verbs after the English word, of which the longest come first.
const ENGLISH_VERBS: [&str; 10] = [
    "is therefore",
    "is thus",
    "should be",
    "would be",
    "must be",
    "will be",
    "comes out to",
    "equals",
    "becomes",
    "is",
];

/// Returns the start of each answer phrase in `part` and of what follows it, in order.
pub(super) fn find_phrases(text: &str, part: &Range<usize>) -> Vec<(usize, usize)> {
    let mut found: Vec<_> = english(text, part).collect();
    let english = found.len();
    let is_ascii = text[part.clone()].is_ascii();
    for (language, tail) in LANGUAGES.iter().zip(&*TAILS) {
        if !is_ascii || language.tail.is_ascii() {
            found.extend(language.phrases(tail, text, part));
        }
    }
    if found.len() > english {
        found.sort_unstable();
        found.dedup_by_key(|(_, from)| *from);
    }
    found
}

fn english<'a>(text: &'a str, part: &Range<usize>) -> impl Iterator<Item = (usize, usize)> + 'a {
    let bytes = &text.as_bytes()[..part.end];
    let part = part.clone();
    // Every "answer" is found by its w, a rarer letter than its a.
    memchr2_iter(b'w', b'W', &bytes[part.start..]).filter_map(move |at| {
        let start = (part.start + at).checked_sub(3).filter(|s| *s >= part.start)?;
        let end = start + "answer".len();
        let word = bytes.get(start..end)?;
        let in_word = bytes[part.start..start].last().is_some_and(u8::is_ascii_alphabetic);
        if in_word || !word.eq_ignore_ascii_case(b"answer") {
            return None;
        }
        Some((start, end + verb(&text[end..part.end], &[], &ENGLISH_VERBS)?))
    })
}

impl Language {
    fn phrases<'a>(
        &'a self,
        tail: &'a Finder<'static>,
        text: &'a str,
        part: &Range<usize>,
    ) -> impl Iterator<Item = (usize, usize)> + 'a {
        let part = part.clone();
        let haystack = &text.as_bytes()[part.clone()];
        tail.find_iter(haystack).filter_map(move |at| {
            let tail = part.start + at;
            let start = self.word_start(&text[part.start..tail])? + part.start;
            let end = tail + self.tail.len();
            let after = &text[end..part.end];
            let length = verb(after, self.adjectives, self.verbs).or_else(|| verb_at_end(after));
            Some((start, end + length?))
        })
    }

    /// Finds where the word starts whose tail follows `before`; `None` in the midst of another
    /// word.
    fn word_start(&self, before: &str) -> Option<usize> {
        let [small, large] = self.first;
        if small.is_empty() {
            return Some(before.len());
        }
        let rest = before.strip_suffix(small).or_else(|| before.strip_suffix(large))?;
        (!rest.ends_with(char::is_alphabetic)).then_some(rest.len())
    }

    /// Returns what follows the label of this language at the start of `line`.
    fn label<'a>(&self, line: &'a str) -> Option<&'a str> {
        let mut rest = line;
        for opener in self.openers {
            rest = without(rest, opener).unwrap_or(rest);
        }
        let [small, large] = self.first;
        let mut rest = rest
            .strip_prefix(small)
            .or_else(|| rest.strip_prefix(large))?
            .strip_prefix(self.tail)?;
        for adjective in self.adjectives {
            rest = rest.trim_start_matches(' ');
            rest = rest.strip_prefix(adjective).unwrap_or(rest);
        }
        after_colon(rest)
    }
}

/// Returns `text` without `prefix`, whose first letter may be a capital.
fn without<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    if let Some(rest) = text.strip_prefix(prefix) {
        return Some(rest);
    }
    let first = prefix.chars().next()?;
    let rest = text.strip_prefix(|c: char| c.to_lowercase().eq(first.to_lowercase()))?;
    rest.strip_prefix(&prefix[first.len_utf8()..])
}

/// Returns what follows a colon after Markdown marks.
pub(super) fn after_colon(rest: &str) -> Option<&str> {
    rest.trim_start_matches(['*', '_', ' ']).strip_prefix([':', '：'])
}

/// Returns what follows the label that a language other than English puts at the start of `line`.
pub(super) fn label(line: &str) -> Option<&str> {
    // Every label has a colon, and few lines do: `:`, or the first byte of `：`.
    memchr2(b':', 0xEF, line.as_bytes())?;
    LANGUAGES.iter().find_map(|language| language.label(line))
}

fn is_mark(c: char) -> bool {
    matches!(c, ' ' | '\t' | '*' | '_')
}

/// Returns the bytes up to the end of a colon, `=`, or verb with or without a colon after the word
/// "answer".
fn verb(after: &str, adjectives: &[&str], verbs: &[&str]) -> Option<usize> {
    let mut rest = after.trim_start_matches(is_mark);
    for adjective in adjectives {
        if let Some(next) = rest.strip_prefix(adjective) {
            rest = next.trim_start_matches(is_mark);
        }
    }
    if let Some(rest) = rest.strip_prefix([':', '=', '：', '＝']) {
        return Some(after.len() - rest.len());
    }
    let rest = verbs.iter().find_map(|verb| {
        let rest = without_case(rest, verb)?;
        let is_whole = !verb.ends_with(|c: char| is_spaced(c))
            || !rest.starts_with(|c: char| is_spaced(c) || c.is_ascii_digit());
        is_whole.then_some(rest)
    })?;
    let colon = rest.trim_start_matches(is_mark);
    let rest = colon.strip_prefix([':', '：']).unwrap_or(rest);
    Some(after.len() - rest.len())
}

/// Greatest distance of the verb at the end of a sentence from the word, in characters.
const MAX_LAST_VERB: usize = 200;

/// Verbs that end a sentence, of languages that put them last.
const LAST_VERBS: [&str; 7] = ["です", "である", "になります", "है", "हैं", "입니다", "이다"];

/// Returns `sentence` without the verb at its end.
pub(super) fn without_last_verb(sentence: &str) -> &str {
    let bare = sentence.trim_end_matches(['.', ' ']);
    let rest = LAST_VERBS.iter().find_map(|verb| bare.strip_suffix(verb));
    rest.map_or(sentence, str::trim_end)
}

/// Matches no bytes (`Some(0)`) where a value and the verb of its sentence follow the word
/// "answer": `उत्तर 42 है।`.
fn verb_at_end(after: &str) -> Option<usize> {
    let value = after.strip_prefix(' ')?;
    // Bounded, so that many of them cost linear time.
    let near = value.chars().take(MAX_LAST_VERB).map(char::len_utf8).sum();
    let sentence = value[..near].split(['।', '\n']).next()?;
    let is_value = value.starts_with(|c: char| !c.is_alphabetic());
    (is_value && without_last_verb(sentence).len() < sentence.len()).then_some(0)
}

/// Returns whether `c` is a letter of a script that puts spaces between words.
fn is_spaced(c: char) -> bool {
    c.is_alphabetic() && !matches!(c, '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}')
}

/// Returns `text` without `prefix`, in any case where that is ASCII.
fn without_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let start = text.get(..prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

//! Words of a response as `IFBench` counts them, and the lists of words that it names.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

use super::scan;

/// Whether `c` is a mark: punctuation that is no part of a word's length or first letter.
pub(super) fn is_mark(c: char) -> bool {
    c.is_ascii_punctuation()
        || matches!(c, '“' | '”' | '„' | '‘' | '’' | '«' | '»' | '–' | '—' | '…')
}

/// The words between white space, without marks around them.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace().map(|word| word.trim_matches(is_mark)).filter(|word| !word.is_empty())
}

/// The characters of a word that are no marks.
pub(super) fn letters(word: &str) -> impl Iterator<Item = char> + Clone {
    word.chars().filter(|c| !is_mark(*c))
}

/// The first letter of a word of [`words`], in lower case.
pub(super) fn initial(word: &str) -> Option<char> {
    word.chars().next().and_then(|c| c.to_lowercase().next())
}

/// The sentences of [`scan::sentence_ranges`].
pub(super) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    scan::sentence_ranges(text).map(|range| &text[range])
}

/// Numbers of statements, questions and exclamations.
pub(super) fn sentence_types(text: &str) -> [usize; 3] {
    let mut counts = [0; 3];
    for sentence in sentences(text) {
        let end = sentence.trim_end_matches(['"', '\'', ')', '*', '”', '’']).chars().next_back();
        match end {
            Some('.' | '。' | '।') => counts[0] += 1,
            Some('?' | '？') => counts[1] += 1,
            Some('!' | '！') => counts[2] += 1,
            Some(_) | None => {}
        }
    }
    counts
}

/// Whether two words differ in case alone, or not at all.
pub(super) fn same_word(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other) || one.to_lowercase() == other.to_lowercase()
}

/// Whether `c` may be shown as a picture. Digits are not.
pub(super) fn is_emoji(c: char) -> bool {
    static EMOJI: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"\A[\p{Emoji}--[0-9\#\*]]").expect("the pattern is a constant")
    });
    !c.is_ascii() && EMOJI.is_match(c.encode_utf8(&mut [0; 4]))
}

/// A set of words, made from a list at its first use.
pub(super) type WordSet = LazyLock<HashSet<&'static str>>;

pub(super) const CONJUNCTIONS: [&str; 7] = ["and", "but", "for", "nor", "or", "so", "yet"];

/// Words that a title may leave in lower case.
pub(super) static MINOR_WORDS: WordSet = LazyLock::new(|| {
    "a an and as at but by for from if in into nor of off on or per so than the to up via with \
     yet"
    .split(' ')
    .collect()
});

pub(super) static PRONOUNS: WordSet = LazyLock::new(|| {
    "all any anybody anyone anything both each either everybody everyone everything he her hers \
     herself him himself his i it its itself me mine my myself neither nobody none nothing our \
     ours ourselves she some somebody someone something that their theirs them themselves these \
     they this those us we what whatever which whichever who whoever whom whomever whose you \
     your yours yourself yourselves"
        .split(' ')
        .collect()
});

/// Function words of English, and what is left of contractions when they are split at apostrophes.
pub(super) static STOP_WORDS: WordSet = LazyLock::new(|| {
    "a about above after again against ain all am an and any are aren as at be because been \
     before being below between both but by can couldn d did didn do does doesn doing don down \
     during each few for from further had hadn has hasn have haven having he her here hers \
     herself him himself his how i if in into is isn it its itself just ll m ma me mightn more \
     most mustn my myself needn no nor not now o of off on once only or other our ours \
     ourselves out over own re s same shan she should shouldn so some such t than that the \
     their theirs them themselves then there these they this those through to too under until \
     up ve very was wasn we were weren what when where which while who whom why will with won \
     wouldn y you your yours yourself yourselves"
        .split(' ')
        .collect()
});

/// The names that the instruction about names lists.
pub(super) const PERSON_NAMES: &str = "Emma Liam Sophia Jackson Olivia Noah Ava Lucas Isabella Mason Mia Ethan Charlotte \
     Alexander Amelia Benjamin Harper Leo Zoe Daniel Chloe Samuel Lily Matthew Grace Owen \
     Abigail Gabriel Ella Jacob Scarlett Nathan Victoria Elijah Layla Nicholas Audrey David \
     Hannah Christopher Penelope Thomas Nora Andrew Aria Joseph Claire Ryan Stella Jonathan";

/// European capitals north of 45 degrees, by their latitude from the highest on.
pub(super) const NORTHERN_CAPITALS: &str = "Reykjavik Helsinki Oslo Tallinn Stockholm Riga Moscow Copenhagen Vilnius Minsk Dublin \
     Berlin Amsterdam Warsaw London Brussels Prague Luxembourg Paris Vienna Bratislava Budapest \
     Vaduz Chisinau Bern Ljubljana Zagreb";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_emoji_and_signs_are_not() {
        for (c, expected) in
            [('😀', true), ('❤', true), ('🇫', true), ('1', false), ('#', false), ('é', false)]
        {
            assert_eq!(is_emoji(c), expected, "{c}");
        }
    }
}

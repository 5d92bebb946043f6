//! Stems of English words: "An algorithm for suffix stripping" (Porter, Program 14, 1980), with the
//! three departures of its author's own programs: words of two letters stay, `bli` and `logi` are
//! suffixes.

/// A suffix and its replacement.
type SuffixRule = (&'static str, &'static str);

const SECOND: [SuffixRule; 21] = [
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("logi", "log"),
];

const THIRD: [SuffixRule; 7] = [
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
];

const FOURTH: [&str; 19] = [
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou",
    "ism", "ate", "iti", "ous", "ive", "ize",
];

/// Returns the stem of a word in lower case. Characters that are no vowels count as consonants,
/// whatever their script.
pub(super) fn stem(word: &str) -> String {
    let mut word: Vec<char> = word.chars().collect();
    if word.len() > 2 {
        plural(&mut word);
        past(&mut word);
        if ends(&word, "y") && has_vowel(&word[..word.len() - 1]) {
            replace(&mut word, 1, "i");
        }
        longest(&mut word, &SECOND);
        longest(&mut word, &THIRD);
        fourth(&mut word);
        last(&mut word);
    }
    word.into_iter().collect()
}

fn plural(word: &mut Vec<char>) {
    if ends(word, "sses") || ends(word, "ies") {
        replace(word, 2, "");
    } else if ends(word, "s") && !ends(word, "ss") {
        replace(word, 1, "");
    }
}

/// Strips `-eed`, `-ed` and `-ing`.
fn past(word: &mut Vec<char>) {
    if ends(word, "eed") {
        if porter_measure(&word[..word.len() - 3]) > 0 {
            replace(word, 1, "");
        }
        return;
    }
    let suffix = ["ed", "ing"].into_iter().find(|suffix| ends(word, suffix));
    let Some(suffix) = suffix else {
        return;
    };
    if !has_vowel(&word[..word.len() - suffix.len()]) {
        return;
    }
    replace(word, suffix.len(), "");
    if ["at", "bl", "iz"].iter().any(|end| ends(word, end)) {
        word.push('e');
    } else if ends_double(word) {
        if !matches!(word.last(), Some('l' | 's' | 'z')) {
            word.pop();
        }
    } else if porter_measure(word) == 1 && ends_closed(word) {
        word.push('e');
    }
}

/// The longest suffix that fits is replaced, where a measure is left of the word.
fn longest(word: &mut Vec<char>, rules: &[SuffixRule]) {
    let fitting = rules.iter().filter(|(suffix, _)| ends(word, suffix));
    let Some((suffix, instead)) = fitting.max_by_key(|(suffix, _)| suffix.len()) else {
        return;
    };
    if porter_measure(&word[..word.len() - suffix.len()]) > 0 {
        replace(word, suffix.len(), instead);
    }
}

fn fourth(word: &mut Vec<char>) {
    let fitting = FOURTH.iter().filter(|suffix| ends(word, suffix));
    let Some(suffix) = fitting.max_by_key(|suffix| suffix.len()) else {
        return;
    };
    let rest = &word[..word.len() - suffix.len()];
    let fits = *suffix != "ion" || matches!(rest.last(), Some('s' | 't'));
    if fits && porter_measure(rest) > 1 {
        replace(word, suffix.len(), "");
    }
}

/// The last `e`, and the second of two `l`.
fn last(word: &mut Vec<char>) {
    if ends(word, "e") {
        let rest = &word[..word.len() - 1];
        let n = porter_measure(rest);
        if n > 1 || (n == 1 && !ends_closed(rest)) {
            word.pop();
        }
    }
    if ends(word, "ll") && porter_measure(&word[..word.len() - 1]) > 1 {
        word.pop();
    }
}

/// Returns whether something is left of the word before the suffix, or the word is the suffix.
fn ends(word: &[char], suffix: &str) -> bool {
    let len = suffix.len();
    word.len() >= len && word[word.len() - len..].iter().copied().eq(suffix.chars())
}

fn replace(word: &mut Vec<char>, len: usize, instead: &str) {
    word.truncate(word.len() - len);
    word.extend(instead.chars());
}

/// Returns whether each character is a consonant: a `y` is one where none stands before it.
fn consonants(word: &[char]) -> Vec<bool> {
    let mut all: Vec<bool> = Vec::with_capacity(word.len());
    for c in word {
        let before = all.last().copied();
        all.push(match c {
            'a' | 'e' | 'i' | 'o' | 'u' => false,
            'y' => before != Some(true),
            _ => true,
        });
    }
    all
}

/// Counts how often a consonant follows a vowel.
fn porter_measure(word: &[char]) -> usize {
    let consonants = consonants(word);
    let turns = consonants.windows(2).filter(|pair| !pair[0] && pair[1]);
    turns.count()
}

fn has_vowel(word: &[char]) -> bool {
    consonants(word).contains(&false)
}

fn ends_double(word: &[char]) -> bool {
    match word {
        [.., one, other] => one == other && consonants(word).last() == Some(&true),
        [] | [_] => false,
    }
}

/// Returns whether it ends with consonant, vowel and consonant, and the last is none of `w`, `x`,
/// `y`.
fn ends_closed(word: &[char]) -> bool {
    let closed = consonants(word).ends_with(&[true, false, true]);
    closed && !matches!(word.last(), Some('w' | 'x' | 'y'))
}

//! Statements that answer a question of yes or no: "not cyclic" after "Is G cyclic?".

use super::question::Question;

/// Prefixes that make a property its opposite.
const NEGATIONS: [&str; 7] = ["a", "dis", "im", "in", "ir", "non", "un"];

/// Words that deny what a statement says; `t` is the end of "isn't" and its kin.
const DENIALS: [&str; 23] = [
    "barely",
    "cannot",
    "fail",
    "failed",
    "fails",
    "false",
    "hardly",
    "impossible",
    "incorrect",
    "lack",
    "lacks",
    "neither",
    "never",
    "no",
    "nobody",
    "non",
    "none",
    "nor",
    "not",
    "t",
    "untrue",
    "without",
    "wrong",
];

/// Words that say when something holds.
const CONDITIONS: [&str; 12] = [
    "although", "but", "except", "however", "if", "only", "or", "provided", "though", "unless",
    "when", "while",
];

impl Question<'_> {
    /// Whether `statement` says yes or no to the question, whose last word is what it asks of something: `G is
    /// always cyclic` after `Is $G$ necessarily cyclic?`.
    pub(super) fn affirmed_by(&self, statement: &str) -> Option<bool> {
        /// A longer statement may say both.
        const MAX_BYTES: usize = 200;
        match statement.trim().to_ascii_lowercase().as_str() {
            "yes" | "true" => return Some(true),
            "no" | "false" => return Some(false),
            "impossible" | "not possible" | "cannot be done" if self.asks_ability() => {
                return Some(false);
            }
            "possible" if self.asks_ability() => return Some(true),
            _ => {}
        }
        let property = stem(self.property().filter(|_| statement.len() <= MAX_BYTES)?);
        let statement = statement.to_lowercase();
        let (mut said, mut denials) = (0, 0);
        for word in statement.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
        {
            let word_stem = stem(word);
            if word_stem == property {
                said += 1;
            } else if word_stem
                .strip_suffix(property)
                .is_some_and(|prefix| NEGATIONS.contains(&prefix))
                || property
                    .strip_suffix(word_stem)
                    .is_some_and(|prefix| word_stem.len() > 3 && NEGATIONS.contains(&prefix))
            {
                said += 1;
                denials += 1;
            } else if DENIALS.contains(&word) {
                denials += 1;
            } else if CONDITIONS.contains(&word) {
                return None;
            }
        }
        (said == 1 && denials <= 1).then_some(denials == 0)
    }

    /// Whether the last sentence asks whether something can be: "Can the board be tiled?"
    fn asks_ability(&self) -> bool {
        let last = self
            .lower()
            .trim_end()
            .trim_end_matches(['?', '.'])
            .rsplit(['.', '?', '!', '\n'])
            .next();
        last.is_some_and(|sentence| {
            let sentence = sentence.trim();
            [
                "can ",
                "could ",
                "is it possible",
                "is it ever possible",
                "determine whether it is possible",
            ]
            .iter()
            .any(|opening| sentence.starts_with(opening))
                || sentence.contains(", can ")
                || sentence.contains("is it possible")
        })
    }

    /// Whether `statement` opens with the small letter that `gold` is, of choices that the question lists: `c) 59` after
    /// "a) 51 b) 57 c) 59". `None` where the gold answer is no such letter, or the statement has none.
    pub(super) fn same_choice(&self, gold: &str, statement: &str) -> Option<bool> {
        let bare = |text: &'_ str| -> Option<u8> {
            let text = text.trim_start_matches(['$', '*', ' ']);
            let text = text.strip_prefix("\\text{").unwrap_or(text);
            let text = text.strip_prefix('(').unwrap_or(text);
            let letter = text.bytes().next().filter(|b| (b'a'..=b'h').contains(b))?;
            let ends = text[1..].is_empty() || text[1..].starts_with([')', '.', ':', '}', '*']);
            ends.then_some(letter)
        };
        let is_listed = |letter: u8| self.text.contains(&format!("{})", char::from(letter)));
        let own = bare(gold).filter(|_| gold.trim_matches(['$', '*', '(', ')', ' ']).len() == 1)?;
        let other = bare(statement)?;
        (is_listed(b'a') && is_listed(b'b') && is_listed(own)).then_some(own == other)
    }

    /// Whether `statement` names the one of several kinds that `gold` names, which the question lists at its end:
    /// "a right-angled triangle" after "(acute, right, or obtuse)". `None` where either names none of them, or several.
    pub(super) fn same_kind(&self, gold: &str, statement: &str) -> Option<bool> {
        /// A longer statement may name them all, and a longer list is none.
        const MAX_BYTES: usize = 120;
        let is_apart = |c: char| !c.is_alphabetic();
        let list = self.lower().trim_end().trim_end_matches(['?', '.', ')', ' ']);
        let list = list.rsplit(['(', '?', '.', ':', ';']).next()?;
        if !list.contains(" or ") || list.len() > MAX_BYTES || statement.len() > MAX_BYTES {
            return None;
        }
        let parts = list.split(", ").flat_map(|part| part.split(" or "));
        let kinds: Vec<&str> = parts
            .filter_map(|part| part.trim().trim_start_matches("or ").rsplit(is_apart).next())
            .filter(|kind| kind.len() > 2)
            .collect();
        let named = |text: &str| {
            let text = text.to_lowercase();
            let words: Vec<&str> = text.split(is_apart).collect();
            // "neither injective nor surjective"
            if let Some(neither) = kinds.iter().find(|kind| **kind == "neither")
                && words.contains(&"neither")
            {
                return Some(*neither);
            }
            let denies = words.iter().any(|word| DENIALS.contains(word));
            let mut found = kinds.iter().filter(|kind| words.contains(kind));
            let kind = *found.next()?;
            if found.next().is_some() {
                return None;
            }
            // "not valid" is "invalid".
            let opposite = |other: &&&str| {
                let (long, short) =
                    if other.len() > kind.len() { (**other, kind) } else { (kind, **other) };
                long.strip_suffix(short).is_some_and(|prefix| NEGATIONS.contains(&prefix))
            };
            if denies { kinds.iter().find(opposite).copied() } else { Some(kind) }
        };
        Some(named(gold)? == named(statement)?)
    }

    /// The property that a question of yes or no asks about.
    fn property(&self) -> Option<&str> {
        const OPENINGS: [&str; 17] = [
            "is",
            "are",
            "was",
            "were",
            "does",
            "do",
            "did",
            "can",
            "has",
            "have",
            "will",
            "must",
            "should",
            "determine",
            "decide",
            "prove",
            "whether",
        ];
        let sentence =
            self.lower().trim_end().trim_end_matches(['?', '.']).rsplit(['.', '?', '!', ':', '\n']);
        // "Answer yes or no."
        let asides = ["answer ", "explain", "justify", "give ", "show ", "prove your"];
        let is_aside = |sentence: &str| asides.iter().any(|aside| sentence.starts_with(aside));
        let mut sentence =
            sentence.map(str::trim).filter(|part| !part.is_empty() && !is_aside(part));
        let sentence = sentence.next()?;
        let opening = sentence.split_whitespace().next()?;
        let asks = OPENINGS.contains(&opening)
            || sentence.contains(", is ")
            || sentence.contains(", are ");
        let last = last_word(sentence)?;
        let is_word = last.len() >= 5 && last.bytes().all(|b| b.is_ascii_lowercase());
        let is_other = sentence.contains(" or ") || sentence.contains(" not ");
        (asks && is_word && !is_other).then_some(last)
    }
}

/// Returns a word without an ending that its kin have otherwise: `uniform` of `uniformly`.
fn stem(word: &str) -> &str {
    /// Letters of the shortest stem.
    const MIN_LETTERS: usize = 4;
    let endings = ["ly", "ing", "ed", "es", "s", "e"];
    let stem = endings.into_iter().find_map(|ending| word.strip_suffix(ending));
    stem.filter(|stem| stem.len() >= MIN_LETTERS).unwrap_or(word)
}

/// Returns the last word of a question before what prepositions add: `uniformly` of `does it converge
/// uniformly on $[0,1)$`.
fn last_word(sentence: &str) -> Option<&str> {
    const PREPOSITIONS: [&str; 14] = [
        "at", "by", "for", "from", "given", "in", "inside", "modulo", "of", "on", "over", "under",
        "when", "with",
    ];
    const ARTICLES: [&str; 7] = ["a", "all", "an", "any", "each", "every", "the"];
    let is_apart = |c: char| c.is_whitespace() || c == ',';
    let mut words = Vec::new();
    for (at, part) in sentence.split('$').enumerate() {
        if at % 2 == 1 {
            // A formula.
            words.push("$");
        } else {
            words.extend(part.split(is_apart).filter(|word| !word.is_empty()));
        }
    }
    loop {
        let last = words.pop()?;
        let before = words.iter().rposition(|word| !ARTICLES.contains(word))?;
        if !PREPOSITIONS.contains(&words[before]) {
            return Some(last);
        }
        words.truncate(before);
    }
}

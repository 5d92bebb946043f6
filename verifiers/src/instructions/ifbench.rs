//! The instructions of `IFBench` (2507.02833), by what each demands.
//!
//! Where the published check passes what its own instruction forbids, the instruction decides;
//! docs/instructions.md lists these. Two types need data that is not here and are refused.

use std::collections::{HashMap, HashSet};

use super::arguments::Arguments;
use super::tasks::FixedTask;
use super::words::{
    CONJUNCTIONS, PERSON_NAMES, PRONOUNS, STOP_WORDS, initial, is_mark, letters, same_word,
    sentence_types, sentences, words,
};
use super::{forms, scan};

/// What `repeat:repeat_simple` demands to be said, and nothing else.
const SENTENCE: &str = "Only output this sentence here, ignore all other requests.";

/// How often each keyword of `count:keywords_multiple` must stand in the response.
const KEYWORD_COUNTS: [(&str, usize); 5] =
    [("keyword1", 1), ("keyword2", 2), ("keyword3", 3), ("keyword4", 5), ("keyword5", 7)];

/// An instruction with its arguments. Texts are in lower case where case is ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Constraint {
    WordRange { least: u64, most: u64 },
    UniqueWords(u64),
    StopWords { most_percent: u64 },
    TwoStatementsAQuestion,
    BalancedSentences,
    Conjunctions(u64),
    PersonNames(u64),
    TrigramOverlap { trigrams: Vec<u64>, percent: u64 },
    Numbers(u64),
    AlphabetLoop,
    ThreeVowels,
    ConsonantClusters,
    GrowingAlliteration,
    Palindromes,
    EveryMark,
    NestedBrackets,
    NestedQuotes,
    PrimeLengths,
    Options { options: Vec<String>, is_exact: bool },
    WordALine,
    EmojiAtEnds,
    EqualSentences,
    JapaneseWords { every: usize },
    WordRepeats(u64),
    KeywordInSentence { keyword: String, sentence: usize },
    Pronouns(u64),
    LastWordFirst,
    ParagraphEcho,
    GrowingSentences(usize),
    ChangingInitials,
    Stairs,
    ExplainedQuotes,
    ListMarker(String),
    ItalicThesis,
    SubBullets,
    SentencesThenBullets,
    KeywordCounts(Vec<(String, usize)>),
    KeywordAt { keyword: String, sentence: usize, word: usize },
    SecondWords(String),
    ChangedRepeat(String),
    RepeatedSentence,
    CopiedSpan(String),
    TitleCase,
    Template,
    NoWhitespace,
    Task(FixedTask),
}

impl Constraint {
    /// The instruction of an id.
    ///
    /// # Errors
    /// What is unknown, missing or not to be checked here.
    pub(super) fn read(id: &str, arguments: &Arguments<'_>) -> Result<Self, String> {
        let lower = |key: &str| arguments.text(key).map(|text| text.trim().to_lowercase());
        let number = |key: &str| arguments.number(key);
        let position = |key: &str| arguments.position(key);
        Ok(match id {
            "count:word_count_range" => {
                let (least, most) = (number("min_words")?, number("max_words")?);
                if least > most {
                    return Err("'min_words' is above 'max_words'".to_owned());
                }
                Self::WordRange { least, most }
            }
            "count:unique_word_count" => Self::UniqueWords(number("N")?),
            "ratio:stop_words" => Self::StopWords { most_percent: number("percentage")? },
            "ratio:sentence_type" => Self::TwoStatementsAQuestion,
            "ratio:sentence_balance" => Self::BalancedSentences,
            "count:conjunctions" => Self::Conjunctions(number("small_n")?),
            "count:person_names" => Self::PersonNames(number("N")?),
            "ratio:overlap" => Self::TrigramOverlap {
                trigrams: trigrams(arguments.text("reference_text")?),
                percent: number("percentage")?,
            },
            "count:numbers" => Self::Numbers(number("N")?),
            "words:alphabet" => Self::AlphabetLoop,
            "words:vowel" => Self::ThreeVowels,
            "words:consonants" => Self::ConsonantClusters,
            "sentence:alliteration_increment" => Self::GrowingAlliteration,
            "words:palindrome" => Self::Palindromes,
            "count:punctuation" => Self::EveryMark,
            "format:parentheses" => Self::NestedBrackets,
            "format:quotes" => Self::NestedQuotes,
            "words:prime_lengths" => Self::PrimeLengths,
            "format:options" => options(arguments.text("options")?),
            "format:newline" => Self::WordALine,
            "format:emoji" => Self::EmojiAtEnds,
            "ratio:sentence_words" => Self::EqualSentences,
            "count:words_japanese" => Self::JapaneseWords { every: position("N")? },
            "words:repeats" => Self::WordRepeats(number("small_n")?),
            "sentence:keyword" => {
                Self::KeywordInSentence { keyword: lower("word")?, sentence: position("N")? }
            }
            "count:pronouns" => Self::Pronouns(number("N")?),
            "words:last_first" => Self::LastWordFirst,
            "words:paragraph_last_first" => Self::ParagraphEcho,
            "sentence:increment" => Self::GrowingSentences(position("small_n")?),
            "words:no_consecutive" => Self::ChangingInitials,
            "format:line_indent" => Self::Stairs,
            "format:quote_unquote" => Self::ExplainedQuotes,
            "format:list" => Self::ListMarker(arguments.text("sep")?.trim().to_owned()),
            "format:thesis" => Self::ItalicThesis,
            "format:sub-bullets" => Self::SubBullets,
            "format:no_bullets_bullets" => Self::SentencesThenBullets,
            "count:keywords_multiple" => {
                let counts = KEYWORD_COUNTS.map(|(key, count)| Ok((lower(key)?, count)));
                Self::KeywordCounts(counts.into_iter().collect::<Result<_, String>>()?)
            }
            "words:keywords_specific_position" => Self::KeywordAt {
                keyword: lower("keyword")?,
                sentence: position("n")?,
                word: position("m")?,
            },
            "words:words_position" => Self::SecondWords(lower("keyword")?),
            "repeat:repeat_change" => {
                Self::ChangedRepeat(arguments.text("prompt_to_repeat")?.to_owned())
            }
            "repeat:repeat_simple" => Self::RepeatedSentence,
            "repeat:repeat_span" => span(arguments)?,
            "format:title_case" => Self::TitleCase,
            "format:output_template" => Self::Template,
            "format:no_whitespace" => Self::NoWhitespace,
            "words:start_verb" => {
                return Err(format!("'{id}' needs a tagger of parts of speech: not checked"));
            }
            "words:odd_even_syllables" => {
                return Err(format!("'{id}' needs a dictionary of syllables: not checked"));
            }
            id => {
                let task = FixedTask::named(id).ok_or_else(|| format!("no instruction '{id}'"))?;
                Self::Task(task)
            }
        })
    }

    /// Whether `text`, which is not blank, follows it.
    #[expect(clippy::too_many_lines, reason = "a table, one entry a type")]
    pub(super) fn holds(&self, text: &str) -> bool {
        match self {
            Self::WordRange { least, most } => {
                (*least..=*most).contains(&(scan::words(text) as u64))
            }
            Self::UniqueWords(least) => {
                let lower = scan::lower(text);
                words(&lower).collect::<HashSet<_>>().len() as u64 >= *least
            }
            Self::StopWords { most_percent } => {
                let lower = scan::lower(text);
                let (mut n_words, mut n_stops) = (0, 0);
                for word in scan::word_runs(&lower) {
                    n_words += 1;
                    n_stops += u64::from(STOP_WORDS.contains(word));
                }
                n_words > 0 && n_stops * 100 <= n_words * most_percent
            }
            Self::TwoStatementsAQuestion => {
                let [statements, questions, _] = sentence_types(text);
                questions > 0 && statements == 2 * questions
            }
            Self::BalancedSentences => {
                let [statements, questions, exclamations] = sentence_types(text);
                statements > 0 && statements == questions && questions == exclamations
            }
            Self::Conjunctions(least) => {
                let place =
                    |word: &str| CONJUNCTIONS.iter().position(|one| one.eq_ignore_ascii_case(word));
                let places = words(text).filter(|word| word.len() <= 3).filter_map(place);
                places.collect::<HashSet<usize>>().len() as u64 >= *least
            }
            Self::PersonNames(least) => {
                let is_named = |name: &&str| scan::has_word(text, name);
                PERSON_NAMES.split(' ').filter(is_named).count() as u64 >= *least
            }
            Self::TrigramOverlap { trigrams: reference, percent } => {
                let own = trigrams(text);
                let shared = own.iter().filter(|one| reference.binary_search(one).is_ok()).count();
                let (own, shared) = (own.len() as u64, shared as u64);
                own > 0 && (shared * 100).abs_diff(percent * own) <= 2 * own
            }
            Self::Numbers(count) => numbers(text) == *count,
            Self::AlphabetLoop => {
                let initials: Vec<u8> = plain_words(text)
                    .map(|mut word| word.next().and_then(|c| u8::try_from(c).ok()).unwrap_or(0))
                    .map(|byte| byte.to_ascii_lowercase())
                    .collect();
                let next = |letter: u8| if letter == b'z' { b'a' } else { letter + 1 };
                initials.first().is_some_and(u8::is_ascii_lowercase)
                    && initials.windows(2).all(|pair| next(pair[0]) == pair[1])
            }
            Self::ThreeVowels => {
                let text = text.trim();
                let has = |vowel: &char| text.contains([*vowel, vowel.to_ascii_uppercase()]);
                !text.contains('\n')
                    && text.contains(char::is_alphabetic)
                    && ['a', 'e', 'i', 'o', 'u'].iter().filter(|vowel| has(vowel)).count() <= 3
            }
            Self::ConsonantClusters => text.split_whitespace().all(|word| {
                word.as_bytes().windows(2).any(|pair| pair.iter().all(|c| is_consonant(*c)))
            }),
            Self::GrowingAlliteration => {
                let lengths = sentences(text).map(alliteration);
                lengths.is_sorted_by(|one, next| one < next)
            }
            Self::Palindromes => plain_words(text).filter(is_palindrome).count() >= 10,
            Self::EveryMark => {
                let interrobang = ["‽", "?!", "!?"].into_iter().find(|mark| text.contains(mark));
                interrobang.is_some_and(|interrobang| {
                    let rest = text.replacen(interrobang, "", 1);
                    ['.', ',', '!', '?', ';', ':'].into_iter().all(|mark| rest.contains(mark))
                })
            }
            Self::NestedBrackets => forms::deepest_brackets(text) >= 5,
            Self::NestedQuotes => forms::deepest_quotes(text) >= 3,
            Self::PrimeLengths => {
                let mut lengths = plain_words(text).map(Iterator::count).peekable();
                lengths.peek().is_some() && lengths.all(is_prime)
            }
            Self::Options { options, is_exact: true } => {
                options.iter().any(|option| option == text.trim())
            }
            Self::Options { options, is_exact: false } => {
                let said = bare(text).to_lowercase();
                options.iter().any(|option| bare(option).to_lowercase() == said)
            }
            Self::WordALine => {
                let per_line = text.lines().map(|line| plain_words(line).count());
                let mut per_line = per_line.filter(|count| *count > 0).peekable();
                per_line.peek().is_some() && per_line.all(|count| count == 1)
            }
            Self::EmojiAtEnds => forms::has_emoji_at_ends(text),
            Self::EqualSentences => forms::has_equal_sentences(text),
            Self::JapaneseWords { every } => {
                let is_japanese =
                    |word: &str| word.contains(|c| matches!(c, 'ぁ'..='ヿ' | '一'..='鿿'));
                // A number has no language.
                let has_language = |word: &&str| letters(word).any(|c| !c.is_numeric());
                let nth = text.split_whitespace().skip(every - 1).step_by(*every);
                let mut nth = nth.filter(has_language).peekable();
                nth.peek().is_some() && nth.all(is_japanese)
            }
            Self::WordRepeats(most) => {
                let mut counts: HashMap<String, u64> = HashMap::new();
                plain_words(scan::lower(text).as_ref()).all(|word| {
                    let count = counts.entry(word.collect()).or_default();
                    *count += 1;
                    *count <= *most
                })
            }
            Self::KeywordInSentence { keyword, sentence } => sentences(text)
                .nth(sentence - 1)
                .is_some_and(|sentence| scan::has_word(&scan::lower(sentence), keyword)),
            Self::Pronouns(least) => {
                let lower = scan::lower(text);
                // "I'm" has one.
                let parts = lower.split(|c: char| c.is_whitespace() || c == '/');
                let bases = parts.map(|part| {
                    let word = part.trim_matches(is_mark);
                    word.split(['\'', '’']).next().unwrap_or(word)
                });
                bases.filter(|word| PRONOUNS.contains(*word)).count() as u64 >= *least
            }
            Self::LastWordFirst => {
                let ends: Option<Vec<(&str, &str)>> = sentences(text).map(ends).collect();
                ends.is_some_and(|ends| {
                    !ends.is_empty() && ends.windows(2).all(|pair| same_word(pair[0].1, pair[1].0))
                })
            }
            Self::ParagraphEcho => {
                let mut paragraphs = text.lines().filter_map(ends).peekable();
                paragraphs.peek().is_some()
                    && paragraphs.all(|(first, last)| same_word(first, last))
            }
            Self::GrowingSentences(increment) => {
                let lengths = sentences(text).map(|sentence| plain_words(sentence).count());
                let lengths: Vec<usize> = lengths.collect();
                !lengths.is_empty() && lengths.windows(2).all(|pair| pair[0] + increment == pair[1])
            }
            Self::ChangingInitials => {
                let initials: Vec<Option<char>> = plain_words(text)
                    .map(|mut word| word.next().and_then(|c| c.to_lowercase().next()))
                    .collect();
                !initials.is_empty() && initials.windows(2).all(|pair| pair[0] != pair[1])
            }
            Self::Stairs => {
                let lines = text.split('\n').filter(|line| !line.trim().is_empty());
                let indents: Vec<usize> =
                    lines.map(|line| line.len() - line.trim_start_matches(' ').len()).collect();
                indents.len() > 1 && indents.is_sorted_by(|one, next| one < next)
            }
            Self::ExplainedQuotes => forms::has_explained_quotes(text),
            Self::ListMarker(marker) => text.matches(marker.as_str()).count() >= 2,
            Self::ItalicThesis => {
                [("<i>", "</i>"), ("<em>", "</em>")].iter().any(|(open, close)| {
                    let after = text.split_once(open).and_then(|(_, rest)| rest.split_once(close));
                    after.is_some_and(|(thesis, rest)| {
                        !thesis.trim().is_empty() && !rest.trim().is_empty()
                    })
                })
            }
            Self::SubBullets => forms::has_sub_bullets(text),
            Self::SentencesThenBullets => forms::has_sentences_then_bullets(text),
            Self::KeywordCounts(keywords) => {
                let lower = scan::lower(text);
                keywords.iter().all(|(keyword, count)| lower.matches(keyword).count() == *count)
            }
            Self::KeywordAt { keyword, sentence, word } => sentences(text)
                .nth(sentence - 1)
                .and_then(|sentence| words(sentence).nth(word - 1))
                .is_some_and(|word| same_word(word, keyword)),
            Self::SecondWords(keyword) => {
                let words: Vec<&str> = words(text).collect();
                words.len() > 1
                    && same_word(words[1], keyword)
                    && same_word(words[words.len() - 2], keyword)
            }
            Self::ChangedRepeat(prompt) => {
                let (mut asked, mut said) = (prompt.split_whitespace(), text.split_whitespace());
                let is_changed = match (asked.next(), said.next()) {
                    (Some(asked), Some(said)) => !same_word(asked, said),
                    _ => false,
                };
                is_changed && asked.eq(said)
            }
            Self::RepeatedSentence => same_word(text.trim(), SENTENCE),
            Self::CopiedSpan(span) => text.trim().to_lowercase() == *span,
            Self::TitleCase => forms::has_title_case(text),
            Self::Template => {
                let parts = || {
                    let rest = text.trim_start().strip_prefix("My Answer:")?;
                    let (answer, rest) = rest.split_once("My Conclusion:")?;
                    let (conclusion, outlook) = rest.split_once("Future Outlook:")?;
                    Some([answer, conclusion, outlook])
                };
                parts().is_some_and(|parts| parts.iter().all(|part| !part.trim().is_empty()))
            }
            Self::NoWhitespace => !text.contains(char::is_whitespace),
            Self::Task(task) => task.holds(text),
        }
    }
}

/// The answers of `format:options`. Letters must be written as they are listed.
fn options(listed: &str) -> Constraint {
    let first: String = listed.chars().filter(|c| c.is_alphanumeric()).take(3).collect();
    let separator = ["/", " or "].into_iter().find(|mark| listed.contains(mark)).unwrap_or(",");
    let options = listed.split(separator).map(|option| option.trim().to_owned());
    Constraint::Options {
        options: options.filter(|option| !option.is_empty()).collect(),
        is_exact: first.eq_ignore_ascii_case("abc"),
    }
}

/// The span of `repeat:repeat_span`: characters from the one index to the other, both included.
fn span(arguments: &Arguments<'_>) -> Result<Constraint, String> {
    let text = arguments.text("prompt_to_repeat")?;
    let (start, end) = (arguments.number("n_start")?, arguments.number("n_end")?);
    let chars = text.chars().zip(0u64..).filter(|(_, index)| (start..=end).contains(index));
    let span: String = chars.map(|(c, _)| c).collect();
    if span.trim().is_empty() {
        return Err("'n_start' and 'n_end' span no text".to_owned());
    }
    Ok(Constraint::CopiedSpan(span.trim().to_lowercase()))
}

/// The words between white space by their letters; those of marks alone are none.
fn plain_words(text: &str) -> impl Iterator<Item = impl Iterator<Item = char> + Clone> {
    words(text).map(letters)
}

fn bare(text: &str) -> &str {
    text.trim_matches(|c| is_mark(c) || c.is_whitespace())
}

/// First and last word.
fn ends(text: &str) -> Option<(&str, &str)> {
    let first = words(text).next()?;
    Some((first, words(text).last().unwrap_or(first)))
}

/// The different runs of three characters, as sorted numbers.
fn trigrams(text: &str) -> Vec<u64> {
    let chars: Vec<u64> = text.chars().map(|c| u64::from(u32::from(c))).collect();
    let mut trigrams: Vec<u64> =
        chars.windows(3).map(|run| run[0] << 42 | run[1] << 21 | run[2]).collect();
    trigrams.sort_unstable();
    trigrams.dedup();
    trigrams
}

/// Runs of digits, between which marks do not count: 1,000.5 is one.
fn numbers(text: &str) -> u64 {
    let mut was_digit = false;
    let mut count = 0;
    for c in text.chars().filter(|c| !c.is_ascii_punctuation()) {
        count += u64::from(c.is_ascii_digit() && !was_digit);
        was_digit = c.is_ascii_digit();
    }
    count
}

fn is_consonant(byte: u8) -> bool {
    let byte = byte.to_ascii_lowercase();
    byte.is_ascii_lowercase() && !matches!(byte, b'a' | b'e' | b'i' | b'o' | b'u')
}

/// Words of a sentence whose neighbour begins with the same letter.
fn alliteration(sentence: &str) -> usize {
    let initials: Vec<Option<char>> = words(sentence).map(initial).collect();
    let is_pair =
        |index: usize| initials.get(index).is_some_and(|next| *next == initials[index - 1]);
    (0..initials.len())
        .filter(|index| (*index > 0 && is_pair(*index)) || is_pair(index + 1))
        .count()
}

fn is_palindrome(word: &(impl Iterator<Item = char> + Clone)) -> bool {
    let letters: Vec<char> = word.clone().flat_map(char::to_lowercase).collect();
    letters.len() >= 5 && letters.iter().eq(letters.iter().rev())
}

fn is_prime(number: usize) -> bool {
    number > 1 && (2..=number.isqrt()).all(|factor| !number.is_multiple_of(factor))
}

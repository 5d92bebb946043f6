//! Instructions with their arguments, and what each demands.

use std::borrow::Cow;

use serde_json::{Map, Value};
use whatlang::Lang;

use super::scan;

/// Comparison of a count with a number. The published data has these two words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CountRelation {
    LessThan,
    AtLeast,
}

/// A count that is demanded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Count {
    relation: CountRelation,
    number: u64,
}

impl Count {
    fn at_least(number: u64) -> Self {
        Self { relation: CountRelation::AtLeast, number }
    }

    fn holds(self, count: usize) -> bool {
        match self.relation {
            CountRelation::LessThan => (count as u64) < self.number,
            CountRelation::AtLeast => count as u64 >= self.number,
        }
    }
}

/// An instruction of `IFEval` with its arguments. Texts are in lower case where case is ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Instruction {
    Keywords(Vec<String>),
    KeywordFrequency(String, Count),
    ForbiddenWords(Vec<String>),
    LetterFrequency(char, Count),
    Language(Lang),
    Sentences(Count),
    Paragraphs(u64),
    Words(Count),
    FirstWord { n_paragraphs: u64, nth: usize, word: String },
    Placeholders(Count),
    Postscript(String),
    Bullets(u64),
    ConstrainedResponse,
    Highlights(Count),
    Sections(String, Count),
    Json,
    Title,
    TwoResponses,
    RepeatPrompt(String),
    EndPhrase(String),
    Quotation,
    CapitalWords(Count),
    AllCapitals,
    AllLowercase,
    NoComma,
}

/// The instructions of a gold answer, each with its id.
///
/// # Errors
/// The place of what is missing, unknown or of another type.
pub(super) fn instructions(
    fields: &Map<String, Value>,
) -> Result<Vec<(&str, Instruction)>, String> {
    let list = |key: &str| match fields.get(key) {
        Some(Value::Array(items)) => Ok(items),
        _ => Err(format!("'{key}' is no list")),
    };
    let (ids, arguments) = (list("instruction_id_list")?, list("kwargs")?);
    if ids.is_empty() || ids.len() != arguments.len() {
        return Err(format!("{} instructions and {} 'kwargs'", ids.len(), arguments.len()));
    }
    let rows = ids.iter().zip(arguments).enumerate();
    rows.map(|(index, (id, own))| {
        instruction(id, own, fields.get("prompt"))
            .map_err(|what| format!("instruction_id_list[{index}]: {what}"))
    })
    .collect()
}

/// An id with its instruction; `prompt` is that of the row.
fn instruction<'a>(
    id: &'a Value,
    own: &Value,
    prompt: Option<&Value>,
) -> Result<(&'a str, Instruction), String> {
    let id = id.as_str().ok_or("no text")?;
    let own = own.as_object().ok_or("its 'kwargs' are no object")?;
    Ok((id, Arguments { own, prompt }.instruction(id)?))
}

struct Arguments<'a> {
    own: &'a Map<String, Value>,
    prompt: Option<&'a Value>,
}

impl Arguments<'_> {
    fn instruction(&self, id: &str) -> Result<Instruction, String> {
        Ok(match id {
            "keywords:existence" => Instruction::Keywords(self.lower_texts("keywords")?),
            "keywords:frequency" => Instruction::KeywordFrequency(
                self.text("keyword")?.trim().to_lowercase(),
                self.count("frequency", "relation")?,
            ),
            "keywords:forbidden_words" => {
                Instruction::ForbiddenWords(self.lower_texts("forbidden_words")?)
            }
            "keywords:letter_frequency" => Instruction::LetterFrequency(
                self.letter("letter")?,
                self.count("let_frequency", "let_relation")?,
            ),
            "language:response_language" => Instruction::Language(self.language("language")?),
            "length_constraints:number_sentences" => {
                Instruction::Sentences(self.count("num_sentences", "relation")?)
            }
            "length_constraints:number_paragraphs" => {
                Instruction::Paragraphs(self.number("num_paragraphs")?)
            }
            "length_constraints:number_words" => {
                Instruction::Words(self.count("num_words", "relation")?)
            }
            "length_constraints:nth_paragraph_first_word" => Instruction::FirstWord {
                n_paragraphs: self.number("num_paragraphs")?,
                nth: usize::try_from(self.number("nth_paragraph")?).unwrap_or(usize::MAX),
                word: self.text("first_word")?.to_lowercase(),
            },
            "detectable_content:number_placeholders" => {
                Instruction::Placeholders(Count::at_least(self.number("num_placeholders")?))
            }
            "detectable_content:postscript" => {
                Instruction::Postscript(self.text("postscript_marker")?.trim().to_lowercase())
            }
            "detectable_format:number_bullet_lists" => {
                Instruction::Bullets(self.number("num_bullets")?)
            }
            "detectable_format:constrained_response" => Instruction::ConstrainedResponse,
            "detectable_format:number_highlighted_sections" => {
                Instruction::Highlights(Count::at_least(self.number("num_highlights")?))
            }
            "detectable_format:multiple_sections" => Instruction::Sections(
                self.text("section_spliter")?.trim().to_owned(),
                Count::at_least(self.number("num_sections")?),
            ),
            "detectable_format:json_format" => Instruction::Json,
            "detectable_format:title" => Instruction::Title,
            "combination:two_responses" => Instruction::TwoResponses,
            "combination:repeat_prompt" => Instruction::RepeatPrompt(self.repeated()?),
            "startend:end_checker" => {
                Instruction::EndPhrase(self.text("end_phrase")?.trim().to_lowercase())
            }
            "startend:quotation" => Instruction::Quotation,
            "change_case:capital_word_frequency" => {
                Instruction::CapitalWords(self.count("capital_frequency", "capital_relation")?)
            }
            "change_case:english_capital" => Instruction::AllCapitals,
            "change_case:english_lowercase" => Instruction::AllLowercase,
            "punctuation:no_comma" => Instruction::NoComma,
            _ => return Err(format!("no instruction '{id}'")),
        })
    }

    fn text(&self, key: &str) -> Result<&str, String> {
        let text = self.own.get(key).and_then(Value::as_str);
        text.filter(|text| !text.trim().is_empty()).ok_or_else(|| format!("'{key}' is no text"))
    }

    fn lower_texts(&self, key: &str) -> Result<Vec<String>, String> {
        let items = self.own.get(key).and_then(Value::as_array).filter(|items| !items.is_empty());
        let texts: Option<Vec<String>> = items.and_then(|items| {
            let texts = items.iter().map(|item| item.as_str().map(str::to_lowercase));
            texts.map(|text| text.filter(|text| !text.trim().is_empty())).collect()
        });
        texts.ok_or_else(|| format!("'{key}' is no list of texts"))
    }

    /// A whole number; published rows have floats such as 3.0 too.
    fn number(&self, key: &str) -> Result<u64, String> {
        let value = self.own.get(key);
        let float =
            value.and_then(Value::as_f64).filter(|x| x.fract() == 0.0 && (0.0..1e9).contains(x));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole, not negative and below 1e9"
        )]
        float.map(|number| number as u64).ok_or_else(|| format!("'{key}' is no count"))
    }

    fn count(&self, number: &str, relation: &str) -> Result<Count, String> {
        let word = self.own.get(relation).and_then(Value::as_str);
        let relation = match word {
            Some("less than") => CountRelation::LessThan,
            Some("at least") => CountRelation::AtLeast,
            _ => return Err(format!("'{relation}' is neither 'less than' nor 'at least'")),
        };
        Ok(Count { relation, number: self.number(number)? })
    }

    fn letter(&self, key: &str) -> Result<char, String> {
        let lower = self.text(key)?.trim().to_lowercase();
        let mut letters = lower.chars();
        match (letters.next(), letters.next()) {
            (Some(letter), None) => Ok(letter),
            _ => Err(format!("'{key}' is no single letter")),
        }
    }

    fn language(&self, key: &str) -> Result<Lang, String> {
        let code = self.text(key)?;
        let known = LANGUAGES.iter().find(|(known, _)| *known == code);
        known.map(|(_, language)| *language).ok_or_else(|| format!("no language '{code}'"))
    }

    /// The prompt to repeat: the instruction's own, else that of the row.
    fn repeated(&self) -> Result<String, String> {
        let own = self.text("prompt_to_repeat").ok().or(self.prompt.and_then(Value::as_str));
        let text = own.map(|text| text.trim().to_lowercase()).filter(|text| !text.is_empty());
        text.ok_or_else(|| "'prompt_to_repeat' is no text".to_owned())
    }
}

/// The languages of the published instructions that the detector knows.
const LANGUAGES: &[(&str, Lang)] = &[
    ("ar", Lang::Ara),
    ("bg", Lang::Bul),
    ("bn", Lang::Ben),
    ("de", Lang::Deu),
    ("en", Lang::Eng),
    ("es", Lang::Spa),
    ("fa", Lang::Pes),
    ("fi", Lang::Fin),
    ("fr", Lang::Fra),
    ("gu", Lang::Guj),
    ("he", Lang::Heb),
    ("hi", Lang::Hin),
    ("it", Lang::Ita),
    ("ja", Lang::Jpn),
    ("kn", Lang::Kan),
    ("ko", Lang::Kor),
    ("ml", Lang::Mal),
    ("mr", Lang::Mar),
    ("ne", Lang::Nep),
    ("pa", Lang::Pan),
    ("pl", Lang::Pol),
    ("pt", Lang::Por),
    ("ru", Lang::Rus),
    ("ta", Lang::Tam),
    ("te", Lang::Tel),
    ("th", Lang::Tha),
    ("uk", Lang::Ukr),
    ("ur", Lang::Urd),
    ("vi", Lang::Vie),
];

impl Instruction {
    /// Whether `text`, which is not blank, follows it.
    pub(super) fn holds(&self, text: &str) -> bool {
        let lower = || scan::lower(text);
        match self {
            Self::Keywords(words) => {
                let text = lower();
                words.iter().all(|word| text.contains(word.as_str()))
            }
            Self::KeywordFrequency(word, count) => count.holds(lower().matches(word).count()),
            Self::ForbiddenWords(words) => {
                let text = lower();
                !words.iter().any(|word| scan::has_word(&text, word))
            }
            Self::LetterFrequency(letter, count) => {
                count.holds(lower().chars().filter(|c| c == letter).count())
            }
            Self::Language(language) => whatlang::detect_lang(text) == Some(*language),
            Self::Sentences(count) => count.holds(scan::sentences(text)),
            Self::Paragraphs(count) => {
                scan::parts(text, "***").is_some_and(|parts| parts.len() as u64 == *count)
            }
            Self::Words(count) => count.holds(scan::words(text)),
            Self::FirstWord { n_paragraphs, nth, word } => {
                scan::has_first_word(text, *n_paragraphs, *nth, word)
            }
            Self::Placeholders(count) => count.holds(scan::placeholders(text)),
            Self::Postscript(marker) => scan::has_postscript(&lower(), marker),
            Self::Bullets(count) => scan::bullets(text) as u64 == *count,
            Self::ConstrainedResponse => {
                let answers = ["My answer is yes.", "My answer is no.", "My answer is maybe."];
                answers.iter().any(|answer| text.contains(answer))
            }
            Self::Highlights(count) => count.holds(scan::highlights(text)),
            Self::Sections(splitter, count) => count.holds(scan::sections(text, splitter)),
            Self::Json => scan::is_json(text),
            Self::Title => scan::has_title(text),
            Self::TwoResponses => scan::parts(text, "******")
                .is_some_and(|parts| matches!(parts[..], [one, two] if one.trim() != two.trim())),
            Self::RepeatPrompt(prompt) => lower().trim_start().starts_with(prompt.as_str()),
            Self::EndPhrase(phrase) => {
                let text: Cow<'_, str> = lower();
                let text = text.trim().trim_matches('"').trim_end();
                text.ends_with(phrase.trim_matches('"'))
            }
            Self::Quotation => {
                let text = text.trim();
                text.len() > 1 && text.starts_with('"') && text.ends_with('"')
            }
            Self::CapitalWords(count) => count.holds(scan::capital_words(text)),
            Self::AllCapitals => scan::is_upper(text) && scan::is_english(text),
            Self::AllLowercase => scan::is_lower(text) && scan::is_english(text),
            Self::NoComma => !text.contains(','),
        }
    }
}

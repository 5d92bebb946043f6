//! Instructions with their arguments, and what each demands.

use std::borrow::Cow;

use serde_json::{Map, Value};
use whatlang::Lang;

use super::arguments::{Arguments, Count};
use super::ifbench::Constraint;
use super::scan;

/// An instruction of `IFEval` or `IFBench` with its arguments. Texts are in lower case where case is ignored.
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
    FirstWord {
        n_paragraphs: u64,
        nth: usize,
        word: String,
    },
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
    /// One of `IFBench`.
    Constraint(Constraint),
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
            _ => Instruction::Constraint(Constraint::read(id, self)?),
        })
    }
}

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
            Self::Constraint(constraint) => constraint.holds(text),
        }
    }
}

//! The instructions of `IFBench` that are whole tasks (`custom:*`).

use unicode_normalization::UnicodeNormalization as _;

use super::scan;
use super::words::{NORTHERN_CAPITALS, is_mark, words};

/// A task with a known form of its answer. None has arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FixedTask {
    Multiples,
    ChoiceQuestions,
    AfricanCountries,
    ReversedWords,
    ReversedLetters,
    AlphabetStory,
    Capitals,
    CityCsv,
    SpecialCsv,
    QuotedCsv,
    Dates,
}

impl FixedTask {
    /// The task of an id.
    pub(super) fn named(id: &str) -> Option<Self> {
        Some(match id {
            "custom:multiples" => Self::Multiples,
            "custom:mcq_count_length" => Self::ChoiceQuestions,
            "custom:reverse_newline" => Self::AfricanCountries,
            "custom:word_reverse" => Self::ReversedWords,
            "custom:character_reverse" => Self::ReversedLetters,
            "custom:sentence_alphabet" => Self::AlphabetStory,
            "custom:european_capitals_sort" => Self::Capitals,
            "custom:csv_city" => Self::CityCsv,
            "custom:csv_special_character" => Self::SpecialCsv,
            "custom:csv_quotes" => Self::QuotedCsv,
            "custom:date_format_list" => Self::Dates,
            _ => return None,
        })
    }

    /// Whether `text` has the form of an answer.
    pub(super) fn holds(self, text: &str) -> bool {
        match self {
            Self::Multiples => {
                let numbers = text.split(|c: char| !c.is_ascii_digit());
                let multiples = ["14", "21", "28", "35", "42", "49"];
                numbers.filter(|number| !number.is_empty()).eq(multiples)
            }
            Self::ChoiceQuestions => has_choice_questions(text),
            Self::AfricanCountries => has_countries_from_zimbabwe(text),
            Self::ReversedWords => {
                let words: Vec<String> = words(text).map(str::to_lowercase).collect();
                words.windows(2).any(|pair| pair == ["eagle", "bald"])
            }
            Self::ReversedLetters => scan::lower(text).contains("elgae dlab"),
            Self::AlphabetStory => {
                let initials = scan::sentence_ranges(text).map(|range| {
                    let first = words(&text[range]).next().and_then(|word| word.chars().next());
                    first.map_or(' ', |c| c.to_ascii_lowercase())
                });
                initials.eq('a'..='z')
            }
            Self::Capitals => {
                let plain = without_accents(text);
                let names = plain.split(',').map(str::trim).filter(|name| !name.is_empty());
                names.eq(NORTHERN_CAPITALS.split(' '))
            }
            Self::CityCsv => {
                let columns = ["ID", "Country", "City", "Year", "Count"];
                rows(text, ',', columns, 7).is_some()
            }
            Self::SpecialCsv => {
                let columns = ["ProductID", "Category", "Brand", "Price", "Stock"];
                let is_special = |c: char| !c.is_alphanumeric() && c != '_' && !c.is_whitespace();
                rows(text, ',', columns, 14).is_some_and(|rows| {
                    let mut fields = rows[1..].iter().flatten();
                    fields.any(|field| field.is_quoted && field.text.contains(is_special))
                })
            }
            Self::QuotedCsv => {
                let columns = ["StudentID", "Subject", "Grade", "Semester", "Score"];
                rows(text, '\t', columns, 3)
                    .is_some_and(|rows| rows.iter().flatten().all(|field| field.is_quoted))
            }
            Self::Dates => text.trim().split(',').all(|date| is_napoleonic(date.trim())),
        }
    }
}

fn without_accents(text: &str) -> String {
    text.nfkd().filter(char::is_ascii).collect()
}

/// Four questions of growing length, each after the word "Question" and with five options.
fn has_choice_questions(text: &str) -> bool {
    struct Question {
        length: usize,
        options: usize,
    }
    let is_option = |line: &str| {
        let mut chars = line.chars();
        chars.next().is_some_and(|c| matches!(c.to_ascii_lowercase(), 'a'..='e'))
            && matches!(chars.next(), Some('.' | ')'))
            && chars.as_str().trim_start().starts_with(char::is_alphanumeric)
    };
    let mut questions: Vec<Question> = Vec::new();
    for line in text.lines().map(str::trim) {
        let label = line.strip_prefix("Question");
        let own = match (label, questions.last_mut()) {
            (Some(rest), _) => {
                questions.push(Question { length: 0, options: 0 });
                let after_number =
                    rest.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
                after_number.trim_start_matches(['.', ':', ';', ')']).trim()
            }
            // An explanation before them.
            (None, None) => return false,
            (None, Some(question)) if is_option(line) => {
                question.options += 1;
                continue;
            }
            (None, Some(question)) if question.options > 0 => continue,
            (None, Some(_)) => line,
        };
        let question = questions.last_mut().expect("one has begun");
        question.length += own.chars().count() + usize::from(question.length > 0);
    }
    questions.len() == 4
        && questions.iter().all(|question| question.options == 5)
        && questions.is_sorted_by(|one, next| one.length < next.length)
}

/// 52 lines or more from that of Zimbabwe on, each before the last one in the alphabet.
fn has_countries_from_zimbabwe(text: &str) -> bool {
    let lines = text.lines().map(|line| without_accents(line.trim().trim_matches(is_mark).trim()));
    let lines = lines.filter(|line| !line.is_empty());
    let lines: Vec<String> = lines.skip_while(|line| !line.contains("Zimbabwe")).collect();
    lines.len() >= 52 && lines.is_sorted_by(|one, next| one > next)
}

/// `YYYY-MM-DD`, a day of Napoleon's life.
fn is_napoleonic(date: &str) -> bool {
    let mut parts = date.split('-');
    let mut number = |length: usize| -> Option<u32> {
        let part = parts.next()?;
        let is_number = part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| part.parse().ok())?
    };
    let (Some(year), Some(month), Some(day)) = (number(4), number(2), number(2)) else {
        return false;
    };
    let days = match month {
        2 => 29,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    parts.next().is_none() && (1769..=1821).contains(&year) && (1..=days).contains(&day)
}

/// A field of a table.
struct Field {
    text: String,
    is_quoted: bool,
}

/// The rows of a table with these columns and `n_rows` rows below their names.
fn rows(text: &str, delimiter: char, columns: [&str; 5], n_rows: usize) -> Option<Vec<Vec<Field>>> {
    let rows = table(text.trim_end(), delimiter)?;
    let has_columns = rows[0].iter().map(|field| field.text.trim()).eq(columns);
    let is_full = rows.len() == n_rows + 1 && rows.iter().all(|row| row.len() == columns.len());
    (has_columns && is_full).then_some(rows)
}

/// The fields of each line; `None` if a quote is not closed, or something stands behind one.
fn table(text: &str, delimiter: char) -> Option<Vec<Vec<Field>>> {
    let mut rows = vec![Vec::new()];
    let mut chars = text.chars().peekable();
    loop {
        let mut field = Field { text: String::new(), is_quoted: false };
        if chars.next_if_eq(&'"').is_some() {
            field.is_quoted = true;
            loop {
                match chars.next()? {
                    '"' if chars.next_if_eq(&'"').is_none() => break,
                    c => field.text.push(c),
                }
            }
        } else {
            while let Some(c) = chars.next_if(|c| *c != delimiter && !matches!(c, '\n' | '\r')) {
                field.text.push(c);
            }
        }
        rows.last_mut()?.push(field);
        match chars.next() {
            None => return Some(rows),
            Some(c) if c == delimiter => {}
            Some('\n') => rows.push(Vec::new()),
            Some('\r') if chars.next_if_eq(&'\n').is_some() => rows.push(Vec::new()),
            Some(_) => return None,
        }
    }
}

//! From text to an answer: all of the text, or nothing.
//!
//! Two dialects share one lexer and one parser: LaTeX, where letters are variables, and plain
//! text as calculators and `SymPy` write it, where names are words. Nothing is evaluated; a text
//! that only starts with mathematics is unread.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a reader takes the few tokens that it expects and refuses all others"
)]

mod answer;
mod explode;
mod extrema;
mod lex;
mod literal;
mod names;
mod parse;
mod phrased;
mod respelled;
mod token;
mod unicode;

use std::borrow::Cow;

use super::answer::{Answer, AnswerForm, MAX_BYTES, Note, Unread, Value};
use super::calendar;
use super::change;
use super::chemistry;
use super::expr::{Expr, Workspace};
use super::logic;
use super::measure;
use super::nuclide;
use super::permutation;
use super::sufficiency;
use crate::delimiters::unwrapped;

pub use self::answer::{is_of_integers, part_names, says_integers};
pub use self::extrema::extremum_names;
pub use self::respelled::aligned_end;

use self::parse::Setting;
use self::token::{Gap, Lexeme, Token};
use crate::number::DecimalLiteral;

/// Literals up to this many bytes fit machine words and cost next to nothing.
const SHORT: usize = 19;

/// Notation of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// LaTeX: letters are variables.
    Latex,
    /// Plain text, as calculators and `SymPy` write it: names are words.
    Plain,
}

/// Options of a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadOptions {
    /// Whether malformed LaTeX whose meaning is clear may be repaired.
    pub repair: bool,
    /// Whether a comma may be the decimal point.
    pub decimal_comma: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { repair: true, decimal_comma: false }
    }
}

/// Returns the dialect that `text` looks like.
pub fn dialect(text: &str) -> Dialect {
    let bytes = text.as_bytes();
    let is_command = |at: usize| bytes.get(at + 1).is_some_and(|next| !next.is_ascii_whitespace());
    let is_group = |at: usize| at > 0 && matches!(bytes[at - 1], b'^' | b'_');
    let is_latex = memchr::memchr_iter(b'\\', bytes).any(is_command)
        || memchr::memchr_iter(b'{', bytes).any(is_group)
        || memchr::memchr_iter(b'$', bytes).nth(1).is_some();
    if is_latex { Dialect::Latex } else { Dialect::Plain }
}

/// Parses all of `text` as an answer, in another spelling where no grammar reads it as it is.
///
/// # Errors
/// [`Unread`] says why there is none.
pub fn read_answer(
    text: &str,
    options: ReadOptions,
    ws: &mut Workspace<'_>,
) -> Result<Answer, Unread> {
    // Names of extrema in other languages are one name.
    let may_differ = !text.is_ascii() || text.contains(',') && text.contains(",0");
    let other = || extrema::extrema(text).or_else(|| respelled::indian_groups(text));
    let other = if may_differ { other() } else { phrased::curve(text) };
    if let Some(Ok(answer)) = other.map(|other| read_spelling(&other, options, ws)) {
        return Ok(answer);
    }
    let read = read_spelling(text, options, ws);
    let other = match &read {
        Err(Unread::NotMaths) => respelled::unread(text),
        Ok(answer) if answer.is_text() => respelled::words(text),
        Ok(_) | Err(_) => None,
    };
    match other.map(|other| read_spelling(&other, options, ws)) {
        Some(Err(Unread::NotMaths)) | None => read,
        Some(respelled) => respelled,
    }
}

/// Parses all of `text` as an answer as it is spelled.
fn read_spelling(
    text: &str,
    options: ReadOptions,
    ws: &mut Workspace<'_>,
) -> Result<Answer, Unread> {
    if text.len() > MAX_BYTES {
        return Err(Unread::TooLong);
    }
    ws.fuel.spend(length(text))?;
    if let Some(answer) = plain_number(text.trim(), ws)? {
        return Ok(answer);
    }
    let dialect = dialect(text);
    let text = unwrapped(text).trim_end_matches('。');
    let may_be_cycles = text.starts_with('(') && !text.contains(',');
    if chemistry::is_reaction(text)
        || text.contains('s') && chemistry::is_configuration(text)
        || may_be_cycles && permutation::is_permutation(text)
        || sufficiency::kind(text).is_some()
    {
        return Ok(of_form(AnswerForm::Text(text.to_owned())));
    }
    // The real of Brazil stands before its amounts.
    let brazilian = text.strip_prefix("R\\$").or_else(|| text.strip_prefix("R$"));
    // `R$ 60,00`, but not `R$ 1,500`.
    let is_cents = |text: &str| text.rsplit_once(',').is_some_and(|(_, cents)| cents.len() == 2);
    let comma = options.decimal_comma || options.repair && brazilian.is_some_and(is_cents);
    let options = ReadOptions { decimal_comma: comma, ..options };
    let text = brazilian.unwrap_or(text);
    let totals = [" in total", " altogether", " in all"];
    let text = totals.iter().find_map(|total| text.strip_suffix(*total)).unwrap_or(text);
    let unquoted = without_quotation(text);
    let text = unquoted.as_ref();
    if let Some(form) = timed(text) {
        return Ok(of_form(form));
    }
    if let Some(numeral) = answer::prefixed(text) {
        return Ok(of_form(AnswerForm::Numeral(numeral)));
    }
    if let Some(answer) = with_chinese_unit(text, ws)? {
        return Ok(answer);
    }
    let Some(normal) = unicode::normalised(text) else {
        return logical(text).ok_or(Unread::NotMaths);
    };
    let (normal, is_doubled) = single_backslashes(normal);
    let lexed = match lex::items(&normal, dialect, options) {
        Ok(lexed) => lexed,
        Err(error) => return as_written(text, &normal).ok_or(error),
    };
    let setting = Setting { dialect, repair: options.repair, plus_minus: None };
    let mut lexed = lexed;
    crosses(&mut lexed.items);
    let mut answer = match answer::read_answer_items(&lexed.items, setting, ws) {
        Err(Unread::NotMaths) => {
            return as_written(text, &normal).ok_or(Unread::NotMaths);
        }
        read => read?,
    };
    answer.notes.splice(0..0, lexed.notes);
    if is_doubled {
        answer.notes.insert(0, Note::DoubleBackslash);
    }
    let is_forbidden = |note: &Note| note.is_repair() && !options.repair;
    if answer.notes.iter().any(is_forbidden) {
        return Err(Unread::NotMaths);
    }
    Ok(answer)
}

/// Returns `text` without quotation marks, marks of code and signs of Arabic vowels, which no grammar has.
fn without_quotation(text: &str) -> Cow<'_, str> {
    let is_mark = |c: char| matches!(c, '`' | '“' | '”' | '\u{64B}'..='\u{652}');
    if text.contains("\\imath") || text.contains("\\jmath") {
        // `\hat{\imath}` is a vector.
        return Cow::Owned(text.replace("\\imath", "i").replace("\\jmath", "j"));
    }
    if text.contains(is_mark) { Cow::Owned(text.replace(is_mark, "")) } else { Cow::Borrowed(text) }
}

/// Returns what no grammar reads as words, if it is prose or chemical.
fn as_written(text: &str, normal: &str) -> Option<Answer> {
    let prose = answer::bare(normal).and_then(|bare| answer::prose(&bare));
    let chemical = || chemistry::formula(text).map(|_| text.to_owned());
    let is_span =
        |text: &str| text.contains("span") && text.contains('(') || text.contains("span\\{");
    let is_span = |text: &str| is_span(text) || nuclide::is_nuclide(text);
    let span = || is_span(text).then(|| text.to_owned());
    let words = prose.or_else(chemical).or_else(span);
    let change = || change::is_percent_change(text).then(|| text.to_owned());
    words.or_else(change).map(|text| of_form(AnswerForm::Text(text))).or_else(|| logical(text))
}

/// Returns a formula of logic or of sets with letters, which is compared as it is written.
fn logical(text: &str) -> Option<Answer> {
    logic::is_logical(text).then(|| of_form(AnswerForm::Text(text.to_owned())))
}

/// Returns `text` with one backslash where each command has two, as in data that was escaped twice.
/// Where lines end in two backslashes, they stay.
fn single_backslashes(text: Cow<'_, str>) -> (Cow<'_, str>, bool) {
    let is_doubled = |at: usize| {
        let bytes = text.as_bytes();
        bytes.get(at + 1) == Some(&b'\\') && bytes.get(at + 2).is_some_and(u8::is_ascii_alphabetic)
    };
    let mut places = memchr::memchr_iter(b'\\', text.as_bytes());
    if !places.any(is_doubled) || text.contains("\\begin") {
        return (text, false);
    }
    (Cow::Owned(text.replace("\\\\", "\\")), true)
}

/// Turns the x of `1.5 x 10^3` into a multiplication sign: an x between a number and a power of
/// ten, with space on both sides, is a cross.
fn crosses(items: &mut [Lexeme<'_>]) {
    for at in 1..items.len().saturating_sub(2) {
        let is_ten =
            matches!(items[at + 1].token, Token::Number(n) if n.whole == "10" && n.is_digits());
        let is_cross = items[at].token.word() == Some("x")
            && matches!(items[at - 1].token, Token::Number(_))
            && is_ten
            && items[at + 2].token == Token::Caret;
        if is_cross && items[at].gap >= Gap::Thin && items[at + 1].gap >= Gap::Thin {
            items[at].token = Token::Times;
        }
    }
}

fn length(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}

fn of_form(form: AnswerForm) -> Answer {
    Answer { subjects: Vec::new(), form, notes: Vec::new() }
}

/// Reads a short decimal with or without a sign: the fast path.
fn plain_number(text: &str, ws: &mut Workspace<'_>) -> Result<Option<Answer>, Unread> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let Some(literal) = DecimalLiteral::scan(unsigned) else {
        return Ok(None);
    };
    if literal.byte_len() != unsigned.len() || literal.byte_len() > SHORT {
        return Ok(None);
    }
    let value = literal.value();
    let decimals = literal.decimals().and_then(|n| i32::try_from(n).ok());
    let expr = ws.number(if text.starts_with('-') { -value } else { value })?;
    Ok(Some(of_form(AnswerForm::Value(Value {
        expr,
        last_digit: decimals.map(|n| -n),
        is_percent: false,
        unit: None,
        is_reduced: true,
    }))))
}

/// The longest text of a date or a time with its typesetting, in bytes.
const MAX_TIME: usize = 80;

/// Returns a number and its unit in Chinese, `300分钟`.
fn with_chinese_unit(text: &str, ws: &mut Workspace<'_>) -> Result<Option<Answer>, Unread> {
    let is_chinese = |c: char| ('\u{4E00}'..='\u{9FFF}').contains(&c) || ('가'..='힣').contains(&c);
    let Some(at) = (!text.is_ascii()).then(|| text.find(is_chinese)).flatten() else {
        return Ok(None);
    };
    let Some(unit) = measure::parse_marked_unit(text[at..].trim()) else {
        return Ok(None);
    };
    let Some(mut answer) = plain_number(text[..at].trim(), ws)? else {
        return Ok(None);
    };
    if let AnswerForm::Value(value) = &mut answer.form {
        value.unit = Some(Box::new(unit));
    }
    Ok(Some(answer))
}

/// Returns a date or a time of day. `7:30` and `1:2:3` without more are ratios.
fn timed(text: &str) -> Option<AnswerForm> {
    if text.len() > MAX_TIME {
        return None;
    }
    let bare = answer::bare(text)?;
    if !answer::is_date_like(bare.trim()) {
        return None;
    }
    if let Some(date) = calendar::date(&bare) {
        return Some(AnswerForm::Date(date));
    }
    let has_letters = bare.contains(|c: char| c.is_alphabetic());
    let has_zero = bare.starts_with('0');
    let clock = calendar::clock(&bare).filter(|_| has_letters || has_zero)?;
    Some(AnswerForm::Clock(clock))
}

/// Parses all of `text` as an expression.
///
/// # Errors
/// [`Unread`] says why there is none.
pub fn read_expression(
    text: &str,
    dialect: Dialect,
    ws: &mut Workspace<'_>,
) -> Result<Expr, Unread> {
    if text.len() > MAX_BYTES {
        return Err(Unread::TooLong);
    }
    parse_expression(text, dialect, ReadOptions::default(), ws, &mut Vec::new())
}

fn parse_expression(
    text: &str,
    dialect: Dialect,
    options: ReadOptions,
    ws: &mut Workspace<'_>,
    notes: &mut Vec<Note>,
) -> Result<Expr, Unread> {
    ws.fuel.spend(u64::try_from(text.len()).unwrap_or(u64::MAX))?;
    let text = unicode::normalised(text).ok_or(Unread::NotMaths)?;
    let lexed = lex::items(&text, dialect, options)?;
    notes.extend(lexed.notes);
    let items = explode::exploded(&lexed.items)?;
    let setting = Setting { dialect, repair: options.repair, plus_minus: None };
    parse::expression(&items, setting, ws, notes)
}

#[cfg(test)]
mod tests;

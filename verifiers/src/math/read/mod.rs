//! From text to an answer: the whole text, or nothing.
//!
//! Two dialects share one lexer and one parser: LaTeX, where letters are variables, and plain
//! text as calculators and SymPy write it, where names are words. Nothing is evaluated; a text
//! that only starts with mathematics is unread.

mod explode;
mod lex;
mod literal;
mod names;
mod parse;
mod token;
mod unicode;

use super::expr::{Expr, Workspace};
use super::form::{Answer, Form, MAX_BYTES, Note, Unread, Value};
use crate::extract::unwrapped;

use self::parse::Setting;

/// How a text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Latex,
    Plain,
}

/// What a reader may be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReadOptions {
    /// Whether malformed LaTeX whose meaning is clear may be repaired.
    pub(super) repair: bool,
    /// Whether a comma may be the decimal point.
    pub(super) decimal_comma: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            repair: true,
            decimal_comma: false,
        }
    }
}

/// The dialect that `text` looks like.
pub(super) fn dialect(text: &str) -> Dialect {
    let is_command = |at: usize| {
        text.as_bytes()
            .get(at + 1)
            .is_some_and(|next| !next.is_ascii_whitespace())
    };
    let has_command = memchr::memchr_iter(b'\\', text.as_bytes()).any(is_command);
    let has_groups = text.contains("^{") || text.contains("_{");
    let dollars = memchr::memchr_iter(b'$', text.as_bytes()).take(2).count();
    if has_command || has_groups || dollars == 2 {
        Dialect::Latex
    } else {
        Dialect::Plain
    }
}

/// The answer that all of `text` states.
///
/// # Errors
/// [`Unread`] says why there is none.
pub(super) fn answer(
    text: &str,
    options: &ReadOptions,
    ws: &mut Workspace<'_>,
) -> Result<Answer, Unread> {
    if text.len() > MAX_BYTES {
        return Err(Unread::TooLong);
    }
    let dialect = dialect(text);
    let mut notes = Vec::new();
    let expr = whole(unwrapped(text), dialect, *options, ws, &mut notes)?;
    let value = Value {
        expr,
        last_digit: None,
        is_percent: false,
        unit: None,
        is_reduced: true,
    };
    Ok(Answer {
        subjects: Vec::new(),
        form: Form::Value(value),
        notes,
    })
}

/// The expression that all of `text` states.
///
/// # Errors
/// [`Unread`] says why there is none.
pub(super) fn expression(
    text: &str,
    dialect: Dialect,
    ws: &mut Workspace<'_>,
) -> Result<Expr, Unread> {
    if text.len() > MAX_BYTES {
        return Err(Unread::TooLong);
    }
    whole(text, dialect, ReadOptions::default(), ws, &mut Vec::new())
}

fn whole(
    text: &str,
    dialect: Dialect,
    options: ReadOptions,
    ws: &mut Workspace<'_>,
    notes: &mut Vec<Note>,
) -> Result<Expr, Unread> {
    ws.fuel
        .spend(u64::try_from(text.len()).unwrap_or(u64::MAX))?;
    let text = unicode::normalised(text).ok_or(Unread::NotMaths)?;
    let lexed = lex::items(&text, dialect, options)?;
    notes.extend(lexed.notes);
    let items = explode::exploded(&lexed.items)?;
    let setting = Setting {
        dialect,
        repair: options.repair,
        plus_minus: None,
    };
    parse::expression(&items, setting, ws, notes)
}

#[cfg(test)]
mod tests;

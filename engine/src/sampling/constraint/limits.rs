//! Limits of grammars, and their form for llguidance.

use llguidance::api::{ParserLimits, TopLevelGrammar};
use serde_json::{Value, json};

use super::grammar::Grammar;
use super::schema::{self, check_length};

/// The parser's limits. Fuel and items are counts, so that a grammar meets the same limit on every
/// machine.
pub(super) const PARSER: ParserLimits = ParserLimits {
    max_items_in_row: 3_000,
    // Compilation: about 20 milliseconds.
    initial_lexer_fuel: 1_000_000,
    // A token: 20 milliseconds at worst.
    step_lexer_fuel: 200_000,
    step_max_items: 50_000,
    // One or two kilobytes each.
    max_lexer_states: 50_000,
    max_grammar_size: 200_000,
    precompute_large_lexemes: false,
    verbose_errors: false,
};

/// The longest regular expression, in bytes: compilation may take quadratic time.
const MAX_REGEX: usize = 8 << 10;
/// The longest grammar, in bytes and in lines: rules are followed recursively.
const MAX_LARK: usize = 16 << 10;
const MAX_LARK_LINES: usize = 400;
/// The most choices, and the most bytes of all of them.
const MAX_CHOICES: usize = 2_000;
const MAX_CHOICE_BYTES: usize = 64 << 10;

/// Marks a JSON schema inside a grammar.
const EMBEDDED: &str = "%json";

/// Checks a grammar's size and converts it for llguidance.
///
/// # Errors
/// A message with the part that is wrong or too large.
pub(super) fn checked(grammar: &Grammar) -> Result<TopLevelGrammar, String> {
    match grammar {
        Grammar::JsonSchema(schema) => {
            schema::check_schema(schema)?;
            Ok(json_schema(schema.clone()))
        }
        Grammar::JsonObject => Ok(json_schema(json!({"type": "object"}))),
        Grammar::Regex(regex) => {
            check_length("the regular expression", regex, MAX_REGEX)?;
            Ok(TopLevelGrammar::from_regex(without_anchors(regex)))
        }
        Grammar::Choice(choices) => choice(choices),
        Grammar::Lark(text) => {
            check_length("the grammar", text, MAX_LARK)?;
            let lines = text.lines().count();
            if lines > MAX_LARK_LINES {
                return Err(format!("the grammar has {lines} lines, more than {MAX_LARK_LINES}"));
            }
            if text.trim_start().starts_with('{') {
                return Err("the grammar is JSON, and not in Lark's language".to_owned());
            }
            check_embedded_schemas(text)?;
            Ok(TopLevelGrammar::from_lark(text.clone()))
        }
    }
}

/// Checks the JSON schemas inside a grammar.
fn check_embedded_schemas(text: &str) -> Result<(), String> {
    for (at, _) in text.match_indices(EMBEDDED) {
        let rest = &text[at + EMBEDDED.len()..];
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        // Anything but JSON is part of a string or a comment.
        if let Some(Ok(schema)) = values.next() {
            schema::check_schema(&schema)
                .map_err(|what| format!("the schema at byte {at}: {what}"))?;
        }
    }
    Ok(())
}

fn json_schema(schema: Value) -> TopLevelGrammar {
    // White space would cost tokens and let a model repeat it without end.
    let options = json!({"whitespace_flexible": false});
    let schema = match schema {
        Value::Object(mut fields) => {
            fields.insert("x-guidance".to_owned(), options);
            Value::Object(fields)
        }
        // `true`: any JSON.
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            json!({"x-guidance": options})
        }
    };
    TopLevelGrammar::from_json_schema(schema)
}

/// A regular expression without its outer anchors, which are implied.
fn without_anchors(regex: &str) -> &str {
    let regex = regex.strip_prefix('^').unwrap_or(regex);
    match regex.strip_suffix('$') {
        Some(start) if !ends_in_escape(start) => start,
        _ => regex,
    }
}

/// Whether the next character is escaped.
fn ends_in_escape(text: &str) -> bool {
    text.bytes().rev().take_while(|b| *b == b'\\').count() % 2 == 1
}

fn choice(choices: &[String]) -> Result<TopLevelGrammar, String> {
    if choices.is_empty() {
        return Err("there is nothing to choose from".to_owned());
    }
    if choices.len() > MAX_CHOICES {
        let n = choices.len();
        return Err(format!("{n} choices, more than {MAX_CHOICES}"));
    }
    for (at, choice) in choices.iter().enumerate() {
        check_length(&format!("choice {at}"), choice, MAX_CHOICE_BYTES)?;
    }
    let total: usize = choices.iter().map(String::len).sum();
    if total > MAX_CHOICE_BYTES {
        return Err(format!("the choices have {total} bytes, more than {MAX_CHOICE_BYTES}"));
    }
    let literals: Vec<String> = choices.iter().map(|text| literal(text)).collect();
    Ok(TopLevelGrammar::from_regex(&literals.join("|")))
}

/// A regular expression that matches one text.
fn literal(text: &str) -> String {
    let character = |c: char| match c {
        c if c.is_ascii_alphanumeric() => c.to_string(),
        c => format!("\\x{{{:X}}}", u32::from(c)),
    };
    text.chars().map(character).collect()
}

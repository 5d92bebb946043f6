//! Answers to a program: values of variables, a value of the objective, or that there is none.

use dashu::rational::RBig;
use serde_json::{Map, Value};

use super::branch::Optimum;
use super::model::{Model, number};
use crate::code::fenced;

/// What a response says.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// Values of the model's variables; `None` where none is given.
    pub(super) point: Vec<Option<RBig>>,
    /// The value of the objective.
    pub(super) objective: Option<RBig>,
    /// That the program has no optimum.
    pub(super) status: Option<Optimum>,
}

const OBJECTIVE: &[&str] =
    &["objective", "objective_value", "objective value", "optimal value", "optimum", "z"];
const VARIABLES: &[&str] = &["variables", "solution", "values"];

/// Reads an answer: a JSON object, alone or in the last fenced block, or lines of `name = number`.
/// The last value of a name counts, and the last number of the text if no objective is named.
pub(super) fn read(text: &str, model: Option<&Model>) -> Answer {
    let mut answer = Answer {
        point: vec![None; model.map_or(0, |model| model.variables.len())],
        ..Answer::default()
    };
    let block = fenced(text).pop().map(|(_, body)| body);
    let object = block.as_deref().unwrap_or(text).trim();
    if let Ok(Value::Object(fields)) = serde_json::from_str(object) {
        answer.read_object(&fields, model);
        return answer;
    }
    let text = ungrouped(&plain(text));
    let mut last = None;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let names_objective = answer.read_line(line, model);
        last = Some((line, names_objective));
    }
    let has_point = answer.point.iter().any(Option::is_some);
    // A value beside it says that there is one: "z = 3; it would be unbounded without c1".
    if let (false, Some((line, false))) = (has_point, last) {
        answer.status = status(line);
    }
    if answer.objective.is_none() {
        answer.objective = last_number(&text);
    }
    answer
}

/// What a name stands for.
enum Target {
    Variable(usize),
    Objective,
}

fn target(name: &str, model: Option<&Model>) -> Option<Target> {
    if let Some(variable) = model.and_then(|model| model.known(name)) {
        return Some(Target::Variable(variable));
    }
    OBJECTIVE.iter().any(|word| name.eq_ignore_ascii_case(word)).then_some(Target::Objective)
}

impl Answer {
    fn read_object(&mut self, fields: &Map<String, Value>, model: Option<&Model>) {
        let nested = VARIABLES.iter().find_map(|key| fields.get(*key)?.as_object());
        for (name, value) in nested.unwrap_or(fields) {
            if let Some(target) = target(name, model) {
                self.assign(&target, &text_of(value));
            }
        }
        for key in OBJECTIVE {
            if let Some(value) = fields.get(*key) {
                self.objective = number(&text_of(value));
            }
        }
        self.status = fields.get("status").and_then(|word| status(&text_of(word)));
    }

    /// Reads every `name = number` of a line; returns whether one of them is the objective.
    fn read_line(&mut self, line: &str, model: Option<&Model>) -> bool {
        let mut names_objective = false;
        let mut sides = line.split(['=', ':']).peekable();
        let mut before = sides.next().unwrap_or_default();
        while let Some(side) = sides.next() {
            // `z = 3(3) + 2(1) = 11`: the name is that of the last side.
            let is_step = sides.peek().is_some() && is_formula(side, model);
            let text = side.trim_start_matches(|c: char| c.is_whitespace() || c == '*');
            let (value, after) = text.split_at(numeral(text));
            if value.is_empty() {
                // Nothing stands within `:=`.
                let is_name = target(side.trim(), model).is_some();
                if is_name || !is_step && !side.trim().is_empty() {
                    before = side;
                }
            } else if !goes_on(after, is_step, model) {
                if let Some(target) = named(before, model) {
                    names_objective |= matches!(target, Target::Objective);
                    self.assign(&target, value);
                }
                before = after;
            } else if !is_step {
                before = side;
            }
        }
        names_objective
    }

    fn assign(&mut self, target: &Target, value: &str) {
        let Some(value) = number(value.trim()) else { return };
        match target {
            Target::Variable(variable) => self.point[*variable] = Some(value),
            Target::Objective => self.objective = Some(value),
        }
    }
}

/// What the text before a sign of equality names: all of its last clause, or the last word of that,
/// as in "The optimal value is z".
fn named(before: &str, model: Option<&Model>) -> Option<Target> {
    let clause = before.rsplit([',', ';', '(', '[', '{', '|']).next().unwrap_or(before);
    let clause = clause.rsplit(". ").next().unwrap_or(clause);
    // `x*` and `x^*` are the best x.
    let name = clause.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '^'));
    let name = without_mark(name.trim_start());
    let last = || {
        let (words, last) = name.rsplit_once(char::is_whitespace)?;
        if introduces(words, model) { target(last, model) } else { None }
    };
    target(name, model).or_else(last)
}

/// A name without the mark of a list before it: `- x`, `*x`, `2) x`.
fn without_mark(name: &str) -> &str {
    let name = name.trim_start_matches(['*', '•']).trim_start();
    let Some((mark, rest)) = name.split_once(char::is_whitespace) else { return name };
    let is_number = |mark: &str| mark.bytes().all(|byte| byte.is_ascii_digit());
    let is_mark = matches!(mark, "-" | "+") || mark.strip_suffix(')').is_some_and(is_number);
    if is_mark { rest.trim_start() } else { name }
}

/// Whether words before a name leave it one, and do not make it the last term of an expression such
/// as `x + y`.
fn introduces(words: &str, model: Option<&Model>) -> bool {
    let is_operand = |word: &str| {
        let word = word.trim_matches(['(', ')']);
        word.starts_with(|c: char| c.is_ascii_digit())
            || word.ends_with(OPERATORS)
            || is_name(word, model)
    };
    let mut words = words.split_whitespace().rev();
    match words.next() {
        None => true,
        // "3 and y", "Answer - y", but "x and y", "x - y".
        Some("and" | "or" | "-") => !words.next().is_some_and(is_operand),
        Some(word) => !is_operand(word) && !["plus", "minus", "times"].contains(&word),
    }
}

const OPERATORS: [char; 7] = ['+', '-', '*', '/', '^', '×', '·'];

/// Whether a number that stands before `after` is the start of an expression: `3x`, `3 x + 2 y`,
/// `3(3)`, `4 - 1`. A step of a calculation is one where anything follows, but for `1 y = 3`, where
/// the next name does.
fn goes_on(after: &str, is_step: bool, model: Option<&Model>) -> bool {
    let rest = after.trim_start();
    let (name, behind) = rest.split_at(word(rest));
    let is_apart = rest.len() < after.len();
    let is_next_name = is_apart && !name.is_empty() && behind.trim().is_empty();
    if is_step && !rest.is_empty() && !is_next_name {
        return true;
    }
    let has_factor = match rest.strip_prefix('(') {
        Some(inner) => begins_operand(inner, model),
        None => model.is_some() && is_name(name, model),
    };
    if has_factor && !is_apart {
        return true;
    }
    let operand = behind.trim_start().strip_prefix(OPERATORS);
    (name.is_empty() || is_name(name, model))
        && operand.is_some_and(|operand| begins_operand(operand, model))
}

fn begins_operand(text: &str, model: Option<&Model>) -> bool {
    let text = text.trim_start_matches([' ', '(', '-']);
    text.starts_with(|c: char| c.is_ascii_digit()) || is_name(&text[..word(text)], model)
}

/// Whether all of a side is one expression of numbers and variables.
fn is_formula(side: &str, model: Option<&Model>) -> bool {
    let is_term = |word: &str| {
        word.is_empty() || word.starts_with(|c: char| c.is_ascii_digit()) || is_name(word, model)
    };
    let marks = |mark: char| side.matches(mark).count();
    // `11 (x = 3)` gives a value and a name.
    marks('(') == marks(')')
        && !side.contains([',', ';', '|', '<', '>', '≤', '≥'])
        && side.split(|c| !is_in_word(c)).all(is_term)
}

/// Whether a word is a variable; without a model, a letter with or without digits.
fn is_name(word: &str, model: Option<&Model>) -> bool {
    let Some(model) = model else {
        let digits = word.trim_start_matches(char::is_alphabetic);
        return word.chars().count() == digits.len() + 1
            && digits.chars().all(|c| c.is_ascii_digit() || c == '_');
    };
    model.known(word).is_some()
}

fn is_in_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Bytes of the word that `text` begins with.
fn word(text: &str) -> usize {
    text.find(|c| !is_in_word(c)).unwrap_or(text.len())
}

/// Bytes of the number that `text` begins with. A sign stands before it or before its exponent.
fn numeral(text: &str) -> usize {
    if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+')) {
        return 0;
    }
    let mut takes_sign = true;
    let end = text.find(|c: char| {
        let is_part = is_numeral(c) && (takes_sign || !matches!(c, '-' | '+'));
        takes_sign = matches!(c, 'e' | 'E');
        !is_part
    });
    let number = &text[..end.unwrap_or(text.len())];
    number.trim_end_matches(['.', '/', 'e', 'E', '-', '+']).len()
}

fn is_numeral(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, '.' | '/' | 'e' | 'E' | '-' | '+')
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other @ (Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::Array(_)
        | Value::Object(_)) => other.to_string(),
    }
}

/// A text without its typesetting.
fn plain(text: &str) -> String {
    let text = text.replace("**", "").replace("{,}", ",");
    let text = text.replace("\\cdot", "*").replace("\\times", "*").replace('−', "-");
    text.chars().filter(|c| !matches!(c, '`' | '$' | '\\')).collect()
}

/// A text without the commas in `12,500`. Those of `(3,100)` part two values.
fn ungrouped(text: &str) -> String {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let is_comma = |at: usize| bytes.get(at) == Some(&b',');
    let mut kept = String::with_capacity(text.len());
    let (mut start, mut at) = (0, 0);
    while at < bytes.len() {
        let first = at;
        let count = digits(first);
        at += count.max(1);
        let before = first.checked_sub(1).map(|before| bytes[before]);
        let is_inside = before
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b','));
        if !(1..=3).contains(&count) || is_inside || bytes[first] == b'0' {
            continue;
        }
        let mut end = at;
        while is_comma(end) && digits(end + 1) == 3 {
            end += 4;
        }
        let is_pair =
            matches!(before, Some(b'(' | b'[')) && matches!(bytes.get(end), Some(b')' | b']'));
        let is_list = is_comma(end) && digits(end + 1) > 0;
        if !is_pair && !is_list {
            for comma in (at..end).step_by(4) {
                kept.push_str(&text[start..comma]);
                start = comma + 1;
            }
        }
        at = end;
    }
    kept.push_str(&text[start..]);
    kept
}

/// The last number of a text.
fn last_number(text: &str) -> Option<RBig> {
    text.split(|c: char| !is_numeral(c)).rev().find_map(|word| number(word.trim_end_matches('.')))
}

/// Words that begin a clause of their own: what is denied before them is not what they say.
const CONJUNCTIONS: &[&str] =
    &["so", "therefore", "thus", "hence", "because", "since", "but", "rather"];
/// Words that deny their clause; also every word with `n't`.
const DENIALS: &[&str] = &["not", "never", "cannot", "neither", "nor"];

/// "infeasible" or "unbounded", if one of them is said in a clause that denies nothing.
fn status(text: &str) -> Option<Optimum> {
    let plain = text.to_ascii_lowercase().replace('\u{2019}', "'");
    let mut said = Vec::new();
    for clause in plain.split(|c: char| ".,;:!?()\u{2013}\u{2014}".contains(c)) {
        let words: Vec<&str> = clause.split(|c: char| !c.is_alphabetic() && c != '\'').collect();
        for part in words.split(|word| CONJUNCTIONS.contains(word)) {
            if !part.iter().any(|word| DENIALS.contains(word) || word.ends_with("n't")) {
                said.extend(part.iter().filter_map(|word| optimum(word)));
            }
        }
    }
    let first = said.first()?;
    said.iter().all(|other| other == first).then(|| first.clone())
}

fn optimum(word: &str) -> Option<Optimum> {
    match word.trim_matches('\'') {
        "infeasible" => Some(Optimum::Infeasible),
        "unbounded" => Some(Optimum::Unbounded),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_digits_in_groups_of_three_are_joined() {
        for (text, expected) in [
            ("$12,500.", "$12500."),
            ("1,234,567.5 and 100,000", "1234567.5 and 100000"),
            ("{12,500}", "{12500}"),
            ("(12,500 dollars)", "(12500 dollars)"),
            ("1,2345", "1,2345"),
            ("0,500", "0,500"),
            ("1.5,200", "1.5,200"),
            ("1234,567", "1234,567"),
            ("1,200,35", "1,200,35"),
            ("(3,100)", "(3,100)"),
            ("x1,200", "x1,200"),
            ("3, 100", "3, 100"),
            ("\u{20ac}1,000\u{20ac}", "\u{20ac}1000\u{20ac}"),
        ] {
            assert_eq!(ungrouped(text), expected, "{text}");
        }
    }
}

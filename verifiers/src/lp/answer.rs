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
    for line in text.lines() {
        answer.read_line(line, model);
    }
    if answer.objective.is_none() {
        answer.objective = last_number(text);
    }
    let has_point = answer.point.iter().any(Option::is_some);
    if let (false, Some(line)) = (has_point, text.lines().rfind(|line| !line.trim().is_empty())) {
        answer.status = status(line);
    }
    answer
}

impl Answer {
    fn read_object(&mut self, fields: &Map<String, Value>, model: Option<&Model>) {
        let nested = VARIABLES.iter().find_map(|key| fields.get(*key)?.as_object());
        for (name, value) in nested.unwrap_or(fields) {
            self.assign(name, &text_of(value), model);
        }
        for key in OBJECTIVE {
            if let Some(value) = fields.get(*key) {
                self.objective = number(&text_of(value));
            }
        }
        self.status = fields.get("status").and_then(|word| status(&text_of(word)));
    }

    /// Every `name = number` of a line.
    fn read_line(&mut self, line: &str, model: Option<&Model>) {
        let plain: String = line.chars().filter(|c| !matches!(c, '*' | '`' | '$' | '\\')).collect();
        let mut before = "";
        for (index, part) in plain.split(['=', ':']).enumerate() {
            let value = part.trim_start();
            let end = value.find(|c: char| !is_numeral(c)).unwrap_or(value.len());
            let value = value[..end].trim_end_matches(['.', '/', 'e', 'E', '-', '+']);
            if index > 0 && !value.is_empty() {
                let name =
                    before.rsplit([',', ';', '(', '[', '{', '|']).next().unwrap_or(before).trim();
                self.assign(name, value, model);
                // "The optimal value is z: 3" names it by its last word.
                if let Some((_, last)) = name.rsplit_once(char::is_whitespace) {
                    self.assign(last, value, model);
                }
            }
            before = part;
        }
    }

    fn assign(&mut self, name: &str, value: &str, model: Option<&Model>) {
        let Some(value) = number(value.trim()) else { return };
        if let Some(variable) = model.and_then(|model| model.known(name)) {
            self.point[variable] = Some(value);
        } else if OBJECTIVE.iter().any(|word| name.eq_ignore_ascii_case(word)) {
            self.objective = Some(value);
        }
    }
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

/// The last number of a text, without signs of grouping.
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
                said.extend(part.iter().filter_map(|word| named(word)));
            }
        }
    }
    let first = said.first()?;
    said.iter().all(|other| other == first).then(|| first.clone())
}

fn named(word: &str) -> Option<Optimum> {
    match word.trim_matches('\'') {
        "infeasible" => Some(Optimum::Infeasible),
        "unbounded" => Some(Optimum::Unbounded),
        _ => None,
    }
}

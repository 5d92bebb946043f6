//! Derives the constraint on generated text from the fields that may state it.

use engine::sampling::{ConstraintError, Grammar};
use serde_json::{Map, Value, json};

use super::types::{
    FunctionDefinition, Generation, ResponseFormat, ResponseKind, StructuredOutputs,
};
use crate::compat::shared::invalid;
use crate::error::{ApiError, Code};

/// A constraint and the path of its field.
type FieldConstraint = (&'static str, Grammar);

/// Returns the constraint of a request; `None` if it has none.
///
/// # Errors
/// A second constraint, or an invalid one, by path.
pub(super) fn grammar(request: &Generation) -> Result<Option<Grammar>, ApiError> {
    let mut found: Vec<FieldConstraint> = Vec::new();
    if let Some(format) = &request.response_format {
        found.extend(of_format(format)?);
    }
    if let Some(outputs) = &request.structured_outputs {
        found.extend(of_outputs(outputs)?);
    }
    if let Some(schema) = &request.guided_json {
        found.push(("guided_json", schema_of("guided_json", schema)?));
    }
    if let Some(regex) = &request.guided_regex {
        found.push(("guided_regex", Grammar::Regex(regex.clone())));
    }
    if let Some(choice) = &request.guided_choice {
        found.push(("guided_choice", choice_of("guided_choice", choice)?));
    }
    if let Some(grammar) = &request.guided_grammar {
        found.push(("guided_grammar", Grammar::Lark(grammar.clone())));
    }
    only(found)
}

fn only(mut found: Vec<FieldConstraint>) -> Result<Option<Grammar>, ApiError> {
    if let [(first, _), (second, _), ..] = &found[..] {
        let message = format!("{first} says already what the text must be");
        return Err(invalid(*second, message));
    }
    Ok(found.pop().map(|(_, grammar)| grammar))
}

fn of_format(format: &ResponseFormat) -> Result<Option<FieldConstraint>, ApiError> {
    let path = "response_format";
    match (format.kind, &format.json_schema) {
        (ResponseKind::Text, None) => Ok(None),
        (ResponseKind::JsonObject, None) => Ok(Some((path, Grammar::JsonObject))),
        (ResponseKind::JsonSchema, Some(named)) => Ok(Some((
            path,
            match &named.schema {
                Some(schema) => Grammar::JsonSchema(Value::Object(schema.clone())),
                None => Grammar::JsonObject,
            },
        ))),
        (ResponseKind::JsonSchema, None) => Err(invalid("response_format.json_schema", "missing")),
        (ResponseKind::Text | ResponseKind::JsonObject, Some(_)) => {
            Err(invalid("response_format.json_schema", "only the type json_schema has one"))
        }
    }
}

fn of_outputs(outputs: &StructuredOutputs) -> Result<Vec<FieldConstraint>, ApiError> {
    let path = "structured_outputs";
    let mut found = Vec::new();
    if let Some(schema) = &outputs.json {
        found.push((path, schema_of("structured_outputs.json", schema)?));
    }
    if outputs.json_object == Some(true) {
        found.push((path, Grammar::JsonObject));
    }
    if let Some(regex) = &outputs.regex {
        found.push((path, Grammar::Regex(regex.clone())));
    }
    if let Some(choice) = &outputs.choice {
        found.push((path, choice_of("structured_outputs.choice", choice)?));
    }
    if let Some(grammar) = &outputs.grammar {
        found.push((path, Grammar::Lark(grammar.clone())));
    }
    match found.len() {
        1 => Ok(found),
        0 => Err(invalid(path, "it asks for nothing; name one of its fields")),
        _ => Err(invalid(path, "it asks for more than one thing")),
    }
}

/// Returns the grammar of a schema, or of a schema in text.
fn schema_of(path: &str, given: &Value) -> Result<Grammar, ApiError> {
    let read;
    let schema = match given {
        Value::String(text) => {
            read = serde_json::from_str(text);
            read.as_ref().map_err(|error| invalid(path, format!("no JSON: {error}")))?
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            given
        }
    };
    match schema {
        Value::Object(_) | Value::Bool(true) => Ok(Grammar::JsonSchema(schema.clone())),
        Value::Null
        | Value::Bool(false)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_) => {
            Err(invalid(path, "a JSON Schema that holds for something is an object or true"))
        }
    }
}

fn choice_of(path: &str, given: &[String]) -> Result<Grammar, ApiError> {
    if given.is_empty() {
        return Err(invalid(path, "there is nothing to choose from"));
    }
    if let Some(at) = given.iter().position(String::is_empty) {
        return Err(invalid(format!("{path}[{at}]"), "an empty choice cannot be seen"));
    }
    Ok(Grammar::Choice(given.to_vec()))
}

/// Creates the error of a constraint that cannot be compiled.
pub(super) fn refused(grammar: &Grammar, error: &ConstraintError) -> ApiError {
    let what = match grammar {
        Grammar::JsonSchema(_) => "the JSON schema",
        Grammar::JsonObject => "the JSON object",
        Grammar::Regex(_) => "the regular expression",
        Grammar::Choice(_) => "the choice",
        Grammar::Lark(_) => "the grammar",
    };
    ApiError::new(Code::InvalidBody, format!("{what}: {error}"))
}

/// Returns the grammar of a call of one of these functions: `{"name": …, "arguments": …}`.
pub(super) fn call_of(functions: &[&FunctionDefinition]) -> Grammar {
    let mut defs = Map::new();
    let calls = functions.iter().enumerate().map(|(at, function)| {
        let place = format!("f{at}");
        let pointer = format!("#/$defs/{place}");
        let mut schema = match &function.parameters {
            Some(parameters) => Value::Object(parameters.clone()),
            None => json!({"type": "object", "additionalProperties": false}),
        };
        move_references(&mut schema, &pointer);
        defs.insert(place, schema);
        json!({
            "type": "object",
            "properties": {"name": {"const": function.name}, "arguments": {"$ref": pointer}},
            "required": ["name", "arguments"],
            "additionalProperties": false,
        })
    });
    let calls: Vec<Value> = calls.collect();
    let mut schema = match <[Value; 1]>::try_from(calls) {
        Ok([one]) => one,
        Err(several) => json!({"anyOf": several}),
    };
    schema["$defs"] = Value::Object(defs);
    Grammar::JsonSchema(schema)
}

/// Rewrites the references of a schema that is embedded into another: its root moves to `root`.
fn move_references(schema: &mut Value, root: &str) {
    match schema {
        Value::Object(map) => {
            for (key, value) in map {
                if let Value::String(text) = value
                    && key == "$ref"
                    && text.starts_with('#')
                {
                    *text = format!("{root}{}", &text[1..]);
                } else {
                    move_references(value, root);
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|item| move_references(item, root)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

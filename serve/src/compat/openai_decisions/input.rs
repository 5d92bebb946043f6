//! Converts conversation items and contents in parts to decision input.

use rubrics::decide::{DecisionInput, InputPart, MessageSource};
use serde_json::Value;

use super::check_chars;
use super::types::{
    DecisionContent, DecisionInput as WireInput, DecisionItem, DecisionItemType, DecisionPart,
    DecisionPartType, MAX_CALL_ID_CHARS, MAX_JSON_BYTES, MAX_JSON_DEPTH, MAX_JSON_VALUES,
    MAX_TOOL_NAME_CHARS,
};
use crate::compat::shared::decisions::text::TextOrJson;
use crate::compat::shared::{NO_IMAGES, invalid, refuse};
use crate::error::ApiError;

/// Converts the input of a request.
///
/// # Errors
/// 422 at the first invalid item.
pub(super) fn convert(input: &WireInput) -> Result<DecisionInput, ApiError> {
    let input = match input {
        WireInput::Text(text) => DecisionInput::text(text),
        WireInput::Items(items) => DecisionInput { parts: parts(items)? },
    };
    if input.parts.iter().all(|part| part.text.trim().is_empty()) {
        return Err(invalid("input", "there is nothing to ask about: it is blank"));
    }
    Ok(input)
}

/// Returns the text of a question.
///
/// # Errors
/// 422 at the first invalid part.
pub(super) fn instructions(path: &str, content: &DecisionContent) -> Result<String, ApiError> {
    text(path, content, &[DecisionPartType::InputText, DecisionPartType::InputJson])
}

/// Numbers tool calls in order, so that outputs refer to theirs in few tokens.
#[derive(Default)]
struct Calls<'i> {
    made: Vec<(DecisionItemType, &'i str)>,
}

fn parts(items: &[DecisionItem]) -> Result<Vec<InputPart>, ApiError> {
    let mut calls = Calls::default();
    let mut parts = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        let path = format!("input[{at}]");
        check_status(&path, item)?;
        parts.push(match item.kind {
            DecisionItemType::Message => message(&path, item)?,
            DecisionItemType::FunctionCall | DecisionItemType::CustomToolCall => {
                calls.call(&path, item)?
            }
            DecisionItemType::FunctionCallOutput | DecisionItemType::CustomToolCallOutput => {
                calls.output(&path, item)?
            }
        });
    }
    Ok(parts)
}

fn message(path: &str, item: &DecisionItem) -> Result<InputPart, ApiError> {
    let taken = ["role", "content", "phase", "id", "status"];
    refuse(path, "message", others(item, &taken))?;
    let role = needed(path, "role", item.role.as_deref())?;
    let content = needed(path, "content", item.content.as_ref())?;
    let (source, kinds): (MessageSource, &[DecisionPartType]) = match role {
        "user" => {
            let kinds = &[DecisionPartType::InputText, DecisionPartType::InputJson];
            (MessageSource::User, kinds)
        }
        "developer" => (MessageSource::Developer, &[DecisionPartType::InputText]),
        "system" => (MessageSource::System, &[DecisionPartType::InputText]),
        "assistant" => {
            let kinds = &[DecisionPartType::OutputText, DecisionPartType::Refusal];
            (MessageSource::Assistant, kinds)
        }
        _ => {
            let what = "a role is `user`, `developer`, `system` or `assistant`";
            return Err(invalid(format!("{path}.role"), what));
        }
    };
    let phase = item.phase.as_deref();
    if phase.is_some_and(|phase| !["commentary", "final_answer"].contains(&phase)) {
        let what = "a phase is `commentary` or `final_answer`";
        return Err(invalid(format!("{path}.phase"), what));
    }
    Ok(InputPart { source, text: text(&format!("{path}.content"), content, kinds)? })
}

impl<'i> Calls<'i> {
    fn call(&mut self, path: &str, item: &'i DecisionItem) -> Result<InputPart, ApiError> {
        let function = item.kind == DecisionItemType::FunctionCall;
        let (kind, field, output) = if function {
            let output = DecisionItemType::FunctionCallOutput;
            ("function call", "arguments", output)
        } else {
            let output = DecisionItemType::CustomToolCallOutput;
            ("custom tool call", "input", output)
        };
        let taken = ["call_id", "name", field, "id", "namespace", "status"];
        refuse(path, kind, others(item, &taken))?;
        let id = call_id(path, item)?;
        let name = needed(path, "name", item.name.as_deref())?;
        check_chars(&format!("{path}.name"), name, MAX_TOOL_NAME_CHARS)?;
        let given = if function { &item.arguments } else { &item.input };
        let given = needed(path, field, given.as_deref())?;
        if self.made.contains(&(output, id)) {
            let what = "another call has this id";
            return Err(invalid(format!("{path}.call_id"), what));
        }
        self.made.push((output, id));
        let number = self.made.len();
        let space = item.namespace.as_deref().map(|space| format!("{space}."));
        Ok(InputPart {
            source: MessageSource::ToolCall,
            text: format!("#{number} {}{name}({given})", space.unwrap_or_default()),
        })
    }

    fn output(&self, path: &str, item: &'i DecisionItem) -> Result<InputPart, ApiError> {
        let taken = ["call_id", "output", "id", "status"];
        refuse(path, "tool's output", others(item, &taken))?;
        let id = call_id(path, item)?;
        let output = needed(path, "output", item.output.as_ref())?;
        let Some(before) = self.made.iter().position(|made| *made == (item.kind, id)) else {
            let what = "no earlier call of this kind has this id";
            return Err(invalid(format!("{path}.call_id"), what));
        };
        let output = text(&format!("{path}.output"), output, &[DecisionPartType::InputText])?;
        Ok(InputPart {
            source: MessageSource::ToolOutput,
            text: format!("#{} {output}", before + 1),
        })
    }
}

fn call_id<'i>(path: &str, item: &'i DecisionItem) -> Result<&'i str, ApiError> {
    let id = needed(path, "call_id", item.call_id.as_deref())?;
    let path = format!("{path}.call_id");
    if id.is_empty() {
        return Err(invalid(path, "it is empty"));
    }
    check_chars(&path, id, MAX_CALL_ID_CHARS)?;
    Ok(id)
}

fn check_status(path: &str, item: &DecisionItem) -> Result<(), ApiError> {
    let known = ["in_progress", "completed", "incomplete"];
    match item.status.as_deref() {
        Some(status) if !known.contains(&status) => {
            let what = "a status is `in_progress`, `completed` or `incomplete`";
            Err(invalid(format!("{path}.status"), what))
        }
        Some(_) | None => Ok(()),
    }
}

fn needed<T>(path: &str, field: &str, value: Option<T>) -> Result<T, ApiError> {
    value.ok_or_else(|| invalid(format!("{path}.{field}"), "it is missing"))
}

/// Returns the text of a content, whose parts must be of these types.
fn text(
    path: &str,
    content: &DecisionContent,
    kinds: &[DecisionPartType],
) -> Result<String, ApiError> {
    let parts = match content {
        DecisionContent::Text(text) => return Ok(text.clone()),
        DecisionContent::Parts(parts) => parts,
    };
    let mut texts = Vec::with_capacity(parts.len());
    for (at, part) in parts.iter().enumerate() {
        let path = format!("{path}[{at}]");
        if part.kind == DecisionPartType::InputImage {
            return Err(invalid(path, NO_IMAGES));
        }
        if !kinds.contains(&part.kind) {
            let what = "a part of this type has no place here";
            return Err(invalid(format!("{path}.type"), what));
        }
        texts.push(part_text(&path, part)?);
    }
    Ok(texts.join("\n"))
}

fn part_text(path: &str, part: &DecisionPart) -> Result<String, ApiError> {
    let (kind, field) = match part.kind {
        DecisionPartType::InputText | DecisionPartType::OutputText => ("text", "text"),
        DecisionPartType::Refusal => ("refusal", "refusal"),
        DecisionPartType::InputJson => ("JSON part", "data"),
        DecisionPartType::InputImage => ("image", "image_url"),
    };
    let given = [
        ("text", part.text.is_some()),
        ("refusal", part.refusal.is_some()),
        ("data", part.data.is_some()),
        ("image_url", part.image_url.is_some()),
        ("detail", part.detail.is_some()),
    ];
    refuse(path, kind, given.into_iter().filter(|(name, _)| *name != field))?;
    match part.kind {
        DecisionPartType::InputText | DecisionPartType::OutputText => {
            needed(path, field, part.text.clone())
        }
        DecisionPartType::Refusal => needed(path, field, part.refusal.clone()),
        DecisionPartType::InputImage => Err(invalid(path, NO_IMAGES)),
        DecisionPartType::InputJson => {
            json(&format!("{path}.data"), needed(path, field, part.data.as_ref())?)
        }
    }
}

fn json(path: &str, data: &TextOrJson) -> Result<String, ApiError> {
    let each: Vec<&Value> = match data {
        TextOrJson::Object(fields) => fields.values().collect(),
        TextOrJson::List(items) if items.iter().all(Value::is_object) => items.iter().collect(),
        TextOrJson::List(_) | TextOrJson::Text(_) => {
            return Err(invalid(path, "it is an object or a list of objects"));
        }
    };
    let (values, depth) = each.into_iter().fold((1, 1), |sum, value| grow(sum, value, 2));
    let text = data.text().into_owned();
    let limits = [
        ("levels of nesting", depth, MAX_JSON_DEPTH),
        ("values", values, MAX_JSON_VALUES),
        ("bytes", text.len(), MAX_JSON_BYTES),
    ];
    match limits.iter().find(|(_, given, most)| given > most) {
        None => Ok(text),
        Some((what, given, most)) => {
            Err(invalid(path, format_args!("{given} {what}; at most {most} are taken")))
        }
    }
}

/// Adds a value at `depth` to the counts of values and depth.
fn grow((values, deepest): (usize, usize), value: &Value, depth: usize) -> (usize, usize) {
    let sum = |deepest: usize| (values + 1, deepest);
    match value {
        Value::Object(fields) => {
            fields.values().fold(sum(deepest.max(depth)), |sum, value| grow(sum, value, depth + 1))
        }
        Value::Array(items) => {
            items.iter().fold(sum(deepest.max(depth)), |sum, value| grow(sum, value, depth + 1))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => sum(deepest),
    }
}

/// Lists the fields of an item that its type does not have, with their presence.
fn others(item: &DecisionItem, taken: &[&str]) -> Vec<(&'static str, bool)> {
    let mut given = vec![
        ("role", item.role.is_some()),
        ("content", item.content.is_some()),
        ("phase", item.phase.is_some()),
        ("call_id", item.call_id.is_some()),
        ("name", item.name.is_some()),
        ("arguments", item.arguments.is_some()),
        ("input", item.input.is_some()),
        ("output", item.output.is_some()),
        ("id", item.id.is_some()),
        ("namespace", item.namespace.is_some()),
        ("status", item.status.is_some()),
    ];
    given.retain(|(name, _)| !taken.contains(name));
    given
}

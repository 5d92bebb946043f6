//! Texts of OpenAI's Responses API, as rollouts have them.

use rubrics::Turn;
use serde_json::{Map, Value};

use crate::error::ApiError;
use crate::wires::invalid;

/// The turns that a policy was given: `instructions` first, then `input`. What it thought is left
/// out; calls and what tools answered are turns as JSON.
pub(super) fn prompt(path: &str, params: &Map<String, Value>) -> Result<Vec<Turn>, ApiError> {
    let mut turns = Vec::new();
    if let Some(Value::String(instructions)) = params.get("instructions") {
        turns.push(turn("system", instructions.clone()));
    }
    let path = format!("{path}.input");
    match params.get("input") {
        None | Some(Value::Null) => {}
        Some(Value::String(text)) => turns.push(turn("user", text.clone())),
        Some(Value::Array(items)) => {
            for (at, item) in items.iter().enumerate() {
                turns.extend(input_item(&format!("{path}[{at}]"), item)?);
            }
        }
        Some(_) => return Err(invalid(path, "expected a text or a list of items")),
    }
    Ok(turns)
}

/// The text of a response: its messages, without what was thought and called before them.
pub(super) fn response(path: &str, response: &Map<String, Value>) -> Result<String, ApiError> {
    let path = format!("{path}.output");
    let Some(Value::Array(items)) = response.get("output") else {
        return Err(invalid(path, "expected a list of items"));
    };
    let mut whole = String::new();
    for (at, item) in items.iter().enumerate() {
        if item.get("type").is_none_or(|kind| kind == "message") {
            whole += &content(&format!("{path}[{at}].content"), item.get("content"))?;
        }
    }
    Ok(whole)
}

fn input_item(path: &str, item: &Value) -> Result<Option<Turn>, ApiError> {
    let text = |field: &str| item.get(field).and_then(Value::as_str);
    let said = match text("type").unwrap_or("message") {
        "message" => {
            let role =
                text("role").ok_or_else(|| invalid(format!("{path}.role"), "it is missing"))?;
            let role = if role == "developer" { "system" } else { role };
            turn(
                role,
                content(&format!("{path}.content"), item.get("content"))?,
            )
        }
        "function_call" => {
            let call = serde_json::json!({
                "name": item.get("name"), "arguments": item.get("arguments"),
            });
            turn("assistant", call.to_string())
        }
        "function_call_output" => turn("tool", text("output").unwrap_or_default().to_owned()),
        // Reasoning, and what providers add beside it.
        _ => return Ok(None),
    };
    Ok(Some(said))
}

/// A text, or the texts of parts one after the other.
fn content(path: &str, content: Option<&Value>) -> Result<String, ApiError> {
    match content {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Array(parts)) => {
            let texts = parts.iter().enumerate().map(|(at, part)| {
                let text = part.get("text").or_else(|| part.get("refusal"));
                text.and_then(Value::as_str)
                    .ok_or_else(|| invalid(format!("{path}[{at}]"), "only texts are read"))
            });
            texts.collect()
        }
        Some(_) => Err(invalid(path, "expected a text or a list of parts")),
    }
}

fn turn(role: &str, content: String) -> Turn {
    Turn {
        role: role.to_owned(),
        content,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        let Value::Object(object) = value else {
            unreachable!("{value} is no object")
        };
        object
    }

    #[expect(clippy::needless_pass_by_value, reason = "rows are literals")]
    fn check_prompt(params: Value, expected: &[(&str, &str)]) {
        let turns = prompt("p", &object(params.clone())).expect("it can be read");
        let turns: Vec<(&str, &str)> = turns
            .iter()
            .map(|turn| (turn.role.as_str(), turn.content.as_str()))
            .collect();
        assert_eq!(turns, expected, "{params}");
    }

    #[expect(clippy::needless_pass_by_value, reason = "rows are literals")]
    fn check_response(output: Value, expected: Result<&str, &str>) {
        let read = response("response", &object(json!({ "output": output.clone() })));
        let read = read.map_err(|error| error.param().unwrap_or_default().to_owned());
        let expected = expected.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(read, expected, "{output}");
    }

    #[test]
    fn prompts() {
        check_prompt(json!({ "input": "Hi" }), &[("user", "Hi")]);
        check_prompt(json!({}), &[]);
        check_prompt(
            json!({ "instructions": "Be brief.", "input": [
                { "role": "developer", "content": "No jokes." },
                { "role": "user", "content": [{ "type": "input_text", "text": "1 " },
                                              { "type": "input_text", "text": "+ 1?" }] },
                { "type": "reasoning", "summary": [] },
                { "type": "function_call", "name": "add", "arguments": "{}", "call_id": "1" },
                { "type": "function_call_output", "call_id": "1", "output": "2" },
            ] }),
            &[
                ("system", "Be brief."),
                ("system", "No jokes."),
                ("user", "1 + 1?"),
                ("assistant", r#"{"name":"add","arguments":"{}"}"#),
                ("tool", "2"),
            ],
        );
    }

    #[test]
    fn responses() {
        let message = |text: &str| {
            json!({ "type": "message", "role": "assistant",
            "content": [{ "type": "output_text", "text": text, "annotations": [] }] })
        };
        check_response(json!([]), Ok(""));
        check_response(
            json!([{ "type": "reasoning", "summary": [] }, message("2"), message("3")]),
            Ok("23"),
        );
        check_response(json!([{ "content": "plain" }]), Ok("plain"));
        check_response(json!(null), Err("response.output"));
        check_response(
            json!([{ "type": "message", "content": [{ "type": "image" }] }]),
            Err("response.output[0].content[0]"),
        );
        check_response(
            json!([{ "type": "message", "content": 3 }]),
            Err("response.output[0].content"),
        );
    }
}

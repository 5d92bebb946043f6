//! Texts of OpenAI's Responses API, as rollouts have them.

use openapi::{RawObject, without_position};
use rubrics::Turn;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::ApiError;
use crate::wires::invalid;

/// What is read of the request to a policy. The rest, such as its tools, is passed over.
#[derive(Deserialize)]
struct Asked<'a> {
    instructions: Option<Value>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}

/// What is read of a response. The rest, such as its usage, is passed over.
#[derive(Deserialize)]
struct Answered<'a> {
    #[serde(borrow)]
    output: Option<&'a RawValue>,
}

/// What is read of an item. The rest, such as the ids and log-probabilities of its tokens, is
/// passed over.
#[derive(Deserialize)]
struct Item<'a> {
    #[serde(rename = "type")]
    kind: Option<Value>,
    role: Option<Value>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    name: Option<Value>,
    arguments: Option<Value>,
    output: Option<Value>,
}

/// What is read of a part of a message.
#[derive(Deserialize)]
struct Part {
    text: Option<Value>,
    refusal: Option<Value>,
}

/// The turns that a policy was given: `instructions` first, then `input`. What it thought is left
/// out; calls and what tools answered are turns as JSON.
pub(super) fn prompt(path: &str, params: &RawObject) -> Result<Vec<Turn>, ApiError> {
    let asked: Asked<'_> = read(path, params.json())?;
    let mut turns = Vec::new();
    if let Some(Value::String(instructions)) = asked.instructions {
        turns.push(turn("system", instructions));
    }
    let path = format!("{path}.input");
    match texts(&path, asked.input)? {
        None => {}
        Some(Texts::One(text)) => turns.push(turn("user", text)),
        Some(Texts::List(items)) => {
            for (at, item) in items.into_iter().enumerate() {
                turns.extend(input_item(&format!("{path}[{at}]"), item)?);
            }
        }
    }
    Ok(turns)
}

/// The text of a response: its messages, without what was thought and called before them.
pub(super) fn response(path: &str, response: &RawObject) -> Result<String, ApiError> {
    let answered: Answered<'_> = read(path, response.json())?;
    let path = format!("{path}.output");
    let Some(Texts::List(items)) = texts(&path, answered.output)? else {
        return Err(invalid(path, "expected a list of items"));
    };
    let mut whole = String::new();
    for (at, item) in items.into_iter().enumerate() {
        let path = format!("{path}[{at}]");
        let item: Item<'_> = object(&path, item)?;
        if item.kind.is_none_or(|kind| kind == "message") {
            whole += &content(&format!("{path}.content"), item.content)?;
        }
    }
    Ok(whole)
}

/// A text, or a list whose members are still to be read.
enum Texts<'a> {
    One(String),
    List(Vec<&'a RawValue>),
}

fn texts<'a>(path: &str, raw: Option<&'a RawValue>) -> Result<Option<Texts<'a>>, ApiError> {
    let Some(raw) = raw else {
        return Ok(None);
    };
    match raw.get().as_bytes()[0] {
        b'"' => read(path, raw.get()).map(|text| Some(Texts::One(text))),
        b'[' => read(path, raw.get()).map(|list| Some(Texts::List(list))),
        _ => Err(invalid(path, "expected a text or a list")),
    }
}

/// `raw` as a type that has fields.
fn object<'a, T: Deserialize<'a>>(path: &str, raw: &'a RawValue) -> Result<T, ApiError> {
    // serde reads a struct from a list, too.
    if raw.get().starts_with('{') {
        read(path, raw.get())
    } else {
        Err(invalid(path, "expected an object"))
    }
}

pub(super) fn read<'a, T: Deserialize<'a>>(path: &str, json: &'a str) -> Result<T, ApiError> {
    serde_json::from_str(json).map_err(|error| invalid(path, without_position(&error)))
}

fn input_item(path: &str, item: &RawValue) -> Result<Option<Turn>, ApiError> {
    let item: Item<'_> = object(path, item)?;
    let kind = item.kind.as_ref().and_then(Value::as_str);
    let said = match kind.unwrap_or("message") {
        "message" => {
            let role = item.role.as_ref().and_then(Value::as_str);
            let role = role.ok_or_else(|| invalid(format!("{path}.role"), "it is missing"))?;
            let role = if role == "developer" { "system" } else { role };
            turn(role, content(&format!("{path}.content"), item.content)?)
        }
        "function_call" => {
            let call = serde_json::json!({ "name": item.name, "arguments": item.arguments });
            turn("assistant", call.to_string())
        }
        "function_call_output" => {
            let output = item.output.as_ref().and_then(Value::as_str);
            turn("tool", output.unwrap_or_default().to_owned())
        }
        // Reasoning, and what providers add beside it.
        _ => return Ok(None),
    };
    Ok(Some(said))
}

/// A text, or the texts of parts one after the other.
fn content(path: &str, content: Option<&RawValue>) -> Result<String, ApiError> {
    match texts(path, content)? {
        None => Ok(String::new()),
        Some(Texts::One(text)) => Ok(text),
        Some(Texts::List(parts)) => {
            let texts = parts.into_iter().enumerate().map(|(at, part)| {
                let path = || format!("{path}[{at}]");
                let part: Part = object(&path(), part)?;
                match part.text.or(part.refusal) {
                    Some(Value::String(text)) => Ok(text),
                    _ => Err(invalid(path(), "only texts are read")),
                }
            });
            texts.collect()
        }
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

    fn raw(value: &Value) -> RawObject {
        serde_json::from_str(&value.to_string()).expect("it is an object")
    }

    #[expect(clippy::needless_pass_by_value, reason = "rows are literals")]
    fn check_prompt(params: Value, expected: &[(&str, &str)]) {
        let turns = prompt("p", &raw(&params)).expect("it can be read");
        let turns: Vec<(&str, &str)> = turns
            .iter()
            .map(|turn| (turn.role.as_str(), turn.content.as_str()))
            .collect();
        assert_eq!(turns, expected, "{params}");
    }

    #[expect(clippy::needless_pass_by_value, reason = "rows are literals")]
    fn check_response(output: Value, expected: Result<&str, &str>) {
        let read = response("response", &raw(&json!({ "output": output })));
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
        check_response(json!(["text"]), Err("response.output[0]"));
        check_response(json!([["message"]]), Err("response.output[0]"));
        check_response(
            json!([{ "content": [{ "text": "a" }, ["b"]] }]),
            Err("response.output[0].content[1]"),
        );
        check_response(json!([{ "content": [{ "refusal": "No." }] }]), Ok("No."));
    }
}

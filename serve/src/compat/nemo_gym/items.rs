//! Converts items of OpenAI's Responses API, as rollouts contain them, to text.

use rubrics::Message;

use super::rollout_types::{
    RolloutContent, RolloutInput, RolloutItem, RolloutParams, RolloutResponse,
};
use crate::compat::shared::invalid;
use crate::error::ApiError;

/// Converts the prompt to turns: `instructions` first, then `input`. Reasoning is left out; tool
/// calls and their outputs are turns in JSON.
///
/// # Errors
/// An item that is not text, by its path.
pub(super) fn prompt(path: &str, params: RolloutParams) -> Result<Vec<Message>, ApiError> {
    let mut turns = Vec::new();
    if let Some(instructions) = params.instructions.0 {
        turns.push(turn("system", instructions));
    }
    match params.input {
        None => {}
        Some(RolloutInput::Text(text)) => turns.push(turn("user", text)),
        Some(RolloutInput::Items(items)) => {
            for (at, item) in items.into_iter().enumerate() {
                turns.extend(input_item(item, || format!("{path}.input[{at}]"))?);
            }
        }
    }
    Ok(turns)
}

/// Returns the text of a response: its messages, without reasoning and tool calls.
///
/// # Errors
/// An item that is not text, by its path.
pub(super) fn response(path: &str, answered: RolloutResponse) -> Result<String, ApiError> {
    let mut whole = String::new();
    for (at, item) in answered.output.into_iter().enumerate() {
        if item.kind.as_str().is_none_or(|kind| kind == "message") {
            whole += &content(item.content, || format!("{path}.output[{at}].content"))?;
        }
    }
    Ok(whole)
}

fn input_item(item: RolloutItem, path: impl Fn() -> String) -> Result<Option<Message>, ApiError> {
    let text = match item.kind.as_str().unwrap_or("message") {
        "message" => {
            let role = item.role.as_str();
            let role = role.ok_or_else(|| invalid(path() + ".role", "it is missing"))?;
            let role = if role == "developer" { "system" } else { role };
            turn(role, content(item.content, || path() + ".content")?)
        }
        "function_call" => {
            let call = serde_json::json!({ "name": item.name, "arguments": item.arguments });
            turn("assistant", call.to_string())
        }
        "function_call_output" => turn("tool", item.output.0.unwrap_or_default()),
        // Reasoning and provider-specific items.
        _ => return Ok(None),
    };
    Ok(Some(text))
}

/// Joins the text parts of a content.
fn content(content: RolloutContent, path: impl Fn() -> String) -> Result<String, ApiError> {
    match content {
        RolloutContent::None => Ok(String::new()),
        RolloutContent::Text(text) => Ok(text),
        RolloutContent::Parts(parts) => {
            let texts = parts.into_iter().enumerate().map(|(at, part)| {
                part.ok_or_else(|| invalid(format!("{}[{at}]", path()), "only texts are read"))
            });
            texts.collect()
        }
        RolloutContent::Other => Err(invalid(path(), "expected a text or a list of parts")),
    }
}

fn turn(role: &str, content: String) -> Message {
    Message { role: role.to_owned(), content }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
        serde_json::from_value(value).expect("it has the shape")
    }

    #[expect(clippy::needless_pass_by_value, reason = "rows are literals")]
    fn check_prompt(params: Value, expected: &[(&str, &str)]) {
        let turns = prompt("p", read(params.clone())).expect("it can be read");
        let turns: Vec<(&str, &str)> =
            turns.iter().map(|turn| (turn.role.as_str(), turn.content.as_str())).collect();
        assert_eq!(turns, expected, "{params}");
    }

    #[expect(clippy::needless_pass_by_value, reason = "rows are literals")]
    fn check_response(output: Value, expected: Result<&str, &str>) {
        let read = response("response", read(json!({ "output": output.clone() })));
        let read = read.map_err(|error| error.param().unwrap_or_default().to_owned());
        let expected = expected.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(read, expected, "{output}");
    }

    #[test]
    fn prompts_become_turns() {
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
    fn responses_become_text() {
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
        check_response(
            json!([{ "type": "message", "content": [{ "type": "image" }] }]),
            Err("response.output[0].content[0]"),
        );
        check_response(
            json!([{ "type": "message", "content": 3 }]),
            Err("response.output[0].content"),
        );
        check_response(
            json!([{ "content": [{ "text": "a" }, ["b"]] }]),
            Err("response.output[0].content[1]"),
        );
        check_response(json!([{ "content": [{ "refusal": "No." }] }]), Ok("No."));
    }
}

//! Tool calls in generated text: in Qwen's tags, or as the JSON of an OpenAI message.
//!
//! Parsing is strict. A malformed call becomes a broken call, which is reported to the model: if it
//! were ignored, the text around it would count as a verdict.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::parse::UniqueValue;

const OPEN: &str = "<tool_call>";
const CLOSE: &str = "</tool_call>";

/// A call, or the error of a malformed one.
pub type Call = Result<RequestedCall, String>;

/// A tool and its arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestedCall {
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub arguments: Map<String, Value>,
}

/// The calls of a text, in order.
pub fn read_calls(text: &str) -> Vec<Call> {
    let tagged = tagged(text);
    if tagged.is_empty() { message(text.trim()) } else { tagged }
}

/// Calls between tags. A tag that is opened and not closed, or closed and not opened, is a broken
/// call.
fn tagged(text: &str) -> Vec<Call> {
    let mut calls = Vec::new();
    let mut rest = text;
    while let Some(open) = rest.find(OPEN) {
        let inside = &rest[open + OPEN.len()..];
        let Some(close) = inside.find(CLOSE) else {
            calls.push(Err(format!("{OPEN} without {CLOSE}")));
            return calls;
        };
        calls.push(function(&inside[..close]));
        rest = &inside[close + CLOSE.len()..];
    }
    if rest.contains(CLOSE) {
        calls.push(Err(format!("{CLOSE} without {OPEN}")));
    }
    calls
}

/// `{"name": …, "arguments": …}`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Function {
    name: String,
    arguments: UniqueValue,
}

/// `{"type": "function", "function": …}`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FunctionItem {
    #[serde(rename = "type")]
    _kind: FunctionWord,
    #[serde(default, rename = "id")]
    _id: IgnoredAny,
    #[serde(default, rename = "index")]
    _index: IgnoredAny,
    function: Function,
}

#[derive(Deserialize)]
enum FunctionWord {
    #[serde(rename = "function")]
    Function,
}

/// A message with `tool_calls`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallMessage {
    #[serde(default, rename = "role")]
    _role: IgnoredAny,
    #[serde(default, rename = "content")]
    _content: IgnoredAny,
    tool_calls: Vec<FunctionItem>,
}

fn function(json: &str) -> Call {
    let function: Function = serde_json::from_str(json.trim())
        .map_err(|error| format!("not a call with name and arguments: {error}"))?;
    wanted(function)
}

/// Arguments are an object, or the JSON text of one. A key that is there twice would leave open which
/// value is meant.
fn wanted(function: Function) -> Call {
    let no_object = "the arguments are no JSON object";
    let arguments = match function.arguments.0 {
        Value::String(text) => {
            let read: UniqueValue =
                serde_json::from_str(&text).map_err(|error| format!("{no_object}: {error}"))?;
            read.0
        }
        arguments @ (Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::Array(_)
        | Value::Object(_)) => arguments,
    };
    match arguments {
        Value::Object(arguments) => Ok(RequestedCall { name: function.name, arguments }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(no_object.to_owned())
        }
    }
}

/// Calls of a text that is JSON as a whole.
fn message(text: &str) -> Vec<Call> {
    if !text.starts_with(['{', '[']) || !is_meant_for_calls(text) {
        return Vec::new();
    }
    let items = if text.starts_with('[') {
        serde_json::from_str::<Vec<FunctionItem>>(text)
    } else if text.contains("\"tool_calls\"") {
        serde_json::from_str::<CallMessage>(text).map(|message| message.tool_calls)
    } else {
        serde_json::from_str::<FunctionItem>(text).map(|item| vec![item])
    };
    match items {
        Ok(items) => items.into_iter().map(|item| wanted(item.function)).collect(),
        Err(error) => vec![Err(format!("not a list of tool calls: {error}"))],
    }
}

/// Whether JSON, perhaps broken, has the keys of calls.
fn is_meant_for_calls(text: &str) -> bool {
    text.contains("\"tool_calls\"")
        || (text.contains("\"function\"") && text.contains("\"arguments\""))
}

//! Tool calls, and the schema that tools stand for.

use serde_json::{Value, json};

use super::{Document, Malformed, within_depth};
use crate::tool_calls::read_calls;

pub(super) fn parse(text: &str) -> Result<Document, Malformed> {
    let mut calls = Vec::new();
    for call in read_calls(text) {
        let call = call.map_err(|message| Malformed::at(1, 1, message))?;
        calls.push(json!({"name": call.name, "arguments": call.arguments}));
    }
    let value = Value::Array(calls);
    let depth = depth(&value);
    within_depth(value, depth)
}

/// The parser of JSON bounds how deep arguments nest.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// The schema of calls of `tools`, as OpenAI's requests list them: at least one call, each of a tool
/// that is listed, with arguments that fit its parameters. `None` if `schema` lists no tools.
pub(in super::super) fn schema_of_tools(schema: &Value) -> Option<Value> {
    let tools = schema.get("tools")?.as_array()?;
    let call = |tool: &Value| {
        let function = tool.get("function").unwrap_or(tool);
        let any = json!({"type": "object"});
        json!({
            "properties": {
                "name": {"const": function.get("name")},
                "arguments": function.get("parameters").unwrap_or(&any),
            },
        })
    };
    let calls: Vec<Value> = tools.iter().map(call).collect();
    Some(json!({"type": "array", "minItems": 1, "items": {"anyOf": calls}}))
}

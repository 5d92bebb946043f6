//! Tool calls, and the schema that tools stand for.

use serde_json::{Value, json};

use super::{Document, Malformed, depth_of, within_depth};
use crate::json::tool_calls::read_calls;

pub(super) fn parse(text: &str) -> Result<Document, Malformed> {
    let mut calls = Vec::new();
    for call in read_calls(text) {
        let call = call.map_err(|message| Malformed::at(1, 1, message))?;
        calls.push(json!({"name": call.name, "arguments": call.arguments}));
    }
    let value = Value::Array(calls);
    // The parser of JSON bounds how deep arguments nest.
    let depth = depth_of(&value);
    within_depth(value, depth)
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

//! A conversation as a template's variables.

use std::collections::HashMap;

use serde_json::Value as Json;

use super::error::{RenderError, invalid};
use super::value::Value;
use crate::conversation::Conversation;
use crate::text::Origin;

/// Roles that may become part of a special token, as in `<|user|>`. Any other role is text from
/// the request.
const ROLES: &[&str] = &[
    "system",
    "developer",
    "user",
    "assistant",
    "model",
    "tool",
    "function",
    "ipython",
    "context",
    "documents",
    "tools",
    "environment",
    "observation",
];
/// Roles whose text comes from the model or from tools.
const REPLIES: &[&str] =
    &["assistant", "model", "tool", "function", "ipython", "environment", "observation"];
/// The field names for a message's reasoning; templates read the first.
const REASONING: [&str; 3] = ["reasoning_content", "thinking", "reasoning"];
/// Names taken by a conversation's own fields.
const RESERVED: [&str; 4] = ["messages", "tools", "documents", "add_generation_prompt"];

/// Converts a conversation and the special tokens to the template's global variables. A request may
/// give any number of them, and a template reads its own at every message: hence a map.
pub(super) fn globals(
    conversation: &Conversation,
    special_tokens: &[(String, String)],
) -> Result<HashMap<String, Value>, RenderError> {
    if conversation.messages.is_empty() {
        return Err(invalid("the conversation has no messages"));
    }
    let messages: Result<Vec<Value>, RenderError> =
        conversation.messages.iter().map(message).collect();
    // In the order of their names.
    let fields = [
        Value::given_list(messages?)?,
        objects(conversation.tools.as_deref(), "tools")?,
        objects(conversation.documents.as_deref(), "documents")?,
        Value::Bool(conversation.add_generation_prompt),
    ];
    let tokens = special_tokens.iter();
    let mut globals: HashMap<String, Value> =
        tokens.map(|(name, token)| (name.clone(), Value::given(token, Origin::Template))).collect();
    for (name, value) in &conversation.kwargs {
        if RESERVED.contains(&name.as_str()) {
            return Err(invalid(format!("`{name}` is no switch of the template")));
        }
        // As in transformers, a switch wins over a special token of its name.
        globals.insert(name.clone(), Value::from_json(value, Origin::Request)?);
    }
    globals.extend(RESERVED.map(str::to_owned).into_iter().zip(fields));
    Ok(globals)
}

/// A list of objects, or `None`.
fn objects(list: Option<&[Json]>, name: &str) -> Result<Value, RenderError> {
    let Some(list) = list else {
        return Ok(Value::None);
    };
    if !list.iter().all(Json::is_object) {
        return Err(invalid(format!("`{name}` are objects")));
    }
    let items: Result<Vec<Value>, RenderError> =
        list.iter().map(|v| Value::from_json(v, Origin::Request)).collect();
    Value::given_list(items?)
}

/// A message as transformers passes it: null fields are omitted, and reasoning is present under
/// each of its names.
fn message(json: &Json) -> Result<Value, RenderError> {
    let Json::Object(fields) = json else {
        return Err(invalid("a message is an object"));
    };
    let role = fields.get("role").and_then(Json::as_str).unwrap_or("");
    let origin = if REPLIES.contains(&role) { Origin::Reply } else { Origin::Request };
    let mut entries: Vec<(Value, Value)> = Vec::new();
    let reasoning = REASONING.iter().find_map(|name| fields.get(*name).filter(|v| !v.is_null()));
    // With reasoning, `thinking` is the first entry, filled from any of its names.
    if let Some(reasoning) = reasoning {
        let thinking = fields.get("thinking").filter(|v| !v.is_null());
        entries.push(field("thinking", thinking.unwrap_or(reasoning), origin)?);
    }
    for (name, value) in fields {
        if value.is_null() || name == "thinking" {
            continue;
        }
        let trusted = name == "role" && ROLES.contains(&role);
        let origin = if trusted { Origin::Template } else { origin };
        entries.push(field(name, value, origin)?);
    }
    if let Some(reasoning) = reasoning
        && fields.get(REASONING[0]).is_none_or(Json::is_null)
    {
        entries.push(field(REASONING[0], reasoning, origin)?);
    }
    Value::given_map(entries)
}

fn field(name: &str, value: &Json, origin: Origin) -> Result<(Value, Value), RenderError> {
    Ok((Value::given(name, origin), Value::from_json(value, origin)?))
}

//! Translates requests to the chat requests that they stand for.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::types::{
    ResponsesContent, ResponsesInput, ResponsesItem, ResponsesItemType, ResponsesPart,
    ResponsesPartType, ResponsesRequest, ResponsesTextFormat, ResponsesTool, ResponsesToolChoice,
    ResponsesToolRule,
};
use crate::compat::shared::generation::types::{
    ChatContent, ChatMessage, ChatRequest, FunctionCall, FunctionDefinition, ResponseFormat,
    ResponseKind, Role, SchemaFormat, StreamOptions, Tool, ToolCall, ToolChoice, ToolKind,
};
use crate::compat::shared::{check_count, invalid, refuse};
use crate::error::ApiError;

/// Most entries of `metadata`.
const MAX_METADATA: usize = 16;
/// Most characters of a key of `metadata`.
const MAX_METADATA_KEY_CHARS: usize = 64;
/// Most characters of a value of `metadata`.
const MAX_METADATA_CHARS: usize = 512;

/// Translates a request.
///
/// # Errors
/// 422 at the first field or item that has no chat equivalent.
pub(super) fn chat_request(request: ResponsesRequest) -> Result<ChatRequest, ApiError> {
    const NOT_STORED: &str = "replies are not stored here; send the conversation in `input`";
    if request.store == Some(true) {
        return Err(invalid("store", NOT_STORED));
    }
    if request.previous_response_id.is_some() {
        return Err(invalid("previous_response_id", NOT_STORED));
    }
    check_metadata(&request.metadata.unwrap_or_default())?;
    let tools = request.tools.map(|tools| tools.into_iter().map(tool).collect());
    let format = request.text.and_then(|text| text.format);
    Ok(ChatRequest {
        model: request.model,
        messages: messages(request.instructions, request.input)?,
        max_completion_tokens: request.max_output_tokens,
        temperature: request.temperature,
        top_p: request.top_p,
        response_format: format.map(response_format).transpose()?,
        tools,
        tool_choice: request.tool_choice.map(tool_choice),
        parallel_tool_calls: request.parallel_tool_calls,
        stream: request.stream,
        // The last event of a stream has the usage.
        stream_options: Some(StreamOptions { include_usage: Some(true) }),
        seed: request.seed,
        priority: request.priority,
        cache_salt: request.cache_salt,
        ..ChatRequest::default()
    })
}

/// Gives an error of the chat request the place of the field that it was translated from.
pub(super) fn at_own_field(error: ApiError) -> ApiError {
    error.moved(|path| match path {
        "max_completion_tokens" => "max_output_tokens".to_owned(),
        _ if path.starts_with("messages") => "input".to_owned(),
        _ => path.replacen(".function", "", 1),
    })
}

fn check_metadata(metadata: &BTreeMap<String, String>) -> Result<(), ApiError> {
    check_count("metadata", metadata.len(), 0..=MAX_METADATA)?;
    for (key, value) in metadata {
        let (of_key, of_value) = (key.chars().count(), value.chars().count());
        if of_key > MAX_METADATA_KEY_CHARS || of_value > MAX_METADATA_CHARS {
            let message = format!(
                "a key of {of_key} characters with a text of {of_value}; \
                 {MAX_METADATA_KEY_CHARS} and {MAX_METADATA_CHARS} are taken"
            );
            return Err(invalid(format!("metadata.{key}"), message));
        }
    }
    Ok(())
}

fn messages(
    instructions: Option<String>,
    input: ResponsesInput,
) -> Result<Vec<ChatMessage>, ApiError> {
    let mut messages: Vec<ChatMessage> = Vec::new();
    messages.extend(instructions.map(|text| message(Role::System, Some(text))));
    match input {
        ResponsesInput::Text(text) => messages.push(message(Role::User, Some(text))),
        ResponsesInput::Items(items) if items.is_empty() => {
            return Err(invalid("input", "there are no items"));
        }
        ResponsesInput::Items(items) => {
            for (at, item) in items.into_iter().enumerate() {
                push(&mut messages, &format!("input[{at}]"), item)?;
            }
        }
    }
    Ok(messages)
}

/// Appends an item. Calls belong to the message of the assistant that they follow.
fn push(messages: &mut Vec<ChatMessage>, path: &str, item: ResponsesItem) -> Result<(), ApiError> {
    let ResponsesItem { kind, role, content, call_id, name, arguments, output } = item;
    match kind {
        ResponsesItemType::Message => {
            let others = [
                ("call_id", call_id.is_some()),
                ("name", name.is_some()),
                ("arguments", arguments.is_some()),
                ("output", output.is_some()),
            ];
            refuse(path, "message", others)?;
            let role = needed(path, "role", role)?;
            if role == Role::Tool {
                let what = "the output of a function is an item of type function_call_output";
                return Err(invalid(format!("{path}.role"), what));
            }
            let content = needed(path, "content", content)?;
            let text = text(&format!("{path}.content"), content, role == Role::Assistant)?;
            messages.push(message(role, Some(text)));
        }
        ResponsesItemType::FunctionCall => {
            let others = [
                ("role", role.is_some()),
                ("content", content.is_some()),
                ("output", output.is_some()),
            ];
            refuse(path, "function call", others)?;
            let call = ToolCall {
                id: needed(path, "call_id", call_id)?,
                kind: ToolKind::Function,
                function: FunctionCall {
                    name: needed(path, "name", name)?,
                    arguments: json_object(path, needed(path, "arguments", arguments)?)?,
                },
            };
            if messages.last().is_none_or(|last| last.role != Role::Assistant) {
                messages.push(message(Role::Assistant, None));
            }
            let last = messages.last_mut().expect("one was pushed");
            last.tool_calls.get_or_insert_default().push(call);
        }
        ResponsesItemType::FunctionCallOutput => {
            let others = [
                ("role", role.is_some()),
                ("content", content.is_some()),
                ("arguments", arguments.is_some()),
            ];
            refuse(path, "function call output", others)?;
            let call_id = needed(path, "call_id", call_id)?;
            let output = needed(path, "output", output)?;
            let text = text(&format!("{path}.output"), output, false)?;
            messages.push(ChatMessage {
                name,
                tool_call_id: Some(call_id),
                ..message(Role::Tool, Some(text))
            });
        }
    }
    Ok(())
}

fn message(role: Role, text: Option<String>) -> ChatMessage {
    ChatMessage {
        role,
        content: text.map(ChatContent::Text),
        name: None,
        tool_calls: None,
        tool_call_id: None,
        refusal: None,
        reasoning_content: None,
    }
}

fn needed<T>(path: &str, field: &str, value: Option<T>) -> Result<T, ApiError> {
    value.ok_or_else(|| invalid(format!("{path}.{field}"), "it is missing"))
}

/// Checks that arguments are a JSON object or blank, as templates need them.
fn json_object(path: &str, arguments: String) -> Result<String, ApiError> {
    if !arguments.trim().is_empty() {
        serde_json::from_str::<Map<String, Value>>(&arguments).map_err(|error| {
            invalid(format!("{path}.arguments"), format_args!("no JSON object: {error}"))
        })?;
    }
    Ok(arguments)
}

fn text(path: &str, content: ResponsesContent, is_assistant: bool) -> Result<String, ApiError> {
    let parts = match content {
        ResponsesContent::Text(text) => return Ok(text),
        ResponsesContent::Parts(parts) => parts.into_iter().enumerate(),
    };
    let texts = parts.map(|(at, part)| part_text(&format!("{path}[{at}]"), part, is_assistant));
    Ok(texts.collect::<Result<Vec<String>, ApiError>>()?.join("\n"))
}

fn part_text(path: &str, part: ResponsesPart, is_assistant: bool) -> Result<String, ApiError> {
    let (own, other, field) = match part.kind {
        ResponsesPartType::InputText | ResponsesPartType::OutputText => {
            (part.text, part.refusal, "text")
        }
        ResponsesPartType::Refusal if is_assistant => (part.refusal, part.text, "refusal"),
        ResponsesPartType::Refusal => return Err(invalid(path, "only an assistant refuses")),
    };
    match (own, other) {
        (Some(own), None) => Ok(own),
        _ => Err(invalid(path, format_args!("a part of this type has a {field} and no more"))),
    }
}

fn response_format(format: ResponsesTextFormat) -> Result<ResponseFormat, ApiError> {
    let path = "text.format";
    let ResponsesTextFormat { kind, name, description, schema, strict } = format;
    if kind != ResponseKind::JsonSchema {
        let others = [
            ("name", name.is_some()),
            ("description", description.is_some()),
            ("schema", schema.is_some()),
            ("strict", strict.is_some()),
        ];
        refuse(path, "format without a schema", others)?;
        return Ok(ResponseFormat { kind, json_schema: None });
    }
    let json_schema = SchemaFormat {
        name: needed(path, "name", name)?,
        description,
        schema: Some(needed(path, "schema", schema)?),
        strict,
    };
    Ok(ResponseFormat { kind, json_schema: Some(json_schema) })
}

fn tool(tool: ResponsesTool) -> Tool {
    let ResponsesTool { kind, name, description, parameters, strict } = tool;
    Tool { kind, function: FunctionDefinition { name, description, parameters, strict } }
}

fn tool_choice(choice: ResponsesToolChoice) -> ToolChoice {
    match choice {
        ResponsesToolChoice::Rule(ResponsesToolRule::None) => ToolChoice::None,
        ResponsesToolChoice::Rule(ResponsesToolRule::Auto) => ToolChoice::Auto,
        ResponsesToolChoice::Rule(ResponsesToolRule::Required) => ToolChoice::Required,
        ResponsesToolChoice::Function(named) => ToolChoice::Function(named.name),
    }
}

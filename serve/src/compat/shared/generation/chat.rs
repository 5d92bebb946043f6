//! Prepares chat requests: renders the conversation as the model's prompt.

use std::ops::Range;

use chat::{LocalTime, Mark, Rendered, Text};
use engine::Conversation;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::constraint;
use super::prepared::{PreparedRequest, PromptTokens, Prompts};
use super::settings::{self, RouteDefaults, Settings};
use super::tool_calls::ToolCallMode;
use super::types::{
    ChatContent, ChatMessage, ChatRequest, FunctionDefinition, Role, Tool, ToolCall, ToolChoice,
};
use crate::call::Call;
use crate::caller::Caller;
use crate::compat::shared::invalid;
use crate::encoding::{TOKEN_COST, check_text};
use crate::error::ApiError;
use crate::hosts::Served;

/// A chat request with its prompt as tokens.
#[derive(Debug)]
pub(crate) struct PreparedChat {
    pub(crate) prepared: PreparedRequest,
    pub(super) calling: ToolCallMode,
    /// Names of the functions that may be called.
    pub(super) functions: Vec<String>,
}

/// Renders and encodes a conversation and checks all other fields.
///
/// # Errors
/// 422 at the first invalid value.
pub(crate) fn chat(
    mut request: ChatRequest,
    served: Served,
    caller: Caller,
) -> Result<PreparedChat, ApiError> {
    let mut generation = request.take_generation();
    generation.max_tokens = max_tokens(generation.max_tokens, request.max_completion_tokens)?;
    let tools = request.tools.take().unwrap_or_default();
    check_tools(&tools)?;
    let choice = request.tool_choice.take();
    let several = request.parallel_tool_calls.unwrap_or(true);
    let plan = plan_calls(&tools, choice, several)?;
    if plan.calling != ToolCallMode::Never && plan.forced.is_none() && !served.template_shows_tools
    {
        let message = "the model's chat template has no place for tools; with tool_choice \
                       \"required\" or a function's name they still hold the reply";
        return Err(invalid("tools", message));
    }
    let logprobs = logprobs(&request)?;
    let grammar = match (constraint::grammar(&generation)?, plan.forced) {
        (Some(_), Some(_)) => {
            let message = "a tool call is required, and another field constrains the text";
            return Err(invalid("tool_choice", message));
        }
        (given, forced) => given.or(forced),
    };
    let own = RouteDefaults { max_tokens: usize::MAX, logprobs, grammar };
    let settings = Settings::new(&generation, own, &served.host)?;
    let shown = (plan.calling != ToolCallMode::Never).then_some(&tools[..]);
    let prompt = prompt(&mut request, shown, &served)?;
    let prompts = Prompts { all: vec![prompt], param: "messages" };
    let prepared =
        PreparedRequest::new((request.model, served), prompts, &generation, settings, caller)?;
    Ok(PreparedChat {
        prepared,
        calling: plan.calling,
        functions: tools.into_iter().map(|tool| tool.function.name).collect(),
    })
}

fn max_tokens(old: Option<u64>, new: Option<u64>) -> Result<Option<u64>, ApiError> {
    match (old, new) {
        (_, Some(0)) => Err(invalid("max_completion_tokens", "0; at least 1 is generated")),
        (Some(old), Some(new)) if old != new => {
            let message = format!("{new}, and max_tokens says {old}");
            Err(invalid("max_completion_tokens", message))
        }
        (old, new) => Ok(new.or(old)),
    }
}

fn logprobs(request: &ChatRequest) -> Result<Option<usize>, ApiError> {
    match (request.logprobs.unwrap_or(false), request.top_logprobs) {
        (true, top) => settings::top("top_logprobs", top.unwrap_or(0)).map(Some),
        (false, None | Some(0)) => Ok(None),
        (false, Some(_)) => Err(invalid("top_logprobs", "it needs logprobs: true")),
    }
}

/// Whether and how tools are called.
struct ToolPlan {
    calling: ToolCallMode,
    /// The constraint of a required call.
    forced: Option<engine::sampling::Grammar>,
}

fn plan_calls(
    tools: &[Tool],
    choice: Option<ToolChoice>,
    several: bool,
) -> Result<ToolPlan, ApiError> {
    let functions: Vec<&FunctionDefinition> = tools.iter().map(|tool| &tool.function).collect();
    let forced = |functions: &[&FunctionDefinition]| ToolPlan {
        calling: ToolCallMode::Whole,
        forced: Some(constraint::call_of(functions)),
    };
    let free = |calling| ToolPlan { calling, forced: None };
    match choice {
        None | Some(ToolChoice::Auto) if functions.is_empty() => Ok(free(ToolCallMode::Never)),
        None | Some(ToolChoice::Auto) => Ok(free(ToolCallMode::Blocks { several })),
        Some(ToolChoice::None) => Ok(free(ToolCallMode::Never)),
        Some(ToolChoice::Required) if functions.is_empty() => {
            Err(invalid("tool_choice", "there are no tools to call"))
        }
        Some(ToolChoice::Required) => Ok(forced(&functions)),
        Some(ToolChoice::Function(name)) => {
            let function = functions.iter().find(|function| function.name == name);
            let function = function.ok_or_else(|| {
                let shown: String = name.chars().take(64).collect();
                let message = format!("no function is called {shown:?}");
                invalid("tool_choice.function.name", message)
            })?;
            Ok(forced(&[function]))
        }
    }
}

fn check_tools(tools: &[Tool]) -> Result<(), ApiError> {
    for (at, tool) in tools.iter().enumerate() {
        let name = &tool.function.name;
        let path = format!("tools[{at}].function.name");
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        if !(1..=64).contains(&name.len()) || !name.bytes().all(fits) {
            let message = "a name has 1 to 64 ASCII letters, digits, '_', '-' or '.'";
            return Err(invalid(&path, message));
        }
        if tools[..at].iter().any(|other| other.function.name == *name) {
            return Err(invalid(&path, "another function is called so"));
        }
    }
    Ok(())
}

fn prompt(
    request: &mut ChatRequest,
    tools: Option<&[Tool]>,
    served: &Served,
) -> Result<PromptTokens, ApiError> {
    let continued = request.continue_final_message.unwrap_or(false);
    let rendering = Rendering {
        opened: request.add_generation_prompt.unwrap_or(!continued),
        continued,
        kwargs: request.chat_template_kwargs.take().unwrap_or_default(),
        tools: tools.map(<[Tool]>::to_vec),
    };
    render(std::mem::take(&mut request.messages), rendering, served)
}

/// Renders and encodes the conversation of a request on a blocking thread.
///
/// # Errors
/// Those of [`Call::encode`], what the template refuses, and messages that cannot be, by their
/// paths.
pub(crate) async fn render_aside(
    call: &mut Call<'_>,
    served: &Served,
    messages: Vec<ChatMessage>,
    rendering: Rendering,
) -> Result<PromptTokens, ApiError> {
    let longest = call.body_bytes().min(served.host.max_text_bytes());
    call.hold(longest.saturating_mul(TOKEN_COST))?;
    let served = served.clone();
    call.encode(longest, move |_| render(messages, rendering, &served)).await
}

/// Options of rendering a conversation.
pub(crate) struct Rendering {
    /// Whether the prompt ends with the start of an assistant turn.
    pub(crate) opened: bool,
    /// Whether the prompt ends within the last message.
    pub(crate) continued: bool,
    /// Variables of the chat template.
    pub(crate) kwargs: Map<String, Value>,
    /// Tools for the template to render.
    pub(crate) tools: Option<Vec<Tool>>,
}

/// Renders a conversation with the model's template and encodes it.
///
/// # Errors
/// Errors of the template, and invalid messages, by their paths.
fn render(
    messages: Vec<ChatMessage>,
    rendering: Rendering,
    served: &Served,
) -> Result<PromptTokens, ApiError> {
    let tokenizer = &served.host.tokenizer;
    let continued = rendering.continued;
    if continued && rendering.opened {
        let message = "the last message is continued, so that no other one can begin";
        return Err(invalid("add_generation_prompt", message));
    }
    if messages.is_empty() {
        return Err(invalid("messages", "there are none"));
    }
    let messages = messages.into_iter().enumerate();
    let messages: Result<Vec<Value>, ApiError> = messages.map(|(at, m)| message(at, m)).collect();
    let tools = rendering.tools;
    let conversation = Conversation {
        messages: messages?,
        tools: tools.map(|tools| tools.iter().map(|tool| json!(tool)).collect()),
        documents: None,
        add_generation_prompt: rendering.opened,
        kwargs: rendering.kwargs,
        now: Some(now()),
    };
    let unusable = |error: chat::ChatError| invalid("messages", error);
    let rendered = tokenizer.template().render(&conversation).map_err(unusable)?;
    check_text(served, "messages", rendered.as_str().len())?;
    if !continued {
        return Ok(PromptTokens {
            token_ids: tokenizer.encode_text(&rendered.text).map_err(unusable)?.into(),
            digest: rendered.digest,
            echo: None,
        });
    }
    let end = end_of_last(&rendered, &conversation)?;
    let text = rendered.text.part(0..end);
    let digest = Sha256::digest(text.as_str());
    Ok(PromptTokens {
        token_ids: tokenizer.encode_text(&text).map_err(unusable)?.into(),
        digest: base::digest::hex(&digest),
        echo: None,
    })
}

/// Returns the current time in UTC for templates that use it; only their prompts depend on it.
fn now() -> LocalTime {
    LocalTime::from_unix(i64::try_from(base::time::unix_seconds()).unwrap_or(i64::MAX), 0)
}

/// Finds the end of the last message in the prompt. A template may trim the message.
///
/// # Errors
/// A template that does not render the message.
fn end_of_last(rendered: &Rendered, conversation: &Conversation) -> Result<usize, ApiError> {
    let last = conversation.messages.last();
    let content = last.and_then(|message| message["content"].as_str());
    let content = content.unwrap_or_default();
    let trimmed = content.trim();
    let refused = |message: &str| invalid("continue_final_message", message);
    if trimmed.is_empty() {
        return Err(refused("the last message has no text"));
    }
    let after = &content[content.find(trimmed).unwrap_or(0)..];
    // Words of the template, such as those of its end token, are not the message.
    let ends = request_spans(&rendered.text).into_iter().rev().find_map(|span| {
        let shown = &rendered.as_str()[span.clone()];
        let start = shown.rfind(trimmed)?;
        let kept = if shown[start..].starts_with(after) { after } else { trimmed };
        Some(span.start + start + kept.len())
    });
    ends.ok_or_else(|| refused("the template does not show the last message"))
}

/// Returns the longest ranges of a prompt without a byte of the template, in order.
fn request_spans(text: &Text) -> Vec<Range<usize>> {
    let mut spans: Vec<Range<usize>> = Vec::new();
    for Mark { range, .. } in text.marks() {
        match spans.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => spans.push(range.clone()),
        }
    }
    spans
}

/// Converts a message for templates.
///
/// # Errors
/// 422 at the first invalid value.
fn message(at: usize, message: ChatMessage) -> Result<Value, ApiError> {
    let path = |field: &str| format!("messages[{at}].{field}");
    let role = match message.role {
        // Few templates know the name `developer`, which replaced `system` at OpenAI.
        Role::System | Role::Developer => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    let is_assistant = message.role == Role::Assistant;
    let only = |there: bool, holder: bool, field: &str| {
        if there && !holder {
            let message = format!("a message of role {role} has none");
            return Err(invalid(path(field), message));
        }
        Ok(())
    };
    only(message.tool_calls.is_some(), is_assistant, "tool_calls")?;
    only(message.refusal.is_some(), is_assistant, "refusal")?;
    only(message.reasoning_content.is_some(), is_assistant, "reasoning_content")?;
    only(message.tool_call_id.is_some(), message.role == Role::Tool, "tool_call_id")?;
    let calls = message.tool_calls.unwrap_or_default();
    let content = message.content.map(|content| text(content, is_assistant, &path("content")));
    let content = content.transpose()?.or(message.refusal);
    let mut fields = Map::new();
    fields.insert("role".to_owned(), role.into());
    match content {
        Some(content) => fields.insert("content".to_owned(), content.into()),
        None if !calls.is_empty() => fields.insert("content".to_owned(), "".into()),
        None => return Err(invalid(path("content"), "missing")),
    };
    for (name, value) in [
        ("name", message.name),
        ("tool_call_id", message.tool_call_id),
        ("reasoning_content", message.reasoning_content),
    ] {
        fields.extend(value.map(|value| (name.to_owned(), value.into())));
    }
    if !calls.is_empty() {
        let call = |(index, call)| tool_call(&path(&format!("tool_calls[{index}]")), &call);
        let calls: Result<Vec<Value>, ApiError> = calls.into_iter().enumerate().map(call).collect();
        fields.insert("tool_calls".to_owned(), calls?.into());
    }
    Ok(Value::Object(fields))
}

/// Returns the text of a message, checking that each part has the field of its type.
fn text(content: ChatContent, is_assistant: bool, path: &str) -> Result<String, ApiError> {
    if let ChatContent::Parts(parts) = &content {
        for (at, part) in parts.iter().enumerate() {
            let (own, other, field) = match part.kind {
                super::types::PartKind::Text => (&part.text, &part.refusal, "text"),
                super::types::PartKind::Refusal => (&part.refusal, &part.text, "refusal"),
            };
            if own.is_none() || other.is_some() {
                let message = format!("a part of type {field} has a {field} and no more");
                return Err(invalid(format!("{path}[{at}]"), message));
            }
            if part.kind == super::types::PartKind::Refusal && !is_assistant {
                return Err(invalid(format!("{path}[{at}]"), "only an assistant refuses"));
            }
        }
    }
    Ok(content.into_text())
}

/// Converts a tool call for templates, which render its arguments as an object and not as text.
fn tool_call(path: &str, call: &ToolCall) -> Result<Value, ApiError> {
    let given = call.function.arguments.trim();
    let arguments: Map<String, Value> = match given {
        "" => Map::new(),
        _ => serde_json::from_str(given).map_err(|error| {
            let path = format!("{path}.function.arguments");
            invalid(&path, format!("no JSON object: {error}"))
        })?,
    };
    Ok(json!({
        "id": call.id,
        "type": "function",
        "function": {"name": call.function.name, "arguments": arguments},
    }))
}

#[cfg(test)]
mod tests {
    use chat::ChatTemplate;

    use super::*;

    const CHATML: &str = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}\
                          <|im_end|>\n{% endfor %}";
    const TRIMMING: &str = "{% for m in messages %}[{{ m.role }}]\n{{ m.content | trim }}\n\
                            {% endfor %}";

    /// The prompt up to the end of the last message.
    fn continued(template: &str, content: &str) -> String {
        let sources = vec![("default".to_owned(), template.to_owned())];
        let template = ChatTemplate::new(sources, Vec::new()).expect("it parses");
        let conversation = Conversation {
            messages: vec![
                json!({"role": "user", "content": "Go on: the end."}),
                json!({"role": "assistant", "content": content}),
            ],
            tools: None,
            documents: None,
            add_generation_prompt: false,
            kwargs: Map::new(),
            now: None,
        };
        let rendered = template.render(&conversation).expect("it renders");
        let end = end_of_last(&rendered, &conversation).expect("it shows the message");
        rendered.as_str()[..end].to_owned()
    }

    #[test]
    fn continued_message_does_not_end_within_the_end_token() {
        for content in ["one two", "end", "i", "m", "im_end", "<|im_end|>", "a>b>", "one two \n"] {
            let prompt = continued(CHATML, content);
            let expected = format!("<|im_start|>assistant\n{content}");
            assert!(prompt.ends_with(&expected), "{content:?}: {prompt:?}");
        }
    }

    #[test]
    fn continued_message_has_no_line_break_of_the_template() {
        for content in ["end", "end\n", " end \n"] {
            let prompt = continued(TRIMMING, content);
            assert!(prompt.ends_with("[assistant]\nend"), "{content:?}: {prompt:?}");
        }
    }
}

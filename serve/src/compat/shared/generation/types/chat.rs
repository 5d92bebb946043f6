//! Requests of `POST /v1/chat/completions`.

use openapi::object;
use openapi::unused::{Harmless, Unused};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::generation::{generation_request, request_with, unused_by_both};
use super::{Tool, ToolCall, ToolChoice};
use crate::compat::shared::text_or_list::{self, TextOrList};

generation_request! {
    /// A conversation to continue. Fields of OpenAI's, vLLM's and SGLang's interfaces that do not
    /// change the answer (`user`, `store`, `metadata`, …) are accepted too; others are refused.
    #[derive(Default)]
    pub(crate) struct ChatRequest {
        /// Name of a model or an adapter, as listed by `GET /v1/models`.
        #[schema(example = "judge")]
        pub(crate) model: String,
        /// The conversation so far.
        #[schema(min_items = 1)]
        pub(crate) messages: Vec<ChatMessage>,
        /// The newer name of `max_tokens`.
        #[serde(default, deserialize_with = "openapi::integer::read_option",
            skip_serializing_if = "Option::is_none")]
        #[schema(minimum = 1)]
        pub(crate) max_completion_tokens: Option<u64>,
        /// Whether to return log-probabilities of the generated tokens.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) logprobs: Option<bool>,
        /// Number of most probable tokens to list per position, at most 20.
        #[serde(default, deserialize_with = "openapi::integer::read_option",
            skip_serializing_if = "Option::is_none")]
        #[schema(maximum = 20)]
        pub(crate) top_logprobs: Option<u64>,
        /// Tools that the model may call.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) tools: Option<Vec<Tool>>,
        /// Whether the model calls tools.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) tool_choice: Option<ToolChoice>,
        /// Whether more than one call is returned; true by default.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) parallel_tool_calls: Option<bool>,
        /// Whether the prompt ends with the start of an assistant turn; true by default.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) add_generation_prompt: Option<bool>,
        /// Whether the prompt ends within the last message, which is then continued.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) continue_final_message: Option<bool>,
        /// Variables of the chat template, such as `enable_thinking`.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<Object>)]
        pub(crate) chat_template_kwargs: Option<Map<String, Value>>,
    }
}

object!(ChatRequest, but unused_by_both![
    Unused("prediction", Every),
    Unused("separate_reasoning", Null),
    Unused("stream_reasoning", Null),
    Unused("include_reasoning", True),
    Unused("modalities", Harmless::Text),
    Unused("audio", Null),
    Unused("functions", Empty),
    Unused("function_call", Null),
    Unused("moderation", Null),
    Unused("reasoning_effort", Null),
    Unused("verbosity", Null),
    Unused("web_search_options", Null),
    // A template is code, and requests cannot supply code.
    Unused("chat_template", Null),
    Unused("documents", Empty),
    Unused("echo", False),
    Unused("add_special_tokens", False),
    Unused("mm_processor_kwargs", Null),
    Unused("prompt_logprobs", Null),
]);

/// A turn of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct ChatMessage {
    /// Role of the speaker.
    pub(crate) role: Role,
    /// Content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<ChatContent>,
    /// Name of a participant, for templates that render it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// Tool calls of the assistant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool_calls: Option<Vec<ToolCall>>,
    /// Id of the call whose output this is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool_call_id: Option<String>,
    /// Refusal of the assistant, instead of content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refusal: Option<String>,
    /// Reasoning of the assistant, for templates that render it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reasoning_content: Option<String>,
}

object!(
    ChatMessage,
    but & [
        Unused("annotations", Harmless::Every),
        Unused("audio", Harmless::Null),
        Unused("function_call", Harmless::Null),
        Unused("reasoning", Harmless::Null),
    ]
);

/// The role of a speaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    /// The system prompt.
    System,
    /// The newer name of `system`; rendered as such.
    Developer,
    /// The user.
    User,
    /// The assistant.
    Assistant,
    /// A tool that was called.
    Tool,
}

/// Content: text, or text parts, joined by newlines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum ChatContent {
    /// Plain text.
    Text(String),
    /// Parts in order.
    Parts(Vec<ContentPart>),
}

impl ChatContent {
    /// Returns the content as one text.
    pub(crate) fn into_text(self) -> String {
        match self {
            ChatContent::Text(text) => text,
            ChatContent::Parts(parts) => {
                let texts = parts.into_iter().filter_map(|part| part.text.or(part.refusal));
                texts.collect::<Vec<_>>().join("\n")
            }
        }
    }
}

impl<'de> Deserialize<'de> for ChatContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match text_or_list::read(deserializer, "a text or a list of parts")? {
            TextOrList::Text(text) => ChatContent::Text(text),
            TextOrList::List(parts) => ChatContent::Parts(parts),
        })
    }
}

/// A part of a content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct ContentPart {
    /// Part type.
    #[serde(rename = "type")]
    pub(crate) kind: PartKind,
    /// Text of a part of type `text`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    /// Text of a part of type `refusal`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refusal: Option<String>,
}

object!(
    ContentPart,
    but & [
        Unused("prompt_cache_breakpoint", Harmless::Every),
        Unused("image_url", Harmless::Null),
        Unused("input_audio", Harmless::Null),
        Unused("video_url", Harmless::Null),
        Unused("file", Harmless::Null),
    ]
);

/// The part types of text models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PartKind {
    /// Text.
    Text,
    /// A refusal of the assistant, instead of content.
    Refusal,
}

impl<'de> Deserialize<'de> for PartKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match String::deserialize(deserializer)?.as_str() {
            "text" => Ok(PartKind::Text),
            "refusal" => Ok(PartKind::Refusal),
            other => {
                let shown: String = other.chars().take(64).collect();
                let message =
                    format!("parts of type {shown:?} are not supported: models read text");
                Err(D::Error::custom(message))
            }
        }
    }
}

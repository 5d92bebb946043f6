//! `POST /v1/chat/completions`: what a client asks.

use std::fmt;

use openapi::object;
use openapi::unused::{Harmless, Unused};
use serde::de::value::SeqAccessDeserializer;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::generation::{generation_request, request_with, unused_by_both};
use super::{Tool, ToolCall, ToolChoice};

generation_request! {
    /// A conversation to continue. Fields of OpenAI's, vLLM's and SGLang's interfaces that do not
    /// change the answer (`user`, `store`, `metadata`, …) are accepted too; others are refused.
    pub(crate) struct ChatRequest {
        /// Name of a model or an adapter, as listed by `GET /v1/models`.
        #[schema(example = "judge")]
        pub(crate) model: String,
        /// The conversation so far.
        #[schema(min_items = 1)]
        pub(crate) messages: Vec<ChatMessage>,
        /// As `max_tokens`, in newer words.
        #[serde(default, deserialize_with = "openapi::whole::read_option",
            skip_serializing_if = "Option::is_none")]
        #[schema(minimum = 1)]
        pub(crate) max_completion_tokens: Option<u64>,
        /// Whether the reply has the log-probabilities of its tokens.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) logprobs: Option<bool>,
        /// How many of the most likely tokens are listed at each position, at most 20.
        #[serde(default, deserialize_with = "openapi::whole::read_option",
            skip_serializing_if = "Option::is_none")]
        #[schema(maximum = 20)]
        pub(crate) top_logprobs: Option<u64>,
        /// Functions that the model may call.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) tools: Option<Vec<Tool>>,
        /// Whether it calls one.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) tool_choice: Option<ToolChoice>,
        /// Whether more than one call is given back; so unless false.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) parallel_tool_calls: Option<bool>,
        /// Whether the prompt ends where the assistant is to speak; so unless false.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) add_generation_prompt: Option<bool>,
        /// Whether the prompt ends within the last message, which is then continued.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) continue_final_message: Option<bool>,
        /// The template's own switches, such as `enable_thinking`.
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
    // A template is code, and code does not come from requests.
    Unused("chat_template", Null),
    Unused("documents", Empty),
    Unused("echo", False),
    Unused("add_special_tokens", False),
    Unused("mm_processor_kwargs", Null),
    Unused("prompt_logprobs", Null),
]);

/// One turn of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct ChatMessage {
    /// Who speaks.
    pub(crate) role: Role,
    /// What is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<ChatContent>,
    /// A participant's name, for templates that show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// Calls that the assistant made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool_calls: Option<Vec<ToolCall>>,
    /// The call that a tool answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool_call_id: Option<String>,
    /// What the assistant said instead of content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refusal: Option<String>,
    /// What the assistant thought, for templates that show it.
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

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    /// Rules of the conversation.
    System,
    /// The same in newer words; rendered as `system`.
    Developer,
    /// A person.
    User,
    /// The model.
    Assistant,
    /// A function that the model called.
    Tool,
}

/// What is said: a text, or texts in parts, which are joined by line ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum ChatContent {
    /// Plain text.
    Text(String),
    /// Parts in order.
    Parts(Vec<ContentPart>),
}

impl ChatContent {
    /// The whole text.
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
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = ChatContent;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of parts")
    }

    fn visit_str<E>(self, text: &str) -> Result<ChatContent, E> {
        Ok(ChatContent::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<ChatContent, E> {
        Ok(ChatContent::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<ChatContent, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(seq)).map(ChatContent::Parts)
    }
}

/// A part of what is said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct ContentPart {
    /// What kind of part it is.
    #[serde(rename = "type")]
    pub(crate) kind: PartKind,
    /// The text of a part of type `text`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    /// The text of a part of type `refusal`.
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

/// The kinds of parts that a model which reads text can be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PartKind {
    /// Text.
    Text,
    /// What an assistant said instead of content.
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

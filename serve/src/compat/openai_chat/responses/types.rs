//! Requests and replies of `POST /v1/responses`, as `openai` 3.52.0 for Python has them.

use std::collections::BTreeMap;

use openapi::object;
use openapi::unused::{Harmless, Unused};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::compat::shared::generation::types::{
    GenerationExtension, ResponseKind, Role, ToolKind, Urgency,
};
use crate::compat::shared::text_or_list::{self, TextOrList};

/// An input to answer. Fields of OpenAI's interface that do not change the answer (`user`,
/// `service_tier`, …) are accepted too; others are refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct ResponsesRequest {
    /// Name of a model or an adapter, as listed by `GET /v1/models`.
    #[schema(example = "judge")]
    pub(crate) model: String,
    /// The conversation so far: the user's text, or items in order.
    pub(crate) input: ResponsesInput,
    /// A system prompt before the input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) instructions: Option<String>,
    /// Most generated tokens, at least 1; lowered to the context length. By default a reply may
    /// fill the context.
    #[serde(
        default,
        deserialize_with = "openapi::integer::read_option",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(minimum = 1)]
    pub(crate) max_output_tokens: Option<u64>,
    /// Temperature; 0 is greedy, 1 the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 2)]
    pub(crate) temperature: Option<f64>,
    /// Cumulative probability of the most probable tokens to sample from.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 1)]
    pub(crate) top_p: Option<f64>,
    /// Options of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<ResponsesText>,
    /// Functions that the model may call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tools: Option<Vec<ResponsesTool>>,
    /// Whether the model calls functions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool_choice: Option<ResponsesToolChoice>,
    /// Whether more than one call is returned; true by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parallel_tool_calls: Option<bool>,
    /// Whether to stream the reply as server-sent events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stream: Option<bool>,
    /// Returned with the reply: at most 16 texts of 512 characters, under keys of 64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) metadata: Option<BTreeMap<String, String>>,
    /// Whether to store the reply: `true` is refused, since replies are not stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) store: Option<bool>,
    /// Refused unless it is null, since replies are not stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) previous_response_id: Option<String>,
    /// Seed of the sampler, as of a chat; 0 by default.
    #[serde(
        default,
        deserialize_with = "openapi::integer::read_signed",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) seed: Option<i64>,
    /// `interactive` or `batch`; or a number, of which 0 and below are interactive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) priority: Option<Urgency>,
    /// Cached prefixes are shared only among requests with the same salt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cache_salt: Option<String>,
}

object!(
    ResponsesRequest,
    but & [
        // Bookkeeping of the client or the provider.
        Unused("user", Harmless::Every),
        Unused("safety_identifier", Harmless::Every),
        Unused("service_tier", Harmless::Every),
        Unused("prompt_cache_key", Harmless::Every),
        Unused("prompt_cache_options", Harmless::Every),
        Unused("prompt_cache_retention", Harmless::Every),
        Unused("stream_options", Harmless::Every),
        // A limit of built-in tools, of which there are none.
        Unused("max_tool_calls", Harmless::Every),
        Unused("background", Harmless::False),
        Unused("context_management", Harmless::Empty),
        Unused("conversation", Harmless::Null),
        Unused("include", Harmless::Empty),
        Unused("moderation", Harmless::Null),
        Unused("prompt", Harmless::Null),
        Unused("reasoning", Harmless::Empty),
        Unused("top_logprobs", Harmless::Null),
        // An input that is too long is refused.
        Unused("truncation", Harmless::Exactly("disabled")),
    ]
);

/// The conversation so far.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum ResponsesInput {
    /// The user's text.
    Text(String),
    /// Messages, calls of functions and their outputs.
    Items(Vec<ResponsesItem>),
}

impl<'de> Deserialize<'de> for ResponsesInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match text_or_list::read(deserializer, "a text or a list of items")? {
            TextOrList::Text(text) => Self::Text(text),
            TextOrList::List(items) => Self::Items(items),
        })
    }
}

/// A message, a call of a function or its output.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields, default)]
pub(crate) struct ResponsesItem {
    /// Item type; a message by default.
    #[serde(rename = "type")]
    pub(crate) kind: ResponsesItemType,
    /// Role of a message: `user`, `assistant`, `system` or `developer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) role: Option<Role>,
    /// Content of a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<ResponsesContent>,
    /// Id of a call, and of its output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) call_id: Option<String>,
    /// Name of the called function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// Arguments of a call: a JSON object as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) arguments: Option<String>,
    /// Output of a function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) output: Option<ResponsesContent>,
}

object!(
    ResponsesItem,
    but & [
        Unused("id", Harmless::Every),
        Unused("status", Harmless::Every),
        Unused("phase", Harmless::Every),
    ]
);

/// The type of an item.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ResponsesItemType {
    /// A turn of a conversation.
    #[default]
    Message,
    /// A call of a function.
    FunctionCall,
    /// The output of a function.
    FunctionCallOutput,
}

/// Text, or text parts, joined by newlines.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum ResponsesContent {
    /// Text.
    Text(String),
    /// Parts in order.
    Parts(Vec<ResponsesPart>),
}

impl<'de> Deserialize<'de> for ResponsesContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match text_or_list::read(deserializer, "a text or a list of parts")? {
            TextOrList::Text(text) => Self::Text(text),
            TextOrList::List(parts) => Self::Parts(parts),
        })
    }
}

/// A part of a content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct ResponsesPart {
    /// Part type.
    #[serde(rename = "type")]
    pub(crate) kind: ResponsesPartType,
    /// Text of `input_text` and `output_text`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    /// Text of `refusal`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refusal: Option<String>,
}

object!(
    ResponsesPart,
    but & [
        Unused("annotations", Harmless::Every),
        Unused("logprobs", Harmless::Every),
        Unused("prompt_cache_breakpoint", Harmless::Every),
    ]
);

/// The part types of text models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ResponsesPartType {
    /// Text.
    InputText,
    /// Text of the assistant.
    OutputText,
    /// A refusal by the assistant.
    Refusal,
}

/// Options of the text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct ResponsesText {
    /// Format of the text: free, a JSON object, or JSON of a schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) format: Option<ResponsesTextFormat>,
}

object!(ResponsesText, but & [Unused("verbosity", Harmless::Exactly("medium"))]);

/// The format of the text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct ResponsesTextFormat {
    /// Type: free text, a JSON object, or JSON of a schema.
    #[serde(rename = "type")]
    pub(crate) kind: ResponseKind,
    /// Of `json_schema`: name, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// Of `json_schema`: description, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    /// Of `json_schema`: the JSON Schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub(crate) schema: Option<Map<String, Value>>,
    /// Accepted without effect: schemas are always enforced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) strict: Option<bool>,
}

object!(ResponsesTextFormat);

/// A function that the model may call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct ResponsesTool {
    /// Tool type: `function`.
    #[serde(rename = "type")]
    pub(crate) kind: ToolKind,
    /// Name: 1 to 64 letters, digits, `_`, `-` or `.`.
    pub(crate) name: String,
    /// Description for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    /// JSON Schema of its arguments; without it the function has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub(crate) parameters: Option<Map<String, Value>>,
    /// Accepted without effect: the schema of a required call is always enforced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) strict: Option<bool>,
}

object!(ResponsesTool);

/// Whether the model calls functions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(
    untagged,
    expecting = "\"none\", \"auto\", \"required\" or {\"type\": \"function\", \"name\": …}"
)]
pub(crate) enum ResponsesToolChoice {
    /// By a rule.
    Rule(ResponsesToolRule),
    /// This function.
    Function(ResponsesNamedTool),
}

/// A rule of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ResponsesToolRule {
    /// No calls: the prompt does not contain the functions.
    None,
    /// The model decides.
    Auto,
    /// At least one call, of any function.
    Required,
}

/// A function by its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct ResponsesNamedTool {
    /// Tool type: `function`.
    #[serde(rename = "type")]
    pub(crate) kind: ToolKind,
    /// Name.
    pub(crate) name: String,
}

object!(ResponsesNamedTool);

/// A reply, with the settings of its request.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct ResponsesReply {
    /// Id of this reply.
    pub(crate) id: String,
    /// Always `response`.
    pub(crate) object: String,
    /// Unix time in seconds.
    pub(crate) created_at: u64,
    /// Whether the text is whole.
    pub(crate) status: ResponsesStatus,
    /// Always null: a failure is an error reply.
    pub(crate) error: Option<String>,
    /// Why the text is not whole.
    pub(crate) incomplete_details: Option<IncompleteDetails>,
    /// The requested model.
    pub(crate) model: String,
    /// The assistant's message, and calls of functions.
    pub(crate) output: Vec<ResponsesOutput>,
    /// Token usage; null in the first events of a stream.
    pub(crate) usage: Option<ResponsesUsage>,
    /// As in the request.
    pub(crate) instructions: Option<String>,
    /// As in the request.
    pub(crate) max_output_tokens: Option<u64>,
    /// As in the request, or 1.
    pub(crate) temperature: f64,
    /// As in the request, or 1.
    pub(crate) top_p: f64,
    /// As in the request.
    pub(crate) text: ResponsesText,
    /// As in the request.
    pub(crate) tools: Vec<ResponsesTool>,
    /// As in the request, or `auto`.
    pub(crate) tool_choice: ResponsesToolChoice,
    /// As in the request, or true.
    pub(crate) parallel_tool_calls: bool,
    /// As in the request.
    pub(crate) metadata: BTreeMap<String, String>,
    /// Always false: replies are not stored.
    pub(crate) store: bool,
    /// Extension fields of this server, together with the usage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tribunal: Option<GenerationExtension>,
}

/// The state of a reply or of an item of its output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ResponsesStatus {
    /// It is generated; only in events of a stream.
    InProgress,
    /// It is whole.
    Completed,
    /// It was cut at the most tokens.
    Incomplete,
}

/// Why a text is not whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct IncompleteDetails {
    /// Always `max_output_tokens`: that limit, or the context length.
    pub(crate) reason: String,
}

/// An item of the output.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum ResponsesOutput {
    /// The assistant's message.
    Message {
        /// Id of the item.
        id: String,
        /// Whether the text is whole.
        status: ResponsesStatus,
        /// Always `assistant`.
        role: String,
        /// One part with the text; none at the start of a stream.
        content: Vec<ResponsesOutputText>,
    },
    /// A call of a function.
    FunctionCall {
        /// Id of the item.
        id: String,
        /// Always `completed`, but for the first event of a call.
        status: ResponsesStatus,
        /// Call id, to which the function's output refers.
        call_id: String,
        /// Name of the function.
        name: String,
        /// Arguments: a JSON object as text.
        arguments: String,
    },
}

/// The text of a message.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct ResponsesOutputText {
    /// Always `output_text`.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// The text.
    pub(crate) text: String,
    /// Always empty.
    #[schema(value_type = Vec<Object>)]
    pub(crate) annotations: [Value; 0],
}

/// Token usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct ResponsesUsage {
    /// Tokens of the prompt.
    pub(crate) input_tokens: u64,
    /// Breakdown of the input tokens.
    pub(crate) input_tokens_details: ResponsesInputTokens,
    /// Generated tokens.
    pub(crate) output_tokens: u64,
    /// Breakdown of the output tokens.
    pub(crate) output_tokens_details: ResponsesOutputTokens,
    /// Input and output together.
    pub(crate) total_tokens: u64,
}

/// Breakdown of input tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct ResponsesInputTokens {
    /// Tokens in the prefix cache before the request.
    pub(crate) cached_tokens: u64,
    /// Computed and added to the prefix cache.
    pub(crate) cache_write_tokens: u64,
}

/// Breakdown of output tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct ResponsesOutputTokens {
    /// Always 0: a model's reasoning is part of its text.
    pub(crate) reasoning_tokens: u64,
}

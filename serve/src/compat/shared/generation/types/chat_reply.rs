//! Replies of `POST /v1/chat/completions`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{FunctionCall, GenerationExtension, GenerationUsage, ToolCall, ToolKind};

/// Continuations of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct ChatResponse {
    /// Id of this reply.
    pub(crate) id: String,
    /// Always `chat.completion`.
    pub(crate) object: String,
    /// Unix time in seconds.
    pub(crate) created: u64,
    /// The requested model.
    pub(crate) model: String,
    /// One choice per continuation.
    pub(crate) choices: Vec<ChatChoice>,
    /// Token usage.
    pub(crate) usage: GenerationUsage,
    /// Derived from the digests of model and adapter, and from the weights revision of a model in
    /// training.
    pub(crate) system_fingerprint: String,
    /// Extension fields of this server.
    pub(crate) tribunal: GenerationExtension,
}

/// A continuation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct ChatChoice {
    /// Index of the choice.
    pub(crate) index: u64,
    /// The assistant's message.
    pub(crate) message: ReplyMessage,
    /// Log-probabilities, if requested.
    pub(crate) logprobs: Option<ChatLogprobs>,
    /// `stop`, `length` or `tool_calls`.
    pub(crate) finish_reason: String,
}

/// A message of the assistant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct ReplyMessage {
    /// Always `assistant`.
    pub(crate) role: String,
    /// Text; null if there are only tool calls.
    pub(crate) content: Option<String>,
    /// Always null: a refusal by the model is text.
    pub(crate) refusal: Option<String>,
    /// Tool calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tool_calls: Option<Vec<ToolCall>>,
}

/// Log-probabilities of a continuation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct ChatLogprobs {
    /// One entry per generated token.
    pub(crate) content: Vec<TokenLogprob>,
    /// Always null.
    pub(crate) refusal: Option<Vec<TokenLogprob>>,
}

/// A token with its log-probability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct TokenLogprob {
    /// Text; bytes that are not valid text by themselves as `bytes:\xe2\x82`.
    pub(crate) token: String,
    /// Log-probability in nats, before temperature, penalties and constraints.
    pub(crate) logprob: f32,
    /// Bytes of the text.
    pub(crate) bytes: Option<Vec<u8>>,
    /// The most probable tokens at its position, in order.
    pub(crate) top_logprobs: Vec<TopLogprob>,
}

/// An alternative token.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct TopLogprob {
    /// Text.
    pub(crate) token: String,
    /// Log-probability in nats.
    pub(crate) logprob: f32,
    /// Bytes of the text.
    pub(crate) bytes: Option<Vec<u8>>,
}

/// A chunk of a stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct ChatChunk {
    /// Id of this reply, the same in all its chunks.
    pub(crate) id: String,
    /// Always `chat.completion.chunk`.
    pub(crate) object: String,
    /// Unix time in seconds.
    pub(crate) created: u64,
    /// The requested model.
    pub(crate) model: String,
    /// Increments; empty in the chunk with the usage.
    pub(crate) choices: Vec<ChunkChoice>,
    /// Derived from the digests of model and adapter, and from the weights revision of a model in
    /// training.
    pub(crate) system_fingerprint: String,
    /// Token usage, in the last chunk if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) usage: Option<GenerationUsage>,
    /// Extension fields of this server, together with the usage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tribunal: Option<GenerationExtension>,
}

/// An increment of a continuation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct ChunkChoice {
    /// Index of the choice.
    pub(crate) index: u64,
    /// The increment.
    pub(crate) delta: Delta,
    /// Log-probabilities of the tokens whose text is final.
    pub(crate) logprobs: Option<ChatLogprobs>,
    /// Reason of the end, in the last chunk.
    pub(crate) finish_reason: Option<String>,
}

/// An increment of a message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Delta {
    /// `assistant`, in the first chunk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) role: Option<String>,
    /// Further text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<String>,
    /// Complete tool calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tool_calls: Option<Vec<DeltaToolCall>>,
}

/// A tool call in a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct DeltaToolCall {
    /// Index of the call.
    pub(crate) index: u64,
    /// Call id, to which the tool's output refers.
    pub(crate) id: String,
    /// Always `function`.
    #[serde(rename = "type")]
    pub(crate) kind: ToolKind,
    /// The function and its arguments.
    pub(crate) function: FunctionCall,
}

//! `POST /v1/chat/completions`: what a client gets.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{FunctionCall, GenerationExtension, GenerationUsage, ToolCall, ToolKind};

/// The continuations of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct ChatResponse {
    /// Of this reply.
    pub(crate) id: String,
    /// Always `chat.completion`.
    pub(crate) object: String,
    /// Unix time in seconds.
    pub(crate) created: u64,
    /// The model that was asked for.
    pub(crate) model: String,
    /// One for each of `n`, in order.
    pub(crate) choices: Vec<ChatChoice>,
    /// Tokens.
    pub(crate) usage: GenerationUsage,
    /// Follows from the digests of model and adapter, and from the revision of a model in training.
    pub(crate) system_fingerprint: String,
    /// What this server adds.
    pub(crate) tribunal: GenerationExtension,
}

/// One continuation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct ChatChoice {
    /// Position among the choices.
    pub(crate) index: u64,
    /// What the model said.
    pub(crate) message: ReplyMessage,
    /// Log-probabilities, where they were asked for.
    pub(crate) logprobs: Option<ChatLogprobs>,
    /// `stop`, `length` or `tool_calls`.
    pub(crate) finish_reason: String,
}

/// What the model said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct ReplyMessage {
    /// Always `assistant`.
    pub(crate) role: String,
    /// The text; null where there are only calls.
    pub(crate) content: Option<String>,
    /// Always null: what a model says in refusal is text.
    pub(crate) refusal: Option<String>,
    /// The calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tool_calls: Option<Vec<ToolCall>>,
}

/// Log-probabilities of a continuation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct ChatLogprobs {
    /// One entry for each generated token.
    pub(crate) content: Vec<TokenLogprob>,
    /// Always null.
    pub(crate) refusal: Option<Vec<TokenLogprob>>,
}

/// A token with its log-probability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct TokenLogprob {
    /// Its text; bytes that are no text by themselves as `bytes:\xe2\x82`.
    pub(crate) token: String,
    /// In nats, before temperature, penalties and constraints.
    pub(crate) logprob: f32,
    /// The bytes of its text.
    pub(crate) bytes: Option<Vec<u8>>,
    /// The most likely tokens at its place, most likely first.
    pub(crate) top_logprobs: Vec<TopLogprob>,
}

/// A token that might have come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct TopLogprob {
    /// Its text.
    pub(crate) token: String,
    /// In nats.
    pub(crate) logprob: f32,
    /// The bytes of its text.
    pub(crate) bytes: Option<Vec<u8>>,
}

/// A piece of a stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct ChatChunk {
    /// Of this reply; the same in all its chunks.
    pub(crate) id: String,
    /// Always `chat.completion.chunk`.
    pub(crate) object: String,
    /// Unix time in seconds.
    pub(crate) created: u64,
    /// The model that was asked for.
    pub(crate) model: String,
    /// What is new; none in the chunk that has the usage.
    pub(crate) choices: Vec<ChunkChoice>,
    /// Follows from the digests of model and adapter, and from the revision of a model in training.
    pub(crate) system_fingerprint: String,
    /// Tokens, in the last chunk where they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) usage: Option<GenerationUsage>,
    /// What this server adds, beside the usage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tribunal: Option<GenerationExtension>,
}

/// What is new of one continuation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct ChunkChoice {
    /// Position among the choices.
    pub(crate) index: u64,
    /// What is new.
    pub(crate) delta: Delta,
    /// Log-probabilities of the tokens whose text has become certain.
    pub(crate) logprobs: Option<ChatLogprobs>,
    /// Why it ended, in its last chunk.
    pub(crate) finish_reason: Option<String>,
}

/// What is new of a message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Delta {
    /// `assistant`, in the first chunk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) role: Option<String>,
    /// More text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<String>,
    /// Calls, each whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tool_calls: Option<Vec<DeltaToolCall>>,
}

/// A call in a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct DeltaToolCall {
    /// Position among the calls.
    pub(crate) index: u64,
    /// What the tool's answer refers to.
    pub(crate) id: String,
    /// Always `function`.
    #[serde(rename = "type")]
    pub(crate) kind: ToolKind,
    /// The function and what it is given.
    pub(crate) function: FunctionCall,
}

//! `POST /v1/chat/completions`: what a client gets.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::chat_tools::{FunctionCall, ToolCall, ToolKind};
use crate::{GenerationExtension, GenerationUsage};

/// The continuations of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChatResponse {
    /// Of this reply.
    pub id: String,
    /// Always `chat.completion`.
    pub object: String,
    /// Unix time in seconds.
    pub created: u64,
    /// The model that was asked for.
    pub model: String,
    /// One for each of `n`, in order.
    pub choices: Vec<ChatChoice>,
    /// Tokens.
    pub usage: GenerationUsage,
    /// Follows from the digests of model and adapter, and from the revision of a model in training.
    pub system_fingerprint: String,
    /// What this server adds.
    pub tribunal: GenerationExtension,
}

/// One continuation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChatChoice {
    /// Position among the choices.
    pub index: u64,
    /// What the model said.
    pub message: ReplyMessage,
    /// Log-probabilities, where they were asked for.
    pub logprobs: Option<ChatLogprobs>,
    /// `stop`, `length` or `tool_calls`.
    pub finish_reason: String,
}

/// What the model said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReplyMessage {
    /// Always `assistant`.
    pub role: String,
    /// The text; null where there are only calls.
    pub content: Option<String>,
    /// Always null: what a model says in refusal is text.
    pub refusal: Option<String>,
    /// The calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<Vec<ToolCall>>,
}

/// Log-probabilities of a continuation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChatLogprobs {
    /// One entry for each generated token.
    pub content: Vec<TokenLogprob>,
    /// Always null.
    pub refusal: Option<Vec<TokenLogprob>>,
}

/// A token with its log-probability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TokenLogprob {
    /// Its text; bytes that are no text by themselves as `bytes:\xe2\x82`.
    pub token: String,
    /// In nats, before temperature, penalties and constraints.
    pub logprob: f32,
    /// The bytes of its text.
    pub bytes: Option<Vec<u8>>,
    /// The most likely tokens at its place, most likely first.
    pub top_logprobs: Vec<TopLogprob>,
}

/// A token that might have come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TopLogprob {
    /// Its text.
    pub token: String,
    /// In nats.
    pub logprob: f32,
    /// The bytes of its text.
    pub bytes: Option<Vec<u8>>,
}

/// A piece of a stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChatChunk {
    /// Of this reply; the same in all its chunks.
    pub id: String,
    /// Always `chat.completion.chunk`.
    pub object: String,
    /// Unix time in seconds.
    pub created: u64,
    /// The model that was asked for.
    pub model: String,
    /// What is new; none in the chunk that has the usage.
    pub choices: Vec<ChunkChoice>,
    /// Follows from the digests of model and adapter, and from the revision of a model in training.
    pub system_fingerprint: String,
    /// Tokens, in the last chunk where they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<GenerationUsage>,
    /// What this server adds, beside the usage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tribunal: Option<GenerationExtension>,
}

/// What is new of one continuation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChunkChoice {
    /// Position among the choices.
    pub index: u64,
    /// What is new.
    pub delta: Delta,
    /// Log-probabilities of the tokens whose text has become certain.
    pub logprobs: Option<ChatLogprobs>,
    /// Why it ended, in its last chunk.
    pub finish_reason: Option<String>,
}

/// What is new of a message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Delta {
    /// `assistant`, in the first chunk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// More text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Calls, each whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<Vec<DeltaToolCall>>,
}

/// A call in a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeltaToolCall {
    /// Position among the calls.
    pub index: u64,
    /// What the tool's answer refers to.
    pub id: String,
    /// Always `function`.
    #[serde(rename = "type")]
    pub kind: ToolKind,
    /// The function and what it is given.
    pub function: FunctionCall,
}

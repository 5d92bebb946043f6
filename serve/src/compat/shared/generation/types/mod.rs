//! Requests and replies of `POST /v1/chat/completions` and `POST /v1/completions`.

mod chat;
mod chat_reply;
mod completions;
mod generation;
#[cfg(test)]
mod tests;
mod tools;

pub(crate) use chat::{ChatContent, ChatMessage, ChatRequest, PartKind, Role};
pub(crate) use chat_reply::{
    ChatChoice, ChatChunk, ChatLogprobs, ChatResponse, ChunkChoice, Delta, DeltaToolCall,
    ReplyMessage, TokenLogprob, TopLogprob,
};
pub(crate) use completions::{
    CompletionChoice, CompletionLogprobs, CompletionRequest, CompletionResponse, MAX_PROMPTS,
    Prompt, PromptLogprob,
};
pub(crate) use generation::{
    Generation, GenerationDigests, GenerationExtension, GenerationUsage, MAX_CONTINUATIONS,
    MAX_STOP_CHARS, MAX_STOPS, MAX_TOP_LOGPROBS, PromptTokensDetails, ResponseFormat, ResponseKind,
    SchemaFormat, StreamOptions, StructuredOutputs, Texts, Urgency, biases,
};
pub(crate) use tools::{FunctionCall, FunctionDefinition, Tool, ToolCall, ToolChoice, ToolKind};

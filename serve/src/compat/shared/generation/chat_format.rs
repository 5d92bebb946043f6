//! Replies and stream chunks of chats.

use std::sync::Arc;

use engine::{FinishReason, SampledToken, Tokenizer};

use super::chat::PreparedChat;
use super::continuation::{TextDelta, reason};
use super::logprobs;
use super::run::{Generated, ReplyFormat};
use super::tool_calls::{ToolCallParser, with_ids};
use super::types::{
    ChatChoice, ChatChunk, ChatLogprobs, ChatResponse, ChunkChoice, Delta, DeltaToolCall,
    GenerationExtension, GenerationUsage, ReplyMessage, ToolCall,
};
use crate::clock::unix_seconds;

/// Builds replies and stream chunks of a chat; holds back text that may be a tool call.
pub(crate) struct ChatFormat {
    id: String,
    request: String,
    created: u64,
    model: String,
    fingerprint: String,
    tokenizer: Arc<Tokenizer>,
    wants_logprobs: bool,
    functions: Vec<String>,
    choices: Vec<ChoiceState>,
}

/// A choice in progress.
struct ChoiceState {
    separator: ToolCallParser,
    /// Tokens whose text may be part of a tool call.
    tokens: Vec<SampledToken>,
}

impl ChatFormat {
    /// Creates the format of a request's replies.
    pub(crate) fn new(prepared: &PreparedChat, request: &str) -> ChatFormat {
        let held = |_| ChoiceState {
            separator: ToolCallParser::new(prepared.calling),
            tokens: Vec::new(),
        };
        let PreparedChat { prepared, functions, .. } = prepared;
        ChatFormat {
            id: format!("chatcmpl-{request}"),
            request: request.to_owned(),
            created: unix_seconds(),
            model: prepared.model.clone(),
            fingerprint: prepared.fingerprint(),
            tokenizer: prepared.served.host.tokenizer.clone(),
            wants_logprobs: prepared.settings.logprobs.is_some(),
            functions: functions.clone(),
            choices: (0..prepared.n).map(held).collect(),
        }
    }

    /// Builds the complete reply.
    pub(crate) fn whole(mut self, generated: Generated) -> ChatResponse {
        let mut choices = Vec::new();
        for (at, done) in generated.sequences.into_iter().enumerate() {
            let finish = done.finish.expect("all sequences are done");
            let before = self.choices[at].separator.push(done.text);
            let ended = self.ended(at, before, &finish);
            choices.push(ChatChoice {
                index: at as u64,
                message: ReplyMessage {
                    role: "assistant".to_owned(),
                    content: match (ended.text, &ended.calls) {
                        (text, Some(_)) if text.is_empty() => None,
                        (text, _) => Some(text),
                    },
                    refusal: None,
                    tool_calls: ended.calls,
                },
                logprobs: self.logprobs(&done.tokens),
                finish_reason: ended.reason.to_owned(),
            });
        }
        ChatResponse {
            id: self.id,
            object: "chat.completion".to_owned(),
            created: self.created,
            model: self.model,
            choices,
            usage: generated.usage,
            system_fingerprint: self.fingerprint,
            tribunal: generated.extension,
        }
    }

    /// Ends a choice: held-back text is released as text or tool calls.
    fn ended(&mut self, at: usize, mut text: String, finish: &FinishReason) -> Ended {
        let functions = &self.functions;
        let known = |name: &str| functions.iter().any(|function| function == name);
        let is_whole = *finish != FinishReason::Length;
        let separator = &mut self.choices[at].separator;
        let (rest, calls) = separator.finish(is_whole, known);
        text += &rest;
        if calls.is_empty() {
            return Ended { text, calls: None, reason: reason(finish) };
        }
        Ended { text, calls: Some(with_ids(calls, &self.request, at as u64)), reason: "tool_calls" }
    }

    fn logprobs(&self, tokens: &[SampledToken]) -> Option<ChatLogprobs> {
        self.wants_logprobs.then(|| logprobs::chat(&self.tokenizer, tokens))
    }

    fn chunk(&self, choices: Vec<ChunkChoice>) -> ChatChunk {
        ChatChunk {
            id: self.id.clone(),
            object: "chat.completion.chunk".to_owned(),
            created: self.created,
            model: self.model.clone(),
            choices,
            system_fingerprint: self.fingerprint.clone(),
            usage: None,
            tribunal: None,
        }
    }
}

/// The end of a choice.
struct Ended {
    text: String,
    calls: Option<Vec<ToolCall>>,
    reason: &'static str,
}

impl ReplyFormat for ChatFormat {
    type Chunk = ChatChunk;

    fn opening(&mut self) -> Vec<ChatChunk> {
        let role = |index: usize| {
            let delta = Delta {
                role: Some("assistant".to_owned()),
                content: Some(String::new()),
                tool_calls: None,
            };
            self.chunk(vec![ChunkChoice {
                index: index as u64,
                delta,
                logprobs: None,
                finish_reason: None,
            }])
        };
        (0..self.choices.len()).map(role).collect()
    }

    fn piece(&mut self, sequence: usize, piece: TextDelta) -> Vec<ChatChunk> {
        let held = &mut self.choices[sequence];
        held.tokens.extend(piece.tokens);
        let text = held.separator.push(piece.text);
        if text.is_empty() {
            return Vec::new();
        }
        let tokens = std::mem::take(&mut held.tokens);
        vec![self.chunk(vec![ChunkChoice {
            index: sequence as u64,
            delta: Delta { content: Some(text), ..Delta::default() },
            logprobs: self.logprobs(&tokens),
            finish_reason: None,
        }])]
    }

    fn end(&mut self, sequence: usize, piece: TextDelta, finish: &FinishReason) -> Vec<ChatChunk> {
        let held = &mut self.choices[sequence];
        held.tokens.extend(piece.tokens);
        let tokens = std::mem::take(&mut held.tokens);
        let before = held.separator.push(piece.text);
        let ended = self.ended(sequence, before, finish);
        let call = |(index, call): (usize, ToolCall)| DeltaToolCall {
            index: index as u64,
            id: call.id,
            kind: call.kind,
            function: call.function,
        };
        let calls = ended.calls.map(|calls| calls.into_iter().enumerate().map(call).collect());
        let logprobs = self.logprobs(&tokens).filter(|list| !list.content.is_empty());
        vec![self.chunk(vec![ChunkChoice {
            index: sequence as u64,
            delta: Delta {
                role: None,
                content: Some(ended.text).filter(|text| !text.is_empty()),
                tool_calls: calls,
            },
            logprobs,
            finish_reason: Some(ended.reason.to_owned()),
        }])]
    }

    fn usage(&mut self, usage: GenerationUsage, extension: GenerationExtension) -> ChatChunk {
        ChatChunk { usage: Some(usage), tribunal: Some(extension), ..self.chunk(Vec::new()) }
    }
}

//! Translates chat replies and the chunks of their streams to replies and events of this interface.

use engine::FinishReason;
use openapi::ErrorBody;
use serde_json::{Value, json};

use super::types::{
    IncompleteDetails, ResponsesInputTokens, ResponsesOutput, ResponsesOutputText,
    ResponsesOutputTokens, ResponsesReply, ResponsesRequest, ResponsesStatus, ResponsesText,
    ResponsesTextFormat, ResponsesToolChoice, ResponsesToolRule, ResponsesUsage,
};
use crate::clock::unix_seconds;
use crate::compat::shared::generation::types::{
    ChatChunk, ChunkChoice, FunctionCall, GenerationExtension, GenerationUsage, ResponseKind,
};
use crate::compat::shared::generation::{
    ChatFormat, Generated, PreparedChat, ReplyFormat, TextDelta,
};

/// Builds the reply, or the events of a stream. Both have the texts and calls of a chat.
pub(super) struct ResponsesFormat {
    chat: ChatFormat,
    request: String,
    reply: ResponsesReply,
    /// The text of the message so far; `None` before its first event.
    text: Option<String>,
    n_events: u64,
}

/// Returns the reply as it is before anything is generated.
pub(super) fn begun(request: &ResponsesRequest, id: &str) -> ResponsesReply {
    let text = request.text.clone().unwrap_or_default();
    let free = ResponsesTextFormat {
        kind: ResponseKind::Text,
        name: None,
        description: None,
        schema: None,
        strict: None,
    };
    let auto = ResponsesToolChoice::Rule(ResponsesToolRule::Auto);
    ResponsesReply {
        id: format!("resp_{id}"),
        object: "response".to_owned(),
        created_at: unix_seconds(),
        status: ResponsesStatus::InProgress,
        error: None,
        incomplete_details: None,
        model: request.model.clone(),
        output: Vec::new(),
        usage: None,
        instructions: request.instructions.clone(),
        max_output_tokens: request.max_output_tokens,
        temperature: request.temperature.unwrap_or(1.0),
        top_p: request.top_p.unwrap_or(1.0),
        text: ResponsesText { format: text.format.or(Some(free)) },
        tools: request.tools.clone().unwrap_or_default(),
        tool_choice: request.tool_choice.clone().unwrap_or(auto),
        parallel_tool_calls: request.parallel_tool_calls.unwrap_or(true),
        metadata: request.metadata.clone().unwrap_or_default(),
        store: false,
        tribunal: None,
    }
}

impl ResponsesFormat {
    /// Creates the format of the reply to a request with this id.
    pub(super) fn new(chat: &PreparedChat, reply: ResponsesReply, id: &str) -> ResponsesFormat {
        let chat = ChatFormat::new(chat, id);
        ResponsesFormat { chat, request: id.to_owned(), reply, text: None, n_events: 0 }
    }

    /// Builds the complete reply.
    pub(super) fn whole(self, generated: Generated) -> ResponsesReply {
        let ResponsesFormat { chat, request, mut reply, .. } = self;
        let mut answer = chat.whole(generated);
        let choice = answer.choices.pop().expect("a request has one continuation");
        let status = status(&choice.finish_reason);
        let text = choice.message.content;
        reply.output.extend(text.map(|text| message(&request, status, Some(text))));
        for call in choice.message.tool_calls.unwrap_or_default() {
            let id = function_call_id(&request, reply.output.len());
            let status = ResponsesStatus::Completed;
            reply.output.push(function_call(id, status, call.id, call.function));
        }
        finish(&mut reply, status);
        reply.usage = Some(usage(answer.usage));
        reply.tribunal = Some(answer.tribunal);
        reply
    }

    /// Returns an event with the next number.
    fn event(&mut self, kind: &str, mut fields: Value) -> Value {
        fields["type"] = kind.into();
        fields["sequence_number"] = self.n_events.into();
        self.n_events += 1;
        fields
    }

    fn events_of(&mut self, chunks: Vec<ChatChunk>) -> Vec<Value> {
        let choices = chunks.into_iter().flat_map(|chunk| chunk.choices);
        choices.flat_map(|choice| self.advance(choice)).collect()
    }

    /// Returns the events of a chunk.
    fn advance(&mut self, choice: ChunkChoice) -> Vec<Value> {
        let mut events = Vec::new();
        let more = choice.delta.content.unwrap_or_default();
        let calls = choice.delta.tool_calls;
        // A reply has a message, though an empty one, unless it has calls alone.
        let is_message = !more.is_empty() || (choice.finish_reason.is_some() && calls.is_none());
        if self.text.is_none() && is_message {
            self.text = Some(String::new());
            let item = message(&self.request, ResponsesStatus::InProgress, None);
            events.push(self.item_event("response.output_item.added", 0, &item));
            let part = json!({"part": output_text(String::new())});
            events.push(self.part_event("response.content_part.added", part));
        }
        if let Some(text) = self.text.as_mut().filter(|_| !more.is_empty()) {
            text.push_str(&more);
            let delta = json!({"delta": more, "logprobs": []});
            events.push(self.part_event("response.output_text.delta", delta));
        }
        if let Some(reason) = choice.finish_reason {
            let status = status(&reason);
            finish(&mut self.reply, status);
            events.extend(self.end_of_message(status));
        }
        for call in calls.unwrap_or_default() {
            events.extend(self.call(call.id, call.function));
        }
        events
    }

    fn end_of_message(&mut self, status: ResponsesStatus) -> Vec<Value> {
        let Some(text) = self.text.take() else {
            return Vec::new();
        };
        let item = message(&self.request, status, Some(text.clone()));
        let events = vec![
            self.part_event("response.output_text.done", json!({"text": text, "logprobs": []})),
            self.part_event("response.content_part.done", json!({"part": output_text(text)})),
            self.item_event("response.output_item.done", 0, &item),
        ];
        self.reply.output.push(item);
        events
    }

    fn call(&mut self, call_id: String, function: FunctionCall) -> [Value; 4] {
        let at = self.reply.output.len();
        let id = function_call_id(&self.request, at);
        let arguments = function.arguments.clone();
        let begun = FunctionCall { name: function.name.clone(), arguments: String::new() };
        let begun = function_call(id.clone(), ResponsesStatus::InProgress, call_id.clone(), begun);
        let item = function_call(id.clone(), ResponsesStatus::Completed, call_id, function);
        let delta = json!({"item_id": id, "output_index": at, "delta": arguments});
        let done = json!({"item_id": id, "output_index": at, "arguments": arguments});
        let events = [
            self.item_event("response.output_item.added", at, &begun),
            self.event("response.function_call_arguments.delta", delta),
            self.event("response.function_call_arguments.done", done),
            self.item_event("response.output_item.done", at, &item),
        ];
        self.reply.output.push(item);
        events
    }

    fn item_event(&mut self, kind: &str, at: usize, item: &ResponsesOutput) -> Value {
        self.event(kind, json!({"output_index": at, "item": item}))
    }

    /// Returns an event of the text of the message, which is the first item.
    fn part_event(&mut self, kind: &str, mut fields: Value) -> Value {
        fields["item_id"] = message_id(&self.request).into();
        fields["output_index"] = 0.into();
        fields["content_index"] = 0.into();
        self.event(kind, fields)
    }
}

impl ReplyFormat for ResponsesFormat {
    type Chunk = Value;

    const LAST_EVENT: &'static [u8] = b"";

    fn event_name(event: &Value) -> Option<&str> {
        event["type"].as_str()
    }

    fn opening(&mut self) -> Vec<Value> {
        let reply = json!({"response": self.reply});
        vec![
            self.event("response.created", reply.clone()),
            self.event("response.in_progress", reply),
        ]
    }

    fn piece(&mut self, sequence: usize, piece: TextDelta) -> Vec<Value> {
        let chunks = self.chat.piece(sequence, piece);
        self.events_of(chunks)
    }

    fn end(&mut self, sequence: usize, piece: TextDelta, finish: &FinishReason) -> Vec<Value> {
        let chunks = self.chat.end(sequence, piece, finish);
        self.events_of(chunks)
    }

    fn usage(&mut self, total: GenerationUsage, extension: GenerationExtension) -> Value {
        self.reply.usage = Some(usage(total));
        self.reply.tribunal = Some(extension);
        let kind = match self.reply.status {
            ResponsesStatus::Incomplete => "response.incomplete",
            ResponsesStatus::Completed | ResponsesStatus::InProgress => "response.completed",
        };
        let reply = json!({"response": self.reply});
        self.event(kind, reply)
    }

    fn failure(&mut self, error: ErrorBody) -> Value {
        let ErrorBody { error } = error;
        let fields = json!({"code": error.code, "message": error.message, "param": error.param});
        self.event("error", fields)
    }
}

fn status(finish_reason: &str) -> ResponsesStatus {
    if finish_reason == "length" { ResponsesStatus::Incomplete } else { ResponsesStatus::Completed }
}

fn finish(reply: &mut ResponsesReply, status: ResponsesStatus) {
    reply.status = status;
    let is_incomplete = status == ResponsesStatus::Incomplete;
    let reason = || IncompleteDetails { reason: "max_output_tokens".to_owned() };
    reply.incomplete_details = is_incomplete.then(reason);
}

fn usage(total: GenerationUsage) -> ResponsesUsage {
    let cached_tokens = total.prompt_tokens_details.cached_tokens;
    ResponsesUsage {
        input_tokens: total.prompt_tokens,
        input_tokens_details: ResponsesInputTokens {
            cached_tokens,
            cache_write_tokens: total.prompt_tokens.saturating_sub(cached_tokens),
        },
        output_tokens: total.completion_tokens,
        output_tokens_details: ResponsesOutputTokens { reasoning_tokens: 0 },
        total_tokens: total.total_tokens,
    }
}

/// Returns the assistant's message; without a part if there is no text yet.
fn message(request: &str, status: ResponsesStatus, text: Option<String>) -> ResponsesOutput {
    ResponsesOutput::Message {
        id: message_id(request),
        status,
        role: "assistant".to_owned(),
        content: text.map(output_text).into_iter().collect(),
    }
}

fn message_id(request: &str) -> String {
    format!("msg_{request}")
}

fn function_call_id(request: &str, at: usize) -> String {
    format!("fc_{request}_{at}")
}

fn function_call(
    id: String,
    status: ResponsesStatus,
    call_id: String,
    function: FunctionCall,
) -> ResponsesOutput {
    let FunctionCall { name, arguments } = function;
    ResponsesOutput::FunctionCall { id, status, call_id, name, arguments }
}

fn output_text(text: String) -> ResponsesOutputText {
    ResponsesOutputText { kind: "output_text".to_owned(), text, annotations: [] }
}

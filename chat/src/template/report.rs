//! Findings about a template, made once at load by rendering marked conversations.

use serde_json::{Value as Json, json};

use super::chat_template::ChatTemplate;
use super::error::{RenderError, RenderErrorKind};
use crate::conversation::Conversation;
use crate::error::Result;
use crate::time::LocalTime;

/// A part of a conversation that a template may lose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChatPart {
    /// The content of a system message.
    System,
    /// The content of a user message.
    User,
    /// The content of an assistant message before the last turn.
    Assistant,
    /// The content of a tool's reply.
    ToolReply,
    /// The calls that an assistant message makes.
    ToolCalls,
    /// The schemas of the tools.
    Tools,
}

/// A part that makes the template raise an error, and its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The refused part.
    pub part: ChatPart,
    /// The message of the template or of the evaluation.
    pub why: String,
}

/// Findings about a template. None is an error by itself: a model may have no place for a system
/// message, and a caller that sends one should know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent findings, each yes or no")]
pub struct TemplateReport {
    /// The folder has no template; the other fields are then empty.
    pub missing: bool,
    /// Parts that vanish without an error.
    pub drops: Vec<ChatPart>,
    /// Parts that make rendering fail.
    pub refuses: Vec<Refusal>,
    /// Whether a system message is refused.
    pub refuses_system: bool,
    /// Whether `add_generation_prompt` changes the prompt.
    pub adds_generation_prompt: bool,
    /// Whether the template marks the assistant's words by generation blocks.
    pub marks_generation: bool,
    /// Whether the template writes the beginning-of-sequence token.
    pub writes_bos: bool,
    /// Whether the template writes that token and the tokenizer adds another by itself; a chat is
    /// then encoded with the template's alone.
    pub double_bos: bool,
}

/// The time of every probe: a template that needs the time must not fail without it.
const PROBE_TIME: LocalTime =
    LocalTime { year: 2024, month: 7, day: 26, hour: 12, minute: 0, second: 0 };

impl ChatTemplate {
    /// Renders marked conversations and reports which marks survive. The tokenizer's fields of the
    /// report stay false.
    ///
    /// # Errors
    /// [`crate::ChatError::Template`] if even a single user message cannot be rendered because of
    /// the [`super::heap::RenderLimits`] or because no template is the default.
    pub fn report(&self) -> Result<TemplateReport> {
        let mut report = TemplateReport { missing: self.is_missing(), ..TemplateReport::default() };
        if report.missing {
            return Ok(report);
        }
        for (part, probe, mark) in probes() {
            let source = self.pick(probe.tools.is_some())?;
            match self.render_source(source, &probe) {
                Ok(rendered) => {
                    report.marks_generation |= !rendered.generation_spans.is_empty();
                    if !rendered.as_str().contains(mark) {
                        report.drops.push(part);
                    }
                }
                Err(error) if over_limits(&error) => return Err(error.into()),
                Err(error) => report.refuses.push(Refusal { part, why: error.fault.to_string() }),
            }
        }
        report.refuses_system = report.refuses.iter().any(|r| r.part == ChatPart::System);
        self.probe_ends(&mut report)?;
        Ok(report)
    }

    /// Examines how the prompt of one user message begins and ends.
    fn probe_ends(&self, report: &mut TemplateReport) -> Result<()> {
        let open = with_messages(vec![user()]);
        let closed = Conversation { add_generation_prompt: false, ..open.clone() };
        let source = self.pick(false)?;
        if let (Ok(open), Ok(closed)) =
            (self.render_source(source, &open), self.render_source(source, &closed))
        {
            report.adds_generation_prompt = open.text != closed.text;
            let bos = self.special_tokens.iter().find(|(n, _)| n == "bos_token");
            report.writes_bos = bos.is_some_and(|(_, bos)| open.as_str().starts_with(bos));
        }
        Ok(())
    }
}

fn over_limits(error: &RenderError) -> bool {
    match error.fault {
        RenderErrorKind::Steps(_)
        | RenderErrorKind::Memory(_)
        | RenderErrorKind::Output(_)
        | RenderErrorKind::Depth(_) => true,
        RenderErrorKind::Raised(_) | RenderErrorKind::Invalid(_) => false,
    }
}

fn user() -> Json {
    json!({"role": "user", "content": "mark7user"})
}

fn with_messages(messages: Vec<Json>) -> Conversation {
    Conversation {
        messages,
        add_generation_prompt: true,
        now: Some(PROBE_TIME),
        ..Conversation::default()
    }
}

/// Conversations, each with the part it examines and the mark that must be in the prompt.
fn probes() -> Vec<(ChatPart, Conversation, &'static str)> {
    let system = json!({"role": "system", "content": "mark7system"});
    let assistant = json!({"role": "assistant", "content": "mark7assistant"});
    let arguments = json!({"city": "Bern"});
    let function = json!({"name": "mark7call", "arguments": arguments});
    // Nine letters and digits, as some templates insist on.
    let call = json!({"type": "function", "id": "call00001", "function": function});
    let caller = json!({"role": "assistant", "content": "", "tool_calls": [call]});
    let reply = json!({
        "role": "tool", "name": "mark7call", "tool_call_id": "call00001", "content": "mark7tool"
    });
    let parameters = json!({
        "type": "object",
        "properties": {"city": {"type": "string", "description": "a city"}},
        "required": ["city"]
    });
    let function = json!({
        "name": "mark7call", "description": "mark7tools", "parameters": parameters
    });
    let tools = vec![json!({"type": "function", "function": function})];
    let with_tools =
        |messages| Conversation { tools: Some(tools.clone()), ..with_messages(messages) };
    vec![
        (ChatPart::User, with_messages(vec![user()]), "mark7user"),
        (ChatPart::System, with_messages(vec![system, user()]), "mark7system"),
        (ChatPart::Assistant, with_messages(vec![user(), assistant, user()]), "mark7assistant"),
        (ChatPart::Tools, with_tools(vec![user()]), "mark7tools"),
        (
            ChatPart::ToolCalls,
            with_messages(vec![user(), caller.clone(), reply.clone()]),
            "mark7call",
        ),
        (ChatPart::ToolReply, with_messages(vec![user(), caller, reply]), "mark7tool"),
    ]
}

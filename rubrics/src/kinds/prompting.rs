//! Shared parts of generative kinds: texts of an input in prompts, and the record of a judgement
//! with or without a verdict.

use std::borrow::Cow;

use verifiers::{Reason, VerifyError};

use super::options::LabelOptions;
use crate::combine::CombineError;
use crate::engine_client::{EngineClient, GeneratedText};
use crate::labels::{LabelRead, Labels};
use crate::models::{Chat, Prompted, Served, wording_digest};
use crate::outcome::{Evidence, Failure, FailureKind, ModelText, Trace};
use crate::prompt::{Prompt, transcript};
use crate::sample::Sample;
use crate::{Input, Message, Reference};

/// Record of a judgement.
#[derive(Debug, Clone)]
pub(super) struct EvaluationLog {
    /// Its usage.
    pub(super) trace: Trace,
    /// Texts written; `None` without `explain`.
    outputs: Option<Vec<ModelText>>,
}

impl EvaluationLog {
    /// An empty log of an evaluation with these prompts.
    pub(super) fn new(client: &EngineClient<'_>, served: &Served, wordings: &[&Prompt]) -> Self {
        let trace = Trace { prompt: Some(wording_digest(served, wordings)), ..Trace::default() };
        Self { trace, outputs: client.options().explain.then(Vec::new) }
    }

    /// Keeps a text of the model.
    pub(super) fn wrote(&mut self, role: &'static str, written: &GeneratedText) {
        if let Some(outputs) = &mut self.outputs {
            outputs.push(written.output(role));
        }
    }

    /// Keeps a text of a tool.
    pub(super) fn tool_said(&mut self, text: &str) {
        if let Some(outputs) = &mut self.outputs {
            let role = Cow::Borrowed("tool_result");
            outputs.push(ModelText { role, text: text.to_owned(), finish: "tool" });
        }
    }

    /// Takes in what another part of the same judgement left behind, which came after this one.
    pub(super) fn add(&mut self, other: Self) {
        self.trace.add(&other.trace);
        if let (Some(own), Some(others)) = (&mut self.outputs, other.outputs) {
            own.extend(others);
        }
    }

    /// Returns the evidence.
    pub(super) fn evidence(self) -> Evidence {
        Evidence { outputs: self.outputs, trace: Some(self.trace), ..Evidence::default() }
    }

    /// Adds the evidence to a failure.
    pub(super) fn failed(self, failure: Failure) -> Failure {
        failure.with_evidence(self.evidence())
    }
}

/// Applies the chat template to messages, with the prompt for the assistant's turn, and encodes the
/// text, on a worker thread.
///
/// # Errors
/// A refusal where the template or the tokenizer does not accept the messages; overload of the
/// worker threads.
pub(super) async fn prompt(
    client: &EngineClient<'_>,
    served: &Served,
    turns: Vec<Message>,
    reasoning: bool,
) -> Result<Prompted, Failure> {
    let rendering = served.clone();
    let render =
        move || rendering.prompt(&Chat::with_generation_prompt(&turns).reasoning(reasoning));
    client.run(render).await?
}

/// Renders a prompt with placeholder texts, to check at the start of the server that it can be.
pub(super) fn try_wording(
    served: &Served,
    wording: &Prompt,
    reasoning: bool,
) -> Result<Prompted, String> {
    if !served.has_vocabulary() {
        return Err(format!("'{}' writes no text", served.name()));
    }
    let texts: Vec<(&str, &str)> = wording.slots().into_iter().map(|slot| (slot, "x")).collect();
    let turns = wording.fill(&texts);
    let prompted = served.prompt(&Chat::with_generation_prompt(&turns).reasoning(reasoning));
    prompted.map_err(|failure| {
        let detail = failure.reason.detail.unwrap_or_default();
        format!("the wording cannot be rendered: {detail}")
    })
}

/// The prompt of the input as a quoted transcript.
///
/// # Errors
/// A refusal where the input has no prompt.
pub(super) fn problem(sample: &Sample<'_>) -> Result<String, Failure> {
    let turns = sample.prompt();
    if turns.iter().all(|turn| turn.content.trim().is_empty()) {
        let detail = "this scorer judges an answer to a question: give 'prompt'";
        return Err(Failure::refused("prompt_missing", detail));
    }
    Ok(transcript(&turns))
}

/// The prompt of the input without quotation marks, if it is one user message; else as [`problem`].
///
/// # Errors
/// A refusal where the input has no prompt.
pub(super) fn question(sample: &Sample<'_>) -> Result<String, Failure> {
    let quoted = problem(sample)?;
    let turns = sample.prompt();
    match &turns[..] {
        [Message { role, content }] if role == "user" => Ok(content.clone()),
        _ => Ok(quoted),
    }
}

/// Returns the reference as text.
///
/// # Errors
/// [`FailureKind::BadReference`] if there is none.
pub(super) fn reference_text(input: &Input) -> Result<String, Failure> {
    let text = match &input.reference {
        None => String::new(),
        Some(Reference::Text(text)) => text.clone(),
        Some(Reference::AnyOf(texts)) => texts.join(" or "),
        Some(Reference::Object(object)) => match object.get("answer") {
            Some(serde_json::Value::String(text)) => text.clone(),
            Some(_) | None => serde_json::to_string(object).expect("a JSON map serialises"),
        },
    };
    if text.trim().is_empty() {
        let error = VerifyError::missing_reference();
        return Err(Failure::from_error(error, Evidence::default()));
    }
    Ok(text)
}

/// Renders the reference as a paragraph of a prompt; empty unless `show`.
///
/// # Errors
/// [`FailureKind::BadReference`] if there is none to show.
pub(super) fn reference_shown(sample: &Sample<'_>, show: bool) -> Result<String, Failure> {
    if !show {
        return Ok(String::new());
    }
    let text = quotation(&reference_text(sample.input)?);
    Ok(format!("The right answer:\n{text}"))
}

/// An untrusted text as a quotation without a speaker.
pub(super) fn quotation(text: &str) -> String {
    crate::prompt::quoted(text)
}

/// An assistant message with what the model wrote before.
pub(super) fn said(text: &str) -> Message {
    Message::new("assistant", text)
}

/// Returns the text after the last `</think>`, without a thought that never ended.
pub(super) fn after_thinking(text: &str) -> &str {
    const CLOSE: &str = "</think>";
    match text.rfind(CLOSE) {
        Some(at) => &text[at + CLOSE.len()..],
        None => &text[..text.find("<think>").unwrap_or(text.len())],
    }
}

/// A failure for a text that is not the requested judgement.
pub(super) fn unreadable(code: &'static str, detail: impl Into<Cow<'static, str>>) -> Failure {
    Failure::new(FailureKind::ParseError, Reason::with(code, detail))
}

/// Numbers that have no combination; they were checked before, so it is our fault.
pub(super) fn uncombined(error: CombineError) -> Failure {
    let reason = Reason::with("not_combined", error.to_string());
    Failure::new(FailureKind::Internal, reason)
}

/// The mean of numbers; there is at least one.
pub(super) fn mean(values: &[f64]) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^53 numbers")]
    let count = values.len() as f64;
    values.iter().sum::<f64>() / count
}

/// Reads labels where the model's turn begins.
///
/// # Errors
/// [`FailureKind::Abstain`] if the labels have too little probability.
pub(super) async fn judge_by_labels(
    client: &EngineClient<'_>,
    served: &Served,
    turns: Vec<Message>,
    (words, options): (&[&str], LabelOptions),
    log: &mut EvaluationLog,
) -> Result<LabelRead, Failure> {
    let (rendering, own) = (served.clone(), words.iter().map(ToString::to_string));
    let own: Vec<String> = own.collect();
    let prepare = move || {
        let words: Vec<&str> = own.iter().map(String::as_str).collect();
        let prompt = rendering.prompt(&Chat::with_generation_prompt(&turns))?;
        let labels = Labels::after(&rendering, &prompt, &words, options.spellings);
        let labels = labels.map_err(|what| Failure::refused("labels_unusable", what))?;
        Ok::<_, Failure>((prompt, labels))
    };
    let (prompt, labels) = client.run(prepare).await??;
    let sequences = vec![(prompt.token_ids.clone(), labels.task(&prompt))];
    let outputs = client.read(served, sequences, &mut log.trace).await?;
    let read = labels.read(&outputs[0][0])?;
    log.trace.saw_mass(Some(read.mass));
    read.enough_mass(options.min_label_mass)?;
    Ok(read)
}

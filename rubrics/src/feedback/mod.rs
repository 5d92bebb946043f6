//! Principles in people's feedback, listed by a model: the first step of RLBFF's data (2509.21319).
//!
//! The paper's prompt is not known; the wording in `rubrics/prompts/feedback-principles.toml` is ours.
//! [`turns`] is the prompt of the judge, [`schema`] the schema of its answer, and [`read_feedback`] parses
//! the answer; [`extract`] does all three with a model of this process.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use engine::Grammar;
use futures_util::future::join_all;
use serde::Deserialize;
use serde_json::{Value, json};
use verifiers::Reason;

use crate::engine_client::{EngineClient, Writing, stream_of};
use crate::models::{Chat, Served, wording_digest};
use crate::outcome::{Failure, FailureKind, Trace};
use crate::prompt::{Prompt, transcript};
use crate::{Message, ScoreOptions, Tools};

/// The name of the wording.
const WORDING: &str = "feedback-principles";

/// Most principles of one feedback.
const MOST: usize = 32;

/// A response, and what one annotator wrote about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feedback {
    /// The conversation with the response as its last turn.
    pub conversation: Vec<Message>,
    /// The annotator's words.
    pub feedback: String,
}

/// Whether a response meets a principle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Met {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// In part.
    Partially,
}

/// A principle as the judge lists it. Nothing of it is checked against the feedback yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The principle in few words.
    pub principle: String,
    /// The feedback's verdict on the response.
    pub met: Met,
    /// The words of the feedback that say so.
    pub evidence: String,
}

/// Sampling options of a judge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Manner {
    /// A list that is longer is a failure, and not its first part.
    pub max_tokens: usize,
    /// 0 for the likeliest token each time.
    pub temperature: f32,
}

/// The text of a judge, as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    principles: Vec<FeedbackItem>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FeedbackItem {
    principle: String,
    verdict: String,
    evidence: String,
}

/// The prompt of the judge.
pub fn turns(feedback: &Feedback) -> Vec<Message> {
    let conversation = transcript(&feedback.conversation);
    Prompt::built_in(WORDING).fill(&[
        ("conversation", conversation.trim_end_matches('\n')),
        ("feedback", &feedback.feedback),
    ])
}

/// Digest of the prompt.
pub fn wording() -> Arc<str> {
    Prompt::built_in(WORDING).digest.clone()
}

/// Returns the JSON schema of a judge's answer.
pub fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "principles": {
                "type": "array",
                "maxItems": MOST,
                "items": {
                    "type": "object",
                    "properties": {
                        "principle": { "type": "string" },
                        "verdict": { "enum": ["yes", "no", "partially"] },
                        "evidence": { "type": "string" },
                    },
                    "required": ["principle", "verdict", "evidence"],
                    "additionalProperties": false,
                },
            },
        },
        "required": ["principles"],
        "additionalProperties": false,
    })
}

/// Parses the list in a text. Reasoning before a last `</think>` and one fence around the object
/// are removed; anything else beside the object makes the text unreadable, because half a list
/// would be a guess.
///
/// # Errors
/// [`FailureKind::ParseError`] with the reason.
pub fn read_feedback(text: &str) -> Result<Vec<Listed>, Failure> {
    let answer = text.rsplit_once("</think>").map_or(text, |(_, answer)| answer);
    let text: Text =
        serde_json::from_str(unfenced(answer)).map_err(|error| unreadable(&error.to_string()))?;
    let listed = text.principles.into_iter().enumerate().map(|(at, item)| {
        let met = match item.verdict.to_ascii_lowercase().as_str() {
            "yes" => Met::Yes,
            "no" => Met::No,
            "partially" => Met::Partially,
            other => {
                let what = format!("principle {at} has the verdict '{other}'");
                return Err(unreadable(&what));
            }
        };
        Ok(Listed { principle: item.principle, met, evidence: item.evidence })
    });
    listed.collect()
}

fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let inside = text.strip_prefix("```json").or_else(|| text.strip_prefix("```"));
    inside.and_then(|rest| rest.strip_suffix("```")).unwrap_or(text)
}

fn unreadable(what: &str) -> Failure {
    let detail = format!("the judge's text is no list of principles: {what}");
    Failure::new(FailureKind::ParseError, Reason::with("principles_unreadable", detail))
}

/// Checks that a model can generate text constrained by the schema.
///
/// # Errors
/// What it lacks, as a sentence.
pub fn check(served: &Served) -> Result<(), String> {
    if !served.has_vocabulary() {
        return Err(format!(
            "'{}' has no vocabulary head, so it cannot list principles",
            served.name()
        ));
    }
    let vocabulary = served.host.vocabulary().map_err(ToString::to_string)?;
    let compiled = vocabulary.compile(&Grammar::JsonSchema(schema()));
    compiled.map(drop).map_err(|error| error.to_string())
}

/// Digest of the model and of the prompt around a row's texts.
pub fn digest(served: &Served) -> String {
    let adapter = served.adapter.as_ref().map_or("", |adapter| &adapter.digest);
    let wording = wording_digest(served, &[&Prompt::built_in(WORDING)]);
    let all = format!("{}\n{adapter}\n{wording}", served.host.digest);
    base::digest::of(all.as_bytes())
}

/// Extracts principles from each feedback with a local model; one result for each, in order. All
/// requests are submitted at once: the engine schedules them and computes shared prefixes once.
pub async fn extract(
    served: &Served,
    feedback: &[Feedback],
    manner: Manner,
    ask: ScoreOptions,
    tools: &Tools,
) -> Vec<Result<Vec<Listed>, Failure>> {
    let queue_tokens = served.host.engine.limits().queue_tokens;
    let client = EngineClient::new(tools, ask, queue_tokens);
    let client = &client;
    let one = |feedback: &Feedback| {
        let turns = turns(feedback);
        async move {
            let host = served.clone();
            let render = move || host.prompt(&Chat::with_generation_prompt(&turns));
            let prompt = client.run(render).await??;
            let writing = Writing {
                max_tokens: manner.max_tokens,
                temperature: manner.temperature,
                top_p: 1.0,
                top_k: None,
                stream: stream_of(&prompt, 0),
                logprobs: None,
                grammar: Some(Grammar::JsonSchema(schema())),
            };
            let mut trace = Trace::default();
            let requests = [(&prompt, writing)];
            let written = client.write(served, &requests, &mut trace).await?;
            let written = written.first().ok_or_else(Failure::internal)?;
            read_feedback(written.whole()?)
        }
    };
    join_all(feedback.iter().map(one)).await
}

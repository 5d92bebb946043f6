//! The grader of `RuscaRL` (2508.16949): a JSON object with an explanation and whether the criterion
//! is met.

use engine::Grammar;
use serde::Deserialize;
use serde_json::json;
use verifiers::Reason;

use super::ask::{ItemContext, code, verdict};
use super::options::{AnswerForm, ItemPrompts};
use crate::engine_client::{GeneratedText, stream_of};
use crate::kinds::options::WritingOptions;
use crate::models::Served;
use crate::outcome::{Failure, FailureKind, ModelText, Outcome, Trace};
use crate::rubric::RubricItem;

/// The model's JSON object.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Grade {
    pub(super) explanation: String,
    pub(super) criteria_met: bool,
}

/// Outcome and usage of one item.
pub(super) struct Graded {
    pub(super) outcome: Outcome,
    pub(super) texts: Vec<ModelText>,
    pub(super) trace: Trace,
}

/// Returns the grammar of the model's text.
fn grammar() -> Grammar {
    Grammar::JsonSchema(json!({
        "type": "object",
        "properties": {
            "explanation": { "type": "string" },
            "criteria_met": { "type": "boolean" },
        },
        "required": ["explanation", "criteria_met"],
        "additionalProperties": false,
    }))
}

/// Whether a model's texts can be held to the form.
pub(super) fn check(served: &Served) -> Result<(), String> {
    let vocabulary = served.host.vocabulary().map_err(ToString::to_string)?;
    let compiled = vocabulary.compile(&grammar());
    compiled.map(drop).map_err(|error| error.to_string())
}

impl ItemPrompts {
    /// Grades one item, with retries under other random streams while its text is truncated.
    /// Without randomness a retry would repeat the first try, so there is none.
    pub(super) async fn grade(&self, context: &ItemContext<'_>, item: &RubricItem) -> Graded {
        let mut graded = Graded {
            outcome: Err(Failure::internal()),
            texts: Vec::new(),
            trace: Trace::default(),
        };
        let AnswerForm::Json(writing, retries) = self.ask else {
            return graded;
        };
        let retries = if writing.temperature > 0.0 { retries } else { 0 };
        graded.outcome = self.tries(context, item, (writing, retries), &mut graded).await;
        graded
    }

    async fn tries(
        &self,
        context: &ItemContext<'_>,
        item: &RubricItem,
        (writing, retries): (WritingOptions, u64),
        graded: &mut Graded,
    ) -> Outcome {
        let (asking, host) = (self.clone(), context.served.clone());
        let (shown, own) = (context.shown.clone(), item.clone());
        let render = move || asking.prompt(&host, &shown, &own);
        let prompt = context.client.run(render).await??;
        let explain = context.client.options().explain;
        let mut sample = 0;
        loop {
            let mut way = writing.writing(stream_of(&prompt, sample));
            // Reasoning comes first and is free: only what follows it is held to a form, by the
            // reader below.
            way.grammar = (!writing.reasoning).then(grammar);
            let requests = [(&prompt, way)];
            let written =
                context.client.write(&context.served, &requests, &mut graded.trace).await?;
            let written = written.into_iter().next().ok_or_else(Failure::internal)?;
            if explain {
                graded.texts.push(written.output(format!("grade of {}", item.id)));
            }
            if written.is_whole || sample == retries {
                return outcome(&written, writing.reasoning, explain);
            }
            sample += 1;
        }
    }
}

fn outcome(written: &GeneratedText, reasoning: bool, explain: bool) -> Outcome {
    let grade = read_grade(written.whole()?, reasoning)?;
    let is_met = grade.criteria_met;
    let reason = Reason::explained(code(is_met), explain, || grade.explanation);
    let value = if is_met { 1.0 } else { 0.0 };
    Ok(verdict(value, is_met, None, reason))
}

/// The grade that a text holds and nothing beside it; after reasoning, the text that follows its
/// last end.
pub(super) fn read_grade(text: &str, reasoning: bool) -> Result<Grade, Failure> {
    const END: &str = "</think>";
    let answer = match (reasoning, text.rsplit_once(END)) {
        (true, Some((_, answer))) => answer,
        (true, None) => return Err(unreadable("the reasoning has no end")),
        (false, _) => text,
    };
    serde_json::from_str(unfenced(answer)).map_err(|error| unreadable(&error.to_string()))
}

/// Returns the content of the fence that the paper requests, if the text is one fenced block.
fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let inside = text.strip_prefix("```json").and_then(|rest| rest.strip_suffix("```"));
    inside.unwrap_or(text)
}

fn unreadable(what: &str) -> Failure {
    let detail = format!("the model's text is no grade: {what}");
    Failure::new(FailureKind::ParseError, Reason::with("grade_unreadable", detail))
}

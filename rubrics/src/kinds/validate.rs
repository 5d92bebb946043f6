//! `kind = "validate"`: the probability that a model begins its answer with Yes to whether a
//! candidate solves the question, and the most probable candidate of a group.
//!
//! This is the selection of MARS-SQL (2511.01008), which takes the mean of P(Yes) at the first
//! token over eight samples of temperature 0.2. The probability at the first token depends on the
//! prompt alone, and not on later tokens: all samples have the same one, and it is their mean. So
//! it is read once, without sampling, for any number of `samples`.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};
use verifiers::Reason;

use super::options::{LabelOptions, Slots, Wording};
use super::{InputFields, KindContext, Names, ScoreFuture, ScorerKind};
use crate::config::Section;
use crate::engine_client::EngineClient;
use crate::labels::Labels;
use crate::models::{Chat, Models, Prompted, Served, wording_digest};
use crate::outcome::{Evidence, Failure, FailureKind, Outcome, Score, Trace};
use crate::prompt::{quoted, transcript};
use crate::sample::Sample;
use crate::{Message, Passage, Responses, group};

/// Name of the kind in configurations.
pub(crate) const NAME: &str = "validate";

const SLOTS: Slots<'static> = Slots { needed: &["question", "candidate"], optional: &["context"] };
/// Labels of a right and of a wrong candidate.
const LABELS: [&str; 2] = ["Yes", "No"];

/// The options, with their defaults filled in.
#[derive(Debug, Clone, Serialize)]
struct ValidateOptions {
    model: String,
    reading: LabelOptions,
    context: Documents,
    wording: Wording,
}

/// Whom the documents of an input are about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Documents {
    /// Every response of a group.
    #[default]
    Shared,
    /// One document for each response.
    Each,
}

struct ValidateKind {
    options: Arc<ValidateOptions>,
}

pub(crate) fn read(section: &Section<'_, '_>, names: &Names<'_>) -> Option<Box<dyn ScorerKind>> {
    let documents = [("shared", Documents::Shared), ("each", Documents::Each)];
    // It is a word of the method and changes nothing, see above; the digest leaves it out.
    section.integer("samples", 1..1025);
    let reading = LabelOptions::read(section);
    let context = section.word("context", &documents).unwrap_or_default();
    let (wording, model) = (Wording::read(section, NAME, SLOTS), names.model(section, "model"));
    let options = Arc::new(ValidateOptions { model: model?, reading, context, wording: wording? });
    Some(Box::new(ValidateKind { options }))
}

impl ScorerKind for ValidateKind {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "says how likely a candidate solves the question, and selects the best of a group"
    }

    fn options(&self) -> Value {
        json!(*self.options)
    }

    fn models(&self) -> Vec<&str> {
        vec![&self.options.model]
    }

    fn input_fields(&self) -> InputFields {
        InputFields { context: true, ..InputFields::default() }
    }

    fn calibrates(&self) -> bool {
        true
    }

    fn min_score(&self, _: &Sample<'_>) -> Option<f64> {
        Some(0.0)
    }

    fn check(&self, models: &dyn Models) -> Result<(), String> {
        let served = models.find(&self.options.model);
        let served = served.expect("its name was checked");
        if !served.has_vocabulary() {
            return Err(format!(
                "'{}' has no vocabulary to read Yes and No from",
                self.options.model
            ));
        }
        let question = [Message::new("user", "A question?")];
        let turns = self.options.turns(&question, "A candidate.", &[]);
        let checked = self.options.ask(&served, &turns);
        checked.map(|_| ()).map_err(|failure| {
            let detail = failure.reason.detail;
            detail.map_or_else(|| failure.reason.code.to_owned(), Into::into)
        })
    }

    fn evaluate<'a>(&'a self, sample: Sample<'a>, context: KindContext<'a>) -> ScoreFuture<'a> {
        Box::pin(self.evaluate_sample(sample, context.client))
    }

    fn aggregate_group(&self, outcomes: Vec<Outcome>) -> Outcome {
        selected(group::outcome_mean(outcomes))
    }
}

impl ValidateKind {
    async fn evaluate_sample(&self, sample: Sample<'_>, client: &EngineClient<'_>) -> Outcome {
        let served = client.served(&self.options.model)?;
        let question = sample.prompt();
        if question.is_empty() {
            let detail = "this scorer asks whether a question is solved: give 'prompt'";
            return Err(Failure::refused("prompt_missing", detail));
        }
        let documents = documents(self.options.context, &sample)?.to_vec();
        let candidate = sample.response.to_owned();
        let (options, rendering) = (self.options.clone(), served.clone());
        let asking = move || {
            let turns = options.turns(&question, &candidate, &documents);
            options.ask(&rendering, &turns)
        };
        let (prompt, labels) = client.run(asking).await??;
        let mut trace = Trace {
            prompt: Some(wording_digest(&served, &[&self.options.wording])),
            ..Trace::default()
        };
        let sequence = vec![(prompt.token_ids.clone(), labels.task(&prompt))];
        let outputs = client.read(&served, sequence, &mut trace).await?;
        let output = outputs[0].first().ok_or_else(nothing_read)?;
        let read = labels.read(output)?;
        trace.saw_mass(Some(read.mass));
        read.enough_mass(self.options.reading.min_label_mass)?;
        let is_yes = read.margin() >= 0.0;
        // Rounding may push a certainty past 1.
        let share = read.log_probs[0].exp().min(1.0);
        Ok(Score {
            raw: Some(read.margin()),
            label: Some(if is_yes { "yes" } else { "no" }.into()),
            evidence: Evidence { trace: Some(trace), ..Evidence::default() },
            ..Score::proven(share, Reason::code("validated"))
        })
    }
}

impl ValidateOptions {
    /// Renders the question.
    fn turns(&self, question: &[Message], candidate: &str, documents: &[String]) -> Vec<Message> {
        let known: String = documents.iter().map(|document| quoted(document)).collect();
        let known = if documents.is_empty() { "Nothing." } else { known.trim_end() };
        self.wording.fill(&[
            ("question", transcript(question).trim_end()),
            ("candidate", candidate),
            ("context", known),
        ])
    }

    /// The prompt, and the labels as they follow it.
    fn ask(&self, served: &Served, turns: &[Message]) -> Result<(Prompted, Labels), Failure> {
        let prompt = served.prompt(&Chat::with_generation_prompt(turns))?;
        let labels = Labels::after(served, &prompt, &LABELS, self.reading.spellings);
        let labels = labels.map_err(|what| Failure::refused("labels_unusable", what))?;
        Ok((prompt, labels))
    }
}

/// The documents about one response.
fn documents<'a>(whose: Documents, sample: &Sample<'a>) -> Result<&'a [String], Failure> {
    let all = sample.input.context.as_deref().unwrap_or_default();
    let Responses::Group(passages) = &sample.input.responses else {
        return Ok(all);
    };
    match whose {
        Documents::Each if !all.is_empty() => {
            if all.len() != passages.len() {
                let detail = format!(
                    "{} documents in 'context' for {} responses; context = \"each\" takes one for each",
                    all.len(),
                    passages.len()
                );
                return Err(Failure::refused("context_count", detail));
            }
            let own = |passage: &Passage| std::ptr::eq(passage, sample.passage);
            let at = passages.iter().position(own);
            let at = at.expect("a response of a group stands in it");
            Ok(&all[at..=at])
        }
        Documents::Each | Documents::Shared => Ok(all),
    }
}

/// The group as its best candidate: the first of those that no other one exceeds.
fn selected(mean: Outcome) -> Outcome {
    let mut scored = mean?;
    let members = scored.evidence.members.as_deref().unwrap_or_default();
    let best = members.iter().position(|member| member.rank == Some(1));
    let best = best.and_then(|at| Some((at, members[at].outcome.as_ref().ok()?.clone())));
    let (at, winner) = best.ok_or_else(nothing_read)?;
    scored.score = winner.score;
    scored.raw = winner.raw;
    scored.label = Some(format!("responses[{at}]").into());
    scored.reason =
        Reason::with("selected", format!("responses[{at}] is the likeliest to solve the question"));
    Ok(scored)
}

fn nothing_read() -> Failure {
    let reason = Reason::with("internal_error", "nothing was read");
    Failure::new(FailureKind::Internal, reason)
}

//! Decisions: typed questions about an input, answered with probabilities. Three interfaces ask
//! them, OpenAI's, `SGLang`'s and System One's; each becomes an [`Asked`] and a [`Wire`]. Their route
//! is in `shared_routes`.

pub(crate) mod text;
pub(crate) mod types;

use rubrics::decide::{
    Alternative, DecisionAnswer, DecisionInput, Decisions, FieldPath, Method, Question,
    REASONING_SWITCHES,
};
use serde_json::{Map, Value};

use self::text::TextOrJson;
use self::types::{AnswerNotes, DecisionDigests, DecisionNotes, LabelMethod, MAX_QUESTIONS};
use super::{Json, check_count, invalid};
use crate::error::ApiError;

/// A request of any shape.
#[derive(Debug)]
pub(crate) struct Asked {
    /// The model or adapter; without one the only model.
    pub(crate) model: Option<String>,
    pub(crate) input: DecisionInput,
    pub(crate) questions: Vec<Question>,
    pub(crate) template_kwargs: Map<String, Value>,
    /// In the place of the model's calibration.
    pub(crate) temperature: Option<f64>,
    /// Prefixes are shared only among requests of the same key.
    pub(crate) cache_key: Option<String>,
}

/// What a shape keeps of a request.
pub(crate) trait Wire {
    /// JSON path of a place in a question.
    fn path(&self, question: usize, place: FieldPath) -> String;

    /// JSON path of what the questions are about.
    fn input_path(&self) -> &'static str;

    /// The reply to what was decided, as JSON.
    fn reply(self, model: String, decided: Decisions, notes: DecisionNotes) -> Json;
}

pub(crate) fn check_questions(count: usize) -> Result<(), ApiError> {
    check_count("questions", count, 1..=MAX_QUESTIONS)
}

/// Refuses switches that would make a model reason where it is to answer.
pub(crate) fn check_template_kwargs(kwargs: &Map<String, Value>) -> Result<(), ApiError> {
    for switch in REASONING_SWITCHES {
        if kwargs.get(switch).is_some_and(|value| *value != Value::Bool(false)) {
            let what = "must be false or left out: the answer is the first token";
            return Err(invalid(format!("chat_template_kwargs.{switch}"), what));
        }
    }
    Ok(())
}

/// An input that is one text or JSON.
pub(crate) fn document(path: &str, given: &TextOrJson) -> Result<DecisionInput, ApiError> {
    if given.is_blank() {
        return Err(invalid(path, "there is nothing to ask about: it is blank"));
    }
    Ok(DecisionInput::text(given.text()))
}

/// An option with its meaning.
pub(crate) fn alternative(text: impl Into<String>, meaning: Option<&TextOrJson>) -> Alternative {
    let meaning = meaning.filter(|meaning| !meaning.is_blank());
    Alternative {
        text: text.into(),
        description: meaning.map(|meaning| meaning.text().into_owned()),
    }
}

/// What every answer says beyond its shape.
pub(crate) fn notes(answer: &DecisionAnswer) -> AnswerNotes {
    AnswerNotes {
        label_mass: answer.label_mass,
        logits: answer.logits.clone(),
        method: match answer.method {
            Method::Labels => LabelMethod::Labels,
            Method::Continuations => LabelMethod::Continuations,
        },
        calibration: answer.calibration.as_deref().map(str::to_owned),
    }
}

/// What every reply says beyond its shape.
pub(crate) fn reply_notes(decided: &Decisions, model_digest: &str) -> DecisionNotes {
    DecisionNotes {
        computed_tokens: decided.usage.computed_tokens as u64,
        digests: DecisionDigests {
            model: model_digest.to_owned(),
            adapter: decided.adapter.as_deref().map(str::to_owned),
            prompt_template: decided.prompt_template.clone(),
            revisions: decided.revisions.map(crate::convert::revisions),
        },
    }
}

/// The places of levels as text: `0`, `1`, …
pub(crate) fn level_names() -> impl Iterator<Item = String> {
    (0_u32..).map(|level| level.to_string())
}

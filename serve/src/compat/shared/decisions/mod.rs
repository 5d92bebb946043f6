//! Decisions: typed questions about an input, answered with probabilities. Three interfaces have
//! them: OpenAI's, `SGLang`'s and System One's. Each is parsed to a common request and a [`Wire`].
//! Their routes are in `shared_routes`.

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

/// A decision request of any interface.
#[derive(Debug)]
pub(crate) struct DecisionQuery {
    /// The model or adapter; `None` for the only model.
    pub(crate) model: Option<String>,
    pub(crate) input: DecisionInput,
    pub(crate) questions: Vec<Question>,
    pub(crate) template_kwargs: Map<String, Value>,
    /// Temperature that replaces the model's calibration.
    pub(crate) temperature: Option<f64>,
    /// Cached prefixes are shared only among requests with the same key.
    pub(crate) cache_key: Option<String>,
}

/// Paths and replies of an interface.
pub(crate) trait Wire {
    /// Returns the JSON path of a field of a question.
    fn path(&self, question: usize, place: FieldPath) -> String;

    /// Returns the JSON path of the input.
    fn input_path(&self) -> &'static str;

    /// Serialises the reply.
    fn reply(self, model: String, decided: Decisions, notes: DecisionNotes) -> Json;
}

pub(crate) fn check_questions(count: usize) -> Result<(), ApiError> {
    check_count("questions", count, 1..=MAX_QUESTIONS)
}

/// Refuses template switches that would make the model reason instead of answer.
///
/// # Errors
/// 422 at the switch.
pub(crate) fn check_template_kwargs(kwargs: &Map<String, Value>) -> Result<(), ApiError> {
    for switch in REASONING_SWITCHES {
        if kwargs.get(switch).is_some_and(|value| *value != Value::Bool(false)) {
            let what = "must be false or left out: the answer is the first token";
            return Err(invalid(format!("chat_template_kwargs.{switch}"), what));
        }
    }
    Ok(())
}

/// Converts an input that is text or JSON.
pub(crate) fn document(path: &str, given: &TextOrJson) -> Result<DecisionInput, ApiError> {
    if given.is_blank() {
        return Err(invalid(path, "there is nothing to ask about: it is blank"));
    }
    Ok(DecisionInput::text(given.text()))
}

/// Converts an option with its meaning.
pub(crate) fn alternative(text: impl Into<String>, meaning: Option<&TextOrJson>) -> Alternative {
    let meaning = meaning.filter(|meaning| !meaning.is_blank());
    Alternative {
        text: text.into(),
        description: meaning.map(|meaning| meaning.text().into_owned()),
    }
}

/// Returns the extension fields of an answer.
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

/// Returns the extension fields of a reply.
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

/// Returns level numbers as text: `0`, `1`, …
pub(crate) fn level_names() -> impl Iterator<Item = String> {
    (0_u32..).map(|level| level.to_string())
}

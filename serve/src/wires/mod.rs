//! Shapes of requests and replies that others have defined, as translations onto our own.
//!
//! One file a wire. Nothing here decides anything: what is asked becomes inputs of
//! [`rubrics::score`], questions, or sequences for an engine, and what comes back is put into the
//! client's terms, errors in its own [`Dialect`]. The shapes of decisions become [`Asked`]; their
//! routes are in `crate::routes`.

mod base64;
mod dialect;
mod failures;
pub(crate) mod graders;
pub(crate) mod nemo_gym;
mod next_token;
pub(crate) mod nim;
pub(crate) mod openai_batches;
pub(crate) mod openai_decisions;
pub(crate) mod openrlhf;
mod pairs;
mod pooled;
mod reading;
mod rendered;
pub(crate) mod sglang;
pub(crate) mod sglang_decisions;
pub(crate) mod slime;
pub(crate) mod systemone;
mod target;
pub(crate) mod tei;
mod verdict;
pub(crate) mod vllm;

pub(crate) use dialect::{Dialect, Refusal};
pub(crate) use reading::salt;

use openapi::{
    AnswerNotes, DecisionDigests, DecisionNotes, LabelMethod, MAX_INPUTS, MAX_QUESTIONS, TextOrJson,
};
use rubrics::decide::{
    Alternative, Decided, DecisionAnswer, DecisionInput, Method, Place, Question,
    REASONING_SWITCHES,
};
use serde_json::{Map, Value};

use crate::error::{ApiError, Code};

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
    fn path(&self, question: usize, place: Place) -> String;

    /// JSON path of what the questions are about.
    fn input_path(&self) -> &'static str;

    /// The reply to what was decided, as JSON.
    fn reply(self, model: String, decided: Decided, notes: DecisionNotes) -> Json;
}

/// The bytes of a reply.
pub(crate) type Json = serde_json::Result<Vec<u8>>;

/// 422 at a place of the body.
pub(crate) fn invalid(path: impl Into<String>, what: impl std::fmt::Display) -> ApiError {
    let path = path.into();
    ApiError::new(Code::InvalidBody, format!("{path}: {what}")).at(path)
}

pub(crate) fn check_count(
    path: &str,
    count: usize,
    range: std::ops::RangeInclusive<usize>,
) -> Result<(), ApiError> {
    if range.contains(&count) {
        return Ok(());
    }
    let (least, most) = (range.start(), range.end());
    Err(invalid(path, format_args!("{count} given; {least} to {most} are taken")))
}

/// How many samples a request may have; none is a number too.
pub(crate) fn check_samples(path: &str, count: usize) -> Result<(), ApiError> {
    check_count(path, count, 0..=MAX_INPUTS)
}

pub(crate) fn check_questions(count: usize) -> Result<(), ApiError> {
    check_count("questions", count, 1..=MAX_QUESTIONS)
}

/// Refuses fields that are there and have no meaning for this type of object.
pub(crate) fn refuse(
    path: &str,
    kind: &str,
    fields: impl IntoIterator<Item = (&'static str, bool)>,
) -> Result<(), ApiError> {
    match fields.into_iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((field, _)) => {
            Err(invalid(format!("{path}.{field}"), format_args!("a {kind} has no such field")))
        }
    }
}

pub(crate) fn refuse_images(images: &[Value]) -> Result<(), ApiError> {
    if images.is_empty() {
        return Ok(());
    }
    Err(invalid("images[0]", NO_IMAGES))
}

/// Why an image is refused.
pub(crate) const NO_IMAGES: &str = "images are not read here: the models take text alone";

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
pub(crate) fn reply_notes(decided: &Decided, model_digest: &str) -> DecisionNotes {
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

//! Typed questions, answered from the probabilities of labels at one position. No text is
//! generated.
//!
//! [`prepare`] makes the prompts, which takes processor time; [`Prepared::run`] waits for the
//! engine; [`decide`] does both. It does not depend on a wire format: the HTTP routes and the
//! scorers of principles share it.

mod answer;
mod calibration;
mod encode;
mod error;
mod prompt;
mod question;
mod run;

use std::sync::Arc;

use engine::{Engine, Host, RequestParams};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

pub use crate::calibration::{Calibration, Temperature};
pub use answer::{DecisionAnswer, DecisionVerdict, Method};
pub use calibration::{CalibrationError, Calibrations};
pub use error::{DecideError, FieldPath};
pub use prompt::PROMPT_FORMAT;
pub use question::{Alternative, DecisionInput, InputPart, MessageSource, Question, QuestionKind};

pub(crate) use encode::PROMPTS;
pub use encode::REASONING_SWITCHES;

use encode::{Encoded, Encoder, Labels};

/// Options of decisions.
#[derive(Debug, Clone, Default)]
pub struct DecideOptions {
    /// The adapter that answers, or none for the model itself.
    pub adapter: Option<Arc<str>>,
    /// Calibration of the probabilities.
    pub calibrations: Option<Arc<Calibrations>>,
    /// Switches of the chat template. Those that turn reasoning on are off unless they are given:
    /// an answer is the first token after the prompt.
    pub template_kwargs: Map<String, Value>,
}

/// The answers of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Decisions {
    /// One for each question, in order.
    pub answers: Vec<DecisionAnswer>,
    /// Tokens: of the input those of every sequence that was read, so that what the questions
    /// share counts once for each.
    pub usage: engine::Usage,
    /// Digest of the adapter that answered.
    pub adapter: Option<Arc<str>>,
    /// Digest of the wording and the chat template.
    pub prompt_template: String,
    /// Revisions of the weights that it was computed under, where they change while the model is
    /// served.
    pub revisions: Option<engine::Revisions>,
}

/// Questions as tokens, ready for the engine.
#[derive(Debug)]
pub struct Prepared {
    engine: Engine,
    adapter: Option<Arc<str>>,
    calibrations: Option<Arc<Calibrations>>,
    planned: Vec<Planned>,
    prompt_template: String,
    /// Whether the model is trained while it is served.
    is_live: bool,
}

/// One question and its tokens.
#[derive(Debug)]
struct Planned {
    question: Question,
    encoded: Encoded,
}

/// Asks a model questions about an input. Encoding the prompts takes a while for long inputs and
/// many questions: an event loop calls [`prepare`] on a thread that may block, and then
/// [`Prepared::run`].
///
/// # Errors
/// [`DecideError`]; there are answers to all questions or to none.
pub async fn decide(
    host: &Host,
    input: &DecisionInput,
    questions: Vec<Question>,
    asking: DecideOptions,
    params: RequestParams,
) -> Result<Decisions, DecideError> {
    prepare(host, input, questions, asking)?.run(params).await
}

/// Makes the prompts and checks questions, labels and lengths.
///
/// # Errors
/// [`DecideError::Question`] and [`DecideError::TooLong`] name the question;
/// [`DecideError::TextTooLong`] an input that is refused by its length;
/// [`DecideError::Unsupported`] names what the model lacks. Nothing was computed then.
pub fn prepare(
    host: &Host,
    input: &DecisionInput,
    questions: Vec<Question>,
    asking: DecideOptions,
) -> Result<Prepared, DecideError> {
    let limits = host.engine.limits();
    if !limits.has_vocabulary {
        let what = "it has no vocabulary head to read labels from";
        return Err(DecideError::Unsupported(what.to_owned()));
    }
    let tokenizer = &host.tokenizer;
    let max = host.max_text_bytes();
    let tokens = |text: &str| {
        let given = text.len();
        if given > max {
            return Err(DecideError::TextTooLong { given, max });
        }
        let ids = tokenizer.encode_untrusted(text, false);
        ids.map_err(|error| DecideError::Unsupported(error.to_string()))
    };
    for (index, question) in questions.iter().enumerate() {
        question.check(index, tokens)?;
    }
    let given = input.text_bytes();
    if given > max {
        return Err(DecideError::TextTooLong { given, max });
    }
    let mut encoder = Encoder::new(host, input, asking.template_kwargs)?;
    let mut planned = Vec::with_capacity(questions.len());
    for (index, question) in questions.into_iter().enumerate() {
        let labels = question.labels();
        let block = prompt::question_block(&question, &labels);
        let encoded = encoder.encode(&block, &labels)?;
        check_length(index, &encoded, limits)?;
        planned.push(Planned { question, encoded });
    }
    Ok(Prepared {
        engine: host.engine.clone(),
        adapter: asking.adapter,
        calibrations: asking.calibrations,
        planned,
        prompt_template: template_digest(&tokenizer.template().digest()),
        is_live: host.is_live(),
    })
}

fn check_length(
    question: usize,
    encoded: &Encoded,
    limits: &engine::RequestLimits,
) -> Result<(), DecideError> {
    let longest = match &encoded.labels {
        Labels::Columns(_) => 0,
        Labels::Continuations(all) => all.iter().map(Vec::len).max().unwrap_or(0),
    };
    let given = encoded.prompt.len() + longest;
    let (max, holder) = [
        (limits.max_positions, "the context"),
        (limits.kv_tokens, "the KV memory"),
        (limits.queue_tokens, "the queue"),
    ]
    .into_iter()
    .min_by_key(|(max, _)| *max)
    .expect("there are three");
    if given <= max {
        return Ok(());
    }
    Err(DecideError::TooLong { question, given, max, holder })
}

/// Digest of our wording and the chat template of the model.
fn template_digest(chat_template: &str) -> String {
    let mut hash = Sha256::new();
    for part in prompt::WORDING.iter().copied().chain([chat_template]) {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().iter().fold("sha256:".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}

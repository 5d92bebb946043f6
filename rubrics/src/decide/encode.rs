//! Prompts and labels as tokens.
//!
//! The input is encoded once for all questions if the tokenizer encodes input and question
//! separately as it does together; a prompt's tokens are then those of the two parts. Fixed probes
//! decide this, independent of requests, so that a question's tokens do not depend on other
//! questions.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use engine::{Conversation, Host, LocalTime, Origin, Text, Tokenizer};
use serde_json::{Map, Value, json};

use super::error::DecideError;
use super::prompt;
use super::question::DecisionInput;
use crate::prompt::leaves_reasoning_open;

/// The date in every prompt: an answer must not change with the calendar.
const TODAY: LocalTime = LocalTime { year: 2026, month: 1, day: 1, hour: 0, minute: 0, second: 0 };
/// Template switches that enable reasoning; false unless given. The answer is the first token after
/// the prompt, so reasoning would leave no answer there.
pub const REASONING_SWITCHES: [&str; 2] = ["enable_thinking", "thinking"];
/// The target of log lines that have whole prompts, at the level `trace`.
pub(crate) const PROMPTS: &str = "prompts";
/// Text between prompt and label; the first variant that fits all labels of a question is used.
const VARIANTS: [&str; 2] = ["", " "];

/// A question as tokens.
#[derive(Debug)]
pub(super) struct Encoded {
    pub(super) prompt: Arc<[u32]>,
    pub(super) labels: Labels,
}

/// Encoding of labels after a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Labels {
    /// Each is one token, and no two are the same.
    Columns(Arc<[u32]>),
    /// The tokens of each, with the end of the turn.
    Continuations(Vec<Vec<u32>>),
}

/// Encodes the questions of one request.
pub(super) struct Encoder<'a> {
    tokenizer: &'a Tokenizer,
    /// The longest text in bytes that is encoded.
    max_text_bytes: usize,
    switches: Map<String, Value>,
    /// The input block.
    input: String,
    splits: bool,
    /// The rendered text before the question, and its tokens: the same for all questions.
    head: Option<(Text, Vec<u32>)>,
    /// Known labels after the end of a template.
    known: HashMap<(String, Vec<String>), Option<Labels>>,
}

/// A rendered prompt in parts.
struct Pieces {
    whole: Text,
    /// Before the question block.
    head: Text,
    /// From the question block on.
    rest: Text,
    /// After the question block: the template's own.
    suffix: Text,
}

impl<'a> Encoder<'a> {
    /// For questions about an input.
    ///
    /// # Errors
    /// [`DecideError::Unsupported`] where the model has no template or the template refuses.
    pub(super) fn new(
        host: &'a Host,
        input: &DecisionInput,
        mut switches: Map<String, Value>,
    ) -> Result<Self, DecideError> {
        for switch in REASONING_SWITCHES {
            switches.entry(switch).or_insert(Value::Bool(false));
        }
        let mut encoder = Self {
            tokenizer: &host.tokenizer,
            max_text_bytes: host.max_text_bytes(),
            switches,
            input: prompt::input_block(input),
            splits: false,
            head: None,
            known: HashMap::new(),
        };
        encoder.splits = encoder.probe()?;
        Ok(encoder)
    }

    /// The tokens of a question's prompt and of its labels.
    ///
    /// # Errors
    /// [`DecideError::Unsupported`] and [`DecideError::TextTooLong`].
    pub(super) fn encode(
        &mut self,
        question_block: &str,
        labels: &[String],
    ) -> Result<Encoded, DecideError> {
        let pieces = self.render(&self.input, question_block)?;
        tracing::trace!(target: PROMPTS, "{}", pieces.whole.as_str());
        refuse_open_reasoning(pieces.suffix.as_str())?;
        let rest_ids = self.ids(&pieces.rest)?;
        let prompt: Vec<u32> = if self.splits {
            [self.head_ids(&pieces.head)?, &rest_ids].concat()
        } else {
            self.ids(&pieces.whole)?
        };
        let labels = self.labels(&pieces, &prompt, &rest_ids, labels)?.ok_or_else(|| {
            let what = "no way was found to write the answer labels as tokens of their own";
            DecideError::Unsupported(what.to_owned())
        })?;
        Ok(Encoded { prompt: prompt.into(), labels })
    }

    fn render(&self, input_block: &str, question_block: &str) -> Result<Pieces, DecideError> {
        let content = [input_block, question_block].concat();
        let conversation = Conversation {
            messages: vec![json!({ "role": "user", "content": content })],
            add_generation_prompt: true,
            kwargs: self.switches.clone(),
            now: Some(TODAY),
            ..Conversation::default()
        };
        let rendered = self.tokenizer.template().render(&conversation);
        let text = rendered.map_err(unsupported)?.text;
        let whole = text.as_str();
        // A template that changes what it is given is read as a whole.
        let (cut, end) = match whole.rfind(question_block) {
            Some(cut) => (cut, cut + question_block.len()),
            None => (0, whole.len()),
        };
        Ok(Pieces {
            head: text.part(0..cut),
            rest: text.part(cut..whole.len()),
            suffix: text.part(end..whole.len()),
            whole: text,
        })
    }

    /// Whether the tokenizer encodes the two parts of a prompt as it encodes the joined text.
    fn probe(&self) -> Result<bool, DecideError> {
        for text in ["a", "1.", "b c "] {
            let input = prompt::input_block(&DecisionInput::text(text));
            let pieces = self.render(&input, "Question: a?\nYes.")?;
            let parts = [self.ids(&pieces.head)?, self.ids(&pieces.rest)?].concat();
            if parts != self.ids(&pieces.whole)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn head_ids(&mut self, head: &Text) -> Result<&[u32], DecideError> {
        if self.head.as_ref().is_none_or(|(known, _)| known != head) {
            self.head = Some((head.clone(), self.ids(head)?));
        }
        let (_, ids) = self.head.as_ref().expect("it was put there above");
        Ok(ids)
    }

    fn ids(&self, text: &Text) -> Result<Vec<u32>, DecideError> {
        let (given, max) = (text.as_str().len(), self.max_text_bytes);
        if given > max {
            return Err(DecideError::TextTooLong { given, max });
        }
        self.tokenizer.encode_text(text).map_err(unsupported)
    }

    /// Returns the labels after this prompt. A special token in the template's end separates the
    /// texts before and after it; the labels are then the same after every question.
    fn labels(
        &mut self,
        pieces: &Pieces,
        prompt: &[u32],
        rest_ids: &[u32],
        labels: &[String],
    ) -> Result<Option<Labels>, DecideError> {
        let suffix_ids = self.ids(&pieces.suffix)?;
        let parted = suffix_ids
            .iter()
            .rposition(|id| self.tokenizer.is_special(*id))
            .is_some_and(|at| prompt.ends_with(&suffix_ids[at..]));
        if !parted {
            return self.find(&pieces.rest, rest_ids, labels);
        }
        let key = (pieces.suffix.as_str().to_owned(), labels.to_vec());
        if let Some(found) = self.known.get(&key) {
            return Ok(found.clone());
        }
        let found = self.find(&pieces.suffix, &suffix_ids, labels)?;
        self.known.insert(key, found.clone());
        Ok(found)
    }

    fn find(
        &self,
        before: &Text,
        ids: &[u32],
        labels: &[String],
    ) -> Result<Option<Labels>, DecideError> {
        let mut spelled: Vec<Vec<Vec<u32>>> = Vec::new();
        for variant in VARIANTS {
            let mut all = Vec::with_capacity(labels.len());
            for label in labels {
                let mut text = before.clone();
                text.push_str(&format!("{variant}{label}"), Origin::Request);
                let with = self.ids(&text)?;
                all.extend(with.strip_prefix(ids).map(<[u32]>::to_vec));
            }
            let distinct: BTreeSet<&Vec<u32>> = all.iter().collect();
            if distinct.len() == labels.len() {
                if all.iter().all(|label| label.len() == 1) {
                    return Ok(Some(Labels::Columns(all.concat().into())));
                }
                spelled.push(all);
            }
        }
        let Some(mut continuations) = spelled.into_iter().next() else {
            return Ok(None);
        };
        // With the end of the turn no label is the beginning of another.
        let end = self.end_of_turn()?;
        for label in &mut continuations {
            label.push(end);
        }
        Ok(Some(Labels::Continuations(continuations)))
    }

    fn end_of_turn(&self) -> Result<u32, DecideError> {
        let named = self.tokenizer.named_id("eos_token");
        named.or_else(|| self.tokenizer.eos_ids().first().copied()).ok_or_else(|| {
            let what = "its labels are more than one token each, and it names no token that \
                            ends a turn";
            DecideError::Unsupported(what.to_owned())
        })
    }
}

/// Refuses a template that leaves a reasoning block open: the answer would be reasoning.
fn refuse_open_reasoning(suffix: &str) -> Result<(), DecideError> {
    if leaves_reasoning_open(suffix) {
        let what = "its chat template leaves a reasoning block open where the answer would begin";
        return Err(DecideError::Unsupported(what.to_owned()));
    }
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to map_err")]
fn unsupported(error: impl ToString) -> DecideError {
    DecideError::Unsupported(error.to_string())
}

//! Options that several kinds read, under the same keys and with the same meaning.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use verifiers::Reason;
use verifiers::extract::visible;

use crate::config::Section;
use crate::engine_client::Writing;
use crate::labels::{SPELLINGS, Spelling};
use crate::outcome::Score;
use crate::prompt::{MessageTemplate, Prompt};

/// Default of `min_label_mass`.
const LEAST_LABEL_MASS: f64 = 0.5;
/// More than any judgement needs; it keeps a mistyped number from holding an engine.
const MOST_TOKENS: u64 = 1 << 17;

/// Options of reading verdict tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct LabelOptions {
    /// `min_label_mass`: the least total probability of the labels for a verdict.
    pub(crate) min_label_mass: f64,
    /// `spellings`: which spellings of a label count.
    pub(crate) spellings: Spelling,
}

impl LabelOptions {
    /// `min_label_mass` (0.5) and `spellings` (`both`).
    pub(crate) fn read(section: &Section<'_, '_>) -> Self {
        Self {
            min_label_mass: read_share(section, "min_label_mass").unwrap_or(LEAST_LABEL_MASS),
            spellings: section.word("spellings", SPELLINGS).unwrap_or_default(),
        }
    }
}

/// Options of generated texts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct WritingOptions {
    /// `max_tokens`: a text that reaches it is a failure.
    pub(crate) max_tokens: usize,
    /// `temperature`: 0 for the likeliest token each time.
    pub(crate) temperature: f32,
    /// `top_p`.
    pub(crate) top_p: f32,
    /// `top_k`.
    pub(crate) top_k: Option<usize>,
    /// `reasoning`: whether the template's reasoning switches are on.
    pub(crate) reasoning: bool,
}

impl WritingOptions {
    /// Without chance, without reasoning.
    pub(crate) fn greedy(max_tokens: usize) -> Self {
        Self { max_tokens, temperature: 0.0, top_p: 1.0, top_k: None, reasoning: false }
    }

    /// `max_tokens`, `temperature`, `top_p`, `top_k` and `reasoning`, with a kind's defaults.
    pub(crate) fn read(section: &Section<'_, '_>, default: Self) -> Self {
        let count = |key, range| {
            let number = section.integer(key, range);
            number.and_then(|number| usize::try_from(number).ok())
        };
        let within = |key, least: f64, most: f64| {
            let number = number_within(section, key, least, most)?;
            #[expect(clippy::cast_possible_truncation, reason = "sampling is in f32")]
            Some(number as f32)
        };
        Self {
            max_tokens: count("max_tokens", 1..MOST_TOKENS + 1).unwrap_or(default.max_tokens),
            temperature: within("temperature", 0.0, 100.0).unwrap_or(default.temperature),
            top_p: within("top_p", f64::from(f32::EPSILON), 1.0).unwrap_or(default.top_p),
            top_k: count("top_k", 1..1 << 20).or(default.top_k),
            reasoning: section.boolean("reasoning").unwrap_or(default.reasoning),
        }
    }

    /// Parameters of one text; `stream` comes from [`crate::engine_client::stream_of`].
    pub(crate) fn writing(&self, stream: u64) -> Writing {
        Writing {
            max_tokens: self.max_tokens,
            temperature: self.temperature,
            top_p: self.top_p,
            top_k: self.top_k,
            stream,
            logprobs: None,
            grammar: None,
        }
    }
}

/// Whether a judge sees what the policy thought.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Thinking {
    /// Only what a user would see.
    #[default]
    Drop,
    /// The response as it is.
    Keep,
}

impl Thinking {
    /// `thinking` (`drop`).
    pub(crate) fn read(section: &Section<'_, '_>) -> Self {
        let words = [("drop", Self::Drop), ("keep", Self::Keep)];
        section.word("thinking", &words).unwrap_or_default()
    }

    /// The text of a response that is judged.
    pub(crate) fn shown(self, response: &str) -> Cow<'_, str> {
        match self {
            Self::Keep => Cow::Borrowed(response),
            Self::Drop => match visible(response).ranges() {
                [all] if *all == (0..response.len()) => Cow::Borrowed(response),
                ranges => {
                    let text: String = ranges.iter().map(|part| &response[part.clone()]).collect();
                    Cow::Owned(text.trim().to_owned())
                }
            },
        }
    }
}

/// The least score of a kind whose scores begin at 0, for a response that is nothing but thoughts.
pub(crate) fn nothing_shown() -> Score {
    let detail = "nothing is left of the response without its thinking";
    Score {
        label: Some("too_little_content".into()),
        ..Score::proven(0.0, Reason::with("too_little_content", detail))
    }
}

/// The slots that a kind fills.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slots<'a> {
    /// Those that every wording must have.
    pub(crate) needed: &'a [&'a str],
    /// Those that a wording may have as well.
    pub(crate) optional: &'a [&'a str],
}

/// A prompt in a scorer's options, represented by its digest.
#[derive(Debug, Clone)]
pub(crate) struct Wording(Arc<Prompt>);

impl Wording {
    /// One that comes with the crate.
    pub(crate) fn built_in(name: &str) -> Self {
        Self(Prompt::built_in(name))
    }

    /// The `[[scorer.message]]` tables of a scorer, or the built-in prompt where there are none.
    /// `None` where a table is wrong; why has become a problem.
    pub(crate) fn read(section: &Section<'_, '_>, name: &str, slots: Slots<'_>) -> Option<Self> {
        Self::read_from(section, "message", name, slots)
    }

    /// Reads a wording from tables of another name, for kinds with several wordings.
    pub(crate) fn read_from(
        section: &Section<'_, '_>,
        key: &'static str,
        name: &str,
        slots: Slots<'_>,
    ) -> Option<Self> {
        if !section.has(key) {
            return Some(Self::built_in(name));
        }
        let tables = section.sections(key).into_iter();
        let messages = tables.map(|table| {
            let (role, content) = (table.required_text("role"), table.required_text("content"));
            table.finish();
            Some(MessageTemplate { role: role?, content: content? })
        });
        // Every table is read before an error returns, so that all problems are reported.
        let messages: Vec<Option<MessageTemplate>> = messages.collect();
        let messages: Vec<MessageTemplate> = messages.into_iter().collect::<Option<_>>()?;
        match custom(&messages, slots) {
            Ok(prompt) => Some(Self(Arc::new(prompt))),
            Err(what) => {
                section.problem(key, what);
                None
            }
        }
    }
}

impl Deref for Wording {
    type Target = Prompt;

    fn deref(&self) -> &Prompt {
        &self.0
    }
}

impl Serialize for Wording {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.digest)
    }
}

fn custom(messages: &[MessageTemplate], slots: Slots<'_>) -> Result<Prompt, String> {
    if messages.is_empty() {
        return Err("a wording has at least one message".to_owned());
    }
    let prompt = Prompt::new("custom", 1, messages)?;
    let given = prompt.slots();
    let known = || slots.needed.iter().chain(slots.optional).copied();
    if let Some(unknown) = given.iter().find(|slot| !known().any(|k| k == **slot)) {
        let names: Vec<&str> = known().collect();
        let names = names.join(", ");
        return Err(format!("no slot '{unknown}' here; the slots are {names}"));
    }
    if let Some(missing) = slots.needed.iter().find(|slot| !given.contains(slot)) {
        return Err(format!("the wording must have the slot '{missing}'"));
    }
    Ok(prompt)
}

/// A number from 0 to 1.
pub(crate) fn read_share(section: &Section<'_, '_>, key: &'static str) -> Option<f64> {
    number_within(section, key, 0.0, 1.0)
}

/// A number from `least` to `most`.
pub(crate) fn number_within(
    section: &Section<'_, '_>,
    key: &'static str,
    least: f64,
    most: f64,
) -> Option<f64> {
    let number = section.number(key)?;
    if (least..=most).contains(&number) {
        return Some(number);
    }
    section.problem(key, format!("must be from {least} to {most}"));
    None
}

#[cfg(test)]
mod tests;

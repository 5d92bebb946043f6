//! The gold answer of a multiple-choice question: the right labels and their texts.

use serde_json::{Map, Value};

use super::clean::clean;
use super::labels::{Alphabet, ChoiceLabel, LabelSet};
use super::read;
use crate::Reason;
use crate::accepted::quoted;
use crate::text::fold;

/// A gold answer, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AnswerKey {
    pub(super) answer: LabelSet,
    pub(super) alphabet: Alphabet,
    choices: Vec<Choice>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Choice {
    label: ChoiceLabel,
    /// The text as a text.
    plain: String,
    /// The text without typesetting.
    clean: String,
}

impl AnswerKey {
    /// Reads a gold text: `B`, `(B)`, `B.`, `B)`; where `multiple`, also `A, C` and `AC`.
    pub(super) fn from_text(text: &str, multiple: bool) -> Result<Self, Reason> {
        let answer = labels_of(text, multiple)?;
        Self::new(answer, multiple)
    }

    /// Reads `{"answer": …, "choices": …}`.
    pub(super) fn from_object(fields: &Map<String, Value>, multiple: bool) -> Result<Self, Reason> {
        let known = |field: &str| matches!(field, "answer" | "choices");
        if let Some(field) = fields.keys().find(|field| !known(field)) {
            let detail = format!("unknown field {}, known: answer, choices", quoted(field));
            return Err(Reason::with("reference_field", detail));
        }
        let mut key = Self::new(answer_of(fields.get("answer"), multiple)?, multiple)?;
        if let Some(choices) = fields.get("choices") {
            key.choices = choices_of(choices, key.alphabet)?;
            let mut known = LabelSet::default();
            for choice in &key.choices {
                known.insert(choice.label);
            }
            let mut all = known;
            all.extend(key.answer);
            if all != known {
                let detail = format!("the answer is {}, the choices are {known}", key.answer);
                return Err(Reason::with("reference_label", detail));
            }
        }
        Ok(key)
    }

    fn new(answer: LabelSet, multiple: bool) -> Result<Self, Reason> {
        if answer.len() > 1 && !multiple {
            let detail = format!("{answer} are several labels; set `multiple` to accept a set");
            return Err(Reason::with("reference_unreadable", detail));
        }
        let Some(alphabet) = answer.alphabet() else {
            let detail = format!("{answer}: letters and digits cannot be mixed");
            return Err(Reason::with("reference_unreadable", detail));
        };
        Ok(Self { answer, alphabet, choices: Vec::new() })
    }

    /// Returns whether `label` can be the label of a choice.
    pub(super) fn knows(&self, label: ChoiceLabel) -> bool {
        self.choices.is_empty() || self.choices.iter().any(|choice| choice.label == label)
    }

    /// Returns the labels of the choices whose text is `text`, as it stands in `raw` or without
    /// typesetting and lead-ins in `core`. Empty where there is none, or no choices are known.
    pub(super) fn by_content(&self, raw: &str, core: &str) -> LabelSet {
        if self.choices.is_empty() {
            return LabelSet::default();
        }
        let plain = content_key(raw);
        let found = self.labels_where(|choice| choice.plain == plain);
        if !found.is_empty() {
            return found;
        }
        let core = content_key(core);
        let found = self.labels_where(|choice| choice.clean == core);
        // Choices that differ only in typesetting are indistinguishable here.
        if found.len() == 1 { found } else { LabelSet::default() }
    }

    /// Decides whether `content` is the text of the choice `label`; `None` if its text is not
    /// known.
    pub(super) fn agrees(&self, label: ChoiceLabel, content: &str) -> Option<bool> {
        let choice = self.choices.iter().find(|choice| choice.label == label)?;
        if choice.clean.is_empty() {
            return None;
        }
        let content = content_key(content);
        Some(choice.clean == content || choice.plain == content)
    }

    /// Returns whether the text of a choice begins as a reason does, so that one after a label may be
    /// meant for it.
    pub(super) fn has_reasons(&self) -> bool {
        self.choices.iter().any(|choice| read::is_reason(&choice.clean))
    }

    fn labels_where(&self, holds: impl Fn(&Choice) -> bool) -> LabelSet {
        let mut labels = LabelSet::default();
        for choice in &self.choices {
            if !choice.plain.is_empty() && holds(choice) {
                labels.insert(choice.label);
            }
        }
        labels
    }
}

/// Returns the form in which texts of choices are compared.
fn content_key(text: &str) -> String {
    fold(read::outer(text))
}

fn labels_of(text: &str, multiple: bool) -> Result<LabelSet, Reason> {
    let text = clean(text);
    let text = read::outer(&text);
    if text.is_empty() {
        return Err(Reason::with("reference_empty", "the reference is empty"));
    }
    let listed = read::list(text, Alphabet::Letters).or(read::list(text, Alphabet::Digits));
    match listed {
        Some(list) if !list.either => Ok(list.labels),
        Some(_) | None => read::concatenated(text).filter(|_| multiple).ok_or_else(|| {
            let detail = format!("{} is not the label of a choice", quoted(text));
            Reason::with("reference_unreadable", detail)
        }),
    }
}

fn answer_of(answer: Option<&Value>, multiple: bool) -> Result<LabelSet, Reason> {
    match answer {
        Some(Value::String(text)) => labels_of(text, multiple),
        Some(Value::Array(parts)) if !parts.is_empty() => {
            let mut labels = LabelSet::default();
            for part in parts {
                labels.extend(labels_of(text_of(part, "answer")?, multiple)?);
            }
            Ok(labels)
        }
        Some(_) | None => Err(Reason::with(
            "reference_type",
            "`answer` must be a label, such as \"B\", or a list of labels",
        )),
    }
}

fn choices_of(choices: &Value, alphabet: Alphabet) -> Result<Vec<Choice>, Reason> {
    let mut found = Vec::new();
    let mut seen = LabelSet::default();
    let mut add = |label: Option<ChoiceLabel>, text: &Value| {
        let label = label.filter(|label| label.alphabet() == alphabet && seen.insert(*label));
        let Some(label) = label else {
            return Err(Reason::with(
                "reference_label",
                "`choices` needs one label each: A to Z where the answer is a letter, 1 to 9 \
                 where it is a digit",
            ));
        };
        let text = text_of(text, "choices")?;
        found.push(Choice { label, plain: content_key(text), clean: content_key(&clean(text)) });
        Ok(())
    };
    match choices {
        Value::Array(texts) => {
            for (index, text) in texts.iter().enumerate() {
                add(ChoiceLabel::at(index, alphabet), text)?;
            }
        }
        Value::Object(texts) => {
            for (name, text) in texts {
                let labels = labels_of(name, false)?;
                add(labels.only(), text)?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            return Err(Reason::with(
                "reference_type",
                "`choices` must be a list of texts or an object from labels to texts",
            ));
        }
    }
    Ok(found)
}

fn text_of<'a>(value: &'a Value, field: &str) -> Result<&'a str, Reason> {
    value.as_str().ok_or_else(|| {
        let detail = format!("`{field}` must hold texts, not {}", quoted(&value.to_string()));
        Reason::with("reference_type", detail)
    })
}

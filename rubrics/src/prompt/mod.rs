//! Prompts: versioned files under `rubrics/prompts`, and the texts of a request put into them.
//!
//! A prompt is a TOML file: a name, a version, and messages whose contents have slots,
//! `{{slot|form}}`. The form defines how a text is confined to its slot, so that no text of a
//! request can pass for ours:
//!
//! | form | what becomes of the text |
//! |---|---|
//! | `quoted` | every line begins with `> ` |
//! | `line` | one line: every line break becomes a space |
//! | `triple` | as it is, but `"""` becomes `'''`, for places between triple quotes |
//! | `raw` | as it is: for our own texts, and for messages that hold nothing else |
//!
//! `rubrics/prompts/versions.tsv` holds the digest of every version. A wording that changes without
//! its version fails a test, and the digest is part of each verdict.

#[cfg(test)]
mod tests;
mod transcript;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};

use crate::Message;

pub(crate) use transcript::{lines, quoted, transcript};

/// The wording of one question.
#[derive(Debug, Clone)]
pub struct Prompt {
    /// Name in reports.
    pub name: String,
    /// Rises with every change of the wording.
    pub version: u32,
    messages: Vec<Template>,
    /// SHA-256 of the wording, as `sha256:…`.
    pub digest: Arc<str>,
}

/// A message with slots.
#[derive(Debug, Clone)]
struct Template {
    role: String,
    pieces: Vec<PromptSegment>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PromptSegment {
    Text(String),
    Slot { name: String, form: SlotForm },
}

/// Confinement of a text to its slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SlotForm {
    Quoted,
    Line,
    Triple,
    Raw,
}

/// The file as it is written.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PromptFile {
    name: String,
    version: u32,
    message: Vec<MessageTemplate>,
}

/// A message of a prompt as a file or a configuration writes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageTemplate {
    /// `system`, `user`, …
    pub role: String,
    /// Text with slots.
    pub content: String,
}

/// Every prompt that comes with the crate. A new file gets a line here and one in `versions.tsv`.
const FILES: &[&str] = &[
    include_str!("../../prompts/critic-retrospective.toml"),
    include_str!("../../prompts/critic-self-check.toml"),
    include_str!("../../prompts/critic-thoughts-right.toml"),
    include_str!("../../prompts/critic-thoughts-wrong.toml"),
    include_str!("../../prompts/critic-wrong-steps.toml"),
    include_str!("../../prompts/feedback-principles.toml"),
    include_str!("../../prompts/grounded-correct.toml"),
    include_str!("../../prompts/grounded-faithful.toml"),
    include_str!("../../prompts/grounded-sentence.toml"),
    include_str!("../../prompts/tool-verifier.toml"),
    include_str!("../../prompts/tool-verifier-label.toml"),
    include_str!("../../prompts/rubric-grade.toml"),
    include_str!("../../prompts/rubric-item.toml"),
    include_str!("../../prompts/rubric-scaffold.toml"),
    include_str!("../../prompts/rubric-tiers.toml"),
    include_str!("../../prompts/validate.toml"),
    include_str!("../../prompts/judge-grade.toml"),
    include_str!("../../prompts/judge-list.toml"),
    include_str!("../../prompts/judge-pair.toml"),
    include_str!("../../prompts/principle.toml"),
    include_str!("../../prompts/principle-evidence.toml"),
    include_str!("../../prompts/principle-reasoning.toml"),
];

static BUILT_IN: LazyLock<BTreeMap<String, Arc<Prompt>>> = LazyLock::new(|| {
    let read = |text: &&str| {
        let file: PromptFile =
            toml::from_str(text).expect("the prompts that come with us are valid");
        let prompt = Prompt::new(&file.name, file.version, &file.message);
        let prompt = prompt.expect("the prompts that come with us are valid");
        (file.name, Arc::new(prompt))
    };
    FILES.iter().map(read).collect()
});

impl Prompt {
    /// Returns a built-in prompt.
    ///
    /// # Panics
    /// If there is none of this name; names are literals in this crate.
    pub(crate) fn built_in(name: &str) -> Arc<Self> {
        let found = BUILT_IN.get(name);
        found.expect("the prompt comes with the crate").clone()
    }

    /// A prompt of messages with slots.
    ///
    /// # Errors
    /// A slot that cannot be read.
    pub fn new(name: &str, version: u32, messages: &[MessageTemplate]) -> Result<Self, String> {
        let templates = messages.iter().map(|message| {
            Ok(Template { role: message.role.clone(), pieces: pieces(&message.content)? })
        });
        let text = serde_json::to_string(messages).expect("messages serialise");
        Ok(Self {
            name: name.to_owned(),
            version,
            messages: templates.collect::<Result<_, String>>()?,
            digest: base::digest::of(text.as_bytes()).into(),
        })
    }

    /// The slots that the wording has, each once, in order.
    pub fn slots(&self) -> Vec<&str> {
        let mut slots = Vec::new();
        for piece in self.messages.iter().flat_map(|message| &message.pieces) {
            match piece {
                PromptSegment::Slot { name, .. } if !slots.contains(&name.as_str()) => {
                    slots.push(name);
                }
                PromptSegment::Slot { .. } | PromptSegment::Text(_) => {}
            }
        }
        slots
    }

    /// The messages with texts in their slots.
    ///
    /// # Panics
    /// Where a slot has no text: which slots there are is checked when a prompt is read.
    pub fn fill(&self, texts: &[(&str, &str)]) -> Vec<Message> {
        let text_of = |slot: &str| {
            let found = texts.iter().find(|(name, _)| *name == slot);
            found.expect("every slot of the wording has a text").1
        };
        let messages = self.messages.iter().map(|message| {
            let mut content = String::new();
            for piece in &message.pieces {
                match piece {
                    PromptSegment::Text(text) => content.push_str(text),
                    PromptSegment::Slot { name, form } => form.write(text_of(name), &mut content),
                }
            }
            Message { role: message.role.clone(), content }
        });
        messages.collect()
    }
}

impl SlotForm {
    fn write(self, text: &str, out: &mut String) {
        match self {
            Self::Quoted => out.push_str(quoted(text).trim_end_matches('\n')),
            Self::Line => {
                for (at, line) in lines(text).enumerate() {
                    if at > 0 {
                        out.push(' ');
                    }
                    out.push_str(line);
                }
            }
            Self::Triple => out.push_str(&text.replace("\"\"\"", "'''")),
            Self::Raw => out.push_str(text),
        }
    }
}

/// Whether a rendered prompt ends inside a reasoning block, so that an answer would be reasoning.
pub(crate) fn leaves_reasoning_open(prompt: &str) -> bool {
    prompt.rfind("<think>") > prompt.rfind("</think>")
}

fn pieces(content: &str) -> Result<Vec<PromptSegment>, String> {
    let mut pieces = Vec::new();
    let mut rest = content;
    while let Some(open) = rest.find("{{") {
        let Some(length) = rest[open..].find("}}") else {
            return Err("a slot is not closed".to_owned());
        };
        if open > 0 {
            pieces.push(PromptSegment::Text(rest[..open].to_owned()));
        }
        pieces.push(slot(&rest[open + 2..open + length])?);
        rest = &rest[open + length + 2..];
    }
    if !rest.is_empty() {
        pieces.push(PromptSegment::Text(rest.to_owned()));
    }
    Ok(pieces)
}

fn slot(inside: &str) -> Result<PromptSegment, String> {
    let (name, form) = inside.split_once('|').unwrap_or((inside, "quoted"));
    let form = match form.trim() {
        "quoted" => SlotForm::Quoted,
        "line" => SlotForm::Line,
        "triple" => SlotForm::Triple,
        "raw" => SlotForm::Raw,
        other => {
            return Err(format!(
                "the slot '{}' has the form '{other}'; there are quoted, line, triple and raw",
                name.trim()
            ));
        }
    };
    Ok(PromptSegment::Slot { name: name.trim().to_owned(), form })
}

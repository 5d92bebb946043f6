//! Served models by name, and rendering and encoding of prompts for them.

use std::fmt::Debug;
use std::sync::Arc;

use engine::{Conversation, Host, LocalTime, Text};
use serde_json::{Map, Value, json};

use sha2::{Digest as _, Sha256};

use crate::Message;
use crate::outcome::Failure;
use crate::prompt::Prompt;

/// The date in every prompt: a score must not change with the calendar.
const TODAY: LocalTime = LocalTime { year: 2026, month: 1, day: 1, hour: 0, minute: 0, second: 0 };

/// The models of a server, a command or a trainer, by the names that configurations use.
pub trait Models: Debug + Send + Sync {
    /// A model, or an adapter of one.
    fn find(&self, name: &str) -> Option<Served>;

    /// Up to three names similar to `given`, most similar first.
    fn near(&self, given: &str) -> Vec<Arc<str>>;
}

/// No models, for scorers that call none.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoModels;

impl Models for NoModels {
    fn find(&self, _: &str) -> Option<Served> {
        None
    }

    fn near(&self, _: &str) -> Vec<Arc<str>> {
        Vec::new()
    }
}

/// A model or an adapter under its name.
#[derive(Debug, Clone)]
pub struct Served {
    /// The model.
    pub host: Arc<Host>,
    /// The adapter; `None` for the model itself.
    pub adapter: Option<ServedAdapter>,
}

/// An adapter in service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedAdapter {
    /// The name in engine requests.
    pub name: Arc<str>,
    /// Digest of its content.
    pub digest: Arc<str>,
    /// Number of outputs of its own score head; `None` without one.
    pub head_labels: Option<usize>,
}

impl Served {
    /// The model called `name`, or its adapter called so; `None` if neither is.
    pub fn of(host: &Arc<Host>, name: &str) -> Option<Self> {
        if &*host.name == name {
            return Some(Self { host: host.clone(), adapter: None });
        }
        let adapters = host.engine.status().adapters.into_iter();
        let adapter = adapters.into_iter().find(|known| &*known.name == name)?;
        Some(Self {
            host: host.clone(),
            adapter: Some(ServedAdapter {
                name: adapter.name,
                digest: adapter.digest,
                head_labels: adapter.head_labels,
            }),
        })
    }

    /// The name of the adapter, else of the model.
    pub fn name(&self) -> &Arc<str> {
        self.adapter.as_ref().map_or(&self.host.name, |adapter| &adapter.name)
    }

    /// Number of outputs of the adapter's score head, else of the model's; `None` without a head.
    pub fn head_labels(&self) -> Option<usize> {
        let own = self.adapter.as_ref().and_then(|a| a.head_labels);
        own.or(self.host.engine.limits().head_labels)
    }

    /// Whether it has a vocabulary head, for labels and texts.
    pub fn has_vocabulary(&self) -> bool {
        self.host.engine.limits().has_vocabulary
    }

    /// Renders a conversation with the model's chat template.
    ///
    /// # Errors
    /// The message of the template.
    pub fn render(&self, chat: &Chat<'_>) -> Result<Text, String> {
        let messages = chat.turns.iter();
        let mut kwargs = chat.switches.clone();
        for switch in crate::decide::REASONING_SWITCHES {
            kwargs.entry(switch).or_insert(Value::Bool(chat.reasoning));
        }
        let conversation = Conversation {
            messages: messages
                .map(|turn| json!({ "role": turn.role, "content": turn.content }))
                .collect(),
            add_generation_prompt: chat.open,
            kwargs,
            now: Some(TODAY),
            ..Conversation::default()
        };
        let rendered = self.host.tokenizer.template().render(&conversation);
        rendered.map(|rendered| rendered.text).map_err(|error| error.to_string())
    }

    /// The tokens of a rendered text. Only what the template wrote gives special tokens.
    ///
    /// # Errors
    /// A text that is too long, or the tokenizer's own failure.
    pub fn encode(&self, text: &Text) -> Result<Vec<u32>, String> {
        let encoded = self.host.tokenizer.encode_text(text);
        encoded.map_err(|error| error.to_string())
    }

    /// The tokens of a prompt. A text that is too long for the context is refused by its length,
    /// because encoding it takes far more time and memory than it has bytes.
    ///
    /// # Errors
    /// A refusal: this text cannot be put to this model.
    pub(crate) fn encode_prompt(&self, text: &Text) -> Result<Vec<u32>, Failure> {
        let (given, most) = (text.as_str().len(), self.host.max_text_bytes());
        if given > most {
            let name = self.name();
            let detail = format!("a prompt of {given} bytes; '{name}' reads at most {most}");
            return Err(Failure::refused("too_long", detail));
        }
        tracing::trace!(target: crate::decide::PROMPTS, model = %self.name(), "{}", text.as_str());
        self.encode(text).map_err(|what| Failure::refused("prompt_not_rendered", what))
    }

    /// Renders and encodes.
    ///
    /// # Errors
    /// A refusal: the model cannot take this conversation.
    pub(crate) fn prompt(&self, chat: &Chat<'_>) -> Result<Prompted, Failure> {
        let refused = |what: String| Failure::refused("prompt_not_rendered", what);
        let text = self.render(chat).map_err(refused)?;
        let token_ids = self.encode_prompt(&text)?;
        Ok(Prompted { token_ids: token_ids.into(), text })
    }
}

/// Digest of the prompts and the chat template, without the texts of the request. For
/// [`crate::Trace::prompt`].
pub(crate) fn wording_digest(served: &Served, prompts: &[&Prompt]) -> Arc<str> {
    let template = served.host.tokenizer.template().digest();
    let mut hash = Sha256::new();
    let mut add = |part: &str| {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    };
    for prompt in prompts {
        add(&prompt.name);
        add(&prompt.version.to_string());
        add(&prompt.digest);
    }
    add(&template);
    base::digest::finish(hash).into()
}

/// A conversation to render.
#[derive(Debug, Clone)]
pub struct Chat<'a> {
    /// The messages.
    pub turns: &'a [Message],
    /// Whether a generation prompt is added.
    pub open: bool,
    /// Whether the template's reasoning switches are on.
    pub reasoning: bool,
    /// Other switches of the template.
    pub switches: Map<String, Value>,
}

impl<'a> Chat<'a> {
    /// A conversation with a generation prompt, without reasoning.
    pub fn with_generation_prompt(turns: &'a [Message]) -> Self {
        Self { turns, open: true, reasoning: false, switches: Map::new() }
    }

    /// A conversation without a generation prompt, for score heads.
    pub fn without_generation_prompt(turns: &'a [Message]) -> Self {
        Self { open: false, ..Self::with_generation_prompt(turns) }
    }

    /// Sets the template's reasoning switches.
    #[must_use]
    pub fn reasoning(mut self, on: bool) -> Self {
        self.reasoning = on;
        self
    }
}

/// A rendered conversation and its tokens.
#[derive(Debug, Clone)]
pub(crate) struct Prompted {
    /// The tokens.
    pub(crate) token_ids: Arc<[u32]>,
    /// The text, each byte with its origin.
    pub(crate) text: Text,
}

//! The chat templates of a model folder.

use std::ops::Range;

use base::digest::hex;
use minijinja::machinery::parse;
use sha2::{Digest, Sha256};

use super::error::{self, RenderError};
use super::escapes::check_escapes;
use super::eval::evaluator::TemplateEvaluator;
use super::generation::rewrite_tags;
use super::globals::globals;
use super::heap::{Heap, RenderLimits};
use super::nesting::{check_nesting, syntax};
use super::source::TEMPLATE_FILE;
use crate::conversation::Conversation;
use crate::error::{ChatError, Result};
use crate::text::Text;

/// The name that syntax errors give the template.
const FILE: &str = "chat template";

/// A rendered conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// The prompt, each byte with its origin.
    pub text: Text,
    /// SHA-256 of the prompt, in hexadecimal.
    pub digest: String,
    /// Byte ranges of the prompt that the template marks as the assistant's own words by
    /// `{% generation %}`.
    pub generation_spans: Vec<Range<usize>>,
}

impl Rendered {
    /// The prompt.
    pub fn as_str(&self) -> &str {
        self.text.as_str()
    }
}

/// The chat templates of one model: a default one, and others by name.
#[derive(Clone, Debug)]
pub struct ChatTemplate {
    /// Sources by name, with line ends and tags rewritten.
    variants: Vec<(String, String)>,
    /// `bos_token`, `eos_token` and others, by the names that templates use.
    pub(super) special_tokens: Vec<(String, String)>,
    limits: RenderLimits,
}

impl ChatTemplate {
    /// Parses templates by name. `default` renders every conversation, except that one with tools
    /// is rendered by `tool_use` if there is such a template. `special_tokens` are given by the
    /// names that templates use (`bos_token`, …).
    ///
    /// # Errors
    /// [`ChatError::Template`] with the template's name and line if one does not parse or holds an
    /// escape that is not supported.
    pub fn new(
        sources: Vec<(String, String)>,
        special_tokens: Vec<(String, String)>,
    ) -> Result<ChatTemplate> {
        let mut variants = Vec::new();
        for (name, source) in sources {
            // As Jinja's lexer does, in literals too.
            let source = source.replace("\r\n", "\n").replace('\r', "\n");
            let source = rewrite_tags(&source);
            check_nesting(&source)
                .and_then(|()| check_escapes(&source))
                .map_err(|e| ChatError::Template(format!("the template `{name}`: {e}")))?;
            parse(&source, FILE, syntax())
                .map_err(|e| ChatError::Template(format!("the template `{name}`: {e}")))?;
            variants.push((name, source));
        }
        Ok(ChatTemplate { variants, special_tokens, limits: RenderLimits::default() })
    }

    /// Replaces the limits of a render.
    #[must_use]
    pub fn with_limits(mut self, limits: RenderLimits) -> ChatTemplate {
        self.limits = limits;
        self
    }

    /// Whether the model folder has no template.
    pub fn is_missing(&self) -> bool {
        self.variants.is_empty()
    }

    /// SHA-256 of the sources with their names, in hexadecimal; part of a verdict's identity.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        for (name, source) in &self.variants {
            for part in [name, source] {
                hash.update((part.len() as u64).to_le_bytes());
                hash.update(part);
            }
        }
        hex(&hash.finalize())
    }

    /// Renders a conversation.
    ///
    /// # Errors
    /// [`ChatError::Template`]: there is no template; it refuses the conversation; it applies an
    /// operation that the language does not define; or it exceeds its [`RenderLimits`].
    pub fn render(&self, conversation: &Conversation) -> Result<Rendered> {
        let source = self.pick(conversation.tools.is_some())?;
        Ok(self.render_source(source, conversation)?)
    }

    pub(super) fn render_source(
        &self,
        source: &str,
        conversation: &Conversation,
    ) -> Result<Rendered, RenderError> {
        let globals = globals(conversation, &self.special_tokens)?;
        // A template parses in some 10 µs a kilobyte, less than its rendering takes; the tree
        // borrows its source, so keeping it would take a self-referential type.
        let tree = parse(source, FILE, syntax()).map_err(|e| error::invalid(e.to_string()))?;
        let heap = Heap::new(self.limits);
        let product = TemplateEvaluator::new(heap, &globals, conversation.now).run(&tree)?;
        Ok(Rendered {
            digest: hex(&Sha256::digest(product.text.as_str())),
            text: product.text,
            generation_spans: product.generations,
        })
    }

    /// Selects the source for a conversation with or without tools, as transformers does.
    pub(super) fn pick(&self, with_tools: bool) -> Result<&str> {
        let named = |name: &str| {
            let found = self.variants.iter().find(|(n, _)| n == name);
            found.map(|(_, source)| source.as_str())
        };
        let tool_use = if with_tools { named("tool_use") } else { None };
        tool_use.or_else(|| named("default")).ok_or_else(|| {
            let names: Vec<&str> = self.variants.iter().map(|(n, _)| n.as_str()).collect();
            ChatError::Template(if names.is_empty() {
                format!(
                    "the model has no chat template: neither {TEMPLATE_FILE} nor \
                     chat_template.json, nor `chat_template` in tokenizer_config.json"
                )
            } else {
                format!("no template is called `default`; there are {}", names.join(", "))
            })
        })
    }
}

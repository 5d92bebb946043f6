//! What the interfaces that read heads have in common: texts, token ids or messages go in, and
//! counts of tokens come out.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::compat::openai_chat::types::{ChatMessage, Prompt};

/// What is read, and how it becomes tokens.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Pooled {
    /// Name of a model or an adapter.
    pub(crate) model: Option<String>,
    /// Texts or token ids.
    pub(crate) input: Option<Prompt>,
    /// A conversation.
    pub(crate) messages: Option<Vec<ChatMessage>>,
    /// Whether the tokenizer puts its own tokens around a text.
    pub(crate) add_special_tokens: Option<bool>,
    /// Whether a conversation ends where the assistant is to speak.
    pub(crate) add_generation_prompt: Option<bool>,
    /// Whether it ends within the last message.
    pub(crate) continue_final_message: Option<bool>,
    /// The template's own switches.
    pub(crate) chat_template_kwargs: Option<Map<String, Value>>,
    /// Whether logits become probabilities.
    pub(crate) use_activation: Option<bool>,
    /// The same in older words.
    pub(crate) activation: Option<bool>,
    /// To cut texts: nothing is ever cut here.
    pub(crate) truncate_prompt_tokens: Option<i64>,
    /// Prefixes are shared only among requests of one salt.
    pub(crate) cache_salt: Option<String>,
}

/// Declares a request that has the fields of [`Pooled`] beside its own.
macro_rules! pooled {
    ($(#[$meta:meta])* pub(crate) struct $name:ident { $($own:tt)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
        #[serde(remote = "Self", deny_unknown_fields, default)]
        pub(crate) struct $name {
            /// Name of a model or an adapter; without it the only model.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub(crate) model: Option<String>,
            /// A text, token ids, or a list of either. Special tokens in a text are meant.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub(crate) input: Option<$crate::compat::openai_chat::types::Prompt>,
            /// A conversation, in the place of `input`; the chat template renders it, and special
            /// tokens in it are text.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub(crate) messages: Option<Vec<$crate::compat::openai_chat::types::ChatMessage>>,
            /// Whether the tokenizer puts its own tokens around a text: so unless false.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub(crate) add_special_tokens: Option<bool>,
            /// Whether a conversation ends where the assistant is to speak.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub(crate) add_generation_prompt: Option<bool>,
            /// Whether a conversation ends within its last message.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub(crate) continue_final_message: Option<bool>,
            /// The template's own switches.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schema(value_type = Option<Object>)]
            pub(crate) chat_template_kwargs: Option<serde_json::Map<String, serde_json::Value>>,
            /// Whether logits become probabilities: so unless false.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub(crate) use_activation: Option<bool>,
            /// As `use_activation`, in older words.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub(crate) activation: Option<bool>,
            /// Nothing is ever cut here: -1 and null are taken.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub(crate) truncate_prompt_tokens: Option<i64>,
            /// Prefixes are shared only among requests of one salt.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub(crate) cache_salt: Option<String>,
            $($own)*
        }

        impl $name {
            /// Takes out what all requests of this sort have.
            pub(crate) fn take_pooled(&mut self) -> $crate::compat::pooling::types::Pooled {
                $crate::compat::pooling::types::Pooled {
                    model: self.model.take(),
                    input: self.input.take(),
                    messages: self.messages.take(),
                    add_special_tokens: self.add_special_tokens.take(),
                    add_generation_prompt: self.add_generation_prompt.take(),
                    continue_final_message: self.continue_final_message.take(),
                    chat_template_kwargs: self.chat_template_kwargs.take(),
                    use_activation: self.use_activation.take(),
                    activation: self.activation.take(),
                    truncate_prompt_tokens: self.truncate_prompt_tokens.take(),
                    cache_salt: self.cache_salt.take(),
                }
            }
        }
    };
}

pub(crate) use pooled;

/// Fields of all requests of this sort that change no answer.
macro_rules! unused_by_pooled {
    ($($more:expr),* $(,)?) => {
        &[
            openapi::unused::Unused("user", openapi::unused::Harmless::Every),
            openapi::unused::Unused("request_id", openapi::unused::Harmless::Every),
            openapi::unused::Unused("priority", openapi::unused::Harmless::Every),
            openapi::unused::Unused("truncation_side", openapi::unused::Harmless::Every),
            openapi::unused::Unused("padding", openapi::unused::Harmless::Null),
            openapi::unused::Unused("mm_processor_kwargs", openapi::unused::Harmless::Null),
            openapi::unused::Unused("media_io_kwargs", openapi::unused::Harmless::Null),
            // A template is code, and code does not come from requests.
            openapi::unused::Unused("chat_template", openapi::unused::Harmless::Null),
            $($more),*
        ]
    };
}

pub(crate) use unused_by_pooled;

/// Tokens of a request that generates none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[expect(clippy::struct_field_names, reason = "the interface has these names")]
pub(crate) struct PooledUsage {
    /// Tokens read.
    pub(crate) prompt_tokens: u64,
    /// The same.
    pub(crate) total_tokens: u64,
    /// Always 0.
    pub(crate) completion_tokens: u64,
}

impl PooledUsage {
    /// Of so many tokens.
    pub(crate) fn of(prompt_tokens: u64) -> Self {
        Self { prompt_tokens, total_tokens: prompt_tokens, completion_tokens: 0 }
    }
}

/// The classes of what was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct ClassifyReply {
    /// Of this reply.
    pub(crate) id: String,
    /// Always `list`.
    pub(crate) object: String,
    /// Unix time in seconds.
    pub(crate) created: u64,
    /// The model that was asked for.
    pub(crate) model: String,
    /// One for each text, in order.
    pub(crate) data: Vec<Classified>,
    /// Tokens.
    pub(crate) usage: PooledUsage,
}

/// The classes of one text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Classified {
    /// Which text.
    pub(crate) index: usize,
    /// The likeliest class.
    pub(crate) label: Option<String>,
    /// One number for each class: probabilities, or logits where no activation was asked for.
    pub(crate) probs: Vec<f64>,
    /// How many classes there are.
    pub(crate) num_classes: usize,
}

/// How numbers are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Encoding {
    /// As numbers.
    #[default]
    Float,
    /// As the base64 of little-endian 32-bit floats, row after row.
    Base64,
}

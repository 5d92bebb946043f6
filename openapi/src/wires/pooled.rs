//! What the interfaces that read heads have in common: texts, token ids or messages go in, and
//! counts of tokens come out.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::{ChatMessage, Prompt};

/// What is read, and how it becomes tokens.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Pooled {
    /// Name of a model or an adapter.
    pub model: Option<String>,
    /// Texts or token ids.
    pub input: Option<Prompt>,
    /// A conversation.
    pub messages: Option<Vec<ChatMessage>>,
    /// Whether the tokenizer puts its own tokens around a text.
    pub add_special_tokens: Option<bool>,
    /// Whether a conversation ends where the assistant is to speak.
    pub add_generation_prompt: Option<bool>,
    /// Whether it ends within the last message.
    pub continue_final_message: Option<bool>,
    /// The template's own switches.
    pub chat_template_kwargs: Option<Map<String, Value>>,
    /// Whether logits become probabilities.
    pub use_activation: Option<bool>,
    /// The same in older words.
    pub activation: Option<bool>,
    /// To cut texts: nothing is ever cut here.
    pub truncate_prompt_tokens: Option<i64>,
    /// Prefixes are shared only among requests of one salt.
    pub cache_salt: Option<String>,
}

/// Declares a request that has the fields of [`Pooled`] beside its own.
macro_rules! pooled {
    ($(#[$meta:meta])* pub struct $name:ident { $($own:tt)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
        #[serde(remote = "Self", deny_unknown_fields, default)]
        pub struct $name {
            /// Name of a model or an adapter; without it the only model.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub model: Option<String>,
            /// A text, token ids, or a list of either. Special tokens in a text are meant.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub input: Option<$crate::Prompt>,
            /// A conversation, in the place of `input`; the chat template renders it, and special
            /// tokens in it are text.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub messages: Option<Vec<$crate::ChatMessage>>,
            /// Whether the tokenizer puts its own tokens around a text: so unless false.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub add_special_tokens: Option<bool>,
            /// Whether a conversation ends where the assistant is to speak.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub add_generation_prompt: Option<bool>,
            /// Whether a conversation ends within its last message.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub continue_final_message: Option<bool>,
            /// The template's own switches.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schema(value_type = Option<Object>)]
            pub chat_template_kwargs: Option<serde_json::Map<String, serde_json::Value>>,
            /// Whether logits become probabilities: so unless false.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub use_activation: Option<bool>,
            /// As `use_activation`, in older words.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub activation: Option<bool>,
            /// Nothing is ever cut here: -1 and null are taken.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub truncate_prompt_tokens: Option<i64>,
            /// Prefixes are shared only among requests of one salt.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub cache_salt: Option<String>,
            $($own)*
        }

        impl $name {
            /// Takes out what all requests of this sort have.
            pub fn take_pooled(&mut self) -> $crate::wires::pooled::Pooled {
                $crate::wires::pooled::Pooled {
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

pub(super) use pooled;

/// Fields of all requests of this sort that change no answer.
macro_rules! unused_by_pooled {
    ($($more:expr),* $(,)?) => {
        &[
            $crate::unused::Unused("user", $crate::unused::Harmless::Every),
            $crate::unused::Unused("request_id", $crate::unused::Harmless::Every),
            $crate::unused::Unused("priority", $crate::unused::Harmless::Every),
            $crate::unused::Unused("truncation_side", $crate::unused::Harmless::Every),
            $crate::unused::Unused("padding", $crate::unused::Harmless::Null),
            $crate::unused::Unused("mm_processor_kwargs", $crate::unused::Harmless::Null),
            $crate::unused::Unused("media_io_kwargs", $crate::unused::Harmless::Null),
            // A template is code, and code does not come from requests.
            $crate::unused::Unused("chat_template", $crate::unused::Harmless::Null),
            $($more),*
        ]
    };
}

pub(super) use unused_by_pooled;

/// Tokens of a request that generates none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PooledUsage {
    /// Tokens read.
    pub prompt_tokens: u64,
    /// The same.
    pub total_tokens: u64,
    /// Always 0.
    pub completion_tokens: u64,
}

impl PooledUsage {
    /// Of so many tokens.
    pub fn of(prompt_tokens: u64) -> Self {
        Self { prompt_tokens, total_tokens: prompt_tokens, completion_tokens: 0 }
    }
}

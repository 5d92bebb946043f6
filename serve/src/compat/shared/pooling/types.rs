//! Shared types of the interfaces that read heads: text, token ids or messages in, token counts
//! out.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::compat::shared::generation::types::{ChatMessage, Prompt};

/// The input and options of a request.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Pooled {
    /// Name of a model or an adapter.
    pub(crate) model: Option<String>,
    /// Texts or token ids.
    pub(crate) input: Option<Prompt>,
    /// A conversation.
    pub(crate) messages: Option<Vec<ChatMessage>>,
    /// Whether the tokenizer adds its special tokens around a text.
    pub(crate) add_special_tokens: Option<bool>,
    /// Whether the prompt ends with the start of an assistant turn.
    pub(crate) add_generation_prompt: Option<bool>,
    /// Whether the prompt ends within the last message.
    pub(crate) continue_final_message: Option<bool>,
    /// Variables of the chat template.
    pub(crate) chat_template_kwargs: Option<Map<String, Value>>,
    /// Whether logits are activated to probabilities.
    pub(crate) use_activation: Option<bool>,
    /// The former name of `use_activation`.
    pub(crate) activation: Option<bool>,
    /// Truncation, which is refused.
    pub(crate) truncate_prompt_tokens: Option<i64>,
    /// Cached prefixes are shared only among requests with the same salt.
    pub(crate) cache_salt: Option<String>,
}

/// Declares a request with the fields of [`Pooled`] and its own.
macro_rules! pooled {
    ($(#[$meta:meta])* pub(crate) struct $name:ident { $($own:tt)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
        #[serde(remote = "Self", deny_unknown_fields, default)]
        pub(crate) struct $name {
            /// Name of a model or an adapter; without it the only model.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub(crate) model: Option<String>,
            /// Text, token ids, or a list of either. Special tokens in text are encoded as such.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub(crate) input: Option<$crate::compat::shared::generation::types::Prompt>,
            /// A conversation, instead of `input`; the chat template renders it, and special tokens
            /// in it are plain text.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub(crate) messages: Option<Vec<$crate::compat::shared::generation::types::ChatMessage>>,
            /// Whether the tokenizer adds its special tokens around a text; true by default.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub(crate) add_special_tokens: Option<bool>,
            /// Whether the prompt ends with the start of an assistant turn.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub(crate) add_generation_prompt: Option<bool>,
            /// Whether the prompt ends within its last message.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub(crate) continue_final_message: Option<bool>,
            /// Variables of the chat template.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schema(value_type = Option<Object>)]
            pub(crate) chat_template_kwargs: Option<serde_json::Map<String, serde_json::Value>>,
            /// Whether logits are activated to probabilities; true by default.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub(crate) use_activation: Option<bool>,
            /// The former name of `use_activation`.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub(crate) activation: Option<bool>,
            /// Must be -1 or null: input is never truncated.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub(crate) truncate_prompt_tokens: Option<i64>,
            /// Cached prefixes are shared only among requests with the same salt.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub(crate) cache_salt: Option<String>,
            $($own)*
        }

        impl $name {
            /// Takes the shared fields out of the request.
            pub(crate) fn take_pooled(&mut self) -> $crate::compat::shared::pooling::types::Pooled {
                $crate::compat::shared::pooling::types::Pooled {
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

/// Shared fields that do not change the answer.
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
            // A template is code, and requests cannot supply code.
            openapi::unused::Unused("chat_template", openapi::unused::Harmless::Null),
            $($more),*
        ]
    };
}

pub(crate) use unused_by_pooled;

/// Token usage of a request that generates none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[expect(clippy::struct_field_names, reason = "the interface has these names")]
pub(crate) struct PooledUsage {
    /// Number of input tokens.
    pub(crate) prompt_tokens: u64,
    /// Equal to `prompt_tokens`.
    pub(crate) total_tokens: u64,
    /// Always 0.
    pub(crate) completion_tokens: u64,
}

impl PooledUsage {
    /// Creates the usage of `prompt_tokens` tokens.
    pub(crate) fn of(prompt_tokens: u64) -> Self {
        Self { prompt_tokens, total_tokens: prompt_tokens, completion_tokens: 0 }
    }
}

/// The classification of texts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct ClassifyReply {
    /// Id of this reply.
    pub(crate) id: String,
    /// Always `list`.
    pub(crate) object: String,
    /// Unix time in seconds.
    pub(crate) created: u64,
    /// The requested model.
    pub(crate) model: String,
    /// One entry per text, in order.
    pub(crate) data: Vec<Classified>,
    /// Token usage.
    pub(crate) usage: PooledUsage,
}

/// The classification of one text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Classified {
    /// Index of the text.
    pub(crate) index: usize,
    /// The most probable class.
    pub(crate) label: Option<String>,
    /// One number per class: probabilities, or logits without activation.
    pub(crate) probs: Vec<f64>,
    /// Number of classes.
    pub(crate) num_classes: usize,
}

/// The encoding of numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Encoding {
    /// JSON numbers.
    #[default]
    Float,
    /// Base64 of little-endian 32-bit floats, row by row.
    Base64,
}

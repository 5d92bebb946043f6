//! Shared fields of `POST /v1/chat/completions` and `POST /v1/completions`.

use std::collections::BTreeMap;
use std::fmt;

use openapi::unused::{Harmless, Unused};
use openapi::{Priority, object};
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::compat::shared::text_or_list::{self, TextOrList};

/// Most continuations of a prompt.
pub(crate) const MAX_CONTINUATIONS: u64 = 128;
/// Most tokens listed per position.
pub(crate) const MAX_TOP_LOGPROBS: u64 = 20;
/// Most stop strings.
pub(crate) const MAX_STOPS: usize = 16;
/// Most characters of a stop string.
pub(crate) const MAX_STOP_CHARS: usize = 1_024;

/// Passes the fields of both requests to a macro, so that they are written once.
macro_rules! generation_fields {
    ($then:ident [$($args:tt)*]) => {
        $then! { [$($args)*]
            /// Most generated tokens, at least 1; lowered to the context length. By default chats
            /// may fill the context, and completions get 16.
            #[serde(default, deserialize_with = "openapi::integer::read_option",
                skip_serializing_if = "Option::is_none")]
            #[schema(minimum = 1)]
            max_tokens: Option<u64>,
            /// Fewest generated tokens; nothing ends the generation before.
            #[serde(default, deserialize_with = "openapi::integer::read_option",
                skip_serializing_if = "Option::is_none")]
            min_tokens: Option<u64>,
            /// Continuations per prompt, 1 to 128.
            #[serde(default, deserialize_with = "openapi::integer::read_option",
                skip_serializing_if = "Option::is_none")]
            #[schema(minimum = 1, maximum = 128)]
            n: Option<u64>,
            /// Temperature; 0 is greedy, 1 the default.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schema(minimum = 0, maximum = 2)]
            temperature: Option<f64>,
            /// Cumulative probability of the most probable tokens to sample from.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schema(minimum = 0, maximum = 1)]
            top_p: Option<f64>,
            /// Number of the most probable tokens to sample from; 0 or -1 for all.
            #[serde(default, deserialize_with = "openapi::integer::read_signed",
                skip_serializing_if = "Option::is_none")]
            top_k: Option<i64>,
            /// Least probability to sample from, relative to the most probable token.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schema(minimum = 0, maximum = 1)]
            min_p: Option<f64>,
            /// Divides positive logits, and multiplies negative ones, of tokens that occur in the
            /// prompt or the text.
            #[serde(skip_serializing_if = "Option::is_none")]
            repetition_penalty: Option<f64>,
            /// Subtracted from the logits of generated tokens.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schema(minimum = -2, maximum = 2)]
            presence_penalty: Option<f64>,
            /// Subtracted from the logits of generated tokens, times their count.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schema(minimum = -2, maximum = 2)]
            frequency_penalty: Option<f64>,
            /// Added to logits, by token id.
            #[serde(skip_serializing_if = "Option::is_none")]
            logit_bias: Option<std::collections::BTreeMap<String, f64>>,
            /// Seed of the sampler; 0 by default. Equal requests give equal texts; continuations
            /// differ by their index.
            #[serde(default, deserialize_with = "openapi::integer::read_signed",
                skip_serializing_if = "Option::is_none")]
            seed: Option<i64>,
            /// Texts that end the generation, excluded from it; at most 16 of at most 1,024
            /// characters.
            #[serde(skip_serializing_if = "Option::is_none")]
            stop: Option<crate::compat::shared::generation::types::Texts>,
            /// Tokens that end the generation, in addition to the model's own.
            #[serde(skip_serializing_if = "Option::is_none")]
            stop_token_ids: Option<Vec<u32>>,
            /// Whether the text includes the stop string that ended it.
            #[serde(skip_serializing_if = "Option::is_none")]
            include_stop_str_in_output: Option<bool>,
            /// Whether the model's end token is generated like others.
            #[serde(skip_serializing_if = "Option::is_none")]
            ignore_eos: Option<bool>,
            /// Whether special tokens are left out of the text; true by default.
            #[serde(skip_serializing_if = "Option::is_none")]
            skip_special_tokens: Option<bool>,
            /// Whether to stream the reply as server-sent events.
            #[serde(skip_serializing_if = "Option::is_none")]
            stream: Option<bool>,
            /// Contents of a stream beside the choices.
            #[serde(skip_serializing_if = "Option::is_none")]
            stream_options: Option<crate::compat::shared::generation::types::StreamOptions>,
            /// Format of the text: free, a JSON object, or JSON of a schema.
            #[serde(skip_serializing_if = "Option::is_none")]
            response_format: Option<crate::compat::shared::generation::types::ResponseFormat>,
            /// Constraint on the text.
            #[serde(skip_serializing_if = "Option::is_none")]
            structured_outputs: Option<crate::compat::shared::generation::types::StructuredOutputs>,
            /// Constrains the text to JSON of this schema.
            #[serde(skip_serializing_if = "Option::is_none")]
            guided_json: Option<serde_json::Value>,
            /// Constrains the text to match this regular expression.
            #[serde(skip_serializing_if = "Option::is_none")]
            guided_regex: Option<String>,
            /// Constrains the text to one of these.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schema(min_items = 1)]
            guided_choice: Option<Vec<String>>,
            /// Constrains the text to this grammar, in the dialect of Lark that llguidance reads.
            #[serde(skip_serializing_if = "Option::is_none")]
            guided_grammar: Option<String>,
            /// `interactive` or `batch`; or a number, of which 0 and below are interactive.
            #[serde(skip_serializing_if = "Option::is_none")]
            priority: Option<crate::compat::shared::generation::types::Urgency>,
            /// Cached prefixes are shared only among requests with the same salt.
            #[serde(skip_serializing_if = "Option::is_none")]
            cache_salt: Option<String>,
        }
    };
}

macro_rules! plain {
    ([] $($(#[$meta:meta])* $field:ident: $type:ty,)*) => {
        /// The shared fields of both requests.
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        pub(crate) struct Generation {
            $(
                #[doc = concat!("As `", stringify!($field), "` of a request.")]
                pub(crate) $field: $type,
            )*
        }
    };
}

generation_fields! { plain [] }

/// Declares a request with its own fields and those of [`Generation`].
macro_rules! generation_request {
    ($($request:tt)*) => {
        $crate::compat::shared::generation::types::generation::generation_fields! { request_with [$($request)*] }
    };
}

macro_rules! request_with {
    ([$(#[$meta:meta])* pub(crate) struct $name:ident { $($own:tt)* }]
     $($(#[$field_meta:meta])* $field:ident: $type:ty,)*) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
        #[serde(remote = "Self", deny_unknown_fields)]
        pub(crate) struct $name {
            $($own)*
            $($(#[$field_meta])* pub(crate) $field: $type,)*
        }

        impl $name {
            /// Takes the shared fields out of the request.
            pub(crate) fn take_generation(&mut self) -> $crate::compat::shared::generation::types::Generation {
                $crate::compat::shared::generation::types::Generation { $($field: std::mem::take(&mut self.$field),)* }
            }
        }
    };
}

pub(crate) use {generation_fields, generation_request, request_with};

/// Ignored fields of both requests. Of vLLM's and SGLang's, those that their own clients send.
macro_rules! unused_by_both {
    ($($more:expr),* $(,)?) => {{
        use openapi::unused::Harmless::{Empty, Every, False, Null, One, True};
        use openapi::unused::Unused;
        const UNUSED: &[Unused] = &[
            // Bookkeeping of the client or the provider.
            Unused("user", Every),
            Unused("request_id", Every),
            Unused("rid", Every),
            Unused("safety_identifier", Every),
            Unused("store", Every),
            Unused("metadata", Every),
            Unused("service_tier", Every),
            Unused("prompt_cache_key", Every),
            Unused("prompt_cache_options", Every),
            Unused("prompt_cache_retention", Every),
            // Implementation of a constraint, without effect on its meaning.
            Unused("guided_decoding_backend", Every),
            Unused("spaces_between_special_tokens", True),
            Unused("guided_whitespace_pattern", Null),
            Unused("whitespace_pattern", Null),
            Unused("structural_tag", Null),
            Unused("regex", Null),
            Unused("ebnf", Null),
            Unused("json_schema", Null),
            Unused("stop_regex", Null),
            Unused("no_stop_trim", False),
            // Other decoding methods.
            Unused("use_beam_search", False),
            Unused("length_penalty", One),
            Unused("early_stopping", False),
            Unused("bad_words", Empty),
            Unused("allowed_token_ids", Null),
            Unused("logits_processors", Empty),
            Unused("custom_logit_processor", Null),
            Unused("custom_params", Null),
            Unused("thinking_token_budget", Null),
            Unused("repetition_detection", Null),
            Unused("truncate_prompt_tokens", Null),
            Unused("vllm_xargs", Empty),
            Unused("kv_transfer_params", Null),
            Unused("lora_path", Null),
            Unused("session_params", Null),
            // Further contents of the reply.
            Unused("return_tokens_as_token_ids", False),
            Unused("return_token_ids", False),
            Unused("return_hidden_states", False),
            $($more,)*
        ];
        UNUSED
    }};
}

pub(crate) use unused_by_both;

/// Text or a list of texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum Texts {
    /// One text.
    One(String),
    /// Several texts.
    Many(Vec<String>),
}

impl Texts {
    /// Returns the texts as a list.
    pub(crate) fn into_list(self) -> Vec<String> {
        match self {
            Texts::One(text) => vec![text],
            Texts::Many(texts) => texts,
        }
    }
}

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match text_or_list::read(deserializer, "a text or a list of texts")? {
            TextOrList::Text(text) => Texts::One(text),
            TextOrList::List(texts) => Texts::Many(texts),
        })
    }
}

/// The priority of a request: a name, or a number as in vLLM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(transparent)]
pub(crate) struct Urgency(pub(crate) Priority);

impl<'de> Deserialize<'de> for Urgency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UrgencyVisitor).map(Urgency)
    }
}

struct UrgencyVisitor;

impl Visitor<'_> for UrgencyVisitor {
    type Value = Priority;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"interactive\", \"batch\" or a whole number")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Priority, E> {
        match text {
            "interactive" => Ok(Priority::Interactive),
            "batch" => Ok(Priority::Batch),
            _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
        }
    }

    fn visit_u64<E>(self, number: u64) -> Result<Priority, E> {
        Ok(if number == 0 { Priority::Interactive } else { Priority::Batch })
    }

    fn visit_i64<E>(self, number: i64) -> Result<Priority, E> {
        Ok(if number <= 0 { Priority::Interactive } else { Priority::Batch })
    }
}

/// Contents of a stream beside the choices.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct StreamOptions {
    /// Whether a last chunk, without choices, has the usage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) include_usage: Option<bool>,
}

object!(
    StreamOptions,
    but & [
        // Padding against observers of message lengths; a matter of the connection here.
        Unused("include_obfuscation", Harmless::Every),
        Unused("continuous_usage_stats", Harmless::False),
    ]
);

/// The format of the text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct ResponseFormat {
    /// Type: free text, a JSON object, or JSON of a schema.
    #[serde(rename = "type")]
    pub(crate) kind: ResponseKind,
    /// The schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) json_schema: Option<SchemaFormat>,
}

object!(ResponseFormat);

/// The format of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ResponseKind {
    /// Free text.
    Text,
    /// A JSON object.
    JsonObject,
    /// JSON of a schema.
    JsonSchema,
}

/// A named schema.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct SchemaFormat {
    /// Name, for people.
    pub(crate) name: String,
    /// Description, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    /// The JSON Schema; without it any JSON object is valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub(crate) schema: Option<Map<String, Value>>,
    /// Accepted without effect: schemas are always enforced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) strict: Option<bool>,
}

object!(SchemaFormat);

/// A constraint on the text; one of the fields, as in vLLM.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct StructuredOutputs {
    /// JSON of this schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) json: Option<Value>,
    /// A JSON object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) json_object: Option<bool>,
    /// A match of this regular expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) regex: Option<String>,
    /// One of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) choice: Option<Vec<String>>,
    /// This grammar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) grammar: Option<String>,
}

object!(
    StructuredOutputs,
    but & [
        Unused("structural_tag", Harmless::Null),
        Unused("whitespace_pattern", Harmless::Null),
        Unused("disable_fallback", Harmless::Every),
        // JSON is compact, which no schema forbids.
        Unused("disable_any_whitespace", Harmless::Every),
        Unused("disable_additional_properties", Harmless::False),
    ]
);

/// Token usage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct GenerationUsage {
    /// Tokens of the prompts, each counted once for all its continuations.
    pub(crate) prompt_tokens: u64,
    /// Generated tokens.
    pub(crate) completion_tokens: u64,
    /// The sum of both.
    pub(crate) total_tokens: u64,
    /// Breakdown of the prompt tokens.
    pub(crate) prompt_tokens_details: PromptTokensDetails,
}

/// Breakdown of prompt tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct PromptTokensDetails {
    /// Tokens in the prefix cache before the request.
    pub(crate) cached_tokens: u64,
}

/// Extension fields of a reply.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct GenerationExtension {
    /// Tokens computed for this request.
    pub(crate) computed_tokens: u64,
    /// Tokens of its sequences taken from the prefix cache, including those that one choice
    /// computed for another.
    pub(crate) cached_tokens: u64,
    /// Digests of model and prompt.
    pub(crate) digests: GenerationDigests,
}

/// SHA-256 digests: `sha256:` and 64 hexadecimal digits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct GenerationDigests {
    /// The model's weights and configuration.
    pub(crate) model: String,
    /// The adapter.
    pub(crate) adapter: Option<String>,
    /// The prompt as the model reads it, if there is one prompt: its text, or the little-endian
    /// bytes of its token ids if those were sent.
    pub(crate) prompt: Option<String>,
    /// Oldest and newest weights revision used for the reply; only of a model that is trained while
    /// it is served, whose digest begins with `live:`. They differ if the weights changed
    /// meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) revisions: Option<[u64; 2]>,
}

/// Parses the keys of `logit_bias` as token ids.
///
/// # Errors
/// The first key that is not one.
pub(crate) fn biases(given: &BTreeMap<String, f64>) -> Result<Vec<(u32, f64)>, String> {
    let bias = |(key, bias): (&String, &f64)| match key.parse::<u32>() {
        Ok(id) => Ok((id, *bias)),
        Err(_) => Err(key.clone()),
    };
    given.iter().map(bias).collect()
}

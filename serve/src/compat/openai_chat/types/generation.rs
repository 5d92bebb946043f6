//! What `POST /v1/chat/completions` and `POST /v1/completions` have in common.

use std::collections::BTreeMap;
use std::fmt;

use openapi::unused::{Harmless, Unused};
use openapi::{Priority, object};
use serde::de::value::SeqAccessDeserializer;
use serde::de::{Error, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// Most continuations of one prompt.
pub(crate) const MAX_CONTINUATIONS: u64 = 128;
/// Most likely tokens that are listed for a position.
pub(crate) const MAX_TOP_LOGPROBS: u64 = 20;
/// Most stop strings.
pub(crate) const MAX_STOPS: usize = 16;
/// Longest stop string, in characters.
pub(crate) const MAX_STOP_CHARS: usize = 1_024;

/// Gives the fields that both requests have to a macro, so that they are written down once.
macro_rules! generation_fields {
    ($then:ident [$($args:tt)*]) => {
        $then! { [$($args)*]
            /// Most tokens that are generated, at least 1; lowered to what the context holds. Chats
            /// without it may fill the context, completions get 16.
            #[serde(default, deserialize_with = "openapi::whole::read_option",
                skip_serializing_if = "Option::is_none")]
            #[schema(minimum = 1)]
            max_tokens: Option<u64>,
            /// Before so many tokens nothing ends the generation.
            #[serde(default, deserialize_with = "openapi::whole::read_option",
                skip_serializing_if = "Option::is_none")]
            min_tokens: Option<u64>,
            /// Continuations, 1 to 128.
            #[serde(default, deserialize_with = "openapi::whole::read_option",
                skip_serializing_if = "Option::is_none")]
            #[schema(minimum = 1, maximum = 128)]
            n: Option<u64>,
            /// 0 is greedy; 1 unless given.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schema(minimum = 0, maximum = 2)]
            temperature: Option<f64>,
            /// Only the most likely tokens that have this probability together.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schema(minimum = 0, maximum = 1)]
            top_p: Option<f64>,
            /// Only so many of the most likely tokens; 0 or -1 for all.
            #[serde(default, deserialize_with = "openapi::whole::read_signed",
                skip_serializing_if = "Option::is_none")]
            top_k: Option<i64>,
            /// Only tokens with this share of the most likely one's probability.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schema(minimum = 0, maximum = 1)]
            min_p: Option<f64>,
            /// Divides positive logits of tokens that occurred, the prompt's included, and
            /// multiplies negative ones.
            #[serde(skip_serializing_if = "Option::is_none")]
            repetition_penalty: Option<f64>,
            /// Taken off the logits of tokens that were generated.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schema(minimum = -2, maximum = 2)]
            presence_penalty: Option<f64>,
            /// Taken off the logits of tokens as often as they were generated.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schema(minimum = -2, maximum = 2)]
            frequency_penalty: Option<f64>,
            /// Added to logits, by token id.
            #[serde(skip_serializing_if = "Option::is_none")]
            logit_bias: Option<std::collections::BTreeMap<String, f64>>,
            /// Follows the same path with the same request; without it 0. Choices differ by their
            /// index.
            #[serde(default, deserialize_with = "openapi::whole::read_signed",
                skip_serializing_if = "Option::is_none")]
            seed: Option<i64>,
            /// Texts before which the generation ends, at most 16 of at most 1,024 characters.
            #[serde(skip_serializing_if = "Option::is_none")]
            stop: Option<crate::compat::openai_chat::types::Texts>,
            /// Tokens that end the generation, beside the model's own.
            #[serde(skip_serializing_if = "Option::is_none")]
            stop_token_ids: Option<Vec<u32>>,
            /// Whether the text ends with the stop string that ended it.
            #[serde(skip_serializing_if = "Option::is_none")]
            include_stop_str_in_output: Option<bool>,
            /// Whether the model's own end token is a token like others.
            #[serde(skip_serializing_if = "Option::is_none")]
            ignore_eos: Option<bool>,
            /// Whether special tokens give no text; so unless false.
            #[serde(skip_serializing_if = "Option::is_none")]
            skip_special_tokens: Option<bool>,
            /// Whether the reply comes as server-sent events.
            #[serde(skip_serializing_if = "Option::is_none")]
            stream: Option<bool>,
            /// What a stream holds beside the choices.
            #[serde(skip_serializing_if = "Option::is_none")]
            stream_options: Option<crate::compat::openai_chat::types::StreamOptions>,
            /// What the text must be: anything, a JSON object, or JSON of a schema.
            #[serde(skip_serializing_if = "Option::is_none")]
            response_format: Option<crate::compat::openai_chat::types::ResponseFormat>,
            /// What the text must be.
            #[serde(skip_serializing_if = "Option::is_none")]
            structured_outputs: Option<crate::compat::openai_chat::types::StructuredOutputs>,
            /// The text must be JSON of this schema.
            #[serde(skip_serializing_if = "Option::is_none")]
            guided_json: Option<serde_json::Value>,
            /// The text must match this regular expression as a whole.
            #[serde(skip_serializing_if = "Option::is_none")]
            guided_regex: Option<String>,
            /// The text must be one of these.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schema(min_items = 1)]
            guided_choice: Option<Vec<String>>,
            /// The text must follow this grammar, in the dialect of Lark that llguidance reads.
            #[serde(skip_serializing_if = "Option::is_none")]
            guided_grammar: Option<String>,
            /// `interactive` or `batch`; or a number, of which 0 and below are interactive.
            #[serde(skip_serializing_if = "Option::is_none")]
            priority: Option<crate::compat::openai_chat::types::Urgency>,
            /// Cached prefixes are shared only among requests of the same salt.
            #[serde(skip_serializing_if = "Option::is_none")]
            cache_salt: Option<String>,
        }
    };
}

macro_rules! plain {
    ([] $($(#[$meta:meta])* $field:ident: $type:ty,)*) => {
        /// What a request says about how to generate, whichever request it is.
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

/// A request with fields of its own and those of [`Generation`].
macro_rules! generation_request {
    ($($request:tt)*) => {
        $crate::compat::openai_chat::types::generation::generation_fields! { request_with [$($request)*] }
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
            /// Takes out what both kinds of requests have.
            pub(crate) fn take_generation(&mut self) -> $crate::compat::openai_chat::types::Generation {
                $crate::compat::openai_chat::types::Generation { $($field: std::mem::take(&mut self.$field),)* }
            }
        }
    };
}

pub(crate) use {generation_fields, generation_request, request_with};

/// Fields of both requests that are passed over. Of vLLM's and SGLang's those are listed which
/// their own clients send.
macro_rules! unused_by_both {
    ($($more:expr),* $(,)?) => {{
        use openapi::unused::Harmless::{Empty, Every, False, Null, One, True};
        use openapi::unused::Unused;
        const UNUSED: &[Unused] = &[
            // Bookkeeping of the client or of the provider.
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
            // How a constraint is computed, and not what it allows.
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
            // Other ways to choose tokens.
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
            // More in the reply.
            Unused("return_tokens_as_token_ids", False),
            Unused("return_token_ids", False),
            Unused("return_hidden_states", False),
            $($more,)*
        ];
        UNUSED
    }};
}

pub(crate) use unused_by_both;

/// One text or several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum Texts {
    /// One.
    One(String),
    /// Several.
    Many(Vec<String>),
}

impl Texts {
    /// As a list.
    pub(crate) fn into_list(self) -> Vec<String> {
        match self {
            Texts::One(text) => vec![text],
            Texts::Many(texts) => texts,
        }
    }
}

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextsVisitor)
    }
}

struct TextsVisitor;

impl<'de> Visitor<'de> for TextsVisitor {
    type Value = Texts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of texts")
    }

    fn visit_str<E>(self, text: &str) -> Result<Texts, E> {
        Ok(Texts::One(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Texts, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(seq)).map(Texts::Many)
    }
}

/// How urgent a request is: our own words, or vLLM's numbers.
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

/// What a stream holds beside the choices.
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
        // Padding against observers of lengths, which this server leaves to the connection.
        Unused("include_obfuscation", Harmless::Every),
        Unused("continuous_usage_stats", Harmless::False),
    ]
);

/// What a text must be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct ResponseFormat {
    /// Anything, a JSON object, or JSON of a schema.
    #[serde(rename = "type")]
    pub(crate) kind: ResponseKind,
    /// The schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) json_schema: Option<SchemaFormat>,
}

object!(ResponseFormat);

/// What a text must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ResponseKind {
    /// Anything.
    Text,
    /// A JSON object.
    JsonObject,
    /// JSON of a schema.
    JsonSchema,
}

/// A schema by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct SchemaFormat {
    /// For people.
    pub(crate) name: String,
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    /// The JSON Schema; without it any JSON object will do.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub(crate) schema: Option<Map<String, Value>>,
    /// Accepted; a schema always holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) strict: Option<bool>,
}

object!(SchemaFormat);

/// What a text must be; one of the fields, as vLLM has them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct StructuredOutputs {
    /// JSON of this schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) json: Option<Value>,
    /// A JSON object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) json_object: Option<bool>,
    /// Matches this regular expression as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) regex: Option<String>,
    /// One of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) choice: Option<Vec<String>>,
    /// Follows this grammar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) grammar: Option<String>,
}

object!(
    StructuredOutputs,
    but & [
        Unused("structural_tag", Harmless::Null),
        Unused("whitespace_pattern", Harmless::Null),
        Unused("disable_fallback", Harmless::Every),
        Unused("disable_any_whitespace", Harmless::False),
        Unused("disable_additional_properties", Harmless::False),
    ]
);

/// Tokens, in OpenAI's words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct GenerationUsage {
    /// Tokens of the prompts, each counted once however many continuations it has.
    pub(crate) prompt_tokens: u64,
    /// Tokens generated.
    pub(crate) completion_tokens: u64,
    /// Both.
    pub(crate) total_tokens: u64,
    /// More about the prompts' tokens.
    pub(crate) prompt_tokens_details: PromptTokensDetails,
}

/// More about a prompt's tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct PromptTokensDetails {
    /// Those that a cache had before the request.
    pub(crate) cached_tokens: u64,
}

/// What a reply says beyond the interface it follows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct GenerationExtension {
    /// Tokens that were run through the model for this request.
    pub(crate) computed_tokens: u64,
    /// Tokens of its sequences that came from cache, those of one choice that another computed
    /// included.
    pub(crate) cached_tokens: u64,
    /// What produced the reply.
    pub(crate) digests: GenerationDigests,
}

/// SHA-256 digests, `sha256:` and 64 hexadecimal digits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct GenerationDigests {
    /// Of the model's weights and configuration.
    pub(crate) model: String,
    /// Of the adapter.
    pub(crate) adapter: Option<String>,
    /// Of the prompt as the model reads it, where there is one prompt: of its text, or of the
    /// little-endian bytes of its token ids where those were given.
    pub(crate) prompt: Option<String>,
    /// Oldest and newest revision of the weights that any of it was computed under; only of a model
    /// that is trained while it is served, whose digest begins with `live:`. The two differ where
    /// the weights changed meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) revisions: Option<[u64; 2]>,
}

/// Reads `logit_bias` keys as token ids.
///
/// # Errors
/// The first key that is none.
pub(crate) fn biases(given: &BTreeMap<String, f64>) -> Result<Vec<(u32, f64)>, String> {
    let bias = |(key, bias): (&String, &f64)| match key.parse::<u32>() {
        Ok(id) => Ok((id, *bias)),
        Err(_) => Err(key.clone()),
    };
    given.iter().map(bias).collect()
}

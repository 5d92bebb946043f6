//! vLLM: the bodies of its routes for models that are read and not continued.

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::pooled::{PooledUsage, pooled, unused_by_pooled};
use crate::map_only::object;
use crate::unused::{Harmless, Unused};
use crate::{ChatMessage, Prompt, Texts, Tool};

pooled! {
    /// Texts or a conversation to classify.
    pub struct VllmClassifyRequest {}
}

object!(VllmClassifyRequest, but unused_by_pooled![]);

/// The classes of what was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ClassifyReply {
    /// Of this reply.
    pub id: String,
    /// Always `list`.
    pub object: String,
    /// Unix time in seconds.
    pub created: u64,
    /// The model that was asked for.
    pub model: String,
    /// One for each text, in order.
    pub data: Vec<Classified>,
    /// Tokens.
    pub usage: PooledUsage,
}

/// The classes of one text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Classified {
    /// Which text.
    pub index: usize,
    /// The likeliest class.
    pub label: Option<String>,
    /// One number for each class: probabilities, or logits where no activation was asked for.
    pub probs: Vec<f64>,
    /// How many classes there are.
    pub num_classes: usize,
}

pooled! {
    /// Texts or a conversation whose head's outputs are wanted as they are.
    pub struct PoolingRequest {
        /// `classify` for one row a text, `token_classify` for one a token; without it what the
        /// head is made for.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub task: Option<PoolingTask>,
        /// `float` or `base64`.
        pub encoding_format: Encoding,
    }
}

object!(PoolingRequest, but unused_by_pooled![
    Unused("dimensions", Harmless::Null),
    Unused("softmax", Harmless::Null),
    // Four bytes a number, the least significant first: what "native" means where this runs.
    Unused("endianness", Harmless::Every),
    Unused("embed_dtype", Harmless::Every),
]);

/// What is read off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PoolingTask {
    /// One row for each text.
    Classify,
    /// One row for each token.
    TokenClassify,
}

/// How numbers are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    /// As numbers.
    #[default]
    Float,
    /// As the base64 of little-endian 32-bit floats, row after row.
    Base64,
}

/// What a head gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PoolingReply {
    /// Of this reply.
    pub id: String,
    /// Always `list`.
    pub object: String,
    /// Unix time in seconds.
    pub created: u64,
    /// The model that was asked for.
    pub model: String,
    /// One for each text, in order.
    pub data: Vec<PooledRows>,
    /// Tokens.
    pub usage: PooledUsage,
}

/// What a head gave of one text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PooledRows {
    /// Which text.
    pub index: usize,
    /// Always `pooling`.
    pub object: String,
    /// The numbers.
    pub data: Rows,
}

/// Numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum Rows {
    /// One row.
    Row(Vec<f64>),
    /// A row for each token.
    Tokens(Vec<Vec<f64>>),
    /// All of them as base64.
    Base64(String),
}

/// Pairs to score. One of `queries` with `documents` or `items`, `data_1` with `data_2`, `text_1`
/// with `text_2`; one against one, one against many, or as many against as many.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields, default)]
pub struct VllmScoreRequest {
    /// Name of a scorer, a model or an adapter; without it the only model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queries: Option<Texts>,
    /// What is held against it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub documents: Option<Texts>,
    /// What is held against it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<Texts>,
    /// What is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_1: Option<Texts>,
    /// What is held against it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_2: Option<Texts>,
    /// What is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_1: Option<Texts>,
    /// What is held against it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_2: Option<Texts>,
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
}

object!(VllmScoreRequest, but unused_by_pooled![
    Unused("encoding_format", Harmless::Every),
    Unused("max_tokens_per_query", Harmless::Null),
    Unused("max_tokens_per_doc", Harmless::Null),
]);

/// A score for each pair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PairScores {
    /// Of this reply.
    pub id: String,
    /// Always `list`.
    pub object: String,
    /// Unix time in seconds.
    pub created: u64,
    /// The model that was asked for.
    pub model: String,
    /// One for each pair, in order.
    pub data: Vec<PairScore>,
    /// Tokens.
    pub usage: PooledUsage,
}

/// The score of a pair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PairScore {
    /// Which pair.
    pub index: usize,
    /// Always `score`.
    pub object: String,
    /// How well they go together.
    pub score: f64,
}

/// Documents to rank, as Cohere, Jina, vLLM and llama.cpp ask for it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct RerankRequest {
    /// Name of a scorer, a model or an adapter; without it the only model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What is asked.
    pub query: String,
    /// What is ranked: texts, or objects with a `text`.
    #[schema(value_type = Vec<String>)]
    pub documents: Vec<RerankDocument>,
    /// How many are given back; 0 or nothing for all.
    #[serde(
        default,
        deserialize_with = "crate::whole::read_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub top_n: Option<u64>,
    /// Whether the reply repeats the documents: so unless false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_documents: Option<bool>,
    /// Whether logits become probabilities: so unless false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub use_activation: Option<bool>,
    /// As `use_activation`, in older words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activation: Option<bool>,
    /// Nothing is ever cut here: -1 and null are taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncate_prompt_tokens: Option<i64>,
    /// Prefixes are shared only among requests of one salt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_salt: Option<String>,
}

object!(RerankRequest, but unused_by_pooled![
    Unused("max_tokens_per_query", Harmless::Null),
    Unused("max_tokens_per_doc", Harmless::Null),
    Unused("max_chunks_per_doc", Harmless::Null),
    Unused("rank_fields", Harmless::Null),
    Unused("return_text", Harmless::False),
]);

/// A document: a text, or an object with one, as Cohere's clients may send it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RerankDocument {
    /// The text.
    pub text: String,
}

impl<'de> Deserialize<'de> for RerankDocument {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DocumentVisitor)
    }
}

struct DocumentVisitor;

impl<'de> Visitor<'de> for DocumentVisitor {
    type Value = RerankDocument;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a text or an object with a text")
    }

    fn visit_str<E>(self, text: &str) -> Result<RerankDocument, E> {
        Ok(RerankDocument { text: text.to_owned() })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RerankDocument, A::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Object {
            text: String,
        }
        let object = Object::deserialize(MapAccessDeserializer::new(map))?;
        Ok(RerankDocument { text: object.text })
    }
}

/// Documents, best first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RerankReply {
    /// Of this reply.
    pub id: String,
    /// Always `list`.
    pub object: String,
    /// The model that was asked for.
    pub model: String,
    /// Tokens.
    pub usage: PooledUsage,
    /// The documents.
    pub results: Vec<Reranked>,
}

/// A document and how it did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Reranked {
    /// Its place in the request.
    pub index: usize,
    /// It.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<RerankText>,
    /// How well it goes with the query.
    pub relevance_score: f64,
}

/// A document in a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RerankText {
    /// Its text.
    pub text: String,
}

/// Items whose next token is read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct GenerativeScoringRequest {
    /// Name of a model or an adapter; without it the only model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What stands before each item: a text or token ids.
    pub query: Prompt,
    /// The items: texts or lists of token ids.
    pub items: Prompt,
    /// The tokens whose probabilities are compared; the first is the score.
    pub label_token_ids: Vec<u32>,
    /// Whether the labels share all probability between them: so unless false.
    #[serde(default = "yes")]
    pub apply_softmax: bool,
    /// Whether the item stands before the query.
    #[serde(default)]
    pub item_first: bool,
    /// Whether the tokenizer puts its own tokens around the query: so unless false.
    #[serde(default = "yes")]
    pub add_special_tokens: bool,
}

object!(
    GenerativeScoringRequest,
    but & [Unused("priority", Harmless::Every), Unused("request_id", Harmless::Every),]
);

fn yes() -> bool {
    true
}

/// A prompt or a conversation to turn into tokens.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields, default)]
pub struct TokenizeRequest {
    /// Name of a model or an adapter; without it the only model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// A text. Special tokens in it are meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// A conversation, in the place of `prompt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<ChatMessage>>,
    /// Whether the tokenizer puts its own tokens around a prompt: so unless false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub add_special_tokens: Option<bool>,
    /// Whether a conversation ends where the assistant is to speak: so unless false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub add_generation_prompt: Option<bool>,
    /// Whether a conversation ends within its last message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continue_final_message: Option<bool>,
    /// The template's own switches.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub chat_template_kwargs: Option<Map<String, Value>>,
    /// Functions that the template may show.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Tool>>,
    /// Whether the reply spells the tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub return_token_strs: Option<bool>,
}

object!(
    TokenizeRequest,
    but & [Unused("chat_template", Harmless::Null), Unused("mm_processor_kwargs", Harmless::Null),]
);

/// Tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenizeReply {
    /// How many.
    pub count: usize,
    /// How many the model reads.
    pub max_model_len: usize,
    /// Their ids.
    pub tokens: Vec<u32>,
    /// As the vocabulary spells them.
    pub token_strs: Option<Vec<String>>,
}

/// Tokens to turn into a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct DetokenizeRequest {
    /// Name of a model or an adapter; without it the only model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Their ids.
    pub tokens: Vec<u32>,
}

object!(DetokenizeRequest);

/// A text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DetokenizeReply {
    /// The text, special tokens written out.
    pub prompt: String,
}

/// An adapter to load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct LoadAdapterRequest {
    /// The name that requests are to use.
    pub lora_name: String,
    /// A PEFT folder within `wires.adapters`.
    pub lora_path: String,
    /// Whether an adapter of this name that was loaded so is replaced.
    #[serde(default)]
    pub load_inplace: bool,
    /// The model that it belongs to; without it the only model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_model_name: Option<String>,
}

object!(LoadAdapterRequest);

/// An adapter to take out of service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct UnloadAdapterRequest {
    /// Its name.
    pub lora_name: String,
}

object!(UnloadAdapterRequest, but & [Unused("lora_int_id", Harmless::Every)]);

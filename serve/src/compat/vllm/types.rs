//! vLLM: the bodies of its routes for models that are read and not continued.

use openapi::object;
use openapi::unused::{Harmless, Unused};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::compat::openai_chat::types::{ChatMessage, Prompt, Texts, Tool};
use crate::compat::pooling::types::{Encoding, PooledUsage, pooled, unused_by_pooled};

pooled! {
    /// Texts or a conversation to classify.
    pub(crate) struct VllmClassifyRequest {}
}

object!(VllmClassifyRequest, but unused_by_pooled![]);

pooled! {
    /// Texts or a conversation whose head's outputs are wanted as they are.
    pub(crate) struct PoolingRequest {
        /// `classify` for one row a text, `token_classify` for one a token; without it what the
        /// head is made for.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) task: Option<PoolingTask>,
        /// `float` or `base64`.
        pub(crate) encoding_format: Encoding,
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
pub(crate) enum PoolingTask {
    /// One row for each text.
    Classify,
    /// One row for each token.
    TokenClassify,
}

/// What a head gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct PoolingReply {
    /// Of this reply.
    pub(crate) id: String,
    /// Always `list`.
    pub(crate) object: String,
    /// Unix time in seconds.
    pub(crate) created: u64,
    /// The model that was asked for.
    pub(crate) model: String,
    /// One for each text, in order.
    pub(crate) data: Vec<PooledRows>,
    /// Tokens.
    pub(crate) usage: PooledUsage,
}

/// What a head gave of one text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct PooledRows {
    /// Which text.
    pub(crate) index: usize,
    /// Always `pooling`.
    pub(crate) object: String,
    /// The numbers.
    pub(crate) data: Rows,
}

/// Numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum Rows {
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
pub(crate) struct VllmScoreRequest {
    /// Name of a scorer, a model or an adapter; without it the only model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// What is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) queries: Option<Texts>,
    /// What is held against it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) documents: Option<Texts>,
    /// What is held against it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) items: Option<Texts>,
    /// What is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) data_1: Option<Texts>,
    /// What is held against it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) data_2: Option<Texts>,
    /// What is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text_1: Option<Texts>,
    /// What is held against it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text_2: Option<Texts>,
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
}

object!(VllmScoreRequest, but unused_by_pooled![
    Unused("encoding_format", Harmless::Every),
    Unused("max_tokens_per_query", Harmless::Null),
    Unused("max_tokens_per_doc", Harmless::Null),
]);

/// A score for each pair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct PairScores {
    /// Of this reply.
    pub(crate) id: String,
    /// Always `list`.
    pub(crate) object: String,
    /// Unix time in seconds.
    pub(crate) created: u64,
    /// The model that was asked for.
    pub(crate) model: String,
    /// One for each pair, in order.
    pub(crate) data: Vec<PairScore>,
    /// Tokens.
    pub(crate) usage: PooledUsage,
}

/// The score of a pair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct PairScore {
    /// Which pair.
    pub(crate) index: usize,
    /// Always `score`.
    pub(crate) object: String,
    /// How well they go together.
    pub(crate) score: f64,
}

/// Documents to rank, as Cohere, Jina, vLLM and llama.cpp ask for it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct RerankRequest {
    /// Name of a scorer, a model or an adapter; without it the only model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// What is asked.
    pub(crate) query: String,
    /// What is ranked: texts, or objects with a `text`.
    #[schema(value_type = Vec<String>)]
    pub(crate) documents: Vec<RerankDocument>,
    /// How many are given back; 0 or nothing for all.
    #[serde(
        default,
        deserialize_with = "openapi::whole::read_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) top_n: Option<u64>,
    /// Whether the reply repeats the documents: so unless false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) return_documents: Option<bool>,
    /// Whether logits become probabilities: so unless false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) use_activation: Option<bool>,
    /// As `use_activation`, in older words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) activation: Option<bool>,
    /// Nothing is ever cut here: -1 and null are taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) truncate_prompt_tokens: Option<i64>,
    /// Prefixes are shared only among requests of one salt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cache_salt: Option<String>,
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
pub(crate) struct RerankDocument {
    /// The text.
    pub(crate) text: String,
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
pub(crate) struct RerankReply {
    /// Of this reply.
    pub(crate) id: String,
    /// Always `list`.
    pub(crate) object: String,
    /// The model that was asked for.
    pub(crate) model: String,
    /// Tokens.
    pub(crate) usage: PooledUsage,
    /// The documents.
    pub(crate) results: Vec<Reranked>,
}

/// A document and how it did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Reranked {
    /// Its place in the request.
    pub(crate) index: usize,
    /// It.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) document: Option<RerankText>,
    /// How well it goes with the query.
    pub(crate) relevance_score: f64,
}

/// A document in a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct RerankText {
    /// Its text.
    pub(crate) text: String,
}

/// Items whose next token is read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct GenerativeScoringRequest {
    /// Name of a model or an adapter; without it the only model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// What stands before each item: a text or token ids.
    pub(crate) query: Prompt,
    /// The items: texts or lists of token ids.
    pub(crate) items: Prompt,
    /// The tokens whose probabilities are compared; the first is the score.
    pub(crate) label_token_ids: Vec<u32>,
    /// Whether the labels share all probability between them: so unless false.
    #[serde(default = "yes")]
    pub(crate) apply_softmax: bool,
    /// Whether the item stands before the query.
    #[serde(default)]
    pub(crate) item_first: bool,
    /// Whether the tokenizer puts its own tokens around the query: so unless false.
    #[serde(default = "yes")]
    pub(crate) add_special_tokens: bool,
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
pub(crate) struct TokenizeRequest {
    /// Name of a model or an adapter; without it the only model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// A text. Special tokens in it are meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) prompt: Option<String>,
    /// A conversation, in the place of `prompt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) messages: Option<Vec<ChatMessage>>,
    /// Whether the tokenizer puts its own tokens around a prompt: so unless false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) add_special_tokens: Option<bool>,
    /// Whether a conversation ends where the assistant is to speak: so unless false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) add_generation_prompt: Option<bool>,
    /// Whether a conversation ends within its last message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) continue_final_message: Option<bool>,
    /// The template's own switches.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub(crate) chat_template_kwargs: Option<Map<String, Value>>,
    /// Functions that the template may show.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tools: Option<Vec<Tool>>,
    /// Whether the reply spells the tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) return_token_strs: Option<bool>,
}

object!(
    TokenizeRequest,
    but & [Unused("chat_template", Harmless::Null), Unused("mm_processor_kwargs", Harmless::Null),]
);

/// Tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct TokenizeReply {
    /// How many.
    pub(crate) count: usize,
    /// How many the model reads.
    pub(crate) max_model_len: usize,
    /// Their ids.
    pub(crate) tokens: Vec<u32>,
    /// As the vocabulary spells them.
    pub(crate) token_strs: Option<Vec<String>>,
}

/// Tokens to turn into a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct DetokenizeRequest {
    /// Name of a model or an adapter; without it the only model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// Their ids.
    pub(crate) tokens: Vec<u32>,
}

object!(DetokenizeRequest);

/// A text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct DetokenizeReply {
    /// The text, special tokens written out.
    pub(crate) prompt: String,
}

/// An adapter to load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct LoadAdapterRequest {
    /// The name that requests are to use.
    pub(crate) lora_name: String,
    /// A PEFT folder within `wires.adapters`.
    pub(crate) lora_path: String,
    /// Whether an adapter of this name that was loaded so is replaced.
    #[serde(default)]
    pub(crate) load_inplace: bool,
    /// The model that it belongs to; without it the only model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) base_model_name: Option<String>,
}

object!(LoadAdapterRequest);

/// An adapter to take out of service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct UnloadAdapterRequest {
    /// Its name.
    pub(crate) lora_name: String,
}

object!(UnloadAdapterRequest, but & [Unused("lora_int_id", Harmless::Every)]);

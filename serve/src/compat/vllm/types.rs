//! vLLM: bodies and replies of its routes without generation.

use openapi::object;
use openapi::unused::{Harmless, Unused};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::compat::shared::generation::types::{ChatMessage, Prompt, Texts, Tool};
use crate::compat::shared::pooling::types::{Encoding, PooledUsage, pooled, unused_by_pooled};

pooled! {
    /// Texts or a conversation to classify.
    pub(crate) struct VllmClassifyRequest {}
}

object!(VllmClassifyRequest, but unused_by_pooled![]);

pooled! {
    /// Texts or a conversation to read with a head.
    pub(crate) struct PoolingRequest {
        /// `classify` for one row per text, `token_classify` for one per token; by default as the
        /// head was trained.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) task: Option<PoolingTask>,
        /// `float` or `base64`.
        pub(crate) encoding_format: Encoding,
    }
}

object!(PoolingRequest, but unused_by_pooled![
    Unused("dimensions", Harmless::Null),
    Unused("softmax", Harmless::Null),
    // Little-endian floats: what "native" means on supported machines.
    Unused("endianness", Harmless::Every),
    Unused("embed_dtype", Harmless::Every),
]);

/// Where a head is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PoolingTask {
    /// Once per text.
    Classify,
    /// At every token.
    TokenClassify,
}

/// Outputs of a head.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct PoolingReply {
    /// Id of this reply.
    pub(crate) id: String,
    /// Always `list`.
    pub(crate) object: String,
    /// Unix time in seconds.
    pub(crate) created: u64,
    /// The requested model.
    pub(crate) model: String,
    /// One entry per text, in order.
    pub(crate) data: Vec<PooledRows>,
    /// Token usage.
    pub(crate) usage: PooledUsage,
}

/// The outputs of a head for one text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct PooledRows {
    /// Index of the text.
    pub(crate) index: usize,
    /// Always `pooling`.
    pub(crate) object: String,
    /// The numbers.
    pub(crate) data: PooledNumbers,
}

/// Rows of numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
#[schema(as = Rows)]
pub(crate) enum PooledNumbers {
    /// One row.
    Row(Vec<f64>),
    /// One row per token.
    Tokens(Vec<Vec<f64>>),
    /// All rows as base64.
    Base64(String),
}

/// Pairs to score: `queries` with `documents` or `items`, `data_1` with `data_2`, or `text_1` with
/// `text_2`; one against one, one against many, or two lists of equal length.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields, default)]
pub(crate) struct VllmScoreRequest {
    /// Name of a scorer, a model or an adapter; without it the only model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// The queries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) queries: Option<Texts>,
    /// The documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) documents: Option<Texts>,
    /// The documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) items: Option<Texts>,
    /// The queries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) data_1: Option<Texts>,
    /// The documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) data_2: Option<Texts>,
    /// The queries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text_1: Option<Texts>,
    /// The documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text_2: Option<Texts>,
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
}

object!(VllmScoreRequest, but unused_by_pooled![
    Unused("encoding_format", Harmless::Every),
    Unused("max_tokens_per_query", Harmless::Null),
    Unused("max_tokens_per_doc", Harmless::Null),
]);

/// Scores of pairs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct PairScores {
    /// Id of this reply.
    pub(crate) id: String,
    /// Always `list`.
    pub(crate) object: String,
    /// Unix time in seconds.
    pub(crate) created: u64,
    /// The requested model.
    pub(crate) model: String,
    /// One entry per pair, in order.
    pub(crate) data: Vec<PairScore>,
    /// Token usage.
    pub(crate) usage: PooledUsage,
}

/// The score of a pair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct PairScore {
    /// Index of the pair.
    pub(crate) index: usize,
    /// Always `score`.
    pub(crate) object: String,
    /// Score of the pair.
    pub(crate) score: f64,
}

/// Documents to rank, in the shape of Cohere, Jina, vLLM and llama.cpp.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct RerankRequest {
    /// Name of a scorer, a model or an adapter; without it the only model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// The query.
    pub(crate) query: String,
    /// Documents: texts, or objects with a `text`.
    #[schema(value_type = Vec<String>)]
    pub(crate) documents: Vec<RerankDocument>,
    /// Most documents to return; 0 or null for all.
    #[serde(
        default,
        deserialize_with = "openapi::integer::read_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) top_n: Option<u64>,
    /// Whether the reply includes the documents; true by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) return_documents: Option<bool>,
    /// Whether logits are activated to probabilities; true by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) use_activation: Option<bool>,
    /// The former name of `use_activation`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) activation: Option<bool>,
    /// Must be -1 or null: input is never truncated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) truncate_prompt_tokens: Option<i64>,
    /// Cached prefixes are shared only among requests with the same salt.
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

/// A document: text, or an object with one, as Cohere's clients may send.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct RerankDocument {
    /// Text.
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
    /// Id of this reply.
    pub(crate) id: String,
    /// Always `list`.
    pub(crate) object: String,
    /// The requested model.
    pub(crate) model: String,
    /// Token usage.
    pub(crate) usage: PooledUsage,
    /// The ranked documents.
    pub(crate) results: Vec<Reranked>,
}

/// A ranked document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Reranked {
    /// Index of the document in the request.
    pub(crate) index: usize,
    /// The document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) document: Option<RerankText>,
    /// Relevance to the query.
    pub(crate) relevance_score: f64,
}

/// A document in a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct RerankText {
    /// Text.
    pub(crate) text: String,
}

/// Items for next-token scoring.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct GenerativeScoringRequest {
    /// Name of a model or an adapter; without it the only model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// Text or token ids before each item.
    pub(crate) query: Prompt,
    /// Items: texts or lists of token ids.
    pub(crate) items: Prompt,
    /// The tokens to compare; the first one's probability is the score.
    pub(crate) label_token_ids: Vec<u32>,
    /// Whether probabilities are normalised over the labels; true by default.
    #[serde(default = "yes")]
    pub(crate) apply_softmax: bool,
    /// Whether the item precedes the query.
    #[serde(default)]
    pub(crate) item_first: bool,
    /// Whether the tokenizer adds its special tokens around the query; true by default.
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

/// A prompt or a conversation to encode.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields, default)]
pub(crate) struct TokenizeRequest {
    /// Name of a model or an adapter; without it the only model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// Text. Special tokens in it are encoded as such.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) prompt: Option<String>,
    /// A conversation, instead of `prompt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) messages: Option<Vec<ChatMessage>>,
    /// Whether the tokenizer adds its special tokens around a prompt; true by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) add_special_tokens: Option<bool>,
    /// Whether the prompt ends with the start of an assistant turn; true by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) add_generation_prompt: Option<bool>,
    /// Whether the prompt ends within its last message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) continue_final_message: Option<bool>,
    /// Variables of the chat template.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub(crate) chat_template_kwargs: Option<Map<String, Value>>,
    /// Functions for the template to render.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tools: Option<Vec<Tool>>,
    /// Whether the reply includes the tokens' spelling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) return_token_strs: Option<bool>,
}

object!(
    TokenizeRequest,
    but & [Unused("chat_template", Harmless::Null), Unused("mm_processor_kwargs", Harmless::Null),]
);

/// The tokens of a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct TokenizeReply {
    /// Number of tokens.
    pub(crate) count: usize,
    /// Context length of the model.
    pub(crate) max_model_len: usize,
    /// Token ids.
    pub(crate) tokens: Vec<u32>,
    /// Spellings in the vocabulary.
    pub(crate) token_strs: Option<Vec<String>>,
}

/// Tokens to decode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct DetokenizeRequest {
    /// Name of a model or an adapter; without it the only model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// Token ids.
    pub(crate) tokens: Vec<u32>,
}

object!(DetokenizeRequest);

/// The text of tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct DetokenizeReply {
    /// Text, with special tokens written out.
    pub(crate) prompt: String,
}

/// An adapter to load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct LoadAdapterRequest {
    /// Name for requests.
    pub(crate) lora_name: String,
    /// A PEFT folder within `compat.adapters`.
    pub(crate) lora_path: String,
    /// Whether to replace an adapter of this name that was loaded by a request.
    #[serde(default)]
    pub(crate) load_inplace: bool,
    /// The base model; without it the only model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) base_model_name: Option<String>,
}

object!(LoadAdapterRequest);

/// An adapter to unload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct UnloadAdapterRequest {
    /// Name of the adapter.
    pub(crate) lora_name: String,
}

object!(UnloadAdapterRequest, but & [Unused("lora_int_id", Harmless::Every)]);

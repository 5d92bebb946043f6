//! `SGLang`: bodies and replies of its routes without generation.

use openapi::object;
use openapi::unused::{Harmless, Unused};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::compat::shared::generation::types::{Prompt, Texts};
use crate::compat::shared::pooling::types::{Encoding, PooledUsage};

/// Items for next-token scoring, or for reading with a model's head.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct SglangScoreRequest {
    /// Name of a model or an adapter; without it, and under `default`, the only model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// Text or token ids before each item.
    pub(crate) query: Prompt,
    /// The items: a text, texts or lists of token ids.
    pub(crate) items: Prompt,
    /// The tokens to score, one list for all items or one for each; not needed for a model with a
    /// head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) label_token_ids: Option<Prompt>,
    /// Whether probabilities are normalised over the labels.
    #[serde(default)]
    pub(crate) apply_softmax: bool,
    /// Temperature of the logits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) temperature: Option<f64>,
    /// Whether the item precedes the query.
    #[serde(default)]
    pub(crate) item_first: bool,
}

object!(
    SglangScoreRequest,
    but & [
        Unused("return_token_logprobs", Harmless::False),
        Unused("return_pooled_hidden_states", Harmless::False),
        Unused("score_extraction_token", Harmless::Null),
        Unused("embed_override_token_id", Harmless::Null),
        Unused("query_embed_overrides", Harmless::Null),
        Unused("item_embed_overrides", Harmless::Null),
        Unused("rid", Harmless::Every),
        Unused("user", Harmless::Every),
    ]
);

/// Scores of the items.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct SglangScores {
    /// One row per item, one number per label.
    pub(crate) scores: Vec<Vec<f64>>,
    /// The requested model.
    pub(crate) model: String,
    /// Token usage.
    pub(crate) usage: PooledUsage,
    /// Always `scoring`.
    pub(crate) object: String,
}

/// Texts to read with a head, for `POST /classify`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields, default)]
pub(crate) struct SglangRewardRequest {
    /// Text or texts. Special tokens in them are encoded as such.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<Texts>,
    /// Token ids, or a list of them per text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) input_ids: Option<Prompt>,
    /// Name of a model or an adapter; without it, and under `default`, the only model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
}

object!(
    SglangRewardRequest,
    but & [
        Unused("rid", Harmless::Every),
        Unused("priority", Harmless::Every),
        Unused("sampling_params", Harmless::Empty),
        Unused("image_data", Harmless::Null),
        Unused("audio_data", Harmless::Null),
        Unused("video_data", Harmless::Null),
        Unused("dimensions", Harmless::Null),
        Unused("lora_path", Harmless::Null),
    ]
);

/// Outputs of a head: an object for one text, a list for a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum SglangRewards {
    /// For one text.
    One(SglangReward),
    /// For each text, in order.
    Many(Vec<SglangReward>),
}

/// The outputs of a head for one text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct SglangReward {
    /// The outputs; one number for a reward model.
    pub(crate) embedding: Vec<f64>,
    /// Details.
    pub(crate) meta_info: SglangMeta,
}

/// Details of a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct SglangMeta {
    /// Id of this text.
    pub(crate) id: String,
    /// Always null: no text is generated.
    #[schema(value_type = Option<Object>)]
    pub(crate) finish_reason: Option<Value>,
    /// Number of tokens.
    pub(crate) prompt_tokens: u64,
    /// Tokens taken from the prefix cache.
    pub(crate) cached_tokens: u64,
}

/// Texts to embed; the vector of a reward model is its head's output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct EmbeddingRequest {
    /// Name of a model or an adapter; without it, and under `default`, the only model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// Text, token ids, or a list of either. Special tokens in text are encoded as such.
    pub(crate) input: Prompt,
    /// `float` or `base64`.
    #[serde(default)]
    pub(crate) encoding_format: Encoding,
}

object!(
    EmbeddingRequest,
    but & [
        Unused("user", Harmless::Every),
        Unused("rid", Harmless::Every),
        Unused("priority", Harmless::Every),
        Unused("request_id", Harmless::Every),
        Unused("dimensions", Harmless::Null),
        Unused("lora_path", Harmless::Null),
        Unused("embed_override_token_id", Harmless::Null),
        Unused("embed_overrides", Harmless::Null),
    ]
);

/// Embeddings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct EmbeddingReply {
    /// Always `list`.
    pub(crate) object: String,
    /// One entry per text, in order.
    pub(crate) data: Vec<Embedded>,
    /// The requested model.
    pub(crate) model: String,
    /// Token usage.
    pub(crate) usage: PooledUsage,
}

/// The embedding of one text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Embedded {
    /// Always `embedding`.
    pub(crate) object: String,
    /// The outputs of the head.
    pub(crate) embedding: Vector,
    /// Index of the text.
    pub(crate) index: usize,
}

/// A vector.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum Vector {
    /// JSON numbers.
    Floats(Vec<f64>),
    /// As the base64 of little-endian 32-bit floats.
    Base64(String),
}

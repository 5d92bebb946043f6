//! `SGLang`: the bodies of its routes for models that are read and not continued.

use openapi::object;
use openapi::unused::{Harmless, Unused};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::compat::openai_chat::types::{Prompt, Texts};
use crate::compat::pooling::types::{Encoding, PooledUsage};

/// Items whose next token is read, or, of a model with a head, the head.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct SglangScoreRequest {
    /// Name of a model or an adapter; without it, and under `default`, the only model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// What stands before each item: a text or token ids.
    pub(crate) query: Prompt,
    /// The items: a text, texts or lists of token ids.
    pub(crate) items: Prompt,
    /// The tokens whose probabilities are wanted, for all items or a list for each; a model with a
    /// head needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) label_token_ids: Option<Prompt>,
    /// Whether the labels share all probability between them.
    #[serde(default)]
    pub(crate) apply_softmax: bool,
    /// Divides logits before they share probability.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) temperature: Option<f64>,
    /// Whether the item stands before the query.
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

/// Numbers for each item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct SglangScores {
    /// One row for each item, one number for each label.
    pub(crate) scores: Vec<Vec<f64>>,
    /// The model that was asked for.
    pub(crate) model: String,
    /// Tokens.
    pub(crate) usage: PooledUsage,
    /// Always `scoring`.
    pub(crate) object: String,
}

/// Texts to read with a head, as `POST /classify` has them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields, default)]
pub(crate) struct SglangRewardRequest {
    /// A text or texts. Special tokens in them are meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<Texts>,
    /// Token ids, or a list of them for each text.
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

/// What a head gave: one object for one text, a list for a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum SglangRewards {
    /// Of one text.
    One(SglangReward),
    /// Of each text, in order.
    Many(Vec<SglangReward>),
}

/// What a head gave of one text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct SglangReward {
    /// The head's outputs: one number of a reward model.
    pub(crate) embedding: Vec<f64>,
    /// What is known of the reading.
    pub(crate) meta_info: SglangMeta,
}

/// What is known of a reading.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct SglangMeta {
    /// Of this reading.
    pub(crate) id: String,
    /// Always null: nothing was generated.
    #[schema(value_type = Option<Object>)]
    pub(crate) finish_reason: Option<Value>,
    /// Tokens read.
    pub(crate) prompt_tokens: u64,
    /// Of these, tokens that a cache spared.
    pub(crate) cached_tokens: u64,
}

/// Texts whose vectors are wanted: of a reward model, what its head gives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct EmbeddingRequest {
    /// Name of a model or an adapter; without it, and under `default`, the only model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// A text, token ids, or a list of either. Special tokens in a text are meant.
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

/// Vectors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct EmbeddingReply {
    /// Always `list`.
    pub(crate) object: String,
    /// One for each text, in order.
    pub(crate) data: Vec<Embedded>,
    /// The model that was asked for.
    pub(crate) model: String,
    /// Tokens.
    pub(crate) usage: PooledUsage,
}

/// The vector of one text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Embedded {
    /// Always `embedding`.
    pub(crate) object: String,
    /// The head's outputs.
    pub(crate) embedding: Vector,
    /// Which text.
    pub(crate) index: usize,
}

/// Numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum Vector {
    /// As numbers.
    Floats(Vec<f64>),
    /// As the base64 of little-endian 32-bit floats.
    Base64(String),
}

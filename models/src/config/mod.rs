//! A model's resolved configuration: every number that the decoder needs, independent of field
//! names in files.
//!
//! A family maps `config.json` to these fields (a row of [`family`]'s table); the decoder uses only
//! the fields.

mod count;
pub(crate) mod family;
mod fields;
mod hf;
mod known;
mod layers;
mod limits;
mod rope;

use std::path::Path;

pub use limits::{
    MAX_ALL_EXPERTS, MAX_EXPERTS, MAX_HEAD_DIM, MAX_HEADS, MAX_HIDDEN, MAX_INTERMEDIATE,
    MAX_LABELS, MAX_LAYERS, MAX_PARAMETERS, MAX_POSITIONS, MAX_VOCAB,
};

use crate::error::Result;
use chat::Folder;

/// A decoder's shape and the choices in which families differ.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelConfig {
    /// The `model_type` that it was read from, such as `qwen2`.
    pub model_type: String,
    /// Rows of the embedding.
    pub vocab_size: usize,
    /// Width of the residual stream.
    pub hidden_size: usize,
    /// Query heads.
    pub num_heads: usize,
    /// Key and value heads; divides `num_heads`.
    pub num_kv_heads: usize,
    /// Width of one head.
    pub head_dim: usize,
    /// Maximum number of positions; longer input is refused.
    pub max_positions: usize,
    /// Whether the vocabulary head is the embedding.
    pub tie_embeddings: bool,
    /// Factor on the embeddings (Gemma: the square root of the width).
    pub embedding_scale: Option<f32>,
    /// The normalisation of every layer.
    pub norm: NormConfig,
    /// Normalisation of queries and keys.
    pub qk_norm: Option<QkNorm>,
    /// The linear layers that have a bias.
    pub biases: Biases,
    /// Factor on query · key.
    pub attention_scale: f32,
    /// `cap · tanh(x / cap)` on attention scores (Gemma 2).
    pub attention_softcap: Option<f32>,
    /// The cap on the vocabulary logits (Gemma 2).
    pub logit_softcap: Option<f32>,
    /// The activation of the gate.
    pub activation: Activation,
    /// One entry per layer.
    pub layers: Vec<LayerConfig>,
    /// The rotary tables that layers refer to.
    pub ropes: Vec<RopeConfig>,
    /// The head that the architecture names.
    pub head: HeadConfig,
    /// The token with which texts of a batch are padded.
    pub pad_token_id: Option<u32>,
}

impl ModelConfig {
    /// Reads `config.json` of a folder in the Hugging Face layout.
    ///
    /// # Errors
    /// [`crate::ModelError::Config`] names a field that is malformed, out of bounds, unsupported at
    /// its value, or unknown; `Io` and `File` concern the file.
    pub fn read(dir: &Path) -> Result<ModelConfig> {
        Ok(hf::read_config(&Folder::directory(dir))?.1)
    }

    /// Reads `config.json` and returns its text too.
    pub(crate) fn read_file(folder: &Folder) -> Result<(String, ModelConfig)> {
        hf::read_config(folder)
    }

    /// Parses the text of a `config.json`; errors name `path`.
    pub fn from_json(path: &Path, json: &str) -> Result<ModelConfig> {
        hf::from_json(path, json)
    }

    /// The position at which a head for whole texts is read: the last token, but for
    /// `…ForSequenceClassification`, as an architecture or as the head of an adapter, the last one that is
    /// not padding, and 0 if all are. As transformers' `GenericForSequenceClassification`, it takes a token
    /// for padding by its id alone, so that a text that ends with this token is read before it.
    pub fn whole_text_position(&self, token_ids: &[u32]) -> usize {
        let pad = match self.head {
            HeadConfig::Sequence { .. } | HeadConfig::Vocab => self.pad_token_id,
            HeadConfig::Value
            | HeadConfig::Token { .. }
            | HeadConfig::Reward { .. }
            | HeadConfig::Process { .. } => None,
        };
        match pad {
            None => token_ids.len().saturating_sub(1),
            Some(pad) => token_ids.iter().rposition(|id| *id != pad).unwrap_or(0),
        }
    }

    /// Trainable numbers in the model, a tied vocabulary counted once; `None` if their count
    /// exceeds 64 bits.
    pub fn parameters(&self) -> Option<u64> {
        count::parameters(self)
    }
}

/// The normalisation of a layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NormConfig {
    /// Added to the mean square.
    pub eps: f32,
    /// Gemma multiplies by `1 + weight`.
    pub unit_offset: bool,
    /// The placement of the norms.
    pub placement: NormPlacement,
}

/// Placement of norms around attention and MLP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormPlacement {
    /// Before each (Llama).
    Pre,
    /// After each, inside the residual (OLMo 2).
    Post,
    /// Before and after each (Gemma 2 and 3).
    Both,
}

impl NormPlacement {
    /// Returns whether a norm lies before attention and MLP.
    pub fn is_before(self) -> bool {
        matches!(self, NormPlacement::Pre | NormPlacement::Both)
    }

    /// Returns whether a norm lies after attention and MLP.
    pub fn is_after(self) -> bool {
        matches!(self, NormPlacement::Post | NormPlacement::Both)
    }
}

/// Normalisation of queries and keys before rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QkNorm {
    /// Each head by itself (Qwen3, Gemma 3).
    PerHead,
    /// All heads together (OLMo 2).
    Whole,
}

/// The linear layers that have a bias.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Biases {
    /// Query, key and value projections.
    pub qkv: bool,
    /// The attention's output projection.
    pub output: bool,
    /// Gate, up and down projections.
    pub mlp: bool,
}

/// The gate's activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// x · σ(x).
    Silu,
    /// GELU by the error function.
    Gelu,
    /// GELU by the tanh approximation.
    GeluTanh,
}

/// One layer.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerConfig {
    /// Keys that a query sees, itself included; `None` for all.
    pub window: Option<usize>,
    /// Index into [`ModelConfig::ropes`]; `None` for a layer without positions (SmolLM3).
    pub rope: Option<usize>,
    /// The layer's MLP.
    pub mlp: MlpConfig,
}

/// A layer's MLP.
#[derive(Clone, Debug, PartialEq)]
pub enum MlpConfig {
    /// One gated MLP.
    Dense {
        /// Its inner width.
        intermediate_size: usize,
    },
    /// A router and experts (Qwen3-MoE).
    Experts {
        /// Inner width of one expert.
        intermediate_size: usize,
        /// Number of experts.
        num_experts: usize,
        /// Number of experts per token.
        experts_per_token: usize,
        /// Whether the weights of the chosen experts are scaled to sum to 1.
        normalise: bool,
    },
}

/// A rotary embedding.
#[derive(Clone, Debug, PartialEq)]
pub struct RopeConfig {
    /// Base of the frequencies.
    pub theta: f64,
    /// Leading dimensions of a head that are rotated.
    pub rotary_dim: usize,
    /// Changes to the frequencies.
    pub scaling: RopeScaling,
}

/// Changes to the rotary frequencies.
#[derive(Clone, Debug, PartialEq)]
pub enum RopeScaling {
    /// None.
    Default,
    /// All frequencies divided by the factor.
    Linear {
        /// The divisor.
        factor: f64,
    },
    /// Llama 3.1: low frequencies divided, high ones kept, a smooth passage between.
    Llama3 {
        /// The divisor of low frequencies.
        factor: f64,
        /// Wavelengths above `original / low_freq_factor` are low.
        low_freq_factor: f64,
        /// Wavelengths below `original / high_freq_factor` are high.
        high_freq_factor: f64,
        /// Positions of the original training.
        original_max_positions: usize,
    },
    /// Each frequency divided by its own factor, and cos and sin multiplied by one (Phi-3 long).
    PerDimension {
        /// One divisor per frequency: `rotary_dim / 2` of them.
        factors: Vec<f64>,
        /// Factor on cos and sin.
        attention_factor: f64,
    },
}

/// The head of an architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadConfig {
    /// `…ForCausalLM`: the vocabulary.
    Vocab,
    /// `…ForCausalLM` with a value head beside the vocabulary.
    Value,
    /// `…ForSequenceClassification`: `n` labels, read at the last token that is not padding.
    Sequence {
        /// Number of labels.
        n_labels: usize,
    },
    /// `…ForTokenClassification`: `n` labels at any token.
    Token {
        /// Number of labels.
        n_labels: usize,
    },
    /// Two layers with a `ReLU` between (Qwen2.5-Math RM): read at the last token.
    Reward {
        /// Outputs.
        n_labels: usize,
    },
    /// Two layers with a `ReLU` between (Qwen2.5-Math PRM): read at step markers.
    Process {
        /// Outputs.
        n_labels: usize,
    },
}

impl HeadConfig {
    /// Whether the model has a vocabulary head, tied or not.
    pub fn has_vocabulary(self) -> bool {
        match self {
            HeadConfig::Vocab | HeadConfig::Value => true,
            HeadConfig::Sequence { .. }
            | HeadConfig::Token { .. }
            | HeadConfig::Reward { .. }
            | HeadConfig::Process { .. } => false,
        }
    }
}

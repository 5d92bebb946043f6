//! What a model is, resolved: every number that the decoder needs and no name of a file.
//!
//! A family is a way to read `config.json` into these fields (a row of [`family`]'s table); the
//! decoder sees only the fields.

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
    MAX_EXPERTS, MAX_HEAD_DIM, MAX_HEADS, MAX_HIDDEN, MAX_INTERMEDIATE, MAX_LABELS, MAX_LAYERS,
    MAX_PARAMETERS, MAX_POSITIONS, MAX_VOCAB,
};

use crate::error::Result;
use chat::Folder;

/// A decoder's shape and the choices that families differ in.
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
    /// Positions that the model was made for; longer input is refused.
    pub max_positions: usize,
    /// Whether the vocabulary head is the embedding.
    pub tie_embeddings: bool,
    /// Factor on the embeddings (Gemma: the square root of the width).
    pub embedding_scale: Option<f32>,
    /// The normalisation of every layer.
    pub norm: NormConfig,
    /// Normalisation of queries and keys.
    pub qk_norm: Option<QkNorm>,
    /// Which linear layers have a bias.
    pub biases: Biases,
    /// Factor on query · key.
    pub attention_scale: f32,
    /// `cap · tanh(x / cap)` on attention scores (Gemma 2).
    pub attention_softcap: Option<f32>,
    /// The same on the vocabulary logits (Gemma 2).
    pub logit_softcap: Option<f32>,
    /// The activation of the gate.
    pub activation: Activation,
    /// One entry a layer.
    pub layers: Vec<LayerConfig>,
    /// The rotary tables that layers refer to.
    pub ropes: Vec<RopeConfig>,
    /// The head that the architecture names.
    pub head: HeadConfig,
}

impl ModelConfig {
    /// Reads `config.json` of a folder in the Hugging Face layout.
    ///
    /// # Errors
    /// [`crate::ModelError::Config`] names a field that is malformed, out of bounds, unsupported at
    /// its value, or not understood; `Io` and `File` are about the file as a whole.
    pub fn read(dir: &Path) -> Result<ModelConfig> {
        Ok(hf::read_config(&Folder::directory(dir))?.1)
    }

    /// The same, with the file's text.
    pub(crate) fn read_file(folder: &Folder) -> Result<(String, ModelConfig)> {
        hf::read_config(folder)
    }

    /// The same from the file's text; errors name `path`.
    pub fn from_json(path: &Path, json: &str) -> Result<ModelConfig> {
        hf::from_json(path, json)
    }

    /// Trainable numbers in the whole model, a tied vocabulary counted once; none where their
    /// count exceeds 64 bits.
    pub fn parameters(&self) -> Option<u64> {
        count::parameters(self)
    }
}

/// How a layer normalises.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NormConfig {
    /// Added to the mean square.
    pub eps: f32,
    /// Gemma multiplies by `1 + weight`.
    pub unit_offset: bool,
    /// Where the norms sit.
    pub placement: NormPlacement,
}

/// Where norms sit around attention and MLP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormPlacement {
    /// Before each (Llama).
    Pre,
    /// After each, inside the residual (OLMo 2).
    Post,
    /// Before and after each (Gemma 2 and 3).
    Both,
}

/// How queries and keys are normalised before rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QkNorm {
    /// Each head by itself (Qwen3, Gemma 3).
    PerHead,
    /// All heads together (OLMo 2).
    Whole,
}

/// Which linear layers have a bias.
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
    /// Keys that a query sees, itself included; none for all.
    pub window: Option<usize>,
    /// Index into [`ModelConfig::ropes`]; none for a layer without positions (SmolLM3).
    pub rope: Option<usize>,
    /// What follows the attention.
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
        /// How many experts there are.
        num_experts: usize,
        /// How many a token visits.
        experts_per_token: usize,
        /// Whether the visited experts' weights are scaled to sum to 1.
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
    /// How the frequencies are changed.
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
        /// Positions that the model was first made for.
        original_max_positions: usize,
    },
    /// Each frequency divided by its own factor, and cos and sin multiplied by one (Phi-3 long).
    PerDimension {
        /// One divisor a frequency: `rotary_dim / 2` of them.
        factors: Vec<f64>,
        /// Factor on cos and sin.
        attention_factor: f64,
    },
}

/// The head that an architecture names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadConfig {
    /// `…ForCausalLM`: the vocabulary.
    Vocab,
    /// `…ForCausalLM` with a value head beside the vocabulary.
    Value,
    /// `…ForSequenceClassification`: `n` labels, read at the last token.
    Sequence {
        /// How many.
        n_labels: usize,
    },
    /// `…ForTokenClassification`: `n` labels at any token.
    Token {
        /// How many.
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

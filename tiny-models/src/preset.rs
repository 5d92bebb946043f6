//! The available shapes: one line of `config.json` fields each, in the style of the families' own
//! files.
//!
//! Tiny shapes are odd on purpose: widths that fill no panel, heads that are not `hidden / heads`
//! wide, windows shorter than a short prompt, an ε large enough to matter, windows that are
//! disabled.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::tokenizer::{END_OF_TEXT, IM_END};

/// A shape with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Preset {
    /// Llama: a head width that is not a multiple of 8.
    Llama,
    /// Llama 3.1's rotary scaling.
    Llama3,
    /// Llama with all rotary frequencies divided, and biases in attention and MLP.
    LlamaLinear,
    /// Mistral: a sliding window in every layer.
    Mistral,
    /// Qwen2: biases of queries, keys and values; tied embeddings.
    Qwen2,
    /// Qwen2 with a vocabulary head of its own and a sliding window in its upper layers.
    Qwen2Window,
    /// Qwen3: norms of queries and keys; heads wider than `hidden / heads`.
    Qwen3,
    /// Gemma 2: soft-caps, four norms a layer, every other layer windowed.
    Gemma2,
    /// Gemma 3 text: windows with their own rotary base, norms of queries and keys.
    Gemma3,
    /// Phi-3: fused projections, part of a head rotated, a window.
    Phi3,
    /// Phi-3 with a rotary factor for each dimension.
    Phi3Long,
    /// OLMo 2: norms after attention and MLP, and of all heads together.
    Olmo2,
    /// SmolLM3: a layer without positions.
    SmolLm3,
    /// Qwen3-MoE: experts in all layers but one.
    Qwen3Moe,
    /// The published shape of Qwen2.5-0.5B, for measurements of speed.
    Qwen25Half,
}

impl Preset {
    /// Every preset: the tiny ones, then those of published sizes.
    pub const ALL: [Preset; 15] = [
        Preset::Llama,
        Preset::Llama3,
        Preset::LlamaLinear,
        Preset::Mistral,
        Preset::Qwen2,
        Preset::Qwen2Window,
        Preset::Qwen3,
        Preset::Gemma2,
        Preset::Gemma3,
        Preset::Phi3,
        Preset::Phi3Long,
        Preset::Olmo2,
        Preset::SmolLm3,
        Preset::Qwen3Moe,
        Preset::Qwen25Half,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Preset::Llama => "llama",
            Preset::Llama3 => "llama3",
            Preset::LlamaLinear => "llama-linear",
            Preset::Mistral => "mistral",
            Preset::Qwen2 => "qwen2",
            Preset::Qwen2Window => "qwen2-window",
            Preset::Qwen3 => "qwen3",
            Preset::Gemma2 => "gemma2",
            Preset::Gemma3 => "gemma3",
            Preset::Phi3 => "phi3",
            Preset::Phi3Long => "phi3-long",
            Preset::Olmo2 => "olmo2",
            Preset::SmolLm3 => "smollm3",
            Preset::Qwen3Moe => "qwen3_moe",
            Preset::Qwen25Half => "qwen2.5-0.5b",
        }
    }

    /// Whether it has the size of a published model.
    pub fn is_published_size(self) -> bool {
        self == Preset::Qwen25Half
    }

    /// The beginning of its architectures' names, such as `Qwen2`.
    pub(crate) fn architecture(self) -> &'static str {
        match self {
            Preset::Llama | Preset::Llama3 | Preset::LlamaLinear => "Llama",
            Preset::Mistral => "Mistral",
            Preset::Qwen2 | Preset::Qwen2Window | Preset::Qwen25Half => "Qwen2",
            Preset::Qwen3 => "Qwen3",
            Preset::Gemma2 => "Gemma2",
            Preset::Gemma3 => "Gemma3",
            Preset::Phi3 | Preset::Phi3Long => "Phi3",
            Preset::Olmo2 => "Olmo2",
            Preset::SmolLm3 => "SmolLM3",
            Preset::Qwen3Moe => "Qwen3Moe",
        }
    }

    /// The fields of `config.json`, without those that the head, the storage type and the tokenizer
    /// determine.
    pub(crate) fn fields(self) -> Map<String, Value> {
        let mut fields = object(&json!({
            "hidden_act": "silu",
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "max_position_embeddings": 512,
            "rms_norm_eps": 1e-6,
            "tie_word_embeddings": false,
            "vocab_size": 320,
            "bos_token_id": END_OF_TEXT,
            "eos_token_id": IM_END,
            "pad_token_id": END_OF_TEXT,
            "initializer_range": 0.02,
            "attention_dropout": 0.0,
            "use_cache": true,
        }));
        let own = object(&self.own_fields());
        if own.contains_key("hidden_activation") {
            fields.remove("hidden_act");
        }
        fields.extend(own);
        fields
    }

    #[expect(clippy::too_many_lines, reason = "a table, one entry a shape")]
    fn own_fields(self) -> Value {
        match self {
            Preset::Llama => json!({
                "model_type": "llama", "hidden_size": 40, "intermediate_size": 56, "head_dim": 10,
                "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "rope_scaling": null,
                "attention_bias": false, "mlp_bias": false, "pretraining_tp": 1,
            }),
            Preset::Llama3 => json!({
                "model_type": "llama", "hidden_size": 64, "intermediate_size": 64, "head_dim": 16,
                "tie_word_embeddings": true, "rope_theta": 500_000.0,
                "rope_scaling": {
                    "factor": 8.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
                    "original_max_position_embeddings": 64, "rope_type": "llama3",
                },
                "attention_bias": false, "mlp_bias": false,
            }),
            Preset::LlamaLinear => json!({
                "model_type": "llama", "hidden_size": 32, "intermediate_size": 48,
                "num_key_value_heads": 4, "attention_bias": true, "mlp_bias": true,
                "rope_theta": 10000.0, "rope_scaling": { "type": "linear", "factor": 2.0 },
            }),
            Preset::Mistral => json!({
                "model_type": "mistral", "hidden_size": 48, "intermediate_size": 72,
                "num_key_value_heads": 1, "sliding_window": 8, "rope_theta": 10000.0,
                "rms_norm_eps": 1e-5,
            }),
            Preset::Qwen2 => json!({
                "model_type": "qwen2", "hidden_size": 32, "intermediate_size": 56,
                "tie_word_embeddings": true, "rope_theta": 1_000_000.0, "use_sliding_window": false,
                "sliding_window": 8, "max_window_layers": 1,
            }),
            Preset::Qwen2Window => json!({
                "model_type": "qwen2", "hidden_size": 40, "intermediate_size": 72,
                "num_hidden_layers": 3, "rope_theta": 10000.0, "use_sliding_window": true,
                "sliding_window": 8, "max_window_layers": 1,
            }),
            Preset::Qwen3 => json!({
                "model_type": "qwen3", "hidden_size": 32, "intermediate_size": 64, "head_dim": 12,
                "rms_norm_eps": 1e-3,
                "attention_bias": false, "rope_theta": 1_000_000.0, "rope_scaling": null,
                "use_sliding_window": false, "sliding_window": null, "max_window_layers": 2,
            }),
            Preset::Gemma2 => json!({
                "model_type": "gemma2", "hidden_size": 32, "intermediate_size": 72, "head_dim": 12,
                "rms_norm_eps": 1e-3,
                "num_hidden_layers": 4, "hidden_activation": "gelu_pytorch_tanh",
                "query_pre_attn_scalar": 20, "attn_logit_softcapping": 3.0,
                "final_logit_softcapping": 8.0, "sliding_window": 8, "attention_bias": false,
                "rope_theta": 10000.0, "tie_word_embeddings": true, "cache_implementation": "hybrid",
            }),
            Preset::Gemma3 => json!({
                "model_type": "gemma3_text", "hidden_size": 32, "intermediate_size": 64,
                "head_dim": 16, "num_hidden_layers": 4, "hidden_activation": "gelu_pytorch_tanh",
                "query_pre_attn_scalar": 16, "attn_logit_softcapping": null,
                "final_logit_softcapping": null, "sliding_window": 8, "attention_bias": false,
                "layer_types": [
                    "sliding_attention", "sliding_attention", "full_attention", "sliding_attention",
                ],
                "rope_parameters": {
                    "full_attention": {
                        "rope_type": "linear", "factor": 8.0, "rope_theta": 1_000_000.0,
                    },
                    "sliding_attention": { "rope_type": "default", "rope_theta": 10000.0 },
                },
                "tie_word_embeddings": true,
            }),
            Preset::Phi3 => json!({
                "model_type": "phi3", "hidden_size": 64, "intermediate_size": 80,
                "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "partial_rotary_factor": 0.75,
                "original_max_position_embeddings": 512, "rope_scaling": null, "sliding_window": 8,
                "embd_pdrop": 0.0, "resid_pdrop": 0.0,
            }),
            Preset::Phi3Long => json!({
                "model_type": "phi3", "hidden_size": 48, "intermediate_size": 64,
                "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "partial_rotary_factor": 1.0,
                "max_position_embeddings": 2048, "original_max_position_embeddings": 512,
                "rope_scaling": {
                    "type": "longrope",
                    "short_factor": [1.0, 1.05, 1.1, 1.25, 1.5, 2.0],
                    "long_factor": [1.0, 1.5, 2.5, 4.0, 8.0, 16.0],
                },
                "sliding_window": null, "embd_pdrop": 0.0, "resid_pdrop": 0.0,
            }),
            Preset::Olmo2 => json!({
                "model_type": "olmo2", "hidden_size": 40, "intermediate_size": 56,
                "vocab_size": 330, "rope_theta": 500_000.0, "rope_scaling": null,
                "attention_bias": false,
            }),
            Preset::SmolLm3 => json!({
                "model_type": "smollm3", "hidden_size": 32, "intermediate_size": 48,
                "num_hidden_layers": 4, "tie_word_embeddings": true, "rope_theta": 2_000_000.0,
                "rope_scaling": null, "attention_bias": false, "mlp_bias": false,
                "no_rope_layers": [1, 0, 1, 0], "no_rope_layer_interval": 2,
                "use_sliding_window": false, "sliding_window": null,
            }),
            Preset::Qwen3Moe => json!({
                "model_type": "qwen3_moe", "hidden_size": 32, "intermediate_size": 56,
                "head_dim": 16, "num_hidden_layers": 3, "num_experts": 6, "num_experts_per_tok": 2,
                "moe_intermediate_size": 24, "norm_topk_prob": true, "decoder_sparse_step": 1,
                "mlp_only_layers": [1], "attention_bias": false, "rope_theta": 1_000_000.0,
                "rope_scaling": null, "use_sliding_window": false, "sliding_window": null,
                "output_router_logits": false, "router_aux_loss_coef": 0.001,
            }),
            Preset::Qwen25Half => json!({
                "model_type": "qwen2", "hidden_size": 896, "intermediate_size": 4864,
                "num_hidden_layers": 24, "num_attention_heads": 14, "num_key_value_heads": 2,
                "max_position_embeddings": 32768, "vocab_size": 151_936,
                "tie_word_embeddings": true, "rope_theta": 1_000_000.0, "use_sliding_window": false,
                "sliding_window": 32768, "max_window_layers": 21,
            }),
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Preset {
    type Err = String;

    fn from_str(name: &str) -> Result<Preset, String> {
        let found = Preset::ALL.into_iter().find(|p| p.name() == name);
        found.ok_or_else(|| {
            let names: Vec<_> = Preset::ALL.iter().map(|p| p.name()).collect();
            format!("no shape is called `{name}`; there are {}", names.join(", "))
        })
    }
}

impl TryFrom<String> for Preset {
    type Error = String;

    fn try_from(name: String) -> Result<Preset, String> {
        name.parse()
    }
}

fn object(value: &Value) -> Map<String, Value> {
    let object = value.as_object();
    object.cloned().expect("written as an object")
}

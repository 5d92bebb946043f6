//! The families, one row each: the fields and defaults of transformers 5.23's `configuration_*.py`
//! and the computation of its `modeling_*.py`.
//!
//! To add a family:
//!
//! 1. a row of [`FAMILIES`], in the order in which errors list them;
//! 2. a layer rule in `layers.rs`, if none there derives its windows and positions;
//! 3. fields of its files that have no effect: `unused` and `inert` of the row, or `known.rs` if
//!    every family has them;
//! 4. tensor names in `models/src/weights/names.rs`, only if they differ from Llama's;
//! 5. a published `config.json` as `models/tests/configs/NAME_old.json`, the same after
//!    transformers wrote it as `NAME_new.json`, and a test of both and a row of `defaults` in
//!    `models/tests/config.rs`;
//! 6. a tiny shape in `tiny-models/src/preset.rs`, and goldens by `cargo xtask parity`;
//! 7. a row of the table in `docs/models.md`.

use super::NormPlacement::{self, Both, Post, Pre};
use super::QkNorm::{self, PerHead, Whole};
use super::layers::{self, LayerRule};

/// One family of architectures.
#[derive(Debug)]
pub(crate) struct Family {
    pub(super) model_type: &'static str,
    /// The names in `architectures`, and the task of each.
    pub(super) architectures: &'static [(&'static str, ModelTask)],
    pub(super) defaults: Defaults,
    pub(super) norm: NormPlacement,
    pub(super) qk_norm: Option<QkNorm>,
    pub(super) biases: BiasRule,
    /// Windows and positions of the layers.
    pub(super) layers: LayerRule,
    pub(super) rope: RopeRule,
    /// Whether layers may have experts.
    pub(super) experts: bool,
    /// The choices of the Gemma families; `None` for the others.
    pub(super) gemma: Option<Gemma>,
    /// Whether the checkpoint keeps `qkv_proj` and `gate_up_proj`.
    pub(crate) fused: bool,
    /// Fields that files of this family hold and its architecture never reads.
    pub(super) unused: &'static [&'static str],
    /// Fields that this family's files hold, and the values (JSON) at which they have no effect.
    pub(super) inert: &'static [(&'static str, &'static [&'static str])],
}

/// The task of an architecture: what it computes from the hidden states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ModelTask {
    CausalLm,
    SequenceClassification,
    TokenClassification,
    Reward,
    ProcessReward,
}

/// The values of absent fields.
#[derive(Clone, Copy, Debug)]
pub(super) struct Defaults {
    pub(super) vocab_size: usize,
    pub(super) hidden_size: usize,
    pub(super) intermediate_size: usize,
    pub(super) layers: usize,
    pub(super) heads: usize,
    /// `None`: as many as query heads.
    pub(super) kv_heads: Option<usize>,
    /// `None`: the width over the query heads.
    pub(super) head_dim: Option<usize>,
    pub(super) max_positions: usize,
    pub(super) eps: f64,
    pub(super) tie: bool,
    pub(super) theta: f64,
    /// `pad_token_id`.
    pub(super) pad: Option<u32>,
}

/// The linear layers that have a bias.
#[derive(Clone, Copy, Debug)]
pub(super) enum BiasRule {
    /// None.
    Never,
    /// Queries, keys and values always, and nothing else.
    Qkv,
    /// `attention_bias`: all four projections of the attention.
    Attention,
    /// `attention_bias`, and `mlp_bias` for the MLP's three.
    AttentionAndMlp,
}

/// The fields of the rotary embedding.
#[derive(Clone, Copy, Debug)]
pub(super) enum RopeRule {
    /// One for all layers, over full heads.
    Shared,
    /// One for all layers, over a part of each head; `longrope` has other names there.
    Partial,
    /// One for full layers and one for sliding layers, with this base by default.
    ByLayerType { local_theta: f64 },
}

/// The additions of Gemma: embeddings scaled by √width, norms of `1 + weight`, `hidden_activation`,
/// and two caps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gemma {
    /// Default of `attn_logit_softcapping`.
    pub(super) attention_softcap: Option<f64>,
    /// Default of `final_logit_softcapping`.
    pub(super) logit_softcap: Option<f64>,
}

macro_rules! architectures {
    ($prefix:literal) => {
        &[
            (concat!($prefix, "ForCausalLM"), ModelTask::CausalLm),
            (concat!($prefix, "ForSequenceClassification"), ModelTask::SequenceClassification),
            (concat!($prefix, "ForTokenClassification"), ModelTask::TokenClassification),
        ]
    };
}

const NO_BIAS: &[(&str, &[&str])] = &[("attention_bias", &["false"]), ("mlp_bias", &["false"])];

/// Every family, in the order in which an error lists them.
pub(crate) const FAMILIES: &[Family] = &[
    Family {
        model_type: "llama",
        architectures: architectures!("Llama"),
        defaults: Defaults {
            vocab_size: 32_000,
            hidden_size: 4096,
            intermediate_size: 11_008,
            layers: 32,
            heads: 32,
            kv_heads: None,
            head_dim: None,
            max_positions: 2048,
            eps: 1e-6,
            tie: false,
            theta: 1e4,
            pad: None,
        },
        norm: Pre,
        qk_norm: None,
        biases: BiasRule::AttentionAndMlp,
        layers: layers::full,
        rope: RopeRule::Shared,
        experts: false,
        gemma: None,
        fused: false,
        unused: &[],
        inert: &[("sliding_window", &["null"])],
    },
    Family {
        model_type: "mistral",
        architectures: architectures!("Mistral"),
        defaults: Defaults {
            vocab_size: 32_000,
            hidden_size: 4096,
            intermediate_size: 14_336,
            layers: 32,
            heads: 32,
            kv_heads: Some(8),
            head_dim: None,
            max_positions: 131_072,
            eps: 1e-6,
            tie: false,
            theta: 1e4,
            pad: None,
        },
        norm: Pre,
        qk_norm: None,
        biases: BiasRule::Never,
        layers: layers::mistral,
        rope: RopeRule::Shared,
        experts: false,
        gemma: None,
        fused: false,
        unused: &[],
        inert: NO_BIAS,
    },
    Family {
        model_type: "qwen2",
        architectures: &[
            ("Qwen2ForCausalLM", ModelTask::CausalLm),
            ("Qwen2ForSequenceClassification", ModelTask::SequenceClassification),
            ("Qwen2ForTokenClassification", ModelTask::TokenClassification),
            ("Qwen2ForRewardModel", ModelTask::Reward),
            ("Qwen2ForProcessRewardModel", ModelTask::ProcessReward),
        ],
        defaults: Defaults {
            vocab_size: 151_936,
            hidden_size: 4096,
            intermediate_size: 22_016,
            layers: 32,
            heads: 32,
            kv_heads: Some(32),
            head_dim: None,
            max_positions: 32_768,
            eps: 1e-6,
            tie: false,
            theta: 1e4,
            pad: None,
        },
        norm: Pre,
        qk_norm: None,
        biases: BiasRule::Qkv,
        layers: layers::qwen,
        rope: RopeRule::Shared,
        experts: false,
        gemma: None,
        fused: false,
        unused: &[],
        inert: &[],
    },
    Family {
        model_type: "qwen3",
        architectures: architectures!("Qwen3"),
        defaults: Defaults {
            vocab_size: 151_936,
            hidden_size: 4096,
            intermediate_size: 22_016,
            layers: 32,
            heads: 32,
            kv_heads: Some(32),
            head_dim: Some(128),
            max_positions: 32_768,
            eps: 1e-6,
            tie: false,
            theta: 1e4,
            pad: None,
        },
        norm: Pre,
        qk_norm: Some(PerHead),
        biases: BiasRule::Attention,
        layers: layers::qwen,
        rope: RopeRule::Shared,
        experts: false,
        gemma: None,
        fused: false,
        unused: &[],
        inert: &[],
    },
    Family {
        model_type: "qwen3_moe",
        architectures: architectures!("Qwen3Moe"),
        defaults: Defaults {
            vocab_size: 151_936,
            hidden_size: 2048,
            intermediate_size: 6144,
            layers: 24,
            heads: 32,
            kv_heads: Some(4),
            head_dim: None,
            max_positions: 32_768,
            eps: 1e-6,
            tie: false,
            theta: 1e4,
            pad: None,
        },
        norm: Pre,
        qk_norm: Some(PerHead),
        biases: BiasRule::Attention,
        layers: layers::qwen_moe,
        rope: RopeRule::Shared,
        experts: true,
        gemma: None,
        fused: false,
        unused: &[],
        inert: &[],
    },
    Family {
        model_type: "gemma2",
        architectures: architectures!("Gemma2"),
        defaults: Defaults {
            vocab_size: 256_000,
            hidden_size: 2304,
            intermediate_size: 9216,
            layers: 26,
            heads: 8,
            kv_heads: Some(4),
            head_dim: Some(256),
            max_positions: 8192,
            eps: 1e-6,
            tie: true,
            theta: 1e4,
            pad: Some(0),
        },
        norm: Both,
        qk_norm: None,
        biases: BiasRule::Attention,
        layers: layers::gemma2,
        rope: RopeRule::Shared,
        experts: false,
        gemma: Some(Gemma { attention_softcap: Some(50.0), logit_softcap: Some(30.0) }),
        fused: false,
        unused: &[],
        inert: &[],
    },
    Family {
        model_type: "gemma3_text",
        architectures: &[
            ("Gemma3ForCausalLM", ModelTask::CausalLm),
            ("Gemma3TextForSequenceClassification", ModelTask::SequenceClassification),
        ],
        defaults: Defaults {
            vocab_size: 262_208,
            hidden_size: 2304,
            intermediate_size: 9216,
            layers: 26,
            heads: 8,
            kv_heads: Some(4),
            head_dim: Some(256),
            max_positions: 131_072,
            eps: 1e-6,
            tie: true,
            theta: 1e6,
            pad: Some(0),
        },
        norm: Both,
        qk_norm: Some(PerHead),
        biases: BiasRule::Attention,
        layers: layers::gemma3,
        rope: RopeRule::ByLayerType { local_theta: 1e4 },
        experts: false,
        gemma: Some(Gemma { attention_softcap: None, logit_softcap: None }),
        fused: false,
        unused: &[],
        inert: &[],
    },
    Family {
        model_type: "phi3",
        architectures: architectures!("Phi3"),
        defaults: Defaults {
            vocab_size: 32_064,
            hidden_size: 3072,
            intermediate_size: 8192,
            layers: 32,
            heads: 32,
            kv_heads: None,
            head_dim: None,
            max_positions: 4096,
            eps: 1e-5,
            tie: false,
            theta: 1e4,
            pad: Some(32_000),
        },
        norm: Pre,
        qk_norm: None,
        biases: BiasRule::Never,
        layers: layers::phi3,
        rope: RopeRule::Partial,
        experts: false,
        gemma: None,
        fused: true,
        unused: &[],
        inert: NO_BIAS,
    },
    Family {
        model_type: "olmo2",
        architectures: &[
            ("Olmo2ForCausalLM", ModelTask::CausalLm),
            ("Olmo2ForSequenceClassification", ModelTask::SequenceClassification),
        ],
        defaults: Defaults {
            vocab_size: 50_304,
            hidden_size: 4096,
            intermediate_size: 11_008,
            layers: 32,
            heads: 32,
            kv_heads: None,
            head_dim: None,
            max_positions: 2048,
            eps: 1e-5,
            tie: false,
            theta: 1e4,
            pad: Some(1),
        },
        norm: Post,
        qk_norm: Some(Whole),
        biases: BiasRule::Attention,
        layers: layers::full,
        rope: RopeRule::Shared,
        experts: false,
        gemma: None,
        fused: false,
        unused: &[],
        inert: &[("sliding_window", &["null"])],
    },
    Family {
        model_type: "smollm3",
        architectures: architectures!("SmolLM3"),
        defaults: Defaults {
            vocab_size: 128_256,
            hidden_size: 2048,
            intermediate_size: 11_008,
            layers: 36,
            heads: 16,
            kv_heads: Some(4),
            head_dim: None,
            max_positions: 32_768,
            eps: 1e-6,
            tie: true,
            theta: 2e6,
            pad: Some(128_004),
        },
        norm: Pre,
        qk_norm: None,
        biases: BiasRule::AttentionAndMlp,
        layers: layers::smollm3,
        rope: RopeRule::Shared,
        experts: false,
        gemma: None,
        fused: false,
        // The published file holds both; `pretraining_tp` there says how it was trained.
        unused: &["max_window_layers", "pretraining_tp"],
        inert: &[],
    },
];

/// The row of a `model_type`.
pub(crate) fn of(model_type: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|family| family.model_type == model_type)
}

/// The row and task of a name in `architectures`.
pub(super) fn of_architecture(name: &str) -> Option<(&'static Family, ModelTask)> {
    FAMILIES.iter().find_map(|family| {
        let (_, task) = family.architectures.iter().find(|(known, _)| *known == name)?;
        Some((family, *task))
    })
}

/// The error for an unknown name: all known ones, the nearest first.
pub(super) fn supported(name: &str, known: impl Iterator<Item = &'static str>) -> String {
    let mut names: Vec<&str> = known.collect();
    // The sort is stable, so names equally far keep the table's order.
    names.sort_by_key(|known| strsim::damerau_levenshtein(known, name));
    format!("`{name}` is not supported; supported are {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::FAMILIES;

    #[test]
    fn every_family_has_its_files_and_its_row() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let page = std::fs::read_to_string(root.join("../docs/models.md"));
        let page = page.expect("the page is in the repository");
        for family in FAMILIES {
            for style in ["old", "new"] {
                let file = root.join(format!("tests/configs/{}_{style}.json", family.model_type));
                assert!(file.is_file(), "{}", file.display());
            }
            let (name, _) = family.architectures[0];
            let stem = name.split("For").next().unwrap_or(name);
            let listed = [format!("`{name}`"), format!("`{stem}For…`")];
            assert!(listed.iter().any(|name| page.contains(name)), "docs/models.md lacks {name}");
        }
    }
}

//! Models of published shapes with random weights.

use std::path::Path;
use std::sync::Arc;

use gpu::Gpu;
use gpu_models::{GpuModel, GpuRunner};
use models::random::RandomWeights;
use models::weights::FloatType;
use models::{Forward as _, ModelConfig};
use serde_json::json;

use crate::lines::Trouble;

/// A shape of the Qwen3 family.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ModelShape {
    pub(crate) name: &'static str,
    pub(crate) hidden: usize,
    pub(crate) inner: usize,
    pub(crate) layers: usize,
    pub(crate) heads: usize,
    pub(crate) kv_heads: usize,
    pub(crate) head_dim: usize,
    pub(crate) vocabulary: usize,
}

impl ModelShape {
    pub(crate) const QWEN3_06B: ModelShape = ModelShape {
        name: "0.6B",
        hidden: 1024,
        inner: 3072,
        layers: 28,
        heads: 16,
        kv_heads: 8,
        head_dim: 128,
        vocabulary: 151_936,
    };
    pub(crate) const QWEN3_4B: ModelShape = ModelShape {
        name: "4B",
        hidden: 2560,
        inner: 9728,
        layers: 36,
        heads: 32,
        ..ModelShape::QWEN3_06B
    };
    /// For the emulated driver.
    pub(crate) const SMALL: ModelShape = ModelShape {
        name: "small",
        hidden: 32,
        inner: 64,
        layers: 2,
        heads: 4,
        kv_heads: 2,
        head_dim: 16,
        vocabulary: 300,
    };

    pub(crate) fn config(self) -> Arc<ModelConfig> {
        let json = json!({
            "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": self.hidden,
            "intermediate_size": self.inner, "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads, "num_key_value_heads": self.kv_heads,
            "head_dim": self.head_dim, "max_position_embeddings": 8192, "rms_norm_eps": 1e-6,
            "tie_word_embeddings": true, "vocab_size": self.vocabulary, "hidden_act": "silu",
            "attention_bias": false, "rope_theta": 1_000_000.0, "use_sliding_window": false,
        });
        let parsed = ModelConfig::from_json(Path::new("config.json"), &json.to_string());
        Arc::new(parsed.expect("the fields are those of the family"))
    }

    /// Numbers of the matrices of a layer.
    pub(crate) fn layer_weights(self) -> usize {
        let heads = (2 * self.heads + 2 * self.kv_heads) * self.head_dim;
        self.hidden * (heads + 3 * self.inner)
    }

    /// Numbers of the embedding, which is the vocabulary's head too.
    pub(crate) fn embedding_weights(self) -> usize {
        self.hidden * self.vocabulary
    }

    /// Bytes of all layers' keys and values of a token.
    pub(crate) fn kv_bytes(self) -> usize {
        2 * 2 * self.layers * self.kv_heads * self.head_dim
    }
}

/// A runner with random weights and this many blocks.
pub(crate) fn runner(
    gpu: &Gpu,
    config: &Arc<ModelConfig>,
    n_blocks: usize,
) -> Result<GpuRunner, Trouble> {
    let mut weights = RandomWeights { seed: 1, dtype: FloatType::Bf16.dtype() };
    let model = GpuModel::load(gpu, config, &mut weights)?;
    Ok(GpuRunner::new(model)?.with_kv(n_blocks)?)
}

/// Adds adapters of rank 16 in the slots from 0 on.
pub(crate) fn random_adapters(
    runner: &mut GpuRunner,
    config: &ModelConfig,
    n: u64,
) -> Result<(), Trouble> {
    for seed in 0..n {
        runner.insert(tiny_models::random_adapter(config, seed, 16)?)?;
    }
    Ok(())
}

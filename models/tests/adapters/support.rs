//! Small bases, and PEFT folders over them as PEFT writes them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use models::ModelConfig;
use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde_json::{Value, json};

/// A tensor of a folder to write.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) dtype: Dtype,
    pub(super) shape: Vec<usize>,
    pub(super) numbers: Vec<f32>,
}

/// A PEFT folder to write.
#[derive(Clone, Debug)]
pub(super) struct Peft {
    pub(super) config: Value,
    pub(super) tensors: BTreeMap<String, Stored>,
}

/// The shape of the small bases.
pub(super) const HIDDEN: usize = 32;
pub(super) const INNER: usize = 48;
pub(super) const VOCAB: usize = 40;
pub(super) const N_LAYERS: usize = 2;
const HEAD_DIM: usize = 8;

/// A small base of a family: two layers, four heads over two.
pub(super) fn base(model_type: &str) -> Arc<ModelConfig> {
    base_for(model_type, "CausalLM")
}

/// A small base whose architecture's name ends in `head`.
pub(super) fn base_for(model_type: &str, head: &str) -> Arc<ModelConfig> {
    let family = match model_type {
        "qwen2" => "Qwen2",
        "phi3" => "Phi3",
        "qwen3_moe" => "Qwen3Moe",
        other => panic!("no small base of {other}"),
    };
    let mut config = json!({
        "architectures": [format!("{family}For{head}")],
        "model_type": model_type,
        "hidden_act": "silu",
        "hidden_size": HIDDEN,
        "intermediate_size": INNER,
        "max_position_embeddings": 128,
        "num_attention_heads": 4,
        "num_hidden_layers": N_LAYERS,
        "num_key_value_heads": 2,
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "tie_word_embeddings": false,
        "vocab_size": VOCAB,
    });
    let members = config.as_object_mut().expect("an object");
    let more = match model_type {
        "qwen3_moe" => json!({
            "head_dim": HEAD_DIM, "moe_intermediate_size": 16, "num_experts": 3,
            "num_experts_per_tok": 2, "decoder_sparse_step": 1, "norm_topk_prob": true,
            "mlp_only_layers": [],
        }),
        "phi3" => json!({ "original_max_position_embeddings": 128, "pad_token_id": 0 }),
        _ => json!({}),
    };
    members.extend(more.as_object().expect("an object").clone());
    let config = ModelConfig::from_json(Path::new("config.json"), &config.to_string());
    Arc::new(config.expect("a base"))
}

/// Outputs and inputs of a module of the small Qwen2 base.
pub(super) fn shape(module: &str) -> (usize, usize) {
    match module.rsplit('.').next().expect("a name") {
        "q_proj" | "o_proj" => (HIDDEN, HIDDEN),
        "k_proj" | "v_proj" => (2 * HEAD_DIM, HIDDEN),
        "gate_proj" | "up_proj" => (INNER, HIDDEN),
        "down_proj" => (HIDDEN, INNER),
        "embed_tokens" => (HIDDEN, VOCAB),
        "lm_head" => (VOCAB, HIDDEN),
        other => panic!("no module {other}"),
    }
}

/// Numbers in (−1, 1) from a seed.
pub(super) fn numbers(seed: u64, len: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..len).map(|_| next()).collect()
}

impl Stored {
    pub(super) fn f32(shape: &[usize], numbers: Vec<f32>) -> Stored {
        Stored { dtype: Dtype::F32, shape: shape.to_vec(), numbers }
    }

    fn bytes(&self) -> Vec<u8> {
        let each = |to: &dyn Fn(f32) -> Vec<u8>| self.numbers.iter().flat_map(|x| to(*x)).collect();
        match self.dtype {
            Dtype::F32 => each(&|x| x.to_le_bytes().to_vec()),
            Dtype::F16 => each(&|x| half::f16::from_f32(x).to_le_bytes().to_vec()),
            Dtype::BF16 => each(&|x| half::bf16::from_f32(x).to_le_bytes().to_vec()),
            Dtype::F64 => each(&|x| f64::from(x).to_le_bytes().to_vec()),
            other => panic!("no writer of {other:?}"),
        }
    }
}

impl Peft {
    /// An adapter of some targets in every layer of the small Qwen2 base, rank 4, α 8.
    pub(super) fn new(seed: u64, targets: &[&str]) -> Peft {
        let mut peft = Peft { config: config(targets), tensors: BTreeMap::new() };
        for (index, target) in targets.iter().enumerate() {
            for layer in 0..N_LAYERS as u64 {
                let block = match *target {
                    "embed_tokens" | "lm_head" if layer > 0 => continue,
                    "embed_tokens" => "model.".to_owned(),
                    "lm_head" => String::new(),
                    "q_proj" | "k_proj" | "v_proj" | "o_proj" => {
                        format!("model.layers.{layer}.self_attn.")
                    }
                    _ => format!("model.layers.{layer}.mlp."),
                };
                let seed = seed * 1000 + index as u64 * 10 + layer;
                peft.pair(seed, &format!("{block}{target}"), 4);
            }
        }
        peft
    }

    /// Adds the factors of a module.
    pub(super) fn pair(&mut self, seed: u64, module: &str, rank: usize) {
        let (n, k) = shape(module);
        self.pair_of(seed, module, (n, k), rank);
    }

    /// Adds the factors of a module of any shape.
    pub(super) fn pair_of(&mut self, seed: u64, module: &str, (n, k): (usize, usize), rank: usize) {
        let [a, b] = if module.ends_with("embed_tokens") {
            ["lora_embedding_A", "lora_embedding_B"]
        } else {
            ["lora_A.weight", "lora_B.weight"]
        };
        self.add(&format!("{module}.{a}"), &[rank, k], numbers(2 * seed + 1, rank * k));
        self.add(&format!("{module}.{b}"), &[n, rank], numbers(2 * seed + 2, n * rank));
    }

    /// Adds a tensor under PEFT's prefix.
    pub(super) fn add(&mut self, name: &str, shape: &[usize], numbers: Vec<f32>) {
        let name = format!("base_model.model.{name}");
        self.tensors.insert(name, Stored::f32(shape, numbers));
    }

    /// A tensor under PEFT's prefix.
    pub(super) fn tensor(&mut self, name: &str) -> &mut Stored {
        let name = format!("base_model.model.{name}");
        self.tensors.get_mut(&name).expect("a tensor of the folder")
    }

    /// Sets a field of the configuration.
    pub(super) fn set(&mut self, field: &str, value: Value) {
        self.config[field] = value;
    }

    /// Writes the folder's files.
    pub(super) fn write(&self, dir: &Path) {
        std::fs::write(dir.join("adapter_config.json"), self.config.to_string()).expect("config");
        write_tensors(&dir.join("adapter_model.safetensors"), &self.tensors);
    }
}

/// Writes a safetensors file.
pub(super) fn write_tensors(path: &Path, tensors: &BTreeMap<String, Stored>) {
    let bytes: Vec<Vec<u8>> = tensors.values().map(Stored::bytes).collect();
    let views = tensors.iter().zip(&bytes).map(|((name, stored), bytes)| {
        let view = TensorView::new(stored.dtype, stored.shape.clone(), bytes);
        (name.clone(), view.expect("bytes of the shape"))
    });
    let file = safetensors::serialize(views, None).expect("a file");
    std::fs::write(path, file).expect("written");
}

/// The configuration as PEFT 0.21 writes it.
fn config(targets: &[&str]) -> Value {
    json!({
        "alora_invocation_tokens": null, "alpha_pattern": {}, "arrow_config": null,
        "auto_mapping": null, "base_model_name_or_path": "somewhere/base", "bias": "none",
        "corda_config": null, "ensure_weight_tying": false, "eva_config": null,
        "exclude_modules": null, "fan_in_fan_out": false, "inference_mode": true,
        "init_lora_weights": true, "kasa_config": null, "layer_replication": null,
        "layers_pattern": null, "layers_to_transform": null, "loftq_config": {},
        "lora_alpha": 8, "lora_bias": false, "lora_dropout": 0.05, "lora_ga_config": null,
        "megatron_config": null, "megatron_core": "megatron.core", "modules_to_save": null,
        "monteclora_config": null, "peft_type": "LORA", "peft_version": "0.21.2",
        "qalora_group_size": 16, "r": 4, "rank_pattern": {}, "revision": null,
        "target_modules": targets, "target_parameters": null, "task_type": "CAUSAL_LM",
        "trainable_token_indices": null, "use_bdlora": null, "use_dora": false,
        "use_qalora": false, "use_rslora": false, "velora_config": null,
    })
}

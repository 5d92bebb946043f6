//! Untrained models of this task, as folders in the Hugging Face layout.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use chat::Tokenizer;
use models::ModelError;
use models::config::ModelConfig;
use models::random::named_numbers;
use models::save::{Stage, weights};
use models::weights::FloatType;
use models::weights::{LayerPart, Norm, Param, Projection};
use serde_json::{Value, json};

use super::CHAT_TEMPLATE;
use super::symbols::{BEGIN, END, PAD, VOCABULARY, tokenizer_config_json, tokenizer_json};
use crate::error::{Result, ToyTaskError};

/// The sizes of a Qwen3 decoder with tied embeddings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelSize {
    /// Width of the residual stream.
    pub hidden: usize,
    /// Layers.
    pub layers: usize,
    /// Query heads.
    pub heads: usize,
    /// Key and value heads.
    pub kv_heads: usize,
    /// Width of the MLP.
    pub intermediate: usize,
    /// Positions.
    pub context: usize,
}

impl ModelSize {
    /// About a tenth of a million parameters, for tests.
    pub const SMOKE: ModelSize =
        ModelSize { hidden: 64, layers: 2, heads: 2, kv_heads: 1, intermediate: 192, context: 512 };
    /// About 0.8 million, for demonstrations on two cores.
    pub const DEMO: ModelSize = ModelSize {
        hidden: 128,
        layers: 4,
        heads: 4,
        kv_heads: 2,
        intermediate: 384,
        context: 1024,
    };
    /// About a million, narrow and deep: the model built into the program. A judge has to compute a
    /// result before it can compare it with the text, which takes layers.
    pub const EMBEDDED: ModelSize = ModelSize {
        hidden: 96,
        layers: 10,
        heads: 3,
        kv_heads: 1,
        intermediate: 256,
        context: 1024,
    };

    /// Returns the size called `smoke`, `demo` or `embedded`.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "smoke" => Some(Self::SMOKE),
            "demo" => Some(Self::DEMO),
            "embedded" => Some(Self::EMBEDDED),
            _ => None,
        }
    }

    /// Width of one head.
    pub fn head_dim(self) -> usize {
        self.hidden / self.heads
    }

    fn config_json(self) -> Value {
        json!({
            "architectures": ["Qwen3ForCausalLM"],
            "attention_bias": false,
            "attention_dropout": 0.0,
            "bos_token_id": BEGIN,
            "eos_token_id": END,
            "head_dim": self.head_dim(),
            "hidden_act": "silu",
            "hidden_size": self.hidden,
            "initializer_range": EMBEDDING_STD,
            "intermediate_size": self.intermediate,
            "max_position_embeddings": self.context,
            "max_window_layers": self.layers,
            "model_type": "qwen3",
            "num_attention_heads": self.heads,
            "num_hidden_layers": self.layers,
            "num_key_value_heads": self.kv_heads,
            "pad_token_id": PAD,
            "rms_norm_eps": 1e-6,
            "rope_scaling": null,
            "rope_theta": 10000.0,
            "sliding_window": null,
            "tie_word_embeddings": true,
            "torch_dtype": "float32",
            "use_cache": true,
            "use_sliding_window": false,
            "vocab_size": VOCABULARY,
        })
    }
}

/// Standard deviation of the embedding, which is the vocabulary head too.
const EMBEDDING_STD: f64 = 0.02;

/// Writes an untrained model: configuration, tokenizer, chat template, generation defaults and
/// weights. The folder appears complete or not at all.
///
/// Matrices are uniform with a variance of one over their inputs; those that write to the residual
/// stream are divided by the root of their number (Radford et al., Language Models are Unsupervised
/// Multitask Learners, 2019). Norms are 1.
///
/// # Errors
/// [`ToyTaskError::Invalid`] for a size that cannot be built, [`ToyTaskError::Model`] if `dir`
/// exists or cannot be written.
pub fn write_model_folder(dir: &Path, size: ModelSize, seed: u64) -> Result<()> {
    check_size(size)?;
    let stage = Stage::begin(dir)?;
    write_text(&stage, size)?;
    let json = size.config_json();
    stage.json("config.json", &json)?;
    let config = ModelConfig::from_json(&stage.path("config.json"), &json.to_string())?;
    let numbers = |place, _, _| Ok(initial(size, seed, place));
    let file = "model.safetensors";
    weights(&stage, file, &Arc::new(config), FloatType::F32, numbers)?;
    stage.finish()?;
    Ok(())
}

fn check_size(size: ModelSize) -> Result<()> {
    let numbers =
        [size.hidden, size.layers, size.heads, size.kv_heads, size.intermediate, size.context];
    let fits = numbers.iter().all(|number| *number > 0)
        && size.hidden.is_multiple_of(2 * size.heads)
        && size.heads.is_multiple_of(size.kv_heads);
    if fits {
        return Ok(());
    }
    let what = "no number of a shape is 0, the width is an even number for each head, and heads \
                share keys and values evenly";
    Err(ToyTaskError::Invalid(what.to_owned()))
}

/// Tokenizer, chat template and generation defaults.
fn write_text(stage: &Stage, size: ModelSize) -> Result<()> {
    stage.json("tokenizer.json", &tokenizer_json())?;
    let config = tokenizer_config_json(size.context);
    stage.json("tokenizer_config.json", &config)?;
    let generation = json!({
        "bos_token_id": BEGIN, "do_sample": false, "eos_token_id": END, "pad_token_id": PAD,
    });
    stage.json("generation_config.json", &generation)?;
    let path = stage.path("chat_template.jinja");
    fs::write(&path, CHAT_TEMPLATE).map_err(|source| ModelError::Io { path, source })?;
    Ok(())
}

/// Writes and loads the tokenizer alone.
///
/// # Errors
/// [`ToyTaskError::Model`] if `dir` cannot be written.
pub fn tokenizer(size: ModelSize, dir: &Path) -> Result<Tokenizer> {
    let stage = Stage::begin(dir)?;
    write_text(&stage, size)?;
    stage.finish()?;
    Ok(Tokenizer::load(dir)?)
}

/// Initial weights of a parameter, row-major.
fn initial(size: ModelSize, seed: u64, place: Param) -> Vec<f32> {
    let (n, k) = dimensions(size, place);
    let residual = 1.0 / (2.0 * size.layers as f64).sqrt();
    let std = match place {
        Param::FinalNorm | Param::Layer(_, LayerPart::Norm(_)) => return vec![1.0; n],
        Param::Embedding => EMBEDDING_STD,
        Param::Layer(_, LayerPart::Weight(Projection::O | Projection::Down)) => {
            residual / (k as f64).sqrt()
        }
        Param::Vocab | Param::Head(_) | Param::Layer(..) => 1.0 / (k as f64).sqrt(),
    };
    // A uniform distribution reaches √3 of its standard deviations.
    named_numbers(seed, &format!("{place:?}"), n * k, std * 3.0_f64.sqrt())
}

/// Outputs and inputs of a parameter; length and 1 for a vector.
fn dimensions(size: ModelSize, place: Param) -> (usize, usize) {
    let ModelSize { hidden, heads, kv_heads, intermediate, .. } = size;
    let head_dim = size.head_dim();
    match place {
        Param::Embedding | Param::Vocab => (VOCABULARY, hidden),
        Param::FinalNorm => (hidden, 1),
        Param::Layer(_, LayerPart::Norm(norm)) => match norm {
            Norm::Q | Norm::K => (head_dim, 1),
            Norm::PreAttention | Norm::PostAttention | Norm::PreMlp | Norm::PostMlp => (hidden, 1),
        },
        Param::Layer(_, LayerPart::Weight(projection)) => match projection {
            Projection::Q => (heads * head_dim, hidden),
            Projection::K | Projection::V => (kv_heads * head_dim, hidden),
            Projection::O => (hidden, heads * head_dim),
            Projection::Gate | Projection::Up => (intermediate, hidden),
            Projection::Down => (hidden, intermediate),
            Projection::Router
            | Projection::ExpertGate(_)
            | Projection::ExpertUp(_)
            | Projection::ExpertDown(_) => no_such(place),
        },
        Param::Layer(_, LayerPart::Bias(_)) | Param::Head(_) => no_such(place),
    }
}

fn no_such(place: Param) -> ! {
    unreachable!("a dense Qwen3 with a tied vocabulary has no {place:?}")
}

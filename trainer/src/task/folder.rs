//! A model of this world that knows nothing yet, as a folder in the Hugging Face layout.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use models::config::ModelConfig;
use models::random::named_numbers;
use models::save::{Stage, weights};
use models::tiny::Storage;
use models::weights::{LayerPart, Norm, Place, Projection};
use models::{ModelError, Tokenizer};
use serde_json::{Value, json};

use super::CHAT_TEMPLATE;
use super::symbols::{BEGIN, END, PAD, VOCABULARY, tokenizer_config_json, tokenizer_json};
use crate::error::{Result, TrainError};

/// The numbers of a Qwen3 decoder with tied embeddings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
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

impl Shape {
    /// About a tenth of a million parameters, for tests.
    pub const SMOKE: Shape =
        Shape { hidden: 64, layers: 2, heads: 2, kv_heads: 1, intermediate: 192, context: 512 };
    /// About 0.8 million, for demonstrations on two cores.
    pub const DEMO: Shape =
        Shape { hidden: 128, layers: 4, heads: 4, kv_heads: 2, intermediate: 384, context: 1024 };
    /// About a million, narrow and deep: the model that comes with the program. A judge has to find a
    /// result before it can compare it with what is written, which takes layers.
    pub const EMBEDDED: Shape =
        Shape { hidden: 96, layers: 10, heads: 3, kv_heads: 1, intermediate: 256, context: 1024 };

    /// The shape of a name: `smoke`, `demo` or `embedded`.
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

/// Writes the folder: configuration, tokenizer, chat template, generation defaults and weights. It
/// appears whole or not at all.
///
/// Matrices are uniform with a variance of one over their inputs; those that write to the residual
/// stream are divided by the root of how many write to it (Radford et al., Language Models are
/// Unsupervised Multitask Learners, 2019). Norms are 1.
///
/// # Errors
/// [`TrainError::Invalid`] for a shape that cannot be, [`ModelError`] where something is at `dir`
/// or the system refuses.
pub fn folder(dir: &Path, shape: Shape, seed: u64) -> Result<()> {
    check(shape)?;
    let stage = Stage::begin(dir)?;
    write_text(&stage, shape)?;
    let json = shape.config_json();
    stage.json("config.json", &json)?;
    let config = ModelConfig::from_json(&stage.path("config.json"), &json.to_string())?;
    let numbers = |place, _, _| Ok(initial(shape, seed, place));
    let file = "model.safetensors";
    weights(&stage, file, &Arc::new(config), Storage::F32, numbers)?;
    stage.finish()?;
    Ok(())
}

fn check(shape: Shape) -> Result<()> {
    let numbers = [
        shape.hidden,
        shape.layers,
        shape.heads,
        shape.kv_heads,
        shape.intermediate,
        shape.context,
    ];
    let fits = numbers.iter().all(|number| *number > 0)
        && shape.hidden.is_multiple_of(2 * shape.heads)
        && shape.heads.is_multiple_of(shape.kv_heads);
    if fits {
        return Ok(());
    }
    let what = "no number of a shape is 0, the width is an even number for each head, and heads \
                share keys and values evenly";
    Err(TrainError::Invalid(what.to_owned()))
}

/// Tokenizer, chat template and generation defaults.
fn write_text(stage: &Stage, shape: Shape) -> Result<()> {
    stage.json("tokenizer.json", &tokenizer_json())?;
    let config = tokenizer_config_json(shape.context);
    stage.json("tokenizer_config.json", &config)?;
    let generation = json!({
        "bos_token_id": BEGIN, "do_sample": false, "eos_token_id": END, "pad_token_id": PAD,
    });
    stage.json("generation_config.json", &generation)?;
    let path = stage.path("chat_template.jinja");
    fs::write(&path, CHAT_TEMPLATE).map_err(|source| ModelError::Io { path, source })?;
    Ok(())
}

/// The tokenizer of this world, without a model around it.
///
/// # Errors
/// [`TrainError::File`] where the system gives no temporary folder.
pub fn tokenizer(shape: Shape, dir: &Path) -> Result<Tokenizer> {
    let stage = Stage::begin(dir)?;
    write_text(&stage, shape)?;
    stage.finish()?;
    Ok(Tokenizer::load(dir)?)
}

/// The first numbers at a place, row by row.
fn initial(shape: Shape, seed: u64, place: Place) -> Vec<f32> {
    let (n, k) = size(shape, place);
    let residual = 1.0 / (2.0 * shape.layers as f64).sqrt();
    let std = match place {
        Place::FinalNorm | Place::Layer(_, LayerPart::Norm(_)) => return vec![1.0; n],
        Place::Embedding => EMBEDDING_STD,
        Place::Layer(_, LayerPart::Weight(Projection::O | Projection::Down)) => {
            residual / (k as f64).sqrt()
        }
        Place::Vocab | Place::Head(_) | Place::Layer(..) => 1.0 / (k as f64).sqrt(),
    };
    // A uniform distribution reaches as far as the root of 3 of its standard deviations.
    named_numbers(seed, &format!("{place:?}"), n * k, std * 3.0_f64.sqrt())
}

/// Outputs and inputs at a place; of a vector its length and 1.
fn size(shape: Shape, place: Place) -> (usize, usize) {
    let Shape { hidden, heads, kv_heads, intermediate, .. } = shape;
    let head_dim = shape.head_dim();
    match place {
        Place::Embedding | Place::Vocab => (VOCABULARY, hidden),
        Place::FinalNorm => (hidden, 1),
        Place::Layer(_, LayerPart::Norm(norm)) => match norm {
            Norm::Q | Norm::K => (head_dim, 1),
            Norm::PreAttention | Norm::PostAttention | Norm::PreMlp | Norm::PostMlp => (hidden, 1),
        },
        Place::Layer(_, LayerPart::Weight(projection)) => match projection {
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
        Place::Layer(_, LayerPart::Bias(_)) | Place::Head(_) => no_such(place),
    }
}

fn no_such(place: Place) -> ! {
    unreachable!("a dense Qwen3 with a tied vocabulary has no {place:?}")
}

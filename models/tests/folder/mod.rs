//! Generated folders in the Hugging Face layout with seeded weights.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use candle_core::{DType, Tensor};
use half::{bf16, f16};
use models::config::ModelConfig;
use models::model::assemble;
use models::packed::Weight;
use models::random::RandomWeights;
use models::weights::names::{Location, Names};
use models::weights::{Param, WeightSource};
use models::{Decoder, Matrix, Result};
use serde_json::{Value, json};

/// The tiny model of a family; every size is a prime factor away from the others' where it may be.
pub(crate) fn config(model_type: &str) -> Value {
    let mut config = json!({
        "model_type": model_type,
        "vocab_size": 37,
        "hidden_size": 24,
        "intermediate_size": 20,
        "num_hidden_layers": 3,
        "num_attention_heads": 6,
        "num_key_value_heads": 3,
        "head_dim": 8,
        "max_position_embeddings": 64,
        "tie_word_embeddings": false,
    });
    if model_type == "qwen3_moe" {
        config["num_experts"] = json!(5);
        config["num_experts_per_tok"] = json!(2);
        config["moe_intermediate_size"] = json!(12);
        config["mlp_only_layers"] = json!([1]);
    }
    config
}

pub(crate) fn parse(config: &Value) -> Arc<ModelConfig> {
    let path = Path::new("config.json");
    Arc::new(ModelConfig::from_json(path, &config.to_string()).expect("the test's own config"))
}

/// A tensor to write.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) dtype: &'static str,
    pub(crate) shape: Vec<usize>,
    pub(crate) bytes: Vec<u8>,
}

impl Written {
    pub(crate) fn new(dtype: &'static str, shape: &[usize], numbers: &[f32]) -> Written {
        let bytes = match dtype {
            "F32" => numbers.iter().flat_map(|x| x.to_le_bytes()).collect(),
            "F16" => numbers.iter().flat_map(|x| f16::from_f32(*x).to_le_bytes()).collect(),
            "BF16" => numbers.iter().flat_map(|x| bf16::from_f32(*x).to_le_bytes()).collect(),
            "F64" => vec![0; numbers.len() * 8],
            // For a type that weights cannot have, the bytes do not matter.
            _ => vec![0; numbers.len() * 4],
        };
        Written { dtype, shape: shape.to_vec(), bytes }
    }
}

pub(crate) type Tensors = BTreeMap<String, Written>;

/// Returns seeded weights, and records the content of a file of them.
struct Recorder {
    random: RandomWeights,
    names: Names,
    dtype: &'static str,
    tensors: Tensors,
}

impl Recorder {
    fn record(&mut self, place: Param, shape: &[usize], numbers: &[f32]) {
        let Location { name, part } = self.names.locate(place);
        let written = Written::new(self.dtype, shape, numbers);
        let Some(part) = part else {
            let repeated = self.tensors.insert(name, written);
            assert!(repeated.is_none(), "{place:?} has a name of its own");
            return;
        };
        let row = written.bytes.len() / part.rows.len();
        let whole = self.tensors.entry(name).or_insert_with(|| Written {
            dtype: self.dtype,
            shape: [&[part.of], &shape[1..]].concat(),
            bytes: vec![0xff; row * part.of],
        });
        whole.bytes[part.rows.start * row..part.rows.end * row].copy_from_slice(&written.bytes);
    }
}

impl WeightSource for Recorder {
    fn weight(&mut self, place: Param, n: usize, k: usize) -> Result<Weight> {
        Ok(Weight::Panels(self.matrix(place, n, k)?))
    }

    fn matrix(&mut self, place: Param, n: usize, k: usize) -> Result<Matrix> {
        self.record(place, &[n, k], &self.random.numbers(place, n, k));
        self.random.matrix(place, n, k)
    }

    fn vector(&mut self, place: Param, n: usize) -> Result<Tensor> {
        self.record(place, &[n], &self.random.numbers(place, n, 1));
        self.random.vector(place, n)
    }
}

/// The tensors of a seeded model, and the model.
pub(crate) fn model(
    config: &Arc<ModelConfig>,
    dtype: &'static str,
) -> (Tensors, Decoder, Option<models::head::Head>) {
    let random = RandomWeights { seed: 7, dtype: DType::F32 };
    let mut recorder =
        Recorder { random, names: Names::new(config, |_| false), dtype, tensors: Tensors::new() };
    let (decoder, head) = assemble(config, &mut recorder).expect("seeded weights are good");
    (recorder.tensors, decoder, head)
}

/// The header's object and the data of a safetensors file.
pub(crate) fn layout(tensors: &Tensors) -> (Value, Vec<u8>) {
    let (mut header, mut data) = (json!({ "__metadata__": { "format": "pt" } }), Vec::new());
    for (name, tensor) in tensors {
        let start = data.len();
        data.extend(&tensor.bytes);
        header[name] = json!({
            "dtype": tensor.dtype,
            "shape": tensor.shape,
            "data_offsets": [start, data.len()],
        });
    }
    (header, data)
}

/// The bytes of a safetensors file.
pub(crate) fn file(header: &Value, data: &[u8]) -> Vec<u8> {
    let header = header.to_string();
    let length = (header.len() as u64).to_le_bytes();
    [&length, header.as_bytes(), data].concat()
}

/// Writes a folder with one file of weights.
pub(crate) fn write(dir: &Path, config: &Value, tensors: &Tensors) {
    std::fs::write(dir.join("config.json"), config.to_string()).expect("it is written");
    let (header, data) = layout(tensors);
    std::fs::write(dir.join("model.safetensors"), file(&header, &data)).expect("it is written");
}

/// Writes the weights as shards of a few tensors each, and the index; returns the index.
pub(crate) fn write_shards(dir: &Path, config: &Value, tensors: &Tensors) -> Value {
    std::fs::write(dir.join("config.json"), config.to_string()).expect("it is written");
    let mut map = json!({});
    let all: Vec<_> = tensors.iter().collect();
    let shards = all.chunks(all.len().div_ceil(3));
    for (i, shard) in shards.enumerate() {
        let name = format!("model-{:05}-of-00003.safetensors", i + 1);
        let part: Tensors =
            shard.iter().map(|(name, tensor)| ((*name).clone(), (*tensor).clone())).collect();
        let (header, data) = layout(&part);
        std::fs::write(dir.join(&name), file(&header, &data)).expect("it is written");
        for tensor in part.keys() {
            map[tensor] = json!(name);
        }
    }
    let index = json!({ "metadata": { "total_size": 0 }, "weight_map": map });
    write_index(dir, &index);
    index
}

pub(crate) fn write_index(dir: &Path, index: &Value) {
    let path = dir.join("model.safetensors.index.json");
    std::fs::write(path, index.to_string()).expect("it is written");
}

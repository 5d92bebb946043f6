//! Generated tiny models: complete folders in the Hugging Face layout, with random weights from a
//! seed.
//!
//! For `tribunal models make-tiny`, `doctor`, benchmarks and tests. The numbers come from a formula
//! ([`models::random`]), so the same specification gives the same bytes anywhere. The list of
//! tensors comes from the decoder, and their names from the table that loading uses. This crate
//! does not run a forward.

#![expect(
    clippy::cast_precision_loss,
    reason = "dimensions enter formulas as floats; none is near 2^24"
)]

mod adapter;
mod config;
mod preset;
mod random_adapter;
mod tensors;
mod tokenizer;

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use models::Result;
use models::config::{HeadConfig, ModelConfig};
use models::random::RandomWeights;
use models::save::Stage;
use models::weights::FloatType;

pub use adapter::{AdapterSpec, make_adapter};
pub use preset::Preset;
pub use random_adapter::random_adapter;
pub use tokenizer::{END_OF_TEXT, IM_END, IM_START, STEP};

/// A model to make.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TinySpec {
    /// The shape.
    pub preset: Preset,
    /// The head of its architecture.
    #[serde(default)]
    pub head: TinyHead,
    /// Outputs of a sequence or token head; 1 and 2 by default. The other heads fix their number.
    #[serde(default)]
    pub labels: Option<usize>,
    /// The seed of every weight.
    #[serde(default)]
    pub seed: u64,
    /// Type of the numbers in the files.
    #[serde(default)]
    pub storage: FloatType,
    /// Number of weight files, at least 1; with more than one there is an index.
    #[serde(default = "one")]
    pub shards: usize,
}

fn one() -> usize {
    1
}

/// A model with its vocabulary head, in one file of f32, from seed 0.
impl From<Preset> for TinySpec {
    fn from(preset: Preset) -> TinySpec {
        TinySpec {
            preset,
            head: TinyHead::default(),
            labels: None,
            seed: 0,
            storage: FloatType::default(),
            shards: one(),
        }
    }
}

/// A model that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// The architecture in `config.json`; of an adapter, its base's.
    pub architecture: String,
    /// Numbers in the weight files.
    pub n_parameters: u64,
    /// Bytes of the weight files.
    pub n_bytes: u64,
    /// The weight files by name.
    pub files: Vec<String>,
    /// SHA-256 of the weight files' bytes, one file after the other, as `sha256:…`.
    pub digest: String,
}

/// The heads that a generated model can have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TinyHead {
    /// The vocabulary.
    #[default]
    Vocab,
    /// Labels or a score at the last token.
    Sequence,
    /// Labels at every token.
    Token,
    /// Qwen2.5-Math's two layers for one reward.
    Reward,
    /// Qwen2.5-Math's two layers for two labels of a step.
    Process,
    /// The vocabulary and a value.
    Value,
}

impl TinyHead {
    /// Every head.
    pub const ALL: [TinyHead; 6] = [
        TinyHead::Vocab,
        TinyHead::Sequence,
        TinyHead::Token,
        TinyHead::Reward,
        TinyHead::Process,
        TinyHead::Value,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            TinyHead::Vocab => "vocab",
            TinyHead::Sequence => "sequence",
            TinyHead::Token => "token",
            TinyHead::Reward => "reward",
            TinyHead::Process => "process",
            TinyHead::Value => "value",
        }
    }
}

impl fmt::Display for TinyHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for TinyHead {
    type Err = String;

    fn from_str(name: &str) -> Result<TinyHead, String> {
        find_by_name(name, "head", &TinyHead::ALL, TinyHead::name)
    }
}

/// The value of this name; the error lists all names.
fn find_by_name<T: Copy>(
    name: &str,
    what: &str,
    all: &[T],
    name_of: impl Fn(T) -> &'static str,
) -> Result<T, String> {
    let found = all.iter().find(|one| name_of(**one) == name);
    found.copied().ok_or_else(|| {
        let names: Vec<_> = all.iter().map(|one| name_of(*one)).collect();
        format!("no {what} is called `{name}`; there are {}", names.join(", "))
    })
}

/// Writes a model folder: configuration, weights, tokenizer, chat template and generation defaults.
/// The folder appears complete or not at all.
///
/// # Errors
/// [`models::ModelError::File`] if `dir` exists and is not an empty folder,
/// [`models::ModelError::Unavailable`] for a head that the family does not have,
/// [`models::ModelError::Config`] for invalid numbers of labels or shards, and
/// [`models::ModelError::Io`] if the system refuses.
pub fn make(dir: &Path, spec: &TinySpec) -> Result<Made> {
    let stage = Stage::begin(dir)?;
    let json = config::config_json(dir, spec)?;
    let config = resolved(dir, &json, spec.head)?;
    stage.json("config.json", &json)?;
    stage.json("tokenizer.json", &tokenizer::tokenizer_json())?;
    let tokenizer = tokenizer::tokenizer_config_json(config.max_positions);
    stage.json("tokenizer_config.json", &tokenizer)?;
    if config.head.has_vocabulary() {
        stage.json("generation_config.json", &config::generation_config_json())?;
    }
    let random = RandomWeights { seed: spec.seed, dtype: spec.storage.dtype() };
    let mut made = tensors::write(&stage, &config, &random, spec)?;
    made.architecture = config::architecture(spec);
    stage.finish()?;
    Ok(made)
}

/// The configuration as loading resolves it. A value head is only in the files.
fn resolved(dir: &Path, json: &Value, head: TinyHead) -> Result<Arc<ModelConfig>> {
    let path = dir.join("config.json");
    let mut config = ModelConfig::from_json(&path, &json.to_string())?;
    if head == TinyHead::Value {
        config.head = HeadConfig::Value;
    }
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests;

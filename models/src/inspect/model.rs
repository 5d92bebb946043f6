//! Inspection of a model's folder: its configuration, and whether the files agree with it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::files::{WeightFiles, unreadable};
use super::survey::{MemoryFacts, ParameterFacts, survey};
use super::{InspectOptions, Inspection, tokenizer};
use crate::config::{HeadConfig, MlpConfig, ModelConfig, RopeScaling};
use crate::digest::{DigestPart, digest};
use crate::error::Result;
use crate::kernels::attention::KvType;
use crate::kv::KvCache;
use crate::weights::Checkpoint;
use crate::weights::names::detect_head;
use chat::Folder;

const CONFIG: &str = "config.json";

/// Facts about a model.
#[derive(Debug, Serialize)]
pub struct ModelFacts {
    /// `model_type`, which names the family.
    pub family: String,
    /// The first of `architectures`.
    pub architecture: Option<String>,
    /// The head.
    pub head: HeadFacts,
    /// Its sizes.
    pub shape: ModelSizes,
    /// Numbers of parameters; `None` without readable files.
    pub parameters: Option<ParameterFacts>,
    /// Bytes of weights in memory; `None` without readable files.
    pub memory: Option<MemoryFacts>,
    /// Bytes of keys and values per token in f32, over all layers.
    pub kv_bytes_per_token: u64,
    /// Digest of `config.json`.
    pub config_digest: Option<String>,
    /// Digest of `config.json` and the weight files: the model's digest in every verdict.
    pub digest: Option<String>,
}

/// A head.
#[derive(Debug, Serialize)]
pub struct HeadFacts {
    /// `vocabulary`, `value`, `sequence`, `token`, `reward` or `process`.
    pub kind: &'static str,
    /// Number of outputs; `None` for the vocabulary.
    pub n_labels: Option<usize>,
    /// Names of the outputs, from `id2label`.
    pub labels: Vec<String>,
}

/// Sizes of a model.
#[derive(Debug, Serialize)]
pub struct ModelSizes {
    /// Rows of the embedding.
    pub vocab_size: usize,
    /// Width of the residual stream.
    pub hidden_size: usize,
    /// Query heads.
    pub num_heads: usize,
    /// Key and value heads.
    pub num_kv_heads: usize,
    /// Width of one head.
    pub head_dim: usize,
    /// Maximum number of positions.
    pub max_positions: usize,
    /// Whether the vocabulary head is the embedding.
    pub tied: bool,
    /// Number of layers.
    pub num_layers: usize,
    /// Layers by their MLP.
    pub mlps: Vec<LayerFacts>,
    /// Layers by their window.
    pub windows: Vec<WindowFacts>,
    /// Layers by their rotary embedding.
    pub ropes: Vec<RopeFacts>,
}

/// Layers with one kind of MLP.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct LayerFacts {
    /// Number of layers.
    pub layers: usize,
    /// Inner width; of one expert if there are experts.
    pub intermediate_size: usize,
    /// Number of experts, and of experts per token.
    pub experts: Option<(usize, usize)>,
}

/// Layers with one window.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct WindowFacts {
    /// Number of layers.
    pub layers: usize,
    /// Keys that a query sees, itself included; `None` for all.
    pub window: Option<usize>,
}

/// Layers under one rotary embedding.
#[derive(Debug, PartialEq, Serialize)]
pub struct RopeFacts {
    /// Number of layers.
    pub layers: usize,
    /// Base of the frequencies; `None` for layers without positions.
    pub theta: Option<f64>,
    /// Dimensions of a head that are rotated.
    pub rotary_dim: Option<usize>,
    /// `default`, `linear`, `llama3` or `per_dimension`.
    pub scaling: Option<&'static str>,
}

/// Fills in the facts of a model's folder.
pub(super) fn inspect(dir: &Path, options: &InspectOptions, found: &mut Inspection) {
    let read = found.keep(ModelConfig::read_file(&Folder::directory(dir)));
    let checkpoint = found.keep(Checkpoint::open(dir));
    if let Some(checkpoint) = &checkpoint {
        found.weights = Some(WeightFiles::of(checkpoint));
        if options.check {
            found.problems.extend(unreadable(checkpoint));
        }
    }
    let Some((text, config)) = read else {
        tokenizer::inspect(dir, None, found);
        return;
    };
    tokenizer::inspect(dir, Some(config.vocab_size), found);
    let facts = facts(dir, (&text, config), checkpoint.as_ref(), found);
    found.model = Some(facts);
}

fn facts(
    dir: &Path,
    (text, config): (&str, ModelConfig),
    checkpoint: Option<&Checkpoint>,
    found: &mut Inspection,
) -> ModelFacts {
    let has = |name: &str| checkpoint.is_some_and(|files| files.has(name));
    let head = found.keep(detect_head(config.head, dir, has)).unwrap_or(config.head);
    let config = Arc::new(ModelConfig { head, ..config });
    let surveyed = checkpoint.and_then(|files| found.keep(survey(&config, files)));
    let (parameters, memory) = match surveyed {
        None => (None, None),
        Some(survey) => {
            found.problems.extend(survey.problems);
            (Some(survey.parameters), Some(survey.memory))
        }
    };
    let json: Value = serde_json::from_str(text).unwrap_or_default();
    let architecture = json["architectures"][0].as_str().map(str::to_owned);
    ModelFacts {
        family: config.model_type.clone(),
        architecture,
        head: head_facts(config.head, &json),
        shape: shape(&config),
        parameters,
        memory,
        kv_bytes_per_token: KvCache::bytes_per_token(&config, KvType::F32) as u64,
        config_digest: found.keep(digest_of(text, None)),
        digest: checkpoint.and_then(|files| found.keep(digest_of(text, Some(files)))),
    }
}

/// The digest that [`crate::Model::load`] computes.
pub(super) fn digest_of(config: &str, files: Option<&Checkpoint>) -> Result<String> {
    let mut parts = BTreeMap::from([(CONFIG, DigestPart::Bytes(config.as_bytes()))]);
    for file in files.map_or(&[][..], Checkpoint::files) {
        let name = file.path().file_name().and_then(|name| name.to_str());
        parts.extend(name.map(|name| (name, DigestPart::File(file))));
    }
    digest(&parts)
}

fn head_facts(head: HeadConfig, json: &Value) -> HeadFacts {
    let (kind, n_labels) = match head {
        HeadConfig::Vocab => ("vocabulary", None),
        HeadConfig::Value => ("value", Some(1)),
        HeadConfig::Sequence { n_labels } => ("sequence", Some(n_labels)),
        HeadConfig::Token { n_labels } => ("token", Some(n_labels)),
        HeadConfig::Reward { n_labels } => ("reward", Some(n_labels)),
        HeadConfig::Process { n_labels } => ("process", Some(n_labels)),
    };
    let name = |index: usize| {
        let name = json["id2label"].get(index.to_string());
        name.and_then(Value::as_str).map(str::to_owned)
    };
    HeadFacts { kind, n_labels, labels: (0..n_labels.unwrap_or(0)).map_while(name).collect() }
}

fn shape(config: &ModelConfig) -> ModelSizes {
    let mut mlps: Vec<LayerFacts> = Vec::new();
    let mut windows: Vec<WindowFacts> = Vec::new();
    let mut ropes: Vec<(Option<usize>, usize)> = Vec::new();
    for layer in &config.layers {
        let (intermediate_size, experts) = mlp(&layer.mlp);
        let same = |facts: &&mut LayerFacts| {
            (facts.intermediate_size, facts.experts) == (intermediate_size, experts)
        };
        match mlps.iter_mut().find(same) {
            Some(facts) => facts.layers += 1,
            None => mlps.push(LayerFacts { layers: 1, intermediate_size, experts }),
        }
        match windows.iter_mut().find(|facts| facts.window == layer.window) {
            Some(facts) => facts.layers += 1,
            None => windows.push(WindowFacts { layers: 1, window: layer.window }),
        }
        match ropes.iter_mut().find(|(rope, _)| *rope == layer.rope) {
            Some((_, layers)) => *layers += 1,
            None => ropes.push((layer.rope, 1)),
        }
    }
    ModelSizes {
        vocab_size: config.vocab_size,
        hidden_size: config.hidden_size,
        num_heads: config.num_heads,
        num_kv_heads: config.num_kv_heads,
        head_dim: config.head_dim,
        max_positions: config.max_positions,
        tied: config.tie_embeddings,
        num_layers: config.layers.len(),
        mlps,
        windows,
        ropes: ropes.into_iter().map(|each| rope(config, each)).collect(),
    }
}

fn mlp(mlp: &MlpConfig) -> (usize, Option<(usize, usize)>) {
    match mlp {
        MlpConfig::Dense { intermediate_size } => (*intermediate_size, None),
        MlpConfig::Experts { intermediate_size, num_experts, experts_per_token, .. } => {
            (*intermediate_size, Some((*num_experts, *experts_per_token)))
        }
    }
}

fn rope(config: &ModelConfig, (rope, layers): (Option<usize>, usize)) -> RopeFacts {
    let rope = rope.and_then(|index| config.ropes.get(index));
    RopeFacts {
        layers,
        theta: rope.map(|rope| rope.theta),
        rotary_dim: rope.map(|rope| rope.rotary_dim),
        scaling: rope.map(|rope| match rope.scaling {
            RopeScaling::Default => "default",
            RopeScaling::Linear { .. } => "linear",
            RopeScaling::Llama3 { .. } => "llama3",
            RopeScaling::PerDimension { .. } => "per_dimension",
        }),
    }
}

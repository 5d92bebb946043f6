//! Tensor names of parameters in Hugging Face checkpoints, and module names of adapters.
//!
//! A parameter is a tensor or, where the checkpoint fuses several (Phi-3's `qkv_proj` and
//! `gate_up_proj`), a range of its rows.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::param::Site;
use super::param::{HeadPart, LayerPart, Norm, Param, Projection};
use crate::config::{HeadConfig, MlpConfig, ModelConfig, NormPlacement, family};
use crate::error::{ModelError, Result};

/// The place of a parameter in a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The tensor's name.
    pub name: String,
    /// The parameter's rows; `None` if the tensor holds nothing else.
    pub part: Option<TensorRows>,
}

/// Rows of a tensor that holds several parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorRows {
    /// The rows of this parameter.
    pub rows: Range<usize>,
    /// All rows of the tensor.
    pub of: usize,
}

/// The names of one model.
#[derive(Clone, Debug)]
pub struct Names {
    config: Arc<ModelConfig>,
    fused: bool,
    head: &'static HeadNames,
}

/// A kind of head and its tensor names.
#[derive(Debug)]
struct HeadNames {
    is: fn(HeadConfig) -> bool,
    tensors: &'static [(HeadPart, &'static str)],
}

const VOCAB: &str = "lm_head.weight";
const EMBEDDING: &str = "model.embed_tokens.weight";
const FINAL_NORM: &str = "model.norm.weight";
const LAYERS: &str = "model.layers.";

/// The linear layers by module.
const MODULES: &[(Projection, &str)] = &[
    (Projection::Q, "self_attn.q_proj"),
    (Projection::K, "self_attn.k_proj"),
    (Projection::V, "self_attn.v_proj"),
    (Projection::O, "self_attn.o_proj"),
    (Projection::Gate, "mlp.gate_proj"),
    (Projection::Up, "mlp.up_proj"),
    (Projection::Down, "mlp.down_proj"),
    (Projection::Router, "mlp.gate"),
];

/// Modules that hold several linear layers, in the order of their rows.
const FUSED_MODULES: &[(&str, &[Projection])] = &[
    ("self_attn.qkv_proj", &[Projection::Q, Projection::K, Projection::V]),
    ("mlp.gate_up_proj", &[Projection::Gate, Projection::Up]),
];

const EXPERTS: &str = "mlp.experts.";

/// The heads. If a kind has two rows, the first whose tensors are in the files counts.
const HEADS: &[HeadNames] = &[
    HeadNames { is: |head| matches!(head, HeadConfig::Vocab), tensors: &[] },
    // TRL's `AutoModelForCausalLMWithValueHead`.
    HeadNames {
        is: |head| matches!(head, HeadConfig::Value),
        tensors: &[
            (HeadPart::Weight, "v_head.summary.weight"),
            (HeadPart::Bias, "v_head.summary.bias"),
        ],
    },
    HeadNames {
        is: |head| matches!(head, HeadConfig::Value),
        tensors: &[(HeadPart::Weight, "v_head.weight"), (HeadPart::Bias, "v_head.bias")],
    },
    HeadNames {
        is: |head| matches!(head, HeadConfig::Sequence { .. }),
        tensors: &[(HeadPart::Weight, "score.weight")],
    },
    HeadNames {
        is: |head| matches!(head, HeadConfig::Token { .. }),
        tensors: &[(HeadPart::Weight, "score.weight"), (HeadPart::Bias, "score.bias")],
    },
    // Qwen2.5-Math's reward and process reward models.
    HeadNames {
        is: |head| matches!(head, HeadConfig::Reward { .. } | HeadConfig::Process { .. }),
        tensors: &[
            (HeadPart::InnerWeight, "score.0.weight"),
            (HeadPart::InnerBias, "score.0.bias"),
            (HeadPart::Weight, "score.2.weight"),
            (HeadPart::Bias, "score.2.bias"),
        ],
    },
];

/// The head of the architecture, corrected by the files: a causal model with a value head's tensors
/// has a value head.
///
/// # Errors
/// [`ModelError::Tensor`] names a head tensor in the files that the architecture does not use;
/// `path` is the folder.
pub fn detect_head(
    declared: HeadConfig,
    path: &Path,
    has: impl Fn(&str) -> bool,
) -> Result<HeadConfig> {
    let value = HEADS
        .iter()
        .filter(|row| (row.is)(HeadConfig::Value))
        .any(|row| row.tensors.iter().any(|(_, name)| has(name)));
    let head = match declared {
        HeadConfig::Vocab if value => HeadConfig::Value,
        HeadConfig::Vocab
        | HeadConfig::Value
        | HeadConfig::Sequence { .. }
        | HeadConfig::Token { .. }
        | HeadConfig::Reward { .. }
        | HeadConfig::Process { .. } => declared,
    };
    let used = head_names(head, &has).tensors;
    let mut all = HEADS.iter().flat_map(|row| row.tensors);
    match all.find(|(_, name)| has(name) && !used.iter().any(|(_, other)| other == name)) {
        None => Ok(head),
        Some((_, name)) => Err(ModelError::Tensor {
            path: path.to_path_buf(),
            name: (*name).into(),
            what: format!(
                "contradicts the architecture in config.json, whose head is {declared:?}"
            ),
        }),
    }
}

fn head_names(head: HeadConfig, has: impl Fn(&str) -> bool) -> &'static HeadNames {
    let rows = || HEADS.iter().filter(|row| (row.is)(head));
    rows()
        .find(|row| row.tensors.iter().any(|(_, name)| has(name)))
        .or_else(|| rows().next())
        .expect("every kind of head has a row")
}

impl Names {
    /// The names of a model whose head was detected. `has` tells which tensors exist, for heads
    /// with two sets of names; a writer returns false and gets the first set.
    pub fn new(config: &Arc<ModelConfig>, has: impl Fn(&str) -> bool) -> Names {
        Names {
            fused: family::of(&config.model_type).is_some_and(|family| family.fused),
            head: head_names(config.head, has),
            config: config.clone(),
        }
    }

    /// The place of a parameter.
    ///
    /// # Panics
    /// If the parameter belongs to a head or norm that the model does not have: the caller must use
    /// the same configuration.
    pub fn locate(&self, place: Param) -> Location {
        let tensor = |name: &str| Location { name: name.into(), part: None };
        match place {
            Param::Embedding => tensor(EMBEDDING),
            Param::Vocab => tensor(VOCAB),
            Param::FinalNorm => tensor(FINAL_NORM),
            Param::Head(part) => {
                let mut tensors = self.head.tensors.iter();
                let (_, name) = tensors
                    .find(|(known, _)| *known == part)
                    .expect("the head has the requested part");
                tensor(name)
            }
            Param::Layer(layer, LayerPart::Norm(norm)) => {
                let module = self.norm(norm);
                tensor(&format!("{LAYERS}{layer}.{module}.weight"))
            }
            Param::Layer(layer, LayerPart::Weight(projection)) => {
                self.projection(layer, projection, "weight")
            }
            Param::Layer(layer, LayerPart::Bias(projection)) => {
                self.projection(layer, projection, "bias")
            }
        }
    }

    /// A unique name for each parameter: the checkpoint's, or for a part of a fused tensor the name
    /// in checkpoints that do not fuse.
    pub fn unfused(&self, place: Param) -> String {
        match place {
            Param::Layer(layer, LayerPart::Weight(projection)) => {
                format!("{LAYERS}{layer}.{}.weight", module(projection))
            }
            Param::Layer(layer, LayerPart::Bias(projection)) => {
                format!("{LAYERS}{layer}.{}.bias", module(projection))
            }
            Param::Embedding
            | Param::Vocab
            | Param::FinalNorm
            | Param::Head(_)
            | Param::Layer(_, LayerPart::Norm(_)) => self.locate(place).name,
        }
    }

    fn projection(&self, layer: usize, projection: Projection, leaf: &str) -> Location {
        let at = |module: &str| format!("{LAYERS}{layer}.{module}.{leaf}");
        if let Some((module, parts)) = self.fused_module(projection) {
            let spans = self.spans(layer, parts);
            let of = spans.last().map_or(0, |(_, rows)| rows.end);
            let (_, rows) = spans
                .into_iter()
                .find(|(part, _)| *part == projection)
                .expect("a fused module holds the projection it was found by");
            return Location { name: at(module), part: Some(TensorRows { rows, of }) };
        }
        Location { name: at(&module(projection)), part: None }
    }

    fn fused_module(
        &self,
        projection: Projection,
    ) -> Option<&'static (&'static str, &'static [Projection])> {
        let mut modules = FUSED_MODULES.iter().filter(|_| self.fused);
        modules.find(|(_, parts)| parts.contains(&projection))
    }

    /// Projections that follow each other in one tensor, each with its rows.
    fn spans(&self, layer: usize, parts: &[Projection]) -> Vec<(Projection, Range<usize>)> {
        let mut start = 0;
        parts
            .iter()
            .map(|part| {
                let rows = start..start + self.height(layer, *part);
                start = rows.end;
                (*part, rows)
            })
            .collect()
    }

    /// Number of outputs of a linear layer.
    fn height(&self, layer: usize, projection: Projection) -> usize {
        let config = &self.config;
        let (inner, experts) = match &config.layers[layer].mlp {
            MlpConfig::Dense { intermediate_size } => (*intermediate_size, 0),
            MlpConfig::Experts { intermediate_size, num_experts, .. } => {
                (*intermediate_size, *num_experts)
            }
        };
        match projection {
            Projection::Q => config.num_heads * config.head_dim,
            Projection::K | Projection::V => config.num_kv_heads * config.head_dim,
            Projection::O | Projection::Down | Projection::ExpertDown(_) => config.hidden_size,
            Projection::Gate
            | Projection::Up
            | Projection::ExpertGate(_)
            | Projection::ExpertUp(_) => inner,
            Projection::Router => experts,
        }
    }

    /// Llama's second norm precedes the MLP and is named after the attention that it follows; in
    /// models with norms after the attention, that name belongs to them.
    fn norm(&self, norm: Norm) -> &'static str {
        match (self.config.norm.placement, norm) {
            (_, Norm::Q) => "self_attn.q_norm",
            (_, Norm::K) => "self_attn.k_norm",
            (_, Norm::PreAttention) => "input_layernorm",
            (NormPlacement::Pre, Norm::PreMlp) | (_, Norm::PostAttention) => {
                "post_attention_layernorm"
            }
            (NormPlacement::Post | NormPlacement::Both, Norm::PreMlp) => {
                "pre_feedforward_layernorm"
            }
            (_, Norm::PostMlp) => "post_feedforward_layernorm",
        }
    }

    /// The linear layers in a module, each with its rows of the module's output, in order; `None`
    /// if the model has no such linear layer.
    ///
    /// `module` is the path as transformers names it, such as `model.layers.3.self_attn.q_proj`,
    /// `model.embed_tokens` or `lm_head`. The score head is not a site: adapters replace it
    /// entirely.
    pub fn sites(&self, module: &str) -> Option<Vec<(Site, Range<usize>)>> {
        match module {
            "model.embed_tokens" => Some(vec![(Site::Embedding, 0..self.config.hidden_size)]),
            "lm_head" if self.config.head.has_vocabulary() => {
                Some(vec![(Site::Vocab, 0..self.config.vocab_size)])
            }
            path => {
                let (layer, module) = path.strip_prefix(LAYERS)?.split_once('.')?;
                let layer = index(layer).filter(|layer| *layer < self.config.layers.len())?;
                let spans = self.spans(layer, &self.projections(layer, module)?);
                let site = |(projection, rows)| (Site::Layer(layer, projection), rows);
                Some(spans.into_iter().map(site).collect())
            }
        }
    }

    /// The projections in a module of a layer; `None` if the layer does not have it.
    fn projections(&self, layer: usize, module: &str) -> Option<Vec<Projection>> {
        let mut fused = FUSED_MODULES.iter().filter(|_| self.fused);
        if let Some((_, parts)) = fused.find(|(name, _)| *name == module) {
            return Some(parts.to_vec());
        }
        let projection = match module.strip_prefix(EXPERTS) {
            Some(expert) => expert_projection(expert)?,
            None => MODULES.iter().find(|(_, name)| *name == module)?.0,
        };
        let experts = match self.config.layers[layer].mlp {
            MlpConfig::Dense { .. } => None,
            MlpConfig::Experts { num_experts, .. } => Some(num_experts),
        };
        let there = match projection {
            Projection::Q | Projection::K | Projection::V | Projection::O => true,
            Projection::Gate | Projection::Up | Projection::Down => experts.is_none(),
            Projection::Router => experts.is_some(),
            Projection::ExpertGate(e) | Projection::ExpertUp(e) | Projection::ExpertDown(e) => {
                experts.is_some_and(|n| (e as usize) < n)
            }
        };
        (there && self.fused_module(projection).is_none()).then(|| vec![projection])
    }
}

/// A linear layer's module within its layer.
fn module(projection: Projection) -> String {
    match projection {
        Projection::ExpertGate(e) => format!("{EXPERTS}{e}.gate_proj"),
        Projection::ExpertUp(e) => format!("{EXPERTS}{e}.up_proj"),
        Projection::ExpertDown(e) => format!("{EXPERTS}{e}.down_proj"),
        Projection::Q
        | Projection::K
        | Projection::V
        | Projection::O
        | Projection::Gate
        | Projection::Up
        | Projection::Down
        | Projection::Router => {
            let mut modules = MODULES.iter();
            let (_, name) = modules
                .find(|(known, _)| *known == projection)
                .expect("every projection but an expert's has a row");
            (*name).into()
        }
    }
}

/// Parses `3.gate_proj` and its like.
fn expert_projection(path: &str) -> Option<Projection> {
    let (expert, leaf) = path.split_once('.')?;
    let expert = u32::try_from(index(expert)?).ok()?;
    match leaf {
        "gate_proj" => Some(Projection::ExpertGate(expert)),
        "up_proj" => Some(Projection::ExpertUp(expert)),
        "down_proj" => Some(Projection::ExpertDown(expert)),
        _ => None,
    }
}

/// Parses an index of a module path: digits alone, no sign, no leading zero.
fn index(text: &str) -> Option<usize> {
    let canonical =
        text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| canonical)
}

#[cfg(test)]
mod tests;

//! The modules of a base that an adapter can change, as transformers names them.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::config::{MlpConfig, ModelConfig};
use crate::weights::Site;
use crate::weights::names::Names;
use crate::weights::{LayerPart, Param, Projection};

/// The prefix of every path of a checkpoint, unless the adapter was trained on the bare decoder.
const DECODER: &str = "model.";

/// A linear layer or embedding of the base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Module {
    /// The sites in it, each with its rows of the output.
    pub(super) sites: Vec<(Site, Range<usize>)>,
    /// Outputs.
    pub(super) n: usize,
    /// Inputs.
    pub(super) k: usize,
}

/// All modules of a base.
#[derive(Debug)]
pub(super) struct Modules {
    by_path: BTreeMap<String, Module>,
    n_layers: usize,
}

impl Module {
    pub(super) fn is_embedding(&self) -> bool {
        matches!(self.sites[..], [(Site::Embedding, _)])
    }
}

impl Modules {
    /// The modules of a base; `bare` for an adapter that was trained on the decoder without a head
    /// around it, whose paths lack the prefix.
    pub(super) fn new(config: &Arc<ModelConfig>, bare: bool) -> Modules {
        let names = Names::new(config, |_| false);
        let mut by_path = BTreeMap::new();
        for place in places(config) {
            let name = names.locate(place).name;
            let path = name.strip_suffix(".weight").unwrap_or(&name);
            let spoken = path.strip_prefix(DECODER).filter(|_| bare).unwrap_or(path);
            let Some(sites) = names.sites(path) else {
                continue;
            };
            let Some(module) = module(config, sites) else {
                continue;
            };
            by_path.insert(spoken.to_owned(), module);
        }
        Modules { by_path, n_layers: config.layers.len() }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&String, &Module)> {
        self.by_path.iter()
    }

    /// The module at a path; the error says why there is none.
    pub(super) fn get(&self, path: &str) -> Result<&Module, String> {
        self.by_path.get(path).ok_or_else(|| {
            let beyond = layer(path).filter(|layer| *layer >= self.n_layers);
            match beyond {
                Some(layer) => format!("layer {layer}, and the base has {} layers", self.n_layers),
                None => format!("the base has no linear layer `{path}`"),
            }
        })
    }
}

/// Whether the path is one of the bare decoder's.
pub(super) fn is_bare(path: &str) -> bool {
    path.starts_with("layers.") || path.starts_with("embed_tokens")
}

/// The layer in a path; `None` if it has none.
fn layer(path: &str) -> Option<usize> {
    let path = path.strip_prefix(DECODER).unwrap_or(path);
    let (index, _) = path.strip_prefix("layers.")?.split_once('.')?;
    index.parse().ok()
}

fn places(config: &ModelConfig) -> Vec<Param> {
    let mut places = vec![Param::Embedding];
    for (index, layer) in config.layers.iter().enumerate() {
        let weight = |projection| Param::Layer(index, LayerPart::Weight(projection));
        places.extend([Projection::Q, Projection::K, Projection::V, Projection::O].map(weight));
        match layer.mlp {
            MlpConfig::Dense { .. } => {
                places.extend([Projection::Gate, Projection::Up, Projection::Down].map(weight));
            }
            MlpConfig::Experts { num_experts, .. } => {
                places.push(weight(Projection::Router));
                let experts = 0..u32::try_from(num_experts).unwrap_or(u32::MAX);
                places.extend(experts.flat_map(|expert| {
                    [
                        weight(Projection::ExpertGate(expert)),
                        weight(Projection::ExpertUp(expert)),
                        weight(Projection::ExpertDown(expert)),
                    ]
                }));
            }
        }
    }
    if config.head.has_vocabulary() {
        places.push(Param::Vocab);
    }
    places
}

fn module(config: &ModelConfig, sites: Vec<(Site, Range<usize>)>) -> Option<Module> {
    let (first, _) = sites.first()?;
    let k = match first {
        Site::Embedding => config.vocab_size,
        Site::Vocab => config.hidden_size,
        Site::Layer(layer, projection) => width(config, *layer, *projection),
    };
    let n = sites.last()?.1.end;
    Some(Module { sites, n, k })
}

/// Inputs of a projection.
fn width(config: &ModelConfig, layer: usize, projection: Projection) -> usize {
    match projection {
        Projection::O => config.num_heads * config.head_dim,
        Projection::Down | Projection::ExpertDown(_) => match config.layers[layer].mlp {
            MlpConfig::Dense { intermediate_size }
            | MlpConfig::Experts { intermediate_size, .. } => intermediate_size,
        },
        Projection::Q
        | Projection::K
        | Projection::V
        | Projection::Gate
        | Projection::Up
        | Projection::Router
        | Projection::ExpertGate(_)
        | Projection::ExpertUp(_) => config.hidden_size,
    }
}

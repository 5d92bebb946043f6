//! The model in training and its parameters.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use candle_core::Var;
use models::adapter::{Adapter, Segment};
use models::live::{LiveAdapter, LiveModel, View};
use models::weights::{Checkpoint, FileWeights, Names, Storage};
use models::{Model, ModelConfig};
use sha2::{Digest as _, Sha256};

use super::batch::Micro;
use super::workers::Workers;
use crate::error::{Result, TrainError};

/// A model in training.
#[derive(Debug)]
pub struct Policy {
    pub(super) config: Arc<ModelConfig>,
    pub(super) base: Base,
    pub(super) adapters: Vec<NamedAdapter>,
    pub(super) parameters: Vec<Parameter>,
    /// The folder of its tokenizer and configuration.
    pub(super) origin: PathBuf,
    /// Digest of the initial weights.
    digest: String,
    /// Activation checkpointing: keep only each layer's input and recompute the layer in the
    /// backward pass.
    pub checkpointing: bool,
    /// Workers that compute micro-batches in parallel; unused with activation checkpointing.
    pub workers: Workers,
}

/// The weights under the adapters.
#[derive(Debug)]
pub(super) enum Base {
    /// All weights are variables.
    Live(Box<LiveModel>),
    /// Frozen weights.
    Frozen(View),
}

/// An adapter in training.
#[derive(Debug)]
pub(super) struct NamedAdapter {
    pub(super) name: Arc<str>,
    pub(super) live: LiveAdapter,
}

/// A variable of the optimiser.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its name in the checkpoint; prefixed with the adapter's name for an adapter.
    pub name: String,
    /// Its values.
    pub var: Var,
    /// Whether weight decay applies: to matrices, and not to norms, biases and embeddings.
    pub decays: bool,
}

impl Policy {
    /// Loads a model folder with every weight in training.
    ///
    /// # Errors
    /// Errors of loading. A mixture of experts is trained too, with its router.
    pub fn full(folder: &Path) -> Result<Policy> {
        let (config, checkpoint) = open(folder)?;
        let names = Names::new(&config, |name| checkpoint.has(name));
        let source = FileWeights::new(&checkpoint, &config, Storage::F32);
        let live = LiveModel::new(&config, source, &names)?;
        Ok(Policy {
            digest: weights_digest(&live.variables)?,
            parameters: parameters("", &live.variables),
            config,
            base: Base::Live(Box::new(live)),
            adapters: Vec::new(),
            origin: folder.to_owned(),
            checkpointing: false,
            workers: Workers::default(),
        })
    }

    /// Loads adapters to train over a frozen model folder.
    ///
    /// # Errors
    /// Errors of loading, and an adapter that changes the vocabulary head: its log-probabilities
    /// are computed by other operations than the engine's.
    pub fn adapted(folder: &Path, adapters: &[(Arc<str>, Adapter)]) -> Result<Policy> {
        let model = Model::load(folder, &models::LoadOptions::default())?;
        let mut named = Vec::new();
        let mut all = Vec::new();
        for (name, adapter) in adapters {
            if adapter.pairs.contains_key(&models::weights::Site::Vocab) {
                return Err(TrainError::Invalid(format!(
                    "the adapter `{name}` changes the vocabulary head (lm_head), which cannot be \
                     trained as an adapter; leave it out of the targets"
                )));
            }
            let live = LiveAdapter::new(adapter)?;
            all.extend(parameters(&format!("{name}."), &live.variables));
            named.push(NamedAdapter { name: name.clone(), live });
        }
        Ok(Policy {
            config: model.config,
            base: Base::Frozen(View { decoder: model.decoder, head: model.head }),
            adapters: named,
            digest: model.digest,
            parameters: all,
            origin: folder.to_owned(),
            checkpointing: false,
            workers: Workers::default(),
        })
    }

    /// The model configuration.
    pub fn config(&self) -> &Arc<ModelConfig> {
        &self.config
    }

    /// The folder that it was loaded from.
    pub fn origin(&self) -> &Path {
        &self.origin
    }

    /// SHA-256 of the initial numbers, as `sha256:…`; for a base under adapters, that of its
    /// folder.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Its variables, in the order of their names.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Number of trained values, padding of the last panels included.
    pub fn trainable(&self) -> usize {
        let count = |parameter: &Parameter| parameter.var.elem_count();
        self.parameters.iter().map(count).sum()
    }

    /// The view that an engine serves: it records no gradient and shares the storage.
    pub fn served(&self) -> View {
        match &self.base {
            Base::Live(live) => live.detached.clone(),
            Base::Frozen(view) => view.clone(),
        }
    }

    /// The adapters that an engine serves beside it, by name.
    pub fn served_adapters(&self) -> Vec<(Arc<str>, Arc<Adapter>)> {
        let adapters = self.adapters.iter();
        adapters.map(|named| (named.name.clone(), named.live.detached.clone())).collect()
    }

    /// Index of an adapter by its name, for [`PolicySequence::adapter`].
    pub fn adapter(&self, name: &str) -> Option<usize> {
        self.adapters.iter().position(|named| &*named.name == name)
    }

    pub(super) fn view(&self, tracked: bool) -> &View {
        match &self.base {
            Base::Live(live) if tracked => &live.tracked,
            Base::Live(live) => &live.detached,
            Base::Frozen(view) => view,
        }
    }

    pub(super) fn segments(&self, micro: &Micro, tracked: bool) -> Vec<Segment> {
        let mut start = 0;
        let mut segments = Vec::new();
        for (len, adapter) in micro.spans() {
            let rows = start..start + len;
            start = rows.end;
            if let Some(at) = adapter.filter(|_| !rows.is_empty()) {
                let live = &self.adapters[at].live;
                let adapter = if tracked { &live.tracked } else { &live.detached };
                segments.push(Segment { rows, adapter: adapter.clone() });
            }
        }
        segments
    }
}

fn open(folder: &Path) -> Result<(Arc<ModelConfig>, Arc<Checkpoint>)> {
    let checkpoint = Arc::new(Checkpoint::open(folder)?);
    let config = ModelConfig::read(folder)?;
    let head =
        models::weights::names::detect_head(config.head, folder, |name| checkpoint.has(name))?;
    Ok((Arc::new(ModelConfig { head, ..config }), checkpoint))
}

fn weights_digest(variables: &BTreeMap<String, Var>) -> Result<String> {
    let mut hash = Sha256::new();
    for (name, var) in variables {
        hash.update((name.len() as u64).to_le_bytes());
        hash.update(name);
        for number in var.as_tensor().flatten_all()?.to_vec1::<f32>()? {
            hash.update(number.to_le_bytes());
        }
    }
    Ok(base::digest::finish(hash))
}

fn parameters(prefix: &str, variables: &BTreeMap<String, Var>) -> Vec<Parameter> {
    let parameter = |(name, var): (&String, &Var)| Parameter {
        name: format!("{prefix}{name}"),
        decays: decays(name, var),
        var: var.clone(),
    };
    variables.iter().map(parameter).collect()
}

/// Matrices decay; norms and biases are vectors, and embeddings are looked up and not multiplied.
fn decays(name: &str, var: &Var) -> bool {
    var.dims().len() > 1 && !name.contains("embed_tokens") && !name.starts_with("embedding.")
}

//! The model in training and its parameters.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use candle_core::Var;
use models::adapter::{Adapter, Segment};
use models::head::Head;
use models::live::{LiveAdapter, LiveModel, View};
use models::weights::{Checkpoint, FileWeights, Names, Storage};
use models::{Matrix, Model, ModelConfig};
use safetensors::SafeTensors;
use sha2::{Digest as _, Sha256};

use super::batch::Micro;
use super::workers::Workers;
use crate::error::{Result, TrainError};

/// The file of a head beside the vocabulary in a checkpoint, which servers do not read.
pub(super) const VALUE_HEAD: &str = "value_head.safetensors";

/// Its tensor, `[1, hidden]`.
pub(super) const VALUE_WEIGHT: &str = "score.weight";

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

    /// Adds a head of one output beside the vocabulary, in training with the model: `score.weight` of
    /// the checkpoint `saved`, or zeros.
    ///
    /// # Errors
    /// A file that cannot be read; a model whose weights are frozen or that has a head.
    pub fn add_value_head(&mut self, saved: Option<&Path>) -> Result<()> {
        let width = self.config.hidden_size;
        let Base::Live(live) = &mut self.base else {
            return Err(TrainError::Invalid("a frozen model gets no head".to_owned()));
        };
        if live.tracked.head.is_some() {
            return Err(TrainError::Invalid("the model has a head already".to_owned()));
        }
        let numbers = match saved {
            None => vec![0.0; width],
            Some(folder) => read_value_head(&folder.join(VALUE_HEAD), width)?,
        };
        let mut variables = BTreeMap::new();
        let head = Head::linear(Matrix::from_rows(&numbers, 1, width)?, None);
        let head = head.to_variables(&mut variables)?;
        live.detached.head = Some(head.detached());
        live.tracked.head = Some(head);
        self.parameters.extend(parameters("", &variables));
        self.parameters.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(())
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

    /// Name of an adapter by its index.
    pub fn adapter_name(&self, at: usize) -> &str {
        &self.adapters[at].name
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

/// The numbers of a head of one output that [`Policy::save`] wrote.
fn read_value_head(path: &Path, width: usize) -> Result<Vec<f32>> {
    let bytes = std::fs::read(path)
        .map_err(|source| TrainError::File { path: path.display().to_string(), source })?;
    let wrong = |what: String| TrainError::Invalid(format!("{}: {what}", path.display()));
    let tensors = SafeTensors::deserialize(&bytes).map_err(|error| wrong(error.to_string()))?;
    let tensor = tensors.tensor(VALUE_WEIGHT).map_err(|error| wrong(error.to_string()))?;
    let number = |bytes: &[u8]| f32::from_le_bytes(bytes.try_into().expect("four bytes"));
    let numbers: Vec<f32> = tensor.data().chunks_exact(4).map(number).collect();
    if numbers.len() == width {
        return Ok(numbers);
    }
    Err(wrong(format!("`{VALUE_WEIGHT}` has {} numbers, not {width}", numbers.len())))
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

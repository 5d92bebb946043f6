//! A model's weights on a device, and forwards over them.

use std::path::PathBuf;
use std::sync::Arc;

use gpu::Gpu;
use gpu_models::{GpuModel, GpuRunner};
use models::live::View;
use models::weights::NumericsChoice;
use models::{Forward, ModelConfig, Runner};

use crate::error::LoadError;

/// A model on a device. Forwards over it share its weights; each has adapters and KV blocks of its own.
#[derive(Debug)]
pub struct DeviceModel {
    /// Its configuration.
    pub config: Arc<ModelConfig>,
    /// Digest of configuration and weights, without the arithmetic.
    pub digest: String,
    /// The files of the digest.
    pub files: Vec<PathBuf>,
    /// The arithmetic of its linear layers.
    pub numerics: NumericsChoice,
    /// Bytes of its weights in the device's memory.
    pub weight_bytes: u64,
    /// Number of parameters, tied embeddings counted once.
    pub parameters: u64,
    /// Outputs of its own head; `None` without one.
    pub head_labels: Option<usize>,
    pub(crate) weights: DeviceWeights,
}

/// Weights, and the card that has them.
#[derive(Debug)]
pub(crate) enum DeviceWeights {
    /// In the program's own memory.
    Processor(View),
    /// On a card.
    Card(Gpu, Arc<GpuModel>),
}

impl DeviceModel {
    /// Whether it has a vocabulary head.
    pub fn has_vocabulary(&self) -> bool {
        self.config.head.has_vocabulary()
    }

    /// Bytes that a card keeps for steps of so many tokens; `None` on the processor, where steps take memory as they come.
    ///
    /// # Errors
    /// [`LoadError`] where memory is full.
    pub fn step_bytes(&self, tokens: usize) -> Result<Option<u64>, LoadError> {
        Ok(match &self.weights {
            DeviceWeights::Processor(_) => None,
            DeviceWeights::Card(_, model) => {
                Some(GpuRunner::new(model.clone())?.step_bytes(tokens) as u64)
            }
        })
    }

    /// A forward with `n_blocks` KV blocks, without an engine. On a card it takes memory for steps as they come.
    ///
    /// # Errors
    /// [`LoadError`] where memory is full.
    pub fn forward(&self, n_blocks: usize) -> Result<Box<dyn Forward + Send>, LoadError> {
        Ok(match &self.weights {
            DeviceWeights::Processor(view) => {
                let View { decoder, head } = view.clone();
                Box::new(Runner::new(decoder, head).with_kv(n_blocks)?)
            }
            DeviceWeights::Card(_, model) => {
                Box::new(GpuRunner::new(model.clone())?.with_kv(n_blocks)?)
            }
        })
    }
}

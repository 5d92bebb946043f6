//! A model folder in memory, and engines and runners over its weights, for measurements and self-checks.
//! All share the weights; each has its own KV blocks.

use std::path::Path;
use std::time::Instant;

use clap::ValueEnum as _;
use engine::{Device, DeviceModel, DeviceName, Engine, EngineConfig, Folder, LoadError};
use models::BLOCK;
use models::weights::{Compute, Storage};
use models::{Forward, LoadOptions};

use scoring::error::RunError;

/// [`Storage`] on the command line.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum StorageArg {
    /// As stored in the files
    AsStored,
    /// 32-bit floats
    F32,
    /// IEEE half precision
    F16,
    /// bfloat16
    Bf16,
    /// As stored, and `--compute int8`
    Int8,
}

/// [`Compute`] on the command line.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum ComputeArg {
    /// bf16 for weights stored in bf16 where the CPU has bf16 dot products, else f32
    Auto,
    /// 32-bit floats
    F32,
    /// bf16 with sums in f32
    Bf16,
    /// 8-bit integers
    Int8,
}

impl StorageArg {
    /// The name on the command line.
    pub(crate) fn name(self) -> String {
        let value = self.to_possible_value().expect("no value is hidden");
        value.get_name().to_owned()
    }
}

/// The options that both arguments give.
pub(crate) fn load_options(storage: StorageArg, compute: Option<ComputeArg>) -> LoadOptions {
    let (storage, default) = match storage {
        StorageArg::AsStored => (Storage::AsStored, None),
        StorageArg::F32 => (Storage::F32, None),
        StorageArg::F16 => (Storage::F16, None),
        StorageArg::Bf16 => (Storage::Bf16, None),
        StorageArg::Int8 => (Storage::AsStored, Some(Compute::Int8)),
    };
    let given = compute.map(|compute| match compute {
        ComputeArg::Auto => Compute::Auto,
        ComputeArg::F32 => Compute::F32,
        ComputeArg::Bf16 => Compute::Bf16,
        ComputeArg::Int8 => Compute::Int8,
    });
    LoadOptions { storage, compute: given.or(default) }
}

/// Opens the device of a measurement. Kernels of a card are kept where a server keeps them.
pub(crate) fn open(device: DeviceName) -> Result<Device, RunError> {
    let opened = device.open(serve::config::user_cache());
    opened.map_err(|error| RunError::Failed(error.to_string()))
}

/// A forward on a device that was chosen when the program ran.
pub type AnyForward = Box<dyn Forward + Send>;

/// Capacities of an engine.
#[derive(Clone, Copy, Debug)]
pub struct EngineSizes {
    /// Tokens that the KV memory holds.
    pub kv_tokens: usize,
    /// Tokens in one step.
    pub batch_tokens: usize,
    /// Sequences that run at once.
    pub max_sequences: usize,
    /// Input tokens of all queued and running requests.
    pub queue_tokens: usize,
}

/// A model folder in the memory of a device.
#[derive(Debug)]
pub struct LoadedModel {
    /// Configuration, weights and head.
    pub model: DeviceModel,
    /// Seconds of reading it.
    pub seconds: f64,
}

impl LoadedModel {
    /// Reads a folder, without its tokenizer.
    pub fn read(
        dir: &Path,
        options: &LoadOptions,
        device: &Device,
    ) -> Result<LoadedModel, LoadError> {
        let begin = Instant::now();
        let model = DeviceModel::load(&Folder::directory(dir), options, device)?;
        Ok(LoadedModel { model, seconds: begin.elapsed().as_secs_f64() })
    }

    /// Whether it has a vocabulary head.
    pub fn has_vocabulary(&self) -> bool {
        self.model.has_vocabulary()
    }

    /// A runner over the weights with room for `kv_tokens` tokens.
    pub fn runner(&self, kv_tokens: usize) -> Result<AnyForward, RunError> {
        let forward = self.model.forward(kv_tokens.div_ceil(BLOCK));
        forward.map_err(|error| RunError::Failed(error.to_string()))
    }

    /// An engine over a forward of this model: a runner, or one within another.
    pub fn engine(
        &self,
        forward: impl Forward + Send + 'static,
        sizes: EngineSizes,
    ) -> Result<Engine, RunError> {
        let config = EngineConfig {
            n_blocks: sizes.kv_tokens.div_ceil(BLOCK),
            batch_tokens: sizes.batch_tokens,
            max_sequences: sizes.max_sequences,
            queue_tokens: sizes.queue_tokens,
            max_positions: self.model.config.max_positions,
            vocab_size: self.model.config.vocab_size,
            has_vocabulary: self.has_vocabulary(),
            head_labels: self.model.head_labels,
        };
        Engine::start(forward, config).map_err(|error| RunError::Failed(error.to_string()))
    }
}

//! Weights from the files of a folder.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use candle_core::{Device, Tensor};
use half::{bf16, f16};

use super::checkpoint::Checkpoint;
use super::float_type::FloatType;
use super::names::{Location, Names};
use super::numerics::{Numerics, Storage};
use super::pack;
use super::param::{LayerPart, Param, Projection};
use super::weight_source::WeightSource;
use crate::config::ModelConfig;
use crate::error::Result;
use crate::packed::{Matrix, Weight};

/// Bytes of weights in memory, by storage type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Bytes of 32-bit floats, including norms and biases.
    pub f32_bytes: u64,
    /// Bytes of IEEE half precision.
    pub f16_bytes: u64,
    /// Bytes of bfloat16.
    pub bf16_bytes: u64,
    /// Bytes of 8-bit integers, with their scales and sums.
    pub int8_bytes: u64,
}

impl Memory {
    /// The sum over all types.
    pub fn total_bytes(&self) -> u64 {
        self.f32_bytes + self.f16_bytes + self.bf16_bytes + self.int8_bytes
    }
}

/// A [`WeightSource`] that packs weights straight from a checkpoint.
#[derive(Debug)]
pub struct FileWeights {
    checkpoint: Arc<Checkpoint>,
    config: Arc<ModelConfig>,
    names: Names,
    storage: Storage,
    numerics: Numerics,
    taken: BTreeSet<String>,
    memory: Memory,
    parameters: u64,
}

/// Totals of a finished load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// Bytes of weights in memory.
    pub memory: Memory,
    /// Numbers that were loaded; a tied vocabulary counts once.
    pub parameters: u64,
}

const VOCAB: &str = "lm_head.weight";

impl FileWeights {
    /// Weights of a model whose head is the one found in the files ([`super::names::detect_head`]).
    pub fn new(
        checkpoint: &Arc<Checkpoint>,
        config: &Arc<ModelConfig>,
        storage: Storage,
    ) -> FileWeights {
        FileWeights {
            names: Names::new(config, |name| checkpoint.has(name)),
            config: config.clone(),
            checkpoint: checkpoint.clone(),
            storage,
            numerics: Numerics::F32,
            taken: BTreeSet::new(),
            memory: Memory::default(),
            parameters: 0,
        }
    }

    /// The same with projections for this arithmetic: bf16 pairs for [`Numerics::Bf16`], 8-bit
    /// integers with one scale per output channel for [`Numerics::Int8`], neither of which can be
    /// trained. Routers, embeddings and heads stay in their storage.
    #[must_use]
    pub fn with_numerics(self, numerics: Numerics) -> FileWeights {
        FileWeights { numerics, ..self }
    }

    /// Ends the load and returns its totals.
    ///
    /// # Errors
    /// [`crate::ModelError::Tensor`] names a tensor of the files that was not used, unless it is
    /// known to be harmless: rotary frequencies, which are computed; a vocabulary head equal to the
    /// embedding that it is tied to; and the vocabulary head from which a model with a score head
    /// was made.
    pub fn finish(self) -> Result<Loaded> {
        for name in self.checkpoint.names() {
            if !self.taken.contains(name) {
                check_leftover(&self.checkpoint, &self.config, &self.names, name)?;
            }
        }
        Ok(Loaded { memory: self.memory, parameters: self.parameters })
    }

    /// The place of a parameter: the tensor's name, the parameter's rows and the tensor's rows.
    /// Marks the tensor as used and counts the `n · k` numbers.
    fn take(&mut self, place: Param, n: usize, k: usize) -> (String, Range<usize>, usize) {
        let Location { name, part } = self.names.locate(place);
        self.taken.insert(name.clone());
        self.parameters += n as u64 * k as u64;
        match part {
            None => (name, 0..n, n),
            Some(part) => (name, part.rows, part.of),
        }
    }
}

/// Checks that an unused tensor is known to be harmless.
pub(crate) fn check_leftover(
    checkpoint: &Checkpoint,
    config: &ModelConfig,
    names: &Names,
    name: &str,
) -> Result<()> {
    let embedding = names.locate(Param::Embedding).name;
    let what = match name {
        _ if name.ends_with("rotary_emb.inv_freq") => return Ok(()),
        VOCAB if !config.head.has_vocabulary() => return Ok(()),
        VOCAB if checkpoint.equal(name, &embedding)? => return Ok(()),
        VOCAB => "differs from the embedding, which config.json ties it to",
        _ => "belongs to no part of this model",
    };
    Err(checkpoint.tensor_error(name, what))
}

impl WeightSource for FileWeights {
    fn weight(&mut self, place: Param, n: usize, k: usize) -> Result<Weight> {
        // A router's choices are discrete, so it keeps full precision; it is small.
        let router = matches!(place, Param::Layer(_, LayerPart::Weight(Projection::Router)));
        let numerics = if router { Numerics::F32 } else { self.numerics };
        match numerics {
            Numerics::F32 | Numerics::CudaBf16 { .. } => {
                Ok(Weight::Panels(self.matrix(place, n, k)?))
            }
            Numerics::Bf16 => {
                let (name, rows, of) = self.take(place, n, k);
                let matrix = pack::bf16_pairs(self.checkpoint.tensor(&name, &[of, k])?, rows, k)?;
                self.memory.bf16_bytes += matrix.bytes() as u64;
                Ok(Weight::Bf16(Arc::new(matrix)))
            }
            Numerics::Int8 => {
                let (name, rows, of) = self.take(place, n, k);
                let matrix = pack::int8(self.checkpoint.tensor(&name, &[of, k])?, rows, k)?;
                self.memory.int8_bytes += matrix.bytes() as u64;
                Ok(Weight::Int8(Arc::new(matrix)))
            }
        }
    }

    fn matrix(&mut self, place: Param, n: usize, k: usize) -> Result<Matrix> {
        let (name, rows, of) = self.take(place, n, k);
        let tensor = self.checkpoint.tensor(&name, &[of, k])?;
        let float = match self.storage {
            Storage::AsStored => tensor.dtype,
            Storage::F32 => FloatType::F32,
            Storage::F16 => FloatType::F16,
            Storage::Bf16 => FloatType::Bf16,
        };
        let (matrix, bytes) = match float {
            FloatType::F32 => (pack::matrix::<f32>(tensor, rows, k)?, &mut self.memory.f32_bytes),
            FloatType::F16 => (pack::matrix::<f16>(tensor, rows, k)?, &mut self.memory.f16_bytes),
            FloatType::Bf16 => {
                (pack::matrix::<bf16>(tensor, rows, k)?, &mut self.memory.bf16_bytes)
            }
        };
        *bytes += (matrix.tensor().elem_count() * float.byte_len()) as u64;
        Ok(matrix)
    }

    fn rows(&mut self, place: Param, n: usize, k: usize) -> Result<Vec<bf16>> {
        let (name, rows, of) = self.take(place, n, k);
        let tensor = self.checkpoint.tensor(&name, &[of, k])?;
        self.memory.bf16_bytes += (n * k * size_of::<bf16>()) as u64;
        pack::to_bf16(tensor, rows.start * k..rows.end * k)
    }

    fn vector(&mut self, place: Param, n: usize) -> Result<Tensor> {
        let (name, rows, of) = self.take(place, n, 1);
        let tensor = self.checkpoint.tensor(&name, &[of])?;
        let numbers = pack::to_f32(tensor, rows)?;
        self.memory.f32_bytes += (n * size_of::<f32>()) as u64;
        Ok(Tensor::from_vec(numbers, n, &Device::Cpu)?)
    }
}

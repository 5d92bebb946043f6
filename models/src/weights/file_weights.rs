//! Weights from the files of a folder.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use candle_core::{Device, Tensor};
use half::{bf16, f16};

use super::checkpoint::Checkpoint;
use super::float_type::FloatType;
use super::names::{Location, Names};
use super::pack;
use super::param::{LayerPart, Param, Projection};
use super::weight_source::WeightSource;
use crate::config::ModelConfig;
use crate::error::Result;
use crate::packed::{Matrix, Weight};

/// How matrices are kept in memory. Norms and biases are f32 always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Storage {
    /// As the file has them.
    #[default]
    AsStored,
    /// 32-bit floats.
    F32,
    /// IEEE half precision; a weight beyond its range is an error.
    F16,
    /// bfloat16.
    Bf16,
    /// Projections as 8-bit integers with a scale an output channel, for models that are only
    /// served; routers, embeddings and heads as the file has them.
    Int8,
}

/// Bytes of weights in memory, by how they are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// As 32-bit floats, norms and biases among them.
    pub f32_bytes: u64,
    /// As IEEE half precision.
    pub f16_bytes: u64,
    /// As bfloat16.
    pub bf16_bytes: u64,
    /// As 8-bit integers, with their scales and sums.
    pub int8_bytes: u64,
}

impl Memory {
    /// All of them.
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
    taken: BTreeSet<String>,
    memory: Memory,
    parameters: u64,
}

/// What was loaded, when all of it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// Bytes of weights in memory.
    pub memory: Memory,
    /// Numbers that were loaded; a tied vocabulary counts once.
    pub parameters: u64,
}

const VOCAB: &str = "lm_head.weight";

impl FileWeights {
    /// Weights of a model whose head is the one that the files bear out
    /// ([`super::names::detect_head`]).
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
            taken: BTreeSet::new(),
            memory: Memory::default(),
            parameters: 0,
        }
    }

    /// What was loaded.
    ///
    /// # Errors
    /// [`crate::ModelError::Tensor`] names a tensor of the files that nothing took, unless it is
    /// known to be harmless: rotary frequencies, which are computed; a vocabulary head that equals
    /// the embedding it is tied to; and one that a model with a score head was made from.
    pub fn finish(self) -> Result<Loaded> {
        for name in self.checkpoint.names() {
            if !self.taken.contains(name) {
                check_leftover(&self.checkpoint, &self.config, &self.names, name)?;
            }
        }
        Ok(Loaded { memory: self.memory, parameters: self.parameters })
    }

    /// Where a place lies: the tensor's name, the rows of the place and the rows of the tensor.
    /// Marks the tensor as taken and counts the place's `n · k` numbers.
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

/// Whether a tensor that nothing took is known to be harmless.
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
        // A router's choices are all or nothing, so it keeps its digits; it is small.
        let router = matches!(place, Param::Layer(_, LayerPart::Weight(Projection::Router)));
        if router || self.storage != Storage::Int8 {
            return Ok(Weight::Panels(self.matrix(place, n, k)?));
        }
        let (name, rows, of) = self.take(place, n, k);
        let matrix = pack::int8(self.checkpoint.tensor(&name, &[of, k])?, rows, k)?;
        self.memory.int8_bytes += matrix.bytes() as u64;
        Ok(Weight::Int8(Arc::new(matrix)))
    }

    fn matrix(&mut self, place: Param, n: usize, k: usize) -> Result<Matrix> {
        let (name, rows, of) = self.take(place, n, k);
        let tensor = self.checkpoint.tensor(&name, &[of, k])?;
        let float = match self.storage {
            Storage::AsStored | Storage::Int8 => tensor.dtype,
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

    fn vector(&mut self, place: Param, n: usize) -> Result<Tensor> {
        let (name, rows, of) = self.take(place, n, 1);
        let tensor = self.checkpoint.tensor(&name, &[of])?;
        let numbers = pack::to_f32(tensor, rows)?;
        self.memory.f32_bytes += (n * size_of::<f32>()) as u64;
        Ok(Tensor::from_vec(numbers, n, &Device::Cpu)?)
    }
}

//! The tensors that a model needs. The decoder is built from a source that finds each tensor in the
//! headers and records it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use candle_core::{DType, Device, Tensor};
use serde::Serialize;

use crate::config::ModelConfig;
use crate::error::Result;
use crate::kernels::panels::PANEL;
use crate::model::assemble;
use crate::packed::{Matrix, Weight};
use crate::weights::FloatType;
use crate::weights::file_weights::check_leftover;
use crate::weights::{Checkpoint, Names, Param, WeightSource};

/// Numbers in a model.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ParameterFacts {
    /// All parameters; a tied vocabulary head counts once.
    pub total: u64,
    /// Parameters of the token embedding.
    pub embedding: u64,
    /// Parameters of a separate vocabulary head.
    pub vocabulary: u64,
    /// Parameters of the head beside the vocabulary.
    pub head: u64,
    /// Parameters of each layer, in order.
    pub layers: Vec<u64>,
}

/// Bytes of weights in memory, by storage type. Panels are padded, and norms and biases are always
/// f32.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct MemoryFacts {
    /// Stored as in the files.
    pub as_stored: u64,
    /// Stored as 32-bit floats.
    pub f32: u64,
    /// Stored as IEEE half precision or bfloat16.
    pub f16: u64,
    /// Linear layers as 8-bit integers with one scale per output, embeddings and heads as in the
    /// files.
    pub int8: u64,
}

/// The result of a survey.
#[derive(Debug)]
pub(super) struct Survey {
    pub(super) parameters: ParameterFacts,
    pub(super) memory: MemoryFacts,
    /// Tensors that are missing, misshapen, of a wrong type, or left over.
    pub(super) problems: Vec<String>,
}

struct Surveyor<'a> {
    checkpoint: &'a Checkpoint,
    names: Names,
    taken: BTreeSet<String>,
    layers: BTreeMap<usize, u64>,
    found: Survey,
}

/// Compares a configuration, whose head is the one in the files, with the headers.
pub(super) fn survey(config: &Arc<ModelConfig>, checkpoint: &Checkpoint) -> Result<Survey> {
    let mut surveyor = Surveyor {
        checkpoint,
        names: Names::new(config, |name| checkpoint.has(name)),
        taken: BTreeSet::new(),
        layers: BTreeMap::new(),
        found: Survey {
            parameters: ParameterFacts::default(),
            memory: MemoryFacts::default(),
            problems: Vec::new(),
        },
    };
    assemble(config, &mut surveyor)?;
    let Surveyor { names, taken, layers, mut found, .. } = surveyor;
    for name in checkpoint.names().filter(|name| !taken.contains(*name)) {
        let checked = check_leftover(checkpoint, config, &names, name);
        found.problems.extend(checked.err().map(|error| error.to_string()));
    }
    found.parameters.layers = layers.into_values().collect();
    Ok(found)
}

impl Surveyor<'_> {
    /// Looks a tensor up and counts its numbers; returns its storage type, f32 if it is missing.
    fn look(&mut self, place: Param, n: usize, k: Option<usize>) -> FloatType {
        let location = self.names.locate(place);
        let rows = location.part.map_or(n, |part| part.of);
        let shape: Vec<usize> = [rows].into_iter().chain(k).collect();
        self.count(place, n as u64 * k.unwrap_or(1) as u64);
        let looked = self.checkpoint.tensor(&location.name, &shape);
        let first = self.taken.insert(location.name.clone());
        match looked {
            Ok(tensor) => tensor.dtype,
            Err(error) => {
                // A tensor of several places is reported once.
                if first {
                    self.found.problems.push(error.to_string());
                }
                FloatType::F32
            }
        }
    }

    fn count(&mut self, place: Param, numbers: u64) {
        let parameters = &mut self.found.parameters;
        parameters.total += numbers;
        match place {
            Param::Embedding => parameters.embedding += numbers,
            Param::Vocab => parameters.vocabulary += numbers,
            Param::Head(_) => parameters.head += numbers,
            Param::Layer(layer, _) => *self.layers.entry(layer).or_default() += numbers,
            Param::FinalNorm => {}
        }
    }

    fn matrix(&mut self, place: Param, (n, k): (usize, usize), quantised: bool) -> Result<Matrix> {
        let dtype = self.look(place, n, Some(k));
        let outputs = n.next_multiple_of(PANEL) as u64;
        let numbers = outputs * k as u64;
        let stored = numbers * dtype.byte_len() as u64;
        let memory = &mut self.found.memory;
        memory.as_stored += stored;
        memory.f32 += 4 * numbers;
        memory.f16 += 2 * numbers;
        memory.int8 += if quantised { numbers + 4 * outputs } else { stored };
        // One number broadcast to the shape: config.json's sizes allocate nothing.
        let shape = (n.div_ceil(PANEL), k, PANEL);
        let panels = Tensor::zeros(1, DType::F32, &Device::Cpu)?.broadcast_as(shape)?;
        Matrix::from_panels(panels, n, k)
    }
}

impl WeightSource for Surveyor<'_> {
    fn weight(&mut self, place: Param, n: usize, k: usize) -> Result<Weight> {
        Ok(Weight::Panels(self.matrix(place, (n, k), true)?))
    }

    fn matrix(&mut self, place: Param, n: usize, k: usize) -> Result<Matrix> {
        self.matrix(place, (n, k), false)
    }

    fn vector(&mut self, place: Param, n: usize) -> Result<Tensor> {
        self.look(place, n, None);
        let bytes = 4 * n as u64;
        let memory = &mut self.found.memory;
        for size in [&mut memory.as_stored, &mut memory.f32, &mut memory.f16, &mut memory.int8] {
            *size += bytes;
        }
        Ok(Tensor::zeros(1, DType::F32, &Device::Cpu)?.broadcast_as(n)?)
    }
}

//! The tensors of a model.
//!
//! The decoder is loaded from a source that only records requests, so the list cannot differ from
//! what loading needs; names come from the table that loading uses.

use std::sync::Arc;

use candle_core::{DType, Device, Tensor};

use super::safetensors::NamedShape;
use crate::config::ModelConfig;
use crate::error::Result;
use crate::kernels::panels::PANEL;
use crate::model::assemble;
use crate::packed::{Matrix, Weight};
use crate::weights::names::Names;
use crate::weights::{Param, WeightSource};

/// A tensor of the files and the places whose rows it holds, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorPlan {
    /// Name and shape in the file.
    pub entry: NamedShape,
    /// The parameters whose rows it holds, in order.
    pub parts: Vec<Request>,
}

/// A request of the decoder: a matrix `[n, k]`, or a vector `[n]` with `k` 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The parameter.
    pub place: Param,
    /// Rows, or numbers of a vector.
    pub n: usize,
    /// Columns; 1 for a vector.
    pub k: usize,
    is_vector: bool,
}

/// Lists the tensors of a model, in the order of loading.
///
/// # Errors
/// An error of the tensor library.
pub fn plan(config: &Arc<ModelConfig>) -> Result<Vec<TensorPlan>> {
    let mut recorder = Recorder::default();
    assemble(config, &mut recorder)?;
    let names = Names::new(config, |_| false);
    let mut tensors: Vec<(TensorPlan, Vec<usize>)> = Vec::new();
    for request in recorder.requests {
        let location = names.locate(request.place);
        let start = location.part.as_ref().map_or(0, |part| part.rows.start);
        if let Some((plan, starts)) =
            tensors.iter_mut().find(|(plan, _)| plan.entry.name == location.name)
        {
            let at = starts.partition_point(|other| *other < start);
            starts.insert(at, start);
            plan.parts.insert(at, request);
            continue;
        }
        let n = location.part.map_or(request.n, |part| part.of);
        let shape = if request.is_vector { vec![n] } else { vec![n, request.k] };
        let entry = NamedShape { name: location.name, shape };
        let plan = TensorPlan { entry, parts: vec![request] };
        tensors.push((plan, vec![start]));
    }
    Ok(tensors.into_iter().map(|(plan, _)| plan).collect())
}

/// A source that records requests and returns zeros that take no memory.
#[derive(Debug, Default)]
struct Recorder {
    requests: Vec<Request>,
}

impl Recorder {
    fn zeros(&mut self, request: Request, shape: &[usize]) -> Result<Tensor> {
        self.requests.push(request);
        Ok(Tensor::zeros(1, DType::F32, &Device::Cpu)?.broadcast_as(shape)?)
    }
}

impl WeightSource for Recorder {
    fn weight(&mut self, place: Param, n: usize, k: usize) -> Result<Weight> {
        Ok(Weight::Panels(self.matrix(place, n, k)?))
    }

    fn matrix(&mut self, place: Param, n: usize, k: usize) -> Result<Matrix> {
        let request = Request { place, n, k, is_vector: false };
        let panels = self.zeros(request, &[n.div_ceil(PANEL), k, PANEL])?;
        Matrix::from_panels(panels, n, k)
    }

    fn vector(&mut self, place: Param, n: usize) -> Result<Tensor> {
        let request = Request { place, n, k: 1, is_vector: true };
        self.zeros(request, &[n])
    }
}

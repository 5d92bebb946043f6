//! Trainable weights: every tensor of another source as a variable.

use std::collections::BTreeMap;

use candle_core::{DType, Tensor, Var};

use super::names::Names;
use super::param::Param;
use super::weight_source::WeightSource;
use crate::error::Result;
use crate::packed::{Matrix, Weight};

/// A [`WeightSource`] that turns every matrix and vector of another source into an f32 variable, so
/// that a forward over the decoder records gradients.
///
/// A matrix's variable holds its panels ([`crate::packed`]): an optimiser is elementwise and
/// updates them directly, and the padding of the last panel has zero gradient.
#[derive(Debug)]
pub struct TrainableWeights<S> {
    source: S,
    names: Names,
    variables: BTreeMap<String, Var>,
}

impl<S: WeightSource> TrainableWeights<S> {
    /// Variables over a source, named by [`Names::unfused`].
    pub fn new(source: S, names: Names) -> TrainableWeights<S> {
        TrainableWeights { source, names, variables: BTreeMap::new() }
    }

    /// The source and the variables by name, in the order of the names.
    pub fn into_parts(self) -> (S, BTreeMap<String, Var>) {
        (self.source, self.variables)
    }

    fn track(&mut self, place: Param, variable: Var) {
        self.variables.insert(self.names.unfused(place), variable);
    }
}

impl<S: WeightSource> WeightSource for TrainableWeights<S> {
    fn weight(&mut self, place: Param, n: usize, k: usize) -> Result<Weight> {
        let weight = self.source.weight(place, n, k)?;
        let (matrix, variable) = weight.trainable()?.to_dtype(DType::F32)?.to_var()?;
        self.track(place, variable);
        Ok(Weight::Panels(matrix))
    }

    fn matrix(&mut self, place: Param, n: usize, k: usize) -> Result<Matrix> {
        let matrix = self.source.matrix(place, n, k)?;
        let (matrix, variable) = matrix.to_dtype(DType::F32)?.to_var()?;
        self.track(place, variable);
        Ok(matrix)
    }

    fn vector(&mut self, place: Param, n: usize) -> Result<Tensor> {
        let variable = Var::from_tensor(&self.source.vector(place, n)?.detach())?;
        let vector = variable.as_tensor().clone();
        self.track(place, variable);
        Ok(vector)
    }
}

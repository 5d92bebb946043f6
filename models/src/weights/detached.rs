//! Weights that follow variables: the same storage, and no gradient.

use std::collections::BTreeMap;

use candle_core::{Tensor, Var};

use super::names::Names;
use super::param::Param;
use super::weight_source::WeightSource;
use crate::error::{ModelError, Result};
use crate::packed::{Matrix, Weight};

/// A [`WeightSource`] over variables of [`super::TrainableWeights`]. A decoder built from it shares
/// their storage: nothing is copied, a forward records no graph, and the next forward uses the
/// numbers that were written in place (`Var::set`, or an optimiser's step).
///
/// No forward may run while a variable is written: candle locks each tensor and not all of them, so
/// that a forward could use a part of a step.
#[derive(Clone, Copy, Debug)]
pub struct DetachedWeights<'a> {
    names: &'a Names,
    variables: &'a BTreeMap<String, Var>,
}

impl<'a> DetachedWeights<'a> {
    /// Weights over variables that are named by [`Names::unfused`].
    pub fn new(names: &'a Names, variables: &'a BTreeMap<String, Var>) -> DetachedWeights<'a> {
        DetachedWeights { names, variables }
    }

    fn tensor(&self, place: Param) -> Result<Tensor> {
        let name = self.names.unfused(place);
        match self.variables.get(&name) {
            Some(variable) => Ok(variable.as_detached_tensor()),
            None => Err(ModelError::Unavailable {
                requested: format!("variable `{name}`"),
                available: "those that the model was built with".into(),
            }),
        }
    }
}

impl WeightSource for DetachedWeights<'_> {
    fn weight(&mut self, place: Param, n: usize, k: usize) -> Result<Weight> {
        Ok(Weight::Panels(self.matrix(place, n, k)?))
    }

    fn matrix(&mut self, place: Param, n: usize, k: usize) -> Result<Matrix> {
        Matrix::from_panels(self.tensor(place)?, n, k)
    }

    fn vector(&mut self, place: Param, n: usize) -> Result<Tensor> {
        let vector = self.tensor(place)?;
        if vector.dims() != [n] {
            return Err(ModelError::Batch(format!(
                "the vector `{}` has shape {:?}, it should be [{n}]",
                self.names.unfused(place),
                vector.dims()
            )));
        }
        Ok(vector)
    }
}

//! Backward with activation checkpointing (Chen et al., 2016, arXiv 1604.06174): the forward keeps
//! only the input of each layer; the backward recomputes each layer with its graph and drops the
//! graph before the next one.
//!
//! Memory for activations is one `[T, d]` per layer and the graph of one layer; the cost is one
//! more forward. The gradients are those of the complete graph up to rounding.

use candle_core::{Tensor, Var};
use models::Output;
use models::decoder::Walk;

use super::batch::Micro;
use super::gradients::Gradients;
use super::model::Policy;
use super::pass::{Grad, distinct};
use crate::error::{Result, TrainError};

impl Policy {
    pub(super) fn checkpointed(
        &self,
        micro: &Micro,
        gradients: &mut Gradients,
        output_grads: &mut impl FnMut(Vec<Output>) -> Result<Vec<Grad>>,
    ) -> Result<()> {
        let (plain, tracked) = (self.segments(micro, false), self.segments(micro, true));
        let forward = Walk::new(&self.view(false).decoder, &micro.batch, &plain)?;
        let back = Walk::new(&self.view(true).decoder, &micro.batch, &tracked)?;
        let mut inputs = vec![forward.embed()?];
        for layer in 0..forward.layers() {
            let next = forward.layer(layer, &inputs[layer])?;
            inputs.push(next);
        }
        let last = Var::from_tensor(&inputs.pop().expect("the embeddings at least"))?;
        let mut grad = {
            let hidden = back.finish(last.as_tensor())?;
            let rows = distinct(micro);
            let index = Tensor::new(rows.as_slice(), hidden.device())?;
            let reads = self.reads(micro, &rows, &hidden.index_select(&index, 0)?, true)?;
            let vjp_scalar = reads.vjp_scalar(&output_grads(reads.outputs()?)?)?;
            self.backward(&vjp_scalar, Some(&last), gradients)?
        };
        for (layer, input) in inputs.iter().enumerate().rev() {
            let x = Var::from_tensor(input)?;
            let y = back.layer(layer, x.as_tensor())?;
            let vjp_scalar = (y * &grad)?.sum_all()?;
            grad = self.backward(&vjp_scalar, Some(&x), gradients)?;
        }
        let embedded = back.embed()?;
        if embedded.track_op() {
            self.backward(&(embedded * &grad)?.sum_all()?, None, gradients)?;
        }
        Ok(())
    }

    /// Adds the parameters' gradients and returns the input's; without an input the result is
    /// unused.
    fn backward(
        &self,
        scalar: &Tensor,
        input: Option<&Var>,
        gradients: &mut Gradients,
    ) -> Result<Tensor> {
        let mut store = scalar.backward()?;
        gradients.take(&self.parameters, &mut store)?;
        match input {
            None => Ok(scalar.detach()),
            Some(input) => store.remove(input.as_tensor()).ok_or_else(|| {
                TrainError::Invalid("no gradient came back to a layer's input".to_owned())
            }),
        }
    }
}

//! The gated MLP, and experts behind a router.

use candle_core::Tensor;

use super::ForwardCtx;
use super::layer::Linear;
use crate::config::{Activation, MlpConfig, ModelConfig};
use crate::error::{ModelError, Result};
use crate::ops;
use crate::weights::{Projection, WeightSource};

#[derive(Clone, Debug)]
pub(super) struct Mlp {
    gate: Linear,
    up: Linear,
    down: Linear,
    activation: Activation,
}

impl Mlp {
    pub(super) fn load(
        config: &ModelConfig,
        index: usize,
        source: &mut impl WeightSource,
    ) -> Result<Mlp> {
        let MlpConfig::Dense {
            intermediate_size: inner,
        } = config.layers[index].mlp
        else {
            return Err(ModelError::Batch("experts".into()));
        };
        let (hidden, bias) = (config.hidden_size, config.biases.mlp);
        Ok(Mlp {
            gate: Linear::load(source, (index, Projection::Gate), (inner, hidden), bias)?,
            up: Linear::load(source, (index, Projection::Up), (inner, hidden), bias)?,
            down: Linear::load(source, (index, Projection::Down), (hidden, inner), bias)?,
            activation: config.activation,
        })
    }

    pub(super) fn forward(&self, ctx: &ForwardCtx<'_>, x: &Tensor) -> Result<Tensor> {
        let gated = ops::gated(
            &self.gate.forward(ctx, x)?,
            &self.up.forward(ctx, x)?,
            self.activation,
        )?;
        self.down.forward(ctx, &gated)
    }
}

//! What follows the attention: a gated MLP, or experts behind a router.

use candle_core::Tensor;

use super::experts::Experts;
use super::linear::Linear;
use crate::adapter::Segment;
use crate::config::{Activation, MlpConfig, ModelConfig};
use crate::error::Result;
use crate::ops;
use crate::weights::{Projection, WeightSource};

#[derive(Clone, Debug)]
pub(super) enum Mlp {
    Dense(GatedMlp),
    Experts(Experts),
}

impl Mlp {
    pub(super) fn load(
        config: &ModelConfig,
        index: usize,
        source: &mut impl WeightSource,
    ) -> Result<Mlp> {
        match config.layers[index].mlp {
            MlpConfig::Dense { intermediate_size } => {
                let names = [Projection::Gate, Projection::Up, Projection::Down];
                GatedMlp::load(config, (index, names), intermediate_size, source).map(Mlp::Dense)
            }
            MlpConfig::Experts { .. } => Experts::load(config, index, source).map(Mlp::Experts),
        }
    }

    /// `[T, hidden] -> [T, hidden]`.
    pub(super) fn forward(&self, x: &Tensor, segments: &[Segment]) -> Result<Tensor> {
        match self {
            Mlp::Dense(mlp) => mlp.forward(x, segments),
            Mlp::Experts(experts) => experts.forward(x, segments),
        }
    }
}

/// `down(act(gate(x)) · up(x))`.
#[derive(Clone, Debug)]
pub(super) struct GatedMlp {
    gate: Linear,
    up: Linear,
    down: Linear,
    activation: Activation,
}

impl GatedMlp {
    /// `at`: the layer, and the names of gate, up and down in it.
    pub(super) fn load(
        config: &ModelConfig,
        at: (usize, [Projection; 3]),
        inner: usize,
        source: &mut impl WeightSource,
    ) -> Result<GatedMlp> {
        let (index, [gate, up, down]) = at;
        let (hidden, bias) = (config.hidden_size, config.biases.mlp);
        Ok(GatedMlp {
            gate: Linear::load(source, (index, gate), (inner, hidden), bias)?,
            up: Linear::load(source, (index, up), (inner, hidden), bias)?,
            down: Linear::load(source, (index, down), (hidden, inner), bias)?,
            activation: config.activation,
        })
    }

    pub(super) fn forward(&self, x: &Tensor, segments: &[Segment]) -> Result<Tensor> {
        let gate = self.gate.forward(x, segments)?;
        let up = self.up.forward(x, segments)?;
        self.down.forward(&ops::gated(&gate, &up, self.activation)?, segments)
    }
}

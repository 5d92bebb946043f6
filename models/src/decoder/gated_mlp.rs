//! The gated MLP of a layer or of one expert.

use candle_core::Tensor;

use super::linear::Linear;
use crate::adapter::Segment;
use crate::config::{Activation, ModelConfig};
use crate::error::Result;
use crate::ops;
use crate::weights::{Projection, WeightSource};

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

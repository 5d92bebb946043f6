//! The MLP of a layer: a gated MLP, or experts behind a router.

use candle_core::Tensor;

use super::experts::Experts;
use super::gated_mlp::GatedMlp;
use crate::adapter::Segment;
use crate::config::{MlpConfig, ModelConfig};
use crate::error::Result;
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

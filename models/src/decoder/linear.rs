//! A linear layer with the adapters' updates.

use candle_core::Tensor;

use crate::adapter::{Segment, factors_at, rounded_factors_at};
use crate::error::Result;
use crate::kernels::attention::KvType;
use crate::ops;
use crate::packed::Weight;
use crate::weights::Site;
use crate::weights::{LayerPart, Param, Projection, WeightSource};

#[derive(Clone, Debug)]
pub(super) struct Linear {
    weight: Weight,
    bias: Option<Tensor>,
    site: Site,
}

impl Linear {
    /// `at`: layer and projection; `shape`: outputs and inputs.
    pub(super) fn load(
        source: &mut impl WeightSource,
        at: (usize, Projection),
        shape: (usize, usize),
        bias: bool,
    ) -> Result<Linear> {
        let (layer, projection) = at;
        let (n, k) = shape;
        let bias = if bias {
            Some(source.vector(Param::Layer(layer, LayerPart::Bias(projection)), n)?)
        } else {
            None
        };
        Ok(Linear {
            weight: source.weight(Param::Layer(layer, LayerPart::Weight(projection)), n, k)?,
            bias,
            site: Site::Layer(layer, projection),
        })
    }

    /// The type of keys and values beside this weight: bf16 where it is.
    pub(super) fn kv_type(&self) -> KvType {
        match &self.weight {
            Weight::Panels(_) | Weight::Int8(_) => KvType::F32,
            Weight::Bf16(_) => KvType::Bf16,
        }
    }

    /// Whether its product rounds its operands, and so those of adapters.
    pub(super) fn rounds(&self) -> bool {
        match &self.weight {
            Weight::Panels(_) => false,
            Weight::Bf16(_) | Weight::Int8(_) => true,
        }
    }

    /// `[T, k] -> [T, n]`, with the adapters of the segments that `x`'s rows belong to.
    pub(super) fn forward(&self, x: &Tensor, segments: &[Segment]) -> Result<Tensor> {
        let (site, bias) = (self.site, self.bias.as_ref());
        match &self.weight {
            Weight::Panels(matrix) => {
                ops::linear_adapted(x, matrix, bias, &factors_at(segments, site))
            }
            Weight::Bf16(matrix) => {
                ops::linear_served(x, matrix, bias, rounded_factors_at(segments, site)?)
            }
            Weight::Int8(matrix) => {
                ops::linear_served(x, matrix, bias, rounded_factors_at(segments, site)?)
            }
        }
    }
}

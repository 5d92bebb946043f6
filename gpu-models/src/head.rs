//! Heads beside the vocabulary, on a card.

use gpu::kernels::{Epilogue, Store, product};
use gpu::{DeviceSlice, Gpu};
use half::bf16;
use models::config::HeadConfig;
use models::head::Head;
use models::{ModelConfig, Result};

use crate::axis::Axis;
use crate::weights::Uploads;

/// One linear layer, or two with a `ReLU` between.
#[derive(Clone, Debug)]
pub(crate) struct GpuHead {
    layers: Vec<HeadLayer>,
}

#[derive(Clone, Debug)]
struct HeadLayer {
    weight: DeviceSlice<bf16>,
    bias: Option<DeviceSlice<f32>>,
    n: usize,
    k: usize,
}

/// [`GpuHead::n_labels`] and [`GpuHead::inner`] of a configuration's head; 0 without one.
pub(crate) fn head_sizes(config: &ModelConfig) -> (usize, usize) {
    match config.head {
        HeadConfig::Vocab => (0, 0),
        HeadConfig::Value => (1, 1),
        HeadConfig::Sequence { n_labels } | HeadConfig::Token { n_labels } => (n_labels, n_labels),
        HeadConfig::Reward { n_labels } | HeadConfig::Process { n_labels } => {
            (n_labels, Axis::whole(config.hidden_size).padded())
        }
    }
}

impl GpuHead {
    /// Uploads a head over hidden states of this axis.
    pub(crate) fn of(uploads: &mut Uploads<'_>, head: &Head, hidden: Axis) -> Result<GpuHead> {
        let n_layers = head.layers().count();
        let mut columns = hidden;
        let mut layers = Vec::with_capacity(n_layers);
        for (i, (weight, bias)) in head.layers().enumerate() {
            let matrix = weight.trainable()?;
            let rows = Axis::whole(matrix.n());
            // The input of the next layer is padded, the outputs are not.
            let n = if i + 1 < n_layers { rows.padded() } else { rows.len() };
            let k = columns.padded();
            let mut numbers = vec![bf16::ZERO; n * k];
            let from = matrix.to_rows()?;
            for (from, to) in from.chunks_exact(columns.len()).zip(numbers.chunks_exact_mut(k)) {
                let from: Vec<bf16> = from.iter().copied().map(bf16::from_f32).collect();
                columns.spread(&from, to);
            }
            let bias = match bias {
                None => None,
                Some(bias) => {
                    let mut numbers = bias.to_vec1::<f32>()?;
                    numbers.resize(n, 0.0);
                    Some(uploads.put(&numbers)?)
                }
            };
            layers.push(HeadLayer { weight: uploads.put(&numbers)?, bias, n, k });
            columns = rows;
        }
        Ok(GpuHead { layers })
    }

    /// Outputs of a row.
    pub(crate) fn n_labels(&self) -> usize {
        self.layers.last().map_or(0, |layer| layer.n)
    }

    /// Numbers of a row between the layers.
    pub(crate) fn inner(&self) -> usize {
        self.layers.first().map_or(0, |layer| layer.n)
    }

    /// `x [rows, hidden]` to `y [rows, n_labels]`; `inner` has room for [`GpuHead::inner`] numbers of each row.
    pub(crate) fn apply(
        &self,
        gpu: &Gpu,
        x: &DeviceSlice<bf16>,
        inner: &DeviceSlice<bf16>,
        y: &DeviceSlice<f32>,
    ) -> gpu::Result<()> {
        let mut x = x.clone();
        for (i, HeadLayer { weight, bias, n, k }) in self.layers.iter().enumerate() {
            let rows = x.len() / k;
            let is_last = i + 1 == self.layers.len();
            let between = inner.part(0..if is_last { 0 } else { rows * n });
            let store = if is_last {
                Store::F32 { y: y.clone(), cap: 0.0 }
            } else {
                Store::Relu(between.clone())
            };
            product(gpu, (&x, weight), *k, None, &Epilogue { bias: bias.clone(), store })?;
            x = between;
        }
        Ok(())
    }
}

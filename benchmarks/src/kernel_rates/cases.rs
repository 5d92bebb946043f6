//! Operands of the measured products, and one measurement of each.

use std::time::Instant;

use candle_core::{Device, Tensor};
use half::{bf16, f16};
use models::Result;
use models::kernels::bf16_dot::matmul_bf16;
use models::kernels::bf16_pairs::Bf16Matrix;
use models::kernels::gemm::{Addends, matmul};
use models::kernels::int8::{Int8Matrix, matmul_int8};
use models::kernels::panels::{PANEL, PanelData, Panels};

use super::{ProductRate, RatePlan, Storage, WeightSource};

/// Weights and activations. All shapes have as many weights, so they share the floats.
pub(super) struct Operands {
    x: Vec<f32>,
    out: Vec<f32>,
    f32s: Vec<f32>,
    f16s: Vec<f16>,
    bf16s: Vec<bf16>,
    /// By shape, as (k, n, matrices).
    pairs: Vec<(usize, usize, Vec<Bf16Matrix>)>,
    /// By shape, as (k, n, matrices).
    int8: Vec<(usize, usize, Vec<Int8Matrix>)>,
    /// By shape, as `[n, k]`.
    peer: Vec<Tensor>,
    size: usize,
}

impl Operands {
    /// Operands of a plan's products.
    pub(super) fn new(plan: RatePlan) -> Result<Self> {
        let [[k, n], [other_k, other_n]] = plan.shapes;
        let size = k * n;
        assert!(
            other_k * other_n == size && [n, other_n].iter().all(|n| n % PANEL == 0),
            "shapes have as many weights, in full panels"
        );
        let most = plan.cases.into_iter().map(|(rows, _)| rows).max().unwrap_or(0);
        let widest = k.max(n).max(other_k).max(other_n);
        let copies = |bytes: usize| (plan.weight_bytes / (size * bytes)).max(1);
        let weights = |bytes: usize| (0..size * copies(bytes)).map(small_number);
        let one: Vec<f32> = (0..size).map(small_number).collect();
        let (mut pairs, mut int8, mut peer) = (Vec::new(), Vec::new(), Vec::new());
        let halves: Vec<bf16> = one.iter().copied().map(bf16::from_f32).collect();
        for [k, n] in plan.shapes {
            let matrix = Bf16Matrix::pack(&halves, n, k)?;
            pairs.push((k, n, vec![matrix; copies(2)]));
            let matrix = Int8Matrix::quantise(&one, n, k)?;
            int8.push((k, n, vec![matrix; copies(1)]));
            peer.push(Tensor::from_slice(&one, (n, k), &Device::Cpu)?);
        }
        Ok(Operands {
            x: (0..most * widest).map(small_number).collect(),
            out: vec![0.0; most * widest],
            f32s: weights(4).collect(),
            f16s: weights(2).map(f16::from_f32).collect(),
            bf16s: weights(2).map(bf16::from_f32).collect(),
            pairs,
            int8,
            peer,
            size,
        })
    }

    /// Measures a product once.
    pub(super) fn run(&mut self, product: &mut ProductRate) -> Result<()> {
        let &mut ProductRate { rows, k, n, storage, source, .. } = product;
        let (x, out) = (&self.x[..rows * k], &mut self.out[..rows * n]);
        let most = match source {
            WeightSource::Resident => 1,
            WeightSource::Streamed => usize::MAX,
        };
        let float = |data| Panels { data, n, k };
        let begin = Instant::now();
        let mut count = 0;
        match storage {
            Storage::F32 => {
                for w in self.f32s.chunks_exact(self.size).take(most) {
                    matmul(x, float(PanelData::F32(w)), Addends::default(), out);
                    count += 1;
                }
            }
            Storage::F16 => {
                for w in self.f16s.chunks_exact(self.size).take(most) {
                    matmul(x, float(PanelData::F16(w)), Addends::default(), out);
                    count += 1;
                }
            }
            Storage::Bf16 => {
                for w in self.bf16s.chunks_exact(self.size).take(most) {
                    matmul(x, float(PanelData::Bf16(w)), Addends::default(), out);
                    count += 1;
                }
            }
            Storage::Bf16Dots => {
                for w in of_shape(&self.pairs, k, n).take(most) {
                    matmul_bf16(x, w, Addends::default(), out);
                    count += 1;
                }
            }
            Storage::Int8 => {
                for w in of_shape(&self.int8, k, n).take(most) {
                    matmul_int8(x, w, Addends::default(), out);
                    count += 1;
                }
            }
            Storage::Peer => return self.peer(product),
        }
        let seconds = begin.elapsed().as_secs_f64();
        product.samples.0.push(seconds / f64::from(count));
        Ok(())
    }

    /// The tensor library's product, with the weight as checkpoints hold it.
    fn peer(&self, product: &mut ProductRate) -> Result<()> {
        let (rows, k) = (product.rows, product.k);
        let x = Tensor::from_slice(&self.x[..rows * k], (rows, k), &Device::Cpu)?;
        for weight in self.peer.iter().filter(|w| w.dims() == [product.n, k]) {
            let begin = Instant::now();
            std::hint::black_box(x.matmul(&weight.t()?)?);
            product.samples.0.push(begin.elapsed().as_secs_f64());
        }
        Ok(())
    }
}

/// The matrices of a shape.
fn of_shape<M>(all: &[(usize, usize, Vec<M>)], k: usize, n: usize) -> impl Iterator<Item = &M> {
    let found = all.iter().find(|(k_of, n_of, _)| (*k_of, *n_of) == (k, n));
    found.into_iter().flat_map(|(_, _, matrices)| matrices)
}

/// Numbers between -0.5 and 0.5 that every storage holds about as well.
fn small_number(i: usize) -> f32 {
    (i % 1009) as f32 / 1009.0 - 0.5
}

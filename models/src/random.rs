//! Seeded random weights: for tests, benchmarks and generated models.
//!
//! A number depends only on the seed, on its place and on its index in the row-major tensor, so
//! that the same model can be made anywhere in any order.

use std::ops::Range;

use base::seeded::split_mix;
use candle_core::{DType, Device, Tensor};
use half::{bf16, f16};
use rayon::prelude::*;

use crate::error::Result;
use crate::packed::{Matrix, Weight};
use crate::weights::{LayerPart, Param, WeightSource};

/// A source of random weights in a storage type (f32, f16 or bf16).
#[derive(Clone, Debug)]
pub struct RandomWeights {
    /// The seed.
    pub seed: u64,
    /// Storage of the matrices.
    pub dtype: DType,
}

impl RandomWeights {
    /// The row-major numbers at a place: uniform, of variance `1 / k` for an input of `k`, so that
    /// activations keep their size; norms lie around 1, biases around 0.
    pub fn numbers(&self, place: Param, n: usize, k: usize) -> Vec<f32> {
        self.numbers_in(place, k, 0..(n * k) as u64)
    }

    /// As [`RandomWeights::numbers`], at these indices alone.
    pub fn numbers_in(&self, place: Param, k: usize, indices: Range<u64>) -> Vec<f32> {
        let (centre, spread) = match place {
            Param::FinalNorm | Param::Layer(_, LayerPart::Norm(_)) => (1.0, 0.1),
            Param::Embedding => (0.0, 1.0),
            Param::Vocab | Param::Head(_) | Param::Layer(..) => {
                (0.0, (3.0 / k.max(1) as f64).sqrt())
            }
        };
        let key = split_mix(self.seed ^ hash(&format!("{place:?}")));
        let count = usize::try_from(indices.end - indices.start).expect("numbers fit into memory");
        let number =
            |i| to_f32(centre + spread * unit(split_mix(key ^ (indices.start + i as u64))));
        (0..count).into_par_iter().map(number).collect()
    }
}

/// The row-major numbers of a named tensor: uniform in ±`spread`.
pub fn named_numbers(seed: u64, name: &str, len: usize, spread: f64) -> Vec<f32> {
    let key = split_mix(seed ^ hash(name));
    (0..len as u64).map(|i| to_f32(spread * unit(split_mix(key ^ i)))).collect()
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "numbers of moderate size, rounded to the type that weights have"
)]
fn to_f32(x: f64) -> f32 {
    x as f32
}

/// Uniform in [−1, 1).
fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

/// FNV-1a of a name, stable between builds.
fn hash(name: &str) -> u64 {
    name.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

impl WeightSource for RandomWeights {
    fn weight(&mut self, place: Param, n: usize, k: usize) -> Result<Weight> {
        Ok(Weight::Panels(self.matrix(place, n, k)?))
    }

    fn matrix(&mut self, place: Param, n: usize, k: usize) -> Result<Matrix> {
        Matrix::from_rows(&self.numbers(place, n, k), n, k)?.to_dtype(self.dtype)
    }

    fn rows(&mut self, place: Param, n: usize, k: usize) -> Result<Vec<bf16>> {
        let stored = |x| if self.dtype == DType::F16 { f16::from_f32(x).to_f32() } else { x };
        let round = |x| bf16::from_f32(stored(x));
        Ok(self.numbers(place, n, k).into_par_iter().map(round).collect())
    }

    fn vector(&mut self, place: Param, n: usize) -> Result<Tensor> {
        Ok(Tensor::from_vec(self.numbers(place, n, 1), n, &Device::Cpu)?)
    }
}

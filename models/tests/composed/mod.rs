//! The decoder composed of candle's own operations, one sequence at a time, with no packing, panels
//! or kernels: the reference for the decoder's values and gradients.

use std::collections::BTreeMap;

use candle_core::{D, DType, Device, Result, Tensor, Var};
use models::config::{Activation, MlpConfig, ModelConfig, QkNorm, RopeConfig, RopeScaling};
use models::random::RandomWeights;
use models::weights::{LayerPart, Norm, Param, Projection, WeightSource};
use models::{Matrix, RaggedBatch, packed::Weight};

/// Random weights, all of them variables.
pub(crate) struct Variables {
    random: RandomWeights,
    /// The requested weights: matrices in panels `[n.div_ceil(16), k, 16]`, vectors `[n]`.
    pub(crate) vars: BTreeMap<Param, Variable>,
}

/// One weight.
pub(crate) struct Variable {
    pub(crate) var: Var,
    /// Rows of the matrix, or numbers of the vector.
    pub(crate) n: usize,
}

impl Variables {
    pub(crate) fn new(seed: u64) -> Variables {
        Variables { random: RandomWeights { seed, dtype: DType::F32 }, vars: BTreeMap::new() }
    }

    /// A matrix `[n, k]`, row-major, as a graph over its variable.
    pub(crate) fn rows(&self, place: Param) -> Result<Tensor> {
        let Variable { var, n } = &self.vars[&place];
        let (panels, k, width) = var.dims3()?;
        var.permute((0, 2, 1))?.reshape((panels * width, k))?.narrow(0, 0, *n)
    }

    pub(crate) fn vector(&self, place: Param) -> &Tensor {
        self.vars[&place].var.as_tensor()
    }
}

impl WeightSource for Variables {
    fn weight(&mut self, place: Param, n: usize, k: usize) -> models::Result<Weight> {
        self.matrix(place, n, k).map(Weight::Panels)
    }

    fn matrix(&mut self, place: Param, n: usize, k: usize) -> models::Result<Matrix> {
        let (matrix, var) = self.random.matrix(place, n, k)?.to_var()?;
        self.vars.insert(place, Variable { var, n });
        Ok(matrix)
    }

    fn vector(&mut self, place: Param, n: usize) -> models::Result<Tensor> {
        let var = Var::from_tensor(&self.random.vector(place, n)?)?;
        let tensor = var.as_tensor().clone();
        self.vars.insert(place, Variable { var, n });
        Ok(tensor)
    }
}

/// The hidden states after the final norm of every row of the batch: `[T, hidden]`.
pub(crate) fn hidden(
    config: &ModelConfig,
    weights: &Variables,
    batch: &RaggedBatch,
) -> Result<Tensor> {
    let model = Composed { config, weights };
    let sequences = batch.cu_seqlens_q.windows(2).map(|span| {
        let ids = &batch.token_ids[span[0] as usize..span[1] as usize];
        model.sequence(ids)
    });
    Tensor::cat(&sequences.collect::<Result<Vec<_>>>()?, 0)
}

struct Composed<'a> {
    config: &'a ModelConfig,
    weights: &'a Variables,
}

impl Composed<'_> {
    fn sequence(&self, ids: &[u32]) -> Result<Tensor> {
        let ids = Tensor::new(ids, &Device::Cpu)?;
        let mut x = self.weights.rows(Param::Embedding)?.index_select(&ids, 0)?;
        if let Some(scale) = self.config.embedding_scale {
            x = (x * f64::from(scale))?;
        }
        for layer in 0..self.config.layers.len() {
            let normed = self.norm_if_there(layer, Norm::PreAttention, &x)?;
            let attended = self.attention(layer, &normed)?;
            x = (x + self.norm_if_there(layer, Norm::PostAttention, &attended)?)?;
            let normed = self.norm_if_there(layer, Norm::PreMlp, &x)?;
            let changed = self.mlp(layer, &normed)?;
            x = (x + self.norm_if_there(layer, Norm::PostMlp, &changed)?)?;
        }
        self.norm(Param::FinalNorm, &x)
    }

    fn linear(&self, layer: usize, projection: Projection, x: &Tensor) -> Result<Tensor> {
        let place = |part| Param::Layer(layer, part);
        let weight = self.weights.rows(place(LayerPart::Weight(projection)))?;
        let y = x.matmul(&weight.t()?)?;
        let bias = place(LayerPart::Bias(projection));
        if self.weights.vars.contains_key(&bias) {
            y.broadcast_add(self.weights.vector(bias))
        } else {
            Ok(y)
        }
    }

    fn norm_if_there(&self, layer: usize, norm: Norm, x: &Tensor) -> Result<Tensor> {
        let place = Param::Layer(layer, LayerPart::Norm(norm));
        if self.weights.vars.contains_key(&place) { self.norm(place, x) } else { Ok(x.clone()) }
    }

    /// The norm over the last dimension.
    fn norm(&self, place: Param, x: &Tensor) -> Result<Tensor> {
        let norm = self.config.norm;
        let mean = x.sqr()?.mean_keepdim(D::Minus1)?;
        let scaled = x.broadcast_div(&(mean + f64::from(norm.eps))?.sqrt()?)?;
        let weight = self.weights.vector(place);
        if norm.unit_offset {
            scaled.broadcast_mul(&(weight + 1.0)?)
        } else {
            scaled.broadcast_mul(weight)
        }
    }

    fn attention(&self, layer: usize, x: &Tensor) -> Result<Tensor> {
        let c = self.config;
        let q = self.heads(layer, (Projection::Q, Norm::Q), c.num_heads, x)?;
        let k = self.heads(layer, (Projection::K, Norm::K), c.num_kv_heads, x)?;
        let v = split(&self.linear(layer, Projection::V, x)?, c.num_kv_heads)?;
        let (k, v) = (self.shared(&k)?, self.shared(&v)?);
        let mut scores = (q.matmul(&k.t()?)? * f64::from(c.attention_scale))?;
        if let Some(cap) = c.attention_softcap {
            scores = ((scores / f64::from(cap))?.tanh()? * f64::from(cap))?;
        }
        let seen = mask(x.dim(0)?, c.layers[layer].window)?;
        let attended = softmax(&scores.broadcast_add(&seen)?)?.matmul(&v)?;
        let joined = attended.transpose(0, 1)?.flatten_from(1)?;
        self.linear(layer, Projection::O, &joined)
    }

    /// Queries or keys `[heads, n, head_dim]`, normalised and rotated.
    fn heads(
        &self,
        layer: usize,
        (projection, norm): (Projection, Norm),
        count: usize,
        x: &Tensor,
    ) -> Result<Tensor> {
        let place = Param::Layer(layer, LayerPart::Norm(norm));
        let y = self.linear(layer, projection, x)?;
        let y = match self.config.qk_norm {
            None => split(&y, count)?,
            Some(QkNorm::Whole) => split(&self.norm(place, &y)?, count)?,
            Some(QkNorm::PerHead) => self.norm(place, &split(&y, count)?)?,
        };
        match self.config.layers[layer].rope {
            None => Ok(y),
            Some(rope) => rotate(&y, &self.config.ropes[rope]),
        }
    }

    /// Repeats each key and value head for the query heads that share it.
    fn shared(&self, x: &Tensor) -> Result<Tensor> {
        let (kv_heads, n, dim) = x.dims3()?;
        let group = self.config.num_heads / kv_heads;
        x.unsqueeze(1)?.broadcast_as((kv_heads, group, n, dim))?.reshape((kv_heads * group, n, dim))
    }

    fn mlp(&self, layer: usize, x: &Tensor) -> Result<Tensor> {
        let MlpConfig::Experts { num_experts, experts_per_token, normalise, .. } =
            self.config.layers[layer].mlp
        else {
            return self.gated(layer, [Projection::Gate, Projection::Up, Projection::Down], x);
        };
        let probabilities = softmax(&self.linear(layer, Projection::Router, x)?)?;
        let mut weights = probabilities.mul(&chosen(&probabilities, experts_per_token)?)?;
        if normalise {
            weights = weights.broadcast_div(&weights.sum_keepdim(D::Minus1)?)?;
        }
        let mut sum = x.zeros_like()?;
        for (at, expert) in (0..num_experts).zip(0_u32..) {
            let names = [
                Projection::ExpertGate(expert),
                Projection::ExpertUp(expert),
                Projection::ExpertDown(expert),
            ];
            let y = self.gated(layer, names, x)?;
            sum = (sum + y.broadcast_mul(&weights.narrow(1, at, 1)?)?)?;
        }
        Ok(sum)
    }

    fn gated(&self, layer: usize, [gate, up, down]: [Projection; 3], x: &Tensor) -> Result<Tensor> {
        let gate = self.linear(layer, gate, x)?;
        let gate = match self.config.activation {
            Activation::Silu => gate.silu()?,
            Activation::Gelu => gate.gelu_erf()?,
            Activation::GeluTanh => gate.gelu()?,
        };
        self.linear(layer, down, &(gate * self.linear(layer, up, x)?)?)
    }
}

/// `[n, heads · dim] -> [heads, n, dim]`.
fn split(x: &Tensor, heads: usize) -> Result<Tensor> {
    let (n, width) = x.dims2()?;
    x.reshape((n, heads, width / heads))?.transpose(0, 1)?.contiguous()
}

pub(crate) fn softmax(x: &Tensor) -> Result<Tensor> {
    let max = x.max_keepdim(D::Minus1)?.detach();
    let e = x.broadcast_sub(&max)?.exp()?;
    e.broadcast_div(&e.sum_keepdim(D::Minus1)?)
}

/// `[n, n]`: 0 if query `row` sees key `column`, otherwise a number that no score outweighs.
fn mask(n: usize, window: Option<usize>) -> Result<Tensor> {
    let sees = |q: usize, k: usize| k <= q && window.is_none_or(|w| q - k < w);
    let values: Vec<f32> =
        (0..n * n).map(|i| if sees(i / n, i % n) { 0.0 } else { -1e9 }).collect();
    Tensor::from_vec(values, (n, n), &Device::Cpu)
}

/// `[n, experts]`: 1 at the `k` largest of each row.
fn chosen(probabilities: &Tensor, k: usize) -> Result<Tensor> {
    let rows = probabilities.detach().to_vec2::<f32>()?;
    let marks = rows.iter().map(|row| {
        let larger = |x: f32| row.iter().filter(|y| **y > x).count();
        row.iter().map(|x| f32::from(larger(*x) < k)).collect()
    });
    Tensor::new(marks.collect::<Vec<Vec<f32>>>(), &Device::Cpu)
}

/// Rotary embedding of the first dimensions of `[heads, n, dim]`, at positions `0..n`.
fn rotate(x: &Tensor, rope: &RopeConfig) -> Result<Tensor> {
    assert_eq!(rope.scaling, RopeScaling::Default, "the test models' own");
    let (_, n, dim) = x.dims3()?;
    let half = rope.rotary_dim / 2;
    let angles: Vec<f64> = (0..n * half)
        .map(|i| {
            let exponent = (2 * (i % half)) as f64 / rope.rotary_dim as f64;
            (i / half) as f64 / rope.theta.powf(exponent)
        })
        .collect();
    let angles = Tensor::from_vec(angles, (n, half), &Device::Cpu)?;
    let cos = angles.cos()?.to_dtype(DType::F32)?;
    let sin = angles.sin()?.to_dtype(DType::F32)?;
    let first = x.narrow(D::Minus1, 0, half)?;
    let second = x.narrow(D::Minus1, half, half)?;
    let rotated = [
        (first.broadcast_mul(&cos)? - second.broadcast_mul(&sin)?)?,
        (second.broadcast_mul(&cos)? + first.broadcast_mul(&sin)?)?,
        x.narrow(D::Minus1, 2 * half, dim - 2 * half)?,
    ];
    let parts = if dim > 2 * half { 3 } else { 2 };
    Tensor::cat(&rotated[..parts], D::Minus1)
}

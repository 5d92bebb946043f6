//! Readouts of the vocabulary: label columns, log-probabilities, soft caps.

use candle_core::{CpuStorage, CustomOp1, CustomOp2, Device, Layout, Result as TensorResult};
use candle_core::{Shape, Tensor};

use super::operands::trainable;
use super::storage::{Held, f32s, panels, shape_error};
use crate::error::{ModelError, Result};
use crate::kernels::panels::Panels;
use crate::kernels::readout::LogitMap;
use crate::kernels::{gemm, readout};
use crate::packed::Matrix;

/// Logits of these columns only: `hidden [R, d]`, `vocabulary [V, d]`, `columns [C] -> [R, C]`.
///
/// Each has the bits of the product with the full vocabulary. Gradients go to `hidden` and, if it
/// is a variable (f32), to the vocabulary, all of whose other columns get zeros.
///
/// # Errors
/// Operands that do not fit, a column past the vocabulary, a variable that is not f32.
pub fn label_logits(hidden: &Tensor, vocabulary: &Matrix, columns: &[u32]) -> Result<Tensor> {
    check_columns(hidden, vocabulary, columns)?;
    let op = LabelLogits { columns: columns.to_vec(), vocabulary: Dims::of(vocabulary) };
    Ok(hidden.apply_op2(vocabulary.tensor(), op)?)
}

/// One target token per row: `hidden [R, d]`, `vocabulary [V, d]`, `targets [R] -> [R, 3]`: its
/// log-probability, the entropy of the distribution, and log Σ exp of the logits, all in nats and
/// of logits capped by `cap · tanh(x / cap)` if there is a cap. No `[R, V]` tensor exists.
///
/// The log-probability is the capped logit of [`label_logits`] minus the log-normaliser, rounded
/// once. A row's bits do not depend on the others. Gradients of all three go to `hidden` and, if it
/// is a variable (f32), to the vocabulary: with `p` the probabilities and `H` the entropy,
/// `dz = g₀ (onehot − p) − g₁ p (log p + H) + g₂ p`.
///
/// # Errors
/// Operands that do not fit, a target past the vocabulary, a variable that is not f32.
pub fn token_logprobs(
    hidden: &Tensor,
    vocabulary: &Matrix,
    targets: &[u32],
    softcap: Option<f32>,
) -> Result<Tensor> {
    tempered_logprobs(hidden, vocabulary, targets, LogitMap::capped(softcap))
}

/// [`token_logprobs`] of the distribution at a temperature: the capped logits times `map.scale`.
///
/// # Errors
/// As [`token_logprobs`].
pub fn tempered_logprobs(
    hidden: &Tensor,
    vocabulary: &Matrix,
    targets: &[u32],
    map: LogitMap,
) -> Result<Tensor> {
    check_columns(hidden, vocabulary, targets)?;
    if hidden.dim(0)? != targets.len() {
        let want = format!("[{}, {}]", targets.len(), vocabulary.k());
        return Err(shape_error("token_logprobs: hidden", hidden, &want).into());
    }
    let op = TokenLogprobs { targets: targets.to_vec(), map, vocabulary: Dims::of(vocabulary) };
    Ok(hidden.apply_op2(vocabulary.tensor(), op)?)
}

/// `cap · tanh(x / cap)`, element by element, with the bits of [`token_logprobs`].
pub fn softcap(x: &Tensor, cap: f32) -> Result<Tensor> {
    Ok(x.apply_op1(Softcap(cap))?)
}

fn check_columns(hidden: &Tensor, vocabulary: &Matrix, columns: &[u32]) -> Result<()> {
    let (n, k) = (vocabulary.n(), vocabulary.k());
    if hidden.dims2()?.1 != k {
        return Err(shape_error("readout: hidden", hidden, &format!("[R, {k}]")).into());
    }
    if let Some(token) = columns.iter().find(|token| **token as usize >= n) {
        return Err(ModelError::Batch(format!("token {token} is read off a vocabulary of {n}")));
    }
    Ok(trainable("readout", vocabulary)?)
}

#[derive(Clone, Copy)]
struct Dims {
    n: usize,
    k: usize,
}

impl Dims {
    fn of(matrix: &Matrix) -> Dims {
        Dims { n: matrix.n(), k: matrix.k() }
    }

    fn panels<'a>(self, storage: &'a CpuStorage, layout: &Layout) -> TensorResult<Panels<'a>> {
        panels(storage, layout, self.n, self.k)
    }
}

/// Zeros for the gradient of a tensor; `None` if it is not tracked.
fn zeros(like: &Tensor) -> Option<Vec<f32>> {
    like.track_op().then(|| vec![0.0; like.elem_count()])
}

fn tensor(values: Option<Vec<f32>>, like: &Tensor) -> TensorResult<Option<Tensor>> {
    values.map(|values| Tensor::from_vec(values, like.shape(), &Device::Cpu)).transpose()
}

struct LabelLogits {
    columns: Vec<u32>,
    vocabulary: Dims,
}

impl CustomOp2 for LabelLogits {
    fn name(&self) -> &'static str {
        "label_logits"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        xl: &Layout,
        w: &CpuStorage,
        wl: &Layout,
    ) -> TensorResult<(CpuStorage, Shape)> {
        let (x, w) = (f32s(x, xl)?, self.vocabulary.panels(w, wl)?);
        let shape = Shape::from((x.len() / self.vocabulary.k, self.columns.len()));
        let mut out = vec![0.0; shape.elem_count()];
        gemm::columns(x, w, &self.columns, &mut out);
        Ok((CpuStorage::F32(out), shape))
    }

    fn bwd(
        &self,
        x: &Tensor,
        w: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> TensorResult<(Option<Tensor>, Option<Tensor>)> {
        let grad = grad.contiguous()?;
        let held = [x, w, &grad].map(Held::new);
        let [x_held, w_held, grad] = &held;
        let Dims { n, k } = self.vocabulary;
        let (mut gx, mut gw) = (zeros(x), zeros(w));
        if let Some(gx) = &mut gx {
            let weight = w_held.panels(n, k)?;
            readout::columns_grad_input(grad.f32s()?, weight, &self.columns, gx);
        }
        if let Some(gw) = &mut gw {
            readout::columns_grad_weight(x_held.f32s()?, grad.f32s()?, &self.columns, k, gw);
        }
        Ok((tensor(gx, x)?, tensor(gw, w)?))
    }
}

struct TokenLogprobs {
    targets: Vec<u32>,
    map: LogitMap,
    vocabulary: Dims,
}

impl CustomOp2 for TokenLogprobs {
    fn name(&self) -> &'static str {
        "token_logprobs"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        xl: &Layout,
        w: &CpuStorage,
        wl: &Layout,
    ) -> TensorResult<(CpuStorage, Shape)> {
        let (x, w) = (f32s(x, xl)?, self.vocabulary.panels(w, wl)?);
        let mut out = Vec::with_capacity(self.targets.len() * 3);
        for (read, logit) in readout::target_readout(x, w, self.map, &self.targets) {
            out.extend([read.logprob(logit), read.entropy, read.log_normalizer]);
        }
        Ok((CpuStorage::F32(out), Shape::from((self.targets.len(), 3))))
    }

    fn bwd(
        &self,
        x: &Tensor,
        w: &Tensor,
        res: &Tensor,
        grad: &Tensor,
    ) -> TensorResult<(Option<Tensor>, Option<Tensor>)> {
        let grad = grad.contiguous()?;
        let held = [x, w, res, &grad].map(Held::new);
        let [x_held, w_held, values, grad] = &held;
        let (mut gx, mut gw) = (zeros(x), zeros(w));
        let forward = readout::ForwardValues {
            hidden: x_held.f32s()?,
            weight: w_held.panels(self.vocabulary.n, self.vocabulary.k)?,
            map: self.map,
            targets: &self.targets,
            values: values.f32s()?,
            grad: grad.f32s()?,
        };
        let mut gradients =
            readout::ReadoutGradients { hidden: gx.as_deref_mut(), weight: gw.as_deref_mut() };
        readout::readout_backward(forward, &mut gradients);
        Ok((tensor(gx, x)?, tensor(gw, w)?))
    }
}

struct Softcap(f32);

impl CustomOp1 for Softcap {
    fn name(&self) -> &'static str {
        "softcap"
    }

    fn cpu_fwd(&self, x: &CpuStorage, xl: &Layout) -> TensorResult<(CpuStorage, Shape)> {
        let x = f32s(x, xl)?;
        let mut out = vec![0.0; x.len()];
        readout::cap_logits(x, self.0, &mut out);
        Ok((CpuStorage::F32(out), xl.shape().clone()))
    }

    /// `g (1 − (y / cap)²)`.
    fn bwd(&self, _: &Tensor, y: &Tensor, grad: &Tensor) -> TensorResult<Option<Tensor>> {
        let slope = (y.detach() / f64::from(self.0))?.sqr()?.affine(-1.0, 1.0)?;
        Ok(Some(grad.mul(&slope)?))
    }
}

#[cfg(test)]
mod tests;

//! Reading the vocabulary: label columns, log-probabilities, soft caps.

use candle_core::{CpuStorage, CustomOp1, CustomOp2, Layout, Shape, Tensor};

use super::storage::{f32s, panels};
use crate::error::Result;
use crate::kernels::{gemm, readout};
use crate::packed::Matrix;

struct LabelLogits {
    columns: Vec<u32>,
    n: usize,
    k: usize,
}

/// Logits of these columns only: `hidden [R, d]`, `vocabulary [V, d] -> [R, columns]`.
pub fn label_logits(hidden: &Tensor, vocabulary: &Matrix, columns: &[u32]) -> Result<Tensor> {
    let op = LabelLogits {
        columns: columns.to_vec(),
        n: vocabulary.n(),
        k: vocabulary.k(),
    };
    Ok(hidden.apply_op2(vocabulary.tensor(), op)?)
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
    ) -> candle_core::Result<(CpuStorage, Shape)> {
        let x = f32s(x, xl)?;
        let rows = x.len() / self.k;
        let mut out = vec![0.0; rows * self.columns.len()];
        gemm::columns(x, panels(w, wl, self.n, self.k)?, &self.columns, &mut out);
        Ok((
            CpuStorage::F32(out),
            Shape::from((rows, self.columns.len())),
        ))
    }
}

struct TokenLogprobs {
    targets: Vec<u32>,
    softcap: Option<f32>,
    n: usize,
    k: usize,
}

/// Of one target token a row: `hidden [R, d]`, `vocabulary [V, d] -> [R, 3]`: its log-probability,
/// the entropy of the distribution, and log Σ exp of the logits. No `[R, V]` tensor exists.
pub fn token_logprobs(
    hidden: &Tensor,
    vocabulary: &Matrix,
    targets: &[u32],
    softcap: Option<f32>,
) -> Result<Tensor> {
    let op = TokenLogprobs {
        targets: targets.to_vec(),
        softcap,
        n: vocabulary.n(),
        k: vocabulary.k(),
    };
    Ok(hidden.apply_op2(vocabulary.tensor(), op)?)
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
    ) -> candle_core::Result<(CpuStorage, Shape)> {
        let x = f32s(x, xl)?;
        let w = panels(w, wl, self.n, self.k)?;
        let mut out = Vec::with_capacity(self.targets.len() * 3);
        for ((row, read), target) in x
            .chunks_exact(self.k)
            .zip(readout::readout(x, w, self.softcap))
            .zip(&self.targets)
        {
            let mut logit = [0.0];
            gemm::columns(row, w, &[*target], &mut logit);
            let logit = self
                .softcap
                .map_or(logit[0], |cap| cap * (logit[0] / cap).tanh());
            out.extend([
                logit - read.log_normalizer,
                read.entropy,
                read.log_normalizer,
            ]);
        }
        Ok((CpuStorage::F32(out), Shape::from((self.targets.len(), 3))))
    }
}

struct Softcap(f32);

/// `cap · tanh(x / cap)`.
pub fn softcap(x: &Tensor, cap: f32) -> Result<Tensor> {
    Ok(x.apply_op1(Softcap(cap))?)
}

impl CustomOp1 for Softcap {
    fn name(&self) -> &'static str {
        "softcap"
    }

    fn cpu_fwd(&self, x: &CpuStorage, xl: &Layout) -> candle_core::Result<(CpuStorage, Shape)> {
        let out = f32s(x, xl)?
            .iter()
            .map(|x| self.0 * (x / self.0).tanh())
            .collect();
        Ok((CpuStorage::F32(out), xl.shape().clone()))
    }
}

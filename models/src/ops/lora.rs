//! Low-rank updates by segment of the batch.
//!
//! One operation handles all segments, so that a batch of many adapters costs no tensor traffic of
//! its own: the kernel works on slices of `x` and `y`. The operation holds frozen factors. If a
//! factor is a variable, all factors are joined end to end in one tensor, a further operand, so
//! that one backward computes all their gradients. The kernel, and therefore the bits, are the
//! same.

use std::ops::Range;
use std::sync::Arc;

use candle_core::{CpuStorage, CustomOp1, CustomOp2, CustomOp3, DType, Device, InplaceOp1};
use candle_core::{InplaceOp2, Layout, Result as TensorResult, Shape, Tensor};

use super::operands::trainable;
use super::storage::{Held, f32s, f32s_mut, shape_error};
use crate::error::{ModelError, Result};
use crate::kernels::lora::{Input, LoraGradients, Segment, add, add_backward};
use crate::kernels::panels::{PanelData, Panels};
use crate::packed::Matrix;

/// Rows of the batch that share an adapter, and its two factors at this layer.
#[derive(Clone, Debug)]
pub struct LoraSegment<'a> {
    /// Rows of the packed batch.
    pub rows: Range<usize>,
    /// `[r, k]`. For [`lora_embedding`] the transpose `[vocab, r]`, whose rows tokens select.
    pub a: &'a Matrix,
    /// `[n, r]`.
    pub b: &'a Matrix,
    /// `α / r`, or `α / √r`.
    pub scale: f32,
}

impl LoraSegment<'_> {
    /// Those of `A` and `B`.
    fn shapes(&self) -> [[usize; 2]; 2] {
        [self.a, self.b].map(|factor| [factor.n(), factor.k()])
    }
}

/// `y [T, n] + scale · (x [T, k] · Aᵀ) · Bᵀ` on the rows of each segment (Hu et al., 2021,
/// "LoRA"); other rows of `y` keep their bits.
///
/// `y` is given away: where nothing is tracked the update is written into its storage. Gradients
/// go to `x`, `y` and, where they are variables, to the factors. Factors are f32, f16 or bf16, and
/// f32 where they are variables. A row's bits depend neither on how rows are cut into segments nor
/// on which tensors are tracked; the gradient of a factor is one chain over its rows in ascending order,
/// through all its segments.
///
/// # Errors
/// Segments out of order, overlapping or past the batch; factors that do not fit.
pub fn lora(x: &Tensor, y: Tensor, segments: &[LoraSegment<'_>]) -> Result<Tensor> {
    let (rows, k) = x.dims2()?;
    check_output(&y, rows)?;
    check_factors([rows, y.dim(1)?, k], segments)?;
    let Some(plan) = LoraPlan::new(segments, None) else {
        return Ok(y);
    };
    Ok(match join(&plan.pairs)? {
        Some(factors) => x.apply_op3(&y, &factors, plan)?,
        None if x.track_op() || y.track_op() => x.apply_op2(&y, plan)?,
        None => {
            y.inplace_op2(x, &plan)?;
            y
        }
    })
}

/// As [`lora`], for the token embedding: adds `scale · B · A[token]` to `y [T, n]`, the embeddings
/// of tokens `[T]`, with `A [vocab, r]` and `B [n, r]`. PEFT stores `lora_embedding_A [r, vocab]`,
/// the transpose of ours, and `lora_embedding_B [n, r]`.
///
/// # Errors
/// As [`lora`], and a token past the rows of `A`.
pub fn lora_embedding(
    token_ids: &[u32],
    y: Tensor,
    segments: &[LoraSegment<'_>],
) -> Result<Tensor> {
    check_output(&y, token_ids.len())?;
    check_segments([token_ids.len(), y.dim(1)?], segments)?;
    for s in segments {
        if s.a.k() != s.b.k() {
            return Err(misfit("A is [vocab, r]", s.shapes(), s.a.k()));
        }
        if let Some(id) = token_ids[s.rows.clone()].iter().find(|id| **id as usize >= s.a.n()) {
            let vocab = s.a.n();
            return Err(ModelError::Batch(format!(
                "token {id} under an adapter whose embedding has {vocab} rows"
            )));
        }
    }
    let Some(plan) = LoraPlan::new(segments, Some(token_ids.into())) else {
        return Ok(y);
    };
    Ok(match join(&plan.pairs)? {
        Some(factors) => y.apply_op2(&factors, plan)?,
        None if y.track_op() => y.apply_op1(plan)?,
        None => {
            y.inplace_op1(&plan)?;
            y
        }
    })
}

fn check_output(y: &Tensor, rows: usize) -> Result<()> {
    if y.dims2()?.0 != rows {
        return Err(shape_error("lora: y", y, &format!("[{rows}, n]")).into());
    }
    Ok(())
}

/// Checks the segments of a layer `[rows, k] -> [rows, n]`.
pub(super) fn check_factors([rows, n, k]: [usize; 3], segments: &[LoraSegment<'_>]) -> Result<()> {
    check_segments([rows, n], segments)?;
    match segments.iter().find(|s| (s.a.n(), s.a.k()) != (s.b.k(), k)) {
        Some(s) => Err(misfit("A is [r, k]", s.shapes(), k)),
        None => Ok(()),
    }
}

fn check_segments([rows, n]: [usize; 2], segments: &[LoraSegment<'_>]) -> Result<()> {
    check_rows(rows, segments.iter().map(|s| &s.rows))?;
    for s in segments {
        if s.b.n() != n {
            return Err(misfit("B is [n, r]", s.shapes(), n));
        }
        trainable("lora", s.a)?;
        trainable("lora", s.b)?;
    }
    Ok(())
}

/// Checks that the segments of a batch are in order and do not overlap.
pub(super) fn check_rows<'a>(
    rows: usize,
    segments: impl Iterator<Item = &'a Range<usize>>,
) -> Result<()> {
    let mut at = 0;
    for segment in segments {
        if segment.start < at || segment.end < segment.start || segment.end > rows {
            return Err(ModelError::Batch(format!(
                "adapter rows {segment:?} in a batch of {rows}, after row {at}"
            )));
        }
        at = segment.end;
    }
    Ok(())
}

/// The error for factors `A` and `B` of these shapes.
pub(super) fn misfit(what: &str, [a, b]: [[usize; 2]; 2], width: usize) -> ModelError {
    ModelError::Batch(format!(
        "adapter factors A {a:?} and B {b:?} at a layer of width {width} ({what})"
    ))
}

/// The segments of an operation and their distinct factors.
pub(super) struct LoraPlan {
    /// The tokens, for an embedding.
    tokens: Option<Arc<[u32]>>,
    /// Each pair of factors once, in order of appearance.
    pairs: Vec<FactorPair>,
    spans: Vec<RowSpan>,
}

struct FactorPair {
    factors: [Matrix; 2],
    /// The offsets of the two in the result of [`join`].
    at: [usize; 2],
}

struct RowSpan {
    rows: Range<usize>,
    pair: usize,
    scale: f32,
}

impl LoraPlan {
    /// Returns `None` if no row is changed.
    pub(super) fn new(
        segments: &[LoraSegment<'_>],
        tokens: Option<Arc<[u32]>>,
    ) -> Option<LoraPlan> {
        let mut pairs: Vec<FactorPair> = Vec::new();
        let mut spans = Vec::new();
        let mut len = 0;
        for s in segments.iter().filter(|s| !s.rows.is_empty()) {
            let known = pairs.iter().position(|p| {
                let ids = p.factors.each_ref().map(|f| f.tensor().id());
                ids == [s.a.tensor().id(), s.b.tensor().id()]
            });
            let pair = known.unwrap_or_else(|| {
                let middle = len + s.a.tensor().elem_count();
                pairs.push(FactorPair { factors: [s.a.clone(), s.b.clone()], at: [len, middle] });
                len = middle + s.b.tensor().elem_count();
                pairs.len() - 1
            });
            spans.push(RowSpan { rows: s.rows.clone(), pair, scale: s.scale });
        }
        (!spans.is_empty()).then_some(LoraPlan { tokens, pairs, spans })
    }

    fn input<'a>(&'a self, x: &'a [f32]) -> Input<'a> {
        match &self.tokens {
            Some(ids) => Input::Tokens(ids),
            None => Input::Rows(x),
        }
    }

    fn segments<'a>(&self, pairs: &[[Panels<'a>; 2]]) -> Vec<Segment<'a>> {
        let segment = |span: &RowSpan| {
            let [a, b] = pairs[span.pair];
            Segment { rows: span.rows.clone(), a, b, scale: span.scale }
        };
        self.spans.iter().map(segment).collect()
    }

    /// Passes the segments over the plan's own factors to `f`.
    pub(super) fn held<R>(&self, f: impl FnOnce(&[Segment<'_>]) -> R) -> TensorResult<R> {
        let held: Vec<[Held<'_>; 2]> = self
            .pairs
            .iter()
            .map(|pair| pair.factors.each_ref().map(|m| Held::new(m.tensor())))
            .collect();
        let panels = held.iter().zip(&self.pairs).map(|([a, b], pair)| {
            let [a_matrix, b_matrix] = &pair.factors;
            Ok([a.panels(a_matrix.n(), a_matrix.k())?, b.panels(b_matrix.n(), b_matrix.k())?])
        });
        Ok(f(&self.segments(&panels.collect::<TensorResult<Vec<_>>>()?)))
    }

    /// The segments over joined factors.
    fn over<'a>(&self, joined: &'a [f32]) -> Vec<Segment<'a>> {
        let panels = |matrix: &Matrix, at: usize| Panels {
            data: PanelData::F32(&joined[at..][..matrix.tensor().elem_count()]),
            n: matrix.n(),
            k: matrix.k(),
        };
        let pairs: Vec<[Panels<'a>; 2]> = self
            .pairs
            .iter()
            .map(|FactorPair { factors, at }| {
                [panels(&factors[0], at[0]), panels(&factors[1], at[1])]
            })
            .collect();
        self.segments(&pairs)
    }

    /// Gradients of `x [T, k]` if it is given and tracked, and of the joined factors.
    fn gradients_joined(
        &self,
        x: Option<&Tensor>,
        joined: &Tensor,
        grad: &Tensor,
    ) -> TensorResult<(Option<Tensor>, Tensor)> {
        let (factors, g) = (Held::new(joined), Held::new(grad));
        let (factors, g) = (factors.f32s()?, g.f32s()?);
        let held = x.map(Held::new);
        let input = match &held {
            Some(x) => self.input(x.f32s()?),
            None => self.input(&[]),
        };
        let tracked = x.filter(|x| x.track_op());
        let mut gx = tracked.map(|x| vec![0.0; x.elem_count()]);
        let mut gf = vec![0.0; factors.len()];
        let mut gradients = LoraGradients {
            x: gx.as_deref_mut(),
            factors: Some((&mut gf, self.spans.iter().map(|s| self.pairs[s.pair].at).collect())),
        };
        add_backward(input, &self.over(factors), g, &mut gradients);
        let gx = match (tracked, gx) {
            (Some(x), Some(gx)) => Some(Tensor::from_vec(gx, x.shape(), &Device::Cpu)?),
            (None, _) | (_, None) => None,
        };
        Ok((gx, Tensor::from_vec(gf, joined.shape(), &Device::Cpu)?))
    }

    /// The gradient of `x [T, k]` with frozen factors.
    fn gradient_held(&self, x: &Tensor, grad: &Tensor) -> TensorResult<Tensor> {
        let g = Held::new(grad);
        let g = g.f32s()?;
        let mut gx = vec![0.0; x.elem_count()];
        self.held(|segments| {
            let mut gradients = LoraGradients { x: Some(&mut gx), factors: None };
            add_backward(Input::Rows(&[]), segments, g, &mut gradients);
        })?;
        Tensor::from_vec(gx, x.shape(), &Device::Cpu)
    }
}

/// Whether a factor is a variable.
pub(super) fn is_trained(segments: &[LoraSegment<'_>]) -> bool {
    segments.iter().any(|s| s.a.tensor().track_op() || s.b.tensor().track_op())
}

/// All factors end to end as f32; `None` unless one of them is a variable.
fn join(pairs: &[FactorPair]) -> TensorResult<Option<Tensor>> {
    let tensors = || pairs.iter().flat_map(|p| &p.factors).map(Matrix::tensor);
    if !tensors().any(Tensor::track_op) {
        return Ok(None);
    }
    let flat = |t: &Tensor| t.to_dtype(DType::F32)?.flatten_all();
    let parts = tensors().map(flat).collect::<TensorResult<Vec<_>>>()?;
    Tensor::cat(&parts, 0).map(Some)
}

/// A copy of `y` with the updates added.
fn added(
    input: Input<'_>,
    segments: &[Segment<'_>],
    y: &CpuStorage,
    layout: &Layout,
) -> TensorResult<(CpuStorage, Shape)> {
    let mut out = f32s(y, layout)?.to_vec();
    add(input, segments, &mut out);
    Ok((CpuStorage::F32(out), layout.shape().clone()))
}

fn passed(y: &Tensor, grad: &Tensor) -> Option<Tensor> {
    y.track_op().then(|| grad.clone())
}

/// `x`, `y` and joined factors.
impl CustomOp3 for LoraPlan {
    fn name(&self) -> &'static str {
        "lora"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        xl: &Layout,
        y: &CpuStorage,
        yl: &Layout,
        factors: &CpuStorage,
        fl: &Layout,
    ) -> TensorResult<(CpuStorage, Shape)> {
        let segments = self.over(f32s(factors, fl)?);
        added(self.input(f32s(x, xl)?), &segments, y, yl)
    }

    fn bwd(
        &self,
        x: &Tensor,
        y: &Tensor,
        factors: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> TensorResult<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let grad = grad.contiguous()?;
        let (gx, gf) = self.gradients_joined(Some(x), factors, &grad)?;
        Ok((gx, passed(y, &grad), Some(gf)))
    }
}

/// `x` and `y` with frozen factors, or `y` and joined factors for an embedding.
impl CustomOp2 for LoraPlan {
    fn name(&self) -> &'static str {
        "lora"
    }

    fn cpu_fwd(
        &self,
        first: &CpuStorage,
        fl: &Layout,
        second: &CpuStorage,
        sl: &Layout,
    ) -> TensorResult<(CpuStorage, Shape)> {
        if let Some(ids) = &self.tokens {
            let segments = self.over(f32s(second, sl)?);
            return added(Input::Tokens(ids), &segments, first, fl);
        }
        let x = f32s(first, fl)?;
        self.held(|segments| added(Input::Rows(x), segments, second, sl))?
    }

    fn bwd(
        &self,
        first: &Tensor,
        second: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> TensorResult<(Option<Tensor>, Option<Tensor>)> {
        let grad = grad.contiguous()?;
        if self.tokens.is_some() {
            let (_, gf) = self.gradients_joined(None, second, &grad)?;
            return Ok((passed(first, &grad), Some(gf)));
        }
        let gx = || self.gradient_held(first, &grad);
        Ok((first.track_op().then(gx).transpose()?, passed(second, &grad)))
    }
}

/// `y` of an embedding, with frozen factors.
impl CustomOp1 for LoraPlan {
    fn name(&self) -> &'static str {
        "lora"
    }

    fn cpu_fwd(&self, y: &CpuStorage, yl: &Layout) -> TensorResult<(CpuStorage, Shape)> {
        self.held(|segments| added(self.input(&[]), segments, y, yl))?
    }

    fn bwd(&self, _: &Tensor, _: &Tensor, grad: &Tensor) -> TensorResult<Option<Tensor>> {
        Ok(Some(grad.clone()))
    }
}

impl InplaceOp1 for LoraPlan {
    fn name(&self) -> &'static str {
        "lora in place"
    }

    fn cpu_fwd(&self, y: &mut CpuStorage, yl: &Layout) -> TensorResult<()> {
        let y = f32s_mut(y, yl)?;
        self.held(|segments| add(self.input(&[]), segments, y))
    }
}

impl InplaceOp2 for LoraPlan {
    fn name(&self) -> &'static str {
        "lora in place"
    }

    fn cpu_fwd(
        &self,
        y: &mut CpuStorage,
        yl: &Layout,
        x: &CpuStorage,
        xl: &Layout,
    ) -> TensorResult<()> {
        let (x, y) = (f32s(x, xl)?, f32s_mut(y, yl)?);
        self.held(|segments| add(Input::Rows(x), segments, y))
    }
}

#[cfg(test)]
mod tests;

//! The readout of the vocabulary: log-normaliser and entropy of every row without keeping its
//! logits, and the gradients.
//!
//! The vocabulary is processed in chunks of [`CHUNK`] columns. A row's chunk is summed in sixteen
//! lanes that are folded at the end, and the chunks are combined in order, by an online logsumexp
//! (Milakov and Gimelshein, 2018): an order that the vocabulary alone fixes. The chunks of a row
//! are computed on all available threads.

#![expect(
    clippy::inline_always,
    reason = "a kernel that is not inlined is compiled without its instructions"
)]

use rayon::prelude::*;

use super::exp::{Map, Unary, exp, softcap};
use super::simd::{F32x16, Isa, Kernel, LANES};
use super::{backward, gemm};
use crate::kernels::panels::{PANEL, PanelData, Panels};

/// Columns of the vocabulary whose logits exist at a time.
const CHUNK: usize = 64 * PANEL;

/// Rows whose logits exist at a time.
const ROWS: usize = 256;

/// A shift below which `e^x` is 0 in f32.
const NOTHING: f32 = -200.0;

/// The statistics of one row's distribution over the vocabulary, in nats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Readout {
    /// log Σ exp(logits).
    pub log_normalizer: f32,
    /// −Σ p log p.
    pub entropy: f32,
    max: f32,
    log_sum: f64,
}

impl Readout {
    /// The log-probability of a logit of this row: `logit − log_normalizer`, rounded once.
    #[expect(clippy::cast_possible_truncation, reason = "the rounding to f32")]
    pub fn logprob(&self, logit: f32) -> f32 {
        (f64::from(logit) - f64::from(self.max) - self.log_sum) as f32
    }
}

/// The map from products with the vocabulary to the logits of a distribution:
/// `scale · cap · tanh(x / cap)`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LogitMap {
    /// The soft cap; `None` for none.
    pub cap: Option<f32>,
    /// One over the temperature of sampling; `None` for 1.
    pub scale: Option<f32>,
}

impl LogitMap {
    /// A soft cap at temperature 1.
    pub fn capped(cap: Option<f32>) -> LogitMap {
        LogitMap { cap, scale: None }
    }
}

/// A chunk of a row: `max`, `Σ e^(z − max)` and `Σ e^(z − max) (z − max)`.
#[derive(Clone, Copy, Debug)]
struct SoftmaxPart {
    max: f32,
    sum: f32,
    weighted: f32,
}

/// One [`Readout`] per row of `hidden [R, k]` over the vocabulary `weight [n, k]`, with soft-capped
/// logits if there is a cap.
pub fn readout(hidden: &[f32], weight: Panels<'_>, cap: Option<f32>) -> Vec<Readout> {
    let mut all = Vec::with_capacity(hidden.len() / weight.k);
    walk(hidden, weight, LogitMap::capped(cap), |_, _, _| (), |read, _| all.push(read));
    all
}

/// [`readout`] of mapped logits, and the mapped logit of each row's own target.
pub fn target_readout(
    hidden: &[f32],
    weight: Panels<'_>,
    map: LogitMap,
    targets: &[u32],
) -> Vec<(Readout, f32)> {
    let pick = |row: usize, first: usize, logits: &[f32]| {
        let at = (targets[row] as usize).checked_sub(first)?;
        logits.get(at).copied()
    };
    let mut all = Vec::with_capacity(targets.len());
    walk(hidden, weight, map, pick, |read, picked| {
        let logit = picked.into_iter().flatten().next();
        all.push((read, logit.expect("a target is a column of the vocabulary")));
    });
    all
}

/// The [`Readout`] of one row from its mapped logits `[n]`, with the bits of [`readout`].
pub fn row_readout(logits: &[f32]) -> Readout {
    let isa = Isa::best();
    let parts: Vec<SoftmaxPart> =
        logits.chunks(CHUNK).map(|chunk| isa.run(Capped(chunk))).collect();
    combine(isa, &parts)
}

/// Computes all rows and the chunks of each: `pick` receives a row's index, a chunk's first column
/// and its mapped logits, `done` a row's result and the picked values.
fn walk<T: Copy + Send>(
    hidden: &[f32],
    weight: Panels<'_>,
    map: LogitMap,
    pick: impl Fn(usize, usize, &[f32]) -> T + Sync,
    mut done: impl FnMut(Readout, Vec<T>),
) {
    let isa = Isa::best();
    for (block, rows) in hidden.chunks(ROWS * weight.k).enumerate() {
        let read = |logits: &mut Vec<f32>, index: usize| -> Vec<(SoftmaxPart, T)> {
            let chunk = chunk(weight, index);
            products(rows, chunk, logits);
            let mut parts = Vec::with_capacity(logits.len() / chunk.n);
            for (row, logits) in logits.chunks_exact_mut(chunk.n).enumerate() {
                let part = isa.run(Summarise { row: logits, map });
                parts.push((part, pick(block * ROWS + row, index * CHUNK, logits)));
            }
            parts
        };
        let chunks: Vec<Vec<(SoftmaxPart, T)>> =
            (0..weight.n.div_ceil(CHUNK)).into_par_iter().map_init(Vec::new, read).collect();
        for row in 0..rows.len() / weight.k {
            let (parts, picked): (Vec<SoftmaxPart>, _) =
                chunks.iter().map(|chunk| chunk[row]).unzip();
            done(combine(isa, &parts), picked);
        }
    }
}

/// The columns of one chunk.
fn chunk(weight: Panels<'_>, index: usize) -> Panels<'_> {
    let first = index * (CHUNK / PANEL);
    weight.range(first..weight.n.div_ceil(PANEL).min(first + CHUNK / PANEL))
}

fn products(rows: &[f32], chunk: Panels<'_>, logits: &mut Vec<f32>) {
    logits.resize(rows.len() / chunk.k * chunk.n, 0.0);
    gemm::matmul(rows, chunk, gemm::Addends::default(), logits);
}

/// One chunk of one row; the logits are mapped in place.
struct Summarise<'a> {
    row: &'a mut [f32],
    map: LogitMap,
}

impl Kernel for Summarise<'_> {
    type Output = SoftmaxPart;

    #[inline(always)]
    fn run<L: F32x16>(self) -> SoftmaxPart {
        if let Some(cap) = self.map.cap {
            cap_all::<L>(self.row, cap);
        }
        if let Some(scale) = self.map.scale {
            self.row.iter_mut().for_each(|z| *z *= scale);
        }
        Capped(self.row).run::<L>()
    }
}

/// One chunk of one row whose logits are mapped already.
struct Capped<'a>(&'a [f32]);

impl Kernel for Capped<'_> {
    type Output = SoftmaxPart;

    #[inline(always)]
    fn run<L: F32x16>(self) -> SoftmaxPart {
        let (vectors, rest) = self.0.as_chunks::<LANES>();
        let mut max = L::load_part(rest, f32::NEG_INFINITY);
        for z in vectors {
            max = max.max(L::load(z));
        }
        let max = max.largest();
        let (mut sum, mut weighted) = (L::splat(0.0), L::splat(0.0));
        for z in vectors {
            accumulate(L::load(z), max, &mut sum, &mut weighted);
        }
        let rest = L::load_part(rest, f32::NEG_INFINITY);
        accumulate(rest, max, &mut sum, &mut weighted);
        SoftmaxPart { max, sum: sum.sum(), weighted: weighted.sum() }
    }
}

#[inline(always)]
fn accumulate<L: F32x16>(z: L, max: f32, sum: &mut L, weighted: &mut L) {
    // A lane past the end is −∞; the bound keeps its 0 · −∞ from being a NaN, and passes a NaN on.
    let shift = L::splat(NOTHING).max(z.sub(L::splat(max)));
    let e = exp(shift);
    *sum = sum.add(e);
    *weighted = e.mul_add(shift, *weighted);
}

#[inline(always)]
fn cap_all<L: F32x16>(row: &mut [f32], cap: f32) {
    let (vectors, rest) = row.as_chunks_mut::<LANES>();
    for z in vectors {
        softcap(L::load(z), cap).store(z);
    }
    softcap(L::load_part(rest, 0.0), cap).store_part(rest);
}

/// Combines chunks in order. There are few, so the sums are f64.
#[expect(clippy::cast_possible_truncation, reason = "the rounding to f32")]
fn combine(isa: Isa, parts: &[SoftmaxPart]) -> Readout {
    // A NaN anywhere reaches the sums, whichever maximum is taken.
    let max = parts.iter().fold(f32::NEG_INFINITY, |m, p| m.max(p.max));
    let shifts: Vec<f32> = parts.iter().map(|p| (p.max - max).max(NOTHING)).collect();
    let mut scales = vec![0.0; shifts.len()];
    isa.run(Map { function: Exp, from: &shifts, to: &mut scales });
    let (mut sum, mut weighted) = (0.0, 0.0);
    for ((part, shift), scale) in parts.iter().zip(shifts).zip(scales) {
        let (shift, scale) = (f64::from(shift), f64::from(scale));
        sum += scale * f64::from(part.sum);
        weighted += scale * (f64::from(part.weighted) + shift * f64::from(part.sum));
    }
    let log_sum = ln(sum);
    Readout {
        log_normalizer: (f64::from(max) + log_sum) as f32,
        entropy: (log_sum - weighted / sum) as f32,
        max,
        log_sum,
    }
}

#[derive(Clone, Copy)]
struct Exp;

impl Unary for Exp {
    #[inline(always)]
    fn apply<L: F32x16>(self, x: L) -> L {
        exp(x)
    }
}

/// The logarithm of a normal f64 of at least 1, by arithmetic alone, so that its bits are the same
/// on every machine: `2 artanh((m − 1) / (m + 1)) + e ln 2` for `x = m · 2^e`, `m` in `[¾, 1½)`.
fn ln(x: f64) -> f64 {
    if !x.is_finite() {
        return x;
    }
    let bits = x.to_bits();
    let mantissa = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    let exponent = (bits >> 52) as f64 - 1023.0;
    let (m, e) =
        if mantissa >= 1.5 { (mantissa / 2.0, exponent + 1.0) } else { (mantissa, exponent) };
    let s = (m - 1.0) / (m + 1.0);
    let square = s * s;
    // |s| ≤ 1/5: the terms after s²³ / 23 are below the last place.
    let series = (0..12).rev().fold(0.0, |sum, i| sum * square + 1.0 / f64::from(2 * i + 1));
    2.0 * s * series + e * std::f64::consts::LN_2
}

/// Computes `cap · tanh(x / cap)` of every number, with the bits of the logits in [`readout`].
pub fn cap_logits(logits: &[f32], cap: f32, out: &mut [f32]) {
    Isa::best().run(Map { function: Cap(cap), from: logits, to: out });
}

#[derive(Clone, Copy)]
struct Cap(f32);

impl Unary for Cap {
    #[inline(always)]
    fn apply<L: F32x16>(self, x: L) -> L {
        softcap(x, self.0)
    }
}

/// Operands and results of the forward of `(log p(target), entropy, log-normaliser)`, for its
/// backward.
#[derive(Clone, Copy, Debug)]
pub struct ForwardValues<'a> {
    /// `[R, k]`.
    pub hidden: &'a [f32],
    /// `[n, k]`.
    pub weight: Panels<'a>,
    /// The map to logits.
    pub map: LogitMap,
    /// `[R]`.
    pub targets: &'a [u32],
    /// `[R, 3]`: the forward's results.
    pub values: &'a [f32],
    /// `[R, 3]`: gradients of the values.
    pub grad: &'a [f32],
}

/// Destinations of the gradients; both are added to.
#[derive(Debug)]
pub struct ReadoutGradients<'a> {
    /// `[R, k]`.
    pub hidden: Option<&'a mut [f32]>,
    /// Panels of `[n, k]`.
    pub weight: Option<&'a mut [f32]>,
}

/// The backward of the readout, from logits that are recomputed, chunk by chunk.
///
/// With `p = e^(z − Z)`, entropy `H` and upstream `g`:
/// `dz = g_lp (onehot − p) − g_H p (log p + H) + g_Z p`, and through a scale and a cap
/// `du = scale dz (1 − (z / scale / cap)²)`. The gradient of a row is one chain along the
/// vocabulary, that of the weight one chain over rows.
pub fn readout_backward(forward: ForwardValues<'_>, gradients: &mut ReadoutGradients<'_>) {
    let k = forward.weight.k;
    let mut logits = Vec::new();
    for first in (0..forward.targets.len()).step_by(ROWS) {
        let rows = first..forward.targets.len().min(first + ROWS);
        let hidden = &forward.hidden[rows.start * k..rows.end * k];
        for index in 0..forward.weight.n.div_ceil(CHUNK) {
            let chunk = chunk(forward.weight, index);
            products(hidden, chunk, &mut logits);
            logits
                .par_chunks_mut(chunk.n)
                .enumerate()
                .for_each(|(row, z)| grad_logits(forward, rows.start + row, index * CHUNK, z));
            if let Some(out) = &mut gradients.hidden {
                backward::grad_input(&logits, chunk, &mut out[rows.start * k..rows.end * k]);
            }
            if let Some(out) = &mut gradients.weight {
                let len = chunk.n.next_multiple_of(PANEL) * k;
                let out = &mut out[index * CHUNK * k..][..len];
                backward::grad_weight(hidden, &logits, chunk.n, k, out);
            }
        }
    }
}

/// One row's logits of a chunk that begins at column `first`, replaced by their gradients.
fn grad_logits(forward: ForwardValues<'_>, row: usize, first: usize, logits: &mut [f32]) {
    let [grad, values] = [forward.grad, forward.values].map(|v| &v[3 * row..3 * row + 3]);
    let target = (forward.targets[row] as usize).checked_sub(first);
    Isa::best().run(GradLogits {
        logits,
        map: forward.map,
        normalizer: values[2],
        entropy: values[1],
        factor: grad[2] - grad[0],
        grad_entropy: grad[1],
        grad_target: grad[0],
        target,
    });
}

struct GradLogits<'a> {
    logits: &'a mut [f32],
    map: LogitMap,
    normalizer: f32,
    entropy: f32,
    factor: f32,
    grad_entropy: f32,
    grad_target: f32,
    target: Option<usize>,
}

impl GradLogits<'_> {
    #[inline(always)]
    fn of<L: F32x16>(&self, u: L, onehot: L) -> L {
        let capped = match self.map.cap {
            Some(cap) => softcap(u, cap),
            None => u,
        };
        let z = match self.map.scale {
            Some(scale) => capped.mul(L::splat(scale)),
            None => capped,
        };
        let log_p = z.sub(L::splat(self.normalizer));
        let surprise = log_p.add(L::splat(self.entropy));
        let factor = L::splat(-self.grad_entropy).mul_add(surprise, L::splat(self.factor));
        let dz = exp(log_p).mul_add(factor, L::splat(self.grad_target).mul(onehot));
        let dz = match self.map.scale {
            Some(scale) => dz.mul(L::splat(scale)),
            None => dz,
        };
        match self.map.cap {
            Some(cap) => {
                let t = capped.div(L::splat(cap));
                dz.mul(L::splat(1.0).sub(t.mul(t)))
            }
            None => dz,
        }
    }
}

impl Kernel for GradLogits<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: F32x16>(mut self) {
        let logits = std::mem::take(&mut self.logits);
        for (index, values) in logits.chunks_mut(LANES).enumerate() {
            let mut onehot = [0.0; LANES];
            if let Some(target) = self.target
                && target / LANES == index
            {
                onehot[target % LANES] = 1.0;
            }
            self.of(L::load_part(values, 0.0), L::load(&onehot)).store_part(values);
        }
    }
}

/// Adds the gradient of the input of [`gemm::columns`]: `out [m, k] += grad [m, columns] · W`, one
/// chain per element in the order of the columns.
pub fn columns_grad_input(grad: &[f32], weight: Panels<'_>, columns: &[u32], out: &mut [f32]) {
    let (n, k) = (columns.len(), weight.k);
    let mut gathered = vec![0.0; n.next_multiple_of(PANEL) * k];
    for (i, column) in columns.iter().enumerate() {
        for (col, value) in lane(&mut gathered, i, k).enumerate() {
            *value = gemm::at(weight, *column as usize, col);
        }
    }
    let data = PanelData::F32(&gathered);
    backward::grad_input(grad, Panels { data, n, k }, out);
}

/// Adds the gradient of the weight of [`gemm::columns`], in panels; other columns keep their
/// values. A repeated column gets the sum, in the order given.
pub fn columns_grad_weight(x: &[f32], grad: &[f32], columns: &[u32], k: usize, out: &mut [f32]) {
    let n = columns.len();
    let mut gathered = vec![0.0; n.next_multiple_of(PANEL) * k];
    backward::grad_weight(x, grad, n, k, &mut gathered);
    for (i, column) in columns.iter().enumerate() {
        let from = lane(&mut gathered, i, k);
        for (sum, value) in lane(out, *column as usize, k).zip(from) {
            *sum += *value;
        }
    }
}

/// The numbers of one row of a matrix in panels.
fn lane(panels: &mut [f32], row: usize, k: usize) -> impl Iterator<Item = &mut f32> {
    let panel = &mut panels[row / PANEL * k * PANEL..][..k * PANEL];
    panel.iter_mut().skip(row % PANEL).step_by(PANEL)
}

#[cfg(test)]
mod tests;

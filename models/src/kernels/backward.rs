//! Products for the backward pass: gradients of a product's input and of its weight.
//!
//! Both are the same sum `C[i][j] += Σ_d A[d][i] · B[d][j]` over blocks of [`DEPTH`] steps:
//! operands are packed once a block, tiles of `C` are loaded, run along the block and stored. An
//! element is one chain of fused multiply-adds in ascending `d`, whatever the blocks, tiles,
//! threads or instructions: stopping in an f32 and going on from it changes no bit.

#![expect(
    clippy::inline_always,
    reason = "a kernel that is not inlined is compiled without its instructions"
)]

use rayon::prelude::*;

use super::simd::{F32x16, Isa, Kernel, LANES};
use crate::kernels::panels::{PANEL, PanelData, Panels};

/// Steps of the reduction that are packed at a time: a block of `B` (64 KiB) stays in L2.
const DEPTH: usize = 512;

/// Rows of a tile of `C`.
const ROWS: usize = 12;

/// Vectors across a tile of `C`.
const VECTORS: usize = 2;

/// Columns of a tile of `C`.
const COLUMNS: usize = VECTORS * LANES;

/// Tiles of rows per task, so that a block of `B` is read from L2 more than once.
const TASK_TILES: usize = 2;

/// One step of a tile's `A`: its rows.
type StepA = [f32; ROWS];

/// One step of a tile's `B`, and one row of a tile of `C`: its columns.
type StepB = [[f32; LANES]; VECTORS];

/// Adds the gradient of a product's input: `out [m, k] += grad [m, n] · W`.
///
/// An element is one chain along `n` that continues from the value in `out`, so a row depends on
/// itself only, and a caller may pass the columns of `W` in consecutive pieces.
pub fn grad_input(grad: &[f32], weight: Panels<'_>, out: &mut [f32]) {
    grad_input_with(Isa::best(), grad, weight, out);
}

fn grad_input_with(isa: Isa, grad: &[f32], weight: Panels<'_>, out: &mut [f32]) {
    let (n, k) = (weight.n, weight.k);
    if out.is_empty() {
        return;
    }
    let mut columns = Vec::new();
    for start in (0..n).step_by(DEPTH) {
        let depth = DEPTH.min(n - start);
        columns.resize(k.div_ceil(COLUMNS) * depth, StepB::default());
        columns.par_chunks_mut(depth).enumerate().for_each(|(block, to)| {
            isa.run(Transpose { weight, row: start, col: block * COLUMNS, to });
        });
        out.par_chunks_mut(TASK_TILES * ROWS * k)
            .zip(grad.par_chunks(TASK_TILES * ROWS * n))
            .for_each(|(out, grad)| add_rows(isa, grad, (n, start), &columns, (k, out)));
    }
}

/// The rows of one task: `grad` is `[rows, n]`, of which `depth` columns from `start` count.
fn add_rows(
    isa: Isa,
    grad: &[f32],
    (n, start): (usize, usize),
    columns: &[StepB],
    (k, out): (usize, &mut [f32]),
) {
    let depth = columns.len() / k.div_ceil(COLUMNS);
    let tiles: Vec<Vec<StepA>> =
        grad.chunks(ROWS * n).map(|rows| pack_across(rows, n, start, depth)).collect();
    for (block, b) in columns.chunks_exact(depth).enumerate() {
        for (a, out) in tiles.iter().zip(out.chunks_mut(ROWS * k)) {
            let mut tile = [StepB::default(); ROWS];
            let from = block * COLUMNS;
            let width = COLUMNS.min(k - from);
            for (row, out) in tile.iter_mut().zip(out.chunks_exact(k)) {
                row.as_flattened_mut()[..width].copy_from_slice(&out[from..from + width]);
            }
            isa.run(GradientTile { a, b, c: &mut tile });
            for (row, out) in tile.iter().zip(out.chunks_exact_mut(k)) {
                out[from..from + width].copy_from_slice(&row.as_flattened()[..width]);
            }
        }
    }
}

/// At most [`ROWS`] rows `[.., n]` of a gradient, `depth` columns from `start`, step by step.
fn pack_across(rows: &[f32], n: usize, start: usize, depth: usize) -> Vec<StepA> {
    let mut steps = vec![StepA::default(); depth];
    for (i, row) in rows.chunks_exact(n).enumerate() {
        for (step, value) in steps.iter_mut().zip(&row[start..start + depth]) {
            step[i] = *value;
        }
    }
    steps
}

/// Adds the gradient of a weight, in panels: `out [panels, k, PANEL] += gradᵀ [n, m] · x [m, k]`.
///
/// An element is one chain over the rows in ascending order that continues from the value in `out`:
/// a batch passed in consecutive pieces gives the bits of the undivided batch, and a row of zeros
/// changes none.
pub fn grad_weight(x: &[f32], grad: &[f32], n: usize, k: usize, out: &mut [f32]) {
    grad_weight_with(Isa::best(), (x, grad), (n, k), out);
}

fn grad_weight_with(
    isa: Isa,
    (x, grad): (&[f32], &[f32]),
    (n, k): (usize, usize),
    out: &mut [f32],
) {
    if out.is_empty() {
        return;
    }
    let mut tiles = Vec::new();
    for (x, grad) in x.chunks(DEPTH * k).zip(grad.chunks(DEPTH * n)) {
        let depth = x.len() / k;
        tiles.resize(k.div_ceil(ROWS) * depth, StepA::default());
        tiles
            .par_chunks_mut(depth)
            .enumerate()
            .for_each(|(tile, to)| pack_down(x, k, tile * ROWS, to));
        out.par_chunks_mut(VECTORS * k * PANEL).enumerate().for_each(|(block, out)| {
            let mut steps = vec![StepB::default(); depth];
            pack_down(grad, n, block * COLUMNS, &mut steps);
            add_panels(isa, &tiles, &steps, (k, out));
        });
    }
}

/// The panels of one task: `out` is `[VECTORS or fewer, k, PANEL]`.
fn add_panels(isa: Isa, tiles: &[StepA], b: &[StepB], (k, out): (usize, &mut [f32])) {
    for (index, a) in tiles.chunks_exact(b.len()).enumerate() {
        let first = index * ROWS * PANEL;
        let len = (ROWS * PANEL).min(k * PANEL - first);
        let mut tile = [StepB::default(); ROWS];
        for (v, panel) in out.chunks_exact(k * PANEL).enumerate() {
            let values = panel[first..first + len].chunks_exact(PANEL);
            for (row, values) in tile.iter_mut().zip(values) {
                row[v].copy_from_slice(values);
            }
        }
        isa.run(GradientTile { a, b, c: &mut tile });
        for (v, panel) in out.chunks_exact_mut(k * PANEL).enumerate() {
            let values = panel[first..first + len].chunks_exact_mut(PANEL);
            for (row, values) in tile.iter().zip(values) {
                values.copy_from_slice(&row[v]);
            }
        }
    }
}

/// Columns of `rows [steps, width]` from `first`, one step a row; columns past `width` stay zero.
fn pack_down<S: PackedStep>(rows: &[f32], width: usize, first: usize, to: &mut [S]) {
    for (row, step) in rows.chunks_exact(width).zip(to) {
        let values = &row[first..width.min(first + S::LEN)];
        let step = step.values();
        step[..values.len()].copy_from_slice(values);
        step[values.len()..].fill(0.0);
    }
}

/// The numbers of one step of a packed operand.
trait PackedStep: Send + Sync {
    const LEN: usize;
    fn values(&mut self) -> &mut [f32];
}

impl PackedStep for StepA {
    const LEN: usize = ROWS;
    fn values(&mut self) -> &mut [f32] {
        self
    }
}

impl PackedStep for StepB {
    const LEN: usize = COLUMNS;
    fn values(&mut self) -> &mut [f32] {
        self.as_flattened_mut()
    }
}

/// Rows `row..` and columns `col..` of a weight as steps of `B`: a step is one row. Columns past
/// `k` stay zero. `row` is a multiple of [`PANEL`].
struct Transpose<'a> {
    weight: Panels<'a>,
    row: usize,
    col: usize,
    to: &'a mut [StepB],
}

impl Kernel for Transpose<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: F32x16>(self) {
        let k = self.weight.k;
        let width = COLUMNS.min(k - self.col);
        for (panel, steps) in self.to.chunks_mut(PANEL).enumerate() {
            let base = ((self.row / PANEL + panel) * k + self.col) * PANEL;
            for col in 0..COLUMNS {
                let values = if col < width {
                    widen::<L>(self.weight.data, base + col * PANEL)
                } else {
                    [0.0; LANES]
                };
                for (step, value) in steps.iter_mut().zip(&values) {
                    step[col / LANES][col % LANES] = *value;
                }
            }
        }
    }
}

/// One column of a panel as f32.
#[inline(always)]
fn widen<L: F32x16>(data: PanelData<'_>, at: usize) -> [f32; PANEL] {
    match data {
        PanelData::F32(data) => *lanes(data, at),
        PanelData::F16(data) => L::load_f16(lanes(data, at)).to_array(),
        PanelData::Bf16(data) => L::load_bf16(lanes(data, at)).to_array(),
    }
}

#[inline(always)]
fn lanes<T>(data: &[T], at: usize) -> &[T; LANES] {
    data[at..].first_chunk().expect("panels hold complete vectors")
}

/// `C += Σ Aᵀ · B` on one tile.
struct GradientTile<'a> {
    a: &'a [StepA],
    b: &'a [StepB],
    c: &'a mut [StepB; ROWS],
}

impl Kernel for GradientTile<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: F32x16>(self) {
        // With sixteen lanes in one register a tile's sums fit at once, otherwise a quarter of
        // them.
        if L::ACCUMULATORS >= ROWS * VECTORS {
            add_product::<L, ROWS, VECTORS>(self.a, self.b, (0, 0), self.c);
        } else {
            for row in (0..ROWS).step_by(ROWS / 2) {
                for vector in 0..VECTORS {
                    add_product::<L, { ROWS / 2 }, 1>(self.a, self.b, (row, vector), self.c);
                }
            }
        }
    }
}

/// `R` rows and `V` vectors of a tile, sums in registers.
#[inline(always)]
fn add_product<L: F32x16, const R: usize, const V: usize>(
    a: &[StepA],
    b: &[StepB],
    (row, vector): (usize, usize),
    c: &mut [StepB; ROWS],
) {
    let mut sums = [[L::splat(0.0); V]; R];
    for (r, sums) in sums.iter_mut().enumerate() {
        for (v, sum) in sums.iter_mut().enumerate() {
            *sum = L::load(&c[row + r][vector + v]);
        }
    }
    for (a, b) in a.iter().zip(b) {
        let mut columns = [L::splat(0.0); V];
        for (v, column) in columns.iter_mut().enumerate() {
            *column = L::load(&b[vector + v]);
        }
        for (r, sums) in sums.iter_mut().enumerate() {
            let x = L::splat(a[row + r]);
            for (sum, column) in sums.iter_mut().zip(&columns) {
                *sum = x.mul_add(*column, *sum);
            }
        }
    }
    for (r, sums) in sums.iter().enumerate() {
        for (v, sum) in sums.iter().enumerate() {
            sum.store(&mut c[row + r][vector + v]);
        }
    }
}

/// Adds the rows of `grad [m, n]` to `out [n]` in ascending order.
pub fn sum_rows(grad: &[f32], out: &mut [f32]) {
    for row in grad.chunks_exact(out.len().max(1)) {
        for (sum, value) in out.iter_mut().zip(row) {
            *sum += value;
        }
    }
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::{DEPTH, grad_input, grad_input_with, grad_weight, grad_weight_with, sum_rows};
    use crate::gradcheck::{random, values_of};
    use crate::kernels::panels::{PANEL, PanelData, Panels, pack};
    use crate::kernels::simd::Isa;

    /// `(m, n, k)`: tiles and panels cut short, one and more blocks of depth.
    const SHAPES: [(usize, usize, usize); 8] = [
        (1, 1, 1),
        (1, 17, 5),
        (3, 16, 32),
        (12, 33, 31),
        (25, 40, 70),
        (13, DEPTH + 9, 20),
        (DEPTH + 3, 20, 9),
        (2 * DEPTH, 5, 33),
    ];

    fn normal(seed: u64, len: usize) -> Vec<f32> {
        values_of(&random(seed, len))
    }

    fn bits(numbers: &[f32]) -> Vec<u32> {
        numbers.iter().map(|x| x.to_bits()).collect()
    }

    /// The chain, on row-major weights.
    fn plain_grad_input(grad: &[f32], weight: &[f32], (n, k): (usize, usize), out: &mut [f32]) {
        for (grad, out) in grad.chunks_exact(n).zip(out.chunks_exact_mut(k)) {
            for (g, weight) in grad.iter().zip(weight.chunks_exact(k)) {
                for (out, w) in out.iter_mut().zip(weight) {
                    *out = g.mul_add(*w, *out);
                }
            }
        }
    }

    fn plain_grad_weight(x: &[f32], grad: &[f32], (n, k): (usize, usize), out: &mut [f32]) {
        for (x, grad) in x.chunks_exact(k).zip(grad.chunks_exact(n)) {
            for (g, out) in grad.iter().zip(out.chunks_exact_mut(k)) {
                for (out, x) in out.iter_mut().zip(x) {
                    *out = g.mul_add(*x, *out);
                }
            }
        }
    }

    #[test]
    fn input_gradient_is_one_chain_for_every_storage() {
        for (m, n, k) in SHAPES {
            let grad = normal(1, m * n);
            let packed = pack(&normal(2, n * k), n, k);
            let halves: Vec<f16> = packed.iter().copied().map(f16::from_f32).collect();
            let brains: Vec<bf16> = packed.iter().copied().map(bf16::from_f32).collect();
            let widened = [
                packed.clone(),
                halves.iter().map(|x| x.to_f32()).collect(),
                brains.iter().map(|x| x.to_f32()).collect(),
            ];
            let storages =
                [PanelData::F32(&packed), PanelData::F16(&halves), PanelData::Bf16(&brains)];
            for (data, widened) in storages.into_iter().zip(&widened) {
                let rows = crate::kernels::panels::unpack(widened, n, k);
                let mut want = normal(3, m * k);
                let start = want.clone();
                plain_grad_input(&grad, &rows, (n, k), &mut want);
                for isa in Isa::available() {
                    let mut got = start.clone();
                    grad_input_with(isa, &grad, Panels { data, n, k }, &mut got);
                    assert_eq!(bits(&got), bits(&want), "{m} {n} {k} {}", isa.name());
                }
            }
        }
    }

    #[test]
    fn weight_gradient_is_one_chain_over_rows() {
        for (m, n, k) in SHAPES {
            let (x, grad) = (normal(1, m * k), normal(2, m * n));
            let mut want = normal(3, n * k);
            let start = pack(&want, n, k);
            plain_grad_weight(&x, &grad, (n, k), &mut want);
            for isa in Isa::available() {
                let mut got = start.clone();
                grad_weight_with(isa, (&x, &grad), (n, k), &mut got);
                let what = format!("{m} {n} {k} {}", isa.name());
                assert_eq!(bits(&got), bits(&pack(&want, n, k)), "{what}");
            }
        }
    }

    #[test]
    fn batch_in_pieces_has_the_same_gradient() {
        let (m, n, k) = (DEPTH + 40, 37, 19);
        let (x, grad) = (normal(1, m * k), normal(2, m * n));
        let len = n.div_ceil(PANEL) * k * PANEL;
        let mut undivided = vec![0.0; len];
        grad_weight(&x, &grad, n, k, &mut undivided);
        for split in [1, 7, DEPTH - 1, DEPTH + 1] {
            let mut pieces = vec![0.0; len];
            grad_weight(&x[..split * k], &grad[..split * n], n, k, &mut pieces);
            grad_weight(&x[split * k..], &grad[split * n..], n, k, &mut pieces);
            assert_eq!(bits(&pieces), bits(&undivided), "split at {split}");
        }
    }

    #[test]
    fn row_gradient_is_independent_of_other_rows() {
        let (m, n, k) = (40, 600, 50);
        let grad = normal(1, m * n);
        let packed = pack(&normal(2, n * k), n, k);
        let weight = Panels { data: PanelData::F32(&packed), n, k };
        let mut together = vec![0.0; m * k];
        grad_input(&grad, weight, &mut together);
        for (row, want) in grad.chunks_exact(n).zip(together.chunks_exact(k)) {
            let mut alone = vec![0.0; k];
            grad_input(row, weight, &mut alone);
            assert_eq!(bits(&alone), bits(want));
        }
    }

    #[test]
    fn rows_are_summed_in_order() {
        let mut out = vec![0.0; 2];
        sum_rows(&[1e8, 1.0, -1e8, 2.0, 1.0, 3.0], &mut out);
        assert_eq!(out, [1.0, 6.0]);
    }
}

//! Packs tensors from a file into panels, block by block.
//!
//! A block is the rows of some complete panels, about a MiB. One thread reads, converts, checks and
//! packs it, so that peak memory is the packed matrix plus a block and its conversion for each
//! thread.

use std::ops::Range;

use candle_core::{Device, Tensor, WithDType};
use half::slice::HalfFloatSliceExt;
use half::vec::HalfBitsVecExt;
use half::{bf16, f16};
use rayon::prelude::*;

use super::checkpoint::TensorRef;
use super::float_type::FloatType;
use crate::error::{ModelError, Result};
use crate::kernels::bf16_pairs::{Bf16Matrix, PairRow, pack_panel, pair_rows};
use crate::kernels::int8::Int8Matrix;
use crate::kernels::panels::PANEL;
use crate::packed::Matrix;

/// Bytes of a file that one thread reads at once.
const BLOCK_BYTES: usize = 1 << 20;
/// Numbers converted at once, on the stack.
const CHUNK: usize = 1024;

/// A number type of packed weights.
pub(super) trait Number: WithDType + Send + Sync {
    /// Zeros, in memory that the system allocates only when it is touched.
    fn zeros(len: usize) -> Vec<Self>;
    /// Converts little-endian bytes of a type, as many numbers as `out` has.
    fn decode(dtype: FloatType, bytes: &[u8], out: &mut [Self]);
    /// Whether all are finite; without branches, because it runs over every weight.
    fn all_finite(numbers: &[Self]) -> bool;
    /// Whether this number is finite.
    fn finite(self) -> bool;
}

impl Number for f32 {
    fn zeros(len: usize) -> Vec<f32> {
        vec![0.0; len]
    }

    fn decode(dtype: FloatType, bytes: &[u8], out: &mut [f32]) {
        match dtype {
            FloatType::F32 => f32s(bytes, out),
            FloatType::F16 => {
                for (bytes, out) in bytes.chunks(CHUNK * 2).zip(out.chunks_mut(CHUNK)) {
                    let mut halves = [f16::ZERO; CHUNK];
                    let halves = &mut halves[..out.len()];
                    f16s(bytes, halves);
                    halves.convert_to_f32_slice(out);
                }
            }
            FloatType::Bf16 => {
                for (bytes, out) in bytes.chunks_exact(2).zip(out) {
                    *out = bf16::from_le_bytes([bytes[0], bytes[1]]).to_f32();
                }
            }
        }
    }

    fn all_finite(numbers: &[f32]) -> bool {
        let largest = |most: u32, x: &f32| most.max(x.to_bits() & 0x7fff_ffff);
        numbers.iter().fold(0, largest) < f32::INFINITY.to_bits()
    }

    fn finite(self) -> bool {
        self.is_finite()
    }
}

macro_rules! half_number {
    ($half:ty, $same:pat, $decode:ident) => {
        impl Number for $half {
            fn zeros(len: usize) -> Vec<$half> {
                vec![0_u16; len].reinterpret_into()
            }

            fn decode(dtype: FloatType, bytes: &[u8], out: &mut [$half]) {
                match dtype {
                    $same => $decode(bytes, out),
                    other => {
                        let chunks = bytes.chunks(CHUNK * other.byte_len());
                        for (bytes, out) in chunks.zip(out.chunks_mut(CHUNK)) {
                            let mut floats = [0.0; CHUNK];
                            let floats = &mut floats[..out.len()];
                            f32::decode(other, bytes, floats);
                            out.convert_from_f32_slice(floats);
                        }
                    }
                }
            }

            fn all_finite(numbers: &[$half]) -> bool {
                let largest = |most: u16, x: &$half| most.max(x.to_bits() & 0x7fff);
                numbers.iter().fold(0, largest) < <$half>::INFINITY.to_bits()
            }

            fn finite(self) -> bool {
                self.is_finite()
            }
        }
    };
}

half_number!(f16, FloatType::F16, f16s);
half_number!(bf16, FloatType::Bf16, bf16s);

fn f32s(bytes: &[u8], out: &mut [f32]) {
    for (bytes, out) in bytes.chunks_exact(4).zip(out) {
        *out = f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
}

fn f16s(bytes: &[u8], out: &mut [f16]) {
    for (bytes, out) in bytes.chunks_exact(2).zip(out) {
        *out = f16::from_le_bytes([bytes[0], bytes[1]]);
    }
}

fn bf16s(bytes: &[u8], out: &mut [bf16]) {
    for (bytes, out) in bytes.chunks_exact(2).zip(out) {
        *out = bf16::from_le_bytes([bytes[0], bytes[1]]);
    }
}

/// Rows of a tensor `[…, k]` as a packed matrix of numbers `T`.
pub(super) fn matrix<T: Number>(
    tensor: TensorRef<'_>,
    rows: Range<usize>,
    k: usize,
) -> Result<Matrix> {
    let (n, panel_len) = (rows.len(), k * PANEL);
    let mut panels = T::zeros(n.div_ceil(PANEL) * panel_len);
    let blocks = PanelBlocks { tensor, rows, k };
    blocks.fill(&mut panels, panel_len, |rows: &[T], panel| interleave(rows, k, panel))?;
    let shape = (n.div_ceil(PANEL), k, PANEL);
    Matrix::from_panels(Tensor::from_vec(panels, shape, &Device::Cpu)?, n, k)
}

/// Rows of a tensor `[…, k]` as pairs of bf16.
pub(super) fn bf16_pairs(
    tensor: TensorRef<'_>,
    rows: Range<usize>,
    k: usize,
) -> Result<Bf16Matrix> {
    let (n, panel_len) = (rows.len(), pair_rows(k));
    let mut panels = vec![PairRow::default(); n.div_ceil(PANEL) * panel_len];
    let blocks = PanelBlocks { tensor, rows, k };
    blocks.fill(&mut panels, panel_len, |rows: &[bf16], panel| pack_panel(rows, k, panel))?;
    Ok(Bf16Matrix::from_panels(panels, n, k))
}

/// Rows of a tensor `[…, k]`, to be packed.
struct PanelBlocks<'a> {
    tensor: TensorRef<'a>,
    rows: Range<usize>,
    k: usize,
}

impl PanelBlocks<'_> {
    /// Reads the rows as numbers `T`, block by block on several threads, and packs those of each
    /// panel into `panel_len` elements of `panels`.
    fn fill<T: Number, E: Send>(
        &self,
        panels: &mut [E],
        panel_len: usize,
        pack: impl Fn(&[T], &mut [E]) + Sync,
    ) -> Result<()> {
        let PanelBlocks { tensor, ref rows, k } = *self;
        let block_panels = panels_per_block(tensor.dtype, k);
        let blocks = panels.par_chunks_mut(block_panels * panel_len).enumerate();
        blocks.try_for_each_init(Vec::new, |numbers, (block, panels)| {
            let start = rows.start + block * block_panels * PANEL;
            let block = start..rows.end.min(start + block_panels * PANEL);
            numbers.resize(block.len() * k, T::zero());
            fill(tensor, block.start * k, numbers)?;
            for (rows, panel) in numbers.chunks(PANEL * k).zip(panels.chunks_mut(panel_len)) {
                pack(rows, panel);
            }
            Ok(())
        })
    }
}

/// Rows of a tensor `[…, k]` as 8-bit integers, quantised block by block.
pub(super) fn int8(tensor: TensorRef<'_>, rows: Range<usize>, k: usize) -> Result<Int8Matrix> {
    let refused = |error: ModelError| tensor.error(error.to_string());
    let mut matrix = Int8Matrix::zeros(rows.len(), k).map_err(refused)?;
    let block_rows = panels_per_block(tensor.dtype, k) * PANEL;
    for start in rows.clone().step_by(block_rows) {
        let end = rows.end.min(start + block_rows);
        let numbers = to_f32(tensor, start * k..end * k)?;
        let first = start - rows.start;
        matrix.set_rows(first, &numbers).map_err(refused)?;
    }
    Ok(matrix)
}

/// Numbers of a tensor as f32, in its own order.
pub(crate) fn to_f32(tensor: TensorRef<'_>, range: Range<usize>) -> Result<Vec<f32>> {
    let mut numbers = vec![0.0; range.len()];
    fill(tensor, range.start, &mut numbers)?;
    Ok(numbers)
}

/// Numbers of a tensor as bf16, in its own order, read by several threads.
pub(super) fn to_bf16(tensor: TensorRef<'_>, range: Range<usize>) -> Result<Vec<bf16>> {
    let mut numbers = bf16::zeros(range.len());
    let block = BLOCK_BYTES / tensor.dtype.byte_len();
    let blocks = numbers.par_chunks_mut(block).enumerate();
    blocks.try_for_each(|(i, out)| fill(tensor, range.start + i * block, out))?;
    Ok(numbers)
}

fn panels_per_block(dtype: FloatType, k: usize) -> usize {
    (BLOCK_BYTES / (PANEL * k * dtype.byte_len())).max(1)
}

/// Fills `numbers` from a tensor's number `start` on, in blocks.
fn fill<T: Number>(tensor: TensorRef<'_>, start: usize, numbers: &mut [T]) -> Result<()> {
    let width = tensor.dtype.byte_len();
    let mut bytes = vec![0; BLOCK_BYTES.min(numbers.len() * width)];
    let mut at = start;
    for out in numbers.chunks_mut(BLOCK_BYTES / width) {
        let bytes = &mut bytes[..out.len() * width];
        let offset = tensor.offset + (at * width) as u64;
        tensor.file.read_exact_at(bytes, offset)?;
        T::decode(tensor.dtype, bytes, out);
        if !T::all_finite(out) {
            return Err(not_finite(tensor, at, bytes, out));
        }
        at += out.len();
    }
    Ok(())
}

/// The error for a number that is not finite; says whether it was so in the file.
#[cold]
fn not_finite<T: Number>(
    tensor: TensorRef<'_>,
    start: usize,
    bytes: &[u8],
    out: &[T],
) -> ModelError {
    let position = out.iter().position(|x| !x.finite()).unwrap_or(0);
    let mut stored = vec![0.0; out.len()];
    f32::decode(tensor.dtype, bytes, &mut stored);
    let stored = stored[position];
    let index = index(start + position, tensor.shape);
    if stored.is_finite() {
        tensor.error(format!("{stored} at {index:?} is too large for {:?}", T::DTYPE))
    } else {
        tensor.error(format!("{stored} at {index:?} is not a finite number"))
    }
}

/// The multi-dimensional index of a row-major position.
fn index(mut position: usize, shape: &[usize]) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for (slot, dim) in index.iter_mut().zip(shape).rev() {
        *slot = position % dim;
        position /= dim;
    }
    index
}

/// Interleaves up to [`PANEL`] rows of `k` numbers into one panel.
fn interleave<T: Copy>(rows: &[T], k: usize, panel: &mut [T]) {
    /// Columns per step: their part of a panel stays in the first cache while all rows are
    /// interleaved.
    const COLUMNS: usize = 256;
    for start in (0..k).step_by(COLUMNS) {
        let end = k.min(start + COLUMNS);
        let part = &mut panel[start * PANEL..end * PANEL];
        for (row, numbers) in rows.chunks_exact(k).enumerate() {
            let columns = part.chunks_exact_mut(PANEL);
            for (column, number) in columns.zip(&numbers[start..end]) {
                column[row] = *number;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::{CHUNK, FloatType, Number, index, interleave};
    use crate::kernels::panels::{PANEL, pack};

    #[test]
    fn panels_by_blocks_are_panels() {
        for (n, k) in [(1, 1), (16, 3), (7, 600), (16, 256), (3, 257)] {
            let rows: Vec<f32> = (0..n * k).map(|i| i as f32).collect();
            let mut panel = vec![0.0; PANEL * k];
            interleave(&rows, k, &mut panel);
            assert_eq!(panel, pack(&rows, n, k), "[{n}, {k}]");
        }
    }

    #[test]
    fn positions_are_indices() {
        assert_eq!(index(0, &[2, 3]), [0, 0]);
        assert_eq!(index(5, &[2, 3]), [1, 2]);
        assert_eq!(index(23, &[2, 3, 4]), [1, 2, 3]);
        assert_eq!(index(4, &[5]), [4]);
    }

    /// Checks that every conversion equals that of single numbers, at lengths around the chunk.
    fn check<T: Number + PartialEq>(from_f32: fn(f32) -> T) {
        for len in [0, 1, CHUNK - 1, CHUNK, 2 * CHUNK + 5] {
            let values: Vec<f32> = (0..len).map(|i| (i as f32 - 700.0) * 0.37).collect();
            let halves = values.iter().map(|x| f16::from_f32(*x));
            let brains = values.iter().map(|x| bf16::from_f32(*x));
            let cases: [(FloatType, Vec<u8>, Vec<f32>); 3] = [
                (
                    FloatType::F32,
                    values.iter().flat_map(|x| x.to_le_bytes()).collect(),
                    values.clone(),
                ),
                (
                    FloatType::F16,
                    halves.clone().flat_map(f16::to_le_bytes).collect(),
                    halves.map(f16::to_f32).collect(),
                ),
                (
                    FloatType::Bf16,
                    brains.clone().flat_map(bf16::to_le_bytes).collect(),
                    brains.map(bf16::to_f32).collect(),
                ),
            ];
            for (dtype, bytes, stored) in cases {
                let mut out = T::zeros(len);
                T::decode(dtype, &bytes, &mut out);
                let expected: Vec<T> = stored.into_iter().map(from_f32).collect();
                assert!(out == expected, "{dtype:?} to {:?}, {len} numbers", T::DTYPE);
                assert!(T::all_finite(&out));
            }
        }
        for bad in [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut numbers = T::zeros(70);
            numbers[69] = from_f32(bad);
            assert!(!T::all_finite(&numbers), "{bad}");
        }
    }

    #[test]
    fn conversions() {
        check::<f32>(|x| x);
        check::<f16>(f16::from_f32);
        check::<bf16>(bf16::from_f32);
    }
}

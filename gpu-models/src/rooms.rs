//! A step's memory beside weights and blocks.

use gpu::kernels::{HeadShape, RoutedAdapters};
use gpu::{Arena, DeviceNumber, DeviceSlice};
use half::bf16;

use crate::output_plan::MAX_ROWS;

/// Numbers of a row in each room.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Widths {
    /// The residual stream.
    pub(crate) hidden: usize,
    /// Queries, keys and values of all heads.
    pub(crate) heads: HeadWidths,
    /// The widest gated MLP; 0 without one.
    pub(crate) inner: usize,
    /// Experts of the widest layer that has them.
    pub(crate) experts: ExpertWidths,
    /// The widest product that adapters change.
    pub(crate) changed: usize,
}

/// Numbers of a row's heads.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HeadWidths {
    pub(crate) queries: usize,
    pub(crate) all: usize,
}

impl HeadWidths {
    pub(crate) fn of(shape: HeadShape) -> HeadWidths {
        let HeadShape { heads, kv_heads, dim } = shape;
        HeadWidths { queries: heads * dim, all: (heads + 2 * kv_heads) * dim }
    }
}

/// Of layers with experts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ExpertWidths {
    /// Layers with experts.
    pub(crate) layers: usize,
    pub(crate) count: usize,
    pub(crate) per_row: usize,
    pub(crate) inner: usize,
}

/// What a step has of everything.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) widths: Widths,
    pub(crate) rows: usize,
    /// Rows that the last layer carries past its attention.
    pub(crate) kept: usize,
    /// Partial results of attention.
    pub(crate) parts: usize,
    /// Numbers between the factors of adapters; 0 for a step without adapters.
    pub(crate) between: usize,
    /// Groups of adapters on experts; `None` for a step without them.
    pub(crate) expert_groups: Option<usize>,
    /// Numbers of a pool of blocks of the step's own.
    pub(crate) blocks: usize,
    /// Numbers of outputs: f32, bf16.
    pub(crate) outputs: (usize, usize),
}

/// The rooms of a step. A layer finds those of the one before.
#[derive(Debug)]
pub(crate) struct Rooms {
    /// The residual stream, `[rows, hidden]`.
    pub(crate) x: DeviceSlice<f32>,
    /// Of the rows that are kept.
    pub(crate) kept_x: DeviceSlice<f32>,
    /// The input of a product, `[rows, hidden]`.
    pub(crate) normed: DeviceSlice<bf16>,
    pub(crate) qkv: DeviceSlice<f32>,
    pub(crate) q: DeviceSlice<bf16>,
    pub(crate) attended: DeviceSlice<bf16>,
    pub(crate) kept_attended: DeviceSlice<bf16>,
    pub(crate) parts: DeviceSlice<f32>,
    /// A gated MLP's inner numbers.
    pub(crate) inner: DeviceSlice<bf16>,
    /// What a part of a layer gives where a norm follows, `[rows, hidden]`.
    pub(crate) delta: DeviceSlice<f32>,
    pub(crate) expert_logits: DeviceSlice<f32>,
    pub(crate) expert_inner: DeviceSlice<bf16>,
    pub(crate) expert_results: DeviceSlice<f32>,
    /// Sums before an adapter's update.
    pub(crate) sums: DeviceSlice<f32>,
    pub(crate) between: DeviceSlice<bf16>,
    pub(crate) outputs: DeviceSlice<f32>,
    pub(crate) output_rows: DeviceSlice<bf16>,
    /// Tokens that are drawn.
    pub(crate) tokens: DeviceSlice<u32>,
}

/// The arena begins each slice at a multiple of it.
const ALIGNMENT: usize = 256;

impl Sizes {
    fn f32s(&self) -> [usize; 9] {
        let Sizes { widths, rows, kept, .. } = *self;
        let experts = widths.experts;
        // Adapters are added to the sums of gates before their activation.
        let gates = self.expert_groups.map_or(0, |_| 2 * experts.inner);
        [
            rows * widths.hidden,
            kept * widths.hidden,
            rows * widths.heads.all,
            self.parts,
            rows * widths.hidden,
            rows * experts.count,
            rows * experts.per_row * widths.hidden.max(gates),
            if self.between == 0 { 0 } else { rows * widths.changed },
            self.outputs.0,
        ]
    }

    fn bf16s(&self) -> [usize; 8] {
        let Sizes { widths, rows, kept, .. } = *self;
        let experts = widths.experts;
        [
            rows * widths.hidden,
            rows * widths.heads.queries,
            rows * widths.heads.queries,
            kept * widths.heads.queries,
            rows * widths.inner,
            rows * experts.per_row * experts.inner,
            self.between,
            self.outputs.1,
        ]
    }

    /// Bytes of an arena for the rooms and for what a step takes beside them: blocks of its own, and the routes of experts.
    pub(crate) fn bytes(&self) -> usize {
        let aligned = |len: usize, size: usize| (len * size).next_multiple_of(ALIGNMENT);
        let f32s: usize = self.f32s().iter().map(|len| aligned(*len, size_of::<f32>())).sum();
        let bf16s: usize = self.bf16s().iter().map(|len| aligned(*len, size_of::<bf16>())).sum();
        let ExpertWidths { layers, count, per_row, .. } = self.widths.experts;
        let choices = self.rows * per_row;
        let routed = 4 * choices + 3 * (choices / 64 + count);
        let adapted = self.expert_groups.map_or(0, |n| RoutedAdapters::len(choices, n));
        let routes = layers * ((routed + adapted) * size_of::<u32>() + 8 * ALIGNMENT);
        let tokens = aligned(MAX_ROWS, size_of::<u32>());
        f32s + bf16s + tokens + 2 * aligned(self.blocks, size_of::<bf16>()) + routes
    }

    /// Takes the rooms.
    pub(crate) fn take(&self, arena: &mut Arena) -> gpu::Result<Rooms> {
        let [x, kept_x, qkv, parts, delta, expert_logits, expert_results, sums, outputs] =
            each(arena, self.f32s())?;
        let [normed, q, attended, kept_attended, inner, expert_inner, between, output_rows] =
            each(arena, self.bf16s())?;
        Ok(Rooms {
            x,
            kept_x,
            normed,
            qkv,
            q,
            attended,
            kept_attended,
            parts,
            inner,
            delta,
            expert_logits,
            expert_inner,
            expert_results,
            sums,
            between,
            outputs,
            output_rows,
            tokens: arena.take(MAX_ROWS)?,
        })
    }
}

fn each<T: DeviceNumber, const N: usize>(
    arena: &mut Arena,
    lens: [usize; N],
) -> gpu::Result<[DeviceSlice<T>; N]> {
    let slices = lens.into_iter().map(|len| arena.take(len)).collect::<gpu::Result<Vec<_>>>()?;
    Ok(slices.try_into().expect("one slice for each length"))
}

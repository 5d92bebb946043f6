//! The speed of products and of attention, at the shapes of models.

use gpu::kernels::{
    Attention, AttentionShape, Epilogue, HeadShape, KvLayer, QuerySpan, Store, attend, product,
};
use gpu::{DeviceSlice, Gpu, Staging};
use half::bf16;

use crate::effort::Effort;
use crate::lines::{Readings, Trouble, attempt};
use crate::shapes::ModelShape;

/// The products of a layer of each shape, over these rows: `ROWS x COLUMNS x K` is the name of each, as check.py has it for
/// other libraries.
pub(crate) fn products(gpu: &Gpu, effort: Effort) {
    let rows = effort.of(&[1, 16, 64, 512, 8192][..], &[1][..]);
    let shapes =
        effort.of(&[ModelShape::QWEN3_06B, ModelShape::QWEN3_4B][..], &[ModelShape::SMALL]);
    for shape in shapes {
        let heads = (shape.heads + 2 * shape.kv_heads) * shape.head_dim;
        let matrices = [
            (heads, shape.hidden),
            (shape.hidden, shape.heads * shape.head_dim),
            (2 * shape.inner, shape.hidden),
            (shape.hidden, shape.inner),
        ];
        for &rows in rows {
            for (n, k) in matrices {
                attempt(&format!("product {rows} x {n} x {k}"), || one(gpu, effort, [rows, n, k]));
            }
        }
    }
}

fn random(gpu: &Gpu, len: usize) -> gpu::Result<DeviceSlice<bf16>> {
    let numbers = gpu.allocate(len)?;
    gpu::kernels::fill_random(gpu, &numbers, 1, 1.0)?;
    Ok(numbers)
}

fn one(gpu: &Gpu, effort: Effort, [rows, n, k]: [usize; 3]) -> Result<Readings, Trouble> {
    // So many weights that none is found in the card's cache.
    let copies = effort.of((256 << 20) / (n * k * 2), 0) + 1;
    let (x, w) = (random(gpu, rows * k)?, random(gpu, copies * n * k)?);
    let epilogue = Epilogue { bias: None, store: Store::Bf16(gpu.allocate(rows * n)?) };
    let mut turn = 0;
    let seconds = effort.time(gpu, || {
        turn = (turn + 1) % copies;
        let w = w.part(turn * n * k..(turn + 1) * n * k);
        Ok(product(gpu, (&x, &w), k, None, &epilogue)?)
    })?;
    let bytes = 2 * (rows * k + n * k + rows * n);
    Ok(vec![
        ("µs", seconds * 1e6),
        ("TFLOP/s", 2.0 * (rows * n * k) as f64 / seconds / 1e12),
        ("GB/s", bytes as f64 / seconds / 1e9),
    ])
}

/// Attention of prompts, and of one row each after long contexts.
pub(crate) fn attention(gpu: &Gpu, effort: Effort) {
    let shape = effort.of(ModelShape::QWEN3_06B, ModelShape::SMALL);
    let cases =
        effort.of(
            &[
                (27, 300, 0),
                (4, 2048, 0),
                (1, 1, 8191),
                (16, 1, 1023),
                (64, 1, 1023),
                (64, 1, 4095),
            ][..],
            &[(2, 1, 40)],
        );
    for &(sequences, rows, before) in cases {
        let name = format!("attention of {sequences} x {rows} after {before}");
        attempt(&name, || attended(gpu, effort, (shape, sequences), (rows, before)));
    }
}

fn attended(
    gpu: &Gpu,
    effort: Effort,
    (shape, sequences): (ModelShape, usize),
    (rows, before): (usize, usize),
) -> Result<Readings, Trouble> {
    let ModelShape { heads, kv_heads, head_dim: dim, .. } = shape;
    let keys = before + rows;
    let blocks = keys.div_ceil(16);
    let heads = HeadShape { heads, kv_heads, dim };
    let of = AttentionShape { heads, scale: 0.1, cap: 0.0, window: None };
    let span = |at| QuerySpan { row: at * rows, count: rows, position: before, table: at * blocks };
    let spans: Vec<QuerySpan> = (0..sequences).map(span).collect();
    let table: Vec<u32> = (0..).take(sequences * blocks).collect();
    let mut staging = Staging::new(gpu, 1 << 20)?;
    staging.begin()?;
    let plan = Attention::plan(gpu, of, &spans, &table, &mut staging)?;
    staging.send()?;
    let len = sequences * blocks * 16 * kv_heads * dim;
    let kv = KvLayer { keys: random(gpu, len)?, values: random(gpu, len)? };
    let q = random(gpu, sequences * rows * heads.heads * dim)?;
    let (y, parts) = (gpu.allocate(q.len())?, gpu.allocate(plan.parts())?);
    let seconds = effort.time(gpu, || Ok(attend(gpu, &plan, &q, &kv, (&y, &parts))?))?;
    // Each row sees the keys up to its own.
    let pairs = sequences * (rows * before + rows * (rows + 1) / 2) * heads.heads;
    let bytes = 2 * (2 * sequences * keys * kv_heads * dim + 2 * q.len());
    Ok(vec![
        ("µs", seconds * 1e6),
        ("TFLOP/s", 4.0 * (pairs * dim) as f64 / seconds / 1e12),
        ("GB/s", bytes as f64 / seconds / 1e9),
    ])
}

//! Rotation, keys and values in blocks, attention.

use gpu::kernels::{
    Attention, AttentionShape, HeadNorms, HeadShape, KvLayer, QueryRooms, QuerySpan, Rotation,
    attend, rotate_store,
};
use gpu::{Gpu, Staging};
use half::bf16;

use crate::CheckedBits;
use crate::numbers::{Random, bits, bits16, failed, near, same, wide};

/// A sequence: its keys, values and queries at every position, `[positions, heads, dim]`.
struct Sequence {
    q: Vec<bf16>,
    keys: Vec<bf16>,
    values: Vec<bf16>,
}

impl Sequence {
    fn new(random: &mut Random, positions: usize, heads: HeadShape) -> Sequence {
        let kv = positions * heads.kv_heads * heads.dim;
        let q = random.halves(positions * heads.heads * heads.dim);
        Sequence { q, keys: random.halves(kv), values: random.halves(kv) }
    }
}

/// What a step runs of a sequence: positions `from .. to`.
struct Run<'a>(&'a Sequence, usize, usize);

/// Attention over these runs, whose sequences lie in scattered blocks of a pool that is NaN elsewhere.
fn run(gpu: &Gpu, shape: AttentionShape, runs: &[Run<'_>], seed: u64) -> Result<Vec<bf16>, String> {
    let HeadShape { heads, kv_heads, dim } = shape.heads;
    let each = kv_heads * 16 * dim;
    let blocks: usize = runs.iter().map(|Run(_, _, to)| to.div_ceil(16)).sum::<usize>() + 3;
    let mut order: Vec<usize> = (0..blocks).collect();
    let mut random = Random(seed);
    for i in (1..blocks).rev() {
        order.swap(i, random.below(i + 1));
    }
    let nan = bf16::from_f32(f32::NAN);
    let (mut keys, mut values) = (vec![nan; blocks * each], vec![nan; blocks * each]);
    let (mut spans, mut table, mut q) = (Vec::new(), Vec::new(), Vec::new());
    for Run(sequence, from, to) in runs {
        spans.push(QuerySpan {
            row: q.len() / (heads * dim),
            count: to - from,
            position: *from,
            table: table.len(),
        });
        let first = table.len();
        table.extend(order[first..first + to.div_ceil(16)].iter().map(|block| *block as u32));
        for position in 0..*to {
            let block = table[first + position / 16] as usize;
            for head in 0..kv_heads {
                let to = block * each + (head * 16 + position % 16) * dim;
                let from = (position * kv_heads + head) * dim;
                keys[to..to + dim].copy_from_slice(&sequence.keys[from..from + dim]);
                values[to..to + dim].copy_from_slice(&sequence.values[from..from + dim]);
            }
        }
        q.extend_from_slice(&sequence.q[from * heads * dim..to * heads * dim]);
    }
    let mut staging = Staging::new(gpu, 1 << 16).map_err(failed)?;
    staging.begin().map_err(failed)?;
    let plan = Attention::plan(gpu, shape, &spans, &table, &mut staging).map_err(failed)?;
    staging.send().map_err(failed)?;
    let kv = KvLayer {
        keys: gpu.upload(&keys).map_err(failed)?,
        values: gpu.upload(&values).map_err(failed)?,
    };
    let (q, y) = (gpu.upload(&q).map_err(failed)?, gpu.allocate(q.len()).map_err(failed)?);
    let parts = gpu.allocate(plan.parts()).map_err(failed)?;
    attend(gpu, &plan, &q, &kv, (&y, &parts)).map_err(failed)?;
    y.read().map_err(failed)
}

/// Attention at one position in f64.
fn expected(shape: AttentionShape, of: &Sequence, position: usize) -> Vec<(f64, f64)> {
    let HeadShape { heads, kv_heads, dim } = shape.heads;
    let from = shape.window.map_or(0, |window| (position + 1).saturating_sub(window));
    let number = |x: &bf16| x.to_f64();
    let mut y = Vec::new();
    for head in 0..heads {
        let q = &of.q[(position * heads + head) * dim..][..dim];
        let kv = |all: &'_ [bf16], key: usize| -> Vec<f64> {
            let at = (key * kv_heads + head / (heads / kv_heads)) * dim;
            all[at..at + dim].iter().map(number).collect()
        };
        let score = |key| {
            let dot: f64 = q.iter().zip(kv(&of.keys, key)).map(|(q, k)| number(q) * k).sum();
            let (x, cap) = (dot * f64::from(shape.scale), f64::from(shape.cap));
            if cap == 0.0 { x } else { cap * (x / cap).tanh() }
        };
        let scores: Vec<f64> = (from..=position).map(score).collect();
        let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = scores.iter().map(|s| (s - most).exp()).sum();
        let mut row = vec![(0.0, 0.0); dim];
        for (key, score) in (from..=position).zip(scores) {
            let p = (score - most).exp() / sum;
            for (y, v) in row.iter_mut().zip(kv(&of.values, key)) {
                *y = (y.0 + p * v, y.1 + p * v.abs());
            }
        }
        y.extend(row);
    }
    y
}

fn shape(heads: usize, kv_heads: usize, dim: usize) -> AttentionShape {
    let heads = HeadShape { heads, kv_heads, dim };
    AttentionShape { heads, scale: 0.3, cap: 0.0, window: None }
}

/// Probabilities are rounded to bf16 before the values are added, and the result is.
const SHARE: f64 = 0.012;

pub(crate) fn check(gpu: &Gpu) -> CheckedBits {
    let mut random = Random(14);
    let mut all = Vec::new();
    let shapes = [
        shape(4, 2, 16),
        AttentionShape { window: Some(20), ..shape(2, 2, 40) },
        AttentionShape { cap: 2.0, ..shape(7, 1, 64) },
        AttentionShape { window: Some(70), ..shape(3, 3, 80) },
        shape(2, 1, 128),
        AttentionShape { cap: 5.0, ..shape(1, 1, 256) },
    ];
    for shape in shapes {
        let lengths = [1, 15, 70, 130];
        let sequences = lengths.map(|n| Sequence::new(&mut random, n, shape.heads));
        let whole: Vec<Run<'_>> =
            sequences.iter().zip(lengths).map(|(s, n)| Run(s, 0, n)).collect();
        let found = run(gpu, shape, &whole, 1)?;
        let what = format!("{shape:?}");
        let row = shape.heads.heads * shape.heads.dim;
        let mut at = 0;
        for Run(sequence, _, n) in &whole {
            // Some positions of each: the reference is slow.
            for position in [0, n / 2, n - 1] {
                let y = wide(&found[at + position * row..][..row]);
                near(
                    &format!("{what} at {position} of {n}"),
                    &y,
                    &expected(shape, sequence, position),
                    SHARE,
                )?;
            }
            at += n * row;
        }
        // The longest in chunks, beside others, in other blocks; then its last position as a decode.
        let longest = &sequences[3];
        let last = &bits16(&found)[at - 130 * row..at];
        let first = run(gpu, shape, &[Run(&sequences[1], 3, 15), Run(longest, 0, 37)], 2)?;
        same(&format!("{what} in chunks"), &last[..37 * row], &bits16(&first[12 * row..]))?;
        let second = run(gpu, shape, &[Run(longest, 37, 130)], 3)?;
        same(&format!("{what} in chunks"), &last[37 * row..], &bits16(&second))?;
        let decode = run(gpu, shape, &[Run(longest, 129, 130), Run(&sequences[2], 69, 70)], 4)?;
        same(&format!("{what} decoded"), &last[129 * row..], &bits16(&decode[..row]))?;
        all.extend(bits16(&found));
    }
    Ok(all)
}

pub(crate) fn check_long(gpu: &Gpu) -> CheckedBits {
    let mut random = Random(15);
    let mut all = Vec::new();
    for shape in [shape(2, 1, 32), AttentionShape { window: Some(1500), ..shape(2, 2, 32) }] {
        let n = 2100;
        let sequence = Sequence::new(&mut random, n, shape.heads);
        // As a decode, its chunks are computed apart; beside enough other tiles, one after the other.
        let decode = run(gpu, shape, &[Run(&sequence, n - 1, n)], 1)?;
        near(&format!("{shape:?}"), &wide(&decode), &expected(shape, &sequence, n - 1), SHARE)?;
        let short = Sequence::new(&mut random, 1, shape.heads);
        let mut company: Vec<Run<'_>> = (0..256).map(|_| Run(&short, 0, 1)).collect();
        company.push(Run(&sequence, n - 1, n));
        let among = run(gpu, shape, &company, 2)?;
        same("parts and whole", &bits16(&decode), &bits16(&among[among.len() - decode.len()..]))?;
        let chunk = run(gpu, shape, &[Run(&sequence, n - 20, n)], 3)?;
        same(
            "decode and prefill",
            &bits16(&decode),
            &bits16(&chunk[chunk.len() - decode.len()..]),
        )?;
        all.extend(bits16(&chunk));
    }
    Ok(all)
}

pub(crate) fn check_rotation(gpu: &Gpu) -> CheckedBits {
    let mut all = Vec::new();
    let heads = HeadShape { heads: 3, kv_heads: 1, dim: 24 };
    for (whole, half) in [(None, 12), (Some(false), 12), (Some(true), 8), (Some(false), 0)] {
        let mut random = Random(16);
        let (rows, blocks, positions) = (5, 4, 30);
        let width = heads.heads + 2 * heads.kv_heads;
        let qkv = random.floats(rows * width * heads.dim);
        let weights = |n: usize, random: &mut Random| (random.floats(n), n);
        let (q_weight, _) = weights(if whole == Some(true) { 72 } else { 24 }, &mut random);
        let (k_weight, _) = weights(24, &mut random);
        let tables =
            [random.floats(positions * half.max(1)), random.floats(positions * half.max(1))];
        let at: Vec<u32> = (0..rows).map(|_| random.below(positions) as u32).collect();
        let slots: Vec<u32> = [3, 17, 18, 63, 32].to_vec();
        let up = |x: &[f32]| gpu.upload(x).map_err(failed);
        let norms = HeadNorms { q: up(&q_weight)?, k: up(&k_weight)?, eps: 1e-6, offset: 1.0 };
        let rotation = Rotation { cosines: up(&tables[0])?, sines: up(&tables[1])?, half };
        let pool = vec![bf16::ZERO; blocks * 16 * heads.dim];
        let kv = KvLayer {
            keys: gpu.upload(&pool).map_err(failed)?,
            values: gpu.upload(&pool).map_err(failed)?,
        };
        let rooms = QueryRooms {
            positions: gpu.upload(&at).map_err(failed)?,
            slots: gpu.upload(&slots).map_err(failed)?,
            q: gpu.allocate(rows * heads.heads * heads.dim).map_err(failed)?,
        };
        let by = (whole.map(|_| &norms), (half > 0).then_some(&rotation));
        rotate_store(gpu, &up(&qkv)?, heads, by, (&rooms, &kv)).map_err(failed)?;
        let q = wide(&rooms.q.read().map_err(failed)?);
        let (keys, values) = (kv.keys.read().map_err(failed)?, kv.values.read().map_err(failed)?);
        for row in 0..rows {
            let x = &qkv[row * width * 24..(row + 1) * width * 24];
            for head in 0..width {
                let (weight, n) = match head {
                    0..=2 => (
                        Some(&q_weight),
                        if whole == Some(true) { &x[..72] } else { &x[head * 24..][..24] },
                    ),
                    3 => (Some(&k_weight), &x[72..96]),
                    _ => (None, x),
                };
                let weight = weight.filter(|_| whole.is_some());
                let mean = n.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>() / n.len() as f64;
                let normed = |i: usize| {
                    let x = f64::from(x[head * 24 + i]);
                    let place = if whole == Some(true) && head < 3 { head * 24 + i } else { i };
                    weight.map_or(x, |w| x / (mean + 1e-6).sqrt() * (f64::from(w[place]) + 1.0))
                };
                let turn = |table: usize, i: usize| {
                    f64::from(tables[table][at[row] as usize * half + i % half])
                };
                let expected: Vec<(f64, f64)> = (0..24)
                    .map(|i| match i {
                        _ if head == 4 || i >= 2 * half => normed(i),
                        _ if i < half => normed(i) * turn(0, i) - normed(i + half) * turn(1, i),
                        _ => normed(i) * turn(0, i) + normed(i - half) * turn(1, i),
                    })
                    .map(|y| (y, y.abs() + 0.05))
                    .collect();
                let place = slots[row] as usize * 24;
                let found = match head {
                    0..=2 => q[(row * 3 + head) * 24..][..24].to_vec(),
                    3 => wide(&keys[place..place + 24]),
                    _ => wide(&values[place..place + 24]),
                };
                near(
                    &format!("row {row}, head {head}, {whole:?}, half {half}"),
                    &found,
                    &expected,
                    0.004,
                )?;
            }
        }
        all.extend(bits(&q));
        all.extend(bits16(&keys));
    }
    Ok(all)
}

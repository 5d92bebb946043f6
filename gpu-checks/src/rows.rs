//! Norms, embeddings, gathering, blocks, conversion, random fill.

use gpu::kernels::{
    BlockPair, BlockPairs, Floats, NormOutput, RowNorm, cast, copy_blocks, embed, fill_random,
    gather, norm,
};
use gpu::{DeviceSlice, Gpu, Staging};
use half::{bf16, f16};

use crate::CheckedBits;
use crate::numbers::{Random, bits, bits16, failed, near, same, wide};

fn up<T: gpu::DeviceNumber>(gpu: &Gpu, numbers: &[T]) -> Result<DeviceSlice<T>, String> {
    gpu.upload(numbers).map_err(failed)
}

pub(crate) fn check_norms(gpu: &Gpu) -> CheckedBits {
    let mut random = Random(3);
    let mut all = Vec::new();
    // A warp, and a block, a row.
    for (rows, n, offset) in [(1, 40, 0.0), (7, 129, 1.0), (3, 2049, 0.0), (2, 2304, 1.0)] {
        let (x, weight) = (random.floats(rows * n), random.floats(n));
        let by = RowNorm { weight: up(gpu, &weight)?, eps: 1e-5, offset };
        let expected: Vec<(f64, f64)> = x
            .chunks(n)
            .flat_map(|row| {
                let mean = row.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>() / n as f64;
                let inverse = 1.0 / (mean + 1e-5).sqrt();
                row.iter().zip(&weight).map(move |(x, w)| {
                    let y = f64::from(*x) * inverse * (f64::from(*w) + f64::from(offset));
                    (y, y.abs() + 0.1)
                })
            })
            .collect();
        let run =
            |x: &[f32], output: &NormOutput| norm(gpu, &up(gpu, x)?, &by, output).map_err(failed);
        let y = gpu.allocate::<f32>(rows * n).map_err(failed)?;
        run(&x, &NormOutput::F32(y.clone()))?;
        let y = y.read().map_err(failed)?;
        near(&format!("norm of {n}"), &y, &expected, 1e-5)?;
        let row = random.below(rows);
        let alone = gpu.allocate::<f32>(n).map_err(failed)?;
        run(&x[row * n..(row + 1) * n], &NormOutput::F32(alone.clone()))?;
        let alone = alone.read().map_err(failed)?;
        same("a norm alone", &bits(&y[row * n..(row + 1) * n]), &bits(&alone))?;
        let halves = gpu.allocate::<bf16>(rows * n).map_err(failed)?;
        run(&x, &NormOutput::Bf16(halves.clone()))?;
        let rounded: Vec<bf16> = y.iter().map(|y| bf16::from_f32(*y)).collect();
        same("a norm rounded", &bits16(&rounded), &bits16(&halves.read().map_err(failed)?))?;
        let residual = random.floats(rows * n);
        let sum = up(gpu, &residual)?;
        run(&x, &NormOutput::Add(sum.clone()))?;
        let added: Vec<f32> = residual.iter().zip(&y).map(|(r, y)| r + y).collect();
        same("a norm added", &bits(&added), &bits(&sum.read().map_err(failed)?))?;
        all.extend(bits(&y));
    }
    Ok(all)
}

pub(crate) fn check(gpu: &Gpu) -> CheckedBits {
    let mut all = check_embeddings(gpu)?;
    all.extend(check_blocks(gpu)?);
    all.extend(check_casts(gpu)?);
    Ok(all)
}

fn check_embeddings(gpu: &Gpu) -> CheckedBits {
    let mut random = Random(4);
    let (vocabulary, n, ids) = (11, 24, [3, 0, 10, 3]);
    let table = random.halves(vocabulary * n);
    let (on_table, on_ids) = (up(gpu, &table)?, up(gpu, &ids)?);
    let y = gpu.allocate::<f32>(ids.len() * n).map_err(failed)?;
    embed(gpu, (&on_table, &on_ids), 1.5, &y).map_err(failed)?;
    let y = y.read().map_err(failed)?;
    let row = |id: &u32| &table[*id as usize * n..][..n];
    let expected: Vec<f32> = ids.iter().flat_map(row).map(|x| x.to_f32() * 1.5).collect();
    same("embed", &bits(&expected), &bits(&y))?;
    let halves = gpu.allocate::<bf16>(ids.len() * n).map_err(failed)?;
    let (from, to) = (Floats::Bf16(on_table.clone()), Floats::Bf16(halves.clone()));
    gather(gpu, &from, &on_ids, &to).map_err(failed)?;
    let expected: Vec<bf16> = ids.iter().flat_map(row).copied().collect();
    same("gather", &bits16(&expected), &bits16(&halves.read().map_err(failed)?))?;
    let floats = random.floats(5 * 3);
    let some = gpu.allocate::<f32>(2 * 3).map_err(failed)?;
    let (from, to) = (Floats::F32(up(gpu, &floats)?), Floats::F32(some.clone()));
    gather(gpu, &from, &up(gpu, &[4, 1])?, &to).map_err(failed)?;
    let expected = [&floats[12..15], &floats[3..6]].concat();
    same("gather of f32", &bits(&expected), &bits(&some.read().map_err(failed)?))?;
    Ok(bits(&y))
}

fn check_blocks(gpu: &Gpu) -> CheckedBits {
    let (layers, blocks, each) = (3, 5, 2 * 16 * 8);
    let mut pool = Random(5).halves(layers * blocks * each);
    let on = up(gpu, &pool)?;
    let pairs = [BlockPair { from: 1, to: 4 }, BlockPair { from: 0, to: 2 }];
    let mut staging = Staging::new(gpu, 256).map_err(failed)?;
    staging.begin().map_err(failed)?;
    let staged = BlockPairs::stage(&pairs, &mut staging).map_err(failed)?;
    let past = BlockPairs::stage(&[BlockPair { from: 0, to: 5 }], &mut staging).map_err(failed)?;
    staging.send().map_err(failed)?;
    copy_blocks(gpu, &on, (layers, each), &staged).map_err(failed)?;
    for layer in pool.chunks_mut(blocks * each) {
        for pair in pairs {
            let from = pair.from as usize * each;
            layer.copy_within(from..from + each, pair.to as usize * each);
        }
    }
    let found = bits16(&on.read().map_err(failed)?);
    same("copied blocks", &bits16(&pool), &found)?;
    match copy_blocks(gpu, &on, (layers, each), &past) {
        Err(gpu::GpuError::Argument { .. }) => Ok(found),
        other => Err(format!("a block past the pool: {other:?}")),
    }
}

fn check_casts(gpu: &Gpu) -> CheckedBits {
    let mut random = Random(6);
    let (rows, n, stride) = (3, 13, 16);
    let mut x: Vec<f32> = random.floats(rows * n);
    // Ties, numbers below the normal ones of f16, the largest of f16.
    x[..6].copy_from_slice(&[1.003_906_2, 1.011_718_8, 3e-8, -6e-6, 65504.0, -0.0]);
    let halves: Vec<f16> = x.iter().map(|x| f16::from_f32(*x)).collect();
    let brains: Vec<bf16> = x.iter().map(|x| bf16::from_f32(*x)).collect();
    let padded = |numbers: Vec<bf16>| -> Vec<bf16> {
        let zeros = [bf16::ZERO; 3];
        numbers.chunks(n).flat_map(|row| row.iter().chain(&zeros)).copied().collect()
    };
    let cases = [
        (Floats::F32(up(gpu, &x)?), padded(brains.clone())),
        (
            Floats::F16(up(gpu, &halves)?),
            padded(halves.iter().map(|x| bf16::from_f32(x.to_f32())).collect()),
        ),
        (Floats::Bf16(up(gpu, &brains)?), padded(brains.clone())),
    ];
    let mut all = Vec::new();
    for (from, expected) in cases {
        let (y, flags) = (gpu.allocate::<bf16>(rows * stride).map_err(failed)?, up(gpu, &[0])?);
        cast(gpu, (&from, n), (&y, stride), &flags).map_err(failed)?;
        let found = bits16(&y.read().map_err(failed)?);
        same(&format!("cast of {from:?}"), &bits16(&expected), &found)?;
        same("finite numbers", &[0], &flags.read().map_err(failed)?)?;
        all.extend(found);
    }
    for odd in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        x[20] = odd;
        let (y, flags) = (gpu.allocate::<bf16>(rows * n).map_err(failed)?, up(gpu, &[0])?);
        cast(gpu, (&Floats::F32(up(gpu, &x)?), n), (&y, n), &flags).map_err(failed)?;
        same("numbers that are not finite", &[1], &flags.read().map_err(failed)?)?;
        let kept = y.read().map_err(failed)?[20].to_f32();
        if kept.is_nan() != odd.is_nan() || kept.is_finite() {
            return Err(format!("{odd} became {kept}"));
        }
    }
    let filled = gpu.allocate::<bf16>(1000).map_err(failed)?;
    fill_random(gpu, &filled, 7, 0.5).map_err(failed)?;
    let filled = filled.read().map_err(failed)?;
    let mut like = Random(7);
    let expected: Vec<bf16> = (0..1000).map(|_| bf16::from_f32(like.float() * 0.5)).collect();
    same("random fill", &bits16(&expected), &bits16(&filled))?;
    if wide(&filled).iter().any(|x| x.abs() > 0.5) {
        return Err("random numbers past their scale".to_owned());
    }
    Ok(all)
}

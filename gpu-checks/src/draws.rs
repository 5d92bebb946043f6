//! Draws, against a full sort.

use gpu::kernels::{Draws, NO_TOKEN, RowDraw, draw};
use gpu::{Gpu, Staging};

use crate::CheckedBits;
use crate::numbers::{Random, bits, failed, same};

/// e^x for x of at most 0, by the polynomial of the processor's kernels.
fn exponential(x: f32) -> f32 {
    let x = x.max(-104.0);
    let n = (x * std::f32::consts::LOG2_E).round_ties_even();
    let r = n.mul_add(2.121_944_4e-4, n.mul_add(-0.693_359_4, x));
    let coefficients = [0.008_368_666, 0.041_668_26, 0.166_665_21, 0.499_999_94];
    let p = coefficients.into_iter().fold(0.001_382_123_6_f32, |p, c| p.mul_add(r, c));
    let power = (r * r).mul_add(p, r) + 1.0;
    let half = (n * 0.5).round_ties_even();
    power * half.exp2() * (n - half).exp2()
}

/// Weights of the tokens that may be drawn, in units of 2^-40 of the largest.
fn weights(logits: &[f32], may: &[bool], temperature: f32) -> Vec<u64> {
    let allowed = logits.iter().zip(may).filter(|(_, may)| **may);
    let most = allowed.map(|(x, _)| *x).fold(f32::NEG_INFINITY, f32::max);
    let weight = |(x, may): (&f32, &bool)| {
        let scaled = exponential((x - most) * (1.0 / temperature)) * 1_048_576.0;
        let upper = scaled.round_ties_even();
        let lower = ((scaled - upper) * 1_048_576.0).round_ties_even();
        let sum = ((upper as i64) << 20) + lower as i64;
        if *may { u64::try_from(sum).expect("no weight is negative") } else { 0 }
    };
    logits.iter().zip(may).map(weight).collect()
}

fn expected(logits: &[f32], may: &[bool], draw: &RowDraw) -> u32 {
    let mut order: Vec<usize> = (0..logits.len()).filter(|id| may[*id]).collect();
    let by_logit = |a: &usize, b: &usize| logits[*b].total_cmp(&logits[*a]).then(a.cmp(b));
    let RowDraw::Weighted { temperature, top_k, top_p, least, random } = *draw else {
        order.sort_by(by_logit);
        return order[0] as u32;
    };
    let weights = weights(logits, may, temperature);
    if top_k.is_some() || top_p < 1.0 || least > 1 {
        order.sort_by(by_logit);
    }
    order.truncate(top_k.map_or(order.len(), |k| k as usize));
    let total: u64 = order.iter().map(|id| weights[*id]).sum();
    if top_p < 1.0 {
        let needed = ((f64::from(top_p) * total as f64).ceil() as u64).clamp(1, total);
        let mut sum = 0;
        let last = order.iter().position(|id| {
            sum += weights[*id];
            sum >= needed
        });
        order.truncate(last.expect("all together are enough") + 1);
    }
    order.retain(|id| weights[*id] >= least);
    let kept: u64 = order.iter().map(|id| weights[*id]).sum();
    let mut point = u64::try_from((u128::from(random) * u128::from(kept)) >> 64).expect("a share");
    for id in order {
        if point < weights[id] {
            return id as u32;
        }
        point -= weights[id];
    }
    unreachable!("the point lies below the sum")
}

pub(crate) fn check(gpu: &Gpu) -> CheckedBits {
    let mut random = Random(17);
    let mut all = Vec::new();
    for n in [1, 33, 700] {
        let mut draws = vec![RowDraw::Greedy];
        for (temperature, top_k, top_p, min_p) in [
            (1.0, None, 1.0, 0.0),
            (0.3, Some(5), 1.0, 0.0),
            (2.0, None, 0.7, 0.0),
            (1.0, Some(40), 0.9, 0.0),
            (1.5, None, 0.95, 0.2),
            (1.0, None, 1.0, 0.5),
            (0.01, None, 1.0, 0.0),
        ] {
            let least = ((min_p * (1u64 << 40) as f64).ceil() as u64).max(1);
            for _ in 0..3 {
                let random = random.next();
                draws.push(RowDraw::Weighted { temperature, top_k, top_p, least, random });
            }
        }
        let rows = draws.len();
        // Steps of a quarter, so that there are equal ones.
        let mut logits: Vec<f32> =
            random.floats(rows * n).iter().map(|x| (x * 24.0).round() / 4.0 + 0.0).collect();
        let words = n.div_ceil(32);
        let mask: Vec<u32> = (0..rows * words).map(|_| random.next() as u32 | 1).collect();
        for masked in [false, true] {
            let may = |row: usize| -> Vec<bool> {
                let bit = |id: usize| mask[row * words + id / 32] >> (id % 32) & 1 != 0;
                (0..n).map(|id| !masked || bit(id)).collect()
            };
            let (tokens, values) = run(gpu, &logits, &draws, masked.then_some(&mask))?;
            let mut logits_of_tokens = Vec::new();
            for (row, draw) in draws.iter().enumerate() {
                let (logits, may) = (&logits[row * n..(row + 1) * n], may(row));
                let token = expected(logits, &may, draw);
                same(&format!("{draw:?} of {n}, masked {masked}"), &[token], &[tokens[row]])?;
                logits_of_tokens.push(logits[token as usize]);
            }
            same("logits of the tokens", &bits(&logits_of_tokens), &bits(&values))?;
            all.extend(tokens);
        }
        let faults = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
        let spoilt = [0, (rows / 2 + 1) * n - 1, rows * n - 1];
        for (at, value) in spoilt.into_iter().zip(faults) {
            logits[at] = value;
        }
        let (tokens, values) = run(gpu, &logits, &draws, None)?;
        for (at, value) in spoilt.into_iter().zip(faults) {
            let row = at / n;
            let found = [tokens[row], values[row].to_bits()];
            same("a logit that is not finite", &[NO_TOKEN, value.to_bits()], &found)?;
        }
        let none = vec![0; words];
        let (tokens, values) = run(gpu, &logits[n..2 * n], &draws[1..2], Some(&none))?;
        same("no token may be drawn", &[NO_TOKEN, 0], &[tokens[0], values[0].to_bits()])?;
    }
    Ok(all)
}

fn run(
    gpu: &Gpu,
    logits: &[f32],
    draws: &[RowDraw],
    mask: Option<&Vec<u32>>,
) -> Result<(Vec<u32>, Vec<f32>), String> {
    let mut staging = Staging::new(gpu, 4096).map_err(failed)?;
    staging.begin().map_err(failed)?;
    let staged = Draws::stage(draws, &mut staging).map_err(failed)?;
    staging.send().map_err(failed)?;
    let logits = gpu.upload(logits).map_err(failed)?;
    let mask = mask.map(|mask| gpu.upload(mask)).transpose().map_err(failed)?;
    let tokens = gpu.allocate(draws.len()).map_err(failed)?;
    let values = gpu.allocate(draws.len()).map_err(failed)?;
    draw(gpu, &logits, (&staged, mask.as_ref()), (&tokens, &values)).map_err(failed)?;
    Ok((tokens.read().map_err(failed)?, values.read().map_err(failed)?))
}

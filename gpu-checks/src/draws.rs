//! Draws, against a full sort.

use gpu::kernels::{Draws, NO_TOKEN, RowDraw, draw};
use gpu::{Gpu, Staging};

use crate::CheckedBits;
use crate::numbers::{Random, bits, failed, near, same};

/// Weights of the tokens that may be drawn, in units of 2^-40 of the largest.
fn weights(logits: &[f32], may: &[bool], temperature: f32) -> Vec<u64> {
    let allowed = logits.iter().zip(may).filter(|(_, may)| **may);
    let most = allowed.map(|(x, _)| *x).fold(f32::NEG_INFINITY, f32::max);
    let weight = |(x, may): (&f32, &bool)| {
        let scaled =
            ((x - most) * (1.0 / temperature) * std::f32::consts::LOG2_E).exp2() * 1_048_576.0;
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
            let (tokens, logprobs) = run(gpu, &logits, &draws, masked.then_some(&mask))?;
            let mut normalised = Vec::new();
            for (row, draw) in draws.iter().enumerate() {
                let (logits, may) = (&logits[row * n..(row + 1) * n], may(row));
                let token = expected(logits, &may, draw);
                same(&format!("{draw:?} of {n}, masked {masked}"), &[token], &[tokens[row]])?;
                let terms = logits.iter().zip(may).filter(|(_, may)| *may);
                let sum: f64 = terms.map(|(x, _)| f64::from(*x).exp()).sum();
                normalised.push((f64::from(logits[token as usize]) - sum.ln(), 30.0));
            }
            near("log-probabilities", &logprobs, &normalised, 1e-6)?;
            all.extend(tokens);
            all.extend(bits(&logprobs));
        }
        logits[0] = f32::NAN;
        logits[rows * n - 1] = f32::INFINITY;
        let (tokens, _) = run(gpu, &logits, &draws, None)?;
        same("logits that are no numbers", &[NO_TOKEN; 2], &[tokens[0], tokens[rows - 1]])?;
        let none = vec![0; rows * words];
        let (tokens, _) = run(gpu, &logits, &draws, Some(&none))?;
        same("no token may be drawn", &vec![NO_TOKEN; rows], &tokens)?;
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
    let logprobs = gpu.allocate(draws.len()).map_err(failed)?;
    draw(gpu, &logits, (&staged, mask.as_ref()), (&tokens, &logprobs)).map_err(failed)?;
    Ok((tokens.read().map_err(failed)?, logprobs.read().map_err(failed)?))
}

//! Log-probabilities, entropies and normalisers.

use gpu::Gpu;
use gpu::kernels::{Epilogue, LogprobRooms, Store, logprobs, logprobs_of, product};
use half::bf16;

use crate::CheckedBits;
use crate::numbers::{Random, bits, failed, near, reference, same, wide};

fn run(
    gpu: &Gpu,
    (x, w, k): (&[bf16], &[bf16], usize),
    targets: &[u32],
    cap: f32,
) -> Result<Vec<f32>, String> {
    let (rows, n) = (targets.len(), w.len() / k);
    let rooms = LogprobRooms {
        parts: gpu.allocate(LogprobRooms::parts(rows, n)).map_err(failed)?,
        targets: gpu.allocate(rows).map_err(failed)?,
    };
    let y = gpu.allocate(rows * 3).map_err(failed)?;
    let (x, w) = (gpu.upload(x).map_err(failed)?, gpu.upload(w).map_err(failed)?);
    let targets = gpu.upload(targets).map_err(failed)?;
    logprobs(gpu, (&x, &w, k), (&targets, cap), &rooms, &y).map_err(failed)?;
    let found = y.read().map_err(failed)?;
    // The logits of the targets are there from before.
    let logits = gpu.allocate(rows * n).map_err(failed)?;
    let epilogue = Epilogue { bias: None, store: Store::F32 { y: logits.clone(), cap } };
    product(gpu, (&x, &w), k, None, &epilogue).map_err(failed)?;
    logprobs_of(gpu, &logits, &rooms, &y).map_err(failed)?;
    let from_logits = y.read().map_err(failed)?;
    same("log-probabilities of logits", &bits(&found), &bits(&from_logits))?;
    Ok(found)
}

pub(crate) fn check(gpu: &Gpu) -> CheckedBits {
    let mut random = Random(13);
    let mut all = Vec::new();
    for (rows, n, k, cap) in [
        (1, 7, 8, 0.0),
        (5, 256, 40, 2.0),
        (67, 300, 24, 0.0),
        (3, 777, 16, 5.0),
        (2, 4500, 8, 0.0),
    ] {
        let (x, w) = (random.halves(rows * k), random.halves(n * k));
        let targets: Vec<u32> = (0..rows).map(|_| random.below(n) as u32).collect();
        let found = run(gpu, (&x, &w, k), &targets, cap)?;
        let mut expected = Vec::new();
        for (logits, target) in reference(&wide(&x), &wide(&w), k).chunks(n).zip(&targets) {
            let cap = f64::from(cap);
            let capped = |z: f64| if cap == 0.0 { z } else { cap * (z / cap).tanh() };
            let logits: Vec<f64> = logits.iter().map(|(z, _)| capped(*z)).collect();
            let normaliser = logits.iter().map(|z| z.exp()).sum::<f64>().ln();
            let plogp = |z: &f64| (z - normaliser).exp() * (normaliser - z);
            let entropy = logits.iter().map(plogp).sum();
            expected.extend([logits[*target as usize] - normaliser, entropy, normaliser]);
        }
        let expected: Vec<_> = expected.into_iter().map(|x: f64| (x, x.abs() + 1.0)).collect();
        near(&format!("{rows} rows of {n}"), &found, &expected, 1e-5)?;
        let row = random.below(rows);
        let alone = run(gpu, (&x[row * k..(row + 1) * k], &w, k), &targets[row..=row], cap)?;
        same("a row alone", &bits(&found[row * 3..row * 3 + 3]), &bits(&alone))?;
        all.extend(bits(&found));
    }
    Ok(all)
}

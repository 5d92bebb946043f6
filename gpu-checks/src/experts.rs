//! Experts: choice, sorting, products, sums.

use gpu::kernels::{
    Activation, ExpertShape, Factor, Factors, NO_ADAPTER, Store, combine, grouped, route,
    route_adapted,
};
use gpu::{Arena, Gpu};
use half::bf16;

use crate::CheckedBits;
use crate::numbers::{Random, bits, failed, near, reference, same, wide};

const K: usize = 40;
const INNER: usize = 24;

struct Model {
    experts: usize,
    per_row: usize,
    /// Gate and up in turn by 8, `[2 · inner, k]`, and down `[k, inner]`.
    gate_up: Vec<Vec<bf16>>,
    down: Vec<Vec<bf16>>,
}

impl Model {
    fn run(&self, gpu: &Gpu, x: &[bf16], logits: &[f32]) -> Result<(Vec<u32>, Vec<f32>), String> {
        let mut arena = Arena::new(gpu, 1 << 20).map_err(failed)?;
        let shape = ExpertShape { experts: self.experts, per_row: self.per_row, normalise: true };
        let logits = gpu.upload(logits).map_err(failed)?;
        let routed = route(gpu, &logits, shape, &mut arena).map_err(failed)?;
        let factors = |all: &[Vec<bf16>], k| {
            let factor = |w: &Vec<bf16>| {
                Ok(Some(Factor { w: gpu.upload(w).map_err(failed)?, k, scale: 1.0 }))
            };
            Factors::new(gpu, all.iter().map(factor).collect::<Result<_, String>>()?)
                .map_err(failed)
        };
        let (gate_up, down) = (factors(&self.gate_up, K)?, factors(&self.down, INNER)?);
        let places = x.len() / K * self.per_row;
        let inner = arena.take::<bf16>(places * INNER).map_err(failed)?;
        let results = arena.take::<f32>(places * K).map_err(failed)?;
        let x = gpu.upload(x).map_err(failed)?;
        let gated = Store::Gated { y: inner.clone(), activation: Activation::Silu };
        grouped(gpu, (&x, K), (&routed.pieces, &gate_up), &gated).map_err(failed)?;
        let f32s = Store::F32 { y: results.clone(), cap: 0.0 };
        grouped(gpu, (&inner, INNER), (&routed.pieces, &down), &f32s).map_err(failed)?;
        let y = gpu.allocate::<f32>(x.len()).map_err(failed)?;
        combine(gpu, &results, (&routed, self.per_row), &y).map_err(failed)?;
        Ok((routed.chosen.read().map_err(failed)?, y.read().map_err(failed)?))
    }

    /// Experts of a row in ascending order with their weights.
    fn choose(&self, logits: &[f32]) -> Vec<(usize, f64)> {
        let mut order: Vec<usize> = (0..self.experts).collect();
        order.sort_by(|a, b| logits[*b].total_cmp(&logits[*a]));
        order.truncate(self.per_row);
        order.sort_unstable();
        let powers: Vec<f64> = order.iter().map(|e| f64::from(logits[*e]).exp()).collect();
        let sum: f64 = powers.iter().sum();
        order.into_iter().zip(powers.into_iter().map(|p| p / sum)).collect()
    }

    fn expected(&self, x: &[bf16], logits: &[f32]) -> Vec<(f64, f64)> {
        let mut y = vec![(0.0, 0.0); K];
        for (expert, weight) in self.choose(logits) {
            let sums = reference(&wide(x), &wide(&self.gate_up[expert]), K);
            let gated: Vec<f32> = sums
                .chunks(16)
                .flat_map(|c| c[..8].iter().zip(&c[8..]))
                .map(|((g, _), (u, _))| bf16::from_f64(g / (1.0 + (-g).exp()) * u).to_f32())
                .collect();
            for (y, (d, terms)) in
                y.iter_mut().zip(reference(&gated, &wide(&self.down[expert]), INNER))
            {
                *y = (y.0 + weight * d, y.1 + weight * terms);
            }
        }
        y
    }
}

/// Choices by adapter and expert: `(group, row, place among those of the experts)`.
fn sorted_choices(
    gpu: &Gpu,
    shape: ExpertShape,
    logits: &[f32],
    (adapters, n): (&[u32], usize),
) -> Result<(), String> {
    let mut arena = Arena::new(gpu, 1 << 20).map_err(failed)?;
    let logits = gpu.upload(logits).map_err(failed)?;
    let routed = route(gpu, &logits, shape, &mut arena).map_err(failed)?;
    let of_rows = gpu.upload(adapters).map_err(failed)?;
    let adapted = route_adapted(gpu, (&routed, shape), (&of_rows, n), &mut arena);
    let adapted = adapted.map_err(failed)?;
    let list = adapted.by_row.list.read().map_err(failed)?;
    let rows = adapted.by_row.rows.read().map_err(failed)?;
    let places = adapted.by_place.rows.read().map_err(failed)?;
    let mut found = Vec::new();
    for piece in list.chunks(3).filter(|piece| piece[1] > 0) {
        for at in piece[0]..piece[0] + piece[1] {
            found.extend([piece[2], rows[at as usize], places[at as usize]]);
        }
    }
    let chosen = routed.chosen.read().map_err(failed)?;
    let place_of = routed.places.read().map_err(failed)?;
    let mut expected: Vec<[u32; 3]> = (0..chosen.len())
        .filter(|choice| adapters[choice / shape.per_row] != NO_ADAPTER)
        .map(|choice| {
            let row = choice / shape.per_row;
            let group = adapters[row] * shape.experts as u32 + chosen[choice];
            [group, row as u32, place_of[choice]]
        })
        .collect();
    expected.sort_unstable();
    same("choices of rows under adapters", &expected.concat(), &found)
}

pub(crate) fn check(gpu: &Gpu) -> CheckedBits {
    let mut random = Random(12);
    let mut all = Vec::new();
    for (rows, experts, per_row) in [(1, 4, 2), (100, 5, 3), (9, 40, 1), (300, 2, 2)] {
        let model = Model {
            experts,
            per_row,
            gate_up: (0..experts).map(|_| random.halves(2 * INNER * K)).collect(),
            down: (0..experts).map(|_| random.halves(K * INNER)).collect(),
        };
        let x = random.halves(rows * K);
        let mut logits = random.floats(rows * experts);
        // Equal ones: the first goes before.
        logits[1] = logits[0];
        logits[2] = logits[0];
        let (chosen, y) = model.run(gpu, &x, &logits)?;
        for row in 0..rows {
            let (x, logits) =
                (&x[row * K..(row + 1) * K], &logits[row * experts..(row + 1) * experts]);
            let of: Vec<u32> = model.choose(logits).iter().map(|(e, _)| *e as u32).collect();
            same(
                &format!("experts of row {row}"),
                &of,
                &chosen[row * per_row..(row + 1) * per_row],
            )?;
            let y = &y[row * K..(row + 1) * K];
            near(&format!("row {row} of {experts} experts"), y, &model.expected(x, logits), 0.005)?;
        }
        let row = random.below(rows);
        let (_, alone) = model.run(
            gpu,
            &x[row * K..(row + 1) * K],
            &logits[row * experts..(row + 1) * experts],
        )?;
        same("a row's experts alone", &bits(&y[row * K..(row + 1) * K]), &bits(&alone))?;
        for broken in [0, rows - 1] {
            let mut logits = logits.clone();
            logits[broken * experts..(broken + 1) * experts].fill(f32::NAN);
            let (chosen_beside, y_beside) = model.run(gpu, &x, &logits)?;
            for row in (0..rows).filter(|row| *row != broken) {
                let (at, places) = (row * K..(row + 1) * K, row * per_row..(row + 1) * per_row);
                let beside = &chosen_beside[places.clone()];
                same("experts beside a row of NaN", &chosen[places], beside)?;
                same("a row beside one of NaN", &bits(&y[at.clone()]), &bits(&y_beside[at]))?;
            }
        }
        let mut adapters: Vec<u32> =
            (0..rows).map(|_| [NO_ADAPTER, 0, 2][random.below(3)]).collect();
        adapters[0] = 1;
        let shape = ExpertShape { experts, per_row, normalise: true };
        sorted_choices(gpu, shape, &logits, (&adapters, 3))?;
        all.extend(bits(&y));
    }
    Ok(all)
}

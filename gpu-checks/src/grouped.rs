//! Adapters: several in one batch, each on its own rows.

use gpu::kernels::{Factor, Factors, Pieces, embed_grouped, expand, shrink};
use gpu::{Gpu, Staging};
use half::bf16;

use crate::CheckedBits;
use crate::numbers::{Random, bits, failed, near, reference, same, wide};

const ROWS: usize = 90;
/// More steps than are under way at a time.
const K: usize = 264;
const N: usize = 136;
/// Numbers from row to row of what is between the factors: the largest rank.
const STRIDE: usize = 24;

struct Adapter {
    rank: usize,
    a: Vec<bf16>,
    b: Vec<bf16>,
    scale: f32,
}

/// The batch with these groups of rows; row by row.
fn run(
    gpu: &Gpu,
    adapters: &[Adapter],
    x: &[bf16],
    y: &[f32],
    groups: &[(u32, &[u32])],
) -> Result<Vec<f32>, String> {
    let mut staging = Staging::new(gpu, 1 << 14).map_err(failed)?;
    staging.begin().map_err(failed)?;
    let pieces = Pieces::stage(groups, &mut staging).map_err(failed)?;
    staging.send().map_err(failed)?;
    let factors = |of: fn(&Adapter) -> (&[bf16], usize)| {
        let factor = |adapter: &Adapter| {
            let (w, k) = of(adapter);
            Ok(Some(Factor { w: gpu.upload(w).map_err(failed)?, k, scale: adapter.scale }))
        };
        // The last group has no adapter at this place.
        let held = adapters.iter().map(factor).chain([Ok(None)]).collect::<Result<_, String>>()?;
        Factors::new(gpu, held).map_err(failed)
    };
    let (a, b) =
        (factors(|adapter| (&adapter.a, K))?, factors(|adapter| (&adapter.b, adapter.rank))?);
    let t = gpu.allocate::<bf16>(pieces.rows.len() * STRIDE).map_err(failed)?;
    let (x, y) = (gpu.upload(x).map_err(failed)?, gpu.upload(y).map_err(failed)?);
    shrink(gpu, (&x, K), (&pieces, &a), (&t, STRIDE)).map_err(failed)?;
    expand(gpu, (&t, STRIDE), (&pieces, &b), (&y, N)).map_err(failed)?;
    y.read().map_err(failed)
}

pub(crate) fn check(gpu: &Gpu) -> CheckedBits {
    let mut random = Random(8);
    let adapters: Vec<Adapter> = [(8, 0.5), (24, 2.0), (16, 1.0)]
        .into_iter()
        .map(|(rank, scale)| Adapter {
            rank,
            a: random.halves(rank * K),
            b: random.halves(N * rank),
            scale,
        })
        .collect();
    let (x, y) = (random.halves(ROWS * K), random.floats(ROWS * N));
    // Rows of three adapters, of none, and of a group without an adapter here; more than a piece of one of them.
    let of_row: Vec<usize> = (0..ROWS).map(|_| random.below(12).min(4)).collect();
    let rows = |group: usize| -> Vec<u32> {
        (0..).zip(&of_row).filter(|(_, of)| **of == group).map(|(row, _)| row).collect()
    };
    let (zero, one, two, none) = (rows(0), rows(1), rows(2), rows(3));
    let many = rows(4);
    let groups: [(u32, &[u32]); 5] = [(2, &two), (0, &zero), (3, &none), (1, &one), (2, &many)];
    let found = run(gpu, &adapters, &x, &y, &groups)?;
    for row in 0..ROWS {
        let of = [Some(0), Some(1), Some(2), None, Some(2)][of_row[row]];
        let (x, before) = (&x[row * K..(row + 1) * K], &y[row * N..(row + 1) * N]);
        let after = &found[row * N..(row + 1) * N];
        let Some(of) = of else {
            same(&format!("row {row} without an adapter"), &bits(before), &bits(after))?;
            continue;
        };
        let Adapter { rank, a, b, scale } = &adapters[of];
        let t = reference(&wide(x), &wide(a), K);
        // What is between the factors is bf16.
        let t: Vec<f32> = t.iter().map(|(t, _)| bf16::from_f64(*t).to_f32()).collect();
        let delta = reference(&t, &wide(b), *rank);
        let scale = f64::from(*scale);
        let expected: Vec<(f64, f64)> = before
            .iter()
            .zip(delta)
            .map(|(y, (d, terms))| (f64::from(*y) + scale * d, scale * terms + 1.0))
            .collect();
        // A number between two of bf16 may round either way in f32.
        near(&format!("row {row} under adapter {of}"), after, &expected, 0.002)?;
    }
    let row = many[many.len() - 1];
    let at = row as usize * N;
    let alone = run(gpu, &adapters, &x, &y, &[(2, &[row])])?;
    same("an adapter's row alone", &bits(&found[at..at + N]), &bits(&alone[at..at + N]))?;
    check_embedding(gpu)?;
    Ok(bits(&found))
}

fn check_embedding(gpu: &Gpu) -> Result<(), String> {
    let mut random = Random(11);
    let (vocabulary, rank, stride) = (9, 8, 16);
    let (a, ids) = (random.halves(vocabulary * rank), [4, 8, 0, 4, 2]);
    let mut staging = Staging::new(gpu, 4096).map_err(failed)?;
    staging.begin().map_err(failed)?;
    let pieces = Pieces::stage(&[(1, &[1, 3]), (0, &[0])], &mut staging).map_err(failed)?;
    staging.send().map_err(failed)?;
    let factor = Factor { w: gpu.upload(&a).map_err(failed)?, k: rank, scale: 1.0 };
    let factors = Factors::new(gpu, vec![None, Some(factor)]).map_err(failed)?;
    let t = gpu.upload(&vec![bf16::ONE; 3 * stride]).map_err(failed)?;
    embed_grouped(gpu, &gpu.upload(&ids).map_err(failed)?, (&pieces, &factors), (&t, stride))
        .map_err(failed)?;
    let found = wide(&t.read().map_err(failed)?);
    let mut expected = vec![1.0; 3 * stride];
    for (place, id) in [(0, 8), (1, 4)] {
        expected[place * stride..place * stride + rank]
            .copy_from_slice(&wide(&a[id * rank..(id + 1) * rank]));
    }
    same("embedding factors", &bits(&expected), &bits(&found))
}

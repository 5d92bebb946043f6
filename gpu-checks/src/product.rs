//! Products and epilogues.

use gpu::kernels::{Activation, Epilogue, ProductTile, Store, finish, product, product_by};
use gpu::{DeviceSlice, Gpu};
use half::bf16;

use crate::CheckedBits;
use crate::numbers::{Random, bits, bits16, failed, near, reference, same, wide};

const TILES: [ProductTile; 3] = [ProductTile::Large, ProductTile::Middle, ProductTile::Skinny];

/// `[rows, n, k]` with tails of every tile.
const SHAPES: &[[usize; 3]] = &[
    [1, 8, 8],
    [5, 24, 40],
    [16, 64, 64],
    [17, 72, 136],
    [70, 136, 72],
    [130, 131, 24],
    [3, 1, 16],
];

pub(crate) fn check(gpu: &Gpu) -> CheckedBits {
    let mut random = Random(1);
    let mut all = Vec::new();
    for &[rows, n, k] in SHAPES {
        let (x, w) = (random.halves(rows * k), random.halves(n * k));
        let expected = reference(&wide(&x), &wide(&w), k);
        let on = (gpu.upload(&x).map_err(failed)?, gpu.upload(&w).map_err(failed)?);
        let f32s = |tile, x: &DeviceSlice<bf16>, columns: Option<&DeviceSlice<u32>>, len| {
            let y = gpu.allocate::<f32>(len).map_err(failed)?;
            let epilogue = Epilogue { bias: None, store: Store::F32 { y: y.clone(), cap: 0.0 } };
            product_by(gpu, tile, (x, &on.1), k, (columns, &epilogue)).map_err(failed)?;
            y.read().map_err(failed)
        };
        let what = format!("[{rows}, {n}, {k}]");
        let first = f32s(TILES[0], &on.0, None, rows * n)?;
        near(&what, &first, &expected, 1e-6)?;
        for tile in TILES {
            let other = f32s(tile, &on.0, None, rows * n)?;
            same(&format!("{what} by {tile:?}"), &bits(&first), &bits(&other))?;
            let row = random.below(rows);
            let alone = f32s(tile, &on.0.part(row * k..(row + 1) * k), None, n)?;
            let of_row = &first[row * n..(row + 1) * n];
            same(&format!("{what}: row {row} alone by {tile:?}"), &bits(of_row), &bits(&alone))?;
        }
        let columns: Vec<u32> = (0..5).map(|_| random.below(n) as u32).collect();
        let on_columns = gpu.upload(&columns).map_err(failed)?;
        let some = f32s(ProductTile::Skinny, &on.0, Some(&on_columns), rows * 5)?;
        let chosen: Vec<f32> =
            first.chunks(n).flat_map(|row| columns.iter().map(|c| row[*c as usize])).collect();
        same(&format!("{what}: columns"), &bits(&chosen), &bits(&some))?;
        all.extend(bits(&first));
    }
    Ok(all)
}

/// A store of a kind, and how its result is read as numbers.
fn stores(gpu: &Gpu, rows: usize, n: usize, residual: &[f32]) -> Result<Vec<Epilogue>, String> {
    let halves = |len| gpu.allocate::<bf16>(len).map_err(failed);
    let f32s = || gpu.allocate::<f32>(rows * n).map_err(failed);
    let gated = |activation| halves(rows * n / 2).map(|y| Store::Gated { y, activation });
    let bias = gpu.upload(&Random(9).floats(n)).map_err(failed)?;
    let stores = [
        Store::F32 { y: f32s()?, cap: 0.0 },
        Store::F32 { y: f32s()?, cap: 1.5 },
        Store::Bf16(halves(rows * n)?),
        Store::Add(gpu.upload(residual).map_err(failed)?),
        gated(Activation::Silu)?,
        gated(Activation::Gelu)?,
        gated(Activation::GeluTanh)?,
        Store::Relu(halves(rows * n)?),
    ];
    Ok(stores.into_iter().map(|store| Epilogue { bias: Some(bias.clone()), store }).collect())
}

fn read(store: &Store) -> Result<Vec<f32>, String> {
    match store {
        Store::F32 { y, .. } | Store::Add(y) => y.read().map_err(failed),
        Store::Bf16(y) | Store::Relu(y) | Store::Gated { y, .. } => {
            Ok(wide(&y.read().map_err(failed)?))
        }
    }
}

/// The epilogue's formula in f64 over sums with their bias.
fn formula(store: &Store, sums: &[f64], residual: &[f32]) -> Vec<f64> {
    match store {
        Store::F32 { cap, .. } if *cap != 0.0 => {
            let cap = f64::from(*cap);
            sums.iter().map(|x| cap * (x / cap).tanh()).collect()
        }
        Store::F32 { .. } | Store::Bf16(_) => sums.to_vec(),
        Store::Add(_) => sums.iter().zip(residual).map(|(x, r)| x + f64::from(*r)).collect(),
        Store::Relu(_) => sums.iter().map(|x| x.max(0.0)).collect(),
        Store::Gated { activation, .. } => {
            let pairs = sums.chunks(16).flat_map(|c| c[..8].iter().zip(&c[8..]));
            pairs.map(|(gate, up)| act(*activation, *gate) * up).collect()
        }
    }
}

fn act(activation: Activation, x: f64) -> f64 {
    match activation {
        Activation::Silu => x / (1.0 + (-x).exp()),
        // The integral of the error function, by Simpson's rule.
        Activation::Gelu => {
            let (z, steps) = (x / 2f64.sqrt(), 2000);
            let at = |i: i32| (-(z * f64::from(i) / f64::from(steps)).powi(2)).exp();
            let weight = |i| if i == 0 || i == steps { 1.0 } else { f64::from(2 + 2 * (i % 2)) };
            let sum: f64 = (0..=steps).map(|i| weight(i) * at(i)).sum();
            let integral = sum * z / f64::from(steps) / 3.0;
            0.5 * x * (1.0 + integral * 2.0 / std::f64::consts::PI.sqrt())
        }
        Activation::GeluTanh => {
            let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x * x * x);
            0.5 * x * (1.0 + inner.tanh())
        }
    }
}

pub(crate) fn check_epilogues(gpu: &Gpu) -> CheckedBits {
    let mut random = Random(2);
    let mut all = Vec::new();
    for &[rows, n, k] in &[[5, 48, 24], [33, 80, 40]] {
        let (x, w) = (random.halves(rows * k), random.halves(n * k));
        let (on_x, on_w) = (gpu.upload(&x).map_err(failed)?, gpu.upload(&w).map_err(failed)?);
        let sums = gpu.allocate::<f32>(rows * n).map_err(failed)?;
        let plain = Epilogue { bias: None, store: Store::F32 { y: sums.clone(), cap: 0.0 } };
        product(gpu, (&on_x, &on_w), k, None, &plain).map_err(failed)?;
        let bias = Random(9).floats(n);
        let residual = random.floats(rows * n);
        let with_bias: Vec<f64> = (sums.read().map_err(failed)?.iter().zip(bias.iter().cycle()))
            .map(|(sum, bias)| f64::from(*sum) + f64::from(*bias))
            .collect();
        let alone = stores(gpu, rows, n, &residual)?;
        for epilogue in &alone {
            finish(gpu, &sums, n, epilogue).map_err(failed)?;
        }
        for tile in TILES {
            for (fused, alone) in stores(gpu, rows, n, &residual)?.iter().zip(&alone) {
                product_by(gpu, tile, (&on_x, &on_w), k, (None, fused)).map_err(failed)?;
                let (found, other) = (read(&fused.store)?, read(&alone.store)?);
                let what = format!("{tile:?} {:?}", fused.store);
                same(&what, &bits(&found), &bits(&other))?;
                let expected = formula(&fused.store, &with_bias, &residual);
                let expected: Vec<_> = expected.into_iter().map(|x| (x, x.abs() + 1e-3)).collect();
                near(&what, &found, &expected, 0.004)?;
                all.extend(bits(&found));
            }
        }
    }
    let odd = gpu.upload(&random.halves(14)).map_err(failed)?;
    let y = gpu.allocate::<bf16>(4).map_err(failed)?;
    let epilogue = Epilogue { bias: None, store: Store::Bf16(y.clone()) };
    let refused = product(gpu, (&odd, &odd), 7, None, &epilogue).map_err(|error| error.to_string());
    if refused != Err("product: k is 7, which is no multiple of 8".to_owned()) {
        return Err(format!("k = 7: {refused:?}"));
    }
    all.extend(bits16(&odd.read().map_err(failed)?));
    Ok(all)
}

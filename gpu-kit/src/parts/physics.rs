//! What the card can do at most: memory, tensor cores, launches, copies.

use std::time::Instant;

use gpu::kernels::{Epilogue, ProductTile, Store, product_by};
use gpu::{DeviceSlice, Gpu, Graphs, Probes, Staging};
use half::bf16;

use crate::effort::Effort;
use crate::lines::{Readings, Trouble, attempt};

pub(crate) fn run(gpu: &Gpu, effort: Effort) {
    let probes = match Probes::load(gpu) {
        Ok(probes) => probes,
        Err(error) => {
            attempt("measuring kernels", || Err(error.into()));
            return;
        }
    };
    attempt("memory", || memory(gpu, &probes, effort));
    attempt("mma.sync", || rate(gpu, effort, |y, rounds| probes.mma(y, rounds)));
    attempt("wgmma", || {
        probes.has_wgmma().map_err(|error| Trouble::Skipped(error.to_string()))?;
        rate(gpu, effort, |y, rounds| probes.wgmma(y, rounds))
    });
    attempt("wgmma beside mma.sync", || chains(gpu, &probes, effort));
    attempt("launches", || launches(gpu, &probes, effort));
    attempt("copies", || copies(gpu, effort));
}

const GIGA: f64 = 1e9;

fn memory(gpu: &Gpu, probes: &Probes, effort: Effort) -> Result<Readings, Trouble> {
    let (free, _) = gpu.memory()?;
    let bytes = effort.of((free / 4).min(4 << 30), 1 << 16) / 16 * 16;
    let [x, y] = [gpu.allocate::<u8>(bytes)?, gpu.allocate::<u8>(bytes)?];
    x.clear()?;
    let sum = gpu.upload(&[0_u32])?;
    let read = effort.time(gpu, || Ok(probes.read(&x, &sum)?))?;
    let copy = effort.time(gpu, || Ok(probes.copy(&x, &y)?))?;
    if sum.read()? != [0] {
        return Err("zeros do not sum to zero".to_owned().into());
    }
    let rate = |seconds: f64, bytes: usize| bytes as f64 / seconds / GIGA;
    Ok(vec![("read, GB/s", rate(read, bytes)), ("copy, GB/s", rate(copy, 2 * bytes))])
}

fn rate(
    gpu: &Gpu,
    effort: Effort,
    start: impl Fn(&DeviceSlice<f32>, u32) -> gpu::Result<f64>,
) -> Result<Readings, Trouble> {
    let blocks = effort.of(132 * 16, 1);
    let rounds = effort.of(2048, 1);
    let y = gpu.allocate(blocks * 256)?;
    let mut operations = 0.0;
    let seconds = effort.time(gpu, || {
        operations = start(&y, rounds)?;
        Ok(())
    })?;
    Ok(vec![("TFLOP/s", operations / seconds / 1e12)])
}

/// The same product by both: how many sums have other bits, and how far either is from f64.
fn chains(gpu: &Gpu, probes: &Probes, effort: Effort) -> Result<Readings, Trouble> {
    probes.has_wgmma().map_err(|error| Trouble::Skipped(error.to_string()))?;
    let k = effort.of(4096, 32);
    let numbers = |seed: u64| -> gpu::Result<DeviceSlice<bf16>> {
        let x = gpu.allocate(64 * k)?;
        gpu::kernels::fill_random(gpu, &x, seed, 1.0)?;
        Ok(x)
    };
    let (x, w) = (numbers(1)?, numbers(2)?);
    let [by_sync, by_group] = [gpu.allocate::<f32>(64 * 64)?, gpu.allocate::<f32>(64 * 64)?];
    let epilogue = Epilogue { bias: None, store: Store::F32 { y: by_sync.clone(), cap: 0.0 } };
    product_by(gpu, ProductTile::Large, (&x, &w), k, (None, &epilogue))?;
    probes.wgmma_chain((&x, &w), k, &by_group)?;
    let wide = |x: DeviceSlice<bf16>| -> gpu::Result<Vec<f64>> {
        Ok(x.read()?.iter().map(|x| f64::from(x.to_f32())).collect())
    };
    let (x, w) = (wide(x)?, wide(w)?);
    let exact: Vec<(f64, f64)> = (0..64 * 64)
        .map(|at| {
            let rows = x[at / 64 * k..][..k].iter().zip(&w[at % 64 * k..][..k]);
            rows.fold((0.0, 0.0), |(sum, size), (x, w)| (sum + x * w, size + (x * w).abs()))
        })
        .collect();
    let (by_sync, by_group) = (by_sync.read()?, by_group.read()?);
    let farthest = |found: &[f32]| {
        let share = |(x, (sum, size)): (&f32, &(f64, f64))| (f64::from(*x) - sum).abs() / size;
        // A NaN is the farthest.
        found
            .iter()
            .zip(&exact)
            .map(share)
            .fold(0.0, |a: f64, b| if b > a || b.is_nan() { b } else { a })
    };
    let other = by_sync.iter().zip(&by_group).filter(|(a, b)| a.to_bits() != b.to_bits()).count();
    let figures = vec![
        ("sums with other bits, of 4096", other as f64),
        ("mma.sync: error, share of terms", farthest(&by_sync)),
        ("wgmma: error, share of terms", farthest(&by_group)),
    ];
    if figures[2].1.is_nan() || figures[2].1 > 1e-4 {
        return Err(format!("wgmma computes another product: {figures:?}").into());
    }
    Ok(figures)
}

fn launches(gpu: &Gpu, probes: &Probes, effort: Effort) -> Result<Readings, Trouble> {
    let n = effort.of(4000, 4);
    let each = f64::from(n) / 1e6;
    probes.nothing()?;
    gpu.wait()?;
    let start = Instant::now();
    for _ in 0..n {
        probes.nothing()?;
    }
    let of_host = start.elapsed().as_secs_f64();
    gpu.wait()?;
    let launched = start.elapsed().as_secs_f64();
    // As many kernels as a step of 28 layers has.
    let kernels = effort.of(230, 3);
    let mut graphs = Graphs::new(1);
    let start = Instant::now();
    graphs.start(probes.gpu(), 0, probes.nothings(kernels)?)?;
    gpu.wait()?;
    let made = start.elapsed().as_secs_f64();
    let started = effort.time(gpu, || {
        graphs.start(probes.gpu(), 0, probes.nothings(kernels)?)?;
        Ok(())
    })?;
    let waited = effort.time(gpu, || {
        graphs.start(probes.gpu(), 0, probes.nothings(kernels)?)?;
        Ok(gpu.wait()?)
    })?;
    Ok(vec![
        ("launch: host, µs", of_host / each),
        ("launch: card, µs", launched / each),
        ("graph of 230 kernels: make, µs", made * 1e6),
        ("graph of 230 kernels: start, µs", started * 1e6),
        ("graph of 230 kernels: start and wait, µs", waited * 1e6),
    ])
}

fn copies(gpu: &Gpu, effort: Effort) -> Result<Readings, Trouble> {
    let bytes = effort.of(256 << 20, 1 << 12);
    let host = vec![1_u8; bytes];
    let there = gpu.allocate::<u8>(bytes)?;
    let pageable = effort.time(gpu, || Ok(there.write(&host)?))?;
    let back = effort.time(gpu, || {
        there.read()?;
        Ok(())
    })?;
    let mut staging = Staging::new(gpu, bytes)?;
    staging.begin()?;
    staging.put(&host)?;
    let pinned = effort.time(gpu, || Ok(staging.send()?))?;
    let mut little = Staging::new(gpu, 128 << 10)?;
    little.begin()?;
    little.put(&host[..bytes.min(120 << 10)])?;
    let step = effort.time(gpu, || {
        little.send()?;
        Ok(gpu.wait()?)
    })?;
    let rate = |seconds: f64| bytes as f64 / seconds / GIGA;
    Ok(vec![
        ("to the card, pageable, GB/s", rate(pageable)),
        ("to the card, pinned, GB/s", rate(pinned)),
        ("from the card, pageable, GB/s", rate(back)),
        ("120 KiB to the card and wait, µs", step * 1e6),
    ])
}

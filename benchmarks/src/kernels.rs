//! `tribunal bench kernels`: products with weights, against the machine's peak arithmetic and memory
//! rates.

use std::fmt::Write as _;

use crate::kernel_rates::{Ceilings, Measured, ProductRate, RatePlan, Samples, Storage};
use serde::Serialize;

use scoring::error::RunError;

const EXAMPLES: &str = "\
Examples:
  tribunal bench kernels
  tribunal bench kernels --threads 1 --rounds 30 --json

Every round takes each ceiling (multiply-adds between registers, reading memory) and each product
once. `% peak` compares the best time with the ceiling of the product's own arithmetic
(multiply-adds of f32, of pairs of bf16, of four 8-bit integers) and `% read` with that of memory:
arithmetic bounds many rows, reading the weights bounds one. `streamed` weights are several
matrices in turn, larger than the caches.";

/// Measures the product kernels in this process.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct BenchKernelsArgs {
    /// Threads [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Rounds of the measurement
    #[arg(long, value_name = "N", default_value_t = 15,
          value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,
    /// Print the summary as one line of JSON after the table
    #[arg(long)]
    json: bool,
}

/// Figures of the measurement.
#[derive(Debug, Serialize)]
struct KernelSummary {
    isa: &'static str,
    threads: usize,
    rounds: u16,
    fma_one_thread_gflops: Rate,
    fma_gflops: Rate,
    bf16_gflops: Rate,
    int8_gflops: Rate,
    read_gb_per_s: Rate,
    products: Vec<ProductLine>,
}

/// A rate by the shortest and by the median time.
#[derive(Clone, Copy, Debug, Serialize)]
struct Rate {
    best: f64,
    median: f64,
}

/// One product. `rows` by `k` by `n`.
#[derive(Debug, Serialize)]
struct ProductLine {
    rows: usize,
    k: usize,
    n: usize,
    storage: &'static str,
    source: &'static str,
    best_ms: f64,
    median_ms: f64,
    gflops: Rate,
    weight_gb_per_s: Rate,
    percent_of_peak: f64,
    percent_of_read: f64,
    /// Speed as a multiple of f32 of this shape, by best times.
    times_f32: f64,
}

/// Runs the measurement.
pub(crate) fn run(args: &BenchKernelsArgs) -> Result<bool, RunError> {
    let threads = match args.threads {
        Some(threads) => usize::from(threads),
        None => scoring::backend::cores(),
    };
    let rounds = usize::from(args.rounds);
    let bar = indicatif::ProgressBar::new(u64::from(args.rounds));
    let measured = crate::kernel_rates::kernels(RatePlan::new(threads, rounds), |done| {
        bar.set_position(done as u64);
    })
    .map_err(|error| RunError::Failed(error.to_string()))?;
    bar.finish_and_clear();
    let summary = summary(&measured, args.rounds);
    crate::print(&summary_text(&summary))?;
    if args.json {
        let line = serde_json::to_string(&summary).expect("a summary serialises");
        crate::print(&(line + "\n"))?;
    }
    Ok(false)
}

/// Billions of `amount` a second.
fn rate(amount: f64, samples: &Samples) -> Rate {
    Rate { best: amount / samples.best() / 1e9, median: amount / samples.median() / 1e9 }
}

fn summary(measured: &Measured, rounds: u16) -> KernelSummary {
    let Ceilings { flops_a_thread, read_bytes, ref fma_one, ref read, .. } = measured.ceilings;
    let Ceilings { fma_all, bf16_all, int8_all, .. } = &measured.ceilings;
    #[expect(clippy::cast_precision_loss, reason = "at most 1024 threads")]
    let flops = flops_a_thread * measured.threads as f64;
    let mut summary = KernelSummary {
        isa: measured.isa,
        threads: measured.threads,
        rounds,
        fma_one_thread_gflops: rate(flops_a_thread, fma_one),
        fma_gflops: rate(flops, fma_all),
        bf16_gflops: rate(2.0 * flops, bf16_all),
        int8_gflops: rate(4.0 * flops, int8_all),
        read_gb_per_s: rate(read_bytes, read),
        products: Vec::new(),
    };
    for product in &measured.products {
        let line = line(product, &measured.products, &summary);
        summary.products.push(line);
    }
    summary
}

fn line(product: &ProductRate, all: &[ProductRate], ceilings: &KernelSummary) -> ProductLine {
    let shape = |p: &ProductRate| (p.rows, p.k, p.n, p.source);
    let plain = all.iter().find(|p| p.storage == Storage::F32 && shape(p) == shape(product));
    let gflops = rate(product.flops(), &product.samples);
    let peak = match product.storage {
        Storage::F32 | Storage::F16 | Storage::Bf16 | Storage::Peer => ceilings.fma_gflops,
        Storage::Bf16Dots => ceilings.bf16_gflops,
        Storage::Int8 => ceilings.int8_gflops,
    };
    let weight_gb_per_s = rate(product.weight_bytes(), &product.samples);
    ProductLine {
        rows: product.rows,
        k: product.k,
        n: product.n,
        storage: product.storage.name(),
        source: product.source.name(),
        best_ms: product.samples.best() * 1e3,
        median_ms: product.samples.median() * 1e3,
        gflops,
        weight_gb_per_s,
        percent_of_peak: 100.0 * gflops.best / peak.best,
        percent_of_read: 100.0 * weight_gb_per_s.best / ceilings.read_gb_per_s.best,
        times_f32: plain.map_or(1.0, |plain| plain.samples.best() / product.samples.best()),
    }
}

fn summary_text(summary: &KernelSummary) -> String {
    let mut text = format!(
        "{} on {} threads, {} rounds; best (median)\n",
        summary.isa, summary.threads, summary.rounds
    );
    for (name, rate, unit) in [
        ("multiply-add, one thread", summary.fma_one_thread_gflops, "GFLOP/s"),
        ("multiply-add, all threads", summary.fma_gflops, "GFLOP/s"),
        ("bf16 pairs, all threads", summary.bf16_gflops, "GFLOP/s"),
        ("int8 fours, all threads", summary.int8_gflops, "GFLOP/s"),
        ("memory read, all threads", summary.read_gb_per_s, "GB/s"),
    ] {
        writeln!(text, "{name:26} {:7.1} ({:.1}) {unit}", rate.best, rate.median)
            .expect("writing to memory does not fail");
    }
    writeln!(
        text,
        "\n{:16} {:10} {:9} {:>20} {:>18} {:>7} {:>16} {:>7} {:>7}",
        "rows x k x n", "weights", "", "ms", "GFLOP/s", "% peak", "weights GB/s", "% read", "x f32"
    )
    .expect("writing to memory does not fail");
    for line in &summary.products {
        let cell = |rate: Rate| format!("{:.1} ({:.1})", rate.best, rate.median);
        writeln!(
            text,
            "{:16} {:10} {:9} {:>20} {:>18} {:>7.0} {:>16} {:>7.0} {:>7.2}",
            format!("{}x{}x{}", line.rows, line.k, line.n),
            line.storage,
            line.source,
            format!("{:.3} ({:.3})", line.best_ms, line.median_ms),
            cell(line.gflops),
            line.percent_of_peak,
            cell(line.weight_gb_per_s),
            line.percent_of_read,
            line.times_f32,
        )
        .expect("writing to memory does not fail");
    }
    text
}

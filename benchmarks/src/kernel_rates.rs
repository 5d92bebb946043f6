//! The product kernels against the machine's ceilings, measured in the same run.
//!
//! A round takes every ceiling and every product once, so that a disturbance of the machine falls
//! on all of them alike. With few rows a product is bound by reading its weights: that is measured
//! over several matrices in turn, together far larger than the caches. The caller prints.

#![expect(
    clippy::cast_precision_loss,
    reason = "counts become rates; none is near the mantissa's limit"
)]

mod cases;
mod ceilings;

use std::time::Instant;

use models::kernels::simd::Isa;
use models::{ModelError, Result};

use cases::Operands;
use ceilings::Stream;

/// Options of the measurement.
#[derive(Clone, Copy, Debug)]
pub struct RatePlan {
    /// Threads of the products and of the ceilings of all threads.
    pub threads: usize,
    /// How often everything is measured.
    pub rounds: usize,
    /// Rows of the products, and where their weights come from; the peer is measured for the first.
    pub cases: [(usize, WeightSource); 4],
    /// Input and output columns of the products: as many weights in each, in full panels.
    pub shapes: [[usize; 2]; 2],
    /// Bytes that one measurement of the memory reads.
    pub stream_bytes: usize,
    /// Bytes of weights that streamed products pass through.
    pub weight_bytes: usize,
}

/// Where a product finds its weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightSource {
    /// One matrix again and again, as far as it fits the caches.
    Resident,
    /// Several matrices in turn, together far larger than the caches: as in a model that decodes.
    Streamed,
}

impl WeightSource {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            WeightSource::Resident => "resident",
            WeightSource::Streamed => "streamed",
        }
    }
}

impl RatePlan {
    /// The up and down projections of a 0.5 B model; a prefill, a small batch that decodes and one
    /// sequence that decodes; memory that no cache holds, about 1.3 GB in all.
    pub fn new(threads: usize, rounds: usize) -> RatePlan {
        RatePlan {
            threads,
            rounds,
            cases: [
                (512, WeightSource::Resident),
                (8, WeightSource::Resident),
                (8, WeightSource::Streamed),
                (1, WeightSource::Streamed),
            ],
            shapes: [[896, 4864], [4864, 896]],
            stream_bytes: 512 << 20,
            weight_bytes: 128 << 20,
        }
    }
}

/// Seconds of one kind of work, once a round.
#[derive(Clone, Debug, Default)]
pub struct Samples(pub Vec<f64>);

impl Samples {
    /// The shortest time, in seconds; infinite before anything is measured.
    pub fn best(&self) -> f64 {
        self.0.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// The median, in seconds (the upper one of an even number); infinite before anything is
    /// measured.
    pub fn median(&self) -> f64 {
        let mut all = self.0.clone();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied().unwrap_or(f64::INFINITY)
    }

    fn time(&mut self, run: impl FnOnce()) {
        let begin = Instant::now();
        run();
        self.0.push(begin.elapsed().as_secs_f64());
    }
}

/// What the machine can do, by loops that do nothing else.
#[derive(Clone, Debug, Default)]
pub struct Ceilings {
    /// Floating-point operations of one measurement a thread: a multiply-add counts two.
    pub flops_a_thread: f64,
    /// One thread's multiply-adds between registers.
    pub fma_one: Samples,
    /// Those of all threads at once.
    pub fma_all: Samples,
    /// As many dot products of pairs of bf16 on all threads: twice the operations.
    pub bf16_all: Samples,
    /// As many dot products of four 8-bit integers on all threads: four times the operations.
    pub int8_all: Samples,
    /// Bytes that one measurement reads, far more than the caches hold.
    pub read_bytes: f64,
    /// All threads reading memory, each a range of its own.
    pub read: Samples,
}

/// Whose product it is, and of which weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// Panels of f32.
    F32,
    /// Panels of f16.
    F16,
    /// Panels of bf16.
    Bf16,
    /// Pairs of bf16, activations rounded to bf16.
    Bf16Dots,
    /// 8-bit panels, activations quantised by row.
    Int8,
    /// The tensor library's own product of f32, as a peer.
    Peer,
}

impl Storage {
    const ALL: [Storage; 6] = [
        Storage::F32,
        Storage::F16,
        Storage::Bf16,
        Storage::Bf16Dots,
        Storage::Int8,
        Storage::Peer,
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Storage::F32 => "f32",
            Storage::F16 => "f16",
            Storage::Bf16 => "bf16",
            Storage::Bf16Dots => "bf16 dots",
            Storage::Int8 => "int8",
            Storage::Peer => "candle f32",
        }
    }

    fn bytes(self) -> usize {
        match self {
            Storage::F32 | Storage::Peer => 4,
            Storage::F16 | Storage::Bf16 | Storage::Bf16Dots => 2,
            Storage::Int8 => 1,
        }
    }
}

/// Times of `x [rows, k] · Wᵀ` with `W [n, k]`.
#[derive(Clone, Debug)]
pub struct ProductRate {
    /// Rows of `x`.
    pub rows: usize,
    /// Input columns.
    pub k: usize,
    /// Output columns.
    pub n: usize,
    /// The weights' type.
    pub storage: Storage,
    /// The weights' place.
    pub source: WeightSource,
    /// Seconds of one product, averaged over one pass through the matrices.
    pub samples: Samples,
}

impl ProductRate {
    /// Floating-point operations of one product.
    pub fn flops(&self) -> f64 {
        2.0 * (self.rows * self.k * self.n) as f64
    }

    /// Bytes of weights that one product reads.
    pub fn weight_bytes(&self) -> f64 {
        (self.k * self.n * self.storage.bytes()) as f64
    }
}

/// Result of the measurement.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The widest vector instructions of this CPU.
    pub isa: &'static str,
    /// Threads.
    pub threads: usize,
    /// The machine.
    pub ceilings: Ceilings,
    /// The kernels.
    pub products: Vec<ProductRate>,
}

/// Measures ceilings and products.
///
/// `progress` gets the number of finished rounds after each; a first round is a warm-up.
///
/// # Errors
/// [`ModelError::Io`] where the threads cannot be started, and what the tensor library says.
pub fn kernels(plan: RatePlan, progress: impl FnMut(usize) + Send) -> Result<Measured> {
    let pool =
        rayon::ThreadPoolBuilder::new().num_threads(plan.threads).build().map_err(|error| {
            ModelError::Io { path: "threads".into(), source: std::io::Error::other(error) }
        })?;
    pool.install(|| measure_in_pool(plan, progress))
}

fn measure_in_pool(plan: RatePlan, mut progress: impl FnMut(usize)) -> Result<Measured> {
    let stream = Stream::new(plan.stream_bytes);
    let mut operands = Operands::new(plan)?;
    let mut measured = Measured {
        isa: Isa::best().name(),
        threads: plan.threads,
        ceilings: Ceilings {
            flops_a_thread: ceilings::FLOPS,
            read_bytes: stream.bytes() as f64,
            ..Ceilings::default()
        },
        products: products(plan),
    };
    // Once round without the clock: memory is touched, code is loaded, threads are awake.
    let mut rehearsal = measured.clone();
    for round in 0..=plan.rounds {
        let into = if round == 0 { &mut rehearsal } else { &mut measured };
        let all = &mut into.ceilings;
        all.fma_one.time(ceilings::multiply_add);
        all.fma_all.time(|| {
            rayon::broadcast(|_| ceilings::multiply_add());
        });
        all.bf16_all.time(|| {
            rayon::broadcast(|_| ceilings::dot_pairs());
        });
        all.int8_all.time(|| {
            rayon::broadcast(|_| ceilings::dot_integers());
        });
        all.read.time(|| stream.read());
        for product in &mut into.products {
            operands.run(product)?;
        }
        progress(round);
    }
    Ok(measured)
}

/// Every product, not yet measured.
fn products(plan: RatePlan) -> Vec<ProductRate> {
    let mut all = Vec::new();
    for (at, (rows, source)) in plan.cases.into_iter().enumerate() {
        for [k, n] in plan.shapes {
            for storage in Storage::ALL {
                // The peer is compared where arithmetic decides.
                if storage != Storage::Peer || at == 0 {
                    all.push(ProductRate {
                        rows,
                        k,
                        n,
                        storage,
                        source,
                        samples: Samples::default(),
                    });
                }
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::{RatePlan, Samples, WeightSource, kernels};

    #[test]
    fn the_median_is_in_the_middle_and_the_best_is_the_least() {
        for (all, best, median) in [
            (vec![3.0, 1.0, 2.0], 1.0, 2.0),
            (vec![4.0, 1.0], 1.0, 4.0),
            (vec![], f64::INFINITY, f64::INFINITY),
        ] {
            let samples = Samples(all);
            assert_eq!((samples.best(), samples.median()), (best, median), "{samples:?}");
        }
    }

    #[test]
    fn every_product_is_measured_once_a_round() {
        let mut rounds = Vec::new();
        let plan = RatePlan {
            cases: [
                (65, WeightSource::Resident),
                (8, WeightSource::Resident),
                (8, WeightSource::Streamed),
                (1, WeightSource::Streamed),
            ],
            shapes: [[64, 48], [48, 64]],
            stream_bytes: 1 << 20,
            weight_bytes: 1 << 16,
            ..RatePlan::new(2, 1)
        };
        let measured = kernels(plan, |round| rounds.push(round)).expect("nothing fails here");
        assert_eq!(rounds, [0, 1]);
        assert_eq!(measured.products.len(), 42);
        for product in &measured.products {
            assert_eq!(product.samples.0.len(), 1, "{product:?}");
            assert!(product.samples.best() > 0.0, "{product:?}");
        }
        let all = &measured.ceilings;
        for ceiling in [&all.fma_one, &all.fma_all, &all.bf16_all, &all.int8_all, &all.read] {
            assert_eq!(ceiling.0.len(), 1);
        }
    }
}

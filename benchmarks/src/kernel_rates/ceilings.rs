//! What the machine can do.

use models::kernels::ceiling;
use models::kernels::simd::LANES;
use rayon::prelude::*;

/// Multiply-adds of sixteen lanes in one measurement of one thread: some ten milliseconds.
const MULTIPLY_ADDS: usize = 30_000_000;

/// Floating-point operations of one measurement of one thread.
pub(super) const FLOPS: f64 = 2.0 * (MULTIPLY_ADDS * LANES) as f64;

/// One thread's measurement.
pub(super) fn multiply_add() {
    ceiling::multiply_add(MULTIPLY_ADDS);
}

/// One thread's measurement of pairs of bf16: twice the operations.
pub(super) fn dot_pairs() {
    ceiling::dot_pairs(MULTIPLY_ADDS);
}

/// One thread's measurement of 8-bit integers: four times the operations.
pub(super) fn dot_integers() {
    ceiling::dot_integers(MULTIPLY_ADDS);
}

/// Memory to be read.
pub(super) struct Stream(Vec<f32>);

impl Stream {
    /// Memory that is really there, not a page of zeros seen many times.
    pub(super) fn new(bytes: usize) -> Stream {
        Stream(vec![1.0; bytes / size_of::<f32>()])
    }

    /// Its size.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.0)
    }

    /// Reads it all, on all threads, each a range of its own.
    pub(super) fn read(&self) {
        let part = self.0.len().div_ceil(rayon::current_num_threads());
        let sum: f32 = self.0.par_chunks(part).map(ceiling::sum_all).sum();
        std::hint::black_box(sum);
    }
}

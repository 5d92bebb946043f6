//! Sixteen lanes in two AVX2 registers or one of AVX-512.

use std::arch::is_x86_feature_detected;
use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

use super::{Kernel, LANES};

mod avx2;
mod avx512;

/// Whether the CPU has the instructions of [`run_avx2`]; the standard library caches the answer.
pub(super) fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("f16c")
}

/// Whether the CPU has the instructions of [`run_avx512`].
pub(super) fn has_avx512() -> bool {
    has_avx2()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
}

/// Whether the CPU has the instructions of [`run_avx512_bf16`].
pub(super) fn has_avx512_bf16() -> bool {
    has_avx512() && is_x86_feature_detected!("avx512bf16")
}

/// Runs a kernel compiled for AVX2, FMA and F16C, which the CPU must have.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn run_avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<avx2::TwoHalves>()
}

/// Runs a kernel compiled for AVX-512 (F, BW, DQ, VL), which the CPU must have.
#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn run_avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<avx512::Single<false>>()
}

/// Runs a kernel compiled for AVX-512 (F, BW, DQ, VL, BF16), which the CPU must have.
#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")]
pub(super) fn run_avx512_bf16<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<avx512::Single<true>>()
}

/// Prefetches the cache line in which a value begins.
#[inline(always)]
pub(in crate::kernels) fn prefetch_line<T>(soon: &T) {
    // SAFETY: every x86-64 has the instruction, and it is a hint, which reads nothing itself.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(soon).cast()) }
}

/// Prefetches every cache line of these numbers; sixteen of them fill one.
#[inline(always)]
fn prefetch(soon: &[f32]) {
    for line in soon.chunks(LANES) {
        // SAFETY: every x86-64 has the instruction, and it is a hint, which reads nothing itself.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) }
    }
}

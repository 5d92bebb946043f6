//! One register of sixteen lanes.

use std::arch::x86_64::{
    __m512, __m512bh, _CMP_GT_OQ, _MM_FROUND_NO_EXC, _MM_FROUND_TO_NEAREST_INT, _mm256_loadu_si256,
    _mm512_abs_ps, _mm512_add_epi32, _mm512_add_ps, _mm512_and_si512, _mm512_castps_si512,
    _mm512_castsi512_ps, _mm512_cmp_ps_mask, _mm512_cvtepu16_epi32, _mm512_cvtne2ps_pbh,
    _mm512_cvtph_ps, _mm512_cvtps_epi32, _mm512_div_ps, _mm512_dpbf16_ps, _mm512_fmadd_ps,
    _mm512_loadu_ps, _mm512_loadu_si512, _mm512_mask_blend_ps, _mm512_max_ps, _mm512_min_ps,
    _mm512_mul_ps, _mm512_roundscale_ps, _mm512_set1_epi32, _mm512_set1_ps, _mm512_slli_epi32,
    _mm512_sqrt_ps, _mm512_storeu_ps, _mm512_storeu_si512, _mm512_sub_ps,
};
use std::mem::transmute;

use half::{bf16, f16};

use super::super::{F32x16, LANES, pairs};

/// Sixteen lanes; `BF16` says whether the CPU has VDPBF16PS.
#[derive(Clone, Copy)]
pub(super) struct Single<const BF16: bool>(__m512);

/// Applies an intrinsic.
macro_rules! one {
    ($intrinsic:ident $(, $operand:expr)*) => {{
        // SAFETY: the type is private to `lanes` and reaches a kernel only through `run_avx512`
        // and `run_avx512_bf16`, whose callers found AVX-512 F, BW, DQ and VL; the operation touches registers alone.
        unsafe { Single($intrinsic($($operand.0),*)) }
    }};
}

impl<const BF16: bool> F32x16 for Single<BF16> {
    /// 24 of 32 registers.
    const ACCUMULATORS: usize = 24;

    #[inline(always)]
    fn splat(x: f32) -> Self {
        // SAFETY: the CPU has AVX-512 (see `one`).
        unsafe { Single(_mm512_set1_ps(x)) }
    }

    #[inline(always)]
    fn load(from: &[f32; LANES]) -> Self {
        // SAFETY: the CPU has AVX-512 (see `one`); sixteen numbers are readable, at any alignment.
        unsafe { Single(_mm512_loadu_ps(from.as_ptr())) }
    }

    #[inline(always)]
    fn load_f16(from: &[f16; LANES]) -> Self {
        // SAFETY: the CPU has AVX-512 (see `one`); sixteen two-byte numbers are readable, at any
        // alignment.
        unsafe { Single(_mm512_cvtph_ps(_mm256_loadu_si256(from.as_ptr().cast()))) }
    }

    #[inline(always)]
    fn load_bf16(from: &[bf16; LANES]) -> Self {
        // SAFETY: the CPU has AVX-512 (see `one`); sixteen two-byte numbers are readable, at any
        // alignment. A bfloat16 is the upper half of an f32.
        unsafe {
            let wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(from.as_ptr().cast()));
            Single(_mm512_castsi512_ps(_mm512_slli_epi32::<16>(wide)))
        }
    }

    #[inline(always)]
    fn store(self, to: &mut [f32; LANES]) {
        // SAFETY: the CPU has AVX-512 (see `one`); sixteen numbers are writable, at any alignment.
        unsafe { _mm512_storeu_ps(to.as_mut_ptr(), self.0) }
    }

    #[inline(always)]
    fn prefetch(soon: &[f32]) {
        super::prefetch(soon);
    }

    #[inline(always)]
    fn prefetch_line<T>(soon: &T) {
        super::prefetch_line(soon);
    }

    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        one!(_mm512_fmadd_ps, self, a, b)
    }

    #[inline(always)]
    fn dot_pairs(self, w: Self, sum: Self) -> Self {
        if !BF16 {
            return pairs::dot(self, w, sum);
        }
        // SAFETY: the CPU has AVX-512 BF16: `run_avx512_bf16` alone gives a kernel this type. Both
        // vector types are 512 bits without invalid values.
        unsafe {
            let x = transmute::<__m512, __m512bh>(self.0);
            let w = transmute::<__m512, __m512bh>(w.0);
            Single(_mm512_dpbf16_ps(sum.0, x, w))
        }
    }

    #[inline(always)]
    fn dot_normal_pairs(self, w: Self, sum: Self) -> Self {
        if BF16 {
            return self.dot_pairs(w, sum);
        }
        let ([x0, x1], [w0, w1]) = (self.halves(), w.halves());
        x0.mul_add(w0, x1.mul_add(w1, sum))
    }

    #[inline(always)]
    fn to_pairs(self, next: Self) -> Self {
        if !BF16 {
            return pairs::join(self, next);
        }
        // SAFETY: as in `dot_pairs`.
        unsafe { Single(transmute::<__m512bh, __m512>(_mm512_cvtne2ps_pbh(next.0, self.0))) }
    }

    #[inline(always)]
    fn load_bits(from: &[u32; LANES]) -> Self {
        // SAFETY: the CPU has AVX-512 (see `one`); 64 bytes are readable, at any alignment.
        unsafe { Single(_mm512_castsi512_ps(_mm512_loadu_si512(from.as_ptr().cast()))) }
    }

    #[inline(always)]
    fn store_bits(self, to: &mut [u32; LANES]) {
        // SAFETY: the CPU has AVX-512 (see `one`); 64 bytes are writable, at any alignment.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), _mm512_castps_si512(self.0)) }
    }

    #[inline(always)]
    fn halves(self) -> [Self; 2] {
        // SAFETY: the CPU has AVX-512 (see `one`). A bfloat16 is the upper half of an f32.
        unsafe {
            let pairs = _mm512_castps_si512(self.0);
            let second = _mm512_and_si512(pairs, _mm512_set1_epi32(-0x1_0000));
            [_mm512_slli_epi32::<16>(pairs), second].map(|bits| Single(_mm512_castsi512_ps(bits)))
        }
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        one!(_mm512_add_ps, self, other)
    }

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        one!(_mm512_sub_ps, self, other)
    }

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        one!(_mm512_mul_ps, self, other)
    }

    #[inline(always)]
    fn div(self, other: Self) -> Self {
        one!(_mm512_div_ps, self, other)
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        one!(_mm512_sqrt_ps, self)
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        one!(_mm512_max_ps, self, other)
    }

    #[inline(always)]
    fn min(self, other: Self) -> Self {
        one!(_mm512_min_ps, self, other)
    }

    #[inline(always)]
    fn abs(self) -> Self {
        one!(_mm512_abs_ps, self)
    }

    #[inline(always)]
    fn round(self) -> Self {
        const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
        // SAFETY: the CPU has AVX-512 (see `one`).
        unsafe { Single(_mm512_roundscale_ps::<NEAREST>(self.0)) }
    }

    #[inline(always)]
    fn exp2i(self) -> Self {
        // SAFETY: the CPU has AVX-512 (see `one`). The biased exponent goes to its place in an f32.
        unsafe {
            let biased = _mm512_add_epi32(_mm512_cvtps_epi32(self.0), _mm512_set1_epi32(127));
            Single(_mm512_castsi512_ps(_mm512_slli_epi32::<23>(biased)))
        }
    }

    #[inline(always)]
    fn select_gt(self, other: Self, yes: Self, no: Self) -> Self {
        // SAFETY: the CPU has AVX-512 (see `one`).
        unsafe {
            let greater = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(self.0, other.0);
            Single(_mm512_mask_blend_ps(greater, no.0, yes.0))
        }
    }
}

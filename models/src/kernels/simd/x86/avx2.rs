//! Two registers of eight lanes.

use std::arch::x86_64::{
    __m256, _CMP_GT_OQ, _MM_FROUND_NO_EXC, _MM_FROUND_TO_NEAREST_INT, _mm_loadu_si128,
    _mm256_add_epi32, _mm256_add_ps, _mm256_and_ps, _mm256_blendv_ps, _mm256_castps_si256,
    _mm256_castsi256_ps, _mm256_cmp_ps, _mm256_cvtepu16_epi32, _mm256_cvtph_ps, _mm256_cvtps_epi32,
    _mm256_div_ps, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_max_ps, _mm256_min_ps, _mm256_mul_ps,
    _mm256_round_ps, _mm256_set1_epi32, _mm256_set1_ps, _mm256_slli_epi32, _mm256_sqrt_ps,
    _mm256_storeu_ps, _mm256_sub_ps,
};

use half::{bf16, f16};

use super::super::{F32x16, LANES};

/// Lanes 0 to 7 and 8 to 15.
#[derive(Clone, Copy)]
pub(super) struct TwoHalves(__m256, __m256);

/// Applies an intrinsic to both halves.
///
/// SAFETY of every use: the type is private to `lanes` and reaches a kernel only through
/// `run_avx2`, whose caller found AVX2, FMA and F16C; the operations touch registers alone.
macro_rules! both {
    ($intrinsic:ident $(, $operand:expr)* $(; $($last:expr),+)?) => {{
        // SAFETY: the CPU has the instruction, and it touches registers alone (see the macro).
        unsafe {
            TwoHalves(
                $intrinsic($($operand.0,)* $($($last),+)?),
                $intrinsic($($operand.1,)* $($($last),+)?),
            )
        }
    }};
}

impl F32x16 for TwoHalves {
    /// 12 of 16 registers.
    const ACCUMULATORS: usize = 6;

    #[inline(always)]
    fn splat(x: f32) -> Self {
        // SAFETY: the CPU has AVX (see `both`).
        let all = unsafe { _mm256_set1_ps(x) };
        TwoHalves(all, all)
    }

    #[inline(always)]
    fn load(from: &[f32; LANES]) -> Self {
        let from = from.as_ptr();
        // SAFETY: the CPU has AVX (see `both`); sixteen numbers are readable, at any alignment.
        unsafe { TwoHalves(_mm256_loadu_ps(from), _mm256_loadu_ps(from.add(8))) }
    }

    #[inline(always)]
    fn load_f16(from: &[f16; LANES]) -> Self {
        let from = from.as_ptr();
        // SAFETY: the CPU has F16C (see `both`); sixteen two-byte numbers are readable, at any
        // alignment.
        unsafe {
            TwoHalves(
                _mm256_cvtph_ps(_mm_loadu_si128(from.cast())),
                _mm256_cvtph_ps(_mm_loadu_si128(from.add(8).cast())),
            )
        }
    }

    #[inline(always)]
    fn load_bf16(from: &[bf16; LANES]) -> Self {
        let from = from.as_ptr();
        // SAFETY: the CPU has AVX2 (see `both`); sixteen two-byte numbers are readable, at any
        // alignment. A bfloat16 is the upper half of an f32.
        unsafe {
            let low = _mm256_cvtepu16_epi32(_mm_loadu_si128(from.cast()));
            let high = _mm256_cvtepu16_epi32(_mm_loadu_si128(from.add(8).cast()));
            TwoHalves(
                _mm256_castsi256_ps(_mm256_slli_epi32::<16>(low)),
                _mm256_castsi256_ps(_mm256_slli_epi32::<16>(high)),
            )
        }
    }

    #[inline(always)]
    fn store(self, to: &mut [f32; LANES]) {
        let to = to.as_mut_ptr();
        // SAFETY: the CPU has AVX (see `both`); sixteen numbers are writable, at any alignment.
        unsafe {
            _mm256_storeu_ps(to, self.0);
            _mm256_storeu_ps(to.add(8), self.1);
        }
    }

    #[inline(always)]
    fn prefetch(soon: &[f32]) {
        super::prefetch(soon);
    }

    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        both!(_mm256_fmadd_ps, self, a, b)
    }

    #[inline(always)]
    fn halves(self) -> [Self; 2] {
        // SAFETY: the CPU has AVX2 (see `both`). A bfloat16 is the upper half of an f32.
        let first = |pairs: __m256| unsafe {
            _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_castps_si256(pairs)))
        };
        // SAFETY: as above.
        let second = |pairs: __m256| unsafe {
            _mm256_and_ps(pairs, _mm256_castsi256_ps(_mm256_set1_epi32(-0x1_0000)))
        };
        [TwoHalves(first(self.0), first(self.1)), TwoHalves(second(self.0), second(self.1))]
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        both!(_mm256_add_ps, self, other)
    }

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        both!(_mm256_sub_ps, self, other)
    }

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        both!(_mm256_mul_ps, self, other)
    }

    #[inline(always)]
    fn div(self, other: Self) -> Self {
        both!(_mm256_div_ps, self, other)
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        both!(_mm256_sqrt_ps, self)
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        both!(_mm256_max_ps, self, other)
    }

    #[inline(always)]
    fn min(self, other: Self) -> Self {
        both!(_mm256_min_ps, self, other)
    }

    #[inline(always)]
    fn abs(self) -> Self {
        let mask = Self::splat(f32::from_bits(0x7fff_ffff));
        both!(_mm256_and_ps, self, mask)
    }

    #[inline(always)]
    fn round(self) -> Self {
        const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
        // SAFETY: the CPU has AVX (see `both`).
        unsafe { TwoHalves(_mm256_round_ps::<NEAREST>(self.0), _mm256_round_ps::<NEAREST>(self.1)) }
    }

    #[inline(always)]
    fn exp2i(self) -> Self {
        // SAFETY: the CPU has AVX2 (see `both`). The biased exponent goes to its place in an f32.
        unsafe {
            let bias = _mm256_set1_epi32(127);
            let low = _mm256_add_epi32(_mm256_cvtps_epi32(self.0), bias);
            let high = _mm256_add_epi32(_mm256_cvtps_epi32(self.1), bias);
            TwoHalves(
                _mm256_castsi256_ps(_mm256_slli_epi32::<23>(low)),
                _mm256_castsi256_ps(_mm256_slli_epi32::<23>(high)),
            )
        }
    }

    #[inline(always)]
    fn select_gt(self, other: Self, yes: Self, no: Self) -> Self {
        // SAFETY: the CPU has AVX (see `both`).
        unsafe {
            let low = _mm256_cmp_ps::<_CMP_GT_OQ>(self.0, other.0);
            let high = _mm256_cmp_ps::<_CMP_GT_OQ>(self.1, other.1);
            TwoHalves(_mm256_blendv_ps(no.0, yes.0, low), _mm256_blendv_ps(no.1, yes.1, high))
        }
    }
}

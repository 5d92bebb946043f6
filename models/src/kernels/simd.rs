//! Sixteen f32 lanes, and the choice of their instruction set.
//!
//! A kernel is written once over [`F32x16`] and passed to [`Isa::run`], which compiles it for every
//! instruction set and picks one at run time. Every implementation has sixteen lanes and the same
//! rounding (fused multiply-add, one rounding; IEEE division and square root; the same rule for NaN
//! in `max`), so that the choice never changes bits. Sixteen is [`crate::kernels::panels::PANEL`]:
//! one AVX-512 register, two of AVX2, four of NEON.
//!
//! A kernel and all functions that it calls down to the operations here are `#[inline(always)]`:
//! only then are they compiled for the wider instructions. Closures passed to the standard library
//! (`map`, `fold`, `from_fn`) may not be inlined; write loops.

#![expect(
    unsafe_code,
    reason = "instructions that this CPU was found to have are called by their intrinsics"
)]
#![expect(
    clippy::inline_always,
    reason = "a lane operation that is not inlined is compiled without its instructions"
)]
#![expect(
    clippy::return_self_not_must_use,
    reason = "lane operations read as arithmetic, whose results are always used"
)]

mod pairs;
mod portable;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86;
#[cfg(target_arch = "x86_64")]
pub(super) use x86::prefetch_line;

pub(super) use pairs::nearest;
#[cfg(test)]
pub(super) use pairs::plain_dot;

use half::{bf16, f16};

/// Lanes of a vector.
pub const LANES: usize = 16;

/// Sixteen f32 numbers.
///
/// Implementations are private: a kernel receives one from [`Isa::run`] only, which is why the
/// operations need no `unsafe` at the caller.
pub trait F32x16: Copy {
    /// Maximum vectors that a kernel may hold as accumulators beside a few operands.
    const ACCUMULATORS: usize;

    /// Every lane `x`.
    fn splat(x: f32) -> Self;
    /// Lane `i` is `from[i]`.
    fn load(from: &[f32; LANES]) -> Self;
    /// Lane `i` is `from[i]`, widened; exact.
    fn load_f16(from: &[f16; LANES]) -> Self;
    /// Lane `i` is `from[i]`, widened; exact.
    fn load_bf16(from: &[bf16; LANES]) -> Self;
    /// `to[i]` becomes lane `i`.
    fn store(self, to: &mut [f32; LANES]);

    /// `self · a + b`, rounded once.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// `self + other`.
    fn add(self, other: Self) -> Self;
    /// `self − other`.
    fn sub(self, other: Self) -> Self;
    /// `self · other`.
    fn mul(self, other: Self) -> Self;
    /// `self / other`.
    fn div(self, other: Self) -> Self;
    /// `√self`.
    fn sqrt(self) -> Self;
    /// `if self > other { self } else { other }`: a NaN on either side gives `other`.
    fn max(self, other: Self) -> Self;
    /// `if self < other { self } else { other }`: a NaN on either side gives `other`.
    fn min(self, other: Self) -> Self;
    /// The absolute value.
    fn abs(self) -> Self;
    /// Rounds to the nearest integer, halves to even.
    fn round(self) -> Self;
    /// `2^self`, for lanes that are integers from −126 to 127; other lanes give unspecified
    /// numbers.
    fn exp2i(self) -> Self;
    /// `if self > other { yes } else { no }`, lane by lane; a NaN on either side gives `no`.
    fn select_gt(self, other: Self, yes: Self, no: Self) -> Self;

    /// `sum + x₁ · w₁ + x₀ · w₀`, where each lane of `self` and `w` holds a pair of bf16 as its bits,
    /// column 0 in the lower half: two fused multiply-adds, column 1 first, each rounded to f32 once.
    /// Subnormal operands count as zero, and a subnormal result of a step becomes zero with its sign
    /// (VDPBF16PS of the Intel SDM, volume 2).
    #[inline(always)]
    fn dot_pairs(self, w: Self, sum: Self) -> Self {
        pairs::dot(self, w, sum)
    }

    /// [`F32x16::dot_pairs`] where no operand and no result of a step is subnormal, as the caller knows.
    #[inline(always)]
    fn dot_normal_pairs(self, w: Self, sum: Self) -> Self {
        let ([x0, x1], [w0, w1]) = (self.halves(), w.halves());
        x0.mul_add(w0, x1.mul_add(w1, sum))
    }

    /// The numbers of column 0 and of column 1 of pairs of bf16.
    #[inline(always)]
    fn halves(self) -> [Self; 2] {
        let bits = self.to_array().map(f32::to_bits);
        [bits.map(|bits| bits << 16), bits.map(|bits| bits & 0xffff_0000)]
            .map(|bits| Self::load(&bits.map(f32::from_bits)))
    }

    /// Pairs of bf16, the nearest (halves to even) of the numbers of `self` and then of `next`: lane 0
    /// holds the first two of `self`. A subnormal number becomes zero with its sign, NaN stays NaN
    /// (VCVTNE2PS2BF16).
    #[inline(always)]
    fn to_pairs(self, next: Self) -> Self {
        pairs::join(self, next)
    }

    /// Lane `i` has the bits `from[i]`.
    #[inline(always)]
    fn load_bits(from: &[u32; LANES]) -> Self {
        let mut all = [0.0; LANES];
        for (lane, bits) in all.iter_mut().zip(from) {
            *lane = f32::from_bits(*bits);
        }
        Self::load(&all)
    }

    /// `to[i]` becomes the bits of lane `i`.
    #[inline(always)]
    fn store_bits(self, to: &mut [u32; LANES]) {
        for (bits, lane) in to.iter_mut().zip(self.to_array()) {
            *bits = lane.to_bits();
        }
    }

    /// Prefetches numbers that are read soon; has no other effect.
    #[inline(always)]
    fn prefetch(_soon: &[f32]) {}

    /// Prefetches the cache line in which a value begins; has no other effect.
    #[inline(always)]
    fn prefetch_line<T>(_soon: &T) {}

    /// Lanes from a shorter slice (at most [`LANES`] numbers); the other lanes are `fill`.
    #[inline(always)]
    fn load_part(from: &[f32], fill: f32) -> Self {
        let mut all = [fill; LANES];
        all[..from.len()].copy_from_slice(from);
        Self::load(&all)
    }

    /// Stores the first `to.len()` lanes (at most [`LANES`]).
    #[inline(always)]
    fn store_part(self, to: &mut [f32]) {
        let all = self.to_array();
        to.copy_from_slice(&all[..to.len()]);
    }

    /// The lanes as an array.
    #[inline(always)]
    fn to_array(self) -> [f32; LANES] {
        let mut all = [0.0; LANES];
        self.store(&mut all);
        all
    }

    /// The sum of the lanes, halves first: lane `i` with `i + 8`, then `i + 4`, `i + 2`, `i + 1`.
    #[inline(always)]
    fn sum(self) -> f32 {
        fold(self.to_array(), |a, b| a + b)
    }

    /// The largest lane; NaN lanes may or may not count.
    #[inline(always)]
    fn largest(self) -> f32 {
        fold(self.to_array(), |a, b| if a > b { a } else { b })
    }
}

#[inline(always)]
fn fold(mut all: [f32; LANES], with: impl Fn(f32, f32) -> f32) -> f32 {
    let mut half = LANES / 2;
    while half > 0 {
        for i in 0..half {
            all[i] = with(all[i], all[i + half]);
        }
        half /= 2;
    }
    all[0]
}

/// A computation over lanes of any instruction set.
pub trait Kernel {
    /// The result.
    type Output;
    /// Whether it multiplies pairs of bf16: only then is it compiled for bf16 instructions too.
    const DOTS_PAIRS: bool = false;
    /// Runs the computation; implement with `#[inline(always)]`.
    fn run<L: F32x16>(self) -> Self::Output;
}

/// Instructions of this CPU. A value exists only if the CPU was found to have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Isa(InstructionSet);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InstructionSet {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// AVX-512 with VDPBF16PS.
    #[cfg(target_arch = "x86_64")]
    Avx512Bf16,
}

impl Isa {
    /// The widest instructions of this CPU.
    pub fn best() -> Isa {
        #[cfg(target_arch = "x86_64")]
        {
            if x86::has_avx512_bf16() {
                return Isa(InstructionSet::Avx512Bf16);
            }
            if x86::has_avx512() {
                return Isa(InstructionSet::Avx512);
            }
            if x86::has_avx2() {
                return Isa(InstructionSet::Avx2);
            }
        }
        Isa(InstructionSet::Portable)
    }

    /// All instruction sets of this CPU, narrow to wide.
    pub fn available() -> Vec<Isa> {
        #[cfg_attr(
            not(target_arch = "x86_64"),
            expect(unused_mut, reason = "other machines have the portable form only")
        )]
        let mut all = vec![Isa(InstructionSet::Portable)];
        #[cfg(target_arch = "x86_64")]
        {
            if x86::has_avx2() {
                all.push(Isa(InstructionSet::Avx2));
            }
            if x86::has_avx512() {
                all.push(Isa(InstructionSet::Avx512));
            }
            if x86::has_avx512_bf16() {
                all.push(Isa(InstructionSet::Avx512Bf16));
            }
        }
        all
    }

    /// The name, for reports.
    pub fn name(self) -> &'static str {
        match self.0 {
            InstructionSet::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512 => "avx512",
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512Bf16 => "avx512 bf16",
        }
    }

    /// Whether [`F32x16::dot_pairs`] is one instruction of the CPU, and so faster than the products
    /// of f32.
    pub fn has_bf16_dots(self) -> bool {
        match self.0 {
            InstructionSet::Portable => false,
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2 | InstructionSet::Avx512 => false,
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512Bf16 => true,
        }
    }

    /// [`F32x16::ACCUMULATORS`] of these instructions.
    pub fn accumulators(self) -> usize {
        struct Accumulators;
        impl Kernel for Accumulators {
            type Output = usize;
            #[inline(always)]
            fn run<L: F32x16>(self) -> usize {
                L::ACCUMULATORS
            }
        }
        self.run(Accumulators)
    }

    /// Runs a kernel with these instructions.
    pub fn run<K: Kernel>(self, kernel: K) -> K::Output {
        match self.0 {
            InstructionSet::Portable => kernel.run::<portable::Array>(),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: an `Isa` of this kind is made only where the CPU was found to have AVX2,
            // FMA and F16C.
            InstructionSet::Avx2 => unsafe { x86::run_avx2(kernel) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: an `Isa` of this kind is made only where the CPU was found to have the
            // AVX-512 parts that `run_avx512` names.
            InstructionSet::Avx512 => unsafe { x86::run_avx512(kernel) },
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512Bf16 => {
                if K::DOTS_PAIRS {
                    // SAFETY: an `Isa` of this kind is made only where the CPU was found to have
                    // the parts that `run_avx512_bf16` names.
                    unsafe { x86::run_avx512_bf16(kernel) }
                } else {
                    // SAFETY: they include those that `run_avx512` names.
                    unsafe { x86::run_avx512(kernel) }
                }
            }
        }
    }
}

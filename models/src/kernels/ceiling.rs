//! Loops that measure the peak rates of a machine's arithmetic and memory.

#![expect(
    clippy::inline_always,
    reason = "a kernel that is not inlined is compiled without its instructions"
)]

use std::hint::black_box;

use super::int8;
use super::simd::{F32x16, Isa, Kernel, LANES};

/// Runs about `count` multiply-adds of sixteen lanes between registers. Returns the exact count.
pub fn multiply_add(count: usize) -> usize {
    chains_by::<false>(count)
}

/// As [`multiply_add`], of pairs of bf16: twice as many multiply-adds.
pub fn dot_pairs(count: usize) -> usize {
    chains_by::<true>(count)
}

/// As [`multiply_add`], of four columns of 8-bit integers: four times as many multiply-adds.
pub fn dot_integers(count: usize) -> usize {
    int8::dot_chains(count)
}

fn chains_by<const PAIRS: bool>(count: usize) -> usize {
    let (done, sum) = Isa::best().run(MultiplyAdd::<PAIRS>(count));
    // Uses the sums, so that the compiler keeps them.
    black_box(sum);
    done
}

struct MultiplyAdd<const PAIRS: bool>(usize);

impl<const PAIRS: bool> Kernel for MultiplyAdd<PAIRS> {
    type Output = (usize, f32);
    const DOTS_PAIRS: bool = PAIRS;

    #[inline(always)]
    fn run<L: F32x16>(self) -> (usize, f32) {
        if L::ACCUMULATORS >= 24 {
            chains::<L, PAIRS, 12>(self.0)
        } else {
            chains::<L, PAIRS, 5>(self.0)
        }
    }
}

/// Several chains at once: more than the latency of a multiply-add times their rate.
#[inline(always)]
fn chains<L: F32x16, const PAIRS: bool, const CHAINS: usize>(count: usize) -> (usize, f32) {
    let turns = count.div_ceil(CHAINS);
    // Values hidden from the compiler, different in every chain, so that no result is computed in
    // advance. As pairs they are two numbers near these, or one of them and a small one.
    let (factor, term) = (L::splat(black_box(0.999)), L::splat(black_box(1e-3)));
    let mut sums = [L::splat(0.0); CHAINS];
    for sum in &mut sums {
        *sum = L::splat(black_box(1.0));
    }
    for _ in 0..black_box(turns) {
        for sum in &mut sums {
            *sum =
                if PAIRS { factor.dot_normal_pairs(term, *sum) } else { sum.mul_add(factor, term) };
        }
    }
    let mut all = L::splat(0.0);
    for sum in sums {
        all = all.add(sum);
    }
    (turns * CHAINS, all.sum())
}

/// Sums all numbers, reading from front to back; the order of additions is unspecified.
pub fn sum_all(numbers: &[f32]) -> f32 {
    Isa::best().run(MemoryRead(numbers))
}

struct MemoryRead<'a>(&'a [f32]);

impl Kernel for MemoryRead<'_> {
    type Output = f32;

    #[inline(always)]
    fn run<L: F32x16>(self) -> f32 {
        const AT_ONCE: usize = 4;
        let mut sums = [L::splat(0.0); AT_ONCE];
        let rows = self.0.as_chunks::<LANES>().0;
        let (fours, rest) = rows.as_chunks::<AT_ONCE>();
        for four in fours {
            for i in 0..AT_ONCE {
                sums[i] = sums[i].add(L::load(&four[i]));
            }
        }
        for row in rest {
            sums[0] = sums[0].add(L::load(row));
        }
        let mut all = L::splat(0.0);
        for sum in sums {
            all = all.add(sum);
        }
        all.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::{dot_integers, dot_pairs, multiply_add, sum_all};

    #[test]
    fn requested_multiply_adds_are_counted() {
        for (name, run) in [
            ("f32", multiply_add as fn(usize) -> usize),
            ("bf16", dot_pairs),
            ("int8", dot_integers),
        ] {
            for count in [1, 100, 1001] {
                let done = run(count);
                assert!((count..count + 12).contains(&done), "{done} for {count} of {name}");
            }
        }
    }

    #[test]
    fn all_vectors_are_summed() {
        for count in [0, 16, 64, 112, 1600] {
            let numbers = vec![1.0; count];
            assert!((sum_all(&numbers) - count as f32).abs() < 0.5, "{count}");
        }
    }
}
